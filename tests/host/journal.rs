//! The operators' journal, the access log, guessed credentials, `config check`, and metrics.

use std::{fs, path::Path, process::Command};

use serde_json::{Value, json};
use tenon_bench::{
    guests,
    program::{PluginSection, Program, ProgramPlan},
};

use super::command_line::{run_ok, run_to_end, tenon_binary};
use crate::support::{Response, TestClient, TestHost, component};

const OPERATOR: (&str, &str) = ("x-tenon-operator", "ada");
const JSON: (&str, &str) = ("content-type", "application/json");

async fn act(host: &TestHost, method: &str, path: &str, body: Value) -> Response {
    host.operator().send(method, path, &[OPERATOR, JSON], body.to_string().into_bytes()).await
}

/// Returns action, plugin, outcome and first reason of the lines of the operator "ada", oldest first. The first reason
/// of a key action that succeeded is its target.
async fn lines(host: &TestHost) -> Vec<(String, String, String, String)> {
    let lines = host.operator().get("/v1/journal?operator=ada&limit=100").await.expect(200).json();
    let text = |line: &Value, name: &str| line[name].as_str().unwrap().to_owned();
    let line = |line: &Value| {
        let target = line["reasons"][0].as_str().unwrap_or_default().to_owned();
        (text(line, "action"), text(line, "plugin"), text(line, "outcome"), target)
    };
    lines.as_array().unwrap().iter().rev().map(line).collect()
}

#[tokio::test]
async fn key_and_secret_actions_are_journaled_without_secrets() {
    let host = TestHost::fleet().await;
    let key = json!({"plugin": "fleet", "tenant": "acme", "environment": "live", "signs": true});
    let created = act(&host, "POST", "/v1/keys", key).await.expect(201).json();
    let (id, text) = (created["id"].as_str().unwrap(), created["key"].as_str().unwrap());
    act(&host, "DELETE", &format!("/v1/keys/{id}"), Value::Null).await.check(200);
    act(&host, "DELETE", "/v1/keys/key_none", Value::Null).await.check(404);
    act(&host, "POST", "/v1/secrets/rotate", Value::Null).await.check(200);
    let found = lines(&host).await;
    let target = format!("{id} of acme/live");
    let expected = |action: &str| (action.to_owned(), "fleet".to_owned(), "done".to_owned(), target.clone());
    assert_eq!(found[0], expected("create-key"));
    assert_eq!(found[1], expected("revoke-key"));
    assert_eq!((found[2].0.as_str(), found.len()), ("rotate-secrets", 3), "{found:?}");
    let all = host.operator().get("/v1/journal").await.expect(200).text();
    assert!(!all.contains(text) && !all.contains(&text[16..]), "no key is in the journal");
    host.stop().await;
}

#[tokio::test]
async fn rejected_action_is_journaled_with_its_reason() {
    let host = TestHost::fleet().await;
    let client = json!({"plugin": "fleet", "tenant": "acme", "environment": "test"});
    act(&host, "POST", "/v1/clients", client).await.check(409);
    let found = lines(&host).await;
    assert_eq!((found.len(), found[0].0.as_str(), found[0].2.as_str()), (1, "create-client", "refused"), "{found:?}");
    assert!(found[0].3.contains("does not accept tokens"), "{found:?}");
    host.stop().await;
}

#[tokio::test]
async fn journal_command_filters_by_operator_action_and_time() {
    let host = TestHost::fleet().await;
    let key = json!({"plugin": "fleet", "tenant": "acme", "environment": "test"});
    act(&host, "POST", "/v1/keys", key).await.check(201);
    let output = run_ok(&host, &["journal", "--operator", "ada", "--action", "create-key"]).await;
    assert!(output.contains("create-key") && output.contains("of acme/test"), "{output}");
    let output = run_ok(&host, &["journal", "--operator", "bob", "--json"]).await;
    assert_eq!(output, "[]\n");
    let output = run_ok(&host, &["journal", "--action", "create-key", "--since", "2020-01-02"]).await;
    assert!(output.contains("create-key"), "{output}");
    let output = run_ok(&host, &["journal", "--action", "create-key", "--since", "9999-01-02", "--json"]).await;
    assert_eq!(output, "[]\n");
    host.stop().await;
}

