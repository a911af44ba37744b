//! Keys and tokens that a plugin issues: their tenant, scopes and expiry, revocation, and that no file contains them.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use hmac::{Hmac, Mac};
use serde_json::{Value, json};
use sha2::Sha512;
use tenon::{clock::Clock, db::apply::Failpoint};
use tenon_bench::program::{PluginSection, Program, ProgramPlan};

use super::command_line::tenon_binary;
use super::keys::files_containing;
use crate::support::{ReceiverResponse, Response, TestClient, TestHost, TestReceiver, component};

const GRANTS: [&str; 4] = ["records", "events", "subscriptions", "credentials"];
const NOW: u64 = 1_800_000_000_000;
/// Number of concurrent attempts: more than the permits for calls of one plugin.
const ATTEMPTS: usize = 100;

async fn start() -> TestHost {
    start_at(NOW).await
}

async fn start_at(now: u64) -> TestHost {
    let grants = format!("grants = {GRANTS:?}");
    TestHost::builder().plugin("porter", component("porter"), &grants).clock(Clock::manual(now)).start().await
}

/// Returns the request for a key of this room with additional members.
fn grant_request(room: &str, more: Value) -> Value {
    let mut request = json!({"attributes": [["room", room], ["floor", "1"]], "label": "for tests"});
    request.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
    request
}

/// Issues a credential. Returns the secret and the id.
async fn issue(client: &TestClient, request: Value) -> (String, String) {
    let issued = client.post("/v1/grants", request).await.expect(201);
    (issued.text_at("/secret"), issued.text_at("/id"))
}

async fn find(client: &TestClient, room: &str) -> Vec<Value> {
    client.get(&format!("/v1/grants?name=room&value={room}")).await.expect(200).json().as_array().unwrap().clone()
}

async fn me(host: &TestHost, secret: &str) -> Response {
    host.client_of(secret).get("/v1/me").await
}

#[tokio::test]
async fn issued_key_is_valid_at_once_and_carries_its_attributes() {
    let host = start().await;
    let operator = host.client("porter", "acme").await;
    let first = operator.post("/v1/grants", grant_request("7", json!({"scopes": ["rooms.read"]}))).await.expect(201);
    assert_eq!(first.json()["found"], 1, "the call that issued it finds it");
    let (key, id) = (first.text_at("/secret"), first.text_at("/id"));
    assert!(key.starts_with("tk_test_"), "{key}");
    let seen = me(&host, &key).await.expect(200).json();
    assert_eq!(
        (&seen["kind"], &seen["subject"], &seen["tenant"]),
        (&json!("api-key"), &json!(id), &json!("acme/test"))
    );
    assert_eq!(
        (&seen["attributes"], &seen["scopes"]),
        (&json!([["room", "7"], ["floor", "1"]]), &json!(["rooms.read"]))
    );
    let found = find(&operator, "7").await;
    assert_eq!(found.len(), 1);
    assert_eq!(
        (&found[0]["id"], &found[0]["kind"], &found[0]["label"]),
        (&json!(id), &json!("api-key"), &json!("for tests"))
    );
    let operators = me(&host, &host.key("porter", "acme").await).await.expect(200).json();
    assert_eq!(operators["attributes"], json!([]), "keys of operators have no attributes");
    host.stop().await;
}

#[tokio::test]
async fn operators_list_and_revoke_credentials_of_plugins() {
    let host = start().await;
    let operator = host.client("porter", "acme").await;
    let (key, id) = issue(&operator, grant_request("7", json!({"signs": true}))).await;
    let (token, _) = issue(&operator, grant_request("7", json!({"token": true, "expires_in": 60_000}))).await;
    let listed = host.operator().get("/v1/keys").await.expect(200);
    assert!(!listed.text().contains(&key) && !listed.text().contains(&token));
    let listed = listed.json();
    let one = listed.as_array().unwrap().iter().find(|one| one["id"] == *id).unwrap();
    assert_eq!(
        (&one["plugin"], &one["label"], &one["kind"]),
        (&json!("porter"), &json!("for tests"), &json!("api-key"))
    );
    assert_eq!((&one["signs"], &one["attributes"]), (&json!(true), &json!([["room", "7"], ["floor", "1"]])));
    me(&host, &key).await.check(200);
    host.operator().delete(&format!("/v1/keys/{id}")).await.check(200);
    me(&host, &key).await.check(401);
    assert_eq!(find(&operator, "7").await.len(), 1, "the token remains");
    let replaced = json!({"plugin": "porter", "tenant": "acme", "environment": "test", "owner": id});
    let refused = host.operator().post("/v1/keys", replaced).await;
    assert!(refused.status >= 400, "only the plugin may replace it: {}", refused.text());
    host.stop().await;
}

