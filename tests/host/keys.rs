//! API keys of operators: creation, scopes, replacement, identical rejections, and that neither files nor logs contain
//! them.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use serde_json::{Value, json};
use tenon::clock::Clock;
use tenon_bench::program::{PluginSection, Program, ProgramPlan};

use super::command_line::tenon_binary;
use crate::support::{ReceiverResponse, Response, TestHost, TestReceiver, component};

const DAY_MS: u64 = 24 * 60 * 60 * 1_000;
const GRANTS: &str =
    r#"grants = ["records", "events", "subscriptions", "effects", "questions", "credentials", "ids", "config", "log"]"#;

async fn create(host: &TestHost, more: Value) -> Value {
    let mut body = json!({"plugin": "fleet", "tenant": "acme", "environment": "test"});
    body.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
    host.operator().post("/v1/keys", body).await.expect(201).json()
}

async fn listed(host: &TestHost, id: &Value) -> Value {
    let keys = host.operator().get("/v1/keys").await.expect(200).json();
    keys.as_array().unwrap().iter().find(|key| key["id"] == *id).cloned().unwrap()
}

/// Sends a request with this key and a fixed request id.
async fn request_with(host: &TestHost, key: &str) -> Response {
    let headers = [("authorization", &*format!("Bearer {key}")), ("x-request-id", "the-same")];
    host.anonymous().send("GET", "/v1/orders", &headers, Vec::new()).await
}

fn text(json: &Value) -> &str {
    json.as_str().unwrap()
}

