//! Transaction statuses and the reasons given with them (spec/clearing: transaction_status, status_reason).
//!
//! A reason is free text. One that begins with a code of the ISO 20022 status reasons is understood as that code; a code
//! that nobody knows is a warning, never a fault, because the published list changes each quarter.

use super::invalid::{Field, Invalid, Rule};
use super::limits::TEXT_CHARS_MAX;
use super::text::check_text;

/// Values of `transaction_status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionStatus {
    Approved,
    Rejected,
    Pending,
}

/// As [`TransactionStatus::name`] spells them.
const NAMES: &[&str] = &["APPROVED", "REJECTED", "PENDING"];

impl TransactionStatus {
    pub fn name(self) -> &'static str {
        match self {
            TransactionStatus::Approved => "APPROVED",
            TransactionStatus::Rejected => "REJECTED",
            TransactionStatus::Pending => "PENDING",
        }
    }

    pub fn of_name(name: &str) -> Result<TransactionStatus, Invalid> {
        let all = [TransactionStatus::Approved, TransactionStatus::Rejected, TransactionStatus::Pending];
        let found = all.into_iter().find(|status| status.name() == name);
        found.ok_or(Field::TransactionStatus.breaks(Rule::NotOneOf(NAMES)))
    }
}

/// How a payment was answered: PENDING is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Approved,
    Rejected,
}

impl Outcome {
    pub fn of_name(name: &str) -> Result<Outcome, Invalid> {
        match TransactionStatus::of_name(name) {
            Ok(TransactionStatus::Approved) => Ok(Outcome::Approved),
            Ok(TransactionStatus::Rejected) => Ok(Outcome::Rejected),
            _ => Err(Field::TransactionStatus.breaks(Rule::NotOneOf(&["APPROVED", "REJECTED"]))),
        }
    }

    /// Of a completion: APPROVED is settled, anything else is not.
    pub fn of_settlement(status: TransactionStatus) -> Outcome {
        if status == TransactionStatus::Approved { Outcome::Approved } else { Outcome::Rejected }
    }

    pub fn status(self) -> TransactionStatus {
        match self {
            Outcome::Approved => TransactionStatus::Approved,
            Outcome::Rejected => TransactionStatus::Rejected,
        }
    }
}

/// Text of a reason, which may begin with a code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusReason(String);

impl StatusReason {
    pub fn parse(text: &str) -> Result<StatusReason, Invalid> {
        check_text(Field::StatusReason, text, TEXT_CHARS_MAX).map(StatusReason)
    }

    pub fn of(code: Code) -> StatusReason {
        StatusReason(code.name.to_owned())
    }

    /// As it was sent.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The four upper-case letters and digits that it begins with, known or not.
    pub fn code(&self) -> Option<&str> {
        let (code, rest) = self.0.split_at_checked(4)?;
        let is_code = code.starts_with(|first: char| first.is_ascii_uppercase())
            && code.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
        // "REJECTED" is a word, "AC01: closed" a code and a text.
        (is_code && !rest.starts_with(|next: char| next.is_ascii_alphanumeric())).then_some(code)
    }

    /// `None`: nothing to remark. `Some`: a code that is not on the list, or not for this use.
    pub fn warning(&self, purpose: Use) -> Option<&str> {
        let code = self.code()?;
        let fits = CODES.iter().any(|known| known.name == code && known.uses.contains(&purpose));
        (!fits).then_some(code)
    }
}

/// What a code may be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// With APPROVED.
    Approve,
    /// To reject a credit transfer.
    RejectCredit,
    /// To reject a direct debit.
    RejectDebit,
    /// To say that a proxy was not resolved.
    Resolve,
}

/// A code of the ISO 20022 status reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    pub name: &'static str,
    pub uses: &'static [Use],
}

const APPROVE: &[Use] = &[Use::Approve];
const CREDIT: &[Use] = &[Use::RejectCredit];
const DEBIT: &[Use] = &[Use::RejectDebit];
const RESOLVE: &[Use] = &[Use::Resolve];
const PAYMENT: &[Use] = &[Use::RejectCredit, Use::RejectDebit];
const CREDITOR: &[Use] = &[Use::RejectCredit, Use::Resolve];
const ANY: &[Use] = &[Use::RejectCredit, Use::RejectDebit, Use::Resolve];

const fn code(name: &'static str, uses: &'static [Use]) -> Code {
    Code { name, uses }
}

/// Nobody answered the scheme in time.
pub const CLEARING_TIMEOUT: Code = code("AB01", ANY);
/// The partner did not decide within its own time.
pub const DECISION_TIMEOUT: Code = code("AB05", ANY);
/// Why the rules of [`super::directory`] reject.
pub const ACCOUNT_UNKNOWN: Code = code("AC01", ANY);
pub const ACCOUNT_CLOSED: Code = code("AC04", ANY);
pub const ACCOUNT_BLOCKED: Code = code("AC06", ANY);
pub const CURRENCY_NOT_ALLOWED: Code = code("AM03", PAYMENT);
pub const FUNDS_INSUFFICIENT: Code = code("AM04", DEBIT);
pub const DUPLICATE: Code = code("AM05", PAYMENT);
pub const ABOVE_AGREED_LIMIT: Code = code("AM14", PAYMENT);
pub const PROXY_UNKNOWN: Code = code("BE23", CREDITOR);
/// The bank's own system said no, and not why.
pub const NO_REASON_GIVEN: Code = code("MS03", ANY);

