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
    let unsettled = send(&host, COMPLETE, &message(COMPLETE, json!({"transaction_status": "REJECTED"})));
    assert_eq!((unsettled.status, balance(&host, "customer/62001")), (422, 10_050));
    let pending = send(&host, COMPLETE, &message(COMPLETE, json!({"transaction_status": "PENDING"})));
    assert_eq!((pending.status, balance(&host, "customer/62001")), (202, 10_050), "what is final stands");
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
fn a_response_is_compared_with_its_payment() {
    for (path, answered) in [(AUTHORISE, AUTHORISED), (TRANSFER, TRANSFERRED), (DEBIT, DEBITED)] {
        let host = platform(json!({}));
        submit(&host, path, json!({}));
        for (other, named) in [
            (json!({"end_to_end_identification": "E2E-2"}), "end_to_end_identification"),
            (json!({"bank_settlement_amount_value": 100.51}), "bank_settlement_amount_value"),
            (json!({"bank_settlement_amount_currency": "USD"}), "bank_settlement_amount_currency"),
        ] {
            let (status, _, detail) = refusal(&send(&host, answered, &message(answered, other)));
            assert!(status == 422 && detail.starts_with(&format!("{named} is not")), "{path}: {status} {detail}");
        }
        assert_eq!(transaction(&host)["response"], json!(null), "{path}");
        let same = json!({"end_to_end_identification": "E2E-1", "bank_settlement_amount_value": 100.5});
        assert_eq!(send(&host, answered, &message(answered, same)).status, 202, "{path}");
        let less = refusal(&send(&host, answered, &minimal(answered))).2;
        assert!(less.starts_with("end_to_end_identification is not") && less.contains("_value is not"), "{less}");
    }
}

#[test]
fn a_later_message_without_a_currency_means_that_of_its_payment() {
    let yen = json!({"bank_settlement_amount_value": 100, "bank_settlement_amount_currency": "JPY"});
    let dinar = json!({"bank_settlement_amount_value": 1.005, "bank_settlement_amount_currency": "KWD"});
    for payment in [yen, dinar] {
        let value = json!({"bank_settlement_amount_value": payment["bank_settlement_amount_value"]});
        let hub = platform(json!({}));
        submit(&hub, AUTHORISE, payment.clone());
        assert_eq!(send(&hub, AUTHORISED, &message(AUTHORISED, value.clone())).status, 202, "{payment}");
        assert_eq!(settle(&hub, value.clone()).status, 202, "{payment}");
        let bank = partner(json!({}));
        send(&bank, AUTHORISE, &message(AUTHORISE, payment.clone()));
        assert_eq!(send(&bank, COMPLETE, &message(COMPLETE, value)).status, 202, "{payment}");
        let other = message(COMPLETE, json!({"bank_settlement_amount_value": 7}));
        assert_eq!(send(&bank, COMPLETE, &other).status, 422, "{payment}");
    }
}

#[test]
fn a_foreign_payment_is_not_found_in_whatever_currency_it_is() {
    let host = platform(json!({"client_ids": ["somebody-else"]}));
    let yen = json!({"bank_settlement_amount_value": 100, "bank_settlement_amount_currency": "JPY"});
    submit(&host, AUTHORISE, yen);
    let probe = json!({"bank_settlement_amount_value": 1.05});
    assert_eq!(send(&host, AUTHORISED, &message(AUTHORISED, probe)).status, 404);
}

#[test]
fn a_settlement_names_its_own_payment_or_none() {
    let host = platform(json!({}));
    submit(&host, AUTHORISE, json!({}));
    send(&host, AUTHORISED, &minimal(AUTHORISED));
    for (other, detail) in [
        (json!({"uetr": "97ed4827-7b6f-4491-a06f-b548d5a7512e"}), "uetr is not"),
        (json!({"uetr": "x"}), "uetr must be"),
        (json!({"end_to_end_identification": "E2E-2"}), "end_to_end_identification is not"),
    ] {
        let (status, _, told) = refusal(&settle(&host, other));
        assert!(status == 422 && told.starts_with(detail), "{detail}: {told}");
    }
    let same = json!({"uetr": UETR.to_uppercase(), "end_to_end_identification": "E2E-1"});
    assert_eq!((settle(&host, same).status, state(&host).as_str()), (202, "completed"));
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
