use proptest::prelude::*;

use super::*;
use crate::{evm, published::bytes};

/// Transfers of chain 7822, signed by one key (published with the tests of ethereumjs): nonce, tip, fee, gas, value,
/// bytes.
const PUBLISHED: [(u64, u128, u128, u64, u128, &str); 4] = [
    (
        819,
        75853,
        121212,
        35552,
        43203529,
        "02f870821e8e8203338301284d8301d97c828ae094000000000000000000000000000000000000aaaa8402933bc980c080a0d067f2167008c59219652f91cbf8788dbca5f771f6e91e2b7657e85b78b472e0a01d305af9fe81fdba43f0dfcd400ed24dcace0a7e30d4e85701dcaaf484cd079e",
    ),
    (
        353,
        38850,
        136295,
        32593,
        61901619,
        "02f86f821e8e8201618297c283021467827f5194000000000000000000000000000000000000aaaa8403b08b3380c001a004205678f13fc1d7b10feea6513dfa76e24418b6e08097d95c6f93a3b64e536da01d45ad61bfece43862de2cce7d2575a8c1d08c26c87f3cb5f26d7b0be54a91b2",
    ),
    (
        985,
        66377,
        136097,
        68541,
        32531825,
        "02f871821e8e8203d983010349830213a183010bbd94000000000000000000000000000000000000aaaa8401f0657180c001a0e6d23c5ecc0f388a4d41a9523c3ad171e98083a61288c340b968dfe0903a6741a07319e8d54a4fd8f0c081d3ce093d869f9df598481991c8534bfd8f2c163884b4",
    ),
    (
        119,
        24721,
        107729,
        62341,
        65456115,
        "02f86d821e8e778260918301a4d182f38594000000000000000000000000000000000000aaaa8403e6c7f380c001a0e38e239770801eb995498c821e55ac9c19ae09184bb27b34be105e02fe3b7615a067c64ca6bd6d9107e85fd581ab2e70a14b637eb36505bb40861ef9d6e800cab6",
    ),
];

fn transfer() -> Transaction {
    Transaction {
        chain_id: 1,
        nonce: 0,
        max_priority_fee_per_gas: 1,
        max_fee_per_gas: 2,
        gas_limit: 21_000,
        to: Some(Address::from_bytes([7; 20])),
        value: 5,
        data: Vec::new(),
        access_list: Vec::new(),
    }
}

fn key() -> Key {
    Key::from_bytes(&bytes("8f2a55949038a9610f50fb23b5883af3b4ecb3c3bb792cbcefbd1542c692be63")).unwrap()
}

#[test]
fn signed_transfers_match_published_vectors() {
    for (nonce, max_priority_fee_per_gas, max_fee_per_gas, gas_limit, value, expected) in PUBLISHED {
        let to = Some("0x000000000000000000000000000000000000aaaa".parse().unwrap());
        let fees = Transaction { max_priority_fee_per_gas, max_fee_per_gas, gas_limit, ..transfer() };
        let signed = Transaction { chain_id: 7822, nonce, to, value, ..fees }.sign(&key()).unwrap();
        assert_eq!(hex::encode(signed.to_bytes()), expected);
        assert_eq!(SignedTransaction::from_bytes(&signed.to_bytes()), Ok(signed));
    }
}

#[test]
fn message_signature_is_invalid_for_a_transaction() {
    let unsigned = transfer().to_bytes();
    let signature = evm::sign_message(&key(), &unsigned).unwrap();
    let signed = SignedTransaction { transaction: transfer(), signature };
    assert_ne!(signed.sender(), Ok(Address::of(&key().public_key())));
    assert_eq!(evm::recover_message(&unsigned, &signature), Ok(Address::of(&key().public_key())));
}

#[test]
fn oversized_transaction_is_neither_signed_nor_decoded() {
    let large = Transaction { data: vec![1; TRANSACTION_BYTES_MAX], ..transfer() };
    assert_eq!(Transaction::from_bytes(&large.to_bytes()), Err(KeyringError::TransactionLength));
    assert_eq!(large.sign(&key()), Err(KeyringError::TransactionLength));
    assert_eq!(SignedTransaction::from_bytes(&[2; 200_000]), Err(KeyringError::TransactionLength));
}

