//! Repeats: the same message changes nothing and gets the same bytes; another one with the same uetr is refused by name.

use serde_json::json;

use super::support::*;

#[test]
fn the_same_message_gets_the_same_bytes_and_moves_nothing() {
    for path in [AUTHORISE, AUTHORISE_SYNC, TRANSFER, DEBIT] {
        let host = partner(json!({}));
        let first = send(&host, path, &minimal(path));
        host.run_due();
        let (events_before, shown) = (events(&host), transaction(&host));
        // A sender renews these, and may spell the others anew.
        let again = json!({
            "message_identification": "M-2", "creation_date_time": "2026-05-07T08:30:01Z", "uetr": UETR.to_uppercase(),
        });
        let again = send(&host, path, &message(path, again));
        assert_eq!((again.status, &again.body), (first.status, &first.body), "{path}");
        host.run_due();
        assert_eq!((events(&host), transaction(&host)), (events_before, shown), "{path}");
    }
}

#[test]
fn another_content_is_refused_by_the_names_of_its_fields() {
    let host = partner(json!({}));
    send(&host, AUTHORISE, &minimal(AUTHORISE));
    let other = json!({"bank_settlement_amount_value": 100.51, "creditor_legal_name": "Ada"});
    let answer = send(&host, AUTHORISE, &message(AUTHORISE, other));
    let (status, code, detail) = refusal(&answer);
    assert_eq!((status, code.as_str()), (422, "INBOUND_UNPROCESSABLE"));
    assert!(detail.starts_with("bank_settlement_amount_value is not") && detail.contains("creditor_legal_name is not"));
    assert!(!detail.contains("100") && !detail.contains("Ada") && !detail.contains("currency"), "{detail}");
    let answer = send(&host, TRANSFER, &minimal(TRANSFER));
    assert!(refusal(&answer).2.contains("known from another operation"), "{}", answer.body);
}

#[test]
fn a_completion_is_compared_with_the_first_one() {
    let host = partner(json!({}));
    send(&host, AUTHORISE, &minimal(AUTHORISE));
    host.run_due();
    let first = send(&host, COMPLETE, &minimal(COMPLETE));
    let again = send(&host, COMPLETE, &message(COMPLETE, json!({"message_identification": "M-9"})));
    assert_eq!((again.status, again.body), (202, first.body));
    assert_eq!(host.journal().last().unwrap()["outcome"], "repeated");
    let other = send(&host, COMPLETE, &message(COMPLETE, json!({"settlement_date": "2026-05-08"})));
    assert!(refusal(&other).2.starts_with("settlement_date is not"), "{}", other.body);
    let unsettled = send(&host, COMPLETE, &message(COMPLETE, json!({"transaction_status": "PENDING"})));
    assert_eq!((unsettled.status, balance(&host, "customer/62001")), (422, 10_050));
}

#[test]
fn a_response_is_compared_with_the_first_one() {
    let host = platform(json!({}));
    submit(&host, AUTHORISE, json!({}));
    let rejected = json!({"transaction_status": "REJECTED", "status_reason": "AC04"});
    let first = send(&host, AUTHORISED, &message(AUTHORISED, rejected.clone()));
    let again = send(&host, AUTHORISED, &message(AUTHORISED, rejected));
    assert_eq!((first.status, again.status, &again.body), (202, 202, &first.body));
    let reworded = json!({"transaction_status": "REJECTED", "status_reason": "AC06"});
    let reworded = send(&host, AUTHORISED, &message(AUTHORISED, reworded));
    assert!(refusal(&reworded).2.starts_with("status_reason is not"), "{}", reworded.body);
    let opposite = send(&host, AUTHORISED, &minimal(AUTHORISED));
    assert_eq!((opposite.status, state(&host).as_str()), (422, "rejected"));
}

#[test]
fn a_payment_is_submitted_once() {
    let host = platform(json!({}));
    let first = submit(&host, AUTHORISE, json!({}));
    assert_eq!((first.status, submit(&host, AUTHORISE, json!({})).body), (202, first.body));
    assert_eq!(host.effects().len(), 1);
    assert_eq!(submit(&host, AUTHORISE, json!({"bank_settlement_amount_value": 1})).status, 422);
    assert_eq!(submit(&host, AUTHORISE, json!({"partner": "bank-a"})).status, 202);
    assert_eq!(submit(&host, TRANSFER, json!({"payment_scheme": "ZA_EFT"})).status, 422);
}

#[test]
fn a_duplicate_of_the_same_day_is_rejected_where_that_is_set() {
    let other = json!({"uetr": "97ed4827-7b6f-4491-a06f-b548d5a7512e"});
    for (settings, expected) in [(json!({}), "APPROVED"), (json!({"reject-duplicates": true}), "REJECTED")] {
        let host = partner(settings);
        send(&host, AUTHORISE_SYNC, &minimal(AUTHORISE_SYNC));
        let answer = send(&host, AUTHORISE_SYNC, &message(AUTHORISE_SYNC, other.clone())).json();
        assert_eq!(answer["transaction_status"], expected);
        host.advance_ms(86_400_000);
        let next_day = json!({"uetr": "97ed4827-7b6f-4491-a06f-b548d5a7512f"});
        let answer = send(&host, AUTHORISE_SYNC, &message(AUTHORISE_SYNC, next_day)).json();
        assert_eq!(answer["transaction_status"], "APPROVED");
    }
}
