//! Outgoing calls over HTTP to a real server: effects after the commit, and queries before the decision.

mod hops;
mod outcomes;
mod queries;
mod restart;

use serde_json::{Value, json};
use tenon::clock::Clock;

use crate::support::{
    ReceivedRequest, ReceiverResponse, TestClient, TestHost, TestHostBuilder, TestReceiver, component, eventually,
};

/// 2026-05-07T08:30:00Z
const START_MS: u64 = 1_778_142_600_000;

/// Returns the builder of a host with the guest that makes outgoing calls and the destination "bank" at this address.
/// `lines` are added to the section of the guest.
fn host_with_bank(bank: &str, lines: &str) -> TestHostBuilder {
    let grants = r#"grants = ["records", "events", "tasks", "effects", "questions", "subscriptions", "journal"]"#;
    let bank = format!("[plugins.clockwork.destinations.bank]\nbase-url = \"{bank}/api\"\nkind = \"none\"\n");
    TestHost::builder().plugin("clockwork", component("clockwork"), &format!("{grants}\n{lines}\n{bank}"))
}

/// Starts a host with a manual clock and a bank that sends this response.
async fn host_with_manual_clock(response: ReceiverResponse) -> (TestHost, TestClient, TestReceiver) {
    let bank = TestReceiver::start(response).await;
    let host = host_with_bank(bank.base(), "").clock(Clock::manual(START_MS)).start().await;
    let client = host.client("clockwork", "acme").await;
    (host, client, bank)
}

/// Starts an outgoing call. Returns whether it was accepted.
async fn start_call(client: &TestClient, id: &str, call: Value) -> bool {
    client.post(&format!("/v1/calls/{id}"), call).await.expect(200).text() == "true"
}

/// Waits until the plugin has received the outcome of a call and returns it.
async fn outcome(client: &TestClient, id: &str) -> Value {
    let path = format!("/v1/marks/{id}");
    eventually(id, async || {
        let found = client.get(&path).await;
        (found.status == 200).then(|| found.json()["what"].clone())
    })
    .await
}

/// Returns an address without a listener.
async fn unreachable_address() -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    format!("http://{}", listener.local_addr().expect("an address"))
}

fn keys(received: &[ReceivedRequest]) -> Vec<&str> {
    received.iter().map(|received| received.header("idempotency-key")).collect()
}
