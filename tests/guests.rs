//! The test guests themselves: they can be built, changed, and told apart. What the host does with them is tested
//! beside the host's own tests.

use serde_json::{Value, json};
use tenon_bench::guests;

#[test]
fn chameleon_takes_a_manifest_without_growing() {
    let plain = guests::component("chameleon").unwrap();
    let changed = guests::chameleon_version("7.8.9").unwrap();
    assert_eq!(plain.len(), changed.len());
    assert!(contains(&changed, b"\"version\":\"7.8.9\"") && !contains(&plain, b"7.8.9"));
}

#[test]
fn manifest_that_does_not_fit_is_refused() {
    let text = json!({ "title": "x".repeat(40_000) }).to_string();
    assert!(guests::chameleon(&text).is_err());
}

#[test]
fn manifest_of_chameleon_is_a_manifest() {
    let manifest = guests::chameleon_manifest();
    assert_eq!(manifest.get("name"), Some(&Value::from("chameleon")));
    assert!(manifest.get("routes").and_then(Value::as_array).is_some_and(|routes| routes.len() == 5));
}

#[test]
fn other_contract_is_named_everywhere_in_the_component() {
    let changed = guests::for_contract_0_2(&guests::component("chameleon").unwrap());
    assert!(contains(&changed, b"tenon:plugin/handler@0.2.0") && !contains(&changed, b"@0.1.0"));
}

#[test]
fn outsider_imports_what_nobody_granted() {
    let outsider = guests::component("outsider").unwrap();
    assert!(
        contains(&outsider, b"tenon:plugin/ledger@0.1.0") && contains(&outsider, b"tenon:plugin/credentials@0.1.0")
    );
}

fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|window| window == wanted)
}
