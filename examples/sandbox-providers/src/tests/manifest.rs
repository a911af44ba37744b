//! The table of the plugin against what it publishes.

use std::collections::BTreeSet;

use serde_json::Value;
use tenon_plugin::test_kit::TestCall;

use super::support::*;
use crate::PLUGIN;

fn manifest() -> Value {
    serde_json::from_str(&PLUGIN.describe()).unwrap()
}

#[test]
fn the_openapi_document_has_every_route_and_no_other() {
    let manifest = manifest();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let routes = manifest["routes"].as_array().unwrap().iter();
    let routes: BTreeSet<_> =
        routes.map(|it| (text(&it["path"]), text(&it["method"]).to_lowercase(), text(&it["operation"]))).collect();
    let paths = manifest["openapi"]["paths"].as_object().unwrap().iter();
    let published: BTreeSet<_> = paths
        .flat_map(|(path, item)| {
            let operations = item.as_object().unwrap().iter();
            operations.map(move |(method, operation)| (path.clone(), method.clone(), text(&operation["operationId"])))
        })
        .collect();
    assert_eq!(routes, published);
}

#[test]
fn every_json_block_of_the_contract_can_be_read() {
    let contract = include_str!("../../../../docs/wallet/providers.md");
    let blocks: Vec<&str> = contract.split("```json\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(blocks.len() > 20);
    for block in blocks {
        assert!(serde_json::from_str::<Value>(block).is_ok(), "{block}");
    }
}

#[test]
fn every_path_of_the_contract_is_served() {
    let contract = include_str!("../../../../docs/wallet/providers.md");
    for route in PLUGIN.route_table() {
        let last = route.path.rsplit('/').next().unwrap();
        assert!(contract.contains(route.path) || contract.contains(&format!("`/{last}`")), "{}", route.path);
    }
}

/// The names of the members, those of nested objects included; lists by their first member.
fn shape(value: &Value) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let inner = match value {
        Value::Object(members) => members.iter().map(|(name, value)| (name.clone(), value)).collect(),
        Value::Array(list) => list.first().map(|first| ("[]".to_owned(), first)).into_iter().collect(),
        _ => Vec::new(),
    };
    for (name, value) in inner {
        names.extend(shape(value).into_iter().map(|below| format!("{name}.{below}")));
        names.insert(name);
    }
    names
}

/// A first day: what has to happen, in an order in which each finds what it needs.
const DAY: &[&str] = &[
    "list-payout-currencies",
    "list-institutions",
    "verify-account",
    "quote-payout",
    "create-payout",
    "read-payout",
    "quote-swap",
    "create-swap",
    "read-swap",
    "list-gateway-networks",
    "read-gateway-balance",
    "create-gateway-deposit",
    "read-gateway-deposit",
    "create-gateway-withdrawal",
    "read-gateway-withdrawal",
    "list-rates",
    "put-sanctions-list",
    "read-sanctions-list",
    "list-sanctions-lists",
    "screen-address",
    "create-virtual-account",
    "list-virtual-accounts",
    "read-virtual-account",
    "activate-virtual-account",
    "regenerate-virtual-account",
    "simulate-payment",
    "list-payments",
    "read-payment",
    "deactivate-virtual-account",
    "read-treasury",
    "put-webhook",
    "read-webhook",
];

/// The request of an operation as the document has it, with the ids that the answers before it gave.
fn request_of(document: &Value, operation: &str, ids: &[(&str, String)]) -> (TestCall, Value) {
    let route = PLUGIN.route_table().iter().find(|route| route.operation == operation).unwrap();
    let published = &document["paths"][route.path][route.method.to_lowercase()];
    let example = published.pointer("/requestBody/content/application~1json/example");
    let fill = |text: String| ids.iter().fold(text, |text, (example, id)| text.replace(example, id));
    let id = match () {
        () if route.path.starts_with("/v1/payouts") => "tx_1",
        () if route.path.starts_with("/v1/swaps") => "tx_2",
        () if route.path.starts_with("/v1/gateway/deposits") => "tx_3",
        () if route.path.starts_with("/v1/gateway/withdrawals") => "tx_4",
        () => "va_1",
    };
    let names = [("{id}", id), ("{name}", "ofac-sdn"), ("{payment_id}", "pay_3k8s0v1n5d"), ("{blockchain}", "base")];
    let path = names.iter().fold(route.path.to_owned(), |path, (name, value)| path.replace(name, value));
    let queries = published["parameters"].as_array().into_iter().flatten().filter(|it| it["in"] == "query");
    let query: Vec<String> =
        queries.filter_map(|it| Some(format!("{}={}", it["name"].as_str()?, it["example"].as_str()?))).collect();
    let call = TestCall::new(route.method, &fill(format!("{path}?{}", query.join("&"))));
    let call = match example {
        Some(example) => call.text(&fill(example.to_string())),
        None => call,
    };
    (call, published["responses"].clone())
}

#[test]
fn the_examples_of_the_openapi_document_are_answered_with_what_it_shows() {
    let (host, document) = (host(), manifest()["openapi"].clone());
    let mut ids = Vec::new();
    for operation in DAY {
        if *operation == "create-gateway-withdrawal" {
            let watched = host.watched().into_iter().find(|it| it.context.contains("tx_3")).unwrap();
            arrive(&host, "base", &watched.context, Some(USDC), "50000000");
        }
        let (call, responses) = request_of(&document, operation, &ids);
        let answer = host.call(call);
        assert!(answer.status < 300, "{operation}: {}", answer.body);
        let example = &responses[answer.status.to_string()]["content"]["application/json"]["example"];
        let (mut shown, mut expected) = (shape(&answer.json()), shape(example));
        // An example shows what may be there, the first day what is there already.
        for optional in ["delivery.", "refund.", "rates.", "currencies.", "institutions."] {
            shown.retain(|name| !name.contains(optional));
            expected.retain(|name| !name.contains(optional));
        }
        assert_eq!(shown, expected, "{operation}");
        match *operation {
            "quote-payout" => ids.push(("quote_5m1x0c7t2a", answer.json()["quote_id"].as_str().unwrap().to_owned())),
            "quote-swap" => ids.push(("quote_0p4k9d2w8r", answer.json()["quote_id"].as_str().unwrap().to_owned())),
            "simulate-payment" => ids.push(("pay_3k8s0v1n5d", answer.json()["id"].as_str().unwrap().to_owned())),
            _ => {}
        }
    }
    let known = PLUGIN.route_table().iter().map(|route| route.operation);
    let untried: Vec<&str> = known.filter(|operation| !DAY.contains(operation)).collect();
    assert_eq!(untried, ["delete-sanctions-list"]);
}
