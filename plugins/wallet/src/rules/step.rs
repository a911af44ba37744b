//! What a command makes of a record: the new record, the edges that it took, what it posts and what it tells, as values. Or a
//! refusal, which changes nothing.
//!
//! Everything in a step is stored in one commit; a repeated command makes an empty step.

use super::amount::Money;
use super::books::{Account, Posting, Reason};
use super::event::Event;
use super::refusal::Refusal;
use super::status::Status;

/// A record that has a transaction_status.
pub trait Staged {
    fn id(&self) -> &str;
    fn status(&self) -> Status;
    /// Only [`Step::go`] may call it.
    fn set_status(&mut self, status: Status);
}

/// What a command has led to.
#[derive(Clone, Debug, PartialEq)]
pub struct Step<R> {
    pub record: R,
    /// For the history. Invariant: every one is an edge of the specification.
    pub moves: Vec<(Status, Status)>,
    pub postings: Vec<Posting>,
    pub events: Vec<Event>,
}

impl<R: Staged> Step<R> {
    pub(super) fn of(record: R) -> Step<R> {
        Step { record, moves: Vec::new(), postings: Vec::new(), events: Vec::new() }
    }

    /// Takes an edge; there is no other way to another status.
    pub(super) fn go(&mut self, next: Status) -> Result<(), Refusal> {
        let status = self.record.status();
        if !status.may_become(next) {
            return Err(Refusal::NotPossible { status });
        }
        self.record.set_status(next);
        self.moves.push((status, next));
        Ok(())
    }

    pub(super) fn post(&mut self, reason: Reason, money: Money, debit: Account, credit: Account) {
        self.postings.extend(Posting::of(self.record.id(), reason, money, debit, credit));
    }

    pub(super) fn tell(&mut self, event: Event) {
        self.events.push(event);
    }
}
