//! Fairness between tenants and between plugins in queues, memory, pool slots and threads, and stopping under load.

use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::future::join_all;
use http_body_util::Full;
use hyper::body::Bytes;
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::{Value, json};
use tenon_bench::wire::{Connection, request};
use tokio::net::TcpStream;

use super::misbehaving_guests::misbehave;
use crate::support::{RawConnection, TestHost, TextGuest, component, eventually};

const GRANTS: &str = r#"grants = ["records", "events", "ids", "log"]"#;

/// Thirty calls of one tenant, each of which computes for 50 ms, wait for the only permit. Then another tenant sends a
/// request.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn request_of_a_quiet_tenant_is_not_delayed_by_the_queue_of_another() {
    let host = misbehave(&format!("{GRANTS}\nlimits = {{ compute-ms = 50, calls = 1, queue = 100 }}")).await;
    let (crowd, quiet) = (host.client("misbehave", "crowd").await, host.client("misbehave", "quiet").await);
    let ended = Arc::new(AtomicUsize::new(0));
    let calls = (0..30).map(|_| {
        let (call, ended) = (crowd.post_empty("/v1/loop"), ended.clone());
        tokio::spawn(async move {
            let _ = call.await;
            ended.fetch_add(1, Ordering::Relaxed);
        })
    });
    let calls: Vec<_> = calls.collect();
    eventually("some calls of the crowd have ended", async || (ended.load(Ordering::Relaxed) >= 3).then_some(())).await;
    let before = ended.load(Ordering::Relaxed);
    quiet.post("/v1/ok", json!({})).await.check(200);
    let overtaken_by = ended.load(Ordering::Relaxed) - before;
    assert!(overtaken_by <= 3, "{overtaken_by} calls of the crowd were served first");
    assert_eq!(join_all(calls).await.len(), 30);
    host.stop().await;
}

/// The crowd sends more requests than its half of the queue.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn queue_that_one_tenant_filled_accepts_others() {
    let host = misbehave(&format!("{GRANTS}\nlimits = {{ compute-ms = 300, calls = 1, queue = 4 }}")).await;
    let (crowd, quiet) = (host.client("misbehave", "crowd").await, host.client("misbehave", "quiet").await);
    let calls = (0..8).map(|_| tokio::spawn(crowd.post_empty("/v1/loop")));
    let calls: Vec<_> = calls.collect();
    wait_for_rejection(&host).await;
    quiet.post("/v1/ok", json!({})).await.check(200);
    let statuses: Vec<u16> = join_all(calls).await.into_iter().map(|answer| answer.unwrap().status).collect();
    assert!(statuses.iter().filter(|status| **status == 503).count() >= 4, "{statuses:?}");
    host.stop().await;
}

/// Waits for a rejected request. The crowd's share of the queue is then full.
async fn wait_for_rejection(host: &TestHost) {
    let metrics = || async { host.operator().get("/metrics").await.expect(200).text() };
    eventually("a rejected request", async || {
        metrics().await.lines().any(|line| line.contains("class=\"5xx\"") && !line.ends_with(" 0")).then_some(())
    })
    .await;
}

/// Each call needs most of its tenant's share, and would answer 507 if it got no memory.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn call_that_handles_a_refused_memory_growth_is_retried_with_enough_memory() {
    let limits = "limits = { memory-bytes = 67108864, compute-ms = 10000, deadline-ms = 30000 }";
    let host = TestHost::builder().head("memory-budget-bytes = 268435456");
    let host = host.plugin("misbehave", component("misbehave"), &format!("{GRANTS}\n{limits}")).start().await;
    let client = host.client("misbehave", "acme").await;
    let calls = join_all((0..8).map(|_| client.post("/v1/survive-refused-memory", json!({})))).await;
    let statuses: Vec<u16> = calls.iter().map(|answer| answer.status).collect();
    assert_eq!(statuses, [200; 8]);
    host.stop().await;
}

/// Starts a host with `misbehave` and a plugin "other" in the WebAssembly text format, which has one route with
/// this method.
async fn host_with_other(guest: impl FnOnce(&Value) -> TextGuest, method: &str) -> TestHost {
    let manifest = json!({
        "contract": "0.1", "name": "other", "version": "1.0.0",
        "routes": [{"operation": "act", "method": method, "path": "/other/act"}],
    });
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("other.wasm");
    fs::write(&file, guest(&manifest).build()).unwrap();
    let host = TestHost::builder().plugin("misbehave", component("misbehave"), GRANTS);
    host.plugin("other", file, "grants = []\nlimits = { compute-ms = 20000, deadline-ms = 60000 }").start().await
}

