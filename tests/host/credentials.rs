//! Keys and tokens that a plugin hands out: whom they open it for, until when, and where their texts never stand.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use hmac::{Hmac, Mac};
use serde_json::{Value, json};
use sha2::Sha512;
use tenon::{clock::Clock, db::apply::Failpoint};
use tenon_bench::program::{PluginSection, Program, ProgramPlan};

use super::keys::files_with;
use super::starting::tenon;
use crate::support::{Reply, Response, TestClient, TestHost, TestReceiver, component};

const GRANTS: [&str; 4] = ["records", "events", "subscriptions", "credentials"];
const NOW: u64 = 1_800_000_000_000;
/// Attempts at once: more than there are seats for calls of one plugin.
const RUSH: usize = 100;

async fn start() -> TestHost {
    start_at(NOW).await
}

async fn start_at(now: u64) -> TestHost {
    let grants = format!("grants = {GRANTS:?}");
    TestHost::builder().plugin("porter", component("porter"), &grants).clock(Clock::manual(now)).start().await
}

/// A key of this room, or what `more` says besides.
fn wish(room: &str, more: Value) -> Value {
    let mut wish = json!({"attributes": [["room", room], ["floor", "1"]], "label": "for tests"});
    wish.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
    wish
}

async fn issue(client: &TestClient, wish: Value) -> (String, String) {
    let issued = client.post("/v1/grants", wish).await.expect(201);
    (issued.text_at("/secret"), issued.text_at("/id"))
}

async fn find(client: &TestClient, room: &str) -> Vec<Value> {
    client.get(&format!("/v1/grants?name=room&value={room}")).await.expect(200).json().as_array().unwrap().clone()
}

async fn me(host: &TestHost, secret: &str) -> Response {
    host.client_of(secret).get("/v1/me").await
}

#[tokio::test]
async fn a_key_that_a_plugin_hands_out_opens_it_at_once_with_what_was_attached() {
    let host = start().await;
    let operator = host.client("porter", "acme").await;
    let first = operator.post("/v1/grants", wish("7", json!({"scopes": ["rooms.read"]}))).await.expect(201);
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
    assert_eq!(operators["attributes"], json!([]), "which tells an operator's key from the plugin's");
    host.stop().await;
}

#[tokio::test]
async fn operators_see_what_plugins_hand_out_and_end_it() {
    let host = start().await;
    let operator = host.client("porter", "acme").await;
    let (key, id) = issue(&operator, wish("7", json!({"signs": true}))).await;
    let (token, _) = issue(&operator, wish("7", json!({"token": true, "expires_in": 60_000}))).await;
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
    assert_eq!(find(&operator, "7").await.len(), 1, "the token is left");
    let replaced = json!({"plugin": "porter", "tenant": "acme", "environment": "test", "owner": id});
    let refused = host.operator().post("/v1/keys", replaced).await;
    assert!(refused.status >= 400, "only its plugin replaces it: {}", refused.text());
    host.stop().await;
}

#[tokio::test]
async fn what_a_call_did_not_commit_opens_nothing() {
    let host = start().await;
    let operator = host.client("porter", "acme").await;
    let refused = operator.post("/v1/grants", wish("7", json!({"then": "refuse"}))).await.expect(409);
    let secret = refused.text_at("/message");
    assert!(secret.starts_with("tk_test_"), "{secret}");
    me(&host, &secret).await.check(401);
    operator.post("/v1/grants", wish("7", json!({"then": "fail"}))).await.check(500);
    host.fail_next_batch(Failpoint::DuringCommitLost);
    operator.post("/v1/grants", wish("7", json!({}))).await.check(503);
    assert_eq!(find(&operator, "7").await, [] as [Value; 0]);
    host.stop().await;
}

#[tokio::test]
async fn an_issue_whose_commit_was_only_found_out_afterwards_counts() {
    let host = start().await;
    let operator = host.client("porter", "acme").await;
    host.fail_next_batch(Failpoint::DuringCommitKept);
    let (key, _) = issue(&operator, wish("7", json!({}))).await;
    me(&host, &key).await.check(200);
    host.fail_next_batch(Failpoint::DuringCommitKept);
    assert_eq!(operator.delete("/v1/grants?name=room&value=7").await.expect(200).text(), "1");
    me(&host, &key).await.check(401);
    host.stop().await;
}

