use proptest::prelude::*;

use super::*;
use crate::SeedPhrase;

/// The mint of USDC, which has a key, and two well-known programs.
const KNOWN: [&str; 3] = [
    "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v",
    "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA",
    "11111111111111111111111111111111",
];

#[test]
fn address_formats_to_its_input() {
    for text in KNOWN {
        assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
    }
}

#[test]
fn test_phrase_has_its_well_known_address() {
    let seed = SeedPhrase::parse("test test test test test test test test test test test junk").unwrap().seed("");
    let key = seed.ed25519_key(&"m/44'/501'/0'/0'".parse().unwrap()).unwrap();
    assert_eq!(Address::of(&key).to_string(), "oeYf6KAJkLYhBuR8CiGc6L4D4Xtfepr85fuDgA9kq96");
}

#[test]
fn invalid_address_is_rejected() {
    let shorter = bs58::encode([0xff; 31]).into_string();
    let longer = bs58::encode([0xff; 33]).into_string();
    let long = "1".repeat(100_000);
    for text in [
        "",
        "oeYf6KAJkLYhBuR8CiGc6L4D4Xtfepr85fuDgA9kq96x",
        " oeYf6KAJkLYhBuR8CiGc6L4D4Xtfepr85fuDgA9kq96",
        "oeYf6KAJkLYhBuR8CiGc6L4D4Xtfepr85fuDgA9kq90",
        "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
        "TWer2Ygk5TEheHp3TPuYeqxmB6SsGZmaL6",
        "111111111111111111111111111111111",
        "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz",
        &shorter,
        &longer,
        &long,
    ] {
        assert_eq!(text.parse::<Address>(), Err(KeyringError::SolanaAddress), "{text}");
    }
}

/// No point has y = 2. The address of a key is always a point.
#[test]
fn address_without_a_key_is_off_the_curve() {
    let mut off = [0; 32];
    off[0] = 2;
    assert!(!Address::from_bytes(off).is_on_curve());
    assert!(Address::of(&Key::from_bytes(&[7; 32])).is_on_curve());
}

#[test]
fn bytes_with_the_public_key_are_signed_only_as_a_transaction() {
    let key = Key::from_bytes(&[7; 32]);
    let transaction = [&[1, 0, 1, 3][..], &key.public_key(), &[0; 96]].concat();
    assert!(sign_transaction(&key, &transaction).is_ok());
    assert_eq!(sign_message(&key, &transaction), Err(KeyringError::MessageLikeTransaction));
    for message in [&b""[..], b"hello", &transaction[..35], &[0; 200]] {
        assert!(sign_message(&key, message).is_ok());
        assert_eq!(sign_transaction(&key, message), Err(KeyringError::NotSigner));
    }
}

#[test]
fn invalid_signature_is_rejected() {
    let valid = write_signature(&sign_message(&Key::from_bytes(&[7; 32]), b"hello").unwrap());
    assert!(read_signature(&valid).is_ok());
    let (shorter, longer) = (bs58::encode([0xff; 63]).into_string(), bs58::encode([0xff; 65]).into_string());
    for text in ["", "1", &shorter, &longer, &format!("{valid} "), &format!("0{}", &valid[1..]), &"1".repeat(100_000)] {
        assert_eq!(read_signature(text), Err(KeyringError::Signature), "{text}");
    }
}

proptest! {
    #[test]
    fn address_round_trips(bytes: [u8; 32]) {
        let address = Address::from_bytes(bytes);
        prop_assert_eq!(address.to_string().parse::<Address>(), Ok(address));
    }

    #[test]
    fn key_is_on_the_curve_and_signs(secret: [u8; 32], message in prop::collection::vec(any::<u8>(), 0..300)) {
        let key = Key::from_bytes(&secret);
        let address = Address::of(&key);
        prop_assert!(address.is_on_curve());
        let signature = sign_message(&key, &message).unwrap();
        prop_assert_eq!(verify(&address, &message, &signature), Ok(()));
        prop_assert_eq!(read_signature(&write_signature(&signature)), Ok(signature));
    }
}