#[tokio::test]
async fn credential_of_an_uncommitted_call_is_invalid() {
    let host = start().await;
    let operator = host.client("porter", "acme").await;
    let refused = operator.post("/v1/grants", grant_request("7", json!({"then": "refuse"}))).await.expect(409);
    let secret = refused.text_at("/message");
    assert!(secret.starts_with("tk_test_"), "{secret}");
    me(&host, &secret).await.check(401);
    operator.post("/v1/grants", grant_request("7", json!({"then": "fail"}))).await.check(500);
    host.fail_next_batch(Failpoint::DuringCommitLost);
    operator.post("/v1/grants", grant_request("7", json!({}))).await.check(503);
    assert_eq!(find(&operator, "7").await, [] as [Value; 0]);
    host.stop().await;
}

#[tokio::test]
async fn credential_is_valid_if_its_commit_was_confirmed_later() {
    let host = start().await;
    let operator = host.client("porter", "acme").await;
    host.fail_next_batch(Failpoint::DuringCommitKept);
    let (key, _) = issue(&operator, grant_request("7", json!({}))).await;
    me(&host, &key).await.check(200);
    host.fail_next_batch(Failpoint::DuringCommitKept);
    assert_eq!(operator.delete("/v1/grants?name=room&value=7").await.expect(200).text(), "1");
    me(&host, &key).await.check(401);
    host.stop().await;
}

#[tokio::test]
async fn revoked_credential_is_rejected_at_once_although_it_was_cached() {
    let host = start().await;
    let operator = host.client("porter", "acme").await;
    let (one, id) = issue(&operator, grant_request("7", json!({}))).await;
    let (two, _) = issue(&operator, grant_request("7", json!({"token": true}))).await;
    let (other, _) = issue(&operator, grant_request("8", json!({}))).await;
    for secret in [&one, &two, &other] {
        me(&host, secret).await.check(200);
    }
    assert_eq!(operator.delete(&format!("/v1/grants/{id}")).await.expect(200).text(), "true");
    me(&host, &one).await.check(401);
    assert_eq!(operator.delete(&format!("/v1/grants/{id}")).await.expect(200).text(), "false");
    assert_eq!(operator.delete("/v1/grants?name=room&value=7").await.expect(200).text(), "1");
    me(&host, &two).await.check(401);
    me(&host, &other).await.check(200);
    host.stop().await;
}

#[tokio::test]
async fn credential_is_valid_until_the_millisecond_of_its_expiry() {
    let host = start().await;
    let operator = host.client("porter", "acme").await;
    let (token, _) = issue(&operator, grant_request("7", json!({"token": true, "expires_in": 1_000}))).await;
    host.clock.advance(999);
    me(&host, &token).await.check(200);
    host.clock.advance(1);
    me(&host, &token).await.check(401);
    assert_eq!(find(&operator, "7").await.len(), 0);
    host.stop().await;
}

#[tokio::test]
async fn token_is_limited_to_its_scopes() {
    let host = start().await;
    let operator = host.client("porter", "acme").await;
    for (more, status) in
        [(json!({"token": true}), 403), (json!({"token": true, "scopes": ["rooms.read"]}), 200), (json!({}), 200)]
    {
        let (secret, _) = issue(&operator, grant_request("7", more)).await;
        host.client_of(&secret).get("/v1/rooms").await.check(status);
    }
    host.stop().await;
}