#[tokio::test]
async fn a_revoked_one_is_refused_by_the_next_request_although_it_was_remembered() {
    let host = start().await;
    let operator = host.client("porter", "acme").await;
    let (one, id) = issue(&operator, wish("7", json!({}))).await;
    let (two, _) = issue(&operator, wish("7", json!({"token": true}))).await;
    let (other, _) = issue(&operator, wish("8", json!({}))).await;
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
async fn one_that_expires_opens_until_then_and_not_a_millisecond_longer() {
    let host = start().await;
    let operator = host.client("porter", "acme").await;
    let (token, _) = issue(&operator, wish("7", json!({"token": true, "expires_in": 1_000}))).await;
    host.clock.advance(999);
    me(&host, &token).await.check(200);
    host.clock.advance(1);
    me(&host, &token).await.check(401);
    assert_eq!(find(&operator, "7").await.len(), 0);
    host.stop().await;
}

#[tokio::test]
async fn a_token_does_what_its_scopes_say_and_no_more() {
    let host = start().await;
    let operator = host.client("porter", "acme").await;
    for (wanted, status) in
        [(json!({"token": true}), 403), (json!({"token": true, "scopes": ["rooms.read"]}), 200), (json!({}), 200)]
    {
        let (secret, _) = issue(&operator, wish("7", wanted)).await;
        host.client_of(&secret).get("/v1/rooms").await.check(status);
    }
    host.stop().await;
}

#[tokio::test]
async fn other_tenants_and_plugins_neither_find_nor_revoke_nor_are_opened() {
    let grants = format!("grants = {GRANTS:?}");
    let host = TestHost::builder()
        .plugin("porter", component("porter"), &grants)
        .plugin("chameleon", component("chameleon"), r#"grants = ["records", "events"]"#)
        .start()
        .await;
    let acme = host.client("porter", "acme").await;
    let (key, id) = issue(&acme, wish("7", json!({}))).await;
    let live = json!({"plugin": "porter", "tenant": "acme", "environment": "live"});
    let live = host.client_of(host.create_key(live).await["key"].as_str().unwrap());
    for stranger in [&host.client("porter", "rival").await, &live] {
        assert_eq!(find(stranger, "7").await.len(), 0);
        assert_eq!(stranger.delete(&format!("/v1/grants/{id}")).await.expect(200).text(), "false");
        assert_eq!(stranger.delete("/v1/grants?name=room&value=7").await.expect(200).text(), "0");
    }
    let (live_key, _) = issue(&live, wish("7", json!({}))).await;
    assert!(live_key.starts_with("tk_live_"));
    assert_eq!(me(&host, &live_key).await.expect(200).text_at("/tenant"), "acme/live");
    assert_eq!(find(&acme, "7").await.len(), 1);
    me(&host, &key).await.check(200);
    host.client_of(&key).get("/v1/version").await.check(401);
    host.stop().await;
}

#[tokio::test]
async fn a_plugin_revokes_no_key_that_an_operator_made() {
    let host = start().await;
    let made = host.create_key(json!({"plugin": "porter", "tenant": "acme", "environment": "test"})).await;
    let client = host.client_of(made["key"].as_str().unwrap());
    assert_eq!(
        client.delete(&format!("/v1/grants/{}", made["id"].as_str().unwrap())).await.expect(200).text(),
        "false"
    );
    client.get("/v1/me").await.check(200);
    host.stop().await;
}

#[tokio::test]
async fn an_idempotency_key_goes_on_from_a_key_to_the_one_that_takes_its_place() {
    let host = start().await;
    let operator = host.client("porter", "acme").await;
    let (old, _) = issue(&operator, wish("7", json!({}))).await;
    let (other, _) = issue(&operator, wish("8", json!({}))).await;
    let first = host.client_of(&old).post_once("/v1/rooms", "once", json!({})).await.expect(200);
    let rotated = host.client_of(&old).post("/v1/rotations", json!({})).await.expect(201);
    me(&host, &old).await.check(401);
    host.clock.advance(1);
    let again = host.client_of(&rotated.text_at("/secret")).post_once("/v1/rooms", "once", json!({})).await.expect(200);
    assert_eq!((again.text(), again.header("idempotency-replayed")), (first.text(), Some("true")));
    let apart = host.client_of(&other).post_once("/v1/rooms", "once", json!({})).await.expect(200);
    assert_eq!(apart.header("idempotency-replayed"), None);
    host.stop().await;
}

#[tokio::test]
async fn a_repeated_request_gets_the_same_key_again_and_no_second_one() {
    let host = start().await;
    let operator = host.client("porter", "acme").await;
    let first = operator.post_once("/v1/grants", "once", wish("7", json!({}))).await.expect(201);
    let again = operator.post_once("/v1/grants", "once", wish("7", json!({}))).await.expect(201);
    assert_eq!((again.text(), again.header("idempotency-replayed")), (first.text(), Some("true")));
    assert_eq!(find(&operator, "7").await.len(), 1);
    host.stop().await;
}

#[tokio::test]
async fn a_link_is_opened_by_the_token_in_its_path_alone() {
    let host = start().await;
    let operator = host.client("porter", "acme").await;
    let (token, id) = issue(&operator, wish("7", json!({"token": true}))).await;
    let (key, _) = issue(&operator, wish("7", json!({}))).await;
    let anonymous = host.anonymous();
    let opened = anonymous.get(&format!("/v1/doors/{token}/state")).await.expect(200);
    assert_eq!((opened.text_at("/kind"), opened.text_at("/subject")), ("token".to_owned(), id.clone()));
    assert_eq!((opened.text_at("/ticket"), opened.text_at("/path")), (id.clone(), format!("/v1/doors/{id}/state")));
    assert_eq!(opened.header("referrer-policy"), Some("no-referrer"));
    anonymous.post(&format!("/v1/doors/{token}"), json!({})).await.check(200);
    let nobody = operator.get("/v1/doors/none/state").await.expect(404).text_at("/code");
    assert_eq!(nobody, "not-found");
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
async fn webhooks_are_signed_with_the_newest_key_that_carries_the_attribute() {
    // Others look at the time of a signature.
    let host = start_at(Clock::system().now()).await;
    let operator = host.client("porter", "acme").await;
    let receiver = TestReceiver::start(Reply::Status(200)).await;
    let hook = json!({"url": receiver.url(), "key": "api-key:room=7"});
    operator.post("/v1/hooks/hook", hook).await.check(204);
    let webhook = async || {
        let before = receiver.arrived().len();
        operator.post("/v1/hooks/hook/test", json!({})).await.check(200);
        receiver.wait_for(before + 1).await.swap_remove(before)
    };
    assert!(!webhook().await.headers.contains_key("x-service-signature"), "nothing signs yet");
    let (old, _) = issue(&operator, wish("7", json!({"signs": true}))).await;
    issue(&operator, wish("7", json!({}))).await;
    issue(&operator, wish("8", json!({"signs": true}))).await;
    let arrived = webhook().await;
    assert_eq!(arrived.header("x-service-signature"), hex_hmac(&old, &arrived.body));
    host.clock.advance(1);
    let (new, id) = issue(&operator, wish("7", json!({"signs": true}))).await;
    let arrived = webhook().await;
    assert_eq!(arrived.header("x-service-signature"), hex_hmac(&new, &arrived.body));
    operator.delete(&format!("/v1/grants/{id}")).await.check(200);
    let arrived = webhook().await;
    assert_eq!(arrived.header("x-service-signature"), hex_hmac(&old, &arrived.body));
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
async fn passwords_are_checked_without_being_kept() {
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
async fn a_rush_of_passwords_delays_those_of_its_own_tenant_alone() {
    let host = start().await;
    let (rushing, other) = (host.client("porter", "acme").await, host.client("porter", "globex").await);
    let ended = Arc::new(AtomicUsize::new(0));
    let attempts = (0..RUSH).map(|attempt| {
        let (client, ended) = (rushing.clone(), ended.clone());
        tokio::spawn(async move {
            let wrong = json!({"password": format!("guess {attempt}"), "hash": null});
            let answer = client.post("/v1/passwords/verified", wrong).await;
            ended.fetch_add(1, Ordering::Relaxed);
            answer.status
        })
    });
    let rush: Vec<_> = attempts.collect();
    while ended.load(Ordering::Relaxed) == 0 {
        tokio::task::yield_now().await;
    }
    let asked = json!({"password": "open sesame", "hash": null});
    assert_eq!(other.post("/v1/passwords/verified", asked).await.expect(200).text(), "false");
    for (client, tenant) in [(&other, "globex/test"), (&rushing, "acme/test")] {
        assert_eq!(client.get("/v1/me").await.expect(200).json()["tenant"], tenant);
    }
    let ended = ended.load(Ordering::Relaxed);
    assert!(ended < RUSH / 2, "{ended} of {RUSH} were first");
    for attempt in rush {
        // More than may wait are turned away; on a slow machine others come too late. That is theirs alone.
        assert!([200, 503, 504].contains(&attempt.await.unwrap()));
    }
    host.stop().await;
}

#[tokio::test]
async fn no_file_holds_the_text_of_what_was_handed_out() {
    let host = start().await;
    let operator = host.client("porter", "acme").await;
    let wanted = [json!({"signs": true}), json!({"token": true})];
    let mut secrets = Vec::new();
    for wanted in wanted {
        secrets.push(
            operator
                .post_once("/v1/grants", &format!("{wanted}").replace('"', "'"), wish("7", wanted))
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
        assert_eq!(files_with(dir.path(), secret), Vec::<String>::new());
    }
}

#[tokio::test]
async fn after_a_kill_what_was_issued_opens_what_was_revoked_does_not_and_no_line_of_the_log_holds_a_token() {
    let folder = tempfile::tempdir().unwrap();
    let plugins = vec![PluginSection::new("porter", &component("porter"), &GRANTS)];
    let binary = folder.path().join("talkative");
    let levels = "trace,cranelift_codegen=off,wasmtime=off,wasmtime_internal_cranelift=off,regalloc2=off,log=off";
    std::fs::write(&binary, format!("#!/bin/sh\nTENON_LOG={levels} exec '{}' \"$@\"\n", tenon().display())).unwrap();
    std::fs::set_permissions(&binary, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let plan = ProgramPlan { binary, folder: folder.path().join("program"), plugins };
    let program = Program::start(plan).await.unwrap();
    let key = program.create_key("porter", "acme").unwrap();
    let json_type = [("content-type", "application/json")];
    let mut secrets = Vec::new();
    for _ in 0..2 {
        let body = wish("7", json!({"token": true})).to_string();
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
    assert!(log.contains("TRACE") && log.contains("/v1/doors/{ticket}/state"), "paths as they were declared");
    for (secret, _) in &secrets {
        let lines: Vec<&str> = log.lines().filter(|line| line.contains(secret)).collect();
        assert!(lines.is_empty(), "{lines:#?}");
    }
}
