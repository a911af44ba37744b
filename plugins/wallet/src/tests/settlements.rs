//! Auto-settlement: rules, and what they make of deposits.

use serde_json::{Value, json};
use tenon_plugin::test_kit::TestCall;

use super::provider::CONTRACT;
use super::support::*;

fn rule(more: &Value) -> Value {
    let mut body = json!({"name": "To the bank", "source": {"assets": ["USDC"], "minAmount": "1"},
        "destination": {"blockchain": "base", "asset": "USDC", "address": OUTSIDE}});
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    body
}

fn add(world: &World, place: &str, more: &Value) -> Value {
    let made = world.post(&format!("/v1/wallets/{place}/auto-settlements/rules"), &rule(more));
    assert_eq!(made.status, 201, "{}", made.body);
    made.json()["data"].clone()
}

/// Keys of what is under way.
fn sent(world: &World) -> Vec<String> {
    world.host.effects().iter().map(|it| it.effect.key.clone()).collect()
}

fn task(world: &World, id: &str) -> Value {
    world.host.record("transactions", id).unwrap()["outgoing"]["task"].clone()
}

#[test]
fn a_deposit_that_fits_a_rule_is_withdrawn_and_not_swept() {
    let world = World::new();
    let wallet = world.wallet("base");
    let (_, address) = world.address(&wallet, &json!({}));
    world.host.run_due();
    add(&world, &wallet, &json!({}));
    world.arrive("base", &address, Some("USDC"), "5000000");
    let fund = sent(&world).remove(0);
    world.settle(&fund, "done");
    let id = sent(&world).remove(0);
    assert_eq!(task(&world, &id)["withdraw"]["destination_address"], OUTSIDE);
    world.settle(&id, "done");
    assert_eq!(world.events().last().unwrap(), "withdraw.success");
    world.check_books();
    // Below the threshold of the rule: swept.
    world.arrive("base", &address, Some("USDC"), "900000");
    assert!(!sent(&world).is_empty());
    let first = sent(&world).remove(0);
    assert_eq!(task(&world, &first)["withdraw"], Value::Null);
}

#[test]
fn what_a_rule_has_taken_is_not_swept_unless_it_fails() {
    let world = World::new();
    let wallet = world.wallet("base");
    let (_, address) = world.address(&wallet, &json!({"disable_auto_sweep": true}));
    world.host.run_due();
    add(&world, &wallet, &json!({}));
    world.arrive("base", &address, Some("USDC"), "5000000");
    let list = || world.get(&format!("/v1/wallets/{wallet}/transactions?type=DEPOSIT")).json()["data"][0].clone();
    let sweeps = || {
        let asked = world.post(&format!("/v1/wallets/{wallet}/sweep/assets"), &json!({})).json();
        asked["data"]["sweeps"].clone()
    };
    assert_eq!((&list()["assetSweptResponse"], &list()["assetSwept"]), (&json!("settled"), &json!(false)));
    assert_eq!(sweeps(), 0);
    let fund = sent(&world).remove(0);
    world.settle(&fund, "done");
    let id = sent(&world).remove(0);
    assert_eq!(list()["assetSweptId"], json!(id));
    world.settle(&id, "failed");
    assert_eq!(list()["assetSweptResponse"], "resting");
    let again = world.post(&format!("/v1/wallets/{wallet}/transactions/{id}/retry"), &json!({})).json();
    assert_eq!((&list()["assetSweptId"], sweeps()), (&again["data"]["id"], json!(0)));
}

#[test]
fn a_rule_swaps_into_another_asset_and_says_so() {
    let world = World::new();
    let wallet = world.wallet("base");
    let master = world.host.record("wallets", &wallet).unwrap()["address"].as_str().unwrap().to_owned();
    let destination = json!({"blockchain": "base", "asset": "DAI", "address": master});
    add(&world, &wallet, &json!({"destination": destination, "order": "NO_SLIPPAGE"}));
    world.arrive("base", &master, Some("USDC"), "100000000");
    let id = sent(&world).remove(0);
    assert_eq!(world.ordered(&id)["offer_id"], "fixed");
    world.take_order("/v1/swaps", &id, ("USDC", "100"));
    world.settle(&id, "done");
    let hash = world.hash();
    let delivery = json!({"amount": "99", "transaction_hash": hash});
    world.order_becomes("/v1/swaps", &id, &json!({"status": "success", "delivery": delivery}));
    world.tell("base", &master, (&hash, "final", 12), Some("DAI"), "99000000000000000000");
    let event = world.last_event();
    assert_eq!((&event["source_asset"], &event["destination_asset"]), (&json!("USDC"), &json!("DAI")));
    assert_eq!(world.balance(&format!("available/wallet/{wallet}"), "base/DAI"), 99_000_000_000_000_000_000);
    world.check_books();
}

#[test]
fn a_rule_of_the_address_replaces_those_of_its_wallet() {
    let world = World::new();
    let wallet = world.wallet("base");
    let (id, address) = world.address(&wallet, &json!({"disable_auto_sweep": true}));
    world.host.run_due();
    add(&world, &wallet, &json!({}));
    let place = format!("{wallet}/addresses/{id}");
    let own = add(&world, &place, &json!({"isGateway": true, "destination": {}, "isActive": false}));
    world.arrive("base", &address, Some("USDC"), "5000000");
    assert!(sent(&world).is_empty(), "a rule that is switched off still replaces");
    let path = format!("/v1/wallets/{place}/auto-settlements/rules/{}", own["id"].as_str().unwrap());
    let changed = world.host.call(TestCall::patch(&path).json(&json!({"isActive": true})));
    assert_eq!((changed.status, &changed.json()["data"]["isGateway"]), (200, &json!(true)));
    world.arrive("base", &address, Some("USDC"), "5000000");
    let id = sent(&world).remove(0);
    assert_eq!(world.ordered(&id)["amount"], "5");
}