#[tokio::test]
async fn all_invalid_keys_are_rejected_with_the_same_bytes() {
    let host = TestHost::builder()
        .plugin("fleet", component("fleet"), GRANTS)
        .plugin("chameleon", component("chameleon"), r#"grants = ["records", "events"]"#)
        .clock(Clock::manual(1_800_000_000_000))
        .start()
        .await;
    let valid = create(&host, json!({})).await;
    let expired = create(&host, json!({"expires_in_days": 1})).await;
    let revoked = create(&host, json!({})).await;
    let other_plugin = create(&host, json!({"plugin": "chameleon"})).await;
    for key in [&valid, &expired, &revoked] {
        request_with(&host, text(&key["key"])).await.check(200);
    }
    host.operator().delete(&format!("/v1/keys/{}", text(&revoked["id"]))).await.check(200);
    host.clock.advance(DAY_MS + 1);
    let wrong = format!("tk_test_{}", "a".repeat(43));
    let mut responses = Vec::new();
    for key in [&wrong, "nonsense", text(&expired["key"]), text(&revoked["key"]), text(&other_plugin["key"])] {
        let response = request_with(&host, key).await.expect(401);
        let headers =
            ["content-type", "www-authenticate", "cache-control"].map(|name| response.header(name).map(str::to_owned));
        responses.push((headers, response.text()));
    }
    assert!(responses.windows(2).all(|two| two[0] == two[1]), "{responses:?}");
    request_with(&host, text(&valid["key"])).await.check(200);
    host.stop().await;
}

#[tokio::test]
async fn key_without_the_scope_is_forbidden() {
    let mut manifest = tenon_bench::guests::chameleon_manifest();
    manifest["routes"][0]["scopes"] = json!(["version.read"]);
    let host = TestHost::builder().plugin("chameleon", component("chameleon"), r#"grants = ["records", "events"]"#);
    let host = host.start().await;
    let bytes = tenon_bench::guests::chameleon(&manifest.to_string()).unwrap();
    let path = "/v1/plugins/chameleon/component?allow-breaking=true";
    host.operator().send("PUT", path, &[], bytes).await.check(200);
    for (scopes, status) in [(json!(["other"]), 403), (json!(["other", "version.read"]), 200), (json!([]), 200)] {
        let key = json!({"plugin": "chameleon", "scopes": scopes, "allow_unknown_scopes": true});
        let key = create(&host, key).await;
        let response = host.client_of(text(&key["key"])).get("/v1/version").await.expect(status);
        assert!(status == 200 || response.text_at("/code") == "forbidden");
    }
    host.stop().await;
}

#[tokio::test]
async fn unknown_scope_is_rejected_unless_it_is_allowed() {
    let mut manifest = tenon_bench::guests::chameleon_manifest();
    manifest["routes"][0]["scopes"] = json!(["version.read"]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("scoped.wasm");
    fs::write(&file, tenon_bench::guests::chameleon(&manifest.to_string()).unwrap()).unwrap();
    let host = TestHost::builder().plugin("chameleon", file, r#"grants = ["records", "events"]"#).start().await;
    let operator = host.operator();
    for plugin in ["chameleon", "*"] {
        let key = |scope: &str| json!({"plugin": plugin, "tenant": "acme", "environment": "test", "scopes": [scope]});
        let rejected = operator.post("/v1/keys", key("version.raed")).await.expect(400);
        assert!(rejected.text_at("/message").contains("version.raed"), "{}", rejected.text());
        assert!(rejected.text_at("/hint").starts_with("Known scopes: version.read."), "{}", rejected.text());
        operator.post("/v1/keys", key("version.read")).await.check(201);
    }
    create(&host, json!({"plugin": "chameleon", "scopes": ["later"], "allow_unknown_scopes": true})).await;
    let many: Vec<String> = (0..65).map(|number| format!("scope.{number}")).collect();
    let many = json!({"plugin": "chameleon", "tenant": "acme", "environment": "test", "scopes": many,
                      "allow_unknown_scopes": true});
    assert!(operator.post("/v1/keys", many).await.expect(400).text_at("/message").contains("at most 64"));
    host.stop().await;
}

#[tokio::test]
async fn key_and_its_replacement_are_both_valid_until_one_is_revoked() {
    let host = TestHost::fleet().await;
    let old = create(&host, json!({})).await;
    let new = create(&host, json!({"owner": old["id"]})).await;
    let third = json!({"plugin": "fleet", "tenant": "acme", "environment": "test", "owner": old["id"]});
    assert_eq!(host.operator().post("/v1/keys", third).await.expect(400).text_at("/error"), "invalid");
    for key in [&old, &new] {
        request_with(&host, text(&key["key"])).await.check(200);
    }
    host.operator().delete(&format!("/v1/keys/{}", text(&old["id"]))).await.check(200);
    request_with(&host, text(&old["key"])).await.check(401);
    request_with(&host, text(&new["key"])).await.check(200);
    assert_eq!(listed(&host, &old["id"]).await["owner"], listed(&host, &new["id"]).await["owner"]);
    host.stop().await;
}

#[tokio::test]
async fn idempotency_record_is_shared_by_a_key_and_its_replacement() {
    let host = TestHost::fleet().await;
    let old = create(&host, json!({})).await;
    let new = create(&host, json!({"owner": old["id"]})).await;
    let order = json!({"pickup": "1 Dock St", "dropoff": "2 Mill Rd"});
    let first = host.client_of(text(&old["key"])).post_once("/v1/orders", "once", order.clone()).await.expect(201);
    let again = host.client_of(text(&new["key"])).post_once("/v1/orders", "once", order).await.expect(201);
    assert_eq!((again.text(), again.header("idempotency-replayed")), (first.text(), Some("true")));
    host.stop().await;
}

#[tokio::test]
async fn last_use_of_a_key_is_listed() {
    let clock = Clock::manual(1_800_000_000_000);
    let host = TestHost::builder().plugin("fleet", component("fleet"), GRANTS).clock(clock).start().await;
    let key = create(&host, json!({})).await;
    assert_eq!(listed(&host, &key["id"]).await["last_used_at"], Value::Null);
    host.clock.advance(DAY_MS);
    request_with(&host, text(&key["key"])).await.check(200);
    assert_eq!(listed(&host, &key["id"]).await["last_used_at"], "2027-01-16T08:00:00.000Z");
    host.stop().await;
}

#[tokio::test]
async fn no_file_contains_a_key_except_demo_key() {
    let host = TestHost::fleet().await;
    let created = create(&host, json!({})).await;
    let key = text(&created["key"]).to_owned();
    request_with(&host, &key).await.check(200);
    host.client_of(&key).post_once("/v1/orders", "once", json!({"pickup": "a", "dropoff": "b"})).await.check(201);
    assert!(!host.operator().get("/v1/keys").await.expect(200).text().contains(&key));
    let demo = fs::read_to_string(host.data_dir().join("demo.key")).unwrap();
    let dir = host.dir.clone();
    host.stop().await;
    assert_eq!(files_containing(dir.path(), &key), Vec::<String>::new());
    assert_eq!(files_containing(dir.path(), demo.trim()), ["demo.key"]);
}

#[tokio::test]
async fn log_contains_no_credentials_and_no_request_data_at_any_level() {
    let folder = tempfile::tempdir().unwrap();
    let binary = folder.path().join("tenon-with-trace-log");
    // The compiler has no secrets, and its log would take minutes.
    let levels = "trace,cranelift_codegen=off,wasmtime=off,wasmtime_internal_cranelift=off,regalloc2=off,log=off";
    let script = format!("#!/bin/sh\nTENON_LOG={levels} exec '{}' \"$@\"\n", tenon_binary().display());
    fs::write(&binary, script).unwrap();
    fs::set_permissions(&binary, fs::Permissions::from_mode(0o700)).unwrap();
    let grants = ["records", "events", "subscriptions", "effects", "questions", "credentials", "ids", "config", "log"];
    let mut plugins = vec![PluginSection::new("fleet", &component("fleet"), &grants)];
    let grants = ["records", "events", "tasks", "effects", "questions", "subscriptions", "journal"];
    plugins.push(PluginSection::new("clockwork", &component("clockwork"), &grants));
    let program_folder = folder.path().join("program");
    let plan = ProgramPlan { binary, folder: program_folder.clone(), plugins };
    let program = Program::start(plan).await.unwrap();
    let key = program.create_key("fleet", "acme").unwrap();
    let unknown = format!("tk_test_{}", "b".repeat(key.len() - 8));
    for key in [&key, &unknown] {
        program.client(key).send("GET", "/v1/orders", &[], b"").await.unwrap();
        program.client("").send("GET", &format!("/v1/orders?api_key={key}"), &[], b"").await.unwrap();
    }
    let private = send_private_data(&program, &key).await;
    let signing_key = sign_webhook(&program).await;
    let token = fs::read_to_string(program.data_dir().join("admin.token")).unwrap();
    program.stop().await.unwrap();
    let log = fs::read_to_string(program_folder.join("tenon.log")).unwrap();
    assert!(log.contains("TRACE") && log.contains("/v1/orders"), "the log is complete");
    for secret in [key.as_str(), &unknown, &signing_key, token.trim()].into_iter().chain(private) {
        let lines: Vec<&str> = log.lines().filter(|line| line.contains(secret)).collect();
        assert!(lines.is_empty(), "{lines:#?}");
    }
}

/// Sends private data in accepted and rejected bodies, a path, a query, a header and a journal line. Returns the data.
async fn send_private_data(program: &Program, key: &str) -> [&'static str; 5] {
    let [name, account, id, query, header] =
        ["Ada Byron-Lovelace", "4929-1234-5678", "5555-4444-3333", "who-is-it", "Header-Of-Ada"];
    let headers = [("content-type", "application/json"), ("x-private", header)];
    let body = json!({"pickup": name, "dropoff": account}).to_string();
    let (mut client, path) = (program.client(key), format!("/v1/orders?search={query}"));
    assert_eq!(client.send("POST", "/v1/orders", &headers, body.as_bytes()).await.unwrap().status, 201);
    client.send("POST", "/v1/orders", &headers, &body.as_bytes()[..30]).await.unwrap();
    client.send("GET", &path, &headers, b"").await.unwrap();
    client.send("GET", &format!("/v1/orders/{id}"), &headers, b"").await.unwrap();
    let mut client = program.client(&program.create_key("clockwork", "acme").unwrap());
    assert_eq!(client.send("POST", "/v1/lines/a", &headers, body.as_bytes()).await.unwrap().status, 204);
    assert_eq!(client.send("POST", "/v1/lines/a?refuse", &headers, body.as_bytes()).await.unwrap().status, 409);
    [name, account, id, query, header]
}

/// Sends a webhook that a new key signs. Returns the key.
async fn sign_webhook(program: &Program) -> String {
    let flags = ["--plugin", "clockwork", "--tenant", "acme", "--environment", "test", "--signs", "--json"];
    let created = program.command(&[&["key", "create"][..], &flags[..]].concat()).unwrap();
    let key = text(&serde_json::from_str::<Value>(&created).unwrap()["key"]).to_owned();
    let receiver = TestReceiver::start(ReceiverResponse::Status(200)).await;
    let hook = json!({"url": receiver.url(), "signatures": [["x-signature", "hmac-sha512", "api-key"]]}).to_string();
    let (mut client, headers) = (program.client(&key), [("content-type", "application/json")]);
    for (path, body) in [("/v1/hooks/hook", &*hook), ("/v1/hooks/hook/test", "{}")] {
        assert_eq!(client.send("POST", path, &headers, body.as_bytes()).await.unwrap().status, 200);
    }
    assert_eq!(receiver.wait_for(1).await[0].header("x-signature").len(), 128);
    key
}

/// Returns the names of all files below the folder that contain the text.
///
/// Ignores files that disappear meanwhile: a running host creates temporary files.
pub fn files_containing(folder: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files_containing(&path, text));
            continue;
        }
        let bytes = match fs::read(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            bytes => bytes.unwrap(),
        };
        if bytes.windows(text.len()).any(|window| window == text.as_bytes()) {
            found.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    found
}
