//! The flows of the specification, seen from the partner: what is stored, moved, told and answered.

use serde_json::json;
use tenon_plugin::test_kit::response;

use super::support::*;

#[test]
fn a_message_that_comes_after_its_time_is_rejected_at_once() {
    for (path, created, expected) in [
        (AUTHORISE, "2026-05-07T08:28:59Z", ("rejected", json!("AB05"))),
        (AUTHORISE_SYNC, "2026-05-07T08:28:59Z", ("rejected", json!("AB05"))),
        (AUTHORISE, "2020-01-01T00:00:00Z", ("approved", json!(null))),
    ] {
        let host = partner(json!({}));
        assert_eq!(host.now(), 1_778_142_600_000, "2026-05-07T08:30:00Z");
        send(&host, path, &message(path, json!({"creation_date_time": created})));
        host.run_due();
        assert_eq!((state(&host).as_str(), transaction(&host)["status_reason"].clone()), expected, "{path} {created}");
    }
}

#[test]
fn an_authorisation_is_acknowledged_decided_answered_and_completed() {
    let host = partner(json!({}));
    let answer = send(&host, AUTHORISE, &minimal(AUTHORISE));
    assert_eq!((answer.status, answer.json()), (202, json!({ "uetr": UETR })));
    assert_eq!((state(&host).as_str(), balance(&host, "held/62001")), ("processing", 0));
    host.run_due();
    assert_eq!((state(&host).as_str(), balance(&host, "held/62001")), ("approved", 10_050));
    let (destination, path, body) = outgoing(&host);
    assert_eq!((destination.as_str(), format!("/v1{path}").as_str()), ("platform", AUTHORISED));
    let said = json!({
        "uetr": UETR, "end_to_end_identification": "E2E-1", "payment_scheme": "ZA_RTC", "transaction_status": "APPROVED",
    });
    assert_eq!(body, said);
    reply(&host, 202, &json!({}));
    assert_eq!(transaction(&host)["response"], "delivered");
    assert_eq!(send(&host, COMPLETE, &minimal(COMPLETE)).status, 202);
    assert_eq!((state(&host).as_str(), balance(&host, "held/62001")), ("completed", 0));
    assert_eq!((balance(&host, "customer/62001"), balance(&host, "settlement/ZA_RTC")), (10_050, -10_050));
    let expected = ["authorisation_received", "authorisation_responded", "completed"];
    assert_eq!(events(&host), expected.map(|name| format!("inbound.credit_transfer.{name}")));
}

#[test]
fn a_rejection_has_a_reason_and_moves_nothing() {
    let host = partner(json!({}));
    put_account(&host, &json!({"account_number": "62001", "status": "closed"}));
    send(&host, AUTHORISE, &minimal(AUTHORISE));
    host.run_due();
    let (_, _, body) = outgoing(&host);
    assert_eq!((&body["transaction_status"], &body["status_reason"]), (&json!("REJECTED"), &json!("AC04")));
    assert_eq!((state(&host).as_str(), balance(&host, "settlement/ZA_RTC")), ("rejected", 0));
}

#[test]
fn a_synchronous_authorisation_is_decided_in_its_answer() {
    let host = partner(json!({}));
    let answer = send(&host, AUTHORISE_SYNC, &minimal(AUTHORISE_SYNC));
    assert_eq!((answer.status, answer.json()), (200, json!({"uetr": UETR, "transaction_status": "APPROVED"})));
    assert_eq!((host.effects().len(), balance(&host, "held/62001")), (0, 10_050));
    put_account(&host, &json!({"account_number": "62001", "status": "blocked"}));
    let other = message(AUTHORISE_SYNC, json!({"uetr": "97ed4827-7b6f-4491-a06f-b548d5a7512e"}));
    let rejected = send(&host, AUTHORISE_SYNC, &other).json();
    assert_eq!((&rejected["transaction_status"], &rejected["status_reason"]), (&json!("REJECTED"), &json!("AC06")));
}

