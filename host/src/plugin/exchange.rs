//! What passes between HTTP and a call: a request that was let in, and the answer to it.
//!
//! Plain values. Never carries a credential: the key is gone from headers and query before anything gets here.

use std::sync::Arc;

use bytes::Bytes;
use http::Method;
use tokio::time::Instant;

use super::routes::{Mounted, Route};
use crate::{
    auth::Principal,
    budget::{Charge, Payer},
    changes::scope::Scope,
    limits::HEADER_OVERHEAD_BYTES,
};

/// A request that was routed, authenticated, limited and read; pinned to one generation.
pub struct Admitted<G> {
    pub mounted: Arc<Mounted<G>>,
    pub route: Arc<Route>,
    /// As sent; a HEAD arrives as GET.
    pub method: Method,
    /// As sent, the mount included.
    pub path: String,
    /// Percent-decoded parameters of the path, by name.
    pub parameters: Vec<(String, String)>,
    /// Percent-decoded, in the order of the address, without the credential.
    pub query: Vec<(String, String)>,
    /// As sent, without the question mark and the credential; with `path`, what a fingerprint covers.
    pub raw_query: String,
    /// Those that the route asks for; names in lower case.
    pub headers: Vec<(String, String)>,
    pub content: Content,
    /// Charge of a large body.
    pub body_charge: Option<Charge>,
    pub principal: Arc<Principal>,
    /// Party whose share of the host it uses: a tenant, or an address without a key.
    pub payer: Payer,
    pub request_id: Arc<str>,
    /// What else the route asks for.
    pub context: Vec<(String, String)>,
    /// 1 to 255 visible ASCII characters; only on routes that write.
    pub idempotency_key: Option<String>,
    /// Deliveries and calls between hosts that led to the request.
    pub hops: u8,
    /// When the caller gives up, from the first byte.
    pub deadline: Instant,
}

/// The body of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    Empty,
    /// UTF-8, not parsed: the SDK refuses bad JSON.
    Json(String),
    Other {
        media_type: String,
        bytes: Bytes,
    },
}

impl Content {
    /// The bytes as they came; for the fingerprint.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Content::Empty => &[],
            Content::Json(text) => text.as_bytes(),
            Content::Other { bytes, .. } => bytes,
        }
    }
}

/// What goes back to HTTP.
pub enum Reply {
    /// And what its bytes are charged to until they are sent.
    Whole(Answer, Option<Charge>),
    /// A stream of the tenant's events.
    Feed(FeedWish),
}

/// Which events a stream shows. Empty lists mean all.
#[derive(Clone, Debug)]
pub struct FeedWish {
    pub scope: Scope,
    pub event_types: Vec<String>,
    pub subjects: Vec<String>,
}

/// What a plugin answered, or what was kept for the idempotency key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// 200 to 599; anything else is a fault of the plugin.
    pub status: u16,
    /// Those of the host and of the connection are dropped; one that cannot be sent is a fault of the plugin.
    pub headers: Vec<(String, String)>,
    /// `None` for an empty body.
    pub media_type: Option<String>,
    pub body: Bytes,
}

impl Answer {
    /// Memory that it is charged with until it is sent.
    pub fn charged_bytes(&self) -> u64 {
        let field = |(name, value): &(String, String)| name.len() + value.len() + HEADER_OVERHEAD_BYTES;
        (self.body.len() + self.headers.iter().map(field).sum::<usize>()) as u64
    }
}
