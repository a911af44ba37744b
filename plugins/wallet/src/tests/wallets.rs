//! Master wallets: made once for each blockchain, their keys, their settings.

use serde_json::{Value, json};
use tenon_plugin::test_kit::TestCall;

use super::support::*;

#[test]
fn a_wallet_has_an_address_a_key_a_webhook_and_coins() {
    let world = World::new();
    let body = json!({"blockchain": "base", "webhook_url": "https://example.com/hook", "name": "Main"});
    let answer = world.post("/v1/wallets", &body);
    let data = &answer.json()["data"];
    assert_eq!((answer.status, &data["wallet_status"], &data["network"]), (201, &json!("ACTIVE"), &json!("testnet")));
    let id = data["wallet_id"].as_str().unwrap();
    assert!(data["address"].as_str().unwrap().starts_with("0x"));
    let issued = &world.host.issued()[0];
    assert_eq!(data["api_key"], issued.secret.as_str());
    assert!(issued.grant.signs && issued.grant.attributes[0].value == id);
    assert_eq!(world.host.watched()[0].confirmations, 12);
    assert_eq!(world.host.effects()[0].effect.then, "coins");
    assert_eq!(world.events(), ["wallet.created"]);
    let event = world.last_event();
    assert_eq!(
        (&event["wallet_id"], &event["blockchain"], &event["status"]),
        (&json!(id), &json!("base"), &json!("ACTIVE"))
    );
    assert!(!event.to_string().contains(&issued.secret));
    assert_eq!(world.host.deliveries()[0].endpoint, id);
}

#[test]
fn there_is_one_wallet_for_each_blockchain() {
    let world = World::new();
    world.poor_wallet("base");
    let body = json!({"blockchain": "base", "webhook_url": "https://example.com/hook"});
    assert_eq!(refusal(&world.post("/v1/wallets", &body)), expected(409, "SERVICE_WALLET_EXISTS", "blockchain"));
    world.poor_wallet("tron");
    assert_eq!(world.get("/v1/wallets").json()["meta"]["totalItems"], 2);
}

#[test]
fn a_wallets_key_opens_that_wallet_and_no_other() {
    let world = World::new();
    let (own, other) = (world.poor_wallet("base"), world.poor_wallet("tron"));
    let get = |id: &str| world.host.call(TestCall::get(&format!("/v1/wallets/{id}")).attribute("wallet", &own));
    assert_eq!(get(&own).status, 200);
    let unknown = "00000000-0000-4000-8000-000000000000";
    assert_eq!((get(&other).status, get(unknown).status), (404, 404));
    let list = world.host.call(TestCall::get("/v1/wallets").attribute("wallet", &own));
    assert_eq!(list.json()["meta"]["totalItems"], 1);
    let create = world.host.call(TestCall::post("/v1/wallets").attribute("wallet", &own).json(&json!({})));
    assert_eq!(refusal(&create), expected(403, "SERVICE_AUTH_FAILED", ""));
}

#[test]
fn what_a_change_says_is_empty_is_taken_away() {
    let world = World::new();
    let wallet = world.wallet("base");
    let place = format!("/v1/wallets/{wallet}");
    let (address, _) = world.address(&wallet, &json!({}));
    let body = json!({"name": "L", "asset_id": world.asset(&wallet, "USDC")});
    let made =
        TestCall::post(&format!("{place}/payment-links")).context("base-url", "https://pay.example.com").json(&body);
    let link = world.host.call(made).json()["data"]["id"].as_str().unwrap().to_owned();
    let change = |path: &str, body: Value| {
        let answer = world.host.call(TestCall::patch(path).json(&body));
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.json()["data"].clone()
    };
    for (path, names) in [
        (place.clone(), &["name", "description"][..]),
        (format!("{place}/addresses/{address}"), &["name"]),
        (format!("{place}/payment-links/{link}"), &["description", "successMessage", "inactiveMessage"]),
    ] {
        for name in names {
            for nothing in [json!(""), json!(null)] {
                assert_eq!(change(&path, json!({ *name: "something" }))[name], "something", "{path}");
                // What is not said stays.
                assert_eq!(change(&path, json!({}))[name], "something", "{path}");
                assert!(change(&path, json!({ *name: nothing }))[name].is_null(), "{path} {name}");
            }
            let blank = world.host.call(TestCall::patch(&path).json(&json!({ *name: "  " })));
            assert_eq!(blank.status, 400, "{path} {name}");
        }
    }
    let path = format!("{place}/addresses/{address}");
    assert_eq!(change(&path, json!({"metadata": {"a": 1}}))["metadata"], json!({"a": 1}));
    assert!(change(&path, json!({"metadata": null}))["metadata"].is_null());
}

