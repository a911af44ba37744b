//! Transaction statuses and the reasons given with them (spec/clearing: transaction_status, status_reason).
//!
//! A reason is free text, which may begin with a code of the ISO 20022 status reasons. Which one is never a fault: the
//! published list changes each quarter.

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
        let outcome = TransactionStatus::of_name(name).ok().and_then(Outcome::of_status);
        outcome.ok_or(Field::TransactionStatus.breaks(Rule::NotOneOf(&["APPROVED", "REJECTED"])))
    }

    /// The final outcome that a status reports; `None` for PENDING, which is not final.
    pub fn of_status(status: TransactionStatus) -> Option<Outcome> {
        match status {
            TransactionStatus::Approved => Some(Outcome::Approved),
            TransactionStatus::Rejected => Some(Outcome::Rejected),
            TransactionStatus::Pending => None,
        }
    }

    pub fn status(self) -> TransactionStatus {
        match self {
            Outcome::Approved => TransactionStatus::Approved,
            Outcome::Rejected => TransactionStatus::Rejected,
        }
    }
}

/// Text of a reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusReason(String);

impl StatusReason {
    pub fn parse(text: &str) -> Result<StatusReason, Invalid> {
        check_text(Field::StatusReason, text, TEXT_CHARS_MAX).map(StatusReason)
    }

    pub fn of(code: Code) -> StatusReason {
        StatusReason(code.0.to_owned())
    }

    /// As it was sent.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A code of the ISO 20022 status reasons, which is a reason by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code(&'static str);

/// Nobody answered the scheme in time.
pub const CLEARING_TIMEOUT: Code = Code("AB01");
/// The partner did not decide within its own time.
pub const DECISION_TIMEOUT: Code = Code("AB05");
/// Why the rules of [`super::directory`] reject.
pub const ACCOUNT_UNKNOWN: Code = Code("AC01");
pub const ACCOUNT_CLOSED: Code = Code("AC04");
pub const ACCOUNT_BLOCKED: Code = Code("AC06");
pub const CURRENCY_NOT_ALLOWED: Code = Code("AM03");
pub const FUNDS_INSUFFICIENT: Code = Code("AM04");
pub const DUPLICATE: Code = Code("AM05");
pub const ABOVE_AGREED_LIMIT: Code = Code("AM14");
/// Also the reason for a proxy that stands for another account than the one named beside it.
pub const PROXY_UNKNOWN: Code = Code("BE23");
/// The bank's own system said no, and not why.
pub const NO_REASON_GIVEN: Code = Code("MS03");

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
    fn a_reason_is_a_text_with_or_without_a_code() {
        for text in ["AC04", "AC04: closed", "closed", "\u{e9}t\u{e9} 2026"] {
            assert_eq!(StatusReason::parse(text).unwrap().as_str(), text);
        }
        assert!(StatusReason::parse(" ").is_err() && StatusReason::parse(&"x".repeat(1_001)).is_err());
    }
}
