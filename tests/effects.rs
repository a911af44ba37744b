//! Outgoing calls over HTTP: after the commit (effects) and before deciding (questions), to a real server.

mod crossing;
mod hops;
mod outcomes;
mod questions;

use serde_json::{Value, json};
use tenon::clock::Clock;

use crate::support::{Arrived, Reply, TestClient, TestHost, TestHostBuilder, TestReceiver, component, eventually};

/// 2026-05-07T08:30:00Z
const START_MS: u64 = 1_778_142_600_000;

/// The guest that calls, with the destination "bank" at this address. `lines`: what else its section says.
fn calling(bank: &str, lines: &str) -> TestHostBuilder {
    let grants = r#"grants = ["records", "events", "tasks", "effects", "questions", "subscriptions", "journal"]"#;
    let bank = format!("[plugins.clockwork.destinations.bank]\nbase-url = \"{bank}/api\"\nkind = \"none\"\n");
    TestHost::builder().plugin("clockwork", component("clockwork"), &format!("{grants}\n{lines}\n{bank}"))
}

/// On a clock that the test moves, with a bank that answers so.
async fn still_host(reply: Reply) -> (TestHost, TestClient, TestReceiver) {
    let bank = TestReceiver::start(reply).await;
    let host = calling(bank.base(), "").clock(Clock::manual(START_MS)).start().await;
    let client = host.client("clockwork", "acme").await;
    (host, client, bank)
}

/// Whether it was started.
async fn start_call(client: &TestClient, id: &str, wanted: Value) -> bool {
    client.post(&format!("/v1/calls/{id}"), wanted).await.expect(200).text() == "true"
}

/// What the plugin was told of it, once it was.
async fn told(client: &TestClient, id: &str) -> Value {
    let path = format!("/v1/marks/{id}");
    eventually(id, async || {
        let found = client.get(&path).await;
        (found.status == 200).then(|| found.json()["what"].clone())
    })
    .await
}

/// An address where nobody listens.
async fn nowhere() -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    format!("http://{}", listener.local_addr().expect("an address"))
}

fn keys(arrived: &[Arrived]) -> Vec<&str> {
    arrived.iter().map(|arrived| arrived.header("idempotency-key")).collect()
}
