//! Destinations of plugins.toml on the real host.

use std::{fs, time::Duration};

use serde_json::{Value, json};
use tenon::{
    changes::{
        outgoing::{OutgoingCall, OutgoingContent, OutgoingResponse},
        scope::Scope,
    },
    destinations::{Certainty, DestinationCallError},
};

use crate::support::{TestHost, component, eventually};

const GRANTS: &str =
    r#"grants = ["records", "events", "subscriptions", "effects", "questions", "credentials", "ids", "config", "log"]"#;
const OUTBOX: &str = "[plugins.fleet.destinations.sms]\nkind = \"outbox\"";

async fn host() -> TestHost {
    TestHost::builder().plugin("fleet", component("fleet"), &format!("{GRANTS}\n{OUTBOX}")).start().await
}

async fn send(host: &TestHost, destination: &str, key: &str) -> Result<OutgoingResponse, DestinationCallError> {
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
async fn outbox_entries_are_listed_for_operators() {
    let host = host().await;
    assert_eq!(outbox(&host, "").await, Vec::<Value>::new());
    let response = send(&host, "sms", "effect_1").await.unwrap();
    let repeated = send(&host, "sms", "effect_1").await.unwrap();
    assert_eq!((response.status, &response), (202, &repeated));
    let host = host.restart().await;
    let listed = outbox(&host, "?plugin=fleet&tenant=acme/test").await;
    assert_eq!(listed.len(), 1);
    assert_eq!((&listed[0]["path"], &listed[0]["body"]), (&json!("/send"), &json!(r#"{"text":"hello"}"#)));
    assert_eq!((&listed[0]["destination"], &listed[0]["idempotency_key"]), (&json!("sms"), &json!("effect_1")));
    assert_eq!(outbox(&host, "?tenant=other/test").await, Vec::<Value>::new());
}

#[tokio::test]
async fn added_destination_is_available_without_a_restart() {
    let host = host().await;
    let error = send(&host, "mail", "effect_1").await.unwrap_err();
    assert_eq!((error.certainty, error.class), (Certainty::NotSent, "no-such-destination"));
    let text = fs::read_to_string(host.config_file()).unwrap();
    fs::write(host.config_file(), text.replace(OUTBOX, &OUTBOX.replace("sms", "mail"))).unwrap();
    eventually("the new destination", async || send(&host, "mail", "effect_1").await.ok()).await;
    assert!(send(&host, "sms", "effect_2").await.is_err());
}
