//! What a command makes of a payment: the new record, the edges that it took, and what else has to be done, as values.
//! Or a refusal, which changes nothing.

use super::account::AccountNumber;
use super::books::Posting;
use super::date::Date;
use super::event::Event;
use super::limits::{DELIVERY_REPEATS_MS, LATER_REPEATS_MS, LATER_ROUND_MS};
use super::refusal::Refusal;
use super::scheme::Operation;
use super::state::State;
use super::status::{Outcome, StatusReason};

/// A record that has a state.
pub trait Staged {
    fn state(&self) -> State;
    /// Only [`Step::go`] may call it.
    fn set_state(&mut self, state: State);
}

/// What a command has led to.
#[derive(Clone, Debug, PartialEq)]
pub struct Step<R> {
    pub record: R,
    /// For the history. Invariant: every one is an edge of the specification.
    pub moves: Vec<(State, State)>,
    /// In the order in which they are to be done. None, and no move: the command was a repeat, or came too late to matter.
    pub effects: Vec<Effect>,
}

impl<R: Staged> Step<R> {
    pub fn of(record: R) -> Step<R> {
        Step { record, moves: Vec::new(), effects: Vec::new() }
    }

    /// Takes an edge; there is no other way to another state.
    pub(super) fn go(&mut self, next: State) -> Result<(), Refusal> {
        let state = self.record.state();
        if !state.may_become(next) {
            return Err(Refusal::NotPossible { state });
        }
        self.record.set_state(next);
        self.moves.push((state, next));
        Ok(())
    }

    pub(super) fn then(&mut self, effect: Effect) {
        self.effects.push(effect);
    }
}

/// What has to be done besides storing the record, in the same commit or after it.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Replaces a waiting timer of the same name.
    Schedule {
        timer: Timer,
        at_ms: u64,
    },
    Cancel(Timer),
    /// To the other side, again and again with these pauses, until it is answered or the time is over.
    Send {
        operation: Operation,
        message: Message,
        /// How long one attempt waits: for the acknowledgement, or for an answer that is more than that.
        answer_within_ms: u64,
        pauses: Pauses,
        give_up_at_ms: Option<u64>,
    },
    /// To the bank's own system, with these pauses.
    Notify {
        ending: Ending,
        pauses: Pauses,
    },
    Post(Posting),
    Emit(Event),
}

/// The final outcome of a payment, as the bank's own system is notified of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Ending {
    pub booking: Booking,
    /// Account that the payment was approved for.
    pub account: Option<AccountNumber>,
    /// Settlement date of a completion.
    pub settlement_date: Option<Date>,
    /// Reason why nothing is booked, if it is known.
    pub reason: Option<StatusReason>,
}

/// Final booking of a payment in the bank's own books.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Booking {
    /// The amount is booked to the account.
    Post,
    /// Nothing is booked, and nothing is held any longer.
    Release,
}

impl Booking {
    pub fn name(self) -> &'static str {
        match self {
            Booking::Post => "post",
            Booking::Release => "release",
        }
    }
}

/// How long is waited around the attempts of one round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pauses {
    /// Before the first: who answers what is no answer does so at once, and would be asked again at once.
    pub before_ms: u64,
    pub between_ms: &'static [u32],
}

impl Pauses {
    pub fn at_once(between_ms: &'static [u32]) -> Pauses {
        Pauses { before_ms: 0, between_ms }
    }
}

/// Durable timers, one of each name for a payment. A timer that fires when it is no longer wanted changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Timer {
    /// Partner: decide now, in a task of its own.
    Decide,
    /// Partner: its own time to decide is over.
    DecisionBudget,
    /// Both: the completion of an approved payment is overdue.
    Completion,
    /// Partner: the bank's own system was not notified. Its task fails by design, so that it is on the operators' list.
    NoticeAlarm,
    /// Platform: the proxy must be resolved.
    Determination,
    /// Platform: the partner must have answered.
    Response,
}

