//! Rescan and salvage.

use serde_json::json;
use tenon_plugin::chains::{Movement, Transaction, TransactionState};
use tenon_plugin::test_kit::TestAnswer;

use super::chain::token;
use super::support::*;
use crate::ids;
use crate::rules::blockchain::Blockchain;
use crate::rules::network::Network;

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

/// So much POL lies at an address of a wallet on Base: what the blockchain says.
fn lie(world: &World, address: &str, units: &str) {
    let key = ("polygon".to_owned(), address.to_owned(), String::new());
    world.chain.0.borrow_mut().balances.insert(key, units.to_owned());
}

fn salvage(world: &World, wallet: &str, address: &str, amount: &str) -> TestAnswer {
    let body =
        json!({"sender_address": address, "recipient_address": OUTSIDE, "amount": amount, "blockchain": "polygon"});
    world.post(&format!("/v1/wallets/{wallet}/salvage"), &body)
}

fn begun(world: &World, made: &TestAnswer) -> String {
    assert_eq!(made.status, 200, "{}", made.body);
    world.host.advance_ms(60_000);
    world.host.run_due();
    made.json()["data"]["id"].as_str().unwrap().to_owned()
}

/// A wallet on Base, an address under it, and the account of its POL.
fn stray(world: &World) -> (String, String, String) {
    let wallet = world.wallet("base");
    let (id, address) = world.address(&wallet, &json!({"disable_auto_sweep": true}));
    world.host.run_due();
    (wallet, address, format!("available/address/{id}"))
}

#[test]
fn what_was_salvaged_is_no_deposit_of_a_wallet_that_is_made_later() {
    let world = World::with(|host| host.setting("process-after-ms", "60000"));
    let (wallet, address, account) = stray(&world);
    lie(&world, &address, "4000000000000100000");
    let gone = begun(&world, &salvage(&world, &wallet, &address, "2"));
    world.settle(&gone, "done");
    lie(&world, &address, "2000000000000090000");
    let made = salvage(&world, &wallet, &address, "2");
    world.wallet("polygon");
    // Seen in block 7, salvaged in block 9: two of these three are gone.
    world.arrive("polygon", &address, None, "3000000000000000000");
    assert_eq!(world.balance(&account, "polygon/POL"), 0);
    world.arrive("polygon", &address, None, "2000000000000000000");
    assert_eq!(world.balance(&account, "polygon/POL"), 2_000_000_000_000_000_000);
    // What was accepted and not begun would move what is in the books by now.
    let late = begun(&world, &made);
    assert_eq!((world.status(&late).as_str(), world.events().last().unwrap().as_str()), ("failed", "salvage.failed"));
    world.check_books();
}

#[test]
fn what_a_salvage_has_left_is_salvaged_too_when_there_is_a_wallet() {
    let world = World::with(|host| host.setting("process-after-ms", "60000"));
    let (wallet, address, account) = stray(&world);
    lie(&world, &address, "5000000000000100000");
    let first = begun(&world, &salvage(&world, &wallet, &address, "2"));
    world.settle(&first, "done");
    lie(&world, &address, "3000000000000090000");
    world.wallet("polygon");
    world.arrive("polygon", &address, None, "5000000000000000000");
    assert_eq!(world.balance(&account, "polygon/POL"), 0, "it does not lie there any more");
    let rest = begun(&world, &salvage(&world, &wallet, &address, "3"));
    // Signed: what came before it is not there for anybody else.
    world.arrive("polygon", &address, None, "3000000000000000000");
    assert_eq!(world.balance(&account, "polygon/POL"), 0);
    world.settle(&rest, "done");
    assert_eq!(world.events().last().unwrap(), "salvage.success");
    // What comes now is a deposit, and is withdrawn.
    lie(&world, &address, "1000000000000000000");
    world.arrive("polygon", &address, None, "1000000000000000000");
    assert_eq!(world.balance(&account, "polygon/POL"), 1_000_000_000_000_000_000);
    assert_eq!(refusal(&salvage(&world, &wallet, &address, "0.5")).2, "blockchain");
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
    let again = world.post(&path, &body("polygon"));
    assert_eq!(again.status, 409, "nothing is held for it: {}", again.body);
    world.host.run_due();
    world.settle(&made, "done");
    let event = world.last_event();
    assert_eq!(world.events().last().unwrap(), "salvage.success");
    assert_eq!((&event["amount"], &event["blockchain"]), (&json!("2"), &json!("polygon")));
    assert_eq!(refusal(&world.post(&path, &body("base"))).2, "blockchain");
    let mut empty = body("polygon");
    empty["token_address"] = json!("");
    assert_eq!(refusal(&world.post(&path, &empty)).2, "token_address");
    let mut contradiction = body("polygon");
    contradiction["blockchain_id"] = json!(ids::blockchain(Blockchain::Ethereum, Network::Testnet));
    assert_eq!(refusal(&world.post(&path, &contradiction)).2, "blockchain_id");
    world.check_books();
}

#[test]
fn a_salvage_is_retried_only_while_there_is_no_other() {
    let world = World::new();
    let (wallet, address, _) = stray(&world);
    lie(&world, &address, "5000000000000100000");
    let begin = || begun(&world, &salvage(&world, &wallet, &address, "2"));
    let first = begin();
    world.settle(&first, "failed");
    let second = begin();
    let path = format!("/v1/wallets/{wallet}/transactions/{first}/retry");
    assert_eq!(world.post(&path, &json!({})).status, 409);
    world.settle(&second, "done");
    assert_eq!(world.post(&path, &json!({})).status, 200);
}
