//! Why there is no answer: what is known, a class for metrics, words for operators.

use crate::outbound;

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{words}")]
pub struct CallFailure {
    pub certainty: Certainty,
    /// For metrics and operators: "dns", "timeout", "oauth", …
    pub class: &'static str,
    /// For operators: without paths and secrets.
    pub words: String,
}

/// What is known about a call without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Certainty {
    /// Surely no byte of the request reached the other side.
    NotSent,
    /// It may have been done, or not.
    Unknown,
}

impl CallFailure {
    pub(super) fn not_sent(class: &'static str, words: impl Into<String>) -> CallFailure {
        CallFailure { certainty: Certainty::NotSent, class, words: words.into() }
    }

    pub(super) fn unknown(class: &'static str, words: impl Into<String>) -> CallFailure {
        CallFailure { certainty: Certainty::Unknown, class, words: words.into() }
    }
}

impl From<outbound::Failure> for CallFailure {
    fn from(failure: outbound::Failure) -> CallFailure {
        let certainty = if failure.begun { Certainty::Unknown } else { Certainty::NotSent };
        CallFailure { certainty, class: failure.class.name(), words: failure.words }
    }
}