/// The transfer with one part of its bytes replaced, mostly by a non-canonical encoding of the same value.
#[test]
fn invalid_transaction_is_rejected() {
    let valid = format!("02df01800102825208 94{} 0580c0", "07".repeat(20)).replace(' ', "");
    assert_eq!(hex::encode(transfer().to_bytes()), valid);
    let entry = format!("0580d8d794{}c080", "07".repeat(20));
    for (what, part, instead) in [
        ("nothing", valid.as_str(), ""),
        ("only a type", &valid, "02"),
        ("no fields", &valid, "02c0"),
        ("another type", "02df", "01df"),
        ("a list that ends early", "02df", "02de"),
        ("trailing bytes", "0580c0", "0580c000"),
        ("a field too many", &valid, &format!("{}80", valid.replace("02df", "02e0"))),
        ("a length with a byte too many", "02df", "02f81f"),
        ("a number with a length that it does not need", "02df0180", "02e0810180"),
        ("zero as a byte", "02df0180", "02df0100"),
        ("a number with leading zeros", "02df0180", "02e101820001"),
        ("a chain id above 64 bits", "02df01", "02e889010000000000000000"),
        ("an address of 19 bytes", "02df018001028252089407", "02de0180010282520893"),
        ("a list as data", "0580c0", "05c0c0"),
        ("a string as access list", "0580c0", "058080"),
        ("an entry without fields", &valid, &valid.replace("02df", "02e0").replace("0580c0", "0580c1c0")),
        ("an entry with a field too many", &valid, &valid.replace("02df", "02f7").replace("0580c0", &entry)),
    ] {
        let wrong = valid.replacen(part, instead, 1);
        assert_ne!(wrong, valid);
        let bytes = hex::decode(&wrong).unwrap();
        assert_eq!(Transaction::from_bytes(&bytes), Err(KeyringError::Transaction), "{what}");
        assert_eq!(SignedTransaction::from_bytes(&bytes), Err(KeyringError::Transaction), "{what}");
    }
}

/// Rejects a scalar of 33 bytes, a leading zero, a missing scalar, an additional field, and a zero scalar.
#[test]
fn signature_scalars_have_one_encoding() {
    let transaction = Transaction { nonce: 34, ..transfer() };
    let signed = transaction.sign(&key()).unwrap();
    let mut fields = Vec::new();
    signed.transaction.encode_fields(&mut fields);
    let (r, s) = (signed.signature.r(), signed.signature.s());
    let with = |rest: &[&[u8]]| {
        let mut all = fields.clone();
        signed.signature.is_y_odd().encode(&mut all);
        rest.iter().for_each(|field| field.encode(&mut all));
        SignedTransaction::from_bytes(&[&[TYPE], rlp::list(&all).as_slice()].concat())
    };
    assert_eq!(with(&[&r, &s]), Ok(signed.clone()));
    let (padded, longer) = ([&[0], &r[..]].concat(), [&[1], &s[..]].concat());
    for wrong in [&[&padded[..], &s][..], &[&r, &longer], &[&[0, 1], &s], &[&r], &[&r, &s, &[]]] {
        assert_eq!(with(wrong), Err(KeyringError::Transaction));
    }
    assert_eq!(with(&[&[], &s]), Err(KeyringError::Signature));
}

#[test]
fn high_s_is_rejected() {
    let signed = hex::encode(transfer().sign(&key()).unwrap().to_bytes());
    let (front, _) = signed.split_at(signed.len() - 64);
    // The order of the curve minus one: the highest `s`.
    let high = format!("{front}fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364140");
    let result = SignedTransaction::from_bytes(&hex::decode(high).unwrap());
    assert_eq!(result, Err(KeyringError::Signature));
}

fn any_transaction() -> impl Strategy<Value = Transaction> {
    let entry = (any::<[u8; 20]>(), prop::collection::vec(any::<[u8; 32]>(), 0..3))
        .prop_map(|(address, slots)| AccessListEntry { address: Address::from_bytes(address), slots });
    let fees = (any::<u128>(), any::<u128>(), any::<u64>(), any::<u128>());
    let target = (prop::option::of(any::<[u8; 20]>()), prop::collection::vec(any::<u8>(), 0..300));
    (any::<u64>(), any::<u64>(), fees, target, prop::collection::vec(entry, 0..3)).prop_map(
        |(chain_id, nonce, (tip, fee, gas_limit, value), (to, data), access_list)| Transaction {
            chain_id,
            nonce,
            max_priority_fee_per_gas: tip,
            max_fee_per_gas: fee,
            gas_limit,
            to: to.map(Address::from_bytes),
            value,
            data,
            access_list,
        },
    )
}

proptest! {
    #[test]
    fn transaction_round_trips_and_recovers_its_sender(transaction in any_transaction()) {
        prop_assert_eq!(Transaction::from_bytes(&transaction.to_bytes()), Ok(transaction.clone()));
        let signed = transaction.sign(&key()).unwrap();
        prop_assert_eq!(signed.sender(), Ok(Address::of(&key().public_key())));
        prop_assert_eq!(SignedTransaction::from_bytes(&signed.to_bytes()), Ok(signed));
    }

    /// The encoding is canonical: a changed bit yields another transaction, another signer, or an error.
    #[test]
    fn changed_bit_is_detected(transaction in any_transaction(), at: prop::sample::Index, bit in 0_u8..8) {
        let mut bytes = transaction.clone().sign(&key()).unwrap().to_bytes();
        let at = at.index(bytes.len());
        bytes[at] ^= 1_u8 << bit;
        if let Ok(read) = SignedTransaction::from_bytes(&bytes) {
            prop_assert_eq!(read.to_bytes(), bytes);
            prop_assert_ne!(read.sender(), Ok(Address::of(&key().public_key())));
        }
    }

    #[test]
    fn decoded_transaction_encodes_to_the_same_bytes(mut bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        bytes.insert(0, TYPE);
        if let Ok(read) = Transaction::from_bytes(&bytes) {
            prop_assert_eq!(read.to_bytes(), bytes);
        }
    }
}
