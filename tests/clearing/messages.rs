//! The messages of the specification, with the members that it asks for and no others (spec/clearing: Endpoints).

use serde_json::{Value, json};

pub const UETR: &str = "97ed4827-7b6f-4491-a06f-b548d5a7512d";
pub const DETERMINE: &str = "/v1/identifiers/inbound/identifier-determination";
pub const AUTHORISE: &str = "/v1/transactions/inbound/credit-transfer-authorisation";
pub const AUTHORISE_SYNC: &str = "/v1/transactions/inbound/credit-transfer-authorisation-sync";
pub const COMPLETE: &str = "/v1/transactions/inbound/credit-transfer-completion";
pub const TRANSFER: &str = "/v1/transactions/inbound/credit-transfer";
pub const DEBIT: &str = "/v1/transactions/inbound/direct-debit";
pub const AUTHORISED: &str = "/v1/transactions/inbound/credit-transfer-authorisation-response";
pub const TRANSFERRED: &str = "/v1/transactions/inbound/credit-transfer-response";
pub const DEBITED: &str = "/v1/transactions/inbound/direct-debit-response";

/// The account of every stage, and its proxy.
pub const ACCOUNT: &str = "62001234567";
pub const PROXY: &str = "ada@bank";

/// One for each number; its digits are the last of it.
pub fn uetr(number: u64) -> String {
    format!("97ed4827-7b6f-4491-a06f-{number:012}")
}

/// By the path of the operation.
pub fn minimal(path: &str) -> Value {
    match path {
        DETERMINE => json!({"creditor_account_proxy": PROXY, "payment_scheme": "ZA_RPP"}),
        AUTHORISE | AUTHORISE_SYNC => json!({
            "uetr": UETR, "end_to_end_identification": "E2E-1", "message_identification": "M-1",
            "payment_scheme": "ZA_RTC", "bank_settlement_amount_value": 100.50,
            "bank_settlement_amount_currency": "ZAR",
        }),
        COMPLETE => json!({"uetr": UETR, "end_to_end_identification": "E2E-1", "settlement_date": "2026-05-07"}),
        TRANSFER => json!({
            "uetr": UETR, "end_to_end_identification": "E2E-1", "bank_settlement_amount_value": 100.50,
            "bank_settlement_amount_currency": "ZAR",
        }),
        DEBIT => json!({
            "uetr": UETR, "end_to_end_identification": "E2E-1", "bank_settlement_amount_value": 100.50,
            "debtor_account_number": ACCOUNT,
        }),
        AUTHORISED | TRANSFERRED | DEBITED => json!({"uetr": UETR, "transaction_status": "APPROVED"}),
        _ => panic!("{path} is no operation of the specification"),
    }
}

/// The minimal message with other members, too.
pub fn message(path: &str, changes: Value) -> Value {
    with(minimal(path), changes)
}

/// What a platform is told to send: the message, which operation carries it, and to whom.
pub fn payment(path: &str, changes: Value) -> Value {
    let operation = path.rsplit('/').next().unwrap();
    with(message(path, changes), json!({"operation": operation, "partner": "bank-a"}))
}

fn with(mut message: Value, changes: Value) -> Value {
    message.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    message
}
