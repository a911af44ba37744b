//! JSON about messages that were stored instead of being sent.

use serde::{Deserialize, Serialize};

use super::Moment;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutboxMessage {
    pub id: String,
    pub plugin: String,
    /// "acme/test"
    pub tenant: String,
    pub destination: String,
    pub method: String,
    pub path: String,
    /// Null where there is no body.
    pub media_type: Option<String>,
    /// Its beginning, as text.
    pub body: String,
    /// Of the whole body.
    pub bytes: u64,
    pub idempotency_key: Option<String>,
    pub at: Moment,
}
