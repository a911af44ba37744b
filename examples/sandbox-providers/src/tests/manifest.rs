//! The table of the plugin against what it publishes.

use std::collections::BTreeSet;

use serde_json::Value;

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
