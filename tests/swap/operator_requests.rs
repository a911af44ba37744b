//! Requests of operators: deploys with breaking differences, rollbacks, and the reasons for their rejection.

use serde_json::{Value, json};

use super::chameleons::{
    chameleon, deploy, deploy_breaking, host_serving, journal, put_file, rollback, status, version, wait_until_rejected,
};
use crate::support::Response;

fn reasons(rejected: &Response) -> String {
    rejected.json()["reasons"].to_string()
}

/// Returns breaking changes as a pointer into the manifest, a value, and a string that the reasons must contain.
fn breaking_changes() -> Vec<(&'static str, Value, &'static str)> {
    vec![
        ("/routes/0/path", json!("/v2/version"), "/v2/version"),
        ("/routes/0/method", json!("POST"), "method POST"),
        ("/routes/0/operation", json!("renamed"), "operation version"),
        ("/routes/0/scopes", json!(["admin"]), "admin"),
        ("/routes/0/open", json!(true), "open to all callers"),
        ("/event-types", json!([]), "thing.counted"),
        ("/version", json!("1.0.9"), "lower"),
    ]
}

#[tokio::test]
async fn breaking_difference_is_rejected_with_its_reason() {
    let host = host_serving(1).await;
    let before = status(&host, "chameleon").await["serving"].clone();
    for (pointer, value, reason) in breaking_changes() {
        let rejected = deploy(&host, "chameleon", chameleon(2, &[(pointer, value)])).await.expect(409);
        assert!(reasons(&rejected).contains(reason), "{reason}: {}", rejected.text());
        assert!(reasons(&rejected).contains("--allow-breaking"), "{}", rejected.text());
    }
    assert_eq!(status(&host, "chameleon").await["serving"], before);
    assert_eq!(journal(&host, "chameleon").await[0]["outcome"], "refused");
}

#[tokio::test]
async fn breaking_difference_is_accepted_if_the_operator_allows_it() {
    let host = host_serving(1).await;
    for (number, (pointer, value, _)) in (2..).zip(breaking_changes()) {
        let changed = chameleon(number, &[(pointer, value)]);
        let hash = deploy_breaking(&host, "chameleon", changed).await.expect(200).text_at("/to/hash");
        assert_eq!(status(&host, "chameleon").await["serving"]["hash"], hash);
    }
}

#[tokio::test]
async fn breaking_difference_is_never_accepted_by_file() {
    let host = host_serving(2).await;
    put_file(&host, "chameleon", &chameleon(1, &[]));
    assert!(wait_until_rejected(&host, "chameleon").await.contains("version 1.1.0 is lower than 1.2.0"));
    assert_eq!(version(&host.client("chameleon", "acme").await).await, 2);
}

#[tokio::test]
async fn second_rollback_restores_the_newer_version() {
    let host = host_serving(1).await;
    let client = host.client("chameleon", "acme").await;
    assert!(reasons(&rollback(&host).await.expect(409)).contains("no earlier version"));
    let line = &journal(&host, "chameleon").await[0];
    assert_eq!((&line["action"], &line["outcome"]), (&json!("rollback"), &json!("refused")));
    deploy(&host, "chameleon", chameleon(2, &[])).await.check(200);
    assert_eq!(status(&host, "chameleon").await["parked"]["version"], "1.1.0");
    for expected in [1, 2, 1] {
        rollback(&host).await.check(200);
        assert_eq!(version(&client).await, expected);
    }
}

#[tokio::test]
async fn unknown_plugin_is_not_found_and_known_plugins_are_listed() {
    let host = host_serving(1).await;
    let response = deploy(&host, "unknown", chameleon(2, &[])).await.expect(404);
    assert!(response.text_at("/hint").contains("chameleon"), "{}", response.text());
}
