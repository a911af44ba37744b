//! A change of plugins.toml takes effect as a swap does: the same component under new settings, plugins that come and go.

use std::fs;

use serde_json::json;
use tenon_bench::guests;

use super::{
    chameleons::{
        GRANTS, Shelf, chameleon, deploy, journal, namesake, plan, rollback, serving, status, until, until_refused,
        until_serves, version,
    },
    traffic::Traffic,
};
use crate::support::{TestClient, TestHost};

const GENEROUS: &str = "host-call-bytes = 1000000";
/// Enough to count things. No limit of time: a busy machine would reach that one by itself.
const STINGY: &str = "host-call-bytes = 1024";

async fn generous_host() -> TestHost {
    plan(&Shelf::new(), 1, &format!("{GRANTS}\n[plugins.chameleon.limits]\n{GENEROUS}")).start().await
}

/// Whether a thing of two kilobytes is stored.
async fn is_generous(client: &TestClient) -> bool {
    let thing = json!({"text": "x".repeat(2_048)});
    client.put("/v1/things/limits", thing).await.status == 200
}

/// As editors do it: a file that is written in its place is empty for a moment, and an empty one takes all plugins out.
fn write(host: &TestHost, text: &str) {
    let beside = host.config_file().with_extension("new");
    fs::write(&beside, text).unwrap();
    fs::rename(beside, host.config_file()).unwrap();
}

/// Puts lines after what plugins.toml says now; the first belong to chameleon's section.
fn append(host: &TestHost, lines: &str) {
    let text = fs::read_to_string(host.config_file()).unwrap();
    write(host, &format!("{text}\n{lines}\n"));
}

fn replace(host: &TestHost, from: &str, to: &str) {
    let text = fs::read_to_string(host.config_file()).unwrap();
    assert!(text.contains(from), "{text}");
    write(host, &text.replace(from, to));
}

