use proptest::prelude::*;
use sha2::Sha256;

use super::*;
use crate::published::bytes;

/// The order of the curve, which is the modulus of private keys and scalars.
const MODULUS: &str = "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141";

fn key(digits: &str) -> Key {
    Key::from_bytes(&bytes(digits)).unwrap()
}

/// Replaces `s` by the high `s`, which is valid for the same message: the order of the curve minus the low `s`.
fn with_high_s(signature: [u8; 65]) -> [u8; 65] {
    let ecdsa = Ecdsa::from_slice(&signature[..64]).unwrap();
    let high = -*ecdsa.s().as_ref();
    let mut bytes = signature;
    bytes[32..64].copy_from_slice(&high.to_bytes());
    bytes[64] = 27 + 28 - signature[64];
    bytes
}

/// Vectors of RFC 6979 over secp256k1 with SHA-256, published by Bitcoin libraries.
#[test]
fn nonces_follow_rfc_6979() {
    let vectors = [
        (
            1,
            "Satoshi Nakamoto",
            "934b1ea10a4b3c1757e2b0c017d0b6143ce3c9a7e6a4a49860d7a6ab210ee3d8\
             2442ce9d2b916064108014783e923ec36b49743e2ffa1c4496f01a512aafd9e5",
        ),
        (
            1,
            "All those moments will be lost in time, like tears in rain. Time to die...",
            "8600dbd41e348fe5c9465ab92d23e3db8b98b873beecd930736488696438cb6b\
             547fe64427496db33bf66019dacbf0039c04199abb0122918601db38a72cfc21",
        ),
    ];
    for (secret, message, expected) in vectors {
        let mut secret_bytes = [0; 32];
        secret_bytes[31] = secret;
        let signature = Key::from_bytes(&secret_bytes).unwrap().sign_digest(&Sha256::digest(message).into()).unwrap();
        assert_eq!(hex::encode(&signature.to_bytes()[..64]), expected);
    }
}

/// The example of EIP-155: digest, key and signature.
#[test]
fn signature_matches_the_eip_155_example() {
    let digest = bytes("daf5a779ae972f972197303d7b574746c7ef83eadac0f2791ad23db92e4c8e53");
    let signature = key(&"46".repeat(32)).sign_digest(&digest).unwrap();
    let expected = "28ef61340bd939bc2195fe537567866003e1a15d3c71ff63e1590620aa636276\
                    67cbe9d8997f761aecb703304b3800ccf555c9f3dc64214b297fb1966a3b6d831b";
    assert_eq!(hex::encode(signature.to_bytes()), expected);
}

#[test]
fn private_key_is_above_zero_and_below_the_modulus() {
    for wrong in ["00".repeat(32), MODULUS.to_owned(), "ff".repeat(32)] {
        assert_eq!(Key::from_bytes(&bytes(&wrong)).err(), Some(KeyringError::PrivateKey), "{wrong}");
    }
    let highest = MODULUS.replace("4141", "4140");
    assert_eq!(hex::encode(&*key(&highest).expose()), highest);
}

#[test]
fn debug_output_hides_the_key() {
    assert_eq!(format!("{:?}", key(&"46".repeat(32))), "secp256k1::Key([secret])");
}

#[test]
fn invalid_signature_is_rejected() {
    let valid = key(&"46".repeat(32)).sign_digest(&[7; 32]).unwrap().to_bytes();
    let spoiled = |at: usize, with: &[u8]| {
        let mut bytes = valid.to_vec();
        bytes.splice(at..at + with.len(), with.iter().copied());
        bytes
    };
    let order = bytes::<32>(MODULUS);
    let mut wrong = vec![vec![], valid[..64].to_vec(), [&valid[..], &[0]].concat(), vec![0; 65]];
    wrong.extend([0, 1, 26, 29, 30, 31, 35, 255].map(|v| spoiled(64, &[v])));
    wrong.extend([spoiled(0, &[0; 32]), spoiled(32, &[0; 32]), spoiled(0, &order), spoiled(32, &order)]);
    for bytes in wrong {
        assert_eq!(Signature::from_bytes(&bytes), Err(KeyringError::Signature), "{}", hex::encode(&bytes));
    }
    for text in ["", "0x", &hex::encode(valid), &format!("0x{}", hex::encode(&valid[..64]))] {
        assert_eq!(text.parse::<Signature>(), Err(KeyringError::Signature), "{text}");
    }
}

proptest! {
    #[test]
    fn signature_recovers_its_key_and_has_the_low_s(secret in 1_u128.., digest: [u8; 32]) {
        let mut bytes = [0; 32];
        bytes[16..].copy_from_slice(&secret.to_be_bytes());
        let key = Key::from_bytes(&bytes).unwrap();
        let signature = key.sign_digest(&digest).unwrap();
        prop_assert_eq!(signature, key.sign_digest(&digest).unwrap());
        prop_assert_eq!(signature.recover(&digest), Ok(key.public_key()));
        prop_assert_eq!(Signature::from_bytes(&signature.to_bytes()), Ok(signature));
        prop_assert_eq!(signature.to_string().parse(), Ok(signature));
        prop_assert_eq!(Signature::from_bytes(&with_high_s(signature.to_bytes())), Err(KeyringError::Signature));
    }

    #[test]
    fn changed_bit_changes_the_signer_or_is_rejected(digest: [u8; 32], bit in 0_usize..(32 + 65) * 8) {
        let key = key(&"46".repeat(32));
        let mut bytes = [&digest[..], &key.sign_digest(&digest).unwrap().to_bytes()].concat();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let (digest, signature) = bytes.split_at(32);
        let signer = Signature::from_bytes(signature).and_then(|signature| signature.recover(digest.try_into().unwrap()));
        prop_assert_ne!(signer, Ok(key.public_key()));
    }

    #[test]
    fn arbitrary_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..70), digest: [u8; 32]) {
        if let Ok(signature) = Signature::from_bytes(&bytes) {
            prop_assert_eq!(&signature.to_bytes()[..], &bytes[..]);
            let _ = signature.recover(&digest);
        }
    }
}
