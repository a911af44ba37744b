//! Seed phrases: entropy as words that a person can write down (BIP-39, English).
//!
//! Never makes entropy. Never shows its words but through [`SeedPhrase::expose`] and [`SeedPhrase::entropy`].

use std::fmt;

use bip39::{Language, Mnemonic};
use zeroize::Zeroizing;

use crate::{KeyringError, Seed, stack::wiped_after};

/// Bytes of the longest phrase: 24 words of eight letters, and blanks. Written with room to spare, so that the text
/// never moves on the heap and leaves a copy.
const PHRASE_BYTES_MAX: usize = 24 * 9;

/// 12 to 24 words, checksum included.
pub struct SeedPhrase(Box<Mnemonic>);

impl SeedPhrase {
    /// The phrase of this entropy: 12 words from 16 bytes, 24 from 32; BIP-39 also has 15, 18 and 21.
    pub fn from_entropy(entropy: &[u8]) -> Result<SeedPhrase, KeyringError> {
        let phrase = wiped_after(|| Mnemonic::from_entropy_in(Language::English, entropy).map(Box::new));
        phrase.map(SeedPhrase).map_err(|_| KeyringError::EntropyLength(entropy.len()))
    }

    /// Reads a phrase: lower case, any white space between the words.
    pub fn parse(text: &str) -> Result<SeedPhrase, KeyringError> {
        let phrase = wiped_after(|| Mnemonic::parse_in_normalized(Language::English, text).map(Box::new));
        phrase.map(SeedPhrase).map_err(|error| match error {
            bip39::Error::UnknownWord(at) => KeyringError::PhraseWord(at + 1),
            bip39::Error::InvalidChecksum => KeyringError::PhraseChecksum,
            _ => KeyringError::PhraseLength,
        })
    }

    /// The entropy that the phrase was made of: the shortest thing that can be kept of it.
    pub fn entropy(&self) -> Zeroizing<Vec<u8>> {
        wiped_after(|| Zeroizing::new(self.0.to_entropy()))
    }

    /// The words, for sealing and for a backup.
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

    /// The seed of this phrase and a passphrase, which is mostly empty. Slow on purpose: 2048 rounds of a hash.
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
