//! The flows of the specification, seen from the platform.

use serde_json::{Value, json};
use tenon_plugin::test_kit::TestCall;

use super::support::*;

const PROXY: &str = r#"{"payment_scheme": "ZA_RPP", "creditor_account_proxy": "ada@bank"}"#;

fn by_proxy() -> Value {
    serde_json::from_str(PROXY).unwrap()
}

#[test]
fn an_authorisation_is_sent_answered_settled_and_completed() {
    let host = platform(json!({}));
    assert_eq!(submit(&host, AUTHORISE, json!({})).status, 202);
    let (destination, path, body) = outgoing(&host);
    assert_eq!(
        (destination.as_str(), format!("/v1{path}").as_str(), &body),
        ("bank-a", AUTHORISE, &minimal(AUTHORISE))
    );
    reply(&host, 202, &json!({}));
    assert_eq!(send(&host, AUTHORISED, &minimal(AUTHORISED)).status, 202);
    assert_eq!(state(&host), "approved");
    assert_eq!(settle(&host, json!({})).status, 202);
    let (_, path, body) = outgoing(&host);
    assert_eq!((format!("/v1{path}").as_str(), &body["settlement_date"]), (COMPLETE, &json!("2026-05-07")));
    silence(&host);
    reply(&host, 202, &json!({}));
    assert_eq!((state(&host).as_str(), transaction(&host)["delivery"].clone()), ("completed", json!("delivered")));
    let expected = ["authorisation_received", "authorisation_responded", "completed"];
    assert_eq!(events(&host), expected.map(|name| format!("inbound.credit_transfer.{name}")));
    assert_eq!(
        (settle(&host, json!({})).status, settle(&host, json!({"settlement_date": "2026-05-08"})).status),
        (202, 422)
    );
}

#[test]
fn a_synchronous_authorisation_is_answered_in_its_reply() {
    for (said, expected) in [
        (json!({"uetr": UETR, "transaction_status": "APPROVED"}), "approved"),
        (json!({"uetr": UETR, "transaction_status": "REJECTED", "status_reason": "AC04"}), "rejected"),
        (json!({"uetr": UETR, "transaction_status": "REJECTED"}), "failed"),
        (json!({"uetr": "97ed4827-7b6f-4491-a06f-b548d5a7512e", "transaction_status": "APPROVED"}), "failed"),
        (json!("yes"), "failed"),
    ] {
        let host = platform(json!({}));
        submit(&host, AUTHORISE_SYNC, json!({}));
        reply(&host, 200, &said);
        assert_eq!(state(&host), expected, "{said}");
    }
}

#[test]
fn a_proxy_is_resolved_by_the_partner_before_it_is_asked_to_take_the_payment() {
    let host = platform(json!({}));
    submit(&host, AUTHORISE, by_proxy());
    let (_, path, body) = outgoing(&host);
    assert_eq!((format!("/v1{path}").as_str(), &body["creditor_account_proxy"]), (DETERMINE, &json!("ada@bank")));
    assert_eq!(events(&host), [""; 0]);
    reply(&host, 200, &json!({"creditor_account_number": "62001"}));
    assert_eq!(events(&host), ["inbound.identifier.determination_received"]);
    let (_, path, body) = outgoing(&host);
    assert_eq!((format!("/v1{path}").as_str(), &body["creditor_account_number"]), (AUTHORISE, &json!("62001")));
    // What was submitted is compared with what is submitted again, not with what became of it.
    assert_eq!(submit(&host, AUTHORISE, by_proxy()).status, 202);
}

#[test]
fn a_proxy_that_is_not_resolved_ends_the_payment() {
    for (status, said, expected, reason) in [
        (200, json!({"transaction_status": "REJECTED", "status_reason": "BE23"}), "rejected", json!("BE23")),
        (200, json!({"transaction_status": "APPROVED"}), "failed", json!(null)),
        (500, json!({}), "failed", json!(null)),
        (429, json!({}), "timed_out", json!("AB01")),
    ] {
        let host = platform(json!({}));
        submit(&host, AUTHORISE, by_proxy());
        reply(&host, status, &said);
        let shown = transaction(&host);
        assert_eq!((&shown["state"], &shown["status_reason"]), (&json!(expected), &reason), "{said}");
        assert_eq!(events(&host).len(), usize::from(expected == "rejected"), "who answers was asked: {said}");
    }
}