#[test]
fn rules_are_switched_listed_changed_and_removed() {
    let world = World::new();
    let wallet = world.wallet("base");
    let made = add(&world, &wallet, &json!({"slippageTolerance": "0.5", "order": "CHEAPEST"}));
    let root = format!("/v1/wallets/{wallet}/auto-settlements");
    assert_eq!(world.get(&root).json()["data"]["isActive"], true);
    let off = world.host.call(TestCall::patch(&root).json(&json!({"isActive": false}))).json();
    assert_eq!((&off["data"]["isActive"], &off["data"]["rules"][0]["id"]), (&json!(false), &made["id"]));
    let master = world.host.record("wallets", &wallet).unwrap()["address"].as_str().unwrap().to_owned();
    world.arrive("base", &master, Some("USDC"), "5000000");
    assert!(sent(&world).is_empty());
    let path = format!("{root}/rules/{}", made["id"].as_str().unwrap());
    let read = world.get(&path).json()["data"].clone();
    assert_eq!((&read["slippageTolerance"], &read["order"]), (&json!("0.5"), &json!("CHEAPEST")));
    assert_eq!(read["source"]["minAmount"], "1");
    let change = |source: Value| world.host.call(TestCall::patch(&path).json(&json!({ "source": source }))).json();
    assert_eq!(change(json!({"maxAmount": "9"}))["data"]["source"]["minAmount"], "1", "what is not said stays");
    for nothing in [json!(""), json!(null)] {
        assert_eq!(change(json!({ "minAmount": nothing }))["data"]["source"]["minAmount"], "-1");
        assert_eq!(change(json!({"minAmount": "1"}))["data"]["source"]["maxAmount"], "9");
    }
    assert_eq!(world.host.call(TestCall::delete(&path)).status, 200);
    assert_eq!(world.get(&path).status, 404);
    assert_eq!(world.get(&format!("{root}/rules")).json()["meta"]["totalItems"], 0);
}

#[test]
fn what_is_wrong_with_a_rule_is_said_by_field() {
    let world = World::new();
    let wallet = world.wallet("base");
    for (more, fields) in [
        (json!({"name": null}), "settlement_rule_name"),
        (json!({"source": {"assets": "USDC"}}), "source.assets"),
        (json!({"source": {"assets": ["BTC"]}}), "source.assets"),
        (json!({"source": {"assets": ["USDC"], "minAmount": "5", "maxAmount": "4"}}), "source.max_amount"),
        (json!({"source": {"assets": ["USDC"], "min_amount": null, "minAmount": "5"}}), "source.min_amount"),
        (json!({"settlement_order": "FASTEST", "order": "CHEAPEST"}), "settlement_order"),
        (json!({"destination": {"blockchain": "base", "asset": "USDC", "address": "T1"}}), "destination.address"),
        (json!({"isGateway": true, "source": {"assets": ["DAI"]}}), "source.assets"),
        (json!({"order": "BEST", "slippageTolerance": "x"}), "settlement_order slippage_tolerance"),
    ] {
        let answer = world.post(&format!("/v1/wallets/{wallet}/auto-settlements/rules"), &rule(&more));
        assert_eq!(refusal(&answer), expected(400, "SERVICE_VALIDATION_ERROR", fields), "{more}");
    }
}

#[test]
fn a_rule_that_would_go_round_in_circles_or_into_the_gateway_contract_is_refused() {
    let world = World::new();
    let wallet = world.rich_wallet();
    let (_, address) = world.address(&wallet, &json!({}));
    let master = world.host.record("wallets", &wallet).unwrap()["address"].as_str().unwrap().to_owned();
    world.fill_gateway(&wallet);
    for (target, code, field) in [
        (master.as_str(), "SERVICE_VALIDATION_ERROR", "destination.address"),
        (&address, "SERVICE_VALIDATION_ERROR", "destination.address"),
        (CONTRACT, "GATEWAY_DIRECT_TRANSFER", "destination.address"),
    ] {
        let destination = json!({"destination": {"blockchain": "base", "asset": "USDC", "address": target}});
        let path = format!("/v1/wallets/{wallet}/auto-settlements/rules");
        assert_eq!(refusal(&world.post(&path, &rule(&destination))), expected(400, code, field), "{target}");
    }
}

#[test]
fn a_rule_that_cannot_begin_is_told_and_the_money_rests() {
    let world = World::new();
    let wallet = world.poor_wallet("base");
    add(&world, &wallet, &json!({}));
    let master = world.host.record("wallets", &wallet).unwrap()["address"].as_str().unwrap().to_owned();
    world.arrive("base", &master, Some("USDC"), "5000000");
    assert_eq!(world.events().last().unwrap(), "withdraw.failed");
    assert_eq!(world.balance(&format!("available/wallet/{wallet}"), "base/USDC"), 5_000_000);
}
