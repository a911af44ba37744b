//! Values that pass between HTTP and a call: an admitted request, and its answer.
//!
//! Plain values without credentials: the key is removed from headers and query before a request is admitted.

use std::sync::Arc;

use bytes::Bytes;
use http::Method;
use tokio::time::Instant;

use super::routes::{Mounted, Route};
use crate::{
    auth::Principal,
    budget::{Charge, Party},
    changes::scope::Scope,
    limits::HEADER_OVERHEAD_BYTES,
};

/// A request that was routed, authenticated, rate-limited and read. It is pinned to one generation.
pub struct Admitted<G> {
    pub mounted: Arc<Mounted<G>>,
    pub route: Arc<Route>,
    /// Method of the request; a HEAD request arrives as GET.
    pub method: Method,
    /// Path of the request as sent, including the mount.
    pub path: String,
    /// Percent-decoded parameters of the path.
    pub parameters: Vec<(String, String)>,
    /// Percent-decoded query parameters in their order, without the credential.
    pub query: Vec<(String, String)>,
    /// Query as sent, without the question mark and the credential. The fingerprint covers it and `path`.
    pub raw_query: String,
    /// Headers that the route requests, with names in lower case.
    pub headers: Vec<(String, String)>,
    pub content: Content,
    /// Charge of a large body.
    pub body_charge: Option<Charge>,
    pub principal: Arc<Principal>,
    /// Party whose share of the host the request uses: a tenant, or the address of a caller without a key.
    pub party: Party,
    pub request_id: Arc<str>,
    /// Context values that the route requests.
    pub context: Vec<(String, String)>,
    /// 1 to 255 visible ASCII characters; only on routes that write.
    pub idempotency_key: Option<String>,
    /// Number of deliveries and calls between hosts that led to the request.
    pub hops: u8,
    /// Deadline, counted from the first byte.
    pub deadline: Instant,
}

/// The body of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    Empty,
    /// UTF-8 that was not parsed: the SDK rejects invalid JSON.
    Json(String),
    Other {
        media_type: String,
        bytes: Bytes,
    },
}

impl Content {
    /// Returns the bytes as they were received, for the fingerprint.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Content::Empty => &[],
            Content::Json(text) => text.as_bytes(),
            Content::Other { bytes, .. } => bytes,
        }
    }
}

/// Result of a call, for `http`.
pub enum CallResponse {
    /// A complete answer, and the charge of its bytes until they are sent.
    Whole(Answer, Option<Charge>),
    /// A stream of the tenant's events.
    Stream(StreamRequest),
}

/// Selects the events of a stream. An empty list selects all.
#[derive(Clone, Debug)]
pub struct StreamRequest {
    pub scope: Scope,
    pub event_types: Vec<String>,
    pub subjects: Vec<String>,
}

/// The answer of a plugin, or of an idempotency record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// 200 to 599; any other status is a fault of the plugin.
    pub status: u16,
    /// Headers of the host and of the connection are dropped. A header that cannot be sent is a fault of the plugin.
    pub headers: Vec<(String, String)>,
    /// `None` for an empty body.
    pub media_type: Option<String>,
    pub body: Bytes,
}

impl Answer {
    /// Returns the bytes of memory that are charged until the answer is sent.
    pub fn charged_bytes(&self) -> u64 {
        let field = |(name, value): &(String, String)| name.len() + value.len() + HEADER_OVERHEAD_BYTES;
        (self.body.len() + self.headers.iter().map(field).sum::<usize>()) as u64
    }
}
