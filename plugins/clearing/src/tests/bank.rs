//! A partner that asks the bank's own system.

use serde_json::{Value, json};
use tenon_plugin::Content;
use tenon_plugin::test_kit::{TestCall, TestHost, response};

use super::support::*;

fn asking(settings: Value, said: Result<(u16, Value), &'static str>) -> TestHost {
    let mut all = json!({"decide": "ask"});
    all.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
    partner(all).answers(move |call| {
        let Content::Json(body) = &call.content else { panic!("a question is JSON") };
        let body: Value = serde_json::from_str(body).unwrap();
        assert_eq!(call.destination, "bank");
        match call.path.as_str() {
            "/decisions" => assert_eq!((&body["uetr"], body["operation"].is_string()), (&json!(UETR), true)),
            path => assert_eq!((path, &body["creditor_account_proxy"]), ("/determinations", &json!("ada@bank"))),
        }
        said.clone().map(|(status, body)| response(status, &body)).map_err(str::to_owned)
    })
}

fn decided(settings: Value, said: Result<(u16, Value), &'static str>) -> (Value, Value) {
    let host = asking(settings, said);
    send(&host, AUTHORISE, &minimal(AUTHORISE));
    host.run_due();
    let shown = transaction(&host);
    let of = if shown["state"] == "approved" { "account_number" } else { "status_reason" };
    (shown["state"].clone(), shown[of].clone())
}

#[test]
fn the_bank_decides() {
    let approved = json!({"transaction_status": "APPROVED"});
    assert_eq!(decided(json!({}), Ok((200, approved))), (json!("approved"), json!("62001")));
    let elsewhere = json!({"transaction_status": "APPROVED", "account_number": "777"});
    assert_eq!(decided(json!({}), Ok((200, elsewhere))), (json!("approved"), json!("777")));
    let rejected = json!({"transaction_status": "REJECTED", "status_reason": "NOCM"});
    assert_eq!(decided(json!({}), Ok((200, rejected))), (json!("rejected"), json!("NOCM")));
}

#[test]
fn an_answer_that_is_not_understood_is_never_an_approval() {
    for said in [
        Ok((200, json!({"transaction_status": "PENDING"}))),
        Ok((200, json!({"transaction_status": "APPROVED", "account_number": 777}))),
        Ok((201, json!([1]))),
    ] {
        for fallback in ["reject", "rules"] {
            let found = decided(json!({"fallback": fallback}), said.clone());
            assert_eq!(found, (json!("rejected"), json!("AB05")), "{said:?}");
        }
    }
    let rejected = Ok((201, json!({"transaction_status": "REJECTED", "status_reason": "AC04"})));
    assert_eq!(decided(json!({"fallback": "rules"}), rejected), (json!("rejected"), json!("AC04")));
}

#[test]
fn no_answer_is_decided_by_the_fallback() {
    for said in [Err("timeout"), Ok((503, json!({"transaction_status": "APPROVED"})))] {
        assert_eq!(decided(json!({}), said.clone()), (json!("rejected"), json!("AB05")), "{said:?}");
        assert_eq!(
            decided(json!({"fallback": "rules"}), said.clone()),
            (json!("approved"), json!("62001")),
            "{said:?}"
        );
    }
}

#[test]
fn a_rejection_counts_even_where_the_rest_of_it_makes_no_sense() {
    for (rest, expected) in [
        (json!({}), "MS03"),
        (json!({"status_reason": null}), "MS03"),
        (json!({"status_reason": ""}), "MS03"),
        (json!({"status_reason": 7}), "MS03"),
        (json!({"status_reason": "x".repeat(1_001)}), "MS03"),
        (json!({"status_reason": "AC04", "account_number": "?"}), "AC04"),
        (json!({"status_reason": "AC04", "account_number": 7}), "AC04"),
    ] {
        let mut said = json!({"transaction_status": "REJECTED"});
        said.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        let found = decided(json!({"fallback": "rules"}), Ok((200, said)));
        assert_eq!(found, (json!("rejected"), json!(expected)), "{rest}");
    }
}

#[test]
fn a_synchronous_authorisation_asks_within_its_answer() {
    let host = asking(json!({}), Ok((200, json!({"transaction_status": "APPROVED"}))));
    let answer = send(&host, AUTHORISE_SYNC, &minimal(AUTHORISE_SYNC));
    assert_eq!((answer.status, answer.json()["transaction_status"].clone()), (200, json!("APPROVED")));
}

#[test]
fn a_question_carries_the_trace_and_stands_in_the_journal() {
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let host = partner(json!({"decide": "ask"})).answers(move |call| {
        assert_eq!(call.headers[0].value, trace);
        assert_eq!(call.timeout, 4_000);
        Ok(response(200, &json!({"transaction_status": "APPROVED"})))
    });
    host.call(TestCall::post(AUTHORISE).json(&minimal(AUTHORISE)).header("traceparent", trace));
    host.run_due();
    let told = host.journal().into_iter().filter(|line| line["operation"] == "decisions");
    let told: Vec<(Value, Value)> = told.map(|line| (line["direction"].clone(), line["outcome"].clone())).collect();
    assert_eq!(told, [(json!("out"), json!("started")), (json!("reply"), json!("200"))]);
}

#[test]
fn the_bank_resolves_a_proxy() {
    let table = [
        (
            Ok((200, json!({"transaction_status": "APPROVED", "account_number": "777"}))),
            json!({"creditor_account_number": "777"}),
        ),
        (
            Ok((200, json!({"transaction_status": "REJECTED", "status_reason": "PX03"}))),
            json!({"transaction_status": "REJECTED", "status_reason": "PX03"}),
        ),
        (Err("timeout"), json!({"transaction_status": "REJECTED", "status_reason": "AB05"})),
    ];
    for (said, expected) in table {
        let host = asking(json!({}), said);
        let answer = send(&host, DETERMINE, &minimal(DETERMINE));
        assert_eq!((answer.status, answer.json()), (200, expected));
    }
    let host = asking(json!({"fallback": "rules"}), Err("timeout"));
    assert_eq!(send(&host, DETERMINE, &minimal(DETERMINE)).json(), json!({"creditor_account_number": "62001"}));
}
