//! HTTP: from an accepted connection to an answered request.
//!
//! - `listener`: connections, their limits, and how they end; for any router. `tls`: what they begin with. `slots`: which are
//!   open. `activity`: what happens on one; `watched` counts its bytes. `repeats`: how often the log has lines about them.
//! - `service`: one request, from its head to its answer.
//! - `framing`: what holds of any head. `admission`: authentication, rates, scopes, the idempotency key. `content`: the
//!   body. `query`: the query.
//! - `answer`: what a plugin answered, as a response. `dropped`: headers that it loses on the way. `body`: whole, or a stream; `paced`: over HTTP/2. `refused`: why a request was not let in.
//! - `rates`, `cors`, `origin`, `request_ids`: what their names say. `trace`: under which id the caller follows
//!   the request. `pages`: the host's own pages. `tokens`: the token endpoint of OAuth.
//!
//! Never runs a plugin: that is behind [`Calls`]. Never logs a query, a body, or a header value but the ids of request and trace.

use std::{future::Future, sync::Arc};

use bytes::Bytes;
use tokio::sync::mpsc;

use crate::clock::Timestamp;
use crate::{
    failure::Failure,
    plugin::{
        exchange::{Admitted, FeedWish, Reply},
        routes::RouteTable,
    },
};

mod activity;
mod admission;
mod answer;
mod body;
mod body_memory;
mod content;
mod cors;
mod dropped;
mod frames;
mod framing;
pub mod listener;
mod origin;
mod paced;
mod pages;
mod query;
mod rates;
mod refused;
mod repeats;
mod request_ids;
pub mod service;
mod slots;
#[cfg(test)]
mod tests;
pub mod tls;
mod tokens;
mod trace;
mod watched;

pub use body::Body;
pub use listener::{Stopped, serve, serve_router};
pub use service::{Parts, Service};
pub use slots::ConnectionCounts;

/// What stands behind HTTP: the current routes, and running a call.
pub trait Calls: Send + Sync + 'static {
    /// What a plugin is to whoever runs the call: a generation.
    type Owner: Clone + Send + Sync + 'static;

    /// The routes as they are now. Each request asks once and keeps what it got.
    fn current(&self) -> Arc<RouteTable<Self::Owner>>;

    /// Returns true if a path without a route may belong to a plugin that is configured and does not serve: it is being
    /// prepared, or was refused.
    fn may_be_absent(&self, table: &RouteTable<Self::Owner>, path: &str) -> bool;

    /// Runs the call to its durable end. It owns the deadline. Dropping the future early (the caller hung up) cancels a call
    /// that only reads, or that has not begun to run; any other is performed to its end. Why it failed, it has logged.
    fn call(&self, admitted: Admitted<Self::Owner>) -> impl Future<Output = Result<Reply, Failure>> + Send;

    /// The chunks of a stream, from the event after this one on, or from now. `None`: too many are open.
    fn stream(&self, feed: FeedWish, last_event_id: Option<String>) -> Option<mpsc::Receiver<Bytes>>;
}

/// The clock of the host, in milliseconds.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Told of every request that belonged to a plugin, and of the generation that it was pinned to.
pub trait HttpMetrics<G>: Send + Sync + 'static {
    fn observe(&self, owner: &G, request: &Observed<'_>);
}

/// One answered request, for the metrics.
#[derive(Clone, Copy, Debug)]
pub struct Observed<'a> {
    pub plugin: &'a str,
    /// Number of the generation.
    pub generation: u64,
    /// Empty where no route was found.
    pub operation: &'a str,
    pub status: u16,
    /// From the head of the request to the head of the answer.
    pub seconds: f64,
}
