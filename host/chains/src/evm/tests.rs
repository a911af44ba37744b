use proptest::prelude::*;
use tenon_keyring::Family;

use super::*;
use crate::{
    sign_transaction, sign_transfer,
    simulated::Network,
    testing::{facts, seed, terms},
};

fn path() -> Path {
    Family::Evm.path(0).unwrap()
}

#[test]
fn invalid_transfer_is_rejected_with_its_cause() {
    let facts = facts("base", Network::Test);
    let recipient = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed";
    let valid = NewTransfer { recipient, token: None, amount: U256::ONE, sequence: 0 };
    let sign = |new_transfer: NewTransfer<'_>, terms: Terms| {
        sign_transfer(&facts, &seed(), &path(), &new_transfer, &terms).err()
    };
    let terms = terms(&facts);
    assert_eq!(sign(valid, terms.clone()), None);
    assert_eq!(sign(NewTransfer { amount: U256::ZERO, ..valid }, terms.clone()), None, "it fills a gap");
    assert_eq!(sign(NewTransfer { amount: U256::MAX, ..valid }, terms.clone()), Some(SignError::Amount));
    assert_eq!(sign(NewTransfer { token: Some(recipient), ..valid }, terms.clone()), Some(SignError::Token));
    let tron = NewTransfer { recipient: "TWer2Ygk5TEheHp3TPuYeqxmB6SsGZmaL6", ..valid };
    assert!(matches!(sign(tron, terms.clone()), Some(SignError::Recipient(_))));
    for broken in [
        Terms { price: U256::ZERO, ..terms.clone() },
        Terms { price: U256::MAX, ..terms.clone() },
        Terms { anchor: "a block".to_owned(), ..terms.clone() },
        Terms { coin_fee: U256::MAX, ..terms.clone() },
    ] {
        assert_eq!(sign(valid, broken), Some(SignError::Terms));
    }
}

#[test]
fn transaction_of_another_network_is_not_signed() {
    let (test, main) = (facts("base", Network::Test), facts("base", Network::Main));
    let recipient = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed";
    let new_transfer = NewTransfer { recipient, token: None, amount: U256::ONE, sequence: 0 };
    let unsigned = write_hex(&transfer(&test, &new_transfer, &terms(&test)).unwrap().to_bytes());
    let signed = sign_transaction(&test, &seed(), &path(), &unsigned).unwrap();
    assert_eq!(sign_transfer(&test, &seed(), &path(), &new_transfer, &terms(&test)), Ok(signed.clone()));
    let error = SignError::OtherNetwork { expected: main.chain_id, found: test.chain_id };
    assert_eq!(sign_transaction(&main, &seed(), &path(), &unsigned), Err(error.clone()));
    assert_eq!(read(&main, &signed.raw), Err(error));
}

#[test]
fn call_other_than_a_token_transfer_moves_only_its_value() {
    let facts = facts("base", Network::Test);
    let token: Address = facts.tokens[0].address.parse().unwrap();
    let sender = Address::from_bytes([1; 20]);
    let transfer = write_token_transfer(&[2; 20], U256::new(5));
    let mut dirty = transfer.clone();
    dirty[4] = 1;
    let cases = [
        (sender, 7, Vec::new(), Some((None, 7))),
        (sender, 7, transfer.clone(), Some((None, 7))),
        (sender, 0, transfer.clone(), None),
        (token, 0, transfer.clone(), Some((Some(token.to_string()), 5))),
        (token, 1, transfer.clone(), None),
        (token, 0, transfer[..67].to_vec(), None),
        (token, 0, [&transfer[..], &[0]].concat(), None),
        (token, 0, dirty, None),
    ];
    for (to, value, data, expected) in cases {
        let new_transfer = NewTransfer { recipient: &to.to_string(), token: None, amount: U256::ONE, sequence: 0 };
        let made = super::transfer(&facts, &new_transfer, &terms(&facts)).unwrap();
        let call = Call { transaction: Transaction { value, data, ..made }, hash: String::new(), sender };
        let moved = call.movement(&facts).map(|movement| (movement.token, movement.amount.as_u128()));
        assert_eq!(moved, expected);
    }
}

proptest! {
    #[test]
    fn signed_transfer_decodes_to_its_input(
        account: [u8; 20], amount in 1_u128.., sequence: u64, is_token: bool, key in 0_u32..4,
    ) {
        let facts = facts("bsc", Network::Test);
        let recipient = Address::from_bytes(account).to_string();
        let token = is_token.then(|| facts.tokens[0].address.as_str());
        let new_transfer = NewTransfer { recipient: &recipient, token, amount: amount.into(), sequence };
        let path = Family::Evm.path(key).unwrap();
        let signed = sign_transfer(&facts, &seed(), &path, &new_transfer, &terms(&facts)).unwrap();
        let decoded = read(&facts, &signed.raw).unwrap().decoded(&facts);
        prop_assert_eq!((&decoded.hash, &decoded.sender), (&signed.hash, &signed.sender));
        prop_assert_eq!((decoded.fee, decoded.sequence), (signed.fee, Some(sequence)));
        let movement = &decoded.movements[0];
        prop_assert_eq!((&movement.recipient, movement.token.as_deref()), (&recipient, token));
        prop_assert_eq!(movement.amount, U256::from(amount));
    }

    #[test]
    fn arbitrary_bytes_do_not_panic_the_decoder(bytes in prop::collection::vec(any::<u8>(), 0..300), text in ".{0,40}") {
        let facts = facts("base", Network::Test);
        let _ = read(&facts, &hex::encode(&bytes));
        let _ = read_unsigned(&facts, &hex::encode([&[2], &bytes[..]].concat()));
        prop_assert!(read(&facts, &text).is_err());
    }
}
