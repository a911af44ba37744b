//! The audit commands on the tenants' journal: the generation that decided, and detection of changes in the database
//! file.

use std::{fs, path::Path, process::Command};

use serde_json::{Value, json};
use sqlx::{Connection, SqliteConnection};

use super::command_line::{run_err, run_ok, run_to_end, tenon_binary};
use crate::support::{TestClient, TestHost, component};

const GRANTS: &str = r#"grants = ["records", "events", "tasks", "effects", "questions", "subscriptions", "journal"]"#;

async fn start() -> (TestHost, TestClient) {
    let host = TestHost::builder().plugin("clockwork", component("clockwork"), GRANTS).start().await;
    let acme = host.client("clockwork", "acme").await;
    (host, acme)
}

async fn write(client: &TestClient, entry: Value) {
    client.post("/v1/lines/a", entry).await.check(204);
}

/// Starts a host on which acme wrote three lines and globex one.
async fn host_with_lines() -> TestHost {
    let (host, acme) = start().await;
    for number in 1..=3 {
        write(&acme, json!({ "n": number })).await;
    }
    write(&host.client("clockwork", "globex").await, json!({"n": 1})).await;
    host
}

/// Changes the database file directly, as a program with access to the data folder could.
async fn change_file(data_dir: &Path, sql: &'static str) {
    let url = format!("sqlite:{}", data_dir.join("tenon.db").display());
    let mut file = SqliteConnection::connect(&url).await.unwrap();
    assert!(sqlx::query(sql).execute(&mut file).await.unwrap().rows_affected() > 0, "{sql}");
    file.close().await.unwrap();
}

/// Runs `tenon audit …` on a data folder whose host is stopped. Returns exit code and output.
async fn run_offline(data_dir: &Path, line: &[&str]) -> (i32, String) {
    let mut command = Command::new(tenon_binary());
    command.arg("audit").args(line).env_remove("TENON_DATABASE");
    command.env("TENON_ADMIN", "127.0.0.1:1").env("TENON_DATA_DIR", data_dir);
    run_to_end(command).await
}

fn parse(output: &str) -> Value {
    serde_json::from_str(output).unwrap()
}

/// Returns tenant, number of lines and flaw of each chain of a report.
fn chains(report: &Value) -> Vec<(&str, u64, &Value)> {
    let all = report["chains"].as_array().unwrap().iter();
    all.map(|chain| (chain["tenant"].as_str().unwrap(), chain["lines"].as_u64().unwrap(), &chain["flaw"])).collect()
}

/// Returns the guest `clockwork` with version 1.1.0.
fn version_1_1_0() -> Vec<u8> {
    let mut bytes = fs::read(component("clockwork")).unwrap();
    let version = b"clockwork1.0.0";
    let at = bytes.windows(version.len()).position(|window| window == version).expect("its name and version");
    bytes[at + version.len() - 3] = b'1';
    bytes
}