#[test]
fn a_body_that_says_something_twice_is_refused() {
    let world = World::new();
    let body = r#"{"blockchain":"base","webhook_url":"https://example.com/hook","blockchain":"polygon"}"#;
    let answer = world.host.call(TestCall::post("/v1/wallets").text(body));
    assert_eq!(refusal(&answer), expected(400, "SERVICE_VALIDATION_ERROR", ""));
    assert!(world.events().is_empty());
}

#[test]
fn two_keys_of_a_wallet_are_live() {
    let world = World::new();
    let id = world.poor_wallet("base");
    let rotate = || world.post(&format!("/v1/wallets/{id}/rotate-key"), &json!({})).json()["data"]["api_key"].clone();
    let (second, third) = (rotate(), rotate());
    let live: Vec<String> = world.host.issued().into_iter().map(|issued| issued.secret).collect();
    assert_eq!(json!(live), json!([second, third]));
}

#[test]
fn what_is_wrong_with_a_new_wallet_is_said_by_field() {
    let world = World::new();
    for (body, fields) in [
        (json!({}), "blockchain webhook_url"),
        (json!({"blockchain": 7, "webhook_url": true}), "blockchain webhook_url"),
        (json!({"blockchain": "bitcoin", "webhook_url": "https://example.com"}), "blockchain"),
        (json!({"blockchain": "tempo", "webhook_url": "https://example.com"}), "blockchain"),
        (json!({"blockchain": "base", "webhook_url": "http://127.0.0.1/hook"}), "webhook_url"),
        (json!({"blockchain": "base", "webhook_url": "https://example.com", "network": "mainnet"}), "network"),
    ] {
        let answer = world.post("/v1/wallets", &body);
        assert_eq!(refusal(&answer), expected(400, "SERVICE_VALIDATION_ERROR", fields), "{body}");
    }
    let live = TestCall::post("/v1/wallets").tenant("acme/live");
    let answer = world.host.call(live.json(&json!({"blockchain": "base", "webhook_url": "http://example.com"})));
    assert_eq!(refusal(&answer), expected(400, "SERVICE_VALIDATION_ERROR", "webhook_url"));
}

#[test]
fn settings_of_a_wallet_change_by_flag_or_configuration() {
    let world = World::new();
    let path = format!("/v1/wallets/{}", world.poor_wallet("base"));
    let patch = |body| world.host.call(TestCall::patch(&path).json(&body));
    let changed = patch(json!({"name": "New", "disable_auto_sweep": true}));
    assert_eq!(
        (&changed.json()["data"]["name"], &changed.json()["data"]["disable_auto_sweep"]),
        (&json!("New"), &json!(true))
    );
    let gasless = json!({"isActive": true, "operator": "lt", "threshold": "12.5"});
    let changed = patch(json!({"configurations": {"withdrawal": {"gasless": gasless}}})).json();
    assert_eq!(changed["data"]["configurations"]["withdrawal"]["gasless"], gasless);
    let sweeping = json!({"autoSweeping": {"isActive": true}});
    let contradiction = patch(json!({"disable_auto_sweep": true, "configurations": sweeping}));
    assert_eq!(refusal(&contradiction).2, "configurations.autoSweeping.isActive");
    let off = json!({"withdrawal": {"gasless": {"isActive": false}}});
    let contradiction = patch(json!({"enable_gasless_withdraw": true, "configurations": off}));
    assert_eq!(refusal(&contradiction).2, "configurations.withdrawal.gasless.isActive");
    assert_eq!(patch(json!({"disable_auto_sweep": false, "configurations": sweeping})).status, 200);
    let wrong = patch(json!({"configurations": {"withdrawal": {"gasless": {"operator": "ne", "threshold": "x"}}}}));
    assert_eq!(
        refusal(&wrong).2,
        "configurations.withdrawal.gasless.threshold configurations.withdrawal.gasless.operator"
    );
}
