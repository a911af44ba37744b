//! The account directory, and how a payment is decided by it (spec/clearing: States; research/clearing 4 and 5).
//!
//! The partner decides with its own accounts, the platform validates and resolves with its mirror of them: the same rules.

use super::account::{AccountNumber, Proxy};
use super::currency::Currency;
use super::kind::Kind;
use super::message::Payment;
use super::scheme::Scheme;
use super::status::{self, Code, StatusReason};

/// Whether an account may be used (research/clearing 5: enabled, disabled, deleted).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    Open,
    Blocked,
    Closed,
}

impl Standing {
    pub const ALL: [Standing; 3] = [Standing::Open, Standing::Blocked, Standing::Closed];

    pub fn name(self) -> &'static str {
        match self {
            Standing::Open => "open",
            Standing::Blocked => "blocked",
            Standing::Closed => "closed",
        }
    }

    pub fn of_name(name: &str) -> Option<Standing> {
        Standing::ALL.into_iter().find(|standing| standing.name() == name)
    }
}

/// One account of the directory.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub account: AccountNumber,
    pub standing: Standing,
    pub currency: Currency,
    /// The most that one payment may bring, in minor units.
    pub credit_minor_max: Option<u64>,
    /// The most that one payment may take, in minor units.
    pub debit_minor_max: Option<u64>,
}

/// Whom a payment is for, before anybody has looked.
#[derive(Clone, Debug, PartialEq)]
pub enum Wanted {
    Account(AccountNumber),
    Proxy(Proxy),
    /// The proxy must stand for this account, if it is in the directory.
    AccountOfProxy(AccountNumber, Proxy),
    /// The message does not say, and no default is set.
    Nobody,
}

/// The debtor of a debit; the creditor of a credit, whose proxy counts where there is no number, and with ZA_RPP also beside
/// one. Without either the tenant's default account takes the credit.
pub fn wanted(payment: &Payment, default: Option<AccountNumber>) -> Wanted {
    let details = &payment.details;
    if payment.kind == Kind::DirectDebit {
        return details.debtor_account_number.clone().map_or(Wanted::Nobody, Wanted::Account);
    }
    match (&details.creditor_account_number, &details.creditor_account_proxy) {
        (Some(account), Some(proxy)) if payment.scheme == Scheme::ZaRpp => {
            Wanted::AccountOfProxy(account.clone(), proxy.clone())
        }
        (Some(account), _) => Wanted::Account(account.clone()),
        (None, Some(proxy)) => Wanted::Proxy(proxy.clone()),
        (None, None) => default.map_or(Wanted::Nobody, Wanted::Account),
    }
}

/// What was found out about a payment before it is decided.
#[derive(Clone, Debug, PartialEq)]
pub struct Findings {
    /// The account that is credited or debited.
    pub account: Found,
    /// Minor units that a debit may take; `None` where the bank keeps its balances elsewhere.
    pub available_minor: Option<u64>,
    /// Whether another uetr carried the same content. `Unseen` where nobody looks.
    pub repetition: Repetition,
}

/// What the directory says to what was [`Wanted`].
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    Account(Entry),
    /// The number is not in the directory, or the message names none and no default is set.
    NoAccount,
    /// The message names a proxy, which is not in the directory.
    NoProxy,
    /// The message names a proxy and an account, and the proxy stands for another account.
    OtherAccount,
}

/// Whether the content of a payment was seen under another uetr.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repetition {
    Unseen,
    Seen,
}

/// The account that a payment is applied to, or the reason of the rejection.
pub fn decide(payment: &Payment, findings: Findings) -> Result<AccountNumber, StatusReason> {
    let entry = match findings.account {
        Found::Account(entry) => entry,
        Found::NoAccount => return Err(StatusReason::of(status::ACCOUNT_UNKNOWN)),
        Found::NoProxy | Found::OtherAccount => return Err(StatusReason::of(status::PROXY_UNKNOWN)),
    };
    let minor = payment.amount.minor();
    let is_debit = payment.kind == Kind::DirectDebit;
    let minor_max = if is_debit { entry.debit_minor_max } else { entry.credit_minor_max };
    let available_minor = findings.available_minor.filter(|_| is_debit);
    check_standing(entry.standing)?;
    refuse_if(entry.currency != payment.amount.currency(), status::CURRENCY_NOT_ALLOWED)?;
    refuse_if(minor_max.is_some_and(|most| minor > most), status::ABOVE_AGREED_LIMIT)?;
    refuse_if(findings.repetition == Repetition::Seen, status::DUPLICATE)?;
    refuse_if(available_minor.is_some_and(|most| minor > most), status::FUNDS_INSUFFICIENT)?;
    Ok(entry.account)
}

/// The account that a proxy stands for, or why it is not told.
pub fn resolve(entry: Option<Entry>) -> Result<AccountNumber, StatusReason> {
    let entry = entry.ok_or(StatusReason::of(status::PROXY_UNKNOWN))?;
    check_standing(entry.standing).map(|()| entry.account)
}

/// A payment that names an account beside its proxy must name the account that the proxy stands for.
pub fn check_same(named: Option<&AccountNumber>, resolved: &AccountNumber) -> Result<(), StatusReason> {
    refuse_if(named.is_some_and(|named| named != resolved), status::PROXY_UNKNOWN)
}

