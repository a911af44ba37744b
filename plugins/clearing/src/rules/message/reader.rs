//! Reads the fields of one message, and notes everything that is wrong with them.

use std::collections::BTreeMap;

use super::{About, Details};
use crate::rules::account::{AccountNumber, Proxy};
use crate::rules::amount::Amount;
use crate::rules::currency::Currency;
use crate::rules::date::{Date, parse_date_time};
use crate::rules::invalid::{Field, Invalid, Rule};
use crate::rules::limits::{IDENTIFICATION_CHARS_MAX, NAME_CHARS_MAX, TEXT_CHARS_MAX};
use crate::rules::scheme::{Operation, Scheme};
use crate::rules::status::{Outcome, StatusReason, TransactionStatus};
use crate::rules::text::check_text;
use crate::rules::uetr::Uetr;

/// The fields of a message as they arrived: texts without their quotes, the amount in its digits, nulls left out.
#[derive(Clone, Debug, Default)]
pub struct Raw(BTreeMap<Field, String>);

impl Raw {
    pub fn with(mut self, field: Field, text: impl Into<String>) -> Raw {
        self.0.insert(field, text.into());
        self
    }
}

/// What every message may carry.
pub(super) struct Common {
    pub uetr: Option<Uetr>,
    pub end_to_end_identification: Option<String>,
    pub details: Details,
    pub status: Option<TransactionStatus>,
    pub reason: Option<StatusReason>,
}

pub(super) struct Reader<'a> {
    raw: &'a Raw,
    operation: Operation,
    wrong: Vec<Invalid>,
}

impl<'a> Reader<'a> {
    /// Begins with the fields that are missing.
    pub(super) fn new(raw: &'a Raw, operation: Operation) -> Reader<'a> {
        let missing = operation.required().iter().filter(|field| !raw.0.contains_key(field));
        let wrong = missing.map(|field| field.breaks(Rule::Required)).collect();
        Reader { raw, operation, wrong }
    }

    pub(super) fn note(&mut self, invalid: Invalid) {
        self.wrong.push(invalid);
    }

    /// The message, or all its faults in the order of the specification's table.
    pub(super) fn finish<T>(mut self, message: Option<T>) -> Result<T, Vec<Invalid>> {
        self.wrong.sort_by_key(|invalid| invalid.field);
        match message {
            Some(message) if self.wrong.is_empty() => Ok(message),
            _ => Err(self.wrong),
        }
    }

    fn field<T>(&mut self, field: Field, parse: impl FnOnce(&str) -> Result<T, Invalid>) -> Option<T> {
        match parse(self.raw.0.get(&field)?) {
            Ok(value) => Some(value),
            Err(invalid) => {
                self.note(invalid);
                None
            }
        }
    }

    fn text(&mut self, field: Field, characters_max: usize) -> Option<String> {
        self.field(field, |text| check_text(field, text, characters_max))
    }

    fn account(&mut self, field: Field) -> Option<AccountNumber> {
        self.field(field, |text| AccountNumber::parse(field, text))
    }

    pub(super) fn common(&mut self) -> Common {
        let uetr = self.field(Field::Uetr, Uetr::parse);
        let end_to_end_identification = self.text(Field::EndToEndIdentification, IDENTIFICATION_CHARS_MAX);
        let details = Details {
            message_identification: self.text(Field::MessageIdentification, IDENTIFICATION_CHARS_MAX),
            transaction_identification: self.text(Field::TransactionIdentification, IDENTIFICATION_CHARS_MAX),
            instruction_identification: self.text(Field::InstructionIdentification, IDENTIFICATION_CHARS_MAX),
            creation_date_time_ms: self
                .field(Field::CreationDateTime, |text| parse_date_time(Field::CreationDateTime, text)),
            settlement_date: self.field(Field::SettlementDate, |text| Date::parse(Field::SettlementDate, text)),
            creditor_account_number: self.account(Field::CreditorAccountNumber),
            creditor_account_proxy: self.field(Field::CreditorAccountProxy, Proxy::parse),
            creditor_legal_name: self.text(Field::CreditorLegalName, NAME_CHARS_MAX),
            debtor_account_number: self.account(Field::DebtorAccountNumber),
            debtor_legal_name: self.text(Field::DebtorLegalName, NAME_CHARS_MAX),
            remittance_information: self.text(Field::RemittanceInformation, TEXT_CHARS_MAX),
        };
        let mut common = Common { uetr, end_to_end_identification, details, status: None, reason: None };
        // What a response says has stricter rules: see `answer`.
        if !self.operation.required().contains(&Field::TransactionStatus) {
            common.status = self.field(Field::TransactionStatus, TransactionStatus::of_name);
            common.reason = self.field(Field::StatusReason, StatusReason::parse);
        }
        common
    }

    /// The scheme, which must fit the operation. Messages of EFT operations are EFT's when they do not say.
    pub(super) fn scheme(&mut self) -> Option<Scheme> {
        let operation = self.operation;
        if !self.raw.0.contains_key(&Field::PaymentScheme) {
            return operation.serves(Scheme::ZaEft).is_ok().then_some(Scheme::ZaEft);
        }
        self.field(Field::PaymentScheme, |name| {
            let scheme = Scheme::of_name(name)?;
            operation.serves(scheme).map(|()| scheme)
        })
    }

    /// In this currency where the message may leave it out, and does.
    pub(super) fn amount(&mut self, otherwise: Currency) -> Option<Amount> {
        let required = self.operation.required().contains(&Field::BankSettlementAmountCurrency);
        let default = (!required).then_some(otherwise);
        let given = self.raw.0.contains_key(&Field::BankSettlementAmountCurrency);
        let currency = if given { self.field(Field::BankSettlementAmountCurrency, Currency::parse)? } else { default? };
        self.field(Field::BankSettlementAmountValue, |text| Amount::parse(text, currency))
    }

    /// What a later message says once more.
    pub(super) fn about(
        &mut self,
        end_to_end_identification: Option<String>,
        details: Details,
        currency: Currency,
    ) -> About {
        let (scheme, amount) = (self.scheme(), self.amount(currency));
        // Given without a value, it counts as well; what is wrong with it was noted with the amount.
        let given = self.raw.0.get(&Field::BankSettlementAmountCurrency);
        let currency = given.and_then(|code| Currency::parse(code).ok());
        About { end_to_end_identification, scheme, currency, amount, details }
    }

    /// What a response says: a rejection has a reason.
    pub(super) fn answer(&mut self) -> (Option<Outcome>, Option<StatusReason>) {
        let outcome = self.field(Field::TransactionStatus, Outcome::of_name);
        let reason = self.field(Field::StatusReason, StatusReason::parse);
        let given = self.raw.0.contains_key(&Field::StatusReason);
        if outcome == Some(Outcome::Rejected) && !given {
            self.note(Field::StatusReason.breaks(Rule::RequiredWithRejected));
        }
        (outcome, reason)
    }
}
