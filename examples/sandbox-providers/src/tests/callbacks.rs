//! Callbacks: signed, repeated, and none without a secret.

use serde_json::{Value, json};
use tenon_plugin::Content;
use tenon_plugin::tasks::Outcome;
use tenon_plugin::test_kit::{TestCall, TestHost, response};

use super::support::*;
use crate::rules::signature;

fn signing() -> TestHost {
    host().setting("webhook-secret", r#""sandbox""#)
}

/// Key, timestamp, signature and body of each callback on its way.
fn callbacks(host: &TestHost) -> Vec<(String, u64, String, String)> {
    let effects = host.effects();
    let told = effects.iter().filter(|started| started.effect.then == "callback-told");
    told.map(|started| {
        let call = &started.effect.call;
        assert_eq!(
            (call.destination.as_str(), call.method.as_str(), call.path.as_str()),
            ("wallet", "POST", "/callbacks")
        );
        let header = |name: &str| call.headers.iter().find(|pair| pair.name == name).unwrap().value.clone();
        let Content::Json(body) = &call.content else { panic!("a callback is JSON") };
        let timestamp = header("x-provider-timestamp").parse().unwrap();
        (started.effect.key.clone(), timestamp, header("x-provider-signature"), body.clone())
    })
    .collect()
}

#[test]
fn a_change_is_told_with_a_signature_over_time_and_body() {
    let host = signing();
    let taken = payout(&host, "p1", "100", "0123456789").json();
    let (key, timestamp, signature, body) = callbacks(&host).remove(0);
    assert_eq!(signature, signature::sign("sandbox", timestamp, &body));
    assert_eq!(timestamp, host.now() / 1_000);
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((&body["id"], &body["type"], &body["data"]), (&json!(key), &json!("payout.updated"), &taken));
}

#[test]
fn a_callback_that_is_not_taken_comes_again_signed_anew_with_the_same_body() {
    let host = signing();
    payout(&host, "p1", "100", "0123456789");
    let (key, first, _, body) = callbacks(&host).remove(0);
    host.advance_ms(4_000);
    host.settle("callback-told", &key, Outcome::Answered(response(500, &json!({}))));
    host.run_due();
    let (again, second, signature, same) = callbacks(&host).remove(0);
    assert_eq!((again, same.clone(), second), (key, body, first + 5));
    assert_eq!(signature, signature::sign("sandbox", second, &same));
}

#[test]
fn a_callback_that_is_taken_or_has_nowhere_to_go_is_over() {
    for outcome in [Outcome::Answered(response(200, &json!({}))), Outcome::NotSent("no-such-destination".to_owned())] {
        let host = signing();
        payout(&host, "p1", "100", "0123456789");
        let (key, _, _, _) = callbacks(&host).remove(0);
        host.settle("callback-told", &key, outcome);
        host.run_due();
        assert!(callbacks(&host).is_empty());
    }
}

#[test]
fn without_a_secret_nobody_is_told() {
    let host = host();
    payout(&host, "p1", "100", "0123456789");
    assert!(callbacks(&host).is_empty());
}

#[test]
fn a_customer_says_where_callbacks_go_and_the_key_is_never_shown() {
    let host = host();
    assert_eq!(host.call(TestCall::get("/v1/webhook")).status, 404);
    let body = json!({"base_url": "https://wallet.example/v1/providers", "api_key": "tk_secret"});
    let put = host.call(TestCall::put("/v1/webhook").json(&body));
    assert_eq!((put.status, put.body.contains("tk_secret")), (200, false));
    assert_eq!(get(&host, "/v1/webhook"), json!({"base_url": "https://wallet.example/v1/providers"}));
    let destination = host.destination("wallet").unwrap();
    assert_eq!((destination.kind.as_str(), destination.secrets[0].value.as_str()), ("bearer", "tk_secret"));
}
