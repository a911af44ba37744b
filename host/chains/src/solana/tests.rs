use proptest::prelude::*;
use tenon_keyring::Family;

use super::{
    instruction::{ASSOCIATED_TOKEN_PROGRAM, COMPUTE_PROGRAM, MEMO_PROGRAM, SYSTEM_PROGRAM, TOKEN_PROGRAM},
    *,
};
use crate::{
    sign_transaction, sign_transfer,
    simulated::Network,
    testing::{facts, seed, terms},
};

const RECIPIENT: &str = "oeYf6KAJkLYhBuR8CiGc6L4D4Xtfepr85fuDgA9kq96";

fn path(index: u32) -> Path {
    Family::Solana.path(index).unwrap()
}

fn new_transfer(amount: U256) -> NewTransfer<'static> {
    NewTransfer { recipient: RECIPIENT, token: None, amount, sequence: 0 }
}

#[test]
fn program_addresses_match_their_string_forms() {
    for (address, text) in [
        (SYSTEM_PROGRAM, "11111111111111111111111111111111"),
        (TOKEN_PROGRAM, "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"),
        (ASSOCIATED_TOKEN_PROGRAM, "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL"),
        (MEMO_PROGRAM, "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr"),
        (COMPUTE_PROGRAM, "ComputeBudget111111111111111111111111111111"),
    ] {
        assert_eq!(address.to_string(), text);
    }
}

#[test]
fn invalid_transfer_is_rejected_with_its_cause() {
    let facts = facts("solana", Network::Test);
    let sign = |new_transfer: NewTransfer<'_>, anchor: &str| {
        let terms = Terms { anchor: anchor.to_owned(), ..terms(&facts) };
        sign_transfer(&facts, &seed(), &path(0), &new_transfer, &terms).err()
    };
    let anchor = terms(&facts).anchor;
    assert_eq!(sign(new_transfer(U256::ONE), &anchor), None);
    for amount in [U256::ZERO, U256::from(u64::MAX) + 1, U256::MAX] {
        assert_eq!(sign(new_transfer(amount), &anchor), Some(SignError::Amount));
    }
    assert_eq!(
        sign(NewTransfer { token: Some(RECIPIENT), ..new_transfer(U256::ONE) }, &anchor),
        Some(SignError::Token)
    );
    for broken in ["", "00", "0".repeat(44).as_str()] {
        assert_eq!(sign(new_transfer(U256::ONE), broken), Some(SignError::Terms));
    }
}

#[test]
fn transaction_of_another_sender_is_not_signed() {
    let facts = facts("solana", Network::Test);
    let sender = address_at(&seed(), &path(0)).unwrap();
    let message = transfer(&facts, sender, &new_transfer(U256::ONE), &terms(&facts)).unwrap();
    let unsigned = BASE64_STANDARD.encode(message.to_bytes());
    let signed = sign_transaction(&facts, &seed(), &path(0), &unsigned).unwrap();
    assert_eq!(sign_transfer(&facts, &seed(), &path(0), &new_transfer(U256::ONE), &terms(&facts)), Ok(signed));
    assert_eq!(sign_transaction(&facts, &seed(), &path(1), &unsigned), Err(SignError::OtherSender));
    // Marks the second account as a signer.
    let mut two = message.to_bytes();
    two[0] = 2;
    let two = BASE64_STANDARD.encode(two);
    assert_eq!(sign_transaction(&facts, &seed(), &path(0), &two), Err(SignError::OtherSender));
}

#[test]
fn versioned_message_is_rejected() {
    let mut bytes = vec![0x80, 1, 0, 1];
    bytes.extend([0; 200]);
    let error = Message::from_bytes(&bytes).unwrap_err();
    assert!(error.to_string().contains("legacy"), "{error}");
}

#[test]
fn transfer_to_own_address_lists_the_account_once() {
    let facts = facts("solana", Network::Test);
    let own = address_at(&seed(), &path(0)).unwrap().to_string();
    for token in [None, Some(facts.tokens[0].address.as_str())] {
        let new_transfer = NewTransfer { recipient: &own, token, ..new_transfer(U256::ONE) };
        let signed = sign_transfer(&facts, &seed(), &path(0), &new_transfer, &terms(&facts)).unwrap();
        let movement = read(&signed.raw).unwrap().movements().remove(0);
        assert_eq!((&movement.sender, &movement.recipient), (&own, &own));
    }
}

proptest! {
    #[test]
    fn signed_transfer_decodes_to_its_input(account: [u8; 32], amount in 1_u64.., sequence: u64, is_token: bool) {
        let facts = facts("solana", Network::Test);
        let recipient = Address::from_bytes(account).to_string();
        let token = is_token.then(|| facts.tokens[0].address.as_str());
        let new_transfer = NewTransfer { recipient: &recipient, token, amount: amount.into(), sequence };
        let terms = terms(&facts);
        let signed = sign_transfer(&facts, &seed(), &path(0), &new_transfer, &terms).unwrap();
        let decoded = read(&signed.raw).unwrap().decoded();
        prop_assert_eq!((&decoded.hash, &decoded.sender, decoded.fee), (&signed.hash, &signed.sender, signed.fee));
        prop_assert_eq!(signed.fee, if is_token { terms.token_fee } else { terms.coin_fee });
        let movement = &decoded.movements[0];
        prop_assert_eq!((&movement.recipient, movement.token.as_deref()), (&recipient, token));
        prop_assert_eq!(movement.amount, U256::from(amount));
    }

    #[test]
    fn flipped_bit_is_rejected(bit in 0_usize..3_000) {
        let facts = facts("solana", Network::Test);
        let signed = sign_transfer(&facts, &seed(), &path(0), &new_transfer(U256::ONE), &terms(&facts)).unwrap();
        let mut bytes = BASE64_STANDARD.decode(&signed.raw).unwrap();
        let at = bit / 8 % bytes.len();
        bytes[at] ^= 1 << (bit % 8);
        prop_assert!(read(&BASE64_STANDARD.encode(bytes)).is_err());
    }

    #[test]
    fn decoded_message_encodes_to_the_same_bytes(
        header in (1_u8..3, 0_u8..2, 0_u8..3), bytes in prop::collection::vec(any::<u8>(), 0..300), count in 0_u8..9,
    ) {
        let bytes = [&[header.0, header.1, header.2, count], &bytes[..]].concat();
        if let Ok(message) = Message::from_bytes(&bytes) {
            message.instructions();
            prop_assert_eq!(message.to_bytes(), bytes.clone());
        }
        prop_assert!(read(&BASE64_STANDARD.encode(&bytes)).is_err());
    }
}
