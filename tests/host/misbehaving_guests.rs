//! Misbehaving guests: each fault has the same error body, affects no other request, and writes nothing.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use sqlx::{Connection, SqliteConnection, sqlite::SqliteConnectOptions};

use crate::support::{TestHost, component};

/// Small limits, so that they are exceeded quickly.
const SECTION: &str = r#"grants = ["records", "events", "ids", "log"]
limits = { compute-ms = 300, deadline-ms = 5000, memory-bytes = 33554432 }"#;

/// Routes that end with a fault. The client gets the same error body for every cause.
const FAULTS: &[&str] = &[
    "loop",
    "allocate",
    "recurse",
    "trap",
    "panic",
    "exit",
    "trap-after-write",
    "flood-calls",
    "flood-log",
    "flood-output",
    "flood-events",
    "flood-records",
    "flood-random",
    "flood-ids",
    "undeclared-event",
    "payload-not-json",
    "undeclared-collection",
    "collection-of-sql",
    "body-not-json",
    "body-two-texts",
    "body-deep",
    "indexed-value-huge",
    "indexed-value-nul",
    "id-empty",
    "id-nul",
    "id-huge",
    "undeclared-sort",
    "undeclared-condition",
    "field-of-sql",
    "answer-100-mb",
    "answer-20-mb",
    "answer-not-json",
    "answer-wait",
    "answer-error",
    "status-0",
    "status-99",
    "status-101",
    "status-65535",
    "header-split",
    "header-name",
    "header-large",
    "header-many",
    "media-type-split",
    "error-after-write",
    "empty",
];

