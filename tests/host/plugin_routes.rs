//! `tenon plugin routes`.

use std::fs;

use serde_json::{Value, json};
use tenon_bench::guests;

use super::command_line::{run_err, run_ok};
use crate::support::{TestHost, component};

const SECTION: &str = r#"mount = "/c"
grants = ["records", "events"]
limits = { compute-ms = 300, deadline-ms = 7_000 }"#;

/// Writes a component with one route that declares scopes and a deadline. Returns its file.
fn write_component(host: &TestHost) -> String {
    let mut manifest = guests::chameleon_manifest();
    manifest["version"] = json!("2.0.0");
    manifest["routes"] = json!([
        {"operation": "version", "method": "GET", "path": "/v1/version", "scopes": ["b", "a"], "deadline-ms": 500},
    ]);
    let file = host.dir.path().join("scoped.wasm");
    fs::write(&file, guests::chameleon(&manifest.to_string()).unwrap()).unwrap();
    file.display().to_string()
}

#[tokio::test]
async fn routes_of_the_serving_version_have_mount_scopes_and_deadline() {
    let host = TestHost::builder().plugin("chameleon", component("chameleon"), SECTION).start().await;
    let list = async || -> Value {
        serde_json::from_str(&run_ok(&host, &["plugin", "routes", "chameleon", "--json"]).await).unwrap()
    };
    let before = list().await;
    assert_eq!((&before[0]["path"], &before[0]["deadline_ms"]), (&json!("/c/v1/version"), &json!(7_000)));
    let file = write_component(&host);
    run_ok(&host, &["plugin", "deploy", &file, "--plugin", "chameleon", "--allow-breaking"]).await;
    let expected = json!([{
        "operation": "version",
        "method": "GET",
        "path": "/c/v1/version",
        "open": false,
        "key_parameter": null,
        "scopes": ["b", "a"],
        "deadline_ms": 500,
    }]);
    assert_eq!(list().await, expected);
    let table = run_ok(&host, &["plugin", "routes", "chameleon"]).await;
    assert!(table.starts_with("METHOD") && table.contains("/c/v1/version  version    required  b, a"), "{table}");
    host.stop().await;
}

#[tokio::test]
async fn plugin_without_routes_is_reported() {
    let host = TestHost::builder().plugin("chameleon", component("outsider"), SECTION).start().await;
    let error = run_err(&host, &["plugin", "routes", "chameleon"]).await;
    assert!(error.contains("no version of it serves") && error.contains("tenon plugin list"), "{error}");
    assert!(run_err(&host, &["plugin", "routes", "chamelion"]).await.contains("Known plugins: chameleon."));
    host.stop().await;
}
