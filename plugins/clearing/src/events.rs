//! The six events as they leave (spec/clearing: Events): their names, schemas and payloads.

use tenon_plugin::{EventType, Stop};

use crate::rules::account::AccountNumber;
use crate::rules::amount::Amount;
use crate::rules::event::Event;
use crate::rules::invalid::Field;
use crate::wire::{self, Fields};

/// Only for an endpoint that asks for one: nobody takes it for something that happened.
pub const TEST_EVENT: &str = "inbound.webhook.test";

/// What an endpoint or a stream may name.
pub const NAMES: [&str; 6] = [
    "inbound.identifier.determination_received",
    "inbound.credit_transfer.authorisation_received",
    "inbound.credit_transfer.authorisation_responded",
    "inbound.credit_transfer.completed",
    "inbound.credit_transfer.received",
    "inbound.direct_debit.received",
];

/// The same for every event.
pub const ENVELOPE: &str = r#"{"id":"{event-id}","event":"{event-type}","created_at":"{time}","data":"{payload}"}"#;

pub const TYPES: &[EventType] = &[
    EventType::new(
        "inbound.identifier.determination_received",
        "A proxy resolution request was received.",
        r#"{"type":"object","required":["creditor_account_proxy","payment_scheme"],"properties":{"creditor_account_proxy":{"type":"string"},"payment_scheme":{"type":"string"}}}"#,
    ),
    EventType::new(
        "inbound.credit_transfer.authorisation_received",
        "An authorisation request was received (ZA_RTC, ZA_RPP).",
        r#"{"type":"object","required":["uetr","end_to_end_identification","message_identification","payment_scheme","bank_settlement_amount_value","bank_settlement_amount_currency"],"properties":{"uetr":{"type":"string"},"end_to_end_identification":{"type":"string"},"message_identification":{"type":"string"},"payment_scheme":{"type":"string"},"bank_settlement_amount_value":{"type":"number"},"bank_settlement_amount_currency":{"type":"string"}}}"#,
    ),
    EventType::new(
        "inbound.credit_transfer.authorisation_responded",
        "The partner sent its authorisation response.",
        r#"{"type":"object","required":["uetr","transaction_status"],"properties":{"uetr":{"type":"string"},"transaction_status":{"enum":["APPROVED","REJECTED"]},"status_reason":{"type":"string"}}}"#,
    ),
    EventType::new(
        "inbound.credit_transfer.completed",
        "The completion was received; the payment is final.",
        r#"{"type":"object","required":["uetr","end_to_end_identification","settlement_date"],"properties":{"uetr":{"type":"string"},"end_to_end_identification":{"type":"string"},"settlement_date":{"type":"string"}}}"#,
    ),
    EventType::new(
        "inbound.credit_transfer.received",
        "An EFT credit transfer was received.",
        r#"{"type":"object","required":["uetr","end_to_end_identification","bank_settlement_amount_value","bank_settlement_amount_currency"],"properties":{"uetr":{"type":"string"},"end_to_end_identification":{"type":"string"},"bank_settlement_amount_value":{"type":"number"},"bank_settlement_amount_currency":{"type":"string"}}}"#,
    ),
    EventType::new(
        "inbound.direct_debit.received",
        "An EFT direct debit was received.",
        r#"{"type":"object","required":["uetr","end_to_end_identification","bank_settlement_amount_value","debtor_account_number"],"properties":{"uetr":{"type":"string"},"end_to_end_identification":{"type":"string"},"bank_settlement_amount_value":{"type":"number"},"debtor_account_number":{"type":"string"}}}"#,
    ),
    EventType::new(
        TEST_EVENT,
        "An endpoint asked for something to try itself with; goes to that endpoint alone.",
        r#"{"type":"object","required":["webhook_id"],"properties":{"webhook_id":{"type":"string"}}}"#,
    ),
];

/// One JSON text.
pub fn payload(event: &Event) -> Result<String, Stop> {
    let mut fields = Fields::new();
    let mut add = |field: Field, text: &str| fields.push((field, text.to_owned()));
    match event {
        Event::DeterminationReceived { creditor_account_proxy, payment_scheme } => {
            add(Field::CreditorAccountProxy, creditor_account_proxy.as_str());
            add(Field::PaymentScheme, payment_scheme.name());
        }
        Event::AuthorisationReceived {
            uetr,
            end_to_end_identification,
            message_identification,
            payment_scheme,
            amount,
        } => {
            add(Field::Uetr, uetr.as_str());
            add(Field::EndToEndIdentification, end_to_end_identification);
            message_identification.iter().for_each(|text| add(Field::MessageIdentification, text));
            add(Field::PaymentScheme, payment_scheme.name());
            add_amount(add, amount);
        }
        Event::AuthorisationResponded { uetr, outcome, status_reason } => {
            add(Field::Uetr, uetr.as_str());
            add(Field::TransactionStatus, outcome.status().name());
            status_reason.iter().for_each(|reason| add(Field::StatusReason, reason.as_str()));
        }
        Event::Completed { uetr, end_to_end_identification, settlement_date } => {
            add(Field::Uetr, uetr.as_str());
            add(Field::EndToEndIdentification, end_to_end_identification);
            add(Field::SettlementDate, &settlement_date.to_text());
        }
        Event::TransferReceived { uetr, end_to_end_identification, amount } => {
            add(Field::Uetr, uetr.as_str());
            add(Field::EndToEndIdentification, end_to_end_identification);
            add_amount(add, amount);
        }
        Event::DebitReceived { uetr, end_to_end_identification, amount, debtor_account_number } => {
            add(Field::Uetr, uetr.as_str());
            add(Field::EndToEndIdentification, end_to_end_identification);
            add(Field::BankSettlementAmountValue, amount.as_str());
            debtor_account_number.iter().map(AccountNumber::as_str).for_each(|it| add(Field::DebtorAccountNumber, it));
        }
    }
    wire::to_text(&fields)
}

fn add_amount(mut add: impl FnMut(Field, &str), amount: &Amount) {
    add(Field::BankSettlementAmountValue, amount.as_str());
    add(Field::BankSettlementAmountCurrency, amount.currency().code());
}