/// Routes with unusual but permitted behavior, with their status and body.
const ALLOWED: &[(&str, u16, &str)] = &[
    ("body-huge", 200, r#"{"written":false}"#),
    ("counter-of-sql", 200, "1"),
    ("status-204-with-body", 204, ""),
    ("header-length", 200, "{}"),
    ("header-chunked", 200, "{}"),
    ("header-request-id", 200, "{}"),
    ("header-origin", 200, "{}"),
    ("header-cross-origin", 200, "{}"),
    ("many-lines", 200, "{}"),
    ("refuse-after-write", 409, r#"{"error":"no"}"#),
    ("commit-500", 500, r#"{"error":"and yet it is kept"}"#),
    ("ok", 200, r#"{"ok":true}"#),
];

/// Routes outside both lists. Other tests use most of them: `wasi`, `overload`, `fairness`, `profiles`, `contention`.
const TESTED_ELSEWHERE: &[&str] = &[
    "survive-refused-memory",
    "slow",
    "answer-deep",
    "answer-stream",
    "sleep",
    "clock",
    "environment",
    "files",
    "network",
    "random",
    "remember",
    "counter",
    "many",
    "read",
    "grab-label",
];

pub async fn misbehave(section: &str) -> TestHost {
    TestHost::builder().plugin("misbehave", component("misbehave"), section).start().await
}

#[tokio::test]
async fn every_fault_has_the_same_error_body_and_writes_nothing() {
    let host = misbehave(SECTION).await;
    let client = host.client("misbehave", "acme").await;
    for route in FAULTS {
        let response = client.post(&format!("/v1/{route}"), json!({})).await;
        assert_eq!((response.status, response.json()["code"].clone()), (500, "plugin-failed".into()), "{route}");
        assert_eq!(response.json()["request_id"], response.header("x-request-id").unwrap(), "{route}");
        // The request id may contain any digits.
        let text = response.text().replace(response.header("x-request-id").unwrap(), "");
        assert!(response.body.len() < 300 && !text.contains("4711"), "{route}: {text}");
        assert_eq!(response.header("x-forged"), None, "{route}");
        client.post("/v1/ok", json!({})).await.check(200);
    }
    assert_eq!(count_rows(&host, "misbehave_things").await, 0, "records of faulted calls");
    assert_eq!(count_rows(&host, "events").await, 0, "events of faulted calls");
    host.stop().await;
}

#[tokio::test]
async fn permitted_behavior_succeeds_and_cannot_forge_host_headers() {
    let host = misbehave(SECTION).await;
    let client = host.client("misbehave", "acme").await;
    for (route, status, body) in ALLOWED {
        let response = client.post(&format!("/v1/{route}"), json!({})).await;
        assert_eq!((response.status, response.text().as_str()), (*status, *body), "{route}");
        assert_ne!(response.header("x-request-id"), Some("forged"), "{route}");
    }
    let deep = client.post("/v1/answer-deep", json!({})).await.expect(200);
    assert_eq!(deep.body.len(), 200_000);
    client.post("/v1/read?id=refused", json!({})).await.check(404);
    client.post("/v1/read?id=committed", json!({})).await.check(200);
    host.stop().await;
}

#[tokio::test]
async fn every_route_of_the_guest_is_listed() {
    let host = misbehave(SECTION).await;
    let page = host.anonymous().get("/docs").await.expect(200).text();
    let name = |rest: &str| rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').next().unwrap().to_owned();
    let routes: BTreeSet<String> = page.split("/v1/").skip(1).map(name).collect();
    let listed = FAULTS.iter().chain(ALLOWED.iter().map(|(name, ..)| name)).chain(TESTED_ELSEWHERE);
    assert_eq!(routes, listed.map(|name| (*name).to_owned()).collect());
    assert_eq!(routes.len(), 72);
    host.stop().await;
}

#[tokio::test]
async fn faults_are_counted_by_kind_and_generation() {
    let host = misbehave(SECTION).await;
    let client = host.client("misbehave", "acme").await;
    for route in ["loop", "allocate", "trap", "answer-error"] {
        client.post(&format!("/v1/{route}"), json!({})).await.check(500);
    }
    let metrics = host.operator().get("/metrics").await.expect(200).text();
    for kind in ["deadline", "memory", "trap", "contract"] {
        let line = format!("tenon_faults_total{{generation=\"1\",kind=\"{kind}\",plugin=\"misbehave\"}} 1");
        assert!(metrics.contains(&line), "{line} is not in\n{metrics}");
    }
    host.stop().await;
}

#[tokio::test]
async fn exceeded_limits_are_counted_as_limit_faults() {
    let grants = r#"grants = ["records", "events", "ids", "log"]"#;
    let host =
        misbehave(&format!("{grants}\nlimits = {{ compute-ms = 8000, deadline-ms = 10000, answer-bytes = 65536 }}"))
            .await;
    let client = host.client("misbehave", "acme").await;
    let routes = ["flood-calls", "flood-log", "flood-records", "answer-deep", "header-large"];
    for (number, route) in routes.iter().enumerate() {
        client.post(&format!("/v1/{route}"), json!({})).await.check(500);
        let metrics = host.operator().get("/metrics").await.expect(200).text();
        let count = number + 1;
        let line = format!("tenon_faults_total{{generation=\"1\",kind=\"limit\",plugin=\"misbehave\"}} {count}\n");
        assert!(metrics.contains(&line), "{route}: {line} is not in\n{metrics}");
    }
    host.stop().await;
}

#[tokio::test]
async fn origin_wide_headers_require_the_operators_permission() {
    let listed = format!("origin-headers = [\"set-cookie\"]\n{SECTION}");
    for (section, cookie) in [(SECTION, None), (&*listed, Some("a=b; Domain=example.com"))] {
        let host = misbehave(section).await;
        let client = host.client("misbehave", "acme").await;
        let response = client.post("/v1/header-origin", json!({})).await.expect(200);
        assert_eq!(response.header("set-cookie"), cookie);
        assert_eq!(response.header("strict-transport-security"), None);
        host.stop().await;
    }
}

#[tokio::test]
async fn header_of_200_kb_is_not_sent() {
    let host = misbehave(SECTION).await;
    let client = host.client("misbehave", "acme").await;
    let response = client.post("/v1/header-large", json!({})).await.expect(500);
    assert_eq!(response.header("x-large"), None);
    host.stop().await;
}

/// Returns the number of rows of a table, read by another connection.
pub async fn count_rows(host: &TestHost, table: &str) -> i64 {
    let options = SqliteConnectOptions::new().filename(host.database()).read_only(true);
    let mut connection = SqliteConnection::connect_with(&options).await.unwrap();
    let query = format!("SELECT count(*) FROM \"{table}\"");
    let count = sqlx::query_scalar(sqlx::AssertSqlSafe(query)).fetch_one(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    count
}

/// Returns the status of a plugin for operators, or null if there is no such plugin.
pub async fn status(host: &TestHost, plugin: &str) -> Value {
    let plugins = host.operator().get("/v1/plugins").await.expect(200).json();
    plugins.as_array().unwrap().iter().find(|status| status["name"] == plugin).cloned().unwrap_or_default()
}
