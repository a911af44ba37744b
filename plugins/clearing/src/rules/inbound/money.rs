//! The postings of each step; the table stands in `books`.

use super::{Decision, Inbound};
use crate::rules::account::AccountNumber;
use crate::rules::books::{Account, Movement, Posting};
use crate::rules::kind::Kind;
use crate::rules::status::Outcome;
use crate::rules::step::{Effect, Step};

fn post(step: &mut Step<Inbound>, movement: Movement, debit: Account, credit: Account) {
    if let Some(posting) = Posting::of(&step.record.payment, movement, debit, credit) {
        step.then(Effect::Post(posting));
    }
}

/// An EFT credit transfer is here before anybody has looked at it.
pub(super) fn receive(step: &mut Step<Inbound>) {
    let scheme = step.record.payment.scheme;
    post(step, Movement::Receive, Account::Settlement(scheme), Account::Unapplied(scheme));
}

pub(super) fn approve(step: &mut Step<Inbound>, account: &AccountNumber) {
    let scheme = step.record.payment.scheme;
    let customer = Account::Customer(account.clone());
    match step.record.payment.kind {
        Kind::CreditTransfer => post(step, Movement::Book, Account::Unapplied(scheme), customer),
        Kind::DirectDebit => post(step, Movement::Book, customer, Account::Settlement(scheme)),
        Kind::Authorisation | Kind::AuthorisationSync => {
            post(step, Movement::Hold, Account::Settlement(scheme), Account::Held(account.clone()))
        }
    }
}

/// Only an EFT credit transfer has moved anything before it is rejected.
pub(super) fn reject(step: &mut Step<Inbound>) {
    let scheme = step.record.payment.scheme;
    if step.record.payment.kind == Kind::CreditTransfer {
        post(step, Movement::Return, Account::Unapplied(scheme), Account::Settlement(scheme));
    }
}

/// What an authorisation held goes to the customer, or back.
pub(super) fn settle(step: &mut Step<Inbound>, outcome: Outcome) {
    let Decision::Approved(account) = step.record.decision.clone() else { return };
    let scheme = step.record.payment.scheme;
    let held = Account::Held(account.clone());
    match outcome {
        Outcome::Approved => post(step, Movement::Book, held, Account::Customer(account)),
        Outcome::Rejected => post(step, Movement::Release, held, Account::Settlement(scheme)),
    }
}
