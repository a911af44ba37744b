use proptest::prelude::*;
use tenon_keyring::Family;

use super::*;
use crate::{
    sign_transaction, sign_transfer,
    simulated::Network,
    testing::{facts, seed, terms},
};

const RECIPIENT: &str = "TWer2Ygk5TEheHp3TPuYeqxmB6SsGZmaL6";

fn path(index: u32) -> Path {
    Family::Tron.path(index).unwrap()
}

fn new_transfer(amount: U256) -> NewTransfer<'static> {
    NewTransfer { recipient: RECIPIENT, token: None, amount, sequence: 0 }
}

#[test]
fn invalid_transfer_is_rejected_with_its_cause() {
    let facts = facts("tron", Network::Test);
    let sign = |new_transfer: NewTransfer<'_>, anchor: &str| {
        let terms = Terms { anchor: anchor.to_owned(), ..terms(&facts) };
        sign_transfer(&facts, &seed(), &path(0), &new_transfer, &terms).err()
    };
    let anchor = terms(&facts).anchor;
    assert_eq!(sign(new_transfer(U256::ONE), &anchor), None);
    for amount in [U256::ZERO, U256::from(1_u64 << 63), U256::MAX] {
        assert_eq!(sign(new_transfer(amount), &anchor), Some(SignError::Amount));
    }
    let other = NewTransfer { token: Some(RECIPIENT), ..new_transfer(U256::ONE) };
    assert_eq!(sign(other, &anchor), Some(SignError::Token));
    let block = "00".repeat(32);
    for broken in
        ["", "/", "/5", &block, &format!("{block}/"), &format!("{block}/{}", u64::MAX), &format!("{block}/-1")]
    {
        assert_eq!(sign(new_transfer(U256::ONE), broken), Some(SignError::Terms), "{broken}");
    }
}

#[test]
fn transaction_of_another_sender_is_not_signed() {
    let facts = facts("tron", Network::Test);
    let sender = address_at(&seed(), &path(0)).unwrap();
    let unsigned = hex::encode(transfer(&facts, sender, &new_transfer(U256::ONE), &terms(&facts)).unwrap().to_bytes());
    let signed = sign_transaction(&facts, &seed(), &path(0), &unsigned).unwrap();
    assert_eq!(sign_transfer(&facts, &seed(), &path(0), &new_transfer(U256::ONE), &terms(&facts)), Ok(signed));
    assert_eq!(sign_transaction(&facts, &seed(), &path(1), &unsigned), Err(SignError::OtherSender));
}

/// A node might decode these encodings differently: repeated and unknown fields, over-long numbers, trailing bytes.
#[test]
fn raw_data_has_one_valid_encoding() {
    let facts = facts("tron", Network::Test);
    let sender = address_at(&seed(), &path(0)).unwrap();
    let bytes = transfer(&facts, sender, &new_transfer(U256::ONE), &terms(&facts)).unwrap().to_bytes();
    assert!(RawData::from_bytes(&bytes).is_ok());
    let memo = [0x52, 1, 0x61];
    for changed in [
        [&bytes[..], &memo, &memo].concat(),
        [&bytes[..], &[0x4a, 1, 0]].concat(),
        [&bytes[..], &memo].concat(),
        [&bytes[..], &[0]].concat(),
        [&bytes[..], &[0x90, 1, 0x80, 0]].concat(),
        bytes[..bytes.len() - 1].to_vec(),
        bytes[1..].to_vec(),
        Vec::new(),
    ] {
        assert!(RawData::from_bytes(&changed).is_err(), "{}", hex::encode(&changed));
    }
}

proptest! {
    #[test]
    fn signed_transfer_decodes_to_its_input(
        account: [u8; 20], amount in 1_u64..1 << 63, sequence in 0_u64..1 << 40, is_token: bool,
    ) {
        let facts = facts("tron", Network::Test);
        let recipient = Address::from_bytes(account).to_string();
        let token = is_token.then(|| facts.tokens[0].address.as_str());
        let new_transfer = NewTransfer { recipient: &recipient, token, amount: amount.into(), sequence };
        let terms = terms(&facts);
        let signed = sign_transfer(&facts, &seed(), &path(0), &new_transfer, &terms).unwrap();
        let decoded = read(&signed.raw).unwrap().decoded(&facts);
        prop_assert_eq!((&decoded.hash, &decoded.sender, decoded.fee), (&signed.hash, &signed.sender, signed.fee));
        let most = if is_token { terms.token_fee } else { terms.coin_fee };
        prop_assert!(signed.fee <= most);
        let movement = &decoded.movements[0];
        prop_assert_eq!((&movement.recipient, movement.token.as_deref()), (&recipient, token));
        prop_assert_eq!(movement.amount, U256::from(amount));
    }

    #[test]
    fn flipped_bit_is_rejected(bit in 0_usize..2_000) {
        let facts = facts("tron", Network::Test);
        let signed = sign_transfer(&facts, &seed(), &path(0), &new_transfer(U256::ONE), &terms(&facts)).unwrap();
        let mut bytes = hex::decode(&signed.raw).unwrap();
        let at = bit / 8 % bytes.len();
        bytes[at] ^= 1 << (bit % 8);
        prop_assert!(read(&hex::encode(bytes)).is_err());
    }

    #[test]
    fn arbitrary_bytes_are_not_a_signed_transaction(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(read(&hex::encode(&bytes)).is_err());
        if let Ok(raw_data) = RawData::from_bytes(&bytes) {
            prop_assert_eq!(raw_data.to_bytes(), bytes);
        }
    }
}
