//! Families of blockchains with the same keys, encodings and signatures. Three families cover all supported
//! blockchains.
//!
//! Networks, coins and fees belong to the chain adapters.

use zeroize::Zeroizing;

use crate::{KeyringError, Path, Seed, Step, evm, secp256k1::Signature, solana, stack::wiped_after, tron};

/// Blockchains with the same keys and addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    Evm,
    Tron,
    Solana,
}

/// Every supported blockchain and its family (spec/wallet: "Blockchains"). All blockchains except Tron and Solana,
/// including those called "additional", run the Ethereum virtual machine and use its addresses. So one seed yields the
/// keys of every blockchain.
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

/// Capacity for a private key as a string: `bs58` reserves this much before it computes the length of 64 encoded bytes
/// (at most 88 characters). A string that grows would leave a copy in memory.
const PRIVATE_KEY_CHARS_MAX: usize = 128;

impl Family {
    /// Returns the family of a blockchain.
    pub fn of(blockchain: &str) -> Option<Family> {
        BLOCKCHAINS.iter().find(|(name, _)| *name == blockchain).map(|(_, family)| *family)
    }

    /// Returns the path of key number `index` (BIP-44), as common wallets of the family use it, so that a seed can be
    /// moved to another wallet. All EVM blockchains share their keys.
    pub fn path(self, index: u32) -> Result<Path, KeyringError> {
        let steps = match self {
            Family::Evm => [hardened(44)?, hardened(60)?, hardened(0)?, normal(0)?, normal(index)?].to_vec(),
            Family::Tron => [hardened(44)?, hardened(195)?, hardened(0)?, normal(0)?, normal(index)?].to_vec(),
            Family::Solana => [hardened(44)?, hardened(501)?, hardened(index)?, hardened(0)?].to_vec(),
        };
        Path::new(&steps)
    }

    /// Returns the address of the key at `path`.
    pub fn address(self, seed: &Seed, path: &Path) -> Result<String, KeyringError> {
        Ok(match self {
            Family::Evm => evm::Address::of(&seed.secp256k1_key(path)?.public_key()).to_string(),
            Family::Tron => tron::Address::of(&seed.secp256k1_key(path)?.public_key()).to_string(),
            Family::Solana => solana::Address::of(&seed.ed25519_key(path)?).to_string(),
        })
    }

    /// Signs a message with the key at `path`. The signature has the family's usual encoding: 0x and 65 bytes in hex
    /// (r, s, v) for EVM and Tron, base58 for Solana.
    pub fn sign_message(self, seed: &Seed, path: &Path, message: &[u8]) -> Result<String, KeyringError> {
        Ok(match self {
            Family::Evm => hex_of(&evm::sign_message(&seed.secp256k1_key(path)?, message)?),
            Family::Tron => hex_of(&tron::sign_message(&seed.secp256k1_key(path)?, message)?),
            Family::Solana => solana::write_signature(&solana::sign_message(&seed.ed25519_key(path)?, message)?),
        })
    }

    /// Signs typed data (EIP-712) with the key at `path`. The signature is encoded like that of a message. EVM only.
    pub fn sign_typed_data(self, seed: &Seed, path: &Path, data: &evm::TypedData) -> Result<String, KeyringError> {
        match self {
            Family::Evm => Ok(hex_of(&data.sign(&seed.secp256k1_key(path)?)?)),
            Family::Tron | Family::Solana => Err(KeyringError::NoTypedData),
        }
    }

    /// Returns the private key at `path` in the import format of common wallets: 0x and hex digits for EVM, hex digits
    /// for Tron, base58 of private and public key for Solana. No other public function returns the bytes of a private
    /// key.
    pub fn show_private_key(self, seed: &Seed, path: &Path) -> Result<Zeroizing<String>, KeyringError> {
        wiped_after(|| {
            Ok(match self {
                Family::Evm => digits("0x", &seed.secp256k1_key(path)?.expose()),
                Family::Tron => digits("", &seed.secp256k1_key(path)?.expose()),
                Family::Solana => base58(&seed.ed25519_key(path)?.expose())?,
            })
        })
    }

    /// Parses an address and returns its canonical spelling.
    ///
    /// # Errors
    ///
    /// Fails if the address belongs to another family or is mistyped.
    pub fn read_address(self, text: &str) -> Result<String, KeyringError> {
        Ok(match self {
            Family::Evm => text.parse::<evm::Address>()?.to_string(),
            Family::Tron => text.parse::<tron::Address>()?.to_string(),
            Family::Solana => text.parse::<solana::Address>()?.to_string(),
        })
    }
}

fn hardened(index: u32) -> Result<Step, KeyringError> {
    Step::hardened(index).ok_or(KeyringError::Path)
}

fn normal(index: u32) -> Result<Step, KeyringError> {
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