#[test]
fn a_managed_proxy_and_a_mirrored_account_are_judged_by_the_platform() {
    let host = platform(json!({"account_mirroring": true, "proxy_management": true}));
    put_account(&host, &json!({"partner": "bank-a", "account_number": "62001", "proxies": ["ada@bank"]}));
    submit(&host, AUTHORISE, by_proxy());
    assert_eq!(outgoing(&host).2["creditor_account_number"], "62001");
    for (account, reason) in [("62001", "AC04"), ("999", "AC01")] {
        let host = platform(json!({"account_mirroring": true}));
        put_account(&host, &json!({"partner": "bank-a", "account_number": "62001", "status": "closed"}));
        submit(&host, AUTHORISE, json!({"creditor_account_number": account}));
        let shown = transaction(&host);
        assert_eq!((&shown["state"], &shown["status_reason"]), (&json!("rejected"), &json!(reason)));
        assert_eq!(host.effects().len(), 0);
    }
}

#[test]
fn a_request_that_nobody_acknowledges_times_out_and_a_late_response_is_refused() {
    let host = platform(json!({}));
    submit(&host, AUTHORISE, json!({}));
    silence(&host);
    assert_eq!(state(&host), "timed_out");
    let late = send(&host, AUTHORISED, &minimal(AUTHORISED));
    assert_eq!(refusal(&late).2, "The time of the scheme is over.");
    let host = platform(json!({}));
    submit(&host, AUTHORISE, json!({}));
    reply(&host, 202, &json!({}));
    host.advance_ms(60_000);
    // Whether or not the timer has fired.
    assert_eq!(send(&host, AUTHORISED, &minimal(AUTHORISED)).status, 422);
    host.run_due();
    assert_eq!((state(&host).as_str(), transaction(&host)["status_reason"].clone()), ("timed_out", json!("AB05")));
}

#[test]
fn a_request_that_the_partner_refuses_fails() {
    for status in [400, 422, 500] {
        let host = platform(json!({}));
        submit(&host, AUTHORISE, json!({}));
        reply(&host, status, &json!({"code": "INBOUND_SERVER_ERROR", "message": "x"}));
        assert_eq!(state(&host), "failed", "{status}");
    }
}

#[test]
fn eft_items_are_repeated_until_they_are_taken_and_answered_later() {
    let host = platform(json!({}));
    submit(&host, TRANSFER, json!({}));
    silence(&host);
    assert_eq!(state(&host), "received");
    reply(&host, 202, &json!({}));
    assert_eq!((state(&host).as_str(), transaction(&host)["delivery"].clone()), ("received", json!("delivered")));
    let returned = json!({"transaction_status": "REJECTED", "status_reason": "AC01"});
    assert_eq!(send(&host, TRANSFERRED, &message(TRANSFERRED, returned)).status, 202);
    assert_eq!(
        (state(&host).as_str(), transaction(&host)["response"]["status_reason"].clone()),
        ("rejected", json!("AC01"))
    );
    let host = platform(json!({}));
    submit(&host, DEBIT, json!({}));
    reply(&host, 202, &json!({}));
    assert_eq!(send(&host, DEBITED, &minimal(DEBITED)).status, 202);
    assert_eq!(state(&host), "approved");
}

#[test]
fn a_direct_debit_whose_repeat_is_refused_may_have_been_taken() {
    for status in [401, 403, 404, 422] {
        let host = platform(json!({}));
        submit(&host, DEBIT, json!({}));
        silence(&host);
        reply(&host, status, &json!({"code": "INBOUND_UNAUTHORIZED", "message": "x"}));
        let shown = transaction(&host);
        assert_eq!((&shown["state"], &shown["concerns"]), (&json!("processing"), &json!(["undelivered"])), "{status}");
        let again = host.call(TestCall::post(&format!("/v1/clearing/transactions/{UETR}/redelivery")));
        assert_eq!((again.status, outgoing(&host).1), (202, "/transactions/inbound/direct-debit".to_owned()));
        assert_eq!(send(&host, DEBITED, &minimal(DEBITED)).status, 202);
        let shown = transaction(&host);
        assert_eq!((&shown["state"], &shown["concerns"]), (&json!("approved"), &json!([])), "{status}");
    }
}

