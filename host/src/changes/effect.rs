//! An outgoing call that follows a commit: the body of a record of `host_collections::EFFECTS`. The record exists until
//! the outcome has been reported to its task.
//!
//! A plain value with the pure rules of its next step. Invariants: the outcome is "not sent" only if no attempt can
//! have reached the other side. An attempt whose end was not recorded counts as one that may have happened.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{
    outgoing::{OutgoingCall, OutgoingResponse},
    timer::FaultHistory,
};
use crate::clock::Timestamp;
use crate::limits::RETRY_AFTER_MS_MAX;

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Effect {
    /// Time of the next attempt, or of the next report of the outcome. `None` once the host has given up
    /// reporting it.
    pub due: Option<Timestamp>,
    pub call: OutgoingCall,
    /// Task that receives the outcome.
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
    pub fault_history: FaultHistory,
}

/// Progress of the attempts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Progress {
    /// Number of attempts that have begun.
    pub attempts: u32,
    /// The end of the last attempt has not been recorded.
    pub under_way: bool,
    /// An earlier attempt reached the other side, or may have. A 503 shows that the call arrived, but not whether it
    /// was executed.
    pub may_have_happened: bool,
    /// Why the last attempt had no final response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    Answered(OutgoingResponse),
    NotSent(String),
    Unknown(String),
}

/// Result of one attempt.
#[derive(Clone, Debug)]
pub enum AttemptEnd {
    Answered {
        answer: OutgoingResponse,
        /// Pause that a Retry-After header requests.
        pause_ms: Option<u64>,
    },
    /// Certainly nothing reached the other side.
    NotSent(String),
    Unknown(String),
    /// The response was too long to be stored. Another attempt would have the same result.
    TooLong,
}

/// The next step of an effect that is due.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// Make an attempt, whose beginning is already noted in the effect.
    Attempt,
    /// Report the outcome, because the effect is settled.
    Report,
}

impl Effect {
    /// Parses the body of a record.
    pub fn parse(body: &str) -> Result<Effect, serde_json::Error> {
        serde_json::from_str(body)
    }

    /// Returns true if no attempt can have been made yet.
    pub fn is_fresh(&self) -> bool {
        self.progress == Progress::default() && self.outcome.is_none()
    }

    /// Returns "then:key", the idempotency key of every attempt.
    pub fn idempotency_key(&self) -> String {
        super::timer::record_id(&self.then, &self.key)
    }

    /// Decides the next step and notes it. The record must be written before the step is taken. If a later `begin`
    /// finds an attempt under way, that attempt was interrupted and may have happened.
    pub fn begin(&mut self, now: Timestamp) -> Step {
        if self.outcome.is_some() {
            return Step::Report;
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
            return Step::Report;
        }
        self.progress.attempts = self.progress.attempts.saturating_add(1);
        self.progress.under_way = true;
        Step::Attempt
    }

    /// Notes the end of the attempt. Afterwards another attempt is due, or the effect is settled and its outcome is due
    /// at once.
    pub fn end(&mut self, end: AttemptEnd, now: Timestamp) {
        self.progress.under_way = false;
        let pause_ms = match &end {
            AttemptEnd::Answered { answer, .. } if !is_retried(answer.status) => None,
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

    /// Returns the pause before the next attempt, or `None` if no delay is left or the attempt would be
    /// after `give_up_at`.
    fn next_delay(&self, now: Timestamp, requested_ms: u64) -> Option<u64> {
        let made = usize::try_from(self.progress.attempts).unwrap_or(usize::MAX);
        let delay = u64::from(*self.delays.get(made.saturating_sub(1))?);
        let pause = delay.max(requested_ms.min(RETRY_AFTER_MS_MAX));
        self.give_up_at.is_none_or(|at| now.saturating_add(pause) <= at).then_some(pause)
    }

    fn settle_without_answer(&mut self, why: String, now: Timestamp) {
        let sent = self.progress.may_have_happened;
        self.settle(if sent { Outcome::Unknown(why) } else { Outcome::NotSent(why) }, now);
    }

    fn settle(&mut self, outcome: Outcome, now: Timestamp) {
        self.outcome = Some(outcome);
        self.due = Some(now);
        self.fault_history = FaultHistory::default();
    }
}

/// Error class of a response that is too long. Equal to the class of `outbound` for a response that exceeds its own
/// limit.
pub const TOO_LONG: &str = "too-large";

/// Returns true for statuses that do not depend on the request itself.
fn is_retried(status: u16) -> bool {
    matches!(status, 408 | 425 | 429 | 500..=599)
}

#[cfg(test)]
mod tests;
