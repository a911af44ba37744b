//! Which blockchain derives, writes and signs like which: three families cover all that are served.
//!
//! Never knows a network, a coin or a fee: those belong to who talks to a blockchain.

use zeroize::Zeroizing;

use crate::{KeyringError, Path, Seed, Step, evm, secp256k1::Signature, solana, stack::wiped_after, tron};

/// Blockchains with the same keys and addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    Evm,
    Tron,
    Solana,
}

/// Every blockchain that is served, and its family (spec/wallet: "Blockchains"). All but Tron and Solana run the
/// Ethereum virtual machine and know their accounts by its addresses, those called "additional" too; so each of them can
/// be derived from one seed.
pub const BLOCKCHAINS: [(&str, Family); 15] = [
    ("ethereum", Family::Evm),
    ("bsc", Family::Evm),
    ("polygon", Family::Evm),
    ("base", Family::Evm),
    ("arbitrum", Family::Evm),
    ("optimism", Family::Evm),
    ("celo", Family::Evm),
    ("lisk", Family::Evm),
    ("avalanche", Family::Evm),
    ("asset-chain", Family::Evm),
    ("plasma", Family::Evm),
    ("arc", Family::Evm),
    ("tempo", Family::Evm),
    ("tron", Family::Tron),
    ("solana", Family::Solana),
];

/// Room for a private key as text: what `bs58` takes before it knows how long 64 bytes become (88 characters at most). A
/// text that grows would leave a copy behind.
const PRIVATE_KEY_CHARS_MAX: usize = 128;

impl Family {
    /// The family of a blockchain by its name.
    pub fn of(blockchain: &str) -> Option<Family> {
        BLOCKCHAINS.iter().find(|(name, _)| *name == blockchain).map(|(_, family)| *family)
    }

    /// Where the key number `index` lies (BIP-44): as the usual programs of the family have it, so that a seed can be
    /// taken elsewhere. All EVM blockchains share their keys.
    pub fn path(self, index: u32) -> Result<Path, KeyringError> {
        let steps = match self {
            Family::Evm => [hard(44)?, hard(60)?, hard(0)?, soft(0)?, soft(index)?].to_vec(),
            Family::Tron => [hard(44)?, hard(195)?, hard(0)?, soft(0)?, soft(index)?].to_vec(),
            Family::Solana => [hard(44)?, hard(501)?, hard(index)?, hard(0)?].to_vec(),
        };
        Path::new(&steps)
    }

    /// The address of the key at `path`.
    pub fn address(self, seed: &Seed, path: &Path) -> Result<String, KeyringError> {
        Ok(match self {
            Family::Evm => evm::Address::of(&seed.secp256k1_key(path)?.public_key()).to_string(),
            Family::Tron => tron::Address::of(&seed.secp256k1_key(path)?.public_key()).to_string(),
            Family::Solana => solana::Address::of(&seed.ed25519_key(path)?).to_string(),
        })
    }

    /// The signature of a message by the key at `path`, as the usual programs of the family write it: 0x and 65 bytes in hex
    /// digits (r, s, v) for EVM and Tron, base58 for Solana.
    pub fn sign_message(self, seed: &Seed, path: &Path, message: &[u8]) -> Result<String, KeyringError> {
        Ok(match self {
            Family::Evm => hex_of(&evm::sign_message(&seed.secp256k1_key(path)?, message)?),
            Family::Tron => hex_of(&tron::sign_message(&seed.secp256k1_key(path)?, message)?),
            Family::Solana => solana::write_signature(&solana::sign_message(&seed.ed25519_key(path)?, message)?),
        })
    }

    /// The signature of typed data (EIP-712) by the key at `path`, written like that of a message; EVM alone.
    pub fn sign_typed_data(self, seed: &Seed, path: &Path, data: &evm::TypedData) -> Result<String, KeyringError> {
        match self {
            Family::Evm => Ok(hex_of(&data.sign(&seed.secp256k1_key(path)?)?)),
            Family::Tron | Family::Solana => Err(KeyringError::NoTypedData),
        }
    }

    /// The private key at `path`, as the usual programs of the family take it in: 0x and hex digits for EVM, hex digits
    /// for Tron, base58 of private and public key for Solana. The only way by which a private key leaves this crate.
    pub fn show_private_key(self, seed: &Seed, path: &Path) -> Result<Zeroizing<String>, KeyringError> {
        wiped_after(|| {
            Ok(match self {
                Family::Evm => digits("0x", &seed.secp256k1_key(path)?.expose()),
                Family::Tron => digits("", &seed.secp256k1_key(path)?.expose()),
                Family::Solana => base58(&seed.ed25519_key(path)?.expose())?,
            })
        })
    }

    /// An address that somebody gave, in the one spelling that addresses of the family are compared in; refused where it
    /// belongs to another family or is mistyped.
    pub fn read_address(self, text: &str) -> Result<String, KeyringError> {
        Ok(match self {
            Family::Evm => text.parse::<evm::Address>()?.to_string(),
            Family::Tron => text.parse::<tron::Address>()?.to_string(),
            Family::Solana => text.parse::<solana::Address>()?.to_string(),
        })
    }
}

fn hard(index: u32) -> Result<Step, KeyringError> {
    Step::hardened(index).ok_or(KeyringError::Path)
}

fn soft(index: u32) -> Result<Step, KeyringError> {
    Step::normal(index).ok_or(KeyringError::Path)
}

fn hex_of(signature: &Signature) -> String {
    digits("0x", &signature.to_bytes()).to_string()
}

fn digits(prefix: &str, key: &[u8]) -> Zeroizing<String> {
    let mut text = Zeroizing::new(String::with_capacity(PRIVATE_KEY_CHARS_MAX));
    text.push_str(prefix);
    let nibbles = key.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    text.extend(nibbles.filter_map(|nibble| char::from_digit(nibble.into(), 16)));
    text
}

fn base58(key: &[u8]) -> Result<Zeroizing<String>, KeyringError> {
    let mut text = Zeroizing::new(String::with_capacity(PRIVATE_KEY_CHARS_MAX));
    bs58::encode(key).onto(&mut *text).map_err(|_| KeyringError::PrivateKey)?;
    Ok(text)
}

#[cfg(test)]
mod tests;
