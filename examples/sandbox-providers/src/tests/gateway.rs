//! The gateway's one balance.

use serde_json::{Value, json};
use tenon_plugin::test_kit::{TestAnswer, TestHost};

use super::support::*;

fn deposit(host: &TestHost, id: &str, amount: &str) -> TestAnswer {
    let body = json!({"id": id, "blockchain": "base", "amount": amount, "refund_address": OURS});
    post(host, "/v1/gateway/deposits", body)
}

fn withdraw(host: &TestHost, id: &str, amount: &str) -> TestAnswer {
    let body = json!({"id": id, "blockchain": "polygon", "amount": amount, "recipient_address": OURS});
    post(host, "/v1/gateway/withdrawals", body)
}

fn balance(host: &TestHost) -> Value {
    get(host, "/v1/gateway/balance")["balance"].clone()
}

/// A host whose gateway has 50 USDC.
fn funded() -> TestHost {
    let host = host();
    deposit(&host, "d1", "50");
    pay_in(&host, Some(USDC), "50000000");
    host
}

#[test]
fn what_is_burned_on_one_blockchain_is_minted_on_another() {
    let host = funded();
    assert_eq!(
        (get(&host, "/v1/gateway/deposits/d1")["status"].clone(), balance(&host)),
        (json!("success"), json!("50"))
    );
    assert_eq!(withdraw(&host, "w1", "20").json()["status"], "processing");
    assert_eq!(balance(&host), "30", "charged at once");
    host.run_due();
    give_coins(&host);
    finish(&host);
    let shown = get(&host, "/v1/gateway/withdrawals/w1");
    assert_eq!((&shown["status"], &shown["delivery"]["transaction_hash"]), (&json!("success"), &json!("0xpolygon-0")));
    assert_eq!(balance(&host), "30");
}

#[test]
fn nobody_withdraws_more_than_is_there_and_a_repeat_is_charged_once() {
    let host = funded();
    assert_eq!(refusal(&withdraw(&host, "w1", "50.000001")), no(422, "INSUFFICIENT_BALANCE"));
    assert_eq!((withdraw(&host, "w1", "20").status, withdraw(&host, "w1", "20").status), (201, 200));
    assert_eq!(refusal(&withdraw(&host, "w1", "21")), no(409, "CONFLICT"));
    assert_eq!(balance(&host), "30");
}

#[test]
fn a_withdrawal_that_fails_gives_back_what_it_took() {
    let host = funded();
    let failed = withdraw(&host, "w1", "20.13").json();
    assert_eq!((&failed["status"], &failed["reason"]), (&json!("failed"), &json!("DELIVERY_FAILED")));
    assert_eq!(balance(&host), "50");
}

#[test]
fn the_contract_is_not_a_deposit_address_and_only_its_blockchains_are_served() {
    let host = host();
    let networks = get(&host, "/v1/gateway/networks");
    let networks = networks["networks"].as_array().unwrap();
    assert_eq!(networks.len(), 2, "of those that this host has");
    let address = deposit(&host, "d1", "50").json()["deposit"]["address"].clone();
    assert!(networks.iter().all(|network| network["contract_address"] != address));
    let elsewhere = json!({"id": "d2", "blockchain": "tron", "amount": "1", "refund_address": OURS});
    assert_eq!(refusal(&post(&host, "/v1/gateway/deposits", elsewhere)), no(422, "ROUTE_NOT_SUPPORTED"));
    assert_eq!(refusal(&deposit(&host, "d3", "0.001")), no(422, "AMOUNT_TOO_SMALL"));
}
