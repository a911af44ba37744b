//! Compares derived keys and signatures for a hundred seeds with other libraries (see `oracle/make-vectors.mjs`).
#![allow(clippy::unwrap_used)]

use std::fmt::Display;

use serde::Deserialize;
use tenon_keyring::{
    Family, KeyringError, Seed, SeedPhrase,
    evm::{self, AccessListEntry, SignedTransaction, Transaction, TypedData},
    secp256k1::{Key, Signature},
    solana, tron,
};

#[derive(Deserialize)]
struct Vectors {
    cases: Vec<Case>,
    short_scalars: Vec<ShortScalar>,
    typed_data: Vec<Document>,
}

#[derive(Deserialize)]
struct Case {
    entropy: String,
    phrase: String,
    passphrase: String,
    seed: String,
    index: u32,
    text: String,
    evm: Evm,
    tron: Tron,
    solana: Solana,
}

#[derive(Deserialize)]
struct Evm {
    path: String,
    private: String,
    address: String,
    message: String,
    transaction: EvmTransaction,
}

#[derive(Deserialize)]
struct EvmTransaction {
    chain_id: String,
    nonce: u64,
    max_priority_fee_per_gas: String,
    max_fee_per_gas: String,
    gas_limit: String,
    to: Option<String>,
    value: String,
    data: String,
    access_list: Vec<Entry>,
    unsigned: String,
    signed: String,
    hash: String,
}

#[derive(Deserialize)]
struct Entry {
    address: String,
    slots: Vec<String>,
}

#[derive(Deserialize)]
struct Tron {
    path: String,
    private: String,
    address: String,
    hex: String,
    message: String,
    raw_data: String,
    id: String,
    transaction: String,
}

#[derive(Deserialize)]
struct Solana {
    path: String,
    private: String,
    address: String,
    message: String,
    raw: String,
    transaction: String,
}

#[derive(Deserialize)]
struct ShortScalar {
    nonce: u64,
    signed: String,
}

#[derive(Deserialize)]
struct Document {
    document: String,
    signer: String,
    private: String,
    signature: String,
}

fn vectors() -> Vectors {
    let vectors: Vectors = serde_json::from_str(include_str!("oracle/vectors.json")).unwrap();
    assert_eq!((vectors.cases.len(), vectors.short_scalars.len(), vectors.typed_data.len()), (100, 6, 40));
    vectors
}

/// Runs a check on every case. Uses the seeds as bytes, so that only one test derives them from phrases.
fn for_each_case(check: impl Fn(&Case, &Seed)) {
    for case in vectors().cases {
        check(&case, &Seed::from_bytes(&decoded(&case.seed)).unwrap());
    }
}

fn decoded(digits: &str) -> Vec<u8> {
    hex::decode(digits).unwrap()
}

fn assert_formats<T: Display>(text: &str, value: &T) {
    assert_eq!(value.to_string(), text);
}

#[test]
fn phrases_and_seeds_agree() {
    for case in vectors().cases {
        let phrase = SeedPhrase::from_entropy(&decoded(&case.entropy)).unwrap();
        assert_eq!(*phrase.expose(), case.phrase);
        assert_eq!(hex::encode(&*phrase.entropy()), case.entropy);
        assert_eq!(hex::encode(phrase.seed(&case.passphrase).expose()), case.seed);
    }
}

#[test]
fn evm_keys_addresses_and_messages_agree() {
    for_each_case(|case, seed| {
        let expected = &case.evm;
        let path = Family::Evm.path(case.index).unwrap();
        assert_formats(&expected.path, &path);
        assert_eq!(*Family::Evm.show_private_key(seed, &path).unwrap(), expected.private);
        let key = seed.secp256k1_key(&path).unwrap();
        assert_formats(&expected.address, &evm::Address::of(&key.public_key()));
        assert_formats(&expected.message, &evm::sign_message(&key, case.text.as_bytes()).unwrap());
        let signature: Signature = expected.message.parse().unwrap();
        assert_formats(&expected.address, &evm::recover_message(case.text.as_bytes(), &signature).unwrap());
    });
}