/// The codes that are known by name (research/clearing 4).
pub const CODES: &[Code] = &[
    code("ACCC", APPROVE),
    code("ACCP", APPROVE),
    code("ACSC", APPROVE),
    code("ACSP", APPROVE),
    code("ACTC", APPROVE),
    code("ACWC", APPROVE),
    CLEARING_TIMEOUT,
    code("AB02", ANY),
    code("AB03", PAYMENT),
    DECISION_TIMEOUT,
    code("AB06", ANY),
    code("AB07", ANY),
    code("AB08", CREDITOR),
    code("AB09", ANY),
    code("AB10", ANY),
    ACCOUNT_UNKNOWN,
    code("AC03", CREDIT),
    ACCOUNT_CLOSED,
    ACCOUNT_BLOCKED,
    code("AC07", CREDITOR),
    code("AC14", CREDIT),
    code("AG01", ANY),
    code("AG03", ANY),
    code("AG10", ANY),
    code("AGNT", ANY),
    code("AM02", PAYMENT),
    CURRENCY_NOT_ALLOWED,
    FUNDS_INSUFFICIENT,
    DUPLICATE,
    code("AM09", PAYMENT),
    code("AM12", PAYMENT),
    code("AM13", PAYMENT),
    ABOVE_AGREED_LIMIT,
    PROXY_UNKNOWN,
    code("CH21", PAYMENT),
    code("DT02", PAYMENT),
    code("DU03", PAYMENT),
    code("DUPL", PAYMENT),
    code("FF02", ANY),
    code("FF08", PAYMENT),
    code("FF10", ANY),
    code("FF11", ANY),
    code("MD01", DEBIT),
    code("MS02", PAYMENT),
    NO_REASON_GIVEN,
    code("NAUT", RESOLVE),
    code("NOCM", ANY),
    code("PD01", RESOLVE),
    code("PX02", RESOLVE),
    code("PX03", RESOLVE),
    code("PX04", RESOLVE),
    code("PX05", RESOLVE),
    code("PX06", RESOLVE),
    code("RC02", PAYMENT),
    code("RC08", PAYMENT),
    code("RF01", PAYMENT),
    code("RR04", PAYMENT),
    code("RR10", PAYMENT),
    code("RR12", PAYMENT),
    code("TM01", PAYMENT),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_approved_or_rejected() {
        assert_eq!(Outcome::of_name("APPROVED"), Ok(Outcome::Approved));
        assert_eq!(Outcome::of_name("REJECTED"), Ok(Outcome::Rejected));
        for name in ["PENDING", "approved", "", "CANCELLED"] {
            let allowed = Rule::NotOneOf(&["APPROVED", "REJECTED"]);
            assert_eq!(Outcome::of_name(name), Err(Field::TransactionStatus.breaks(allowed)), "{name:?}");
        }
        assert_eq!(TransactionStatus::of_name("PENDING"), Ok(TransactionStatus::Pending));
        assert!(TransactionStatus::of_name("CANCELLED").is_err());
    }

    #[test]
    fn a_reason_may_begin_with_a_code() {
        let table = [
            ("AC04", Some("AC04")),
            ("AC04 account closed", Some("AC04")),
            ("AC04: closed", Some("AC04")),
            ("closed", None),
            ("REJECTED by the bank", None),
            ("AC0", None),
            ("ac04", None),
            ("été 2026", None),
        ];
        for (text, expected) in table {
            assert_eq!(StatusReason::parse(text).unwrap().code(), expected, "{text:?}");
        }
        assert!(StatusReason::parse(" ").is_err() && StatusReason::parse(&"x".repeat(1_001)).is_err());
    }

    #[test]
    fn a_code_that_does_not_fit_is_a_warning() {
        let table = [
            ("AC04", Use::RejectCredit, None),
            ("AM04", Use::RejectDebit, None),
            ("AM04", Use::RejectCredit, Some("AM04")),
            ("ACCP", Use::Approve, None),
            ("ACCP", Use::RejectCredit, Some("ACCP")),
            ("BE23", Use::Resolve, None),
            ("ZZ99", Use::RejectCredit, Some("ZZ99")),
            ("no code", Use::RejectCredit, None),
        ];
        for (text, purpose, expected) in table {
            assert_eq!(StatusReason::parse(text).unwrap().warning(purpose), expected, "{text} {purpose:?}");
        }
    }

    #[test]
    fn every_code_stands_once_and_has_a_use() {
        let names: std::collections::BTreeSet<&str> = CODES.iter().map(|code| code.name).collect();
        assert_eq!(names.len(), CODES.len());
        assert!(CODES.iter().all(|known| !known.uses.is_empty()));
        assert!(CODES.iter().all(|known| StatusReason::of(*known).code() == Some(known.name)));
    }
}
