//! JSON types of messages to destinations of the kind "outbox", which are stored instead of being sent.

use serde::{Deserialize, Serialize};

use super::TimestampText;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutboxMessage {
    pub id: String,
    pub plugin: String,
    /// "acme/test"
    pub tenant: String,
    pub destination: String,
    pub method: String,
    pub path: String,
    /// `None` if there is no body.
    pub media_type: Option<String>,
    /// The beginning of the body, decoded as text.
    pub body: String,
    /// Length of the whole body.
    pub bytes: u64,
    pub idempotency_key: Option<String>,
    pub at: TimestampText,
}
