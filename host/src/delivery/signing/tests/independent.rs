//! Independent libraries accept messages signed here, and reject invalid ones.
//!
//! The test of the Rust library always runs. The tests of the Node and Python libraries require the setup in
//! `tests/webhooks` (see its scripts).

use std::{
    io::Write,
    path::Path,
    process::{Command, Stdio},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use http::HeaderMap;
use standardwebhooks::Webhook;

use super::{secret, signed_at};
use crate::delivery::signing::SigningSecret;

const BODY: &str = "{\"type\":\"thing.changed\",\"note\":\"J\u{fc}rgen\"}\n";

/// Returns the time of the machine, because the libraries read its clock.
fn now() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs()
}

fn accepts(secret: &SigningSecret, headers: &HeaderMap, body: &str) -> bool {
    Webhook::new(secret.text().expose()).unwrap().verify(body.as_bytes(), headers).is_ok()
}

#[test]
fn rust_library_accepts_valid_messages_and_rejects_others() {
    let fresh = signed_at(now(), BODY.as_bytes(), &[secret(2), secret(1)]);
    assert!(accepts(&secret(1), &fresh, BODY) && accepts(&secret(2), &fresh, BODY));
    assert!(!accepts(&secret(1), &fresh, &BODY.replace("thing", "think")), "a changed byte");
    assert!(!accepts(&secret(3), &fresh, BODY), "a wrong secret");
    let old = signed_at(now() - 600, BODY.as_bytes(), &[secret(1)]);
    assert!(!accepts(&secret(1), &old, BODY), "an old timestamp");
}

#[test]
#[ignore = "needs `npm ci` in tests/webhooks"]
fn node_library_accepts_valid_messages_and_rejects_others() {
    assert_agrees("node", "verify.mjs");
}

#[test]
#[ignore = "needs `pip install -r requirements.txt` in tests/webhooks"]
fn python_library_accepts_valid_messages_and_rejects_others() {
    assert_agrees("python3", "verify.py");
}

/// Passes the script a message signed now and one signed ten minutes ago. The script checks them.
fn assert_agrees(program: &str, script: &str) {
    let message = |timestamp| {
        let headers = signed_at(timestamp, BODY.as_bytes(), &[secret(2), secret(1)]);
        let pairs = headers.iter().map(|(name, value)| (name.to_string(), value.to_str().unwrap().into()));
        serde_json::Value::Object(pairs.collect())
    };
    let input = serde_json::json!({
        "secret": secret(1).text().expose(),
        "wrongSecret": secret(3).text().expose(),
        "body": STANDARD.encode(BODY),
        "fresh": message(now()),
        "old": message(now() - 600),
    });
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/webhooks");
    let mut child = Command::new(program).arg(script).current_dir(folder).stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.to_string().as_bytes()).unwrap();
    assert!(child.wait().unwrap().success(), "{program} {script}");
}
