//! A partner that asks the bank's own system.

use serde_json::{Value, json};
use tenon_plugin::Content;
use tenon_plugin::tasks::Outcome;
use tenon_plugin::test_kit::{START_MS, TestCall, TestHost, response};

use super::support::*;

const OTHER_UETR: &str = "97ed4827-7b6f-4491-a06f-b548d5a7512e";

fn asking(settings: Value, said: Result<(u16, Value), &'static str>) -> TestHost {
    let mut all = json!({"decide": "ask"});
    all.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
    partner(all).answers(move |call| {
        let Content::Json(body) = &call.content else { panic!("a question is JSON") };
        let body: Value = serde_json::from_str(body).unwrap();
        assert_eq!(call.destination, "bank");
        match call.path.as_str() {
            "/decisions" => {
                assert!([UETR, OTHER_UETR].contains(&body["uetr"].as_str().unwrap()) && body["operation"].is_string());
                assert_eq!(body["tenant"], "acme/test");
            }
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
fn unreadable_answer_is_a_rejection_that_is_notified() {
    for class in ["too-large", "incomplete", "protocol"] {
        for path in [AUTHORISE, AUTHORISE_SYNC] {
            let host = asking(json!({"fallback": "rules"}), Err(class));
            send(&host, path, &minimal(path));
            host.run_due();
            let shown = transaction(&host);
            assert_eq!(
                (&shown["state"], &shown["status_reason"]),
                (&json!("rejected"), &json!("AB05")),
                "{class} {path}"
            );
            assert_eq!(notified(&host)[0].2["outcome"], "release", "{class} {path}");
        }
        let host = asking(json!({"fallback": "rules"}), Err(class));
        let resolved = send(&host, DETERMINE, &minimal(DETERMINE)).json();
        assert_eq!(resolved, json!({"transaction_status": "REJECTED", "status_reason": "AB05"}), "{class}");
    }
}

#[test]
fn no_answer_is_decided_by_the_fallback() {
    for said in [Err("timeout"), Err("reset"), Err("refused"), Ok((503, json!({"transaction_status": "APPROVED"})))] {
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

/// The notifications in flight: destination, idempotency key, and body.
fn notified(host: &TestHost) -> Vec<(String, String, Value)> {
    let effects = host.effects().into_iter().map(|started| started.effect);
    let notices = effects.filter(|effect| effect.then == "bank-notified");
    notices
        .map(|effect| {
            let Content::Json(body) = &effect.call.content else { panic!("a notification is JSON") };
            let to = format!("{} {}{}", effect.call.method, effect.call.destination, effect.call.path);
            (to, effect.key, serde_json::from_str(body).unwrap())
        })
        .collect()
}

/// A payment that the bank has approved, and whose response was taken.
fn approved(host: &TestHost, path: &str) {
    send(host, path, &minimal(path));
    host.run_due();
    host.settle("response-settled", UETR, Outcome::Answered(response(202, &json!({}))));
    host.run_due();
}

fn approving() -> TestHost {
    asking(json!({}), Ok((200, json!({"transaction_status": "APPROVED"}))))
}

#[test]
fn the_bank_is_notified_when_an_approved_payment_is_settled_or_not() {
    for (status, outcome) in [("APPROVED", "post"), ("REJECTED", "release")] {
        let host = approving();
        approved(&host, AUTHORISE);
        assert_eq!((notified(&host).len(), transaction(&host)["bank_notification"].clone()), (0, json!("not_due")));
        let body = message(COMPLETE, json!({"transaction_status": status, "status_reason": "AC06"}));
        for body in [message(COMPLETE, json!({"transaction_status": "PENDING"})), body.clone(), body] {
            assert_eq!(send(&host, COMPLETE, &body).status, 202);
        }
        let all = notified(&host);
        let [(to, key, body)] = all.as_slice() else { panic!("{all:?}") };
        assert_eq!((to.as_str(), key.as_str()), ("POST bank/outcomes", &*format!("acme/test:{outcome}:{UETR}")));
        let expected = json!({
            "uetr": UETR, "end_to_end_identification": "E2E-1", "message_identification": "M-1",
            "bank_settlement_amount_value": 100.50, "bank_settlement_amount_currency": "ZAR", "payment_scheme": "ZA_RTC",
            "settlement_date": "2026-05-07", "status_reason": "AC06", "operation": "credit-transfer-authorisation",
            "outcome": outcome, "account_number": "62001", "tenant": "acme/test",
        });
        assert_eq!(*body, expected);
        host.settle("bank-notified", key, Outcome::Answered(response(200, &json!({}))));
        host.run_due();
        let shown = transaction(&host);
        assert_eq!((&shown["bank_notification"], &shown["concerns"]), (&json!("delivered"), &json!([])));
    }
}

#[test]
fn the_bank_is_notified_of_what_was_rejected_in_spite_of_it() {
    // It may have approved what it did not answer in time.
    for fallback in ["reject", "rules"] {
        let host = asking(json!({"fallback": fallback}), Err("timeout"));
        put_account(&host, &json!({"account_number": "62001", "status": "closed"}));
        send(&host, DEBIT, &minimal(DEBIT));
        host.run_due();
        let (_, _, body) = notified(&host).remove(0);
        let reason = if fallback == "reject" { "AB05" } else { "AC04" };
        assert_eq!((&body["outcome"], &body["status_reason"]), (&json!("release"), &json!(reason)));
    }
}

#[test]
fn bank_that_does_not_decide_is_not_notified() {
    let host = partner(json!({}));
    send(&host, DEBIT, &minimal(DEBIT));
    host.run_due();
    assert_eq!((notified(&host).len(), transaction(&host)["bank_notification"].clone()), (0, Value::Null));
}

#[test]
fn a_notification_that_is_not_taken_is_listed_and_sent_again_on_request() {
    let host = approving();
    approved(&host, DEBIT);
    let (_, key, first) = notified(&host).remove(0);
    host.settle("bank-notified", &key, Outcome::Unknown("timeout".to_owned()));
    while let Some(Ok(())) = host.run_one() {}
    assert_eq!(transaction(&host)["bank_notification"], "unreached");
    host.settle("bank-notified", &key, Outcome::Unknown("timeout".to_owned()));
    // The alarm is a task that fails, so that it is on the operators' list.
    let ends: Vec<bool> = std::iter::from_fn(|| host.run_one()).take(3).map(|end| end.is_ok()).collect();
    assert!(ends.contains(&false), "{ends:?}");
    let shown = transaction(&host);
    assert_eq!((&shown["bank_notification"], &shown["concerns"]), (&json!("undelivered"), &json!(["undelivered"])));
    let again = send(&host, &format!("/v1/clearing/transactions/{UETR}/redelivery"), &json!({}));
    assert_eq!(again.status, 202, "{}", again.body);
    assert_eq!(notified(&host).remove(0).2, first);
    assert!(host.tasks().iter().all(|task| task.name != "bank-not-notified"), "the alarm ends");
}

#[test]
fn a_bank_without_a_system_has_no_notification() {
    for (fallback, state) in [("rules", "approved"), ("reject", "rejected")] {
        let host = asking(json!({"fallback": fallback}), Err("no-such-destination"));
        for (path, uetr) in [(DEBIT, UETR), (AUTHORISE_SYNC, OTHER_UETR)] {
            send(&host, path, &message(path, json!({"uetr": uetr})));
            host.run_due();
            let shown = host.call(TestCall::get(&format!("/v1/clearing/transactions/{uetr}"))).json();
            assert_eq!((&shown["state"], &shown["bank_notification"]), (&json!(state), &Value::Null), "{path}");
        }
        assert_eq!(notified(&host), []);
    }
}

fn broken(failure: &str, body: &Value) -> String {
    json!({
        "failure": failure, "operation": "credit-transfer-authorisation-sync", "method": "POST", "path": AUTHORISE_SYNC,
        "parameters": [], "query": [], "body": body.to_string(), "subject": "client", "request-id": "r1",
    })
    .to_string()
}

#[test]
fn a_synchronous_authorisation_that_broke_is_rejected_and_released_when_its_time_is_over() {
    let host = approving();
    host.put_task("sync-broken", "0123", START_MS, &broken("plugin-failed", &minimal(AUTHORISE_SYNC)));
    host.run_due();
    assert_eq!(host.call(TestCall::get(&format!("/v1/clearing/transactions/{UETR}"))).status, 404);
    assert_eq!(notified(&host), [], "a repeat may still be approved");
    host.advance_ms(30_000);
    host.run_due();
    let shown = transaction(&host);
    assert_eq!((&shown["state"], &shown["status_reason"]), (&json!("rejected"), &json!("AB05")));
    let (_, key, body) = notified(&host).remove(0);
    assert_eq!((key, &body["outcome"]), (format!("acme/test:release:{UETR}"), &json!("release")));
    let late = send(&host, AUTHORISE_SYNC, &minimal(AUTHORISE_SYNC));
    assert_eq!((late.status, late.json()["transaction_status"].clone()), (200, json!("REJECTED")));
    assert_eq!(notified(&host).len(), 1);
}

#[test]
fn a_repeat_of_a_synchronous_authorisation_that_broke_is_decided_and_never_released() {
    let host = approving();
    host.put_task("sync-broken", "0123", START_MS, &broken("deadline-exceeded", &minimal(AUTHORISE_SYNC)));
    host.run_due();
    let again = send(&host, AUTHORISE_SYNC, &minimal(AUTHORISE_SYNC));
    assert_eq!(again.json()["transaction_status"], "APPROVED");
    host.advance_ms(30_000);
    host.run_due();
    assert_eq!((state(&host), notified(&host)), ("approved".to_owned(), Vec::new()));
    send(&host, COMPLETE, &minimal(COMPLETE));
    let (_, key, body) = notified(&host).remove(0);
    assert_eq!((key, &body["outcome"]), (format!("acme/test:post:{UETR}"), &json!("post")));
}

#[test]
fn repeat_without_a_destination_releases_what_the_broken_request_may_hold() {
    for (fallback, status, outcome) in [("reject", "REJECTED", "release"), ("rules", "APPROVED", "post")] {
        let host = asking(json!({"fallback": fallback}), Err("no-such-destination"));
        host.put_task("sync-broken", "0123", START_MS, &broken("deadline-exceeded", &minimal(AUTHORISE_SYNC)));
        host.run_due();
        let again = send(&host, AUTHORISE_SYNC, &minimal(AUTHORISE_SYNC));
        assert_eq!(again.json()["transaction_status"], status);
        assert!(host.tasks().iter().all(|task| task.name != "sync-abandoned"), "the timer ends with the decision");
        if status == "APPROVED" {
            send(&host, COMPLETE, &minimal(COMPLETE));
        }
        assert_eq!(notified(&host)[0].2["outcome"], outcome);
    }
}

#[test]
fn broken_request_without_a_question_leaves_nothing() {
    let by_rules = partner(json!({}));
    by_rules.put_task("sync-broken", "0123", START_MS, &broken("plugin-failed", &minimal(AUTHORISE_SYNC)));
    by_rules.run_due();
    assert_eq!(by_rules.tasks(), []);
    let host = approving();
    for body in [json!({}), json!({"uetr": "no"}), json!([])] {
        host.put_task("sync-broken", "0123", START_MS, &broken("plugin-failed", &body));
        host.run_due();
    }
    assert_eq!(host.tasks(), []);
}

#[test]
fn a_payment_that_came_after_its_time_has_no_notification_and_one_whose_time_ran_out_has_one() {
    for (came_late, expected) in [(true, Value::Null), (false, json!("underway"))] {
        let host = asking(json!({}), Err("no such question"));
        let created = if came_late { "2026-05-07T08:29:00Z" } else { "2026-05-07T08:30:00Z" };
        send(&host, AUTHORISE, &message(AUTHORISE, json!({"creation_date_time": created})));
        host.advance_ms(31_000);
        host.run_due();
        let shown = transaction(&host);
        assert_eq!((&shown["status_reason"], &shown["bank_notification"]), (&json!("AB05"), &expected));
    }
}
