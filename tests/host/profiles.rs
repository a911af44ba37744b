//! Profiles of plugins: samples of a plugin under load, their end, and rejected requests.

use serde_json::{Value, json};
use tempfile::tempdir;
use tenon_bench::guests;
use tokio::task::{AbortHandle, JoinHandle};

use super::command_line::{run_err, run_ok};
use crate::support::{Response, TestHost, component, eventually};

/// Sends calls of `misbehave` that compute for some milliseconds each, until it is dropped.
struct Load(AbortHandle);

impl Load {
    async fn start(host: &TestHost) -> Load {
        let client = host.client("misbehave", "acme").await;
        let calls = async move {
            loop {
                client.post("/v1/slow?steps=3000000", json!({})).await.check(200);
            }
        };
        Load(tokio::spawn(calls).abort_handle())
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn profile(host: &TestHost, plugin: &str, seconds: u64) -> Response {
    host.operator().post(&format!("/v1/plugins/{plugin}/profile?seconds={seconds}"), json!({})).await
}

/// Starts a profile of one minute.
async fn start_profile(host: &TestHost, plugin: &str) -> JoinHandle<Response> {
    let before = started_profiles(host).await;
    let operator = host.operator();
    let running = tokio::spawn(operator.post_empty(&format!("/v1/plugins/{plugin}/profile?seconds=60")));
    eventually("the profile starts", async || (started_profiles(host).await > before).then_some(())).await;
    running
}

/// Returns the number of started profiles in the journal.
async fn started_profiles(host: &TestHost) -> usize {
    let lines = host.operator().get("/v1/journal?action=profile").await.expect(200).json();
    lines.as_array().unwrap().iter().filter(|line| line["outcome"] == "done").count()
}

/// Returns the names of the innermost functions of all samples.
fn innermost(profile: &Value) -> Vec<String> {
    let thread = &profile["threads"][0];
    let at = |table: &str, column: &str, index: &Value| {
        let column = thread.pointer(&format!("/{table}/{column}")).unwrap();
        column[index.as_u64().unwrap() as usize].clone()
    };
    let name = |stack: &Value| {
        let name = at("funcTable", "name", &at("frameTable", "func", &at("stackTable", "frame", stack)));
        thread["stringArray"][name.as_u64().unwrap() as usize].as_str().unwrap().to_owned()
    };
    thread["samples"]["stack"].as_array().unwrap().iter().map(name).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn profile_names_the_functions_that_compute() {
    let host = TestHost::misbehave().await;
    let load = Load::start(&host).await;
    let report = profile(&host, "misbehave", 1).await.expect(200).json();
    drop(load);
    let samples = report["samples"].as_u64().unwrap();
    assert!(samples >= 20, "{samples} samples");
    assert_eq!(report["ended"], "time");
    assert_eq!(report["notes"], json!([]));
    assert_eq!(report["version"], "1.0.0");
    let top = &report["functions"][0];
    assert!(top["name"].as_str().unwrap().ends_with("resources::slow"), "{top}");
    assert!(top["self_samples"].as_u64().unwrap() * 2 > samples, "{top} of {samples}");

    let names = innermost(&report["profile"]);
    assert_eq!(names.len() as u64, samples);
    let top_samples = names.iter().filter(|name| **name == top["name"]).count();
    assert_eq!(top_samples as u64, top["self_samples"].as_u64().unwrap());
    let strings = report["profile"]["threads"][0]["stringArray"].as_array().unwrap();
    assert!(strings.contains(&"slow".into()), "the operation: {strings:?}");
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn command_writes_the_file_and_prints_the_functions() {
    let host = TestHost::misbehave().await;
    let (load, folder) = (Load::start(&host).await, tempdir().unwrap());
    let file = folder.path().join("slow.json");
    let line = ["plugin", "profile", "misbehave", "--seconds", "1", "--output", file.to_str().unwrap()];
    let text = run_ok(&host, &line).await;
    assert!(text.contains("resources::slow") && text.contains("https://profiler.firefox.com"), "{text}");
    let written: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert!(!innermost(&written).is_empty());

    std::fs::write(&file, "mine").unwrap();
    let refused = run_err(&host, &line).await;
    assert!(refused.contains("exists") && refused.contains("--force"), "{refused}");
    assert_eq!(std::fs::read(&file).unwrap(), b"mine");
    let report = run_ok(&host, &[&line[..], &["--force", "--json"]].concat()).await;
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["file"], file.to_str().unwrap());
    assert!(report["samples"].as_u64().unwrap() > 0, "{report}");
    assert_eq!(report.get("profile"), None);
    assert_ne!(std::fs::read(&file).unwrap(), b"mine");
    drop(load);
    host.stop().await;
}

#[tokio::test]
async fn profile_without_calls_has_a_hint() {
    let host = TestHost::misbehave().await;
    let report = profile(&host, "misbehave", 1).await.expect(200).json();
    assert_eq!(report["samples"], 0);
    let note = report["notes"][0].as_str().unwrap();
    assert!(note.contains("There are no samples") && note.contains("Send requests"), "{note}");
    assert_eq!(report["profile"]["threads"][0]["samples"]["length"], 0);
    host.stop().await;
}

#[tokio::test]
async fn profile_without_samples_replaces_no_file() {
    let (host, folder) = (TestHost::misbehave().await, tempdir().unwrap());
    let file = folder.path().join("kept.json");
    std::fs::write(&file, "mine").unwrap();
    let line = ["plugin", "profile", "misbehave", "--seconds", "1", "--force", "--output", file.to_str().unwrap()];
    let refused = run_err(&host, &line).await;
    assert!(refused.contains("No file was written. There are no samples"), "{refused}");
    assert_eq!(std::fs::read(&file).unwrap(), b"mine");
    host.stop().await;
}

#[tokio::test]
async fn unknown_plugins_and_invalid_durations_are_rejected() {
    let host = TestHost::misbehave().await;
    let unknown = profile(&host, "wharf", 1).await.expect(404).json();
    assert_eq!(unknown["hint"], "Known plugins: misbehave.");
    for seconds in ["0", "61", "-1", "1.5", "ten"] {
        let path = format!("/v1/plugins/misbehave/profile?seconds={seconds}");
        let refused = host.operator().post(&path, json!({})).await.expect(400).json();
        assert_eq!(refused["hint"], "The option is seconds=1..60.", "{seconds}");
    }
    assert_eq!(started_profiles(&host).await, 0);
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn second_profile_is_rejected_until_the_client_of_the_first_disconnects() {
    let host = TestHost::misbehave().await;
    let first = start_profile(&host, "misbehave").await;
    let second = profile(&host, "misbehave", 1).await.expect(409).json();
    assert_eq!(second["reasons"], json!(["another profile is running; a host runs one at a time"]));
    first.abort();
    eventually("the abandoned profile ends", async || {
        (profile(&host, "misbehave", 1).await.status == 200).then_some(())
    })
    .await;
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn swap_ends_the_profile_of_the_old_generation() {
    let grants = r#"grants = ["records", "events"]"#;
    let host = TestHost::builder().plugin("chameleon", component("chameleon"), grants).start().await;
    let running = start_profile(&host, "chameleon").await;
    let mut manifest = guests::chameleon_manifest();
    manifest["version"] = "9.9.9".into();
    let newer = guests::chameleon(&manifest.to_string()).unwrap();
    let wasm = [("content-type", "application/wasm")];
    host.operator().send("PUT", "/v1/plugins/chameleon/component", &wasm, newer).await.check(200);
    let report = running.await.unwrap().expect(200).json();
    assert_eq!(report["ended"], "swapped");
    assert_ne!(report["version"], "9.9.9");
    assert!(report["notes"][0].as_str().unwrap().contains("no longer serves"), "{}", report["notes"]);
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stopping_host_ends_a_profile() {
    let host = TestHost::misbehave().await;
    let running = start_profile(&host, "misbehave").await;
    host.stop().await;
    assert_eq!(running.await.unwrap().expect(200).json()["ended"], "stopping");
}