impl Timer {
    pub fn name(self) -> &'static str {
        match self {
            Timer::Decide => "decide",
            Timer::DecisionBudget => "decision-due",
            Timer::Completion => "completion-due",
            Timer::NoticeAlarm => "bank-not-notified",
            Timer::Determination => "determination-due",
            Timer::Response => "response-due",
        }
    }
}

/// What is sent; the rest of the body is the payment's.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    Determination,
    Payment,
    Completion { outcome: Outcome, settlement_date: Date },
    Response { outcome: Outcome, reason: Option<StatusReason> },
}

/// How a message of ours was taken, after its repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    Accepted,
    /// The other side says that the message is wrong; no repeat helps.
    Refused,
    /// The other side is broken.
    Broken,
    /// No answer, or "later": it may have been received or not.
    Silent,
}

impl Reply {
    /// Of the last attempt's HTTP status, if there was an answer. 429 is a missed acknowledgement (INBOUND_TIMEOUT,
    /// INBOUND_RATE_LIMITED), as 408 and 425 are. 502, 503 and 504 come from a gateway, or from a host that starts: the system
    /// behind it may have received the message or not.
    pub fn of_status(status: Option<u16>) -> Reply {
        match status {
            Some(200..=299) => Reply::Accepted,
            None | Some(408 | 425 | 429 | 502..=504) => Reply::Silent,
            Some(400..=499) => Reply::Refused,
            Some(_) => Reply::Broken,
        }
    }
}

/// Where a message stands that must be delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Delivery {
    #[default]
    NotDue,
    Underway,
    /// A round of attempts has reached nobody: it goes on being tried, and stands in the report meanwhile.
    Unreached,
    Delivered,
    /// Refused, or given up: it stands in the report until somebody sends it again.
    Undelivered,
}

impl Delivery {
    pub const ALL: [Delivery; 5] =
        [Delivery::NotDue, Delivery::Underway, Delivery::Unreached, Delivery::Delivered, Delivery::Undelivered];

    pub fn name(self) -> &'static str {
        match self {
            Delivery::NotDue => "not_due",
            Delivery::Underway => "underway",
            Delivery::Unreached => "unreached",
            Delivery::Delivered => "delivered",
            Delivery::Undelivered => "undelivered",
        }
    }

    pub fn of_name(name: &str) -> Option<Delivery> {
        Delivery::ALL.into_iter().find(|delivery| delivery.name() == name)
    }

    /// Whether an answer to it is awaited.
    pub fn is_tried(self) -> bool {
        matches!(self, Delivery::Underway | Delivery::Unreached)
    }

    /// Whether somebody should look at it.
    pub fn is_listed(self) -> bool {
        matches!(self, Delivery::Unreached | Delivery::Undelivered)
    }

    /// A round of attempts begins, with these pauses: slow ones, and listed, where the round before has reached nobody.
    pub(super) fn begin_round(&mut self) -> Pauses {
        if self.is_tried() {
            *self = Delivery::Unreached;
            return Pauses { before_ms: LATER_ROUND_MS, between_ms: LATER_REPEATS_MS };
        }
        *self = Delivery::Underway;
        Pauses::at_once(DELIVERY_REPEATS_MS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_are_told_apart_by_whether_a_repeat_helps() {
        let table = [
            (Some(202), Reply::Accepted),
            (Some(200), Reply::Accepted),
            (Some(400), Reply::Refused),
            (Some(422), Reply::Refused),
            (Some(429), Reply::Silent),
            (Some(408), Reply::Silent),
            (Some(500), Reply::Broken),
            (Some(501), Reply::Broken),
            (Some(502), Reply::Silent),
            (Some(503), Reply::Silent),
            (Some(504), Reply::Silent),
            (Some(505), Reply::Broken),
            (Some(302), Reply::Broken),
            (None, Reply::Silent),
        ];
        for (status, expected) in table {
            assert_eq!(Reply::of_status(status), expected, "{status:?}");
        }
    }
}