#[test]
fn a_settlement_that_failed_is_told_to_the_partner() {
    let host = platform(json!({}));
    submit(&host, AUTHORISE, json!({}));
    assert_eq!(settle(&host, json!({})).status, 422);
    reply(&host, 202, &json!({}));
    send(&host, AUTHORISED, &minimal(AUTHORISED));
    for wrong in [
        json!({"transaction_status": "PENDING"}),
        json!({"settlement_date": "tomorrow"}),
        json!({"bank_settlement_amount_value": 1, "bank_settlement_amount_currency": "ZAR"}),
    ] {
        assert_eq!(settle(&host, wrong).status, 422);
    }
    assert_eq!(settle(&host, json!({"transaction_status": "REJECTED"})).status, 202);
    assert_eq!(
        (state(&host).as_str(), outgoing(&host).2["transaction_status"].clone()),
        ("approved", json!("REJECTED"))
    );
    assert_eq!(settle(&host, json!({})).status, 422);
}

#[test]
fn a_partner_that_approved_in_vain_is_told_that_nothing_is_settled() {
    let bank = partner(json!({}));
    send(&bank, AUTHORISE, &minimal(AUTHORISE));
    bank.run_due();
    assert_eq!(balance(&bank, "held/62001"), 10_050);
    let hub = platform(json!({}));
    submit(&hub, AUTHORISE, json!({}));
    silence(&hub);
    reply(&bank, send(&hub, AUTHORISED, &minimal(AUTHORISED)).status, &json!({}));
    assert_eq!(transaction(&bank)["concerns"], json!(["undelivered"]));
    assert_eq!((settle(&hub, json!({})).status, state(&hub).as_str()), (422, "timed_out"));
    assert_eq!(settle(&hub, json!({"transaction_status": "REJECTED"})).status, 202);
    let (_, path, completion) = outgoing(&hub);
    assert_eq!(send(&bank, &format!("/v1{path}"), &completion).status, 202);
    reply(&hub, 202, &json!({}));
    assert_eq!((state(&hub).as_str(), transaction(&hub)["delivery"].clone()), ("timed_out", json!("delivered")));
    assert_eq!((balance(&bank, "held/62001"), transaction(&bank)["concerns"].clone()), (0, json!([])));
}

#[test]
fn a_submission_says_what_is_asked_of_whom() {
    let host = platform(json!({"payment_schemes": ["ZA_EFT"]}));
    for (changes, expected) in [
        (json!({"partner": null}), "partner is required."),
        (json!({"partner": "nobody"}), "partner must be the id of a partner."),
        (json!({"operation": "refund"}), "operation must be one of: "),
        (json!({}), "payment_scheme is not agreed with this partner."),
        (json!({"uetr": 7}), "uetr must be a text."),
    ] {
        let mut body = message(AUTHORISE, json!({"operation": "credit-transfer-authorisation", "partner": "bank-a"}));
        body.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        let (status, _, detail) = refusal(&send(&host, "/v1/clearing/payments", &body));
        assert!(status == 422 && detail.starts_with(expected), "{changes}: {detail}");
    }
}

#[test]
fn a_client_hears_of_its_own_partner_only() {
    // The client of the test kit's calls.
    let host = platform(json!({}));
    submit(&host, AUTHORISE, json!({}));
    let other = json!({"id": "bank-b", "payment_schemes": [], "client_ids": ["key_test"]});
    send(&host, "/v1/clearing/partners", &other);
    assert_eq!(send(&host, AUTHORISED, &minimal(AUTHORISED)).status, 404);
    assert_eq!(host.call(TestCall::get(&format!("/v1/clearing/transactions/{UETR}"))).status, 404);
    let list = host.call(TestCall::get("/v1/clearing/transactions")).json();
    assert_eq!(list["transactions"], json!([]));
    for path in ["partners", "reports/concerns", "reports/reconciliation", "stream", "webhook-endpoints"] {
        assert_eq!(host.call(TestCall::get(&format!("/v1/clearing/{path}"))).status, 403, "{path}");
    }
}

#[test]
fn a_partner_that_names_its_clients_is_answered_for_by_them_alone() {
    let host = platform(json!({"client_ids": ["somebody-else"]}));
    submit(&host, AUTHORISE, json!({}));
    assert_eq!(send(&host, AUTHORISED, &minimal(AUTHORISED)).status, 404);
}