#[test]
fn an_eft_credit_transfer_is_completed_when_it_is_applied_and_its_rejection_is_a_return() {
    let host = partner(json!({}));
    assert_eq!(send(&host, TRANSFER, &minimal(TRANSFER)).status, 202);
    assert_eq!((state(&host).as_str(), balance(&host, "unapplied/ZA_EFT")), ("received", 10_050));
    host.run_due();
    assert_eq!(state(&host), "completed");
    assert_eq!((balance(&host, "unapplied/ZA_EFT"), balance(&host, "customer/62001")), (0, 10_050));
    assert_eq!(outgoing(&host).1, "/transactions/inbound/credit-transfer-response");
    let host = partner(json!({}));
    send(&host, TRANSFER, &message(TRANSFER, json!({"creditor_account_number": "999"})));
    host.run_due();
    assert_eq!((state(&host).as_str(), balance(&host, "settlement/ZA_EFT")), ("rejected", 0));
    assert_eq!(outgoing(&host).2["status_reason"], "AC01");
}

#[test]
fn an_eft_direct_debit_takes_from_its_debtor() {
    let host = partner(json!({}));
    assert_eq!(send(&host, DEBIT, &minimal(DEBIT)).status, 202);
    assert_eq!(state(&host), "processing");
    host.run_due();
    assert_eq!((state(&host).as_str(), balance(&host, "customer/62001")), ("approved", -10_050));
    assert_eq!(outgoing(&host).1, "/transactions/inbound/direct-debit-response");
    assert_eq!(events(&host), ["inbound.direct_debit.received"]);
}

#[test]
fn a_debit_without_funds_is_rejected_where_the_ledger_holds_the_balances() {
    let host = partner(json!({"balances": "ledger"}));
    send(&host, DEBIT, &minimal(DEBIT));
    host.run_due();
    assert_eq!((state(&host).as_str(), outgoing(&host).2["status_reason"].clone()), ("rejected", json!("AM04")));
    assert_eq!(balance(&host, "customer/62001"), 0);
}

#[test]
fn an_account_from_before_the_ledger_held_the_balances_is_bound_as_well() {
    let approved = |call: &tenon_plugin::effects::OutgoingCall| {
        assert_eq!(call.path, "/decisions");
        Ok(response(200, &json!({"transaction_status": "APPROVED"})))
    };
    let host = partner(json!({})).answers(approved);
    send(&host, TRANSFER, &message(TRANSFER, json!({"uetr": "97ed4827-7b6f-4491-a06f-b548d5a7512e"})));
    host.run_due();
    let ledger = json!({"side": "partner", "balances": "ledger", "decide": "ask"});
    let host = host.setting("acme", &ledger.to_string());
    send(&host, DEBIT, &message(DEBIT, json!({"uetr": "97ed4827-7b6f-4491-a06f-b548d5a7512f"})));
    host.run_due();
    assert_eq!(balance(&host, "customer/62001"), 0);
    send(&host, DEBIT, &minimal(DEBIT));
    host.run_due();
    let shown = transaction(&host);
    assert_eq!((&shown["state"], &shown["status_reason"]), (&json!("rejected"), &json!("AM04")));
    assert_eq!(balance(&host, "customer/62001"), 0);
}

#[test]
fn a_proxy_is_resolved_to_its_account_or_to_a_reason() {
    let host = partner(json!({}));
    let answer = send(&host, DETERMINE, &minimal(DETERMINE));
    assert_eq!((answer.status, answer.json()), (200, json!({"creditor_account_number": "62001"})));
    let answer = send(&host, DETERMINE, &message(DETERMINE, json!({"creditor_account_proxy": "bob@bank"})));
    let expected = json!({"transaction_status": "REJECTED", "status_reason": "BE23"});
    assert_eq!((answer.status, answer.json()), (200, expected));
    assert_eq!(events(&host), ["inbound.identifier.determination_received"; 2]);
}

#[test]
fn what_is_not_decided_in_time_is_rejected() {
    let host = partner(json!({"rtc-decision-ms": 1_000}));
    send(&host, AUTHORISE, &minimal(AUTHORISE));
    host.advance_ms(1_000);
    host.run_due();
    assert_eq!((state(&host).as_str(), outgoing(&host).2["status_reason"].clone()), ("rejected", json!("AB05")));
}

#[test]
fn a_completion_that_overtakes_the_approval_waits_for_it() {
    let host = partner(json!({}));
    send(&host, AUTHORISE, &minimal(AUTHORISE));
    assert_eq!(send(&host, COMPLETE, &minimal(COMPLETE)).status, 202);
    assert_eq!(
        (state(&host).as_str(), transaction(&host)["completion"]["applied"].clone()),
        ("processing", json!(false))
    );
    host.run_due();
    assert_eq!((state(&host).as_str(), balance(&host, "customer/62001")), ("completed", 10_050));
}