impl EvmTransaction {
    fn built(&self) -> Transaction {
        let entries = self.access_list.iter().map(|entry| AccessListEntry {
            address: entry.address.parse().unwrap(),
            slots: entry.slots.iter().map(|slot| decoded(slot).try_into().unwrap()).collect(),
        });
        Transaction {
            chain_id: self.chain_id.parse().unwrap(),
            nonce: self.nonce,
            max_priority_fee_per_gas: self.max_priority_fee_per_gas.parse().unwrap(),
            max_fee_per_gas: self.max_fee_per_gas.parse().unwrap(),
            gas_limit: self.gas_limit.parse().unwrap(),
            to: self.to.as_ref().map(|to| to.parse().unwrap()),
            value: self.value.parse().unwrap(),
            data: decoded(&self.data),
            access_list: entries.collect(),
        }
    }
}

#[test]
fn evm_transactions_agree() {
    for_each_case(|case, seed| {
        let expected = &case.evm.transaction;
        let key = seed.secp256k1_key(&case.evm.path.parse().unwrap()).unwrap();
        let transaction = expected.built();
        assert_eq!(hex::encode(transaction.to_bytes()), expected.unsigned);
        assert_eq!(Transaction::from_bytes(&decoded(&expected.unsigned)), Ok(transaction.clone()));
        let signed = transaction.sign(&key).unwrap();
        assert_eq!(
            (hex::encode(signed.to_bytes()), hex::encode(signed.hash())),
            (expected.signed.clone(), expected.hash.clone())
        );
        let read = SignedTransaction::from_bytes(&decoded(&expected.signed)).unwrap();
        assert_formats(&case.evm.address, &read.sender().unwrap());
        assert_eq!(read, signed);
    });
}

#[test]
fn signatures_with_leading_zeros_agree() {
    let key = Key::from_bytes(&[0x46; 32]).unwrap();
    for expected in vectors().short_scalars {
        let signed = SignedTransaction::from_bytes(&decoded(&expected.signed)).unwrap();
        assert_eq!(signed.transaction.nonce, expected.nonce);
        assert_eq!(signed.sender(), Ok(evm::Address::of(&key.public_key())));
        let again = signed.transaction.sign(&key).unwrap();
        assert_eq!(hex::encode(again.to_bytes()), expected.signed);
    }
}

#[test]
fn signatures_of_typed_data_agree() {
    for expected in vectors().typed_data {
        let document = TypedData::read(&expected.document).unwrap();
        let key = Key::from_bytes(&decoded(&expected.private).try_into().unwrap()).unwrap();
        let signature = document.sign(&key).unwrap();
        assert_formats(&expected.signature, &signature);
        assert_formats(&expected.signer, &document.signer(&signature).unwrap());
    }
}

#[test]
fn tron_keys_addresses_messages_and_transactions_agree() {
    for_each_case(|case, seed| {
        let (expected, text) = (&case.tron, case.text.as_bytes());
        let path = Family::Tron.path(case.index).unwrap();
        assert_formats(&expected.path, &path);
        assert_eq!(*Family::Tron.show_private_key(seed, &path).unwrap(), expected.private);
        let key = seed.secp256k1_key(&path).unwrap();
        let address = tron::Address::of(&key.public_key());
        assert_formats(&expected.address, &address);
        assert_eq!(address.to_hex(), expected.hex);
        assert_formats(&expected.message, &tron::sign_message(&key, text).unwrap());
        assert_eq!(tron::recover_message(text, &expected.message.parse().unwrap()), Ok(address));
        let raw = decoded(&expected.raw_data);
        assert_eq!(hex::encode(tron::transaction_id(&raw)), expected.id);
        assert_formats(&expected.transaction, &tron::sign_transaction(&key, &raw).unwrap());
        assert_eq!(tron::recover_transaction(&raw, &expected.transaction.parse().unwrap()), Ok(address));
    });
}

#[test]
fn solana_keys_addresses_messages_and_transactions_agree() {
    for_each_case(|case, seed| {
        let (expected, text) = (&case.solana, case.text.as_bytes());
        let path = Family::Solana.path(case.index).unwrap();
        assert_formats(&expected.path, &path);
        assert_eq!(*Family::Solana.show_private_key(seed, &path).unwrap(), expected.private);
        let key = seed.ed25519_key(&path).unwrap();
        let address = solana::Address::of(&key);
        assert_formats(&expected.address, &address);
        let signature = solana::sign_message(&key, text).unwrap();
        assert_eq!(solana::write_signature(&signature), expected.message);
        assert_eq!(solana::verify(&address, text, &signature), Ok(()));
        let raw = decoded(&expected.raw);
        let signature = solana::sign_transaction(&key, &raw).unwrap();
        assert_eq!(solana::write_signature(&signature), expected.transaction);
        assert_eq!(solana::verify(&address, text, &signature), Err(KeyringError::NotSigned));
    });
}