async fn metric(host: &TestHost, name: &str) -> u64 {
    let metrics = host.operator().get("/metrics").await.expect(200).text();
    let values = metrics.lines().filter_map(|line| line.strip_prefix(name)?.rsplit(' ').next()?.parse::<u64>().ok());
    values.sum()
}

/// Half of the 64 calls of a plugin, endless and with 8 memories each, would use all 256 slots of the pool.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn component_with_many_memories_leaves_slots_to_other_plugins() {
    let host = host_with_other(|manifest| TextGuest::looping(manifest).memories(8), "GET").await;
    let (crowd, quiet) = (host.client("other", "crowd").await, host.client("misbehave", "quiet").await);
    let ended = Arc::new(AtomicUsize::new(0));
    let calls = (0..32).map(|_| {
        let (crowd, ended) = (crowd.clone(), ended.clone());
        tokio::spawn(async move {
            let _ = crowd.get("/other/act").await;
            ended.fetch_add(1, Ordering::Relaxed);
        })
    });
    let calls: Vec<_> = calls.collect();
    eventually("the calls of the crowd are running", async || {
        let in_flight = metric(&host, "tenon_calls_in_flight{").await;
        (in_flight == 32 && metric(&host, "tenon_pool_instances").await >= 8).then_some(())
    })
    .await;
    quiet.post("/v1/ok", json!({})).await.check(200);
    assert_eq!(ended.load(Ordering::Relaxed), 0, "it waited for slots of the other plugin");
    assert_eq!(metric(&host, "tenon_pool_instances").await, 8, "half of the 16 instances that fit");
    calls.iter().for_each(|call| call.abort());
    host.stop().await;
}

/// A guest yields neither within an instruction nor during instantiation. Each call of the crowd writes 58 MB with one
/// instruction.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_that_fill_their_memory_with_one_instruction_do_not_block_the_runtime() {
    let host = host_with_other(|manifest| TextGuest::filling(manifest, 58 << 20), "GET").await;
    let (crowd, quiet) = (host.client("other", "crowd").await, host.client("misbehave", "quiet").await);
    let (answered, is_over) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
    let callers = (0..32).map(|_| {
        let (crowd, answered, is_over) = (crowd.clone(), answered.clone(), is_over.clone());
        tokio::spawn(async move {
            while !is_over.load(Ordering::Relaxed) {
                crowd.get("/other/act").await.check(200);
                answered.fetch_add(1, Ordering::Relaxed);
            }
        })
    });
    let callers: Vec<_> = callers.collect();
    eventually("the crowd is served", async || (answered.load(Ordering::Relaxed) >= 8).then_some(())).await;
    let (first, mut overtaken) = (answered.load(Ordering::Relaxed), Vec::new());
    while overtaken.len() < 40 || answered.load(Ordering::Relaxed) < first + 40 {
        let before = answered.load(Ordering::Relaxed);
        quiet.post("/v1/read?id=hot", json!({})).await.check(404);
        overtaken.push(answered.load(Ordering::Relaxed) - before);
    }
    is_over.store(true, Ordering::Relaxed);
    overtaken.sort_unstable();
    let percentile_90 = overtaken[overtaken.len() * 9 / 10];
    assert!(percentile_90 <= 3, "up to {percentile_90} calls of the crowd were served during nine of ten reads");
    assert_eq!(join_all(callers).await.len(), 32);
    host.stop().await;
}

