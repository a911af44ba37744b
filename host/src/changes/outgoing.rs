//! A call to a remote server, whose destination is known only by name, and its response. Plain values: an effect stores
//! them in its record.
//!
//! Never holds an address or a credential: those belong to the destination and are looked up when the call is made.

use serde::{Deserialize, Serialize};

use super::timer::is_zero_hops;

/// A call to a destination that the operator configured in plugins.toml or a tenant through `destinations`, or to a
/// blockchain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct OutgoingCall {
    pub destination: String,
    pub method: String,
    /// Path below the base address of the destination, with an optional query.
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub content: OutgoingContent,
    /// Milliseconds for one attempt. 0 selects the operator's setting.
    pub timeout_ms: u32,
    /// Hops of the call that made it.
    #[serde(default, skip_serializing_if = "is_zero_hops")]
    pub hops: u8,
}

/// The response, with any status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct OutgoingResponse {
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

/// Encodes bytes as base64 in JSON.
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
