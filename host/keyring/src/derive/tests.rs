use serde::Deserialize;

use super::*;
use crate::{Seed, published};

#[derive(Deserialize)]
struct Bip32 {
    seed: String,
    path: String,
    private: String,
    public: String,
}

/// Chain code and key of a serialised extended key: what stands behind version, depth, fingerprint and number.
fn opened(extended: &str) -> (Vec<u8>, Vec<u8>) {
    let bytes = bs58::decode(extended).with_check(None).into_vec().unwrap();
    (bytes[13..45].to_vec(), bytes[45..].to_vec())
}

#[test]
fn secp256k1_keys_are_those_that_bip_32_publishes() {
    for vector in published::vectors::<Bip32>(include_str!("../../tests/published/bip32.json")) {
        let node = secp256k1(&hex::decode(&vector.seed).unwrap(), &vector.path.parse().unwrap()).unwrap();
        let (chain_code, private) = opened(&vector.private);
        assert_eq!((&node.chain_code[..], &node.key[..]), (&chain_code[..], &private[1..]), "{}", vector.path);
        let public = node.into_secp256k1().unwrap().public_key().to_bytes();
        assert_eq!(public[..], opened(&vector.public).1, "{}", vector.path);
    }
}

#[derive(Deserialize)]
struct Slip10 {
    curve: String,
    seed: String,
    path: String,
    chain_code: String,
    private: String,
    public: String,
}

#[test]
fn keys_of_both_curves_are_those_that_slip_10_publishes() {
    for vector in published::vectors::<Slip10>(include_str!("../../tests/published/slip0010.json")) {
        let (seed, path) = (hex::decode(&vector.seed).unwrap(), vector.path.parse().unwrap());
        let is_ed25519 = vector.curve == "ed25519";
        let node = if is_ed25519 { ed25519(&seed, &path) } else { secp256k1(&seed, &path) }.unwrap();
        assert_eq!(hex::encode(*node.chain_code), vector.chain_code, "{} {}", vector.curve, vector.path);
        assert_eq!(hex::encode(*node.key), vector.private, "{} {}", vector.curve, vector.path);
        let public = match is_ed25519 {
            // The standard writes a zero in front, to have 33 bytes for both.
            true => format!("00{}", hex::encode(node.into_ed25519().public_key())),
            false => hex::encode(node.into_secp256k1().unwrap().public_key().to_bytes()),
        };
        assert_eq!(public, vector.public, "{} {}", vector.curve, vector.path);
    }
}

#[derive(Deserialize)]
struct Bip39 {
    seed: String,
    master: String,
}

#[test]
fn master_keys_are_those_that_bip_39_publishes() {
    for vector in published::vectors::<Bip39>(include_str!("../../tests/published/bip39.json")) {
        let node = secp256k1(&hex::decode(&vector.seed).unwrap(), &"m".parse().unwrap()).unwrap();
        let (chain_code, private) = opened(&vector.master);
        assert_eq!((&node.chain_code[..], &node.key[..]), (&chain_code[..], &private[1..]));
    }
}

#[test]
fn ed25519_refuses_a_step_that_is_not_hardened() {
    let seed = Seed::from_bytes(&[7; 64]).unwrap();
    for path in ["m/0", "m/44'/501'/0'/0", "m/44/501'/0'/0'"] {
        let refused = seed.ed25519_key(&path.parse().unwrap()).err();
        assert_eq!(refused, Some(KeyringError::NotHardened), "{path}");
    }
}

#[test]
fn zero_and_the_order_of_the_curve_are_no_keys() {
    let order: [u8; 32] = published::bytes("fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141");
    let mut below = order;
    below[31] -= 1;
    assert_eq!(scalar(&[0; 32]).err(), Some(KeyringError::NoKey));
    assert_eq!(scalar(&order).err(), Some(KeyringError::NoKey));
    assert_eq!(scalar(&[0xff; 32]).err(), Some(KeyringError::NoKey));
    assert!(scalar(&below).is_ok());
}
