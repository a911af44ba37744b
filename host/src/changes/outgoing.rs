//! A call to somebody else's server, before its destination is known by more than a name, and what came back. Plain values:
//! an effect stores them in its record.
//!
//! Never holds an address or a credential: those are the destination's, and are found when the call is made.

use serde::{Deserialize, Serialize};

use super::timer::is_none;

/// To a destination that the operator named in plugins.toml, or a tenant through `destinations`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct OutgoingCall {
    pub destination: String,
    pub method: String,
    /// Below the base address of the destination; may carry a query.
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub content: OutgoingContent,
    /// Milliseconds for one attempt; 0 leaves it to the operator.
    pub timeout_ms: u32,
    /// Hops of the call that makes it.
    #[serde(default, skip_serializing_if = "is_none")]
    pub hops: u8,
}

/// What came back, with whatever status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct OutgoingAnswer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub content: OutgoingContent,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutgoingContent {
    Empty,
    /// One JSON text.
    Json(String),
    Other {
        media_type: String,
        #[serde(with = "base64_text")]
        bytes: Vec<u8>,
    },
}

impl OutgoingContent {
    pub fn bytes(&self) -> &[u8] {
        match self {
            OutgoingContent::Empty => &[],
            OutgoingContent::Json(text) => text.as_bytes(),
            OutgoingContent::Other { bytes, .. } => bytes,
        }
    }
}

/// Bytes stand in JSON as base64.
mod base64_text {
    use base64::{Engine, prelude::BASE64_STANDARD};
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&BASE64_STANDARD.encode(bytes))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(deserializer)?;
        BASE64_STANDARD.decode(text).map_err(D::Error::custom)
    }
}
