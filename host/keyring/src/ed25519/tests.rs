use proptest::prelude::*;

use super::*;
use crate::published::bytes;

/// RFC 8032, section 7.1, tests 1 to 3: private key, public key, message, signature.
const PUBLISHED: [[&str; 4]; 3] = [
    [
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ],
    [
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    ],
    [
        "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
    ],
];

#[test]
fn signatures_match_rfc_8032_vectors() {
    for [private, public, message, signature] in PUBLISHED {
        let (key, message) = (Key::from_bytes(&bytes(private)), hex::decode(message).unwrap());
        assert_eq!(hex::encode(key.public_key()), public);
        assert_eq!(hex::encode(key.sign(&message).to_bytes()), signature);
        assert_eq!(Signature::from_bytes(bytes(signature)).verify(&bytes(public), &message), Ok(()));
    }
}

/// For a key of small order, the signature with the identity as `R` and zero as `s` is valid for every message.
#[test]
fn small_subgroup_key_is_rejected() {
    let mut identity = [0; 32];
    identity[0] = 1;
    let mut zeros = [0; 64];
    zeros[0] = 1;
    let result = Signature::from_bytes(zeros).verify(&identity, b"anything");
    assert_eq!(result, Err(KeyringError::NotSigned));
}

/// A lenient verifier accepts `s` plus the order of the group as the same number.
#[test]
fn signature_has_one_encoding() {
    let [private, public, _, _] = PUBLISHED[0];
    let mut signature = Key::from_bytes(&bytes(private)).sign(b"").to_bytes();
    let order: [u8; 32] = bytes("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010");
    let mut carry = 0;
    for (digit, added) in signature[32..].iter_mut().zip(order) {
        let sum = u16::from(*digit) + u16::from(added) + carry;
        (*digit, carry) = (sum as u8, sum >> 8);
    }
    assert_eq!(Signature::from_bytes(signature).verify(&bytes(public), b""), Err(KeyringError::NotSigned));
}

#[test]
fn debug_output_hides_the_key() {
    assert_eq!(format!("{:?}", Key::from_bytes(&[7; 32])), "ed25519::Key([secret])");
}

proptest! {
    #[test]
    fn signature_is_valid_only_for_its_message_and_key(
        secret: [u8; 32], message in prop::collection::vec(any::<u8>(), 1..200), at: prop::sample::Index, bit in 0_u8..8,
    ) {
        let key = Key::from_bytes(&secret);
        prop_assert_eq!(&*key.expose(), &[secret, key.public_key()].concat());
        let signature = key.sign(&message);
        prop_assert_eq!(signature.verify(&key.public_key(), &message), Ok(()));
        // Flips one bit in key, signature or message.
        let mut all = [&key.public_key()[..], &signature.to_bytes(), &message].concat();
        let at = at.index(all.len());
        all[at] ^= 1_u8 << bit;
        let (public, rest) = all.split_at(32);
        let (signature, message) = rest.split_at(64);
        let signature = Signature::from_bytes(signature.try_into().unwrap());
        prop_assert_eq!(signature.verify(public.try_into().unwrap(), message), Err(KeyringError::NotSigned));
    }
}
