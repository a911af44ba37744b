//! Changes of plugins.toml take effect like swaps: new settings for a component, and added and removed plugins.

use std::fs;

use serde_json::json;
use tenon_bench::guests;

use super::{
    chameleons::{
        ComponentFiles, GRANTS, chameleon, chameleon_named, deploy, host_builder, host_serving, journal, rollback,
        status, version, wait_until, wait_until_rejected, wait_until_serving,
    },
    traffic::Traffic,
};
use crate::support::{TestClient, TestHost};

const HIGH_LIMIT: &str = "host-call-bytes = 1000000";
/// Enough to count things. A time limit is not used, because a busy machine could exceed it.
const LOW_LIMIT: &str = "host-call-bytes = 1024";

async fn host_with_high_limit() -> TestHost {
    host_builder(&ComponentFiles::new(), 1, &format!("{GRANTS}\n[plugins.chameleon.limits]\n{HIGH_LIMIT}"))
        .start()
        .await
}

/// Returns whether a thing of two kilobytes is stored.
async fn has_high_limit(client: &TestClient) -> bool {
    let thing = json!({"text": "x".repeat(2_048)});
    client.put("/v1/things/limits", thing).await.status == 200
}

/// Replaces plugins.toml atomically, as editors do. A file that is overwritten in place is empty for a short time, and
/// an empty file removes all plugins.
fn write(host: &TestHost, text: &str) {
    let temporary = host.config_file().with_extension("new");
    fs::write(&temporary, text).unwrap();
    fs::rename(temporary, host.config_file()).unwrap();
}

/// Appends lines to plugins.toml. Lines before the first header belong to `[outbound]`, the last section.
fn append(host: &TestHost, lines: &str) {
    let text = fs::read_to_string(host.config_file()).unwrap();
    write(host, &format!("{text}\n{lines}\n"));
}

fn replace(host: &TestHost, from: &str, to: &str) {
    let text = fs::read_to_string(host.config_file()).unwrap();
    assert!(text.contains(from), "{text}");
    write(host, &text.replace(from, to));
}

