//! API keys: made by operators, refused in one and the same way, shown once, found nowhere afterwards.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use serde_json::{Value, json};
use tenon::clock::Clock;
use tenon_bench::program::{PluginSection, Program, ProgramPlan};

use super::starting::tenon;
use crate::support::{Reply, Response, TestHost, TestReceiver, component};

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

async fn knock(host: &TestHost, key: &str) -> Response {
    let headers = [("authorization", &*format!("Bearer {key}")), ("x-request-id", "the-same")];
    host.anonymous().send("GET", "/v1/orders", &headers, Vec::new()).await
}

fn text(json: &Value) -> &str {
    json.as_str().unwrap()
}

#[tokio::test]
async fn keys_that_open_nothing_are_refused_in_the_same_bytes() {
    let host = TestHost::builder()
        .plugin("fleet", component("fleet"), GRANTS)
        .plugin("chameleon", component("chameleon"), r#"grants = ["records", "events"]"#)
        .clock(Clock::manual(1_800_000_000_000))
        .start()
        .await;
    let good = create(&host, json!({})).await;
    let expired = create(&host, json!({"expires_in_days": 1})).await;
    let revoked = create(&host, json!({})).await;
    let foreign = create(&host, json!({"plugin": "chameleon"})).await;
    for key in [&good, &expired, &revoked] {
        knock(&host, text(&key["key"])).await.check(200);
    }
    host.operator().delete(&format!("/v1/keys/{}", text(&revoked["id"]))).await.check(200);
    host.clock.advance(DAY_MS + 1);
    let wrong = format!("tk_test_{}", "a".repeat(43));
    let mut answers = Vec::new();
    for key in [&wrong, "nonsense", text(&expired["key"]), text(&revoked["key"]), text(&foreign["key"])] {
        let answer = knock(&host, key).await.expect(401);
        let headers =
            ["content-type", "www-authenticate", "cache-control"].map(|name| answer.header(name).map(str::to_owned));
        answers.push((headers, answer.text()));
    }
    assert!(answers.windows(2).all(|two| two[0] == two[1]), "{answers:?}");
    knock(&host, text(&good["key"])).await.check(200);
    host.stop().await;
}

#[tokio::test]
async fn a_key_without_the_scope_is_forbidden() {
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
        let answer = host.client_of(text(&key["key"])).get("/v1/version").await.expect(status);
        assert!(status == 200 || answer.text_at("/code") == "forbidden");
    }
    host.stop().await;
}

