//! Durable timers over HTTP: a scheduled task runs once when it is due, across faults and restarts.

mod after_fault;
mod operators;
mod timers;

use serde_json::{Value, json};
use tenon::clock::Clock;

use crate::support::{TestClient, TestHost, TestHostBuilder, component, eventually};

/// 2026-05-07T08:30:00Z
const START_MS: u64 = 1_778_142_600_000;

/// Returns a builder of a host with the guest `clockwork`. `lines` are added to the section of the guest.
fn clockwork(lines: &str) -> TestHostBuilder {
    let grants = r#"grants = ["records", "events", "tasks", "effects", "questions", "subscriptions", "journal"]"#;
    TestHost::builder().plugin("clockwork", component("clockwork"), &format!("{grants}\n{lines}"))
}

/// Starts a host with a manual clock.
async fn host_with_manual_clock(lines: &str) -> (TestHost, TestClient) {
    let host = clockwork(lines).clock(Clock::manual(START_MS)).start().await;
    let client = host.client("clockwork", "acme").await;
    (host, client)
}

async fn set_alarm(client: &TestClient, id: &str, body: Value) {
    client.post(&format!("/v1/alarms/{id}"), body).await.check(204);
}

async fn find_mark(client: &TestClient, id: &str) -> Option<Value> {
    let found = client.get(&format!("/v1/marks/{id}")).await;
    (found.status == 200).then(|| found.json())
}

/// Waits until a task has written its mark and returns it.
async fn wait_for_mark(client: &TestClient, id: &str) -> Value {
    eventually(id, async || find_mark(client, id).await).await
}

/// Waits until a mark has been written `count` times and returns it.
async fn wait_for_mark_count(client: &TestClient, id: &str, count: u64) -> Value {
    let what = format!("{id}, {count} times");
    eventually(&what, async || find_mark(client, id).await.filter(|mark| mark["count"] == json!(count))).await
}

/// Returns the number of task runs with this outcome, from the metrics.
pub async fn runs(host: &TestHost, outcome: &str) -> u64 {
    let text = host.operator().get("/metrics").await.expect(200).text();
    let name = format!("tenon_task_runs_total{{outcome=\"{outcome}\"}} ");
    text.lines().find_map(|line| line.strip_prefix(&name)).map_or(0, |count| count.parse().expect("a count"))
}

async fn wait_for_runs(host: &TestHost, outcome: &str, count: u64) {
    let what = format!("{count} runs with outcome {outcome}");
    eventually(&what, async || (runs(host, outcome).await >= count).then_some(())).await;
}
