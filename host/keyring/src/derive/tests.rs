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

/// Returns chain code and key of a serialised extended key, after version, depth, fingerprint and number.
fn chain_code_and_key(extended: &str) -> (Vec<u8>, Vec<u8>) {
    let bytes = bs58::decode(extended).with_check(None).into_vec().unwrap();
    (bytes[13..45].to_vec(), bytes[45..].to_vec())
}

#[test]
fn secp256k1_keys_match_bip_32_vectors() {
    for vector in published::vectors::<Bip32>(include_str!("../../tests/published/bip32.json")) {
        let node = secp256k1(&hex::decode(&vector.seed).unwrap(), &vector.path.parse().unwrap()).unwrap();
        let (chain_code, private) = chain_code_and_key(&vector.private);
        assert_eq!((&node.chain_code[..], &node.key[..]), (&chain_code[..], &private[1..]), "{}", vector.path);
        let public = node.into_secp256k1().unwrap().public_key().to_bytes();
        assert_eq!(public[..], chain_code_and_key(&vector.public).1, "{}", vector.path);
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
fn keys_of_both_curves_match_slip_10_vectors() {
    for vector in published::vectors::<Slip10>(include_str!("../../tests/published/slip0010.json")) {
        let (seed, path) = (hex::decode(&vector.seed).unwrap(), vector.path.parse().unwrap());
        let is_ed25519 = vector.curve == "ed25519";
        let node = if is_ed25519 { ed25519(&seed, &path) } else { secp256k1(&seed, &path) }.unwrap();
        assert_eq!(hex::encode(*node.chain_code), vector.chain_code, "{} {}", vector.curve, vector.path);
        assert_eq!(hex::encode(*node.key), vector.private, "{} {}", vector.curve, vector.path);
        let public = match is_ed25519 {
            // The standard prepends a zero, so that both have 33 bytes.
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
fn master_keys_match_bip_39_vectors() {
    for vector in published::vectors::<Bip39>(include_str!("../../tests/published/bip39.json")) {
        let node = secp256k1(&hex::decode(&vector.seed).unwrap(), &"m".parse().unwrap()).unwrap();
        let (chain_code, private) = chain_code_and_key(&vector.master);
        assert_eq!((&node.chain_code[..], &node.key[..]), (&chain_code[..], &private[1..]));
    }
}

#[test]
fn ed25519_rejects_a_normal_step() {
    let seed = Seed::from_bytes(&[7; 64]).unwrap();
    for path in ["m/0", "m/44'/501'/0'/0", "m/44/501'/0'/0'"] {
        let error = seed.ed25519_key(&path.parse().unwrap()).err();
        assert_eq!(error, Some(KeyringError::NotHardened), "{path}");
    }
}

#[test]
fn zero_and_the_order_of_the_curve_are_not_keys() {
    let order: [u8; 32] = published::bytes("fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141");
    let mut below = order;
    below[31] -= 1;
    assert_eq!(scalar(&[0; 32]).err(), Some(KeyringError::NoKey));
    assert_eq!(scalar(&order).err(), Some(KeyringError::NoKey));
    assert_eq!(scalar(&[0xff; 32]).err(), Some(KeyringError::NoKey));
    assert!(scalar(&below).is_ok());
}
