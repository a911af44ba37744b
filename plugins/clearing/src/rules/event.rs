//! The six events and their payloads (spec/clearing: Events). Both sides emit them, each when it learns of the fact.

use super::account::{AccountNumber, Proxy};
use super::amount::Amount;
use super::date::Date;
use super::kind::Kind;
use super::message::Payment;
use super::scheme::Scheme;
use super::status::{Outcome, StatusReason};
use super::uetr::Uetr;

/// An event with its payload (spec/clearing: Events).
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    DeterminationReceived {
        creditor_account_proxy: Proxy,
        payment_scheme: Scheme,
    },
    AuthorisationReceived {
        uetr: Uetr,
        end_to_end_identification: String,
        message_identification: Option<String>,
        payment_scheme: Scheme,
        amount: Amount,
    },
    AuthorisationResponded {
        uetr: Uetr,
        outcome: Outcome,
        status_reason: Option<StatusReason>,
    },
    Completed {
        uetr: Uetr,
        end_to_end_identification: String,
        settlement_date: Date,
    },
    TransferReceived {
        uetr: Uetr,
        end_to_end_identification: String,
        amount: Amount,
    },
    DebitReceived {
        uetr: Uetr,
        end_to_end_identification: String,
        amount: Amount,
        debtor_account_number: Option<AccountNumber>,
    },
}

impl Event {
    pub fn name(&self) -> &'static str {
        match self {
            Event::DeterminationReceived { .. } => "inbound.identifier.determination_received",
            Event::AuthorisationReceived { .. } => "inbound.credit_transfer.authorisation_received",
            Event::AuthorisationResponded { .. } => "inbound.credit_transfer.authorisation_responded",
            Event::Completed { .. } => "inbound.credit_transfer.completed",
            Event::TransferReceived { .. } => "inbound.credit_transfer.received",
            Event::DebitReceived { .. } => "inbound.direct_debit.received",
        }
    }

    /// The partner was asked for the account of a proxy.
    pub fn determination_received(proxy: &Proxy) -> Event {
        Event::DeterminationReceived { creditor_account_proxy: proxy.clone(), payment_scheme: Scheme::ZaRpp }
    }

    /// Of a payment that the partner has received.
    pub(super) fn received(payment: &Payment) -> Event {
        let uetr = payment.uetr.clone();
        let end_to_end_identification = payment.end_to_end_identification.clone();
        let amount = payment.amount.clone();
        match payment.kind {
            Kind::CreditTransfer => Event::TransferReceived { uetr, end_to_end_identification, amount },
            Kind::DirectDebit => Event::DebitReceived {
                uetr,
                end_to_end_identification,
                amount,
                debtor_account_number: payment.details.debtor_account_number.clone(),
            },
            Kind::Authorisation | Kind::AuthorisationSync => Event::AuthorisationReceived {
                uetr,
                end_to_end_identification,
                message_identification: payment.details.message_identification.clone(),
                payment_scheme: payment.scheme,
                amount,
            },
        }
    }

    pub(super) fn responded(payment: &Payment, outcome: Outcome, reason: Option<&StatusReason>) -> Event {
        Event::AuthorisationResponded { uetr: payment.uetr.clone(), outcome, status_reason: reason.cloned() }
    }

    pub(super) fn completed(payment: &Payment, settlement_date: Date) -> Event {
        Event::Completed {
            uetr: payment.uetr.clone(),
            end_to_end_identification: payment.end_to_end_identification.clone(),
            settlement_date,
        }
    }
}
