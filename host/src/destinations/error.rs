//! Errors of calls to destinations: certainty, a class for metrics, a message for operators.

use crate::outbound;

/// Why a call has no response.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct DestinationCallError {
    pub certainty: Certainty,
    /// Class for metrics and operators: "dns", "timeout", "oauth", …
    pub class: &'static str,
    /// Message for operators, without paths and secrets.
    pub message: String,
}

/// Whether a call without a response may have been executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Certainty {
    /// No byte of the request reached the server.
    NotSent,
    /// The request may have been executed.
    Unknown,
}

impl DestinationCallError {
    pub(super) fn not_sent(class: &'static str, message: impl Into<String>) -> DestinationCallError {
        DestinationCallError { certainty: Certainty::NotSent, class, message: message.into() }
    }

    pub(super) fn unknown(class: &'static str, message: impl Into<String>) -> DestinationCallError {
        DestinationCallError { certainty: Certainty::Unknown, class, message: message.into() }
    }
}

impl From<outbound::OutboundError> for DestinationCallError {
    fn from(error: outbound::OutboundError) -> DestinationCallError {
        let certainty = if error.maybe_sent { Certainty::Unknown } else { Certainty::NotSent };
        DestinationCallError { certainty, class: error.class.name(), message: error.message }
    }
}
