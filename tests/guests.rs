//! The test guests: building and changing their components. Other tests cover how the host handles them.

use serde_json::{Value, json};
use tenon_bench::guests;

#[test]
fn changed_manifest_keeps_the_size_of_chameleon() {
    let plain = guests::component("chameleon").unwrap();
    let changed = guests::chameleon_version("7.8.9").unwrap();
    assert_eq!(plain.len(), changed.len());
    assert!(contains(&changed, b"\"version\":\"7.8.9\"") && !contains(&plain, b"7.8.9"));
}

#[test]
fn too_large_manifest_is_rejected() {
    let text = json!({ "title": "x".repeat(40_000) }).to_string();
    assert!(guests::chameleon(&text).is_err());
}

#[test]
fn manifest_of_chameleon_has_its_name_and_routes() {
    let manifest = guests::chameleon_manifest();
    assert_eq!(manifest.get("name"), Some(&Value::from("chameleon")));
    assert!(manifest.get("routes").and_then(Value::as_array).is_some_and(|routes| routes.len() == 5));
}

#[test]
fn contract_version_is_replaced_everywhere_in_the_component() {
    let changed = guests::for_contract_0_2(&guests::component("chameleon").unwrap());
    assert!(contains(&changed, b"tenon:plugin/handler@0.2.0") && !contains(&changed, b"@0.1.0"));
}

#[test]
fn outsider_imports_interfaces_that_are_not_granted() {
    let outsider = guests::component("outsider").unwrap();
    assert!(
        contains(&outsider, b"tenon:plugin/ledger@0.1.0") && contains(&outsider, b"tenon:plugin/credentials@0.1.0")
    );
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}