#[test]
fn transactions_are_listed_by_what_they_are() {
    let host = platform(json!({}));
    submit(&host, AUTHORISE, json!({}));
    for (query, found) in [
        ("", 1),
        ("state=processing", 1),
        ("state=approved", 0),
        ("payment_scheme=ZA_RTC", 1),
        ("payment_scheme=ZA_EFT&state=processing", 0),
        ("partner=bank-a&end_to_end_identification=E2E-1", 1),
        ("partner=bank-b", 0),
        ("concern=overdue", 0),
        ("from=2026-05-07&to=2026-05-07", 1),
        ("to=2026-05-06", 0),
    ] {
        let list = host.call(TestCall::get(&format!("/v1/clearing/transactions?{query}"))).json();
        assert_eq!(list["transactions"].as_array().unwrap().len(), found, "{query}");
    }
    for query in ["state=x", "payment_scheme=x", "concern=x", "partner=X", "from=x", "to=2026-13-01", "limit=201"] {
        assert_eq!(host.call(TestCall::get(&format!("/v1/clearing/transactions?{query}"))).status, 422, "{query}");
    }
}

#[test]
fn a_day_with_many_payments_is_reconciled_in_pages() {
    let host = partner(json!({}));
    send(&host, AUTHORISE_SYNC, &minimal(AUTHORISE_SYNC));
    let stored = host.record("inbound", UETR).unwrap().to_string();
    for at in 0..2_000 {
        let uetr = format!("97ed4827-7b6f-4491-a06f-{at:012x}");
        host.put_record("inbound", &uetr, &serde_json::from_str(&stored.replace(UETR, &uetr)).unwrap());
    }
    let report = |query: &str| host.call(TestCall::get(&format!("/v1/clearing/reports/reconciliation?{query}"))).json();
    let first = report("");
    assert_eq!(first["rows"][0]["received"], json!({"count": 2_000, "value": 201_000.00}));
    let rest = report(&format!("after={}", first["next"].as_str().unwrap()));
    assert_eq!((&rest["rows"][0]["outstanding"]["count"], &rest["next"]), (&json!(1), &json!(null)));
}

#[test]
fn a_day_with_large_payments_is_reconciled_in_smaller_pages() {
    let host = partner(json!({}));
    send(&host, AUTHORISE_SYNC, &minimal(AUTHORISE_SYNC));
    let mut stored = host.record("inbound", UETR).unwrap();
    stored["filling"] = json!("x".repeat(64 << 10));
    for at in 0..500 {
        host.put_record("inbound", &format!("97ed4827-7b6f-4491-a06f-{at:012x}"), &stored);
    }
    let report = |query: &str| host.call(TestCall::get(&format!("/v1/clearing/reports/reconciliation?{query}"))).json();
    let count = |page: &Value| page["rows"][0]["received"]["count"].as_u64().unwrap();
    let first = report("");
    let rest = report(&format!("after={}", first["next"].as_str().unwrap()));
    assert_eq!((count(&first) + count(&rest), &rest["next"]), (501, &json!(null)));
}

#[test]
fn a_day_is_reconciled() {
    let host = partner(json!({}));
    send(&host, AUTHORISE_SYNC, &minimal(AUTHORISE_SYNC));
    send(&host, TRANSFER, &message(TRANSFER, json!({"uetr": "97ed4827-7b6f-4491-a06f-b548d5a7512e"})));
    let report = host.call(TestCall::get("/v1/clearing/reports/reconciliation?from=2026-05-07")).json();
    let rows = report["rows"].as_array().unwrap();
    assert_eq!((rows.len(), &report["next"]), (2, &json!(null)));
    assert_eq!((&rows[0]["payment_scheme"], &rows[0]["outstanding"]["count"]), (&json!("ZA_RTC"), &json!(1)));
    let one = json!({"count": 1, "value": 100.50});
    assert_eq!((&rows[1]["day"], &rows[1]["outstanding"]), (&json!("2026-05-07"), &one));
    host.run_due();
    let report = host.call(TestCall::get("/v1/clearing/reports/reconciliation?from=2026-05-07")).json();
    assert_eq!(report["rows"][1]["completed"], one);
}
