//! Durable timers over HTTP: what is scheduled runs at its time, once, whatever happens in between.

mod follow;
mod operators;
mod timers;

use serde_json::{Value, json};
use tenon::clock::Clock;

use crate::support::{TestClient, TestHost, TestHostBuilder, component, eventually};

/// 2026-05-07T08:30:00Z
const START_MS: u64 = 1_778_142_600_000;

/// The guest with tasks. `lines`: what else its section says.
fn clockwork(lines: &str) -> TestHostBuilder {
    let grants = r#"grants = ["records", "events", "tasks", "effects", "questions", "subscriptions", "journal"]"#;
    TestHost::builder().plugin("clockwork", component("clockwork"), &format!("{grants}\n{lines}"))
}

/// On a clock that the test moves.
async fn still_host(lines: &str) -> (TestHost, TestClient) {
    let host = clockwork(lines).clock(Clock::manual(START_MS)).start().await;
    let client = host.client("clockwork", "acme").await;
    (host, client)
}

async fn alarm(client: &TestClient, id: &str, wish: Value) {
    client.post(&format!("/v1/alarms/{id}"), wish).await.check(204);
}

async fn find_mark(client: &TestClient, id: &str) -> Option<Value> {
    let found = client.get(&format!("/v1/marks/{id}")).await;
    (found.status == 200).then(|| found.json())
}

/// What a task came to, once it did.
async fn mark(client: &TestClient, id: &str) -> Value {
    eventually(id, async || find_mark(client, id).await).await
}

/// The same once it was written so often.
async fn mark_number(client: &TestClient, id: &str, count: u64) -> Value {
    let what = format!("{id}, {count} times");
    eventually(&what, async || find_mark(client, id).await.filter(|mark| mark["count"] == json!(count))).await
}

/// How many runs of tasks have come to this, as operators count them.
pub async fn runs(host: &TestHost, outcome: &str) -> u64 {
    let text = host.operator().get("/metrics").await.expect(200).text();
    let name = format!("tenon_task_runs_total{{outcome=\"{outcome}\"}} ");
    text.lines().find_map(|line| line.strip_prefix(&name)).map_or(0, |count| count.parse().expect("a count"))
}

async fn wait_for_runs(host: &TestHost, outcome: &str, count: u64) {
    let what = format!("{count} runs that came to {outcome}");
    eventually(&what, async || (runs(host, outcome).await >= count).then_some(())).await;
}