#[tokio::test]
async fn guesses_of_the_admin_token_are_rate_limited() {
    let host = TestHost::fleet().await;
    let guess = TestClient::new(host.admin_base(), Some("ta_wrong"));
    // Even a slow machine sends more than one guess per second.
    let mut checked = 0;
    let limited = loop {
        let response = guess.get("/v1/plugins").await;
        if response.status == 429 {
            break response;
        }
        response.check(401);
        checked += 1;
        assert!(checked < 100, "guesses are not limited");
    };
    assert!(checked >= 20, "{checked}");
    assert_eq!(limited.text_at("/error"), "too-many-guesses");
    assert_eq!(limited.header("retry-after"), Some("1"));
    TestClient::new(host.admin_base(), None).get("/healthz").await.check(200);
    host.stop().await;
}

#[tokio::test]
async fn wrong_keys_from_one_address_get_429_while_valid_keys_are_accepted() {
    let host = TestHost::fleet().await;
    let acme = host.client("fleet", "acme").await;
    let guess = host.client_of(&format!("tk_test_{}", "x".repeat(32)));
    let mut limited = None;
    for _ in 0..3_000 {
        let response = guess.get("/v1/orders").await;
        if response.status == 429 {
            limited = Some(response);
            break;
        }
        response.check(401);
    }
    assert!(limited.expect("a rejected guess").header("retry-after").is_some());
    acme.get("/v1/orders").await.check(200);
    host.stop().await;
}

#[tokio::test]
async fn access_log_has_one_line_for_each_request_and_no_secrets() {
    let folder = tempfile::tempdir().unwrap();
    let mut section = PluginSection::new("misbehave", &component("misbehave"), &["records", "events", "ids", "log"]);
    section.extra_toml = "[log]\naccess = true\n".to_owned();
    let plan = ProgramPlan { binary: tenon_binary(), folder: folder.path().join("program"), plugins: vec![section] };
    let program = Program::start(plan).await.unwrap();
    let key = program.create_key("misbehave", "acme").unwrap();
    let mut client = program.client(&key);
    let headers = [("x-request-id", "the-request"), ("content-type", "application/json")];
    client.send("POST", "/v1/trap?secret=hunter2", &headers, b"{}").await.unwrap();
    client.send("GET", "/v1/nowhere/hunter2", &[], b"").await.unwrap();
    program.stop().await.unwrap();
    let log = fs::read_to_string(folder.path().join("program/tenon.log")).unwrap();
    let lines: Vec<Value> = log
        .lines()
        .filter(|line| line.contains("tenon::access"))
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 2, "{log}");
    let line = &lines[0];
    assert_eq!((&line["method"], &line["path"], &line["status"]), (&json!("POST"), &json!("/v1/trap"), &json!(500)));
    assert_eq!((&line["plugin"], &line["tenant"]), (&json!("misbehave"), &json!("acme/test")), "{line}");
    assert_eq!((&line["request_id"], &line["peer"]), (&json!("the-request"), &json!("127.0.0.1")), "{line}");
    assert!(line["seconds"].is_number() && line["bytes"].is_number(), "{line}");
    assert!(log.contains("operator action") && log.contains("create-key"), "{log}");
    assert!(!log.contains("hunter2") && !log.contains(&key), "{log}");
}

#[tokio::test]
async fn config_check_separates_errors_from_warnings() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("plugins.toml");
    let check = async |text: &str, flags: &[&str]| {
        fs::write(&file, text).unwrap();
        let mut command = Command::new(tenon_binary());
        command.args(["config", "check", "--json", "--config"]).arg(&file).args(flags);
        command.env("TENON_MASTER_KEY", "ab".repeat(32));
        let (code, text) = run_to_end(command).await;
        (code, serde_json::from_str::<Value>(&text).unwrap())
    };
    let (code, report) = check("[plugins.notes]\ncomponent = \"notes.wasm\"\n", &[]).await;
    assert_eq!((code, &report["passed"], report["mistakes"].as_array().unwrap().len()), (1, &json!(false), 1));
    let with_warning = "environment = \"production\"\nadmin-listen = \"0.0.0.0:9090\"\n";
    let (code, report) = check(with_warning, &[]).await;
    assert_eq!((code, &report["passed"], report["warnings"].as_array().unwrap().len()), (0, &json!(true), 1));
    let (code, report) = check(with_warning, &["--strict"]).await;
    assert_eq!((code, &report["passed"]), (1, &json!(false)));
    let (code, report) = check("memory-budget-bytes = 900_000_000_000_000\n", &["--strict"]).await;
    let text = report["warnings"][0]["text"].as_str().unwrap();
    assert!(code == 1 && text.starts_with("all limits together allow 858"), "{text}");
}