async fn listed(host: &TestHost, options: &[&str]) -> Vec<Value> {
    let page = parse(&run_ok(host, &[&["audit", "list", "--json"], options].concat()).await);
    page["entries"].as_array().unwrap().clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_line_names_the_generation_that_decided_even_for_refusals() {
    let (host, acme) = start().await;
    write(&acme, json!({"n": 1})).await;
    let headers = [("content-type", "application/json"), ("x-request-id", "refused-1")];
    acme.send("POST", "/v1/lines/a?refuse", &headers, br#"{"n":2}"#.to_vec()).await.check(409);
    let wasm = [("content-type", "application/wasm")];
    host.operator().send("PUT", "/v1/plugins/clockwork/component", &wasm, version_1_1_0()).await.check(200);
    write(&acme, json!({"n": 3})).await;

    let lines = listed(&host, &["--plugin", "clockwork", "--tenant", "acme/test"]).await;
    let versions: Vec<&Value> = lines.iter().map(|line| &line["version"]).collect();
    assert_eq!(versions, ["1.1.0", "1.0.0", "1.0.0"]);
    let serving = host.operator().get("/v1/plugins").await.expect(200).json()[0]["serving"]["hash"].clone();
    assert_eq!(lines[0]["component"], serving);
    assert_eq!(lines[1]["component"], lines[2]["component"]);
    assert_ne!(lines[0]["component"], lines[1]["component"]);
    let refused = listed(&host, &["--request", "refused-1"]).await;
    assert_eq!((refused.len(), &refused[0]["entry"]), (1, &json!(r#"{"n":2}"#)));
    assert!(run_ok(&host, &["audit", "verify"]).await.contains("3 lines in 1 chains: every hash is valid"));
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn changed_line_is_detected_while_the_host_runs_and_while_it_is_stopped() {
    let host = host_with_lines().await;
    let intact = parse(&run_ok(&host, &["audit", "verify", "--json"]).await);
    assert_eq!(chains(&intact), [("acme/test", 3, &Value::Null), ("globex/test", 1, &Value::Null)]);
    change_file(&host.data_dir(), r#"UPDATE journal SET entry = '{"n":9}' WHERE tenant = 'acme/test' AND seq = 2"#)
        .await;
    let output = run_err(&host, &["audit", "verify"]).await;
    assert!(output.contains("INVALID from line 2 on: it was changed") && output.contains("tenon restore"), "{output}");
    let (dir, data_dir) = (host.dir.clone(), host.data_dir());
    host.stop().await;
    let (code, output) = run_offline(&data_dir, &["verify", "--json"]).await;
    assert_eq!((code, &parse(&output)["valid"]), (1, &json!(false)));
    assert_eq!(chains(&parse(&output))[0], ("acme/test", 1, &json!({"seq": 2, "what": "changed"})));
    assert_eq!(run_offline(&data_dir, &["verify", "--tenant", "globex/test"]).await.0, 0);
    drop(dir);
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_line_is_detected() {
    let host = host_with_lines().await;
    change_file(&host.data_dir(), "DELETE FROM journal WHERE tenant = 'acme/test' AND seq = 2").await;
    let output = run_err(&host, &["audit", "verify", "--plugin", "clockwork"]).await;
    assert!(output.contains("INVALID from line 2 on: it is missing"), "{output}");
    assert!(run_err(&host, &["audit", "verify", "--tenant", "unknown/test"]).await.contains("nothing was verified"));
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn truncated_and_rewritten_chains_are_detected_with_an_earlier_report() {
    let host = host_with_lines().await;
    let report = host.dir.path().join("report.json");
    fs::write(&report, run_ok(&host, &["audit", "verify", "--json"]).await).unwrap();
    let against = ["audit", "verify", "--json", "--against", report.to_str().unwrap()];
    write(&host.client("clockwork", "acme").await, json!({"n": 4})).await;
    let same = parse(&run_ok(&host, &against).await);
    let compared: Vec<&Value> = same["chains"].as_array().unwrap().iter().map(|chain| &chain["compared"]).collect();
    assert_eq!(compared, ["same", "same"]);

    change_file(&host.data_dir(), "DELETE FROM journal WHERE seq > 2 OR tenant = 'globex/test'").await;
    assert!(run_ok(&host, &["audit", "verify"]).await.contains("every hash is valid"));
    let flaws = parse(&run_err(&host, &against).await);
    let cut_off = |seq: u64| json!({"seq": seq, "what": "cut-off"});
    assert_eq!(chains(&flaws), [("acme/test", 2, &cut_off(3)), ("globex/test", 0, &cut_off(1))]);

    let host = host.restart().await;
    let (acme, globex) = (host.client("clockwork", "acme").await, host.client("clockwork", "globex").await);
    write(&acme, json!({"n": "another"})).await;
    write(&globex, json!({"n": "another"})).await;
    let flaws = parse(&run_err(&host, &against).await);
    let rewritten = |seq: u64| json!({"seq": seq, "what": "rewritten"});
    assert_eq!(chains(&flaws), [("acme/test", 3, &rewritten(3)), ("globex/test", 1, &rewritten(1))]);
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_deleted_by_retention_are_reported_and_are_not_a_flaw() {
    let host = host_with_lines().await;
    let report = host.dir.path().join("report.json");
    fs::write(&report, run_ok(&host, &["audit", "verify", "--json"]).await).unwrap();
    let acme = host.client("clockwork", "acme").await;
    write(&acme, json!({"n": 4})).await;
    write(&acme, json!({"n": 5})).await;
    let cut =
        "INSERT INTO journal_cuts SELECT plugin, tenant, seq, hash FROM journal WHERE tenant = 'acme/test' AND seq = 4";
    change_file(&host.data_dir(), cut).await;
    change_file(&host.data_dir(), "DELETE FROM journal WHERE tenant = 'acme/test' AND seq <= 4").await;
    let against = ["audit", "verify", "--against", report.to_str().unwrap()];
    let output = run_ok(&host, &against).await;
    assert!(output.contains("retention has deleted the lines up to 4") && output.contains("not compared"), "{output}");
    let now = &parse(&run_ok(&host, &[&against[..], &["--json"]].concat()).await)["chains"][0];
    assert_eq!([&now["first"], &now["deleted"], &now["compared"]], [&json!(5), &json!(4), &json!("deleted")]);
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_are_paginated_and_their_control_characters_are_escaped() {
    let host = host_with_lines().await;
    write(&host.client("clockwork", "globex").await, json!({"n": "\u{9b}2J"})).await;
    let all = listed(&host, &[]).await;
    let numbers: Vec<(&str, i64)> =
        all.iter().map(|line| (line["tenant"].as_str().unwrap(), line["seq"].as_i64().unwrap())).collect();
    assert_eq!(numbers, [("globex/test", 2), ("globex/test", 1), ("acme/test", 3), ("acme/test", 2), ("acme/test", 1)]);
    let first = parse(&run_ok(&host, &["audit", "list", "--json", "--limit", "3"]).await);
    let second = listed(&host, &["--after", first["next"].as_str().unwrap()]).await;
    assert_eq!(second, all[3..]);
    let output = run_ok(&host, &["audit", "list", "--limit", "1", "--tenant", "globex/test"]).await;
    assert!(output.contains(r"\u{9b}2J") && output.contains("There may be more: --after"), "{output}");
    assert_eq!(listed(&host, &["--until", "1d"]).await, Vec::<Value>::new());
    assert_eq!(listed(&host, &["--since", "1d", "--operation", "write-line"]).await.len(), 5);
    host.operator().get("/v1/audit/chains?after=elsewhere").await.check(400);
    host.stop().await;
}
