//! HTTP: from an accepted connection to a sent response.
//!
//! - `listener`: accepts connections for any router, enforces their limits and closes them. `tls`: the handshake.
//!   `slots`: the set of open connections. `activity`: requests and progress of one connection. `counted_stream`:
//!   counts its bytes. `frames`: counts its HTTP/2 control frames. `repeats`: limits log lines about connections.
//! - `service`: one request, from its head to its response.
//! - `framing`: checks that apply to any request head. `admission`: authentication, rates, scopes, the idempotency key.
//!   `content`: the body. `body_memory`: its memory charge. `query`: the query.
//! - `response`: builds the response from a plugin's answer. `dropped`: logs headers that the host removes from an
//!   answer. `body`: a whole body or an event stream. `paced`: a body over HTTP/2. `error`: why a request was rejected.
//! - `rates`: rate limits. `cors`: CORS headers. `origin`: the client's address and transport. `request_ids`: request
//!   ids. `trace`: the caller's trace id. `pages`: the host's own pages. `tokens`: the OAuth token endpoint.
//!
//! Invariants: this module never runs a plugin, which [`Backend`] does. It never logs a query, a body, or a header
//! value other than the request id, the trace id, and the client's address.

use std::{future::Future, sync::Arc};

use bytes::Bytes;
use tokio::sync::mpsc;

use crate::{
    clock::Timestamp,
    host_error::HostError,
    plugin::{
        exchange::{Admitted, CallResponse, StreamRequest},
        routes::RouteTable,
    },
};

mod activity;
mod admission;
mod body;
mod body_memory;
mod content;
mod cors;
mod counted_stream;
mod dropped;
mod error;
mod frames;
mod framing;
pub mod listener;
mod origin;
mod paced;
mod pages;
mod query;
mod rates;
mod repeats;
mod request_ids;
mod response;
pub mod service;
mod slots;
#[cfg(test)]
mod tests;
pub mod tls;
mod tokens;
mod trace;

pub use body::Body;
pub use listener::{ServeOutcome, serve, serve_router};
pub use service::{Service, ServiceParts};
pub use slots::ConnectionCounts;

/// The current routes, and execution of calls.
pub trait Backend: Send + Sync + 'static {
    /// Identifies what serves a plugin: a generation.
    type Owner: Clone + Send + Sync + 'static;

    /// Returns the current routes. Each request calls this once and keeps the result.
    fn current(&self) -> Arc<RouteTable<Self::Owner>>;

    /// Returns true if a path without a route may belong to a configured plugin that is not serving, because it is
    /// being prepared or was rejected.
    fn may_be_absent(&self, table: &RouteTable<Self::Owner>, path: &str) -> bool;

    /// Runs the call until its result is durable and enforces its deadline. Logs the cause of an error.
    ///
    /// Dropping the future early (the caller disconnected) cancels a call that only reads or has not begun to run. Any
    /// other call runs to completion.
    fn call(&self, admitted: Admitted<Self::Owner>) -> impl Future<Output = Result<CallResponse, HostError>> + Send;

    /// Returns the chunks of an event stream, starting after `last_event_id` or now. Returns `None` if too many streams
    /// are open.
    fn stream(&self, feed: StreamRequest, last_event_id: Option<String>) -> Option<mpsc::Receiver<Bytes>>;
}

/// Clock of the host, in milliseconds.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Receives each request that belonged to a plugin, with the generation that it was pinned to.
pub trait RequestObserver<G>: Send + Sync + 'static {
    fn observe(&self, owner: &G, request: &ObservedRequest<'_>);
}

/// A completed request, for the metrics.
#[derive(Clone, Copy, Debug)]
pub struct ObservedRequest<'a> {
    pub plugin: &'a str,
    /// Generation number.
    pub generation: u64,
    /// Empty if no route was found.
    pub operation: &'a str,
    pub status: u16,
    /// Time from the request head to the response head.
    pub seconds: f64,
}