#[tokio::test]
async fn config_check_loads_the_component_of_a_plugin_without_settings() {
    let folder = tempfile::tempdir().unwrap();
    let (file, invalid) = (folder.path().join("plugins.toml"), folder.path().join("invalid.wasm"));
    fs::write(&invalid, "no component").unwrap();
    let check = async |component: &Path| {
        fs::write(&file, format!("[plugins.notes]\ncomponent = {component:?}\ngrants = [\"records\"]\n")).unwrap();
        let mut command = Command::new(tenon_binary());
        command.args(["config", "check", "--json", "--config"]).arg(&file).arg("--data-dir").arg(folder.path());
        let (code, text) = run_to_end(command).await;
        (code, serde_json::from_str::<Value>(&text).unwrap()["mistakes"].to_string())
    };
    let (code, mistakes) = check(invalid.as_path()).await;
    assert_eq!(code, 1, "{mistakes}");
    assert!(mistakes.contains("plugin notes would be refused: is not WebAssembly."), "{mistakes}");
    let (code, mistakes) = check(guests::component_path("outsider").as_path()).await;
    assert_eq!(code, 1, "{mistakes}");
    assert!(mistakes.contains("imports ledger, which plugins.toml does not grant"), "{mistakes}");
}

#[tokio::test]
async fn config_check_warns_if_the_open_files_limit_is_below_the_connections() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("plugins.toml");
    fs::write(&file, "[http]\nconnections-max = 150\n").unwrap();
    let mut command = Command::new("sh");
    command
        .args(["-c", "ulimit -n 100 && exec \"$0\" config check --json --config \"$1\""])
        .arg(tenon_binary())
        .arg(&file);
    let (code, text) = run_to_end(command).await;
    assert!(code == 0 && text.contains("`http.connections-max` is 27 instead of 150"), "{text}");
}

#[tokio::test]
async fn service_configuration_is_valid_and_config_check_includes_flags() {
    let folder = tempfile::tempdir().unwrap();
    fs::copy("../docs/systemd/plugins.toml", folder.path().join("plugins.toml")).unwrap();
    fs::copy(component("fleet"), folder.path().join("fleet.wasm")).unwrap();
    let check = async |listen: &str| {
        let mut command = Command::new(tenon_binary());
        command.args(["config", "check", "--listen", listen, "--config"]).arg(folder.path().join("plugins.toml"));
        command.arg("--data-dir").arg(folder.path().join("data")).env("TENON_MASTER_KEY", "ab".repeat(32));
        run_to_end(command).await
    };
    let (code, text) = check("127.0.0.1:8181").await;
    assert!(code == 0 && text.contains("(production)") && text.contains("127.0.0.1:8181"), "{text}");
    let (code, text) = check("nowhere").await;
    assert!(code == 1 && text.contains("nowhere"), "{text}");
}

#[tokio::test]
async fn metrics_cover_process_database_and_batches() {
    let host = TestHost::fleet().await;
    let acme = host.client("fleet", "acme").await;
    acme.post("/v1/orders", json!({"pickup": "1 Dock St", "dropoff": "2 Mill Rd"})).await.check(201);
    let text = TestClient::new(host.admin_base(), None).get("/metrics").await.expect(200).text();
    let value = |name: &str| -> f64 {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("no {name} in\n{text}")).parse().unwrap()
    };
    assert!(value("process_resident_memory_bytes") > 1e6);
    assert!(value("process_open_fds") > 3.0);
    assert!(value("process_start_time_seconds") > 0.0);
    assert!(value("tenon_database_file_bytes") > 4_095.0);
    assert!(value("tenon_database_wal_bytes") > 0.0);
    assert!(value("tenon_committer_batch_seconds_count") >= 1.0);
    assert!(value("tenon_committer_batch_changes_sum") >= 1.0);
    assert!(value("tenon_overlay_bytes") > 0.0);
    host.stop().await;
}
