//! Makes one call: on a connection that waits, or on a new one.
//!
//! Never tries again by itself, with one exception: where a kept connection turns out to be closed before a single byte
//! came back, the request goes out once more on a new one. The server may then see it twice; every call carries an id.

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
    exchange::{BodyEnd, Connection},
    failure::{Failure, FailureClass},
    own::OwnListeners,
    pool::Pool,
    resolve::{Party, Resolve},
    target::Target,
    tls::Roots,
};
use crate::fair::pace::Pacers;

/// What is asked of somebody else's server.
#[derive(Clone, Debug)]
pub struct Call {
    /// Party whose share of lookups the name of the target uses, and whose pace the answer takes.
    pub party: Party,
    pub target: Target,
    pub method: Method,
    /// Without those that speak of the connection: they are the client's.
    pub headers: HeaderMap,
    pub body: Bytes,
    /// For everything, from looking up the name to the last byte of the answer.
    pub within: Duration,
    /// How much of the body of the answer is wanted.
    pub answer_bytes_max: usize,
}

/// What the server said.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    /// The body, or its first bytes: see `end`.
    pub body: Bytes,
    pub end: BodyEnd,
    pub duration_ms: u64,
}

/// Shared by all who call.
pub struct Client {
    connector: Connector,
    pool: Pool,
    /// Paces at which answers are read for parties.
    pacers: Pacers<Party>,
}

const AGENT: HeaderValue = HeaderValue::from_static(concat!("Tenon/", env!("CARGO_PKG_VERSION")));

/// They would contradict what the client does with the connection.
const OF_THE_CONNECTION: [HeaderName; 9] =
    [HOST, CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING, TE, TRAILER, UPGRADE, EXPECT, PROXY_AUTHORIZATION];

impl Client {
    pub fn new(roots: Roots, resolver: Arc<dyn Resolve>) -> Result<Client, rustls::Error> {
        let tls = TlsConnector::from(Arc::new(roots.into_config()?));
        let connector = Connector { tls, resolver, own: OwnListeners::default() };
        Ok(Client { connector, pool: Pool::new(), pacers: Pacers::of_machine() })
    }

    /// From now on no call connects to these listeners, which are the host's own.
    pub fn refuse_listeners(&self, listeners: Vec<SocketAddr>) {
        self.connector.own.set(listeners);
    }

    /// An answer with any status, or why there is none.
    pub async fn send(&self, call: &Call, rule: &AddressRule) -> Result<Answer, Failure> {
        let started = Instant::now();
        let until = started + call.within;
        let begun = AtomicBool::new(false);
        let asked = timeout_at(until, self.ask(call, rule, &begun)).await.unwrap_or_else(|_| {
            let words = format!("{} has not answered within {} ms", call.target.place(), call.within.as_millis());
            Err(Failure::new(FailureClass::Timeout, words))
        });
        let (mut connection, response) = asked.map_err(|failure| {
            let begun = begun.load(Ordering::Relaxed);
            Failure { duration_ms: milliseconds_since(started), begun, ..failure }
        })?;
        let (head, body) = response.into_parts();
        let (body, end) = connection.read(body, call.answer_bytes_max, until).await;
        if end == BodyEnd::Whole && connection.is_ready() {
            self.pool.put(call.target.place(), connection);
        }
        let duration_ms = milliseconds_since(started);
        Ok(Answer { status: head.status, headers: head.headers, body, end, duration_ms })
    }

    /// Closes connections that nobody used for a while; for a worker that comes by now and then.
    pub fn close_idle(&self) {
        self.pool.close_old();
    }

    /// `begun` is set before anything is sent.
    async fn ask(
        &self,
        call: &Call,
        rule: &AddressRule,
        begun: &AtomicBool,
    ) -> Result<(Connection, Response<Incoming>), Failure> {
        if let Some(mut connection) = self.pool.take(call.target.place(), rule) {
            begun.store(true, Ordering::Relaxed);
            match connection.ask(request(call), call.answer_bytes_max, self.pacers.find(&call.party)).await {
                Ok(response) => return Ok((connection, response)),
                Err(failure) if failure.class == FailureClass::Reset && connection.is_silent() => {}
                Err(failure) => return Err(named(call, failure)),
            }
        }
        let (wire, peer) = self.connector.connect(&call.party, &call.target, rule).await?;
        let mut connection = Connection::start(wire, peer).await?;
        begun.store(true, Ordering::Relaxed);
        let response = connection.ask(request(call), call.answer_bytes_max, self.pacers.find(&call.party)).await;
        Ok((connection, response.map_err(|failure| named(call, failure))?))
    }

    #[cfg(test)]
    pub(super) fn idle_connections(&self) -> usize {
        self.pool.len()
    }
}

fn request(call: &Call) -> Request<Full<Bytes>> {
    let mut request = Request::new(Full::new(call.body.clone()));
    *request.method_mut() = call.method.clone();
    *request.uri_mut() = call.target.path().clone();
    let headers = request.headers_mut();
    *headers = call.headers.clone();
    for name in &OF_THE_CONNECTION {
        headers.remove(name);
    }
    headers.insert(HOST, call.target.host_header().clone());
    headers.entry(USER_AGENT).or_insert(AGENT);
    request
}

fn named(call: &Call, failure: Failure) -> Failure {
    Failure { words: format!("{}: {}", call.target.place(), failure.words), ..failure }
}

fn milliseconds_since(started: Instant) -> u64 {
    u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX)
}