#[tokio::test]
async fn credential_is_invisible_and_invalid_for_other_tenants_and_plugins() {
    let grants = format!("grants = {GRANTS:?}");
    let host = TestHost::builder()
        .plugin("porter", component("porter"), &grants)
        .plugin("chameleon", component("chameleon"), r#"grants = ["records", "events"]"#)
        .start()
        .await;
    let acme = host.client("porter", "acme").await;
    let (key, id) = issue(&acme, grant_request("7", json!({}))).await;
    let live = json!({"plugin": "porter", "tenant": "acme", "environment": "live"});
    let live = host.client_of(host.create_key(live).await["key"].as_str().unwrap());
    for other in [&host.client("porter", "rival").await, &live] {
        assert_eq!(find(other, "7").await.len(), 0);
        assert_eq!(other.delete(&format!("/v1/grants/{id}")).await.expect(200).text(), "false");
        assert_eq!(other.delete("/v1/grants?name=room&value=7").await.expect(200).text(), "0");
    }
    let (live_key, _) = issue(&live, grant_request("7", json!({}))).await;
    assert!(live_key.starts_with("tk_live_"));
    assert_eq!(me(&host, &live_key).await.expect(200).text_at("/tenant"), "acme/live");
    assert_eq!(find(&acme, "7").await.len(), 1);
    me(&host, &key).await.check(200);
    host.client_of(&key).get("/v1/version").await.check(401);
    host.stop().await;
}

#[tokio::test]
async fn plugin_cannot_revoke_a_key_of_an_operator() {
    let host = start().await;
    let created = host.create_key(json!({"plugin": "porter", "tenant": "acme", "environment": "test"})).await;
    let client = host.client_of(created["key"].as_str().unwrap());
    assert_eq!(
        client.delete(&format!("/v1/grants/{}", created["id"].as_str().unwrap())).await.expect(200).text(),
        "false"
    );
    client.get("/v1/me").await.check(200);
    host.stop().await;
}

#[tokio::test]
async fn idempotency_record_is_shared_by_a_key_and_its_replacement() {
    let host = start().await;
    let operator = host.client("porter", "acme").await;
    let (old, _) = issue(&operator, grant_request("7", json!({}))).await;
    let (other, _) = issue(&operator, grant_request("8", json!({}))).await;
    let first = host.client_of(&old).post_once("/v1/rooms", "once", json!({})).await.expect(200);
    let rotated = host.client_of(&old).post("/v1/rotations", json!({})).await.expect(201);
    me(&host, &old).await.check(401);
    host.clock.advance(1);
    let again = host.client_of(&rotated.text_at("/secret")).post_once("/v1/rooms", "once", json!({})).await.expect(200);
    assert_eq!((again.text(), again.header("idempotency-replayed")), (first.text(), Some("true")));
    let unrelated = host.client_of(&other).post_once("/v1/rooms", "once", json!({})).await.expect(200);
    assert_eq!(unrelated.header("idempotency-replayed"), None);
    host.stop().await;
}

#[tokio::test]
async fn repeated_request_returns_the_same_key() {
    let host = start().await;
    let operator = host.client("porter", "acme").await;
    let first = operator.post_once("/v1/grants", "once", grant_request("7", json!({}))).await.expect(201);
    let again = operator.post_once("/v1/grants", "once", grant_request("7", json!({}))).await.expect(201);
    assert_eq!((again.text(), again.header("idempotency-replayed")), (first.text(), Some("true")));
    assert_eq!(find(&operator, "7").await.len(), 1);
    host.stop().await;
}

#[tokio::test]
async fn path_token_is_the_only_credential_of_its_link() {
    let host = start().await;
    let operator = host.client("porter", "acme").await;
    let (token, id) = issue(&operator, grant_request("7", json!({"token": true}))).await;
    let (key, _) = issue(&operator, grant_request("7", json!({}))).await;
    let anonymous = host.anonymous();
    let opened = anonymous.get(&format!("/v1/doors/{token}/state")).await.expect(200);
    assert_eq!((opened.text_at("/kind"), opened.text_at("/subject")), ("token".to_owned(), id.clone()));
    assert_eq!((opened.text_at("/ticket"), opened.text_at("/path")), (id.clone(), format!("/v1/doors/{id}/state")));
    assert_eq!(opened.header("referrer-policy"), Some("no-referrer"));
    anonymous.post(&format!("/v1/doors/{token}"), json!({})).await.check(200);
    let code = operator.get("/v1/doors/none/state").await.expect(404).text_at("/code");
    assert_eq!(code, "not-found");
    for wrong in [&key, &format!("tok_test_{}", "a".repeat(32)), &host.key("porter", "acme").await] {
        anonymous.get(&format!("/v1/doors/{wrong}/state")).await.check(404);
        operator.get(&format!("/v1/doors/{wrong}/state")).await.check(404);
    }
    let unrelated = [("authorization", "Bearer nonsense")];
    anonymous.send("GET", &format!("/v1/doors/{token}/state"), &unrelated, Vec::new()).await.check(200);
    operator.delete(&format!("/v1/grants/{id}")).await.check(200);
    anonymous.get(&format!("/v1/doors/{token}/state")).await.check(404);
    host.stop().await;
}

#[tokio::test]
async fn webhooks_are_signed_with_the_newest_key_that_has_the_attribute() {
    // Verifiers check the timestamp of a signature.
    let host = start_at(Clock::system().now()).await;
    let operator = host.client("porter", "acme").await;
    let receiver = TestReceiver::start(ReceiverResponse::Status(200)).await;
    let hook = json!({"url": receiver.url(), "key": "api-key:room=7"});
    operator.post("/v1/hooks/hook", hook).await.check(204);
    let webhook = async || {
        let before = receiver.received().len();
        operator.post("/v1/hooks/hook/test", json!({})).await.check(200);
        receiver.wait_for(before + 1).await.swap_remove(before)
    };
    assert!(!webhook().await.headers.contains_key("x-service-signature"), "nothing signs yet");
    let (old, _) = issue(&operator, grant_request("7", json!({"signs": true}))).await;
    issue(&operator, grant_request("7", json!({}))).await;
    issue(&operator, grant_request("8", json!({"signs": true}))).await;
    let received = webhook().await;
    assert_eq!(received.header("x-service-signature"), hex_hmac(&old, &received.body));
    host.clock.advance(1);
    let (new, id) = issue(&operator, grant_request("7", json!({"signs": true}))).await;
    let received = webhook().await;
    assert_eq!(received.header("x-service-signature"), hex_hmac(&new, &received.body));
    operator.delete(&format!("/v1/grants/{id}")).await.check(200);
    let received = webhook().await;
    assert_eq!(received.header("x-service-signature"), hex_hmac(&old, &received.body));
    let wrong = json!({"url": receiver.url(), "key": "api-key:room"});
    operator.post("/v1/hooks/other", wrong).await.check(422);
    host.stop().await;
}

fn hex_hmac(key: &str, body: &[u8]) -> String {
    let mut mac = Hmac::<Sha512>::new_from_slice(key.as_bytes()).unwrap();
    mac.update(body);
    hex::encode(mac.finalize().into_bytes())
}

#[tokio::test]
async fn passwords_are_verified_by_their_hash() {
    let host = start().await;
    let client = host.client("porter", "acme").await;
    let hash = client.post("/v1/passwords", json!({"password": "open sesame"})).await.expect(200).json();
    let verified = async |password: &str, hash: &Value| {
        client.post("/v1/passwords/verified", json!({"password": password, "hash": hash})).await.expect(200).text()
    };
    assert_eq!(verified("open sesame", &hash).await, "true");
    assert_eq!(verified("open simsim", &hash).await, "false");
    assert_eq!(verified("open sesame", &Value::Null).await, "false");
    host.stop().await;
}

#[tokio::test]
async fn many_password_checks_delay_only_their_own_tenant() {
    let host = start().await;
    let (busy, other) = (host.client("porter", "acme").await, host.client("porter", "globex").await);
    let ended = Arc::new(AtomicUsize::new(0));
    let attempts = (0..ATTEMPTS).map(|attempt| {
        let (client, ended) = (busy.clone(), ended.clone());
        tokio::spawn(async move {
            let wrong = json!({"password": format!("guess {attempt}"), "hash": null});
            let response = client.post("/v1/passwords/verified", wrong).await;
            ended.fetch_add(1, Ordering::Relaxed);
            response.status
        })
    });
    let attempts: Vec<_> = attempts.collect();
    while ended.load(Ordering::Relaxed) == 0 {
        tokio::task::yield_now().await;
    }
    let password = json!({"password": "open sesame", "hash": null});
    assert_eq!(other.post("/v1/passwords/verified", password).await.expect(200).text(), "false");
    for (client, tenant) in [(&other, "globex/test"), (&busy, "acme/test")] {
        assert_eq!(client.get("/v1/me").await.expect(200).json()["tenant"], tenant);
    }
    let ended = ended.load(Ordering::Relaxed);
    assert!(ended < ATTEMPTS / 2, "{ended} of {ATTEMPTS} were first");
    for attempt in attempts {
        // Attempts beyond the queue get 503. On a slow machine some exceed their deadline.
        assert!([200, 503, 504].contains(&attempt.await.unwrap()));
    }
    host.stop().await;
}

#[tokio::test]
async fn no_file_contains_an_issued_secret() {
    let host = start().await;
    let operator = host.client("porter", "acme").await;
    let mut secrets = Vec::new();
    for more in [json!({"signs": true}), json!({"token": true})] {
        secrets.push(
            operator
                .post_once("/v1/grants", &format!("{more}").replace('"', "'"), grant_request("7", more))
                .await
                .expect(201)
                .text_at("/secret"),
        );
    }
    host.anonymous().get(&format!("/v1/doors/{}/state", secrets[1])).await.check(200);
    me(&host, &secrets[0]).await.check(200);
    let dir = host.dir.clone();
    host.stop().await;
    for secret in &secrets {
        assert_eq!(files_containing(dir.path(), secret), Vec::<String>::new());
    }
}

#[tokio::test]
async fn issued_and_revoked_tokens_survive_a_kill_and_the_log_contains_none() {
    let folder = tempfile::tempdir().unwrap();
    let plugins = vec![PluginSection::new("porter", &component("porter"), &GRANTS)];
    let binary = folder.path().join("tenon-with-trace-log");
    let levels = "trace,cranelift_codegen=off,wasmtime=off,wasmtime_internal_cranelift=off,regalloc2=off,log=off";
    std::fs::write(&binary, format!("#!/bin/sh\nTENON_LOG={levels} exec '{}' \"$@\"\n", tenon_binary().display()))
        .unwrap();
    std::fs::set_permissions(&binary, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let plan = ProgramPlan { binary, folder: folder.path().join("program"), plugins };
    let program = Program::start(plan).await.unwrap();
    let key = program.create_key("porter", "acme").unwrap();
    let json_type = [("content-type", "application/json")];
    let mut secrets = Vec::new();
    for _ in 0..2 {
        let body = grant_request("7", json!({"token": true})).to_string();
        let issued = program.client(&key).send("POST", "/v1/grants", &json_type, body.as_bytes()).await.unwrap();
        let issued: Value = serde_json::from_slice(&issued.body).unwrap();
        secrets.push((issued["secret"].as_str().unwrap().to_owned(), issued["id"].as_str().unwrap().to_owned()));
    }
    let revoke = format!("/v1/grants/{}", secrets[1].1);
    assert_eq!(program.client(&key).send("DELETE", &revoke, &[], b"").await.unwrap().status, 200);
    let program = Program::start(program.kill().unwrap()).await.unwrap();
    for ((secret, _), status) in secrets.iter().zip([200, 404]) {
        let path = format!("/v1/doors/{secret}/state");
        assert_eq!(program.client("").send("GET", &path, &[], b"").await.unwrap().status, status);
    }
    program.stop().await.unwrap();
    let log = std::fs::read_to_string(folder.path().join("program").join("tenon.log")).unwrap();
    assert!(log.contains("TRACE") && log.contains("/v1/doors/{ticket}/state"), "paths are logged as declared");
    for (secret, _) in &secrets {
        let lines: Vec<&str> = log.lines().filter(|line| line.contains(secret)).collect();
        assert!(lines.is_empty(), "{lines:#?}");
    }
}
