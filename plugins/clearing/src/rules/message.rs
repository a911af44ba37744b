//! The messages of the nine operations (spec/clearing: Endpoints): which fields each needs, and what each becomes.
//!
//! Owns the way from fields as they arrived to typed messages; all faults of a message are told at once. Invariant:
//! a field that an operation does not need is optional there, and is checked like any other when it is present.

mod reader;
#[cfg(test)]
mod tests;

use super::account::{AccountNumber, Proxy};
use super::amount::Amount;
use super::content::Content;
use super::currency::{Currency, ZAR};
use super::date::Date;
use super::invalid::{Field, Invalid, Rule};
use super::kind::Kind;
use super::scheme::{Operation, Scheme};
use super::status::{Outcome, StatusReason, TransactionStatus};
use super::uetr::Uetr;
pub use reader::Raw;
use reader::{Common, Reader};

impl Operation {
    /// The members of its payload (spec/clearing: Endpoints); what has a default is not among them.
    pub fn required(self) -> &'static [Field] {
        match self {
            Operation::IdentifierDetermination => &[Field::CreditorAccountProxy, Field::PaymentScheme],
            Operation::CreditTransferAuthorisation | Operation::CreditTransferAuthorisationSync => &[
                Field::Uetr,
                Field::EndToEndIdentification,
                Field::MessageIdentification,
                Field::PaymentScheme,
                Field::BankSettlementAmountValue,
                Field::BankSettlementAmountCurrency,
            ],
            Operation::CreditTransferCompletion => &[Field::Uetr, Field::EndToEndIdentification, Field::SettlementDate],
            Operation::CreditTransfer => &[
                Field::Uetr,
                Field::EndToEndIdentification,
                Field::BankSettlementAmountValue,
                Field::BankSettlementAmountCurrency,
            ],
            Operation::DirectDebit => &[
                Field::Uetr,
                Field::EndToEndIdentification,
                Field::BankSettlementAmountValue,
                Field::DebtorAccountNumber,
            ],
            Operation::CreditTransferAuthorisationResponse
            | Operation::CreditTransferResponse
            | Operation::DirectDebitResponse => &[Field::Uetr, Field::TransactionStatus],
        }
    }
}

/// Fields that no operation's logic needs, but that are checked and kept.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Details {
    pub message_identification: Option<String>,
    pub transaction_identification: Option<String>,
    pub instruction_identification: Option<String>,
    /// Milliseconds since 1970.
    pub creation_date_time_ms: Option<u64>,
    pub settlement_date: Option<Date>,
    pub creditor_account_number: Option<AccountNumber>,
    pub creditor_account_proxy: Option<Proxy>,
    pub creditor_legal_name: Option<String>,
    pub debtor_account_number: Option<AccountNumber>,
    pub debtor_legal_name: Option<String>,
    pub remittance_information: Option<String>,
}

impl Details {
    fn content(&self) -> Content {
        Content::default()
            .with_known(Field::TransactionIdentification, self.transaction_identification.as_deref())
            .with_known(Field::InstructionIdentification, self.instruction_identification.as_deref())
            .with_known(Field::SettlementDate, self.settlement_date.map(Date::to_text))
            .with_known(Field::CreditorAccountNumber, self.creditor_account_number.as_ref().map(AccountNumber::key))
            .with_known(Field::CreditorAccountProxy, self.creditor_account_proxy.as_ref().map(Proxy::key))
            .with_known(Field::CreditorLegalName, self.creditor_legal_name.as_deref())
            .with_known(Field::DebtorAccountNumber, self.debtor_account_number.as_ref().map(AccountNumber::key))
            .with_known(Field::DebtorLegalName, self.debtor_legal_name.as_deref())
            .with_known(Field::RemittanceInformation, self.remittance_information.as_deref())
    }
}

/// Asks which account a proxy stands for (ZA_RPP).
#[derive(Clone, Debug, PartialEq)]
pub struct Determination {
    pub uetr: Option<Uetr>,
    pub creditor_account_proxy: Proxy,
}

impl Determination {
    /// Or everything that is wrong with it. Other fields are checked and not kept: a determination changes nothing.
    pub fn read(raw: &Raw) -> Result<Determination, Vec<Invalid>> {
        let mut reader = Reader::new(raw, Operation::IdentifierDetermination);
        let common = reader.common();
        reader.scheme();
        reader.amount(ZAR);
        let proxy = common.details.creditor_account_proxy;
        reader.finish(proxy.map(|creditor_account_proxy| Determination { uetr: common.uetr, creditor_account_proxy }))
    }
}

/// What begins a payment: an authorisation (asynchronous or synchronous), a credit transfer, a direct debit.
#[derive(Clone, Debug, PartialEq)]
pub struct Payment {
    pub kind: Kind,
    pub uetr: Uetr,
    pub end_to_end_identification: String,
    pub scheme: Scheme,
    /// Zero or more; more than zero for a direct debit.
    pub amount: Amount,
    pub details: Details,
}

impl Payment {
    /// Or everything that is wrong with it.
    pub fn read(raw: &Raw, kind: Kind) -> Result<Payment, Vec<Invalid>> {
        let mut reader = Reader::new(raw, kind.operation());
        let common = reader.common();
        let scheme = reader.scheme();
        let amount = reader.amount(ZAR);
        if kind == Kind::DirectDebit && amount.as_ref().is_some_and(Amount::is_zero) {
            reader.note(Field::BankSettlementAmountValue.breaks(Rule::NotAboveZero));
        }
        let payment = match (common.uetr, common.end_to_end_identification, scheme, amount) {
            (Some(uetr), Some(end_to_end_identification), Some(scheme), Some(amount)) => {
                let details = common.details;
                Some(Payment { kind, uetr, end_to_end_identification, scheme, amount, details })
            }
            _ => None,
        };
        reader.finish(payment)
    }

