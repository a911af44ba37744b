//! Addresses of EVM blockchains: 20 bytes, formatted with the checksum of EIP-55.

use std::{fmt, str::FromStr};

use super::keccak;
use crate::{KeyringError, secp256k1::PublicKey};

/// The address of an account or a contract. It is the same on every EVM blockchain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Address([u8; 20]);

impl Address {
    pub const fn from_bytes(bytes: [u8; 20]) -> Address {
        Address(bytes)
    }

    pub fn of(key: &PublicKey) -> Address {
        Address(key.account())
    }

    pub const fn as_bytes(&self) -> &[u8; 20] {
        &self.0
    }
}

/// Formats with the checksum in the case of the letters: a letter is upper case if the hash digit at its position is
/// above 7.
impl fmt::Display for Address {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = hex::encode(self.0);
        let hash = hex::encode(keccak(digits.as_bytes()));
        out.write_str("0x")?;
        digits.chars().zip(hash.chars()).try_for_each(|(digit, check)| {
            write!(out, "{}", if check > '7' { digit.to_ascii_uppercase() } else { digit })
        })
    }
}

/// Parses an address without a checksum (all letters of one case) or with a correct one.
impl FromStr for Address {
    type Err = KeyringError;

    fn from_str(text: &str) -> Result<Address, KeyringError> {
        let digits = text.strip_prefix("0x").ok_or(KeyringError::EvmAddress)?;
        let mut bytes = [0; 20];
        hex::decode_to_slice(digits, &mut bytes).map_err(|_| KeyringError::EvmAddress)?;
        let address = Address(bytes);
        let has_lowercase = digits.contains(|letter: char| letter.is_ascii_lowercase());
        let has_uppercase = digits.contains(|letter: char| letter.is_ascii_uppercase());
        if has_lowercase && has_uppercase && address.to_string() != text {
            return Err(KeyringError::AddressChecksum);
        }
        Ok(address)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The examples of EIP-55.
    const PUBLISHED: [&str; 8] = [
        "0x52908400098527886E0F7030069857D2E4169EE7",
        "0x8617E340B3D01FA5F11F306F4090FD50E238070D",
        "0xde709f2102306220921060314715629080e2fb77",
        "0x27b1fdb04752bbc536007a920d24acb045561c26",
        "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
        "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
        "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB",
        "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb",
    ];

    #[test]
    fn address_formats_with_its_checksum() {
        for text in PUBLISHED {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
            let lowercase = text.to_ascii_lowercase();
            assert_eq!(lowercase.parse::<Address>().unwrap().to_string(), text, "an address without a checksum");
        }
        let uppercase = "0x5AAEB6053F3E94C9B9A09F33669435E7EF1BEAED";
        assert_eq!(uppercase.parse::<Address>().unwrap().to_string(), PUBLISHED[4]);
    }

    #[test]
    fn mistyped_address_is_rejected() {
        for text in [
            "0x5aaeb6053F3E94C9b9A09f33669435E7Ef1BeAed", // one letter in the wrong case
            "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAee", // one digit changed
            "0x5aAeb6053F3E94C9b9A09f33669435E7fE1BeAed", // two digits swapped
        ] {
            assert_eq!(text.parse::<Address>(), Err(KeyringError::AddressChecksum), "{text}");
        }
    }

    #[test]
    fn invalid_address_is_rejected() {
        let long = format!("0x{}", "0".repeat(100_000));
        let wrong =
            ["", "0x", "5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "0X5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"];
        for text in wrong.into_iter().chain([
            "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAe",
            "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAedd",
            " 0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
            "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeg",
            "0xé5aAeb6053F3E94C9b9A09f33669435E7Ef1BeA",
            "TWer2Ygk5TEheHp3TPuYeqxmB6SsGZmaL6",
            "oeYf6KAJkLYhBuR8CiGc6L4D4Xtfepr85fuDgA9kq96",
            long.as_str(),
        ]) {
            assert_eq!(text.parse::<Address>(), Err(KeyringError::EvmAddress), "{text}");
        }
    }

    proptest! {
        #[test]
        fn address_round_trips(bytes: [u8; 20]) {
            let address = Address::from_bytes(bytes);
            prop_assert_eq!(address.to_string().parse::<Address>(), Ok(address));
        }
    }
}
