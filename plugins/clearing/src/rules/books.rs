//! The partner's books: which postings each step of a payment makes (spec/clearing: "immediate financial impact").
//!
//! Double entry: each posting takes from one account what it gives to another, so that the sum of all is zero. Invariant:
//! a posting is above zero; a payment of nothing moves nothing.
//!
//! | payment | received | approved | rejected | settled | not settled |
//! |---|---|---|---|---|---|
//! | authorisation | – | settlement → held | – | held → customer | held → settlement |
//! | EFT credit transfer | settlement → unapplied | unapplied → customer | unapplied → settlement | | |
//! | EFT direct debit | – | customer → settlement | – | | |

use super::account::AccountNumber;
use super::currency::Currency;
use super::message::Payment;
use super::scheme::Scheme;
use super::uetr::Uetr;

/// Why money moves. Each happens at most once to a payment, so that it makes the posting's id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Movement {
    /// What was promised to a creditor.
    Hold,
    /// The promise is void.
    Release,
    /// Final, to or from the customer.
    Book,
    /// EFT: the money is here, whose it is will be decided.
    Receive,
    /// EFT: back to where it came from.
    Return,
}

impl Movement {
    pub fn name(self) -> &'static str {
        match self {
            Movement::Hold => "hold",
            Movement::Release => "release",
            Movement::Book => "book",
            Movement::Receive => "receive",
            Movement::Return => "return",
        }
    }
}

/// The accounts of a partner's books.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Account {
    /// What the clearing house owes the partner: the other side of the books, the only one that may go below zero.
    Settlement(Scheme),
    /// Promised to this customer.
    Held(AccountNumber),
    /// Received, and not yet anybody's.
    Unapplied(Scheme),
    Customer(AccountNumber),
}

impl Account {
    pub fn name(&self) -> String {
        match self {
            Account::Settlement(scheme) => ["settlement/", scheme.name()].concat(),
            Account::Held(account) => ["held/", account.key()].concat(),
            Account::Unapplied(scheme) => ["unapplied/", scheme.name()].concat(),
            Account::Customer(account) => ["customer/", account.key()].concat(),
        }
    }
}

/// Takes `minor` units from `debit` and gives them to `credit`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Posting {
    pub uetr: Uetr,
    pub movement: Movement,
    pub debit: Account,
    pub credit: Account,
    pub minor: u64,
    pub currency: Currency,
}

impl Posting {
    /// Of the whole amount of a payment; `None` where that is nothing.
    pub(super) fn of(payment: &Payment, movement: Movement, debit: Account, credit: Account) -> Option<Posting> {
        let (minor, currency) = (payment.amount.minor(), payment.amount.currency());
        (minor > 0).then(|| Posting { uetr: payment.uetr.clone(), movement, debit, credit, minor, currency })
    }

    /// Unique: the books refuse a second posting with it.
    pub fn id(&self) -> String {
        [self.uetr.as_str(), "/", self.movement.name()].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::invalid::Field;
    use crate::rules::kind::Kind;
    use crate::rules::message::Raw;

    fn transfer(value: &str) -> Payment {
        let raw = Raw::default()
            .with(Field::Uetr, "97ed4827-7b6f-4491-a06f-b548d5a7512d")
            .with(Field::EndToEndIdentification, "E2E-1")
            .with(Field::BankSettlementAmountValue, value)
            .with(Field::BankSettlementAmountCurrency, "ZAR");
        Payment::read(&raw, Kind::CreditTransfer).unwrap()
    }

    #[test]
    fn a_posting_is_named_by_payment_and_movement() {
        let (from, to) = (Account::Settlement(Scheme::ZaEft), Account::Unapplied(Scheme::ZaEft));
        let posting = Posting::of(&transfer("1.5"), Movement::Receive, from, to).unwrap();
        assert_eq!(posting.id(), "97ed4827-7b6f-4491-a06f-b548d5a7512d/receive");
        assert_eq!((posting.minor, posting.currency.code()), (150, "ZAR"));
        assert_eq!(
            (posting.debit.name(), posting.credit.name()),
            ("settlement/ZA_EFT".into(), "unapplied/ZA_EFT".into())
        );
    }

    #[test]
    fn nothing_is_not_posted() {
        let (from, to) = (Account::Settlement(Scheme::ZaEft), Account::Unapplied(Scheme::ZaEft));
        assert_eq!(Posting::of(&transfer("0"), Movement::Receive, from, to), None);
    }
}
