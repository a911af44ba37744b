//! Guests that break: each end has its wording, nobody else notices, nothing of it is written.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use sqlx::{Connection, SqliteConnection, sqlite::SqliteConnectOptions};

use crate::support::{TestHost, component};

/// Small limits, so that breaking them takes no time.
const SECTION: &str = r#"grants = ["records", "events", "ids", "log"]
limits = { compute-ms = 300, deadline-ms = 5000, memory-bytes = 33554432 }"#;

/// Whatever the cause, the caller hears the same.
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

/// Odd, and within the rules: status and body.
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

/// Seen elsewhere: `world`, `rush`, `fairness`, and the tests of contention.
const ELSEWHERE: &[&str] = &[
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
async fn every_fault_is_answered_in_the_same_words_and_writes_nothing() {
    let host = misbehave(SECTION).await;
    let client = host.client("misbehave", "acme").await;
    for misdeed in FAULTS {
        let answer = client.post(&format!("/v1/{misdeed}"), json!({})).await;
        assert_eq!((answer.status, answer.json()["code"].clone()), (500, "plugin-failed".into()), "{misdeed}");
        assert_eq!(answer.json()["request_id"], answer.header("x-request-id").unwrap(), "{misdeed}");
        // An id may hold any digits.
        let said = answer.text().replace(answer.header("x-request-id").unwrap(), "");
        assert!(answer.body.len() < 300 && !said.contains("4711"), "{misdeed}: {said}");
        assert_eq!(answer.header("x-forged"), None, "{misdeed}");
        client.post("/v1/ok", json!({})).await.check(200);
    }
    assert_eq!(count(&host, "misbehave_things").await, 0, "records of calls that broke");
    assert_eq!(count(&host, "events").await, 0, "events of calls that broke");
    host.stop().await;
}

#[tokio::test]
async fn what_is_odd_but_allowed_goes_through_without_forging_anything() {
    let host = misbehave(SECTION).await;
    let client = host.client("misbehave", "acme").await;
    for (misdeed, status, body) in ALLOWED {
        let answer = client.post(&format!("/v1/{misdeed}"), json!({})).await;
        assert_eq!((answer.status, answer.text().as_str()), (*status, *body), "{misdeed}");
        assert_ne!(answer.header("x-request-id"), Some("forged"), "{misdeed}");
    }
    let deep = client.post("/v1/answer-deep", json!({})).await.expect(200);
    assert_eq!(deep.body.len(), 200_000);
    client.post("/v1/read?id=refused", json!({})).await.check(404);
    client.post("/v1/read?id=committed", json!({})).await.check(200);
    host.stop().await;
}

#[tokio::test]
async fn every_route_of_the_guest_is_in_one_of_the_tables() {
    let host = misbehave(SECTION).await;
    let page = host.anonymous().get("/docs").await.expect(200).text();
    let name = |rest: &str| rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').next().unwrap().to_owned();
    let routes: BTreeSet<String> = page.split("/v1/").skip(1).map(name).collect();
    let tabled = FAULTS.iter().chain(ALLOWED.iter().map(|(name, ..)| name)).chain(ELSEWHERE);
    assert_eq!(routes, tabled.map(|name| (*name).to_owned()).collect());
    assert_eq!(routes.len(), 72);
    host.stop().await;
}

#[tokio::test]
async fn faults_are_counted_by_kind_and_generation() {
    let host = misbehave(SECTION).await;
    let client = host.client("misbehave", "acme").await;
    for misdeed in ["loop", "allocate", "trap", "answer-error"] {
        client.post(&format!("/v1/{misdeed}"), json!({})).await.check(500);
    }
    let metrics = host.operator().get("/metrics").await.expect(200).text();
    for kind in ["deadline", "memory", "trap", "contract"] {
        let line = format!("tenon_faults_total{{generation=\"1\",kind=\"{kind}\",plugin=\"misbehave\"}} 1");
        assert!(metrics.contains(&line), "{line} is not in\n{metrics}");
    }
    host.stop().await;
}

#[tokio::test]
async fn limits_are_counted_as_limits() {
    let grants = r#"grants = ["records", "events", "ids", "log"]"#;
    let host =
        misbehave(&format!("{grants}\nlimits = {{ compute-ms = 8000, deadline-ms = 10000, answer-bytes = 65536 }}"))
            .await;
    let client = host.client("misbehave", "acme").await;
    let misdeeds = ["flood-calls", "flood-log", "flood-records", "answer-deep", "header-large"];
    for (number, misdeed) in misdeeds.iter().enumerate() {
        client.post(&format!("/v1/{misdeed}"), json!({})).await.check(500);
        let metrics = host.operator().get("/metrics").await.expect(200).text();
        let count = number + 1;
        let line = format!("tenon_faults_total{{generation=\"1\",kind=\"limit\",plugin=\"misbehave\"}} {count}\n");
        assert!(metrics.contains(&line), "{misdeed}: {line} is not in\n{metrics}");
    }
    host.stop().await;
}

#[tokio::test]
async fn origin_wide_headers_require_the_operators_permission() {
    let listed = format!("origin-headers = [\"set-cookie\"]\n{SECTION}");
    for (section, cookie) in [(SECTION, None), (&*listed, Some("a=b; Domain=example.com"))] {
        let host = misbehave(section).await;
        let client = host.client("misbehave", "acme").await;
        let answer = client.post("/v1/header-origin", json!({})).await.expect(200);
        assert_eq!(answer.header("set-cookie"), cookie);
        assert_eq!(answer.header("strict-transport-security"), None);
        host.stop().await;
    }
}

#[tokio::test]
async fn header_of_200_kb_is_not_sent() {
    let host = misbehave(SECTION).await;
    let client = host.client("misbehave", "acme").await;
    let answer = client.post("/v1/header-large", json!({})).await.expect(500);
    assert_eq!(answer.header("x-large"), None);
    host.stop().await;
}

/// Rows of a table, as another program reads them.
pub async fn count(host: &TestHost, table: &str) -> i64 {
    let options = SqliteConnectOptions::new().filename(host.database()).read_only(true);
    let mut connection = SqliteConnection::connect_with(&options).await.unwrap();
    let question = format!("SELECT count(*) FROM \"{table}\"");
    let count = sqlx::query_scalar(sqlx::AssertSqlSafe(question)).fetch_one(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    count
}

/// What serves of this plugin, as operators see it.
pub async fn status(host: &TestHost, plugin: &str) -> Value {
    let plugins = host.operator().get("/v1/plugins").await.expect(200).json();
    plugins.as_array().unwrap().iter().find(|status| status["name"] == plugin).cloned().unwrap_or_default()
}