#[test]
fn a_completion_that_did_not_settle_releases_the_hold() {
    let host = partner(json!({}));
    send(&host, AUTHORISE, &minimal(AUTHORISE));
    host.run_due();
    send(&host, COMPLETE, &message(COMPLETE, json!({"transaction_status": "REJECTED", "status_reason": "AB03"})));
    assert_eq!((state(&host).as_str(), balance(&host, "held/62001")), ("approved", 0));
    assert_eq!((balance(&host, "settlement/ZA_RTC"), balance(&host, "customer/62001")), (0, 0));
}

#[test]
fn an_approval_without_a_completion_is_marked_and_counted() {
    let host = partner(json!({}));
    send(&host, AUTHORISE, &minimal(AUTHORISE));
    host.run_due();
    host.advance_ms(60_000);
    host.run_due();
    let shown = transaction(&host);
    assert_eq!(
        (&shown["state"], &shown["overdue"], &shown["concerns"]),
        (&json!("approved"), &json!(true), &json!(["overdue"]))
    );
    let counts = host.call(tenon_plugin::test_kit::TestCall::get("/v1/clearing/reports/concerns")).json();
    assert_eq!(counts, json!({"overdue": 1, "undelivered": 0, "undecided": 0, "contradicted": 0}));
}

#[test]
fn a_decision_that_breaks_again_and_again_is_given_up() {
    let host = partner(json!({}));
    host.put_record("accounts", "62001", &json!({"broken": true}));
    send(&host, AUTHORISE, &minimal(AUTHORISE));
    while host.run_one().is_some() {
        host.advance_ms(1_000);
    }
    let shown = transaction(&host);
    assert_eq!((&shown["state"], &shown["transaction_status"]), (&json!("failed"), &json!(null)));
    assert_eq!(shown["concerns"], json!(["undecided"]));
}

#[test]
fn a_response_is_repeated_until_it_is_taken_and_listed_when_it_is_refused() {
    let host = partner(json!({}));
    send(&host, DEBIT, &minimal(DEBIT));
    host.run_due();
    let first = outgoing(&host);
    silence(&host);
    assert_eq!(outgoing(&host), first);
    reply(&host, 422, &json!({}));
    assert_eq!((transaction(&host)["concerns"].clone(), host.effects().len()), (json!(["undelivered"]), 0));
    let again = format!("/v1/clearing/transactions/{UETR}/redelivery");
    assert_eq!(send(&host, &again, &json!({})).status, 202);
    assert_eq!(outgoing(&host), first);
    assert_eq!(send(&host, &again, &json!({})).status, 422);
}

#[test]
fn the_history_tells_every_edge() {
    let host = partner(json!({}));
    send(&host, AUTHORISE, &minimal(AUTHORISE));
    host.run_due();
    reply(&host, 202, &json!({}));
    send(&host, COMPLETE, &minimal(COMPLETE));
    let shown = transaction(&host);
    let edges = shown["history"].as_array().unwrap().iter().filter(|line| !line["to"].is_null());
    let edges: Vec<(&str, &str)> =
        edges.map(|line| (line["from"].as_str().unwrap(), line["to"].as_str().unwrap())).collect();
    assert_eq!(edges, [("received", "processing"), ("processing", "approved"), ("approved", "completed")]);
    assert_eq!(shown["message"]["bank_settlement_amount_value"].to_string(), "100.5");
}

#[test]
fn every_message_in_and_out_is_in_the_journal() {
    let host = partner(json!({}));
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let call = tenon_plugin::test_kit::TestCall::post(AUTHORISE).json(&minimal(AUTHORISE)).header("traceparent", trace);
    host.call(call);
    host.run_due();
    assert_eq!(host.effects()[0].effect.call.headers[0].value, trace);
    reply(&host, 202, &json!({}));
    send(&host, AUTHORISE, &message(AUTHORISE, json!({"end_to_end_identification": "E2E-2"})));
    let told: Vec<String> =
        host.journal().iter().map(|line| format!("{} {}", line["direction"], line["outcome"])).collect();
    assert_eq!(
        told,
        [r#""in" "accepted""#, r#""out" "started""#, r#""reply" "202""#, r#""in" "INBOUND_UNPROCESSABLE""#]
    );
    let journal = format!("{:?}", host.journal());
    assert!(journal.contains("4bf92f35") && !journal.contains("62001") && !journal.contains("E2E"), "{journal}");
}