/// The estimate of the route is less than half of the answer's size.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replayed_answer_is_charged_with_its_size() {
    const BYTES: usize = 4 << 20;
    let host = host_with_other(|manifest| TextGuest::answering(manifest, BYTES), "POST").await;
    let key = host.key("other", "acme").await;
    assert_eq!(host.client_of(&key).post_once("/other/act", "k", json!({})).await.expect(200).body.len(), BYTES);
    eventually("the first answer is read", async || (used(&host, "answers").await == 0).then_some(())).await;

    let stream = TcpStream::connect(host.base().trim_start_matches("http://")).await.unwrap();
    let mut builder = hyper::client::conn::http2::Builder::new(TokioExecutor::new());
    let handshake = builder.initial_stream_window_size(64 << 10).handshake(TokioIo::new(stream));
    let (mut sender, connection) = handshake.await.unwrap();
    tokio::spawn(connection);
    let request = http::Request::post(format!("{}/other/act", host.base()))
        .header("authorization", format!("Bearer {key}"))
        .header("content-type", "application/json")
        .header("idempotency-key", "k")
        .body(Full::new(Bytes::from_static(b"{}")))
        .unwrap();
    let unread = sender.send_request(request).await.unwrap();
    assert_eq!(unread.headers()["idempotency-replayed"], "true");
    let held = used(&host, "answers").await;
    assert!((BYTES as u64..BYTES as u64 + 1_000).contains(&held), "{held} bytes");
    drop((unread, sender));
    host.stop().await;
}

/// Eight unread answers of 20 MiB would hold 160 MiB. The tenant may hold its share of 96 MiB, or a single call that
/// needs more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_of_unread_answers_is_bounded_and_their_connections_are_closed() {
    let limits = "limits = { memory-bytes = 134217728, answer-bytes = 33554432, compute-ms = 10000 }";
    let head = "memory-budget-bytes = 268435456\n[http]\nanswer-stall-ms = 1000";
    let host = TestHost::builder().head(head);
    let host = host.plugin("misbehave", component("misbehave"), &format!("{GRANTS}\n{limits}")).start().await;
    let (key, quiet) = (host.key("misbehave", "crowd").await, host.client("misbehave", "quiet").await);
    let text = format!(
        "POST /v1/answer-20-mb HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {key}\r\ncontent-length: 0\r\n\r\n"
    );
    let mut unread = Vec::new();
    for _ in 0..8 {
        let mut connection = RawConnection::open(host.base()).await;
        connection.send(&text).await;
        unread.push(connection);
    }
    eventually("an answer is being sent", async || (used(&host, "answers").await >= 20 << 20).then_some(())).await;
    quiet.post("/v1/ok", json!({})).await.check(200);
    let mut most = 0;
    eventually("all memory is released", async || {
        let metrics = host.operator().get("/metrics").await.expect(200).text();
        let held = used_in(&metrics, "answers") + used_in(&metrics, "calls");
        most = most.max(held);
        (held == 0).then_some(())
    })
    .await;
    assert!(most <= 128 << 20, "{most} bytes");
    drop(unread);
    host.stop().await;
}

async fn used(host: &TestHost, kind: &str) -> u64 {
    used_in(&host.operator().get("/metrics").await.expect(200).text(), kind)
}

fn used_in(metrics: &str, kind: &str) -> u64 {
    let name = format!("tenon_memory_used_bytes{{kind=\"{kind}\"}} ");
    let value = metrics.lines().find_map(|line| line.strip_prefix(&name));
    value.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("{name} is not in {metrics}"))
}

/// Eight clients send their next request immediately, across several stops. Each request gets its response.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keep_alive_requests_are_answered_when_the_host_stops() {
    let mut host = misbehave(GRANTS).await;
    let key = host.key("misbehave", "acme").await;
    let bytes = request("POST", "/v1/ok", &key, &[], b"{}");
    for _ in 0..5 {
        let address = host.base().trim_start_matches("http://").parse().unwrap();
        let answered = Arc::new(AtomicUsize::new(0));
        let clients = (0..8).map(|_| {
            let (bytes, answered) = (bytes.clone(), answered.clone());
            tokio::spawn(async move {
                let mut connection = Connection::open(address).await.unwrap();
                while !connection.is_closing() {
                    let response = connection.exchange(&bytes).await.expect("a response to each request");
                    assert_eq!(response.status, 200);
                    answered.fetch_add(1, Ordering::Relaxed);
                }
            })
        });
        let clients: Vec<_> = clients.collect();
        eventually("load", async || (answered.load(Ordering::Relaxed) >= 100).then_some(())).await;
        host = host.restart().await;
        for client in clients {
            tokio::time::timeout(Duration::from_secs(20), client).await.expect("a client ends").unwrap();
        }
    }
    host.stop().await;
}
