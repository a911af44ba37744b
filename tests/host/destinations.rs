//! Destinations that the operator names in plugins.toml, on the real host.

use std::{fs, time::Duration};

use serde_json::{Value, json};
use tenon::{
    changes::{
        outgoing::{OutgoingAnswer, OutgoingCall, OutgoingContent},
        scope::Scope,
    },
    destinations::{CallFailure, Certainty},
};

use crate::support::{TestHost, component, eventually};

const GRANTS: &str =
    r#"grants = ["records", "events", "subscriptions", "effects", "questions", "credentials", "ids", "config", "log"]"#;
const OUTBOX: &str = "[plugins.fleet.destinations.sms]\nkind = \"outbox\"";

async fn host() -> TestHost {
    TestHost::builder().plugin("fleet", component("fleet"), &format!("{GRANTS}\n{OUTBOX}")).start().await
}

async fn send(host: &TestHost, destination: &str, key: &str) -> Result<OutgoingAnswer, CallFailure> {
    let scope = Scope::new("fleet".into(), "acme/test".into()).unwrap();
    let call = OutgoingCall {
        destination: destination.into(),
        method: "POST".into(),
        path: "/send".into(),
        headers: Vec::new(),
        content: OutgoingContent::Json(r#"{"text":"hello"}"#.into()),
        timeout_ms: 0,
        hops: 0,
    };
    host.destinations().call(&scope, &call, Some(key), Duration::from_secs(20)).await
}

async fn outbox(host: &TestHost, options: &str) -> Vec<Value> {
    let listed = host.operator().get(&format!("/v1/outbox{options}")).await.expect(200).json();
    listed.as_array().unwrap().clone()
}

#[tokio::test]
async fn operators_see_what_an_outbox_kept() {
    let host = host().await;
    assert_eq!(outbox(&host, "").await, Vec::<Value>::new());
    let answer = send(&host, "sms", "effect_1").await.unwrap();
    let again = send(&host, "sms", "effect_1").await.unwrap();
    assert_eq!((answer.status, &answer), (202, &again));
    let host = host.restart().await;
    let listed = outbox(&host, "?plugin=fleet&tenant=acme/test").await;
    assert_eq!(listed.len(), 1);
    assert_eq!((&listed[0]["path"], &listed[0]["body"]), (&json!("/send"), &json!(r#"{"text":"hello"}"#)));
    assert_eq!((&listed[0]["destination"], &listed[0]["idempotency_key"]), (&json!("sms"), &json!("effect_1")));
    assert_eq!(outbox(&host, "?tenant=other/test").await, Vec::<Value>::new());
}

#[tokio::test]
async fn a_destination_that_is_added_is_there_without_a_restart() {
    let host = host().await;
    let failure = send(&host, "mail", "effect_1").await.unwrap_err();
    assert_eq!((failure.certainty, failure.class), (Certainty::NotSent, "no-such-destination"));
    let text = fs::read_to_string(host.config_file()).unwrap();
    fs::write(host.config_file(), text.replace(OUTBOX, &OUTBOX.replace("sms", "mail"))).unwrap();
    eventually("the new destination", async || send(&host, "mail", "effect_1").await.ok()).await;
    assert!(send(&host, "sms", "effect_2").await.is_err());
}
