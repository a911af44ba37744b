//! The messages of the nine operations: the least that is taken, and how each fault is told.

use serde_json::{Value, json};
use tenon_plugin::test_kit::{TestCall, TestHost};

use super::support::*;

const PARTNERS: [&str; 6] = [DETERMINE, AUTHORISE, AUTHORISE_SYNC, COMPLETE, TRANSFER, DEBIT];
const PLATFORMS: [&str; 3] = [AUTHORISED, TRANSFERRED, DEBITED];

/// A host that takes the minimal message of the operation.
fn ready(path: &str) -> TestHost {
    match path {
        COMPLETE => {
            let host = partner(json!({}));
            send(&host, AUTHORISE_SYNC, &minimal(AUTHORISE_SYNC));
            host
        }
        AUTHORISED | TRANSFERRED | DEBITED => {
            let host = platform(json!({}));
            submit(&host, path.strip_suffix("-response").unwrap(), json!({}));
            host
        }
        _ => partner(json!({})),
    }
}

#[test]
fn the_least_that_the_specification_asks_for_is_taken() {
    for path in PARTNERS.into_iter().chain(PLATFORMS) {
        let answer = send(&ready(path), path, &minimal(path));
        let expected = if [DETERMINE, AUTHORISE_SYNC].contains(&path) { 200 } else { 202 };
        assert_eq!(answer.status, expected, "{path}: {}", answer.body);
    }
}

#[test]
fn each_required_field_is_required() {
    for path in PARTNERS.into_iter().chain(PLATFORMS) {
        let host = ready(path);
        for field in minimal(path).as_object().unwrap().keys() {
            let answer = send(&host, path, &message(path, json!({ field.as_str(): null })));
            let (status, code, detail) = refusal(&answer);
            assert_eq!((status, code.as_str()), (422, "INBOUND_UNPROCESSABLE"), "{path} without {field}");
            assert_eq!(detail, format!("{field} is required."), "{path}");
        }
    }
}

#[test]
fn every_fault_of_a_field_is_told_by_its_name() {
    let table: [(Value, &str); 21] = [
        (json!({"uetr": "x"}), "uetr must be a UUID (8-4-4-4-12 hexadecimal digits, not all of them zero)."),
        (json!({"uetr": 1}), "uetr must be a text."),
        (json!({"end_to_end_identification": " "}), "end_to_end_identification must not be blank."),
        (json!({"message_identification": "x".repeat(36)}), "message_identification may have at most 35 characters."),
        (
            json!({"transaction_identification": "a\u{0}"}),
            "transaction_identification must not contain control characters.",
        ),
        (json!({"instruction_identification": []}), "instruction_identification must be a text."),
        (
            json!({"creation_date_time": "today"}),
            "creation_date_time must be a time with its offset, like 2026-05-07T08:30:00Z.",
        ),
        (json!({"bank_settlement_amount_value": "1"}), "bank_settlement_amount_value must be a number."),
        (json!({"bank_settlement_amount_value": -1}), "bank_settlement_amount_value must be zero or greater."),
        (
            json!({"bank_settlement_amount_value": 1e30}),
            "bank_settlement_amount_value must be a number without sign and exponent.",
        ),
        (
            json!({"bank_settlement_amount_value": 1.001}),
            "bank_settlement_amount_value may have at most 2 decimals in this currency.",
        ),
        (
            json!({"bank_settlement_amount_value": 18446744073709551615u64}),
            "bank_settlement_amount_value may have at most 18 digits in minor units.",
        ),
        (
            json!({"bank_settlement_amount_currency": "zar"}),
            "bank_settlement_amount_currency must be a currency of ISO 4217.",
        ),
        (json!({"settlement_date": "07.05.2026"}), "settlement_date must be a date like 2026-05-07."),
        (json!({"creditor_account_number": "1".repeat(41)}), "creditor_account_number may have at most 40 characters."),
        (json!({"creditor_account_proxy": ""}), "creditor_account_proxy must not be blank."),
        (json!({"creditor_legal_name": "x".repeat(141)}), "creditor_legal_name may have at most 140 characters."),
        (json!({"payment_scheme": "SEPA"}), "payment_scheme must be one of: ZA_RTC, ZA_RPP, ZA_EFT, CBPR+."),
        (json!({"payment_scheme": "ZA_EFT"}), "payment_scheme must be one of: ZA_RTC, ZA_RPP for this operation."),
        (json!({"payment_scheme": "CBPR+"}), "payment_scheme must be one of: ZA_RTC, ZA_RPP for this operation."),
        (json!({"transaction_status": "DONE"}), "transaction_status must be one of: APPROVED, REJECTED, PENDING."),
    ];
    let host = partner(json!({}));
    for (changes, expected) in table {
        let answer = send(&host, AUTHORISE, &message(AUTHORISE, changes.clone()));
        assert_eq!(refusal(&answer), (422, "INBOUND_UNPROCESSABLE".to_owned(), expected.to_owned()), "{changes}");
    }
    assert_eq!(events(&host), [""; 0]);
}

