//! The table of the plugin against what it publishes, and every route with the key of another wallet.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tenon_plugin::test_kit::TestCall;

use super::support::*;
use crate::{PLUGIN, rules};

fn manifest() -> Value {
    serde_json::from_str(&PLUGIN.describe()).unwrap()
}

#[test]
fn the_events_are_those_of_the_specification() {
    let manifest = manifest();
    let types = manifest["event-types"].as_array().unwrap();
    let names: Vec<&str> = types.iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(names, rules::event::NAMES);
    assert!(types.iter().all(|it| it["schema"]["type"] == "object"));
    assert_eq!(manifest["envelope"], json!({"event": "{event-type}", "data": "{payload}"}));
}

#[test]
fn every_failure_of_the_host_has_a_code_of_the_table_and_says_whether_to_repeat() {
    for (name, failure) in manifest()["failures"].as_object().unwrap() {
        let body = &failure["body"];
        assert!(rules::code::Code::of_name(body["code"].as_str().unwrap()).is_some(), "{name}");
        assert_eq!(body["statusCode"], failure["status"], "{name}");
        assert!(body["retryable"].is_boolean() && body["message"].is_string() && body["error"].is_string(), "{name}");
    }
}

#[test]
fn no_two_routes_have_the_same_name_or_place() {
    let table = PLUGIN.route_table();
    let names: BTreeSet<&str> = table.iter().map(|route| route.operation).collect();
    let places: BTreeSet<(&str, &str)> = table.iter().map(|route| (route.method, route.path)).collect();
    assert_eq!((names.len(), places.len()), (table.len(), table.len()));
}

#[test]
fn no_route_of_a_wallet_opens_for_the_key_of_another() {
    let world = World::new();
    let (own, other) = (world.rich_wallet(), world.wallet("polygon"));
    let (address, _) = world.address(&own, &json!({}));
    let unknown = "00000000-0000-4000-8000-000000000000";
    for route in PLUGIN.route_table().iter().filter(|route| route.path.contains("{walletId}")) {
        let call = |wallet: &str, address: &str| {
            let path = route.path.replace("{walletId}", wallet).replace("{addressId}", address);
            let path = path.replace("{transactionId}", unknown).replace("{assetId}", unknown);
            let call = TestCall::new(route.method, &path).attribute("wallet", &other);
            world.host.call(if route.method == "GET" { call } else { call.json(&json!({})) })
        };
        let (foreign, nobodys) = (call(&own, &address), call(unknown, unknown));
        // What only the account's key may do is told first.
        let statuses = if route.operation == "rotate-wallet-key" { (403, 403) } else { (404, 404) };
        assert_eq!((foreign.status, nobodys.status), statuses, "{} {}", route.method, route.path);
    }
}
