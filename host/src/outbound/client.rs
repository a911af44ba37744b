//! Makes one call, on an idle connection or on a new one.
//!
//! Calls are not retried, with one exception: if a reused connection turns out to be closed before a byte of the
//! response arrived, the request is sent again on a new one. The server may then receive it twice. Webhooks and effects
//! carry an id, so that a receiver can detect the repetition.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode,
    header::{
        CONNECTION, CONTENT_LENGTH, EXPECT, HOST, PROXY_AUTHORIZATION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
        USER_AGENT,
    },
};
use http_body_util::Full;
use hyper::body::Incoming;
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsConnector;

use super::{
    address::AddressRule,
    connect::Connector,
    error::{OutboundError, OutboundErrorClass},
    exchange::{BodyEnd, Connection},
    own_listeners::OwnListeners,
    pool::Pool,
    resolve::{Party, Resolve},
    target::Target,
    tls::Roots,
};
use crate::fair::pace::Pacers;

/// A request to an external server.
#[derive(Clone, Debug)]
pub struct OutboundCall {
    /// Party whose share of lookups and whose rate limit for responses the call uses.
    pub party: Party,
    pub target: Target,
    pub method: Method,
    /// Headers. The client removes those that describe the connection, and sets its own where HTTP requires them.
    pub headers: HeaderMap,
    pub body: Bytes,
    /// Time for the whole call, from the lookup of the name to the last byte of the response.
    pub within: Duration,
    /// Maximum number of bytes of the body that are read.
    pub response_bytes_max: usize,
}

/// The response of an external server.
#[derive(Clone, Debug)]
pub struct OutboundResponse {
    pub status: StatusCode,
    pub headers: HeaderMap,
    /// The body or its first bytes; see `end`.
    pub body: Bytes,
    pub end: BodyEnd,
    pub duration_ms: u64,
}

/// HTTP client shared by all callers.
pub struct Client {
    connector: Connector,
    pool: Pool,
    /// Rate limits for reading responses, by party.
    pacers: Pacers<Party>,
}

const AGENT: HeaderValue = HeaderValue::from_static(concat!("Tenon/", env!("CARGO_PKG_VERSION")));

/// Headers of a call that the client removes, because they describe the connection.
const CONNECTION_HEADERS: [HeaderName; 9] =
    [HOST, CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING, TE, TRAILER, UPGRADE, EXPECT, PROXY_AUTHORIZATION];

impl Client {
    pub fn new(roots: Roots, resolver: Arc<dyn Resolve>) -> Result<Client, rustls::Error> {
        let tls = TlsConnector::from(Arc::new(roots.into_config()?));
        let connector = Connector { tls, resolver, own_listeners: OwnListeners::default() };
        Ok(Client { connector, pool: Pool::new(), pacers: Pacers::of_machine() })
    }

    /// Sets the listeners of the host that this client blocks. No call connects to them from now on.
    pub fn block_listeners(&self, listeners: Vec<SocketAddr>) {
        self.connector.own_listeners.set(listeners);
    }

    /// Sends a request. Returns a response with any status, or an error if there is no response.
    pub async fn send(&self, call: &OutboundCall, rule: &AddressRule) -> Result<OutboundResponse, OutboundError> {
        let started = Instant::now();
        let until = started + call.within;
        let maybe_sent = AtomicBool::new(false);
        let response = timeout_at(until, self.request(call, rule, &maybe_sent)).await.unwrap_or_else(|_| {
            let message = format!("{} has not answered within {} ms", call.target.origin(), call.within.as_millis());
            Err(OutboundError::new(OutboundErrorClass::Timeout, message))
        });
        let (mut connection, response) = response.map_err(|error| {
            let maybe_sent = maybe_sent.load(Ordering::Relaxed);
            OutboundError { duration_ms: milliseconds_since(started), maybe_sent, ..error }
        })?;
        let (head, body) = response.into_parts();
        let (body, end) = connection.read(body, call.response_bytes_max, until).await;
        if end == BodyEnd::Whole && connection.is_ready() {
            self.pool.put(call.target.origin(), connection);
        }
        let duration_ms = milliseconds_since(started);
        Ok(OutboundResponse { status: head.status, headers: head.headers, body, end, duration_ms })
    }

    /// Closes connections that were idle for too long. Called periodically by a worker.
    pub fn close_idle(&self) {
        self.pool.close_old();
    }

    /// Sends the request and waits for the head of the response. `maybe_sent` is set before anything is sent.
    async fn request(
        &self,
        call: &OutboundCall,
        rule: &AddressRule,
        maybe_sent: &AtomicBool,
    ) -> Result<(Connection, Response<Incoming>), OutboundError> {
        if let Some(mut connection) = self.pool.take(call.target.origin(), rule) {
            maybe_sent.store(true, Ordering::Relaxed);
            match connection.request(build_request(call), call.response_bytes_max, self.pacers.find(&call.party)).await
            {
                Ok(response) => return Ok((connection, response)),
                Err(error) if error.class == OutboundErrorClass::Reset && connection.is_silent() => {}
                Err(error) => return Err(with_origin(call, error)),
            }
        }
        let (wire, peer) = self.connector.connect(&call.party, &call.target, rule).await?;
        let mut connection = Connection::start(wire, peer).await?;
        maybe_sent.store(true, Ordering::Relaxed);
        let response =
            connection.request(build_request(call), call.response_bytes_max, self.pacers.find(&call.party)).await;
        Ok((connection, response.map_err(|error| with_origin(call, error))?))
    }

    #[cfg(test)]
    pub(super) fn idle_connections(&self) -> usize {
        self.pool.len()
    }
}

fn build_request(call: &OutboundCall) -> Request<Full<Bytes>> {
    let mut request = Request::new(Full::new(call.body.clone()));
    *request.method_mut() = call.method.clone();
    *request.uri_mut() = call.target.path().clone();
    let headers = request.headers_mut();
    *headers = call.headers.clone();
    for name in &CONNECTION_HEADERS {
        headers.remove(name);
    }
    headers.insert(HOST, call.target.host_header().clone());
    headers.entry(USER_AGENT).or_insert(AGENT);
    request
}

fn with_origin(call: &OutboundCall, error: OutboundError) -> OutboundError {
    OutboundError { message: format!("{}: {}", call.target.origin(), error.message), ..error }
}

fn milliseconds_since(started: Instant) -> u64 {
    u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX)
}