/// Writes plugins.toml and waits until another generation serves. (The journal has its line a moment earlier.)
async fn replace_and_wait(host: &TestHost, from: &str, to: &str) {
    let before = status(host, "chameleon").await["serving"]["generation"].clone();
    replace(host, from, to);
    until("another generation", async || {
        (status(host, "chameleon").await["serving"]["generation"] != before).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn new_limits_take_effect_and_no_request_fails() {
    let host = generous_host().await;
    let traffic = Traffic::start(&host, "chameleon", 4).await;
    let client = host.client("chameleon", "acme").await;
    assert!(is_generous(&client).await);
    replace_and_wait(&host, GENEROUS, STINGY).await;
    assert!(!is_generous(&client).await);
    traffic.flow().await;
    traffic.stop().await.expect([1]);
    let line = journal(&host, "chameleon").await.remove(0);
    assert_eq!((&line["action"], &line["who"], &line["from"]), (&"config".into(), &"plugins.toml".into(), &line["to"]));
}

#[tokio::test]
async fn grant_that_is_taken_away_from_a_plugin_that_needs_it_is_refused_by_name() {
    let host = serving(1).await;
    replace(&host, GRANTS, r#"grants = ["events"]"#);
    assert!(until_refused(&host, "chameleon").await.contains("records"));
    let client = host.client("chameleon", "acme").await;
    client.post("/v1/things/a/count", json!({})).await.check(200);

    replace(&host, r#"grants = ["events"]"#, GRANTS);
    until("all is well", async || (status(&host, "chameleon").await["reasons"] == json!([])).then_some(())).await;
}

#[tokio::test]
async fn component_that_was_refused_passes_once_the_grant_is_there() {
    let shelf = Shelf::new();
    let host = TestHost::builder().plugin("chameleon", shelf.put("c", &chameleon(1, &[])), r#"grants = ["events"]"#);
    let host = host.start().await;
    assert_eq!(status(&host, "chameleon").await["state"], "down");
    host.operator().get("/readyz").await.check(503);
    replace(&host, r#"grants = ["events"]"#, GRANTS);
    until_serves(&host, "chameleon", 1).await;
    host.operator().get("/readyz").await.check(200);
}

#[tokio::test]
async fn plugin_is_added_and_taken_out_while_the_other_serves() {
    let host = serving(1).await;
    fs::write(host.component_file("second"), namesake("second", 1)).unwrap();
    let section = format!("[plugins.second]\ncomponent = \"second.wasm\"\n{GRANTS}");
    append(&host, &section);
    until_serves(&host, "second", 1).await;
    let (first, second) = (host.client("chameleon", "acme").await, host.client("second", "acme").await);
    second.get("/second/v1/version").await.check(200);
    let count = second.post("/second/v1/things/a/count", json!({})).await.expect(200);
    assert_eq!(count.json()["count"], 1);

    replace(&host, &section, "");
    until("it is gone", async || status(&host, "second").await.is_null().then_some(())).await;
    second.get("/second/v1/version").await.check(404);
    assert_eq!(version(&first).await, 1);
    assert_eq!(journal(&host, "second").await[0]["action"], "remove");

    append(&host, &section);
    until_serves(&host, "second", 1).await;
    let count = second.post("/second/v1/things/a/count", json!({})).await.expect(200);
    assert_eq!(count.json()["count"], 2, "what it had stored is there");
}

#[tokio::test]
async fn file_with_a_mistake_changes_nothing_and_the_corrected_one_does() {
    let host = generous_host().await;
    replace(&host, GENEROUS, &format!("{STINGY}\nhost-calls-a-year = 1"));
    // A deploy afterwards is decided by the same task: the mistake was neither used nor in the way.
    deploy(&host, "chameleon", chameleon(2, &[])).await.check(200);
    let client = host.client("chameleon", "acme").await;
    assert!(is_generous(&client).await);
    replace_and_wait(&host, "host-calls-a-year = 1", "").await;
    assert!(!is_generous(&client).await);
}

#[tokio::test]
async fn component_at_another_place_is_loaded_from_there() {
    let host = serving(1).await;
    fs::write(host.dir.path().join("moved.wasm"), chameleon(2, &[])).unwrap();
    replace(&host, "\"chameleon.wasm\"", "\"moved.wasm\"");
    until_serves(&host, "chameleon", 2).await;
    fs::write(host.dir.path().join("moved.wasm"), chameleon(3, &[])).unwrap();
    until_serves(&host, "chameleon", 3).await;
}

#[tokio::test]
async fn rollback_after_new_settings_serves_the_old_version_under_the_new_ones() {
    let host = generous_host().await;
    deploy(&host, "chameleon", chameleon(2, &[])).await.check(200);
    replace_and_wait(&host, GENEROUS, STINGY).await;
    rollback(&host).await.check(200);
    let client = host.client("chameleon", "acme").await;
    assert_eq!(version(&client).await, 1);
    assert!(!is_generous(&client).await);
}

/// Guests that were built before the host knew of such schemas have none: `reader` below is one.
#[tokio::test]
async fn settings_that_do_not_fit_the_schema_of_the_plugin_are_refused_by_name() {
    let schema = json!({
        "type": "object", "required": ["greeting"], "additionalProperties": false,
        "properties": {"greeting": {"type": "string", "maxLength": 5}},
    });
    let (shelf, sound) = (Shelf::new(), "[plugins.chameleon.settings]\ngreeting = \"hello\"");
    let described = shelf.put("chameleon", &chameleon(1, &[("/settings", schema)]));
    let host = TestHost::builder().plugin("chameleon", described, &format!("{GRANTS}\n{sound}")).start().await;
    let client = host.client("chameleon", "acme").await;
    assert_eq!(version(&client).await, 1);
    replace(&host, "greeting = \"hello\"", "greeting = \"good day\"\ncolour = \"red\"");
    let reasons = until_refused(&host, "chameleon").await;
    assert!(reasons.contains("`plugins.chameleon.settings.greeting` must have at most 5 characters"), "{reasons}");
    assert!(reasons.contains("`plugins.chameleon.settings.colour` is not a setting of this plugin"), "{reasons}");
    assert_eq!(version(&client).await, 1, "the sound settings serve on");

    let strange = chameleon(2, &[("/settings", json!({"type": "object", "patternProperties": {}}))]);
    let answer = deploy(&host, "chameleon", strange).await;
    assert!(answer.text().contains("patternProperties"), "{}", answer.text());
}

#[tokio::test]
async fn setting_that_changes_is_what_the_plugin_reads_from_then_on() {
    let component = guests::component_path("reader");
    let lines = "grants = [\"config\"]\n[plugins.reader.settings]\ngreeting = \"hello\"";
    let host = TestHost::builder().plugin("reader", component, lines).start().await;
    let client = host.anonymous();
    assert_eq!(client.get("/v1/greeting").await.expect(200).text_at("/greeting"), "hello");
    replace(&host, "\"hello\"", "\"good day\"");
    until("the new greeting", async || {
        (client.get("/v1/greeting").await.expect(200).text_at("/greeting") == "good day").then_some(())
    })
    .await;
}
