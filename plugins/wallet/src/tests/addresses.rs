//! Dedicated addresses, and those of others that are watched.

use serde_json::json;
use tenon_plugin::test_kit::TestCall;

use super::support::*;

#[test]
fn an_address_needs_a_master_wallet_with_coins() {
    let world = World::new();
    let wallet = world.poor_wallet("base");
    let path = format!("/v1/wallets/{wallet}/addresses");
    assert_eq!(refusal(&world.post(&path, &json!({}))), expected(422, "SERVICE_INSUFFICIENT_GAS", ""));
    let rich = world.wallet("polygon");
    let answer = world.post(&format!("/v1/wallets/{rich}/addresses"), &json!({"name": "Ann", "metadata": {"a": 1}}));
    let data = &answer.json()["data"];
    assert_eq!((answer.status, &data["address_name"], &data["type"]), (201, &json!("Ann"), &json!("INTERNAL")));
    assert_eq!(data["metadata"], json!({"a": 1}));
    assert_eq!(world.last_event()["address"], data["address"]);
    assert_eq!(data["configurations"]["aml"]["status"], "pending");
    world.host.run_due();
    let path = format!("/v1/wallets/{rich}/addresses/{}", data["address_id"].as_str().unwrap());
    assert_eq!(world.get(&path).json()["data"]["configurations"]["aml"]["version"], "ofac-sdn 2026-11-20");
}

#[test]
fn an_address_is_watched_on_every_evm_blockchain_with_a_wallet_also_a_later_one() {
    let world = World::new();
    let (base, _) = (world.wallet("base"), world.wallet("polygon"));
    let (_, address) = world.address(&base, &json!({}));
    let places = || -> Vec<String> {
        world.host.watched().into_iter().filter(|it| it.address == address).map(|it| it.blockchain).collect()
    };
    assert_eq!(places(), ["base", "polygon"]);
    world.wallet("celo");
    world.wallet("tron");
    assert_eq!(places(), ["base", "celo", "polygon"]);
}

#[test]
fn an_address_of_others_is_watched_and_can_be_removed() {
    let world = World::new();
    let wallet = world.wallet("base");
    let path = format!("/v1/wallets/{wallet}/addresses/whitelist");
    let answer = world.post(&path, &json!({"address": OUTSIDE}));
    assert_eq!((answer.status, &answer.json()["data"]["type"]), (201, &json!("EXTERNAL")));
    assert_eq!(world.events().last().unwrap(), "address.whitelisted");
    assert_eq!(refusal(&world.post(&path, &json!({"address": OUTSIDE}))).2, "address");
    assert_eq!(refusal(&world.post(&path, &json!({"address": SANCTIONED}))).0, 403);
    let id = answer.json()["data"]["address_id"].as_str().unwrap().to_owned();
    assert_eq!(world.host.call(TestCall::delete(&format!("{path}/{id}"))).status, 200);
    assert!(world.host.watched().iter().all(|it| it.address != OUTSIDE));
}

#[test]
fn what_was_under_way_to_an_address_that_is_removed_has_failed() {
    let world = World::new();
    let wallet = world.wallet("base");
    let path = format!("/v1/wallets/{wallet}/addresses/whitelist");
    let id = world.post(&path, &json!({"address": OUTSIDE})).json()["data"]["address_id"].as_str().unwrap().to_owned();
    world.tell("base", OUTSIDE, (&world.hash(), "seen", 1), Some("USDC"), "5000000");
    assert_eq!(world.events().last().unwrap(), "deposit.processing");
    assert_eq!(world.host.call(TestCall::delete(&format!("{path}/{id}"))).status, 200);
    world.host.run_due();
    let event = world.last_event();
    assert_eq!((world.events().last().unwrap().as_str(), &event["address_id"]), ("deposit.failed", &json!(id)));
    let list = world.get(&format!("/v1/wallets/{wallet}/transactions?type=DEPOSIT")).json();
    assert_eq!(list["data"][0]["status"], "FAILED");
}

#[test]
fn an_address_that_is_switched_off_sends_nothing_and_keeps_what_it_gets() {
    let world = World::new();
    let wallet = world.wallet("base");
    let (id, address) = world.address(&wallet, &json!({}));
    let place = format!("/v1/wallets/{wallet}/addresses/{id}");
    let switch = |is_active: bool| world.host.call(TestCall::patch(&place).json(&json!({"is_active": is_active})));
    assert_eq!(switch(false).json()["data"]["isActive"], false);
    world.arrive("base", &address, Some("USDC"), "5000000");
    assert_eq!(world.events().last().unwrap(), "deposit.success");
    assert!(world.host.effects().is_empty(), "it is not swept");
    let usdc = world.asset(&wallet, "USDC");
    let withdrawal = json!({"asset_id": usdc, "amount": "1", "destination_address": OUTSIDE});
    for (path, body) in [
        ("withdraw", withdrawal.clone()),
        ("withdraw/network-fee", withdrawal),
        ("swaps/quote", json!({"from_asset_id": usdc, "to_asset_id": world.asset(&wallet, "DAI"), "amount": "1"})),
        ("gateway/deposit", json!({"amount": "1"})),
        ("signing/message", json!({"message": "hello"})),
    ] {
        let refused = world.post(&format!("{place}/{path}"), &body);
        assert_eq!(refusal(&refused), expected(409, "SERVICE_VALIDATION_ERROR", ""), "{path}");
    }
    let sweep = |body| world.post(&format!("/v1/wallets/{wallet}/sweep/assets"), &body).json();
    assert_eq!(sweep(json!({}))["data"]["sweeps"], 0);
    switch(true);
    assert_eq!(sweep(json!({}))["data"]["sweeps"], 1);
    assert_eq!(world.balance(&format!("available/address/{id}"), "base/USDC"), 5_000_000);
    world.check_books();
}

#[test]
fn a_private_key_is_shown_only_where_the_operator_allows_it() {
    let world = World::new();
    let wallet = world.wallet("base");
    let path = format!("/v1/wallets/{wallet}/addresses");
    assert_eq!(world.post(&path, &json!({"show_private_key": true})).status, 403);
    world.chain.0.borrow_mut().shows_keys = true;
    let shown = world.post(&path, &json!({"show_private_key": true})).json();
    assert_eq!(shown["data"]["private_key"], "private key 2 of base");
    assert!(!world.last_event().to_string().contains("private key"));
}

#[test]
fn addresses_are_listed_by_page_with_their_counts() {
    let world = World::new();
    let wallet = world.wallet("base");
    for _ in 0..3 {
        world.address(&wallet, &json!({}));
    }
    let list = world.get(&format!("/v1/wallets/{wallet}/addresses?limit=2&page=2")).json();
    assert_eq!((list["data"].as_array().unwrap().len(), &list["meta"]["totalPages"]), (1, &json!(2)));
    assert_eq!(list["analytics"]["internalAddressesCount"], 3);
}
