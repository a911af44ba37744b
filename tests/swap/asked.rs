//! What operators ask for: a difference that breaks callers, a rollback, and that they hear why not.

use serde_json::{Value, json};

use super::chameleons::{
    chameleon, deploy, deploy_breaking, journal, put_file, rollback, serving, status, until_refused, version,
};
use crate::support::Response;

fn reasons(refused: &Response) -> String {
    refused.json()["reasons"].to_string()
}

/// What breaks callers of today, with the word that the refusal must name.
fn breaking() -> Vec<(&'static str, Value, &'static str)> {
    vec![
        ("/routes/0/path", json!("/v2/version"), "/v2/version"),
        ("/routes/0/method", json!("POST"), "method POST"),
        ("/routes/0/operation", json!("renamed"), "operation version"),
        ("/routes/0/scopes", json!(["admin"]), "admin"),
        ("/routes/0/open", json!(true), "open to everybody"),
        ("/event-types", json!([]), "thing.counted"),
        ("/version", json!("1.0.9"), "lower"),
    ]
}

#[tokio::test]
async fn difference_that_breaks_callers_is_refused_and_named() {
    let host = serving(1).await;
    let before = status(&host, "chameleon").await["serving"].clone();
    for (pointer, value, named) in breaking() {
        let refused = deploy(&host, "chameleon", chameleon(2, &[(pointer, value)])).await.expect(409);
        assert!(reasons(&refused).contains(named), "{named}: {}", refused.text());
        assert!(reasons(&refused).contains("--allow-breaking"), "{}", refused.text());
    }
    assert_eq!(status(&host, "chameleon").await["serving"], before);
    assert_eq!(journal(&host, "chameleon").await[0]["outcome"], "refused");
}

#[tokio::test]
async fn difference_that_breaks_callers_passes_when_the_operator_says_so() {
    let host = serving(1).await;
    for (number, (pointer, value, _)) in (2..).zip(breaking()) {
        let changed = chameleon(number, &[(pointer, value)]);
        let hash = deploy_breaking(&host, "chameleon", changed).await.expect(200).text_at("/to/hash");
        assert_eq!(status(&host, "chameleon").await["serving"]["hash"], hash);
    }
}

#[tokio::test]
async fn difference_that_breaks_callers_never_comes_by_file() {
    let host = serving(2).await;
    put_file(&host, "chameleon", &chameleon(1, &[]));
    assert!(until_refused(&host, "chameleon").await.contains("version 1.1.0 is lower than 1.2.0"));
    assert_eq!(version(&host.client("chameleon", "acme").await).await, 2);
}

#[tokio::test]
async fn rollback_twice_is_there_and_back_again() {
    let host = serving(1).await;
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
async fn unknown_plugin_is_not_found_and_the_known_ones_are_named() {
    let host = serving(1).await;
    let answer = deploy(&host, "nobody", chameleon(2, &[])).await.expect(404);
    assert!(answer.text_at("/hint").contains("chameleon"), "{}", answer.text());
}