#[tokio::test]
async fn a_scope_that_no_route_asks_for_is_refused_unless_it_is_meant() {
    let mut manifest = tenon_bench::guests::chameleon_manifest();
    manifest["routes"][0]["scopes"] = json!(["version.read"]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("scoped.wasm");
    fs::write(&file, tenon_bench::guests::chameleon(&manifest.to_string()).unwrap()).unwrap();
    let host = TestHost::builder().plugin("chameleon", file, r#"grants = ["records", "events"]"#).start().await;
    let operator = host.operator();
    for plugin in ["chameleon", "*"] {
        let key = |scope: &str| json!({"plugin": plugin, "tenant": "acme", "environment": "test", "scopes": [scope]});
        let refused = operator.post("/v1/keys", key("version.raed")).await.expect(400);
        assert!(refused.text_at("/message").contains("version.raed"), "{}", refused.text());
        assert!(refused.text_at("/hint").starts_with("There are: version.read."), "{}", refused.text());
        operator.post("/v1/keys", key("version.read")).await.check(201);
    }
    create(&host, json!({"plugin": "chameleon", "scopes": ["later"], "allow_unknown_scopes": true})).await;
    let many: Vec<String> = (0..65).map(|number| format!("scope.{number}")).collect();
    let many = json!({"plugin": "chameleon", "tenant": "acme", "environment": "test", "scopes": many,
                      "allow_unknown_scopes": true});
    assert!(operator.post("/v1/keys", many).await.expect(400).text_at("/message").contains("64 at most"));
    host.stop().await;
}

#[tokio::test]
async fn two_keys_of_one_owner_live_while_one_replaces_the_other() {
    let host = TestHost::fleet().await;
    let old = create(&host, json!({})).await;
    let new = create(&host, json!({"owner": old["id"]})).await;
    let third = json!({"plugin": "fleet", "tenant": "acme", "environment": "test", "owner": old["id"]});
    assert_eq!(host.operator().post("/v1/keys", third).await.expect(400).text_at("/error"), "invalid");
    for key in [&old, &new] {
        knock(&host, text(&key["key"])).await.check(200);
    }
    host.operator().delete(&format!("/v1/keys/{}", text(&old["id"]))).await.check(200);
    knock(&host, text(&old["key"])).await.check(401);
    knock(&host, text(&new["key"])).await.check(200);
    assert_eq!(listed(&host, &old["id"]).await["owner"], listed(&host, &new["id"]).await["owner"]);
    host.stop().await;
}

#[tokio::test]
async fn an_idempotency_key_goes_on_from_a_key_to_the_one_that_replaces_it() {
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
async fn the_last_use_of_a_key_is_shown() {
    let clock = Clock::manual(1_800_000_000_000);
    let host = TestHost::builder().plugin("fleet", component("fleet"), GRANTS).clock(clock).start().await;
    let key = create(&host, json!({})).await;
    assert_eq!(listed(&host, &key["id"]).await["last_used_at"], Value::Null);
    host.clock.advance(DAY_MS);
    knock(&host, text(&key["key"])).await.check(200);
    assert_eq!(listed(&host, &key["id"]).await["last_used_at"], "2027-01-16T08:00:00.000Z");
    host.stop().await;
}

#[tokio::test]
async fn no_file_holds_the_text_of_a_key_but_demo_key() {
    let host = TestHost::fleet().await;
    let created = create(&host, json!({})).await;
    let key = text(&created["key"]).to_owned();
    knock(&host, &key).await.check(200);
    host.client_of(&key).post_once("/v1/orders", "once", json!({"pickup": "a", "dropoff": "b"})).await.check(201);
    assert!(!host.operator().get("/v1/keys").await.expect(200).text().contains(&key));
    let demo = fs::read_to_string(host.data_dir().join("demo.key")).unwrap();
    let dir = host.dir.clone();
    host.stop().await;
    assert_eq!(files_with(dir.path(), &key), Vec::<String>::new());
    assert_eq!(files_with(dir.path(), demo.trim()), ["demo.key"]);
}

#[tokio::test]
async fn no_line_of_the_log_holds_a_key_the_token_or_what_was_sent_at_any_level() {
    let folder = tempfile::tempdir().unwrap();
    let talkative = folder.path().join("talkative");
    // All but the compiler, which knows no secrets and would talk for minutes.
    let levels = "trace,cranelift_codegen=off,wasmtime=off,wasmtime_internal_cranelift=off,regalloc2=off,log=off";
    let script = format!("#!/bin/sh\nTENON_LOG={levels} exec '{}' \"$@\"\n", tenon().display());
    fs::write(&talkative, script).unwrap();
    fs::set_permissions(&talkative, fs::Permissions::from_mode(0o700)).unwrap();
    let grants = ["records", "events", "subscriptions", "effects", "questions", "credentials", "ids", "config", "log"];
    let mut plugins = vec![PluginSection::new("fleet", &component("fleet"), &grants)];
    let grants = ["records", "events", "tasks", "effects", "questions", "subscriptions", "journal"];
    plugins.push(PluginSection::new("clockwork", &component("clockwork"), &grants));
    let folder_of_program = folder.path().join("program");
    let plan = ProgramPlan { binary: talkative, folder: folder_of_program.clone(), plugins };
    let program = Program::start(plan).await.unwrap();
    let key = program.create_key("fleet", "acme").unwrap();
    let unknown = format!("tk_test_{}", "b".repeat(key.len() - 8));
    for key in [&key, &unknown] {
        program.client(key).send("GET", "/v1/orders", &[], b"").await.unwrap();
        program.client("").send("GET", &format!("/v1/orders?api_key={key}"), &[], b"").await.unwrap();
    }
    let sent = send_private_things(&program, &key).await;
    let signing = sign_a_webhook(&program).await;
    let token = fs::read_to_string(program.data_dir().join("admin.token")).unwrap();
    program.stop().await.unwrap();
    let log = fs::read_to_string(folder_of_program.join("tenon.log")).unwrap();
    assert!(log.contains("TRACE") && log.contains("/v1/orders"), "the log says everything");
    for secret in [key.as_str(), &unknown, &signing, token.trim()].into_iter().chain(sent) {
        let lines: Vec<&str> = log.lines().filter(|line| line.contains(secret)).collect();
        assert!(lines.is_empty(), "{lines:#?}");
    }
}

/// In bodies that are taken and refused, a path, a query, a header and a line of the journal.
async fn send_private_things(program: &Program, key: &str) -> [&'static str; 5] {
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

/// With a new key, which is given back.
async fn sign_a_webhook(program: &Program) -> String {
    let flags = ["--plugin", "clockwork", "--tenant", "acme", "--environment", "test", "--signs", "--json"];
    let created = program.command(&[&["key", "create"][..], &flags[..]].concat()).unwrap();
    let key = text(&serde_json::from_str::<Value>(&created).unwrap()["key"]).to_owned();
    let receiver = TestReceiver::start(Reply::Status(200)).await;
    let hook = json!({"url": receiver.url(), "signatures": [["x-signature", "hmac-sha512", "api-key"]]}).to_string();
    let (mut client, headers) = (program.client(&key), [("content-type", "application/json")]);
    for (path, body) in [("/v1/hooks/hook", &*hook), ("/v1/hooks/hook/test", "{}")] {
        assert_eq!(client.send("POST", path, &headers, body.as_bytes()).await.unwrap().status, 200);
    }
    assert_eq!(receiver.wait_for(1).await[0].header("x-signature").len(), 128);
    key
}

/// Names of all files below this folder that hold the text. One that is gone by the time it is read was a running host's for a
/// moment.
pub fn files_with(folder: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files_with(&path, text));
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
