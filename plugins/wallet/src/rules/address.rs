//! Addresses of the three families (spec/wallet: address, destination_address): whether a text is one, and the one spelling
//! that addresses are compared in.
//!
//! Never makes an address: keys belong to the host.

use sha3::{Digest, Keccak256};

use super::blockchain::{Blockchain, Family};

/// The byte in front of a Tron account.
const TRON_VERSION: u8 = 0x41;
const TRON_CHARS: usize = 34;
const EVM_DIGITS: usize = 40;
/// Characters of 32 bytes in base58.
const SOLANA_CHARS: std::ops::RangeInclusive<usize> = 32..=44;
/// Characters of 64 bytes in base58.
const SIGNATURE_CHARS: std::ops::RangeInclusive<usize> = 64..=88;

/// What is wrong with a text that should be an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressFault {
    /// Not an address of this family: of another one, or of none.
    Form,
    /// An address with a mistake in it.
    Checksum,
}

/// The address as it is stored and compared. EVM: with the checksum of EIP-55, whatever case it came in.
pub fn read(blockchain: Blockchain, text: &str) -> Result<String, AddressFault> {
    match blockchain.family() {
        Family::Evm => read_evm(text),
        Family::Tron => read_tron(text),
        Family::Solana => read_solana(text),
    }
}

/// Accepts what carries no checksum (all letters of one case) and what carries the right one.
fn read_evm(text: &str) -> Result<String, AddressFault> {
    let digits = text.strip_prefix("0x").ok_or(AddressFault::Form)?;
    if digits.len() != EVM_DIGITS || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(AddressFault::Form);
    }
    let small = digits.to_ascii_lowercase();
    let hash = Keccak256::digest(small.as_bytes());
    // Four bits of the hash for each digit; a letter is a capital where they are above seven.
    let nibbles = hash.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    let spelled = small.chars().zip(nibbles).map(|(digit, nibble)| match nibble {
        8.. => digit.to_ascii_uppercase(),
        _ => digit,
    });
    let address: String = "0x".chars().chain(spelled).collect();
    let has_checksum = digits != small && digits != digits.to_ascii_uppercase();
    if has_checksum && address != text { Err(AddressFault::Checksum) } else { Ok(address) }
}

fn read_tron(text: &str) -> Result<String, AddressFault> {
    // Decoding takes time with the square of the length.
    if text.len() != TRON_CHARS || !text.starts_with('T') {
        return Err(AddressFault::Form);
    }
    match bs58::decode(text).with_check(Some(TRON_VERSION)).into_vec() {
        Ok(_) => Ok(text.to_owned()),
        Err(bs58::decode::Error::InvalidChecksum { .. }) => Err(AddressFault::Checksum),
        Err(_) => Err(AddressFault::Form),
    }
}

fn read_solana(text: &str) -> Result<String, AddressFault> {
    if !SOLANA_CHARS.contains(&text.len()) {
        return Err(AddressFault::Form);
    }
    let mut bytes = [0; 32];
    match bs58::decode(text).onto(&mut bytes) {
        Ok(32) => Ok(text.to_owned()),
        _ => Err(AddressFault::Form),
    }
}

/// Nobody has its key: what is sent there is burnt.
pub fn is_nobodys(blockchain: Blockchain, address: &str) -> bool {
    address
        == match blockchain.family() {
            Family::Evm => "0x0000000000000000000000000000000000000000",
            Family::Tron => "T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb",
            Family::Solana => "11111111111111111111111111111111",
        }
}

/// Solana calls a transaction by its first signature: 64 bytes in base58.
pub fn is_solana_signature(text: &str) -> bool {
    let mut bytes = [0; 64];
    SIGNATURE_CHARS.contains(&text.len()) && matches!(bs58::decode(text).onto(&mut bytes), Ok(64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The examples of EIP-55.
    const EVM: [&str; 4] = [
        "0x52908400098527886E0F7030069857D2E4169EE7",
        "0xde709f2102306220921060314715629080e2fb77",
        "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
        "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
    ];
    const TRON: &str = "TWer2Ygk5TEheHp3TPuYeqxmB6SsGZmaL6";
    const SOLANA: &str = "oeYf6KAJkLYhBuR8CiGc6L4D4Xtfepr85fuDgA9kq96";

    fn check(blockchain: &str, text: &str, expected: Result<&str, AddressFault>) {
        let read = read(Blockchain::of_slug(blockchain).unwrap(), text);
        assert_eq!(read.as_deref().map_err(|fault| *fault), expected, "{text:?} on {blockchain}");
    }

    #[test]
    fn an_address_is_one_on_its_own_blockchain() {
        for text in EVM {
            check("base", text, Ok(text));
            check("base", &text.to_lowercase(), Ok(text));
            check("tempo", &["0x", &text[2..].to_uppercase()].concat(), Ok(text));
        }
        check("tron", TRON, Ok(TRON));
        check("solana", SOLANA, Ok(SOLANA));
    }

    #[test]
    fn an_address_of_another_blockchain_is_refused() {
        for (blockchain, text) in
            [("base", TRON), ("base", SOLANA), ("tron", EVM[0]), ("tron", SOLANA), ("solana", EVM[0]), ("solana", TRON)]
        {
            check(blockchain, text, Err(AddressFault::Form));
        }
    }

    #[test]
    fn a_mistyped_address_is_refused() {
        check("base", "0x5aaeb6053F3E94C9b9A09f33669435E7Ef1BeAed", Err(AddressFault::Checksum));
        check("base", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAee", Err(AddressFault::Checksum));
        check("tron", "TWer2Ygk5TEheHp3TPuYeqxmB6SsGZmaL7", Err(AddressFault::Checksum));
        for text in
            ["", "0x", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAe", "5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed00"]
        {
            check("base", text, Err(AddressFault::Form));
        }
        check("solana", "0eYf6KAJkLYhBuR8CiGc6L4D4Xtfepr85fuDgA9kq96", Err(AddressFault::Form));
        check("solana", "oeYf6KAJkLYhBuR8CiGc6L4D4Xtfepr85fuDgA9kq9", Err(AddressFault::Form));
    }

    #[test]
    fn the_address_of_nobody_is_one_of_each_family() {
        for (blockchain, text) in [
            ("base", "0x0000000000000000000000000000000000000000"),
            ("tron", "T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb"),
            ("solana", "11111111111111111111111111111111"),
        ] {
            check(blockchain, text, Ok(text));
            let blockchain = Blockchain::of_slug(blockchain).unwrap();
            assert!(is_nobodys(blockchain, text) && !is_nobodys(blockchain, EVM[0]));
        }
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_reader(text in "\\PC{0,60}") {
            for blockchain in ["base", "tron", "solana"] {
                let _ = read(Blockchain::of_slug(blockchain).unwrap(), &text);
            }
        }

        #[test]
        fn the_stored_spelling_is_read_as_itself(digits in "[0-9a-f]{40}") {
            let address = read(Blockchain::Base, &format!("0x{digits}")).unwrap();
            prop_assert_eq!(read(Blockchain::Base, &address), Ok(address.clone()));
        }
    }
}
