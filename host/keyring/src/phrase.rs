//! Seed phrases: entropy as words that a person can write down (BIP-39, English).
//!
//! Entropy is not generated here. Only [`SeedPhrase::expose`] and [`SeedPhrase::entropy`] return the secret.

use std::fmt;

use bip39::{Language, Mnemonic};
use zeroize::Zeroizing;

use crate::{KeyringError, Seed, stack::wiped_after};

/// Size of the longest phrase: 24 words of eight letters, and spaces. The string is allocated with this capacity, so
/// that it never moves on the heap, which would leave a copy.
const PHRASE_BYTES_MAX: usize = 24 * 9;

/// A phrase of 12 to 24 words, checksum included.
pub struct SeedPhrase(Box<Mnemonic>);

impl SeedPhrase {
    /// Creates the phrase of this entropy: 12 words from 16 bytes, 24 from 32. BIP-39 also has 15, 18 and 21 words.
    pub fn from_entropy(entropy: &[u8]) -> Result<SeedPhrase, KeyringError> {
        let phrase = wiped_after(|| Mnemonic::from_entropy_in(Language::English, entropy).map(Box::new));
        phrase.map(SeedPhrase).map_err(|_| KeyringError::EntropyLength(entropy.len()))
    }

    /// Parses a phrase in lower case with any white space between the words.
    pub fn parse(text: &str) -> Result<SeedPhrase, KeyringError> {
        let phrase = wiped_after(|| Mnemonic::parse_in_normalized(Language::English, text).map(Box::new));
        phrase.map(SeedPhrase).map_err(|error| match error {
            bip39::Error::UnknownWord(at) => KeyringError::PhraseWord(at + 1),
            bip39::Error::InvalidChecksum => KeyringError::PhraseChecksum,
            _ => KeyringError::PhraseLength,
        })
    }

    /// Returns the entropy of the phrase, its shortest form for storage.
    pub fn entropy(&self) -> Zeroizing<Vec<u8>> {
        wiped_after(|| Zeroizing::new(self.0.to_entropy()))
    }

    /// Returns the words, for sealing and for a backup.
    pub fn expose(&self) -> Zeroizing<String> {
        let mut text = Zeroizing::new(String::with_capacity(PHRASE_BYTES_MAX));
        for (at, word) in self.0.words().enumerate() {
            if at > 0 {
                text.push(' ');
            }
            text.push_str(word);
        }
        text
    }

    /// Derives the seed from this phrase and a passphrase, which is usually empty. Deliberately slow: 2048 rounds of a
    /// hash.
    pub fn seed(&self, passphrase: &str) -> Seed {
        wiped_after(|| {
            let bytes = Zeroizing::new(self.0.to_seed(passphrase));
            Seed::copy_of(bytes.as_slice())
        })
    }
}

impl fmt::Debug for SeedPhrase {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("SeedPhrase([secret])")
    }
}

#[cfg(test)]
mod tests;