    /// What a repeat must have in common with it.
    pub fn content(&self) -> Content {
        with_amount(self.details.content(), Some(&self.amount))
            .with(Field::Uetr, self.uetr.as_str())
            .with(Field::EndToEndIdentification, self.end_to_end_identification.as_str())
            .with(Field::PaymentScheme, self.scheme.name())
    }
}

/// What makes a payment the payment that it is.
const IDENTITY: [Field; 8] = [
    Field::Uetr,
    Field::EndToEndIdentification,
    Field::BankSettlementAmountValue,
    Field::BankSettlementAmountCurrency,
    Field::CreditorAccountNumber,
    Field::CreditorAccountProxy,
    Field::DebtorAccountNumber,
    Field::PaymentScheme,
];

/// What a later message says once more of its payment. All of it may be left out, none of it may be another payment's.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct About {
    pub end_to_end_identification: Option<String>,
    pub scheme: Option<Scheme>,
    pub currency: Option<Currency>,
    pub amount: Option<Amount>,
    pub details: Details,
}

impl About {
    fn content(&self) -> Content {
        with_amount(self.details.content(), self.amount.as_ref())
            .with_known(Field::BankSettlementAmountCurrency, self.currency.map(Currency::code))
            .with_known(Field::EndToEndIdentification, self.end_to_end_identification.as_deref())
            .with_known(Field::PaymentScheme, self.scheme.map(Scheme::name))
    }
}

/// The fields in which a later message names another payment: which, whose, how much, of which scheme. Names and texts may be
/// worded anew.
fn contradictions(later: &Content, payment: &Payment) -> Vec<Field> {
    let mut fields = later.contradictions(&payment.content());
    fields.retain(|field| IDENTITY.contains(field));
    fields
}

/// Tells what became of an approved payment at the scheme.
#[derive(Clone, Debug, PartialEq)]
pub struct Completion {
    pub uetr: Uetr,
    pub settlement_date: Date,
    /// APPROVED where it says nothing.
    pub status: TransactionStatus,
    pub reason: Option<StatusReason>,
    pub about: About,
}

impl Completion {
    /// Or everything that is wrong with it. `currency`: of its payment, and of an amount that names none.
    pub fn read(raw: &Raw, currency: Currency) -> Result<Completion, Vec<Invalid>> {
        let mut reader = Reader::new(raw, Operation::CreditTransferCompletion);
        let Common { uetr, end_to_end_identification, details, status, reason } = reader.common();
        let (settlement_date, status) = (details.settlement_date, status.unwrap_or(TransactionStatus::Approved));
        let about = reader.about(end_to_end_identification, details, currency);
        let completion = uetr.zip(settlement_date);
        reader.finish(completion.map(|(uetr, settlement_date)| Completion {
            uetr,
            settlement_date,
            status,
            reason,
            about,
        }))
    }

    /// What a repeat must have in common with it.
    pub fn content(&self) -> Content {
        let content = self.about.content().with(Field::Uetr, self.uetr.as_str());
        content
            .with(Field::TransactionStatus, self.status.name())
            .with_known(Field::StatusReason, self.reason.as_ref().map(StatusReason::as_str))
    }

    /// Returns whether the payment was settled; `None` while the scheme has not decided (PENDING).
    pub fn outcome(&self) -> Option<Outcome> {
        Outcome::of_status(self.status)
    }

    /// The fields in which it names another payment than the one that it completes.
    pub fn contradictions(&self, payment: &Payment) -> Vec<Field> {
        contradictions(&self.content(), payment)
    }
}

/// The partner's answer to a payment.
#[derive(Clone, Debug, PartialEq)]
pub struct Response {
    /// Which of the three responses.
    pub operation: Operation,
    pub uetr: Uetr,
    pub outcome: Outcome,
    /// Always there with REJECTED.
    pub reason: Option<StatusReason>,
    pub about: About,
}

impl Response {
    /// `operation` must be one of the three responses; `currency` as for a completion.
    pub fn read(raw: &Raw, operation: Operation, currency: Currency) -> Result<Response, Vec<Invalid>> {
        let mut reader = Reader::new(raw, operation);
        let Common { uetr, end_to_end_identification, details, .. } = reader.common();
        let about = reader.about(end_to_end_identification, details, currency);
        let (outcome, reason) = reader.answer();
        let response = uetr.zip(outcome);
        reader.finish(response.map(|(uetr, outcome)| Response { operation, uetr, outcome, reason, about }))
    }

    /// What a repeat must have in common with it.
    pub fn content(&self) -> Content {
        let content = self.about.content().with(Field::Uetr, self.uetr.as_str());
        content
            .with(Field::TransactionStatus, self.outcome.status().name())
            .with_known(Field::StatusReason, self.reason.as_ref().map(StatusReason::as_str))
    }

    /// The fields in which it names another payment than the one that it answers.
    pub fn contradictions(&self, payment: &Payment) -> Vec<Field> {
        contradictions(&self.content(), payment)
    }
}

fn with_amount(content: Content, amount: Option<&Amount>) -> Content {
    content
        .with_known(Field::BankSettlementAmountValue, amount.map(|amount| amount.minor().to_string()))
        .with_known(Field::BankSettlementAmountCurrency, amount.map(|amount| amount.currency().code()))
}
