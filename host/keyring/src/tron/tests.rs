use proptest::prelude::*;

use super::*;
use crate::{SeedPhrase, published::bytes};

/// Well-known addresses: the USDT token, the burn address, the first key of a public test phrase.
const KNOWN: [(&str, &str); 3] = [
    ("TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t", "41a614f803b6fd780986a42c78ec9c7f77e6ded13c"),
    ("T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb", "410000000000000000000000000000000000000000"),
    ("TWer2Ygk5TEheHp3TPuYeqxmB6SsGZmaL6", "41e2e1a54926527fbb4e4420de4c6bab82beaee24d"),
];

#[test]
fn address_has_base58_and_hex_forms() {
    for (text, hex) in KNOWN {
        let address: Address = text.parse().unwrap();
        assert_eq!((address.to_string().as_str(), address.to_hex().as_str()), (text, hex));
    }
}

#[test]
fn test_phrase_has_its_well_known_address() {
    let seed = SeedPhrase::parse("test test test test test test test test test test test junk").unwrap().seed("");
    let key = seed.secp256k1_key(&"m/44'/195'/0'/0/0".parse().unwrap()).unwrap();
    assert_eq!(Address::of(&key.public_key()).to_string(), KNOWN[2].0);
}

#[test]
fn mistyped_address_is_rejected() {
    for text in ["TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6u", "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLjt6"] {
        assert_eq!(text.parse::<Address>(), Err(KeyringError::AddressChecksum), "{text}");
    }
}

#[test]
fn invalid_address_is_rejected() {
    let other_version = bs58::encode([7; 20]).with_check_version(0).into_string();
    let longer = bs58::encode([7; 21]).with_check_version(VERSION).into_string();
    let long = "T".repeat(100_000);
    for text in [
        "",
        "T",
        "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6",
        "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t ",
        "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj0t",
        "T\u{e9}7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6",
        "41a614f803b6fd780986a42c78ec9c7f77e6ded13c",
        "0xa614f803b6fd780986a42c78ec9c7f77e6ded13c",
        "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa",
        &other_version,
        &longer,
        &long,
    ] {
        assert_eq!(text.parse::<Address>(), Err(KeyringError::TronAddress), "{text}");
    }
}

/// The signature of a message must not be valid for a transaction with the same bytes.
#[test]
fn message_signature_is_invalid_for_a_transaction() {
    let key = Key::from_bytes(&bytes(&"46".repeat(32))).unwrap();
    let signature = sign_message(&key, b"bytes").unwrap();
    assert_ne!(recover_transaction(b"bytes", &signature), Ok(Address::of(&key.public_key())));
    assert_ne!(evm::recover_message(b"bytes", &signature), Ok(evm::Address::of(&key.public_key())));
}

proptest! {
    #[test]
    fn address_round_trips(account: [u8; 20]) {
        let address = Address::from_bytes(account);
        prop_assert_eq!(address.to_string().parse::<Address>(), Ok(address));
    }

    #[test]
    fn changed_character_is_rejected(account: [u8; 20], at in 0_usize..34, with in "[1-9A-HJ-NP-Za-km-z]") {
        let text = Address::from_bytes(account).to_string();
        let mut other = text.clone();
        other.replace_range(at..=at, &with);
        prop_assume!(other != text);
        prop_assert!(other.parse::<Address>().is_err());
    }

    #[test]
    fn signer_is_recovered(secret in 1_u64.., message in prop::collection::vec(any::<u8>(), 1..300), at: prop::sample::Index) {
        let key = Key::from_bytes(&bytes(&format!("{secret:064x}"))).unwrap();
        let signer = Address::of(&key.public_key());
        let mut other = message.clone();
        other[at.index(message.len())] ^= 1;
        let signature = sign_message(&key, &message).unwrap();
        prop_assert_eq!(recover_message(&message, &signature), Ok(signer));
        prop_assert_ne!(recover_message(&other, &signature), Ok(signer));
        let signature = sign_transaction(&key, &message).unwrap();
        prop_assert_eq!(recover_transaction(&message, &signature), Ok(signer));
        prop_assert_ne!(recover_transaction(&other, &signature), Ok(signer));
    }
}
