//! Rescan and salvage.

use serde_json::json;
use tenon_plugin::chains::{Movement, Transaction, TransactionState};

use super::chain::token;
use super::support::*;

#[test]
fn a_missing_deposit_is_found_by_its_hash_and_told() {
    let world = World::new();
    let wallet = world.wallet("base");
    let (_, address) = world.address(&wallet, &json!({"disable_auto_sweep": true}));
    let hash = world.hash();
    let path = format!("/v1/wallets/{wallet}/rescan/blocks");
    let rescan = || world.post(&path, &json!({ "transactionHash": hash })).json()["data"].clone();
    assert_eq!((&rescan()["found"], &rescan()["state"]), (&json!(false), &json!("unknown")));
    let movement = Movement {
        position: 0,
        sender: OUTSIDE.to_owned(),
        recipient: address,
        token: Some(token("USDC")),
        amount: "7000000".to_owned(),
    };
    let found = Transaction {
        hash: hash.clone(),
        sender: OUTSIDE.to_owned(),
        state: TransactionState::Done,
        block: Some(5),
        confirmations: 30,
        fee: "1".to_owned(),
        movements: vec![movement],
    };
    world.chain.0.borrow_mut().transactions.insert(hash.clone(), found);
    let first = rescan();
    assert_eq!((&first["found"], &first["deposits"][0]["new"]), (&json!(true), &json!(true)));
    assert_eq!(first["deposits"][0]["deposit"]["amount"], "7");
    assert_eq!(world.events().last().unwrap(), "deposit.success");
    let again = rescan();
    assert_eq!((&again["deposits"][0]["new"], &again["deposits"][0]["webhook_resent"]), (&json!(false), &json!(true)));
    assert_eq!(refusal(&world.post(&path, &json!({"transaction_hash": "0x1"}))).2, "transaction_hash");
    world.check_books();
}

#[test]
fn assets_on_a_wrong_blockchain_are_recovered() {
    let world = World::new();
    let wallet = world.wallet("base");
    let address = world.host.record("wallets", &wallet).unwrap()["address"].as_str().unwrap().to_owned();
    let path = format!("/v1/wallets/{wallet}/salvage");
    let body = |blockchain: &str| json!({"senderAddress": address, "recipientAddress": OUTSIDE, "amount": "2", "blockchain": blockchain});
    assert_eq!(refusal(&world.post(&path, &body("polygon"))).1, "SERVICE_INSUFFICIENT_BALANCE");
    let key = ("polygon".to_owned(), address.clone(), String::new());
    world.chain.0.borrow_mut().balances.insert(key, "3000000000000000000".to_owned());
    let made = world.post(&path, &body("polygon")).json()["data"]["id"].as_str().unwrap().to_owned();
    world.host.run_due();
    world.settle(&made, "done");
    let event = world.last_event();
    assert_eq!(world.events().last().unwrap(), "salvage.success");
    assert_eq!((&event["amount"], &event["blockchain"]), (&json!("2"), &json!("polygon")));
    assert_eq!(refusal(&world.post(&path, &body("base"))).2, "blockchain");
    world.check_books();
}
