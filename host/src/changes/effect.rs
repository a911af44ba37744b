//! An outgoing call that follows a commit: the body of a record of `host_collections::EFFECTS`, from its start until its outcome
//! has been told.
//!
//! A plain value, and the rules of what comes next: pure. Invariants: "not sent" is said only where surely nothing reached
//! the other side, in any attempt; an attempt that nobody saw the end of counts as one that may have happened.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{
    outgoing::{OutgoingAnswer, OutgoingCall},
    timer::Trouble,
};
use crate::clock::Timestamp;
use crate::limits::RETRY_AFTER_MS_MAX;

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Effect {
    /// Of the next attempt, or from when on the outcome is to be told; `None`: the host has given up telling it.
    pub due: Option<Timestamp>,
    pub call: OutgoingCall,
    /// The task that is told the outcome.
    pub then: String,
    pub key: String,
    pub context: Box<RawValue>,
    /// Milliseconds between attempts.
    pub delays: Vec<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub give_up_at: Option<Timestamp>,
    #[serde(default)]
    pub progress: Progress,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    #[serde(flatten)]
    pub trouble: Trouble,
}

/// How far the attempts have got.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Progress {
    /// Attempts that have begun.
    pub attempts: u32,
    /// The last of them has not ended, as far as is written.
    pub under_way: bool,
    /// One of those that ended reached the other side, or may have: a 503 says that it arrived, not what became of it.
    pub may_have_happened: bool,
    /// Why the last one gave no final answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    Answered(OutgoingAnswer),
    NotSent(String),
    Unknown(String),
}

/// How one attempt ended.
#[derive(Clone, Debug)]
pub enum AttemptEnd {
    Answered {
        answer: OutgoingAnswer,
        /// What a Retry-After asks for.
        pause_ms: Option<u64>,
    },
    /// Surely nothing reached the other side.
    NotSent(String),
    Unknown(String),
    /// There was an answer, too long to be kept: another attempt would bring the same.
    TooLong,
}

/// What may be done with an effect that is due.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// An attempt: `begin` is written already.
    Attempt,
    /// It is settled: the outcome is to be told.
    Tell,
}

impl Effect {
    /// From the body of its record.
    pub fn parse(body: &str) -> Result<Effect, serde_json::Error> {
        serde_json::from_str(body)
    }

    /// Whether nothing has been tried yet.
    pub fn is_fresh(&self) -> bool {
        self.progress == Progress::default() && self.outcome.is_none()
    }

    /// "then:key", in every attempt.
    pub fn idempotency_key(&self) -> String {
        super::timer::record_id(&self.then, &self.key)
    }

    /// What is done next, noted in the record before it is done: who finds an attempt under way that nobody makes knows that
    /// it may have happened.
    pub fn begin(&mut self, now: Timestamp) -> Step {
        if self.outcome.is_some() {
            return Step::Tell;
        }
        self.progress.may_have_happened |= self.progress.under_way;
        let made = usize::try_from(self.progress.attempts).unwrap_or(usize::MAX);
        if made > self.delays.len() || self.give_up_at.is_some_and(|at| now > at) {
            let why = match self.progress.under_way {
                true => "the host ended while it was under way".to_owned(),
                false => self.progress.failure.take().unwrap_or_else(|| "given up before it could be sent".to_owned()),
            };
            self.progress.under_way = false;
            self.settle_without_answer(why, now);
            return Step::Tell;
        }
        self.progress.attempts = self.progress.attempts.saturating_add(1);
        self.progress.under_way = true;
        Step::Attempt
    }

    /// Notes how the attempt ended: another one is due, or the outcome is to be told at once.
    pub fn end(&mut self, end: AttemptEnd, now: Timestamp) {
        self.progress.under_way = false;
        let pause_ms = match &end {
            AttemptEnd::Answered { answer, .. } if !is_tried_again(answer.status) => None,
            AttemptEnd::Answered { pause_ms, .. } => self.next_delay(now, pause_ms.unwrap_or(0)),
            AttemptEnd::NotSent(_) | AttemptEnd::Unknown(_) => self.next_delay(now, 0),
            AttemptEnd::TooLong => None,
        };
        let failure = match &end {
            AttemptEnd::Answered { answer, .. } => format!("status {}", answer.status),
            AttemptEnd::NotSent(why) | AttemptEnd::Unknown(why) => why.clone(),
            AttemptEnd::TooLong => TOO_LONG.to_owned(),
        };
        self.progress.may_have_happened |= !matches!(end, AttemptEnd::NotSent(_));
        if let Some(pause_ms) = pause_ms {
            self.progress.failure = Some(failure);
            self.due = Some(now.saturating_add(pause_ms));
            return;
        }
        match end {
            AttemptEnd::Answered { answer, .. } => self.settle(Outcome::Answered(answer), now),
            _ => self.settle_without_answer(failure, now),
        }
    }

    /// `None`: that was the last attempt.
    fn next_delay(&self, now: Timestamp, wanted_ms: u64) -> Option<u64> {
        let made = usize::try_from(self.progress.attempts).unwrap_or(usize::MAX);
        let delay = u64::from(*self.delays.get(made.saturating_sub(1))?);
        let pause = delay.max(wanted_ms.min(RETRY_AFTER_MS_MAX));
        self.give_up_at.is_none_or(|at| now.saturating_add(pause) <= at).then_some(pause)
    }

    fn settle_without_answer(&mut self, why: String, now: Timestamp) {
        let sent = self.progress.may_have_happened;
        self.settle(if sent { Outcome::Unknown(why) } else { Outcome::NotSent(why) }, now);
    }

    fn settle(&mut self, outcome: Outcome, now: Timestamp) {
        self.outcome = Some(outcome);
        self.due = Some(now);
        self.trouble = Trouble::default();
    }
}

/// As `outbound` calls it where the answer passes even its own limit.
pub const TOO_LONG: &str = "too-large";

/// Statuses that say nothing about the request itself.
fn is_tried_again(status: u16) -> bool {
    matches!(status, 408 | 425 | 429 | 500..=599)
}

#[cfg(test)]
mod tests;
