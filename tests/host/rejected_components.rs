//! Components that must never serve: each is rejected with its reasons, and the previous component continues to serve.

use serde_json::{Value, json};
use tenon_bench::guests::{self, invalid_manifests};

use super::misbehaving_guests::status;
use crate::support::{Response, TestHost, component};

const SECTION: &str = r#"grants = ["records", "events"]
limits = { compute-ms = 200, component-bytes = 1000000 }"#;

async fn chameleon() -> TestHost {
    TestHost::builder().plugin("chameleon", component("chameleon"), SECTION).start().await
}

async fn deploy(host: &TestHost, bytes: Vec<u8>) -> Response {
    let headers = [("content-type", "application/wasm")];
    host.operator().send("PUT", "/v1/plugins/chameleon/component", &headers, bytes).await
}

/// Deploys a component that must be rejected and returns all reasons.
async fn rejection_reasons(host: &TestHost, name: &str, bytes: Vec<u8>) -> String {
    let response = deploy(host, bytes).await;
    assert_eq!(response.status, 409, "{name}: {}", response.text());
    assert_eq!(response.json()["error"], "refused", "{name}");
    let reasons = response.json()["reasons"].as_array().cloned().unwrap_or_default();
    assert!(!reasons.is_empty(), "{name} was rejected without a reason");
    reasons.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn invalid_manifests_are_rejected_with_their_location() {
    let host = chameleon().await;
    let before = status(&host, "chameleon").await["serving"].clone();
    for invalid in invalid_manifests::all() {
        let reasons = rejection_reasons(&host, invalid.name, guests::chameleon(&invalid.manifest).unwrap()).await;
        assert!(reasons.contains(invalid.expected), "{}: {:?} is not in {reasons}", invalid.name, invalid.expected);
    }
    assert_eq!(status(&host, "chameleon").await["serving"], before);
    let acme = host.client("chameleon", "acme").await;
    assert_eq!(acme.get("/v1/version").await.expect(200).json(), json!({"version": "1.0.0"}));
    host.stop().await;
}

#[tokio::test]
async fn component_with_a_failing_describe_is_rejected() {
    let host = chameleon().await;
    let before = status(&host, "chameleon").await["serving"].clone();
    for fault in invalid_manifests::DESCRIBE_FAULTS {
        let reasons = rejection_reasons(&host, fault, guests::chameleon(fault).unwrap()).await;
        assert!(reasons.contains("describe") || reasons.contains("manifest"), "{fault}: {reasons}");
    }
    assert_eq!(status(&host, "chameleon").await["serving"], before);
    host.stop().await;
}

#[tokio::test]
async fn panic_in_describe_is_reported_with_its_message_and_backtrace() {
    let host = chameleon().await;
    let reasons = rejection_reasons(&host, "!panic", guests::chameleon("!panic").unwrap()).await;
    assert!(reasons.contains("it printed: ") && reasons.contains("the table of rates is empty"), "{reasons}");
    let (_, backtrace) = reasons.split_once("backtrace: ").unwrap_or_else(|| panic!("{reasons}"));
    assert!(backtrace.contains("panic") && backtrace.contains("describe"), "functions by name: {reasons}");
    assert!(reasons.len() < 5_000, "{} bytes", reasons.len());
    host.stop().await;
}

#[tokio::test]
async fn all_imports_without_a_grant_are_named() {
    let host = chameleon().await;
    let reasons = rejection_reasons(&host, "outsider", guests::component("outsider").unwrap()).await;
    assert!(reasons.contains("imports ledger, which plugins.toml does not grant to chameleon"), "{reasons}");
    assert!(reasons.contains("imports credentials, which plugins.toml does not grant to chameleon"), "{reasons}");
    let reasons = rejection_reasons(&host, "misbehave", guests::component("misbehave").unwrap()).await;
    assert!(reasons.contains("imports ids") && reasons.contains("imports log"), "{reasons}");
    host.stop().await;
}

#[tokio::test]
async fn files_that_are_not_components_of_this_contract_get_distinct_reasons() {
    let host = chameleon().await;
    let whole = guests::component("chameleon").unwrap();
    let invalid: [(&str, Vec<u8>, &str); 7] = [
        ("contract 0.2", guests::for_contract_0_2(&whole), "built for contract 0.2, this host supports 0.1"),
        ("unknown import", guests::importing_unknown(&whole), "recalls"),
        ("core module", b"\0asm\x01\0\0\0".to_vec(), "is a core module and not a component"),
        ("garbage", b"#!/bin/sh\necho hello\n".to_vec(), "is not WebAssembly"),
        ("nothing", Vec::new(), "is empty"),
        ("half", whole[..whole.len() / 2].to_vec(), "is not a whole component"),
        ("too large", guests::stamped(&whole, &"x".repeat(1_000_000)), "limits.component-bytes"),
    ];
    for (name, bytes, reason) in invalid {
        let reasons = rejection_reasons(&host, name, bytes).await;
        assert!(reasons.contains(reason), "{name}: {reasons}");
    }
    host.client("chameleon", "acme").await.get("/v1/version").await.check(200);
    host.stop().await;
}

#[tokio::test]
async fn rejection_is_journaled_and_counted() {
    let host = chameleon().await;
    let reasons = rejection_reasons(&host, "trap", guests::chameleon("!trap").unwrap()).await;
    let journal = host.operator().get("/v1/plugins/journal").await.expect(200).json();
    assert_eq!(journal[0]["outcome"], "refused");
    assert_eq!(journal[0]["reasons"][0], reasons);
    let metrics = host.operator().get("/metrics").await.expect(200).text();
    assert!(metrics.contains(r#"tenon_swaps_total{outcome="refused",plugin="chameleon"} 1"#), "{metrics}");
    host.stop().await;
}

#[tokio::test]
async fn plugin_that_cannot_load_at_the_start_does_not_prevent_others_from_serving() {
    let host = TestHost::builder()
        .plugin("outsider", component("outsider"), "grants = []")
        .plugin("chameleon", component("chameleon"), SECTION)
        .start()
        .await;
    host.client("chameleon", "acme").await.get("/v1/version").await.check(200);
    let absent = host.anonymous().post("/v1/take", json!({})).await.expect(503);
    assert_eq!(absent.text_at("/code"), "unavailable");
    let ready = host.operator().get("/readyz").await.expect(503).text();
    assert!(ready.contains("outsider does not serve") && ready.contains("imports ledger"), "{ready}");
    assert_eq!(status(&host, "outsider").await["state"], "down");
    host.stop().await;
}