/// Whether an account may be used at all.
pub fn check_standing(standing: Standing) -> Result<(), StatusReason> {
    match standing {
        Standing::Open => Ok(()),
        Standing::Blocked => Err(StatusReason::of(status::ACCOUNT_BLOCKED)),
        Standing::Closed => Err(StatusReason::of(status::ACCOUNT_CLOSED)),
    }
}

fn refuse_if(broken: bool, code: Code) -> Result<(), StatusReason> {
    if broken { Err(StatusReason::of(code)) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::currency::ZAR;
    use crate::rules::invalid::Field;
    use crate::rules::message::Raw;

    fn payment(kind: Kind) -> Payment {
        let raw = Raw::default()
            .with(Field::Uetr, "97ed4827-7b6f-4491-a06f-b548d5a7512d")
            .with(Field::EndToEndIdentification, "E2E-1")
            .with(Field::BankSettlementAmountValue, "100")
            .with(Field::BankSettlementAmountCurrency, "ZAR")
            .with(Field::DebtorAccountNumber, "62001");
        Payment::read(&raw, kind).unwrap()
    }

    fn entry() -> Entry {
        let account = AccountNumber::parse(Field::CreditorAccountNumber, "62001").unwrap();
        let (credit_minor_max, debit_minor_max) = (Some(10_000), Some(10_000));
        Entry { account, standing: Standing::Open, currency: ZAR, credit_minor_max, debit_minor_max }
    }

    fn check(account: Found, expected: Option<&str>) {
        let findings = Findings { account, available_minor: Some(10_000), repetition: Repetition::Unseen };
        check_findings(Kind::CreditTransfer, findings.clone(), expected);
        check_findings(Kind::DirectDebit, findings, expected);
    }

    fn check_findings(kind: Kind, findings: Findings, expected: Option<&str>) {
        let decided = decide(&payment(kind), findings.clone());
        assert_eq!(decided.err().as_ref().map(StatusReason::as_str), expected, "{kind:?} {findings:?}");
    }

    #[test]
    fn a_payment_is_decided_by_the_account() {
        check(Found::Account(entry()), None);
        check(Found::NoAccount, Some("AC01"));
        check(Found::NoProxy, Some("BE23"));
        check(Found::OtherAccount, Some("BE23"));
        check(Found::Account(Entry { standing: Standing::Closed, ..entry() }), Some("AC04"));
        check(Found::Account(Entry { standing: Standing::Blocked, ..entry() }), Some("AC06"));
        check(Found::Account(Entry { currency: Currency::parse("USD").unwrap(), ..entry() }), Some("AM03"));
        check(Found::Account(Entry { credit_minor_max: None, debit_minor_max: None, ..entry() }), None);
        let tight = Entry { credit_minor_max: Some(9_999), debit_minor_max: Some(9_999), ..entry() };
        check(Found::Account(tight), Some("AM14"));
    }

    #[test]
    fn only_a_debit_asks_for_funds() {
        let account = Found::Account(entry());
        let poor = Findings { account, available_minor: Some(9_999), repetition: Repetition::Unseen };
        check_findings(Kind::DirectDebit, poor.clone(), Some("AM04"));
        check_findings(Kind::CreditTransfer, poor.clone(), None);
        check_findings(Kind::DirectDebit, Findings { available_minor: None, ..poor.clone() }, None);
        check_findings(Kind::CreditTransfer, Findings { repetition: Repetition::Seen, ..poor }, Some("AM05"));
    }

    #[test]
    fn a_payment_says_whom_it_is_for_or_the_default_does() {
        let account = |number: &str| AccountNumber::parse(Field::CreditorAccountNumber, number).unwrap();
        let proxy = Proxy::parse("ada@bank").unwrap();
        let debit = payment(Kind::DirectDebit);
        let mut credit = payment(Kind::CreditTransfer);
        assert_eq!(wanted(&debit, Some(account("99"))), Wanted::Account(account("62001")));
        assert_eq!(wanted(&credit, Some(account("99"))), Wanted::Account(account("99")));
        assert_eq!(wanted(&credit, None), Wanted::Nobody);
        credit.details.creditor_account_proxy = Some(proxy.clone());
        assert_eq!(wanted(&credit, Some(account("99"))), Wanted::Proxy(proxy));
        credit.details.creditor_account_number = Some(account("7"));
        assert_eq!(wanted(&credit, None), Wanted::Account(account("7")));
        credit.scheme = Scheme::ZaRpp;
        assert_eq!(wanted(&credit, None), Wanted::AccountOfProxy(account("7"), Proxy::parse("ada@bank").unwrap()));
    }

    #[test]
    fn a_proxy_is_resolved_to_an_open_account() {
        assert_eq!(resolve(Some(entry())), Ok(entry().account));
        for (entry, code) in [
            (None, "BE23"),
            (Some(Entry { standing: Standing::Closed, ..entry() }), "AC04"),
            (Some(Entry { standing: Standing::Blocked, ..entry() }), "AC06"),
        ] {
            assert_eq!(resolve(entry).unwrap_err().as_str(), code);
        }
    }
}
