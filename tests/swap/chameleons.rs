//! Helpers for versions of the guest `chameleon`: building, serving, deploying, and querying them.

use std::{
    fs,
    path::PathBuf,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tempfile::TempDir;
use tenon_bench::guests;

use crate::support::{Response, TestClient, TestHost, TestHostBuilder};

pub const GRANTS: &str = r#"grants = ["records", "events"]"#;

/// Returns `chameleon` with version 1.N.0 and edits of its manifest at these JSON pointers. The last part of a pointer
/// may be new.
#[track_caller]
pub fn chameleon(number: u64, edits: &[(&str, Value)]) -> Vec<u8> {
    let mut manifest = guests::chameleon_manifest();
    manifest["version"] = format!("1.{number}.0").into();
    for (pointer, value) in edits {
        let (parent, member) = pointer.rsplit_once('/').expect("a pointer");
        manifest.pointer_mut(parent).expect("a parent")[member] = value.clone();
    }
    guests::chameleon(&manifest.to_string()).unwrap()
}

/// Returns `chameleon` under another name with its paths below `/{name}`.
pub fn chameleon_named(name: &str, number: u64) -> Vec<u8> {
    let mut manifest = guests::chameleon_manifest();
    manifest["name"] = name.into();
    for route in manifest["routes"].as_array_mut().unwrap() {
        route["path"] = format!("/{name}{}", route["path"].as_str().unwrap()).into();
    }
    chameleon(number, &[("/name", manifest["name"].clone()), ("/routes", manifest["routes"].clone())])
}

/// A temporary folder for component files, which is needed until the host has copied them.
pub struct ComponentFiles(TempDir);

impl ComponentFiles {
    pub fn new() -> ComponentFiles {
        ComponentFiles(tempfile::tempdir().unwrap())
    }

    pub fn put(&self, name: &str, component: &[u8]) -> PathBuf {
        let file = self.0.path().join(format!("{name}.wasm"));
        fs::write(&file, component).unwrap();
        file
    }
}

pub fn host_builder(files: &ComponentFiles, number: u64, lines: &str) -> TestHostBuilder {
    TestHost::builder().plugin("chameleon", files.put("chameleon", &chameleon(number, &[])), lines)
}

/// Starts a host that serves `chameleon` 1.N.0.
pub async fn host_serving(number: u64) -> TestHost {
    host_builder(&ComponentFiles::new(), number, GRANTS).start().await
}

/// Replaces the component file atomically, as a build does.
pub fn put_file(host: &TestHost, plugin: &str, component: &[u8]) {
    host.replace_component(plugin, &ComponentFiles::new().put(plugin, component));
}

pub async fn deploy(host: &TestHost, plugin: &str, component: Vec<u8>) -> Response {
    put(host, plugin, component, "").await
}

pub async fn deploy_breaking(host: &TestHost, plugin: &str, component: Vec<u8>) -> Response {
    put(host, plugin, component, "?allow-breaking=true").await
}

async fn put(host: &TestHost, plugin: &str, component: Vec<u8>, query: &str) -> Response {
    let path = format!("/v1/plugins/{plugin}/component{query}");
    host.operator().send("PUT", &path, &[("content-type", "application/wasm")], component).await
}

pub async fn rollback(host: &TestHost) -> Response {
    host.operator().post("/v1/plugins/chameleon/rollback", json!({})).await
}

/// Returns N of the version 1.N.0 that `GET /v1/version` returns.
pub async fn version(client: &TestClient) -> u64 {
    minor(&client.get("/v1/version").await.expect(200).text_at("/version"))
}

pub fn minor(version: &str) -> u64 {
    version.split('.').nth(1).and_then(|digits| digits.parse().ok()).expect("1.N.0")
}

/// Returns the status of a plugin for operators, or null if there is no such plugin.
pub async fn status(host: &TestHost, plugin: &str) -> Value {
    let listed = host.operator().get("/v1/plugins").await.expect(200).json();
    listed.as_array().unwrap().iter().find(|one| one["name"] == plugin).cloned().unwrap_or_default()
}

/// Returns the swaps of a plugin in the operators' journal, newest first.
pub async fn journal(host: &TestHost, plugin: &str) -> Vec<Value> {
    let lines = host.operator().get(&format!("/v1/plugins/journal?plugin={plugin}")).await.expect(200);
    lines.json().as_array().unwrap().iter().filter(|line| line["outcome"] != "done").cloned().collect()
}

pub async fn wait_until_serving(host: &TestHost, plugin: &str, number: u64) {
    let expected = format!("1.{number}.0");
    wait_until(&format!("{plugin} {expected} serves"), async || {
        (status(host, plugin).await["serving"]["version"] == expected).then_some(())
    })
    .await;
}

/// Waits until a swap was rejected and returns the reasons.
pub async fn wait_until_rejected(host: &TestHost, plugin: &str) -> String {
    wait_until(&format!("{plugin} is rejected"), async || {
        let reasons = status(host, plugin).await["reasons"].to_string();
        (reasons != "[]").then_some(reasons)
    })
    .await
}

/// Polls `find` until it returns a value, for at most a minute.
pub async fn wait_until<T>(what: &str, mut find: impl AsyncFnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(found) = find().await {
            return found;
        }
        assert!(Instant::now() < deadline, "{what}: not within a minute");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