#[test]
fn all_faults_are_told_at_once_in_the_order_of_the_specification() {
    let host = partner(json!({}));
    let changes = json!({"payment_scheme": "x", "uetr": 5, "bank_settlement_amount_value": null});
    let (_, _, detail) = refusal(&send(&host, AUTHORISE, &message(AUTHORISE, changes)));
    let fields: Vec<&str> = detail.split(". ").map(|sentence| sentence.split(' ').next().unwrap()).collect();
    assert_eq!(fields, ["uetr", "bank_settlement_amount_value", "payment_scheme"]);
}

#[test]
fn a_response_is_a_decision_with_its_reason() {
    let host = ready(AUTHORISED);
    for (changes, expected) in [
        (json!({"transaction_status": "PENDING"}), "transaction_status must be one of: APPROVED, REJECTED."),
        (json!({"transaction_status": "REJECTED"}), "status_reason is required with transaction_status REJECTED."),
    ] {
        assert_eq!(refusal(&send(&host, AUTHORISED, &message(AUTHORISED, changes))).2, expected);
    }
    // The response of another kind of payment.
    assert_eq!(send(&host, DEBITED, &minimal(DEBITED)).status, 422);
}

#[test]
fn a_debit_of_nothing_is_refused_and_an_authorisation_of_nothing_is_not() {
    let nothing = json!({"bank_settlement_amount_value": 0});
    let answer = send(&partner(json!({})), DEBIT, &message(DEBIT, nothing.clone()));
    assert_eq!(refusal(&answer).2, "bank_settlement_amount_value must be greater than zero.");
    let host = partner(json!({}));
    assert_eq!(send(&host, AUTHORISE_SYNC, &message(AUTHORISE_SYNC, nothing)).status, 200);
    assert_eq!(balance(&host, "held/62001"), 0);
}

#[test]
fn what_is_no_json_object_is_a_bad_request() {
    let host = partner(json!({}));
    for body in ["", "{", "[1]", "\"x\"", "null", &"[".repeat(100)] {
        let answer = host.call(TestCall::post(AUTHORISE).text(body));
        assert_eq!((answer.status, refusal(&answer).1.as_str()), (400, "INBOUND_BAD_REQUEST"), "{body:?}");
    }
}

#[test]
fn an_unknown_uetr_is_not_found() {
    let other = json!({"uetr": "97ed4827-7b6f-4491-a06f-b548d5a7512e"});
    for path in [COMPLETE, AUTHORISED, TRANSFERRED, DEBITED] {
        let answer = send(&ready(path), path, &message(path, other.clone()));
        assert_eq!((answer.status, refusal(&answer).1.as_str()), (404, "INBOUND_NOT_FOUND"), "{path}");
    }
    let host = partner(json!({}));
    for uetr in ["97ed4827-7b6f-4491-a06f-b548d5a7512e", "x"] {
        assert_eq!(host.call(TestCall::get(&format!("/v1/clearing/transactions/{uetr}"))).status, 404);
        assert_eq!(host.call(TestCall::post(&format!("/v1/clearing/transactions/{uetr}/redelivery"))).status, 404);
    }
}

#[test]
fn an_amount_is_echoed_as_it_was_sent() {
    let host = partner(json!({}));
    let text = minimal(AUTHORISE).to_string().replace("100.5", "100.500");
    host.call(TestCall::post(AUTHORISE).text(&text));
    let shown = host.call(TestCall::get(&format!("/v1/clearing/transactions/{UETR}"))).body;
    assert!(shown.contains(r#""bank_settlement_amount_value":100.500"#), "{shown}");
}