/// Writes plugins.toml and waits until another generation serves. The journal has its line slightly earlier.
async fn replace_and_wait(host: &TestHost, from: &str, to: &str) {
    let before = status(host, "chameleon").await["serving"]["generation"].clone();
    replace(host, from, to);
    wait_until("another generation", async || {
        (status(host, "chameleon").await["serving"]["generation"] != before).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn new_limits_take_effect_and_no_request_fails() {
    let host = host_with_high_limit().await;
    let traffic = Traffic::start(&host, "chameleon", 4).await;
    let client = host.client("chameleon", "acme").await;
    assert!(has_high_limit(&client).await);
    replace_and_wait(&host, HIGH_LIMIT, LOW_LIMIT).await;
    assert!(!has_high_limit(&client).await);
    traffic.wait_for_responses().await;
    traffic.stop().await.expect([1]);
    let line = journal(&host, "chameleon").await.remove(0);
    assert_eq!((&line["action"], &line["who"], &line["from"]), (&"config".into(), &"plugins.toml".into(), &line["to"]));
}

#[tokio::test]
async fn removal_of_a_required_grant_is_rejected_with_its_name() {
    let host = host_serving(1).await;
    replace(&host, GRANTS, r#"grants = ["events"]"#);
    assert!(wait_until_rejected(&host, "chameleon").await.contains("records"));
    let client = host.client("chameleon", "acme").await;
    client.post("/v1/things/a/count", json!({})).await.check(200);

    replace(&host, r#"grants = ["events"]"#, GRANTS);
    wait_until("no reasons", async || (status(&host, "chameleon").await["reasons"] == json!([])).then_some(())).await;
}

#[tokio::test]
async fn rejected_component_is_accepted_after_its_grant_is_added() {
    let files = ComponentFiles::new();
    let host = TestHost::builder().plugin("chameleon", files.put("c", &chameleon(1, &[])), r#"grants = ["events"]"#);
    let host = host.start().await;
    assert_eq!(status(&host, "chameleon").await["state"], "down");
    host.operator().get("/readyz").await.check(503);
    replace(&host, r#"grants = ["events"]"#, GRANTS);
    wait_until_serving(&host, "chameleon", 1).await;
    host.operator().get("/readyz").await.check(200);
}

#[tokio::test]
async fn plugin_is_added_and_removed_while_another_serves() {
    let host = host_serving(1).await;
    fs::write(host.component_file("second"), chameleon_named("second", 1)).unwrap();
    let section = format!("[plugins.second]\ncomponent = \"second.wasm\"\n{GRANTS}");
    append(&host, &section);
    wait_until_serving(&host, "second", 1).await;
    let (first, second) = (host.client("chameleon", "acme").await, host.client("second", "acme").await);
    second.get("/second/v1/version").await.check(200);
    let count = second.post("/second/v1/things/a/count", json!({})).await.expect(200);
    assert_eq!(count.json()["count"], 1);

    replace(&host, &section, "");
    wait_until("it is removed", async || status(&host, "second").await.is_null().then_some(())).await;
    second.get("/second/v1/version").await.check(404);
    assert_eq!(version(&first).await, 1);
    assert_eq!(journal(&host, "second").await[0]["action"], "remove");

    append(&host, &section);
    wait_until_serving(&host, "second", 1).await;
    let count = second.post("/second/v1/things/a/count", json!({})).await.expect(200);
    assert_eq!(count.json()["count"], 2, "its stored data remains");
}

#[tokio::test]
async fn invalid_file_changes_nothing_and_the_corrected_one_takes_effect() {
    let host = host_with_high_limit().await;
    replace(&host, HIGH_LIMIT, &format!("{LOW_LIMIT}\nhost-calls-a-year = 1"));
    // The task that reads the file also processes this later deploy, so the invalid file did not block the task.
    deploy(&host, "chameleon", chameleon(2, &[])).await.check(200);
    let client = host.client("chameleon", "acme").await;
    assert!(has_high_limit(&client).await);
    replace_and_wait(&host, "host-calls-a-year = 1", "").await;
    assert!(!has_high_limit(&client).await);
}

#[tokio::test]
async fn component_is_loaded_from_its_new_path() {
    let host = host_serving(1).await;
    fs::write(host.dir.path().join("moved.wasm"), chameleon(2, &[])).unwrap();
    replace(&host, "\"chameleon.wasm\"", "\"moved.wasm\"");
    wait_until_serving(&host, "chameleon", 2).await;
    fs::write(host.dir.path().join("moved.wasm"), chameleon(3, &[])).unwrap();
    wait_until_serving(&host, "chameleon", 3).await;
}

#[tokio::test]
async fn rollback_serves_the_old_version_with_the_new_settings() {
    let host = host_with_high_limit().await;
    deploy(&host, "chameleon", chameleon(2, &[])).await.check(200);
    replace_and_wait(&host, HIGH_LIMIT, LOW_LIMIT).await;
    rollback(&host).await.check(200);
    let client = host.client("chameleon", "acme").await;
    assert_eq!(version(&client).await, 1);
    assert!(!has_high_limit(&client).await);
}

/// A component without a settings schema accepts all settings, for example `reader` below.
#[tokio::test]
async fn settings_that_violate_the_schema_of_the_plugin_are_rejected_by_name() {
    let schema = json!({
        "type": "object", "required": ["greeting"], "additionalProperties": false,
        "properties": {"greeting": {"type": "string", "maxLength": 5}},
    });
    let (files, valid) = (ComponentFiles::new(), "[plugins.chameleon.settings]\ngreeting = \"hello\"");
    let described = files.put("chameleon", &chameleon(1, &[("/settings", schema)]));
    let host = TestHost::builder().plugin("chameleon", described, &format!("{GRANTS}\n{valid}")).start().await;
    let client = host.client("chameleon", "acme").await;
    assert_eq!(version(&client).await, 1);
    replace(&host, "greeting = \"hello\"", "greeting = \"good day\"\ncolour = \"red\"");
    let reasons = wait_until_rejected(&host, "chameleon").await;
    assert!(reasons.contains("`plugins.chameleon.settings.greeting` must have at most 5 characters"), "{reasons}");
    assert!(reasons.contains("`plugins.chameleon.settings.colour` is not a setting of this plugin"), "{reasons}");
    assert_eq!(version(&client).await, 1, "the valid settings stay in effect");

    let unsupported = chameleon(2, &[("/settings", json!({"type": "object", "patternProperties": {}}))]);
    let response = deploy(&host, "chameleon", unsupported).await;
    assert!(response.text().contains("patternProperties"), "{}", response.text());
}

#[tokio::test]
async fn plugin_reads_the_changed_setting() {
    let component = guests::component_path("reader");
    let lines = "grants = [\"config\"]\n[plugins.reader.settings]\ngreeting = \"hello\"";
    let host = TestHost::builder().plugin("reader", component, lines).start().await;
    let client = host.anonymous();
    assert_eq!(client.get("/v1/greeting").await.expect(200).text_at("/greeting"), "hello");
    replace(&host, "\"hello\"", "\"good day\"");
    wait_until("the new greeting", async || {
        (client.get("/v1/greeting").await.expect(200).text_at("/greeting") == "good day").then_some(())
    })
    .await;
}
