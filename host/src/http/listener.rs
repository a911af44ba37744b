//! Connections: accepts them, enforces their limits and closes them.
//!
//! Owns the accept loop (axum's own has no timeout for a request head). Serves HTTP/1.1 and HTTP/2 on one port, with or
//! without TLS.
//!
//! Invariants: an accepted connection holds one of `connections_max` slots until it ends. A connection that has not
//! sent a complete first request head within the header timeout is closed, the handshake included. A connection whose
//! peer does not read is closed. After `shutdown`, active requests finish, and those that are still active after
//! `shutdown_ms` are aborted.

#![expect(clippy::disallowed_methods, reason = "one task for each connection; `serve` ends them")]

use std::{
    convert::Infallible,
    future::Future,
    net::IpAddr,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use axum::extract::ConnectInfo;
use bytes::Bytes;
use futures_util::FutureExt;
use http::{HeaderMap, HeaderValue, Request, Response, Version, header};
use hyper::{
    body::{Body, Incoming},
    service::service_fn,
};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    sync::watch,
    time::Instant,
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};
use tower::ServiceExt;

pub use super::activity::ActiveRequest;
use super::{
    Backend, Service,
    activity::{Activity, CloseReason, ProgressLimits},
    body_memory::BodyMemory,
    content::ChargeRequired,
    counted_stream::CountedStream,
    origin::{Peer, Transport},
    repeats::{PeerRepeats, Repeats},
    service::PacedAddress,
    slots::{ConnectionCounts, Slot, Slots, TooManyOfPeer},
    tls::{self, Tls},
};
use crate::{
    auth::guess_limiter::network,
    config::HttpConfig,
    limits::{
        ACCEPT_PAUSE_MS, CONNECTION_CORE_US, FLOOD_CORE_US, FLOOD_DELAY_MS_MAX, HANDSHAKE_CORE_US, HEAD_BYTES_MAX,
        HOST_RESPONSE_CORE_US, HTTP2_CONNECTION_WINDOW_BYTES, HTTP2_HEAD_BYTES_MAX, HTTP2_SEND_BYTES,
        HTTP2_STREAM_WINDOW_BYTES, PEER_UNRESPONSIVE_MS, SOCKET_SEND_BYTES, STOP_GRACE_MS, STREAMS_PER_CONNECTION,
    },
};
pub(super) use paces::Paces;
use paces::{pace_refusal, refuse_stream};

mod paces;
#[cfg(test)]
mod tests;

/// Outcome of serving a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServeOutcome {
    /// Number of connections that were still open at the deadline.
    pub cut: usize,
}

/// Handles the requests of a connection. Never fails: an error is a response as well.
trait RequestHandler: Send + Sync + 'static {
    type Body: Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>> + Send + 'static;

    fn handle(&self, request: Request<Incoming>, peer: Peer) -> impl Future<Output = Response<Self::Body>> + Send;

    /// Charges a request beyond `HTTP2_SMALL_REQUESTS` of a connection, or returns the response that refuses it.
    fn charge(&self, headers: &HeaderMap, peer: Peer) -> impl Future<Output = ChargedStream<Self::Body>> + Send;

    /// Returns the counters of its connections.
    fn counts(&self) -> Arc<ConnectionCounts>;

    /// Keeps the request active while its response is being sent, such as an event stream. The default ends it at once.
    fn hold(_body: &mut Self::Body, _running: ActiveRequest) {}
}

/// Memory charge of a stream, if it is charged, or the response that refuses the stream.
type ChargedStream<B> = Result<Option<BodyMemory>, Response<B>>;

impl<C: Backend> RequestHandler for Service<C> {
    type Body = super::Body;

    fn handle(&self, request: Request<Incoming>, peer: Peer) -> impl Future<Output = Response<super::Body>> + Send {
        Service::handle(self, request, peer)
    }

    async fn charge(&self, headers: &HeaderMap, peer: Peer) -> ChargedStream<super::Body> {
        match self.charge_stream(headers, peer).await {
            Ok(memory) => Ok(Some(memory)),
            Err(_no_memory) => Err(refuse_stream(self.origins.client_address(peer.address, headers))),
        }
    }

    fn counts(&self) -> Arc<ConnectionCounts> {
        self.connections.clone()
    }

    fn hold(body: &mut super::Body, active: ActiveRequest) {
        body.hold(active);
    }
}

impl RequestHandler for axum::Router {
    type Body = axum::body::Body;

    async fn handle(&self, mut request: Request<Incoming>, peer: Peer) -> Response<axum::body::Body> {
        request.extensions_mut().insert(ConnectInfo(peer.address));
        let Ok(response) = self.clone().oneshot(request.map(axum::body::Body::new)).await;
        response
    }

    /// Charges nothing, because the operators' listener has few connections and no budget.
    async fn charge(&self, _headers: &HeaderMap, _peer: Peer) -> ChargedStream<axum::body::Body> {
        Ok(None)
    }

    /// Returns counters that nothing reads, since the operators' listener has few connections.
    fn counts(&self) -> Arc<ConnectionCounts> {
        Arc::default()
    }
}

/// Serves the interfaces until `shutdown` completes and active requests have finished or their deadline has passed.
pub async fn serve<C: Backend>(
    listener: TcpListener,
    tls: Option<Arc<Tls>>,
    service: Arc<Service<C>>,
    shutdown: impl Future<Output = ()>,
) -> ServeOutcome {
    serve_at(Paces::of_machine().into(), (listener, tls), service, shutdown).await
}

/// Serves the interfaces with the given paces.
pub(super) async fn serve_at<C: Backend>(
    paces: Arc<Paces>,
    (listener, tls): (TcpListener, Option<Arc<Tls>>),
    service: Arc<Service<C>>,
    shutdown: impl Future<Output = ()>,
) -> ServeOutcome {
    let settings = service.settings.clone();
    let timeout = Duration::from_millis(settings.shutdown_ms);
    let shutdown = async move {
        shutdown.await;
        Instant::now() + timeout
    };
    run((listener, tls.as_deref()), settings, service, paces, shutdown).await
}

/// Serves a router of the host itself, such as the operators' routes, over plain HTTP. `shutdown` returns the deadline
/// for active requests.
pub async fn serve_router(
    listener: TcpListener,
    settings: HttpConfig,
    router: axum::Router,
    shutdown: impl Future<Output = Instant>,
) -> ServeOutcome {
    run((listener, None), settings, Arc::new(router), Paces::of_machine().into(), shutdown).await
}

async fn run<A: RequestHandler>(
    (listener, tls): (TcpListener, Option<&Tls>),
    settings: HttpConfig,
    service: Arc<A>,
    paces: Arc<Paces>,
    shutdown: impl Future<Output = Instant>,
) -> ServeOutcome {
    tokio::pin!(shutdown);
    let slots = Slots::new(&settings, service.counts());
    let (stage, _) = watch::channel(Stage::Serving);
    let closes = Arc::new(PeerRepeats::default());
    let mut failures = Repeats::default();
    let start = |stream: TcpStream, slot: Slot| {
        let connection = Connection {
            service: Arc::clone(&service),
            acceptor: tls.map(Tls::acceptor),
            header_timeout: Duration::from_millis(settings.header_timeout_ms),
            progress_limits: ProgressLimits::of(&settings),
            grace: Duration::from_millis(STOP_GRACE_MS.min(settings.shutdown_ms / 2)),
            stage: stage.subscribe(),
            paces: Arc::clone(&paces),
            closes: Arc::clone(&closes),
            slot,
        };
        tokio::spawn(connection.run(stream));
    };
    let deadline = loop {
        let admitted = tokio::select! {
            biased;
            deadline = &mut shutdown => break deadline,
            admitted = accept(&listener, &slots, &mut failures) => admitted,
        };
        if let Some((stream, slot)) = admitted {
            start(stream, slot);
        }
    };
    slots.is_shutting_down.store(true, Ordering::Relaxed);
    // Connections that the system has already accepted are served while slots are free. The others are closed without a
    // response.
    while let Some(Some((stream, slot))) = accept(&listener, &slots, &mut failures).now_or_never() {
        start(stream, slot);
    }
    drop(listener);
    drain(stage, deadline).await
}

/// Shutdown stage, as connections observe it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Serving,
    /// No new requests are accepted after a grace period.
    Stopping,
    /// The deadline has passed.
    Abort,
}

async fn drain(stage: watch::Sender<Stage>, deadline: Instant) -> ServeOutcome {
    stage.send_replace(Stage::Stopping);
    if tokio::time::timeout_at(deadline, stage.closed()).await.is_ok() {
        return ServeOutcome { cut: 0 };
    }
    let unfinished = stage.receiver_count();
    stage.send_replace(Stage::Abort);
    stage.closed().await;
    ServeOutcome { cut: unfinished }
}

/// Returns the next connection with its slot, or `None` if it was refused or could not be accepted.
async fn accept(listener: &TcpListener, slots: &Arc<Slots>, failures: &mut Repeats) -> Option<(TcpStream, Slot)> {
    let (stream, peer) = match listener.accept().await {
        Ok(accepted) => accepted,
        Err(error) => {
            if let Some(failures) = failures.count(Instant::now()) {
                tracing::warn!(%error, failures, "failed to accept connections");
            }
            tokio::time::sleep(Duration::from_millis(ACCEPT_PAUSE_MS)).await;
            return None;
        }
    };
    match slots.take(peer.ip()).await {
        Ok(slot) => Some((stream, slot)),
        Err(TooManyOfPeer) => {
            tracing::debug!(peer = %peer.ip(), "refused a connection: its peer has http.connections-per-peer-max");
            None
        }
    }
}

struct Connection<A> {
    service: Arc<A>,
    acceptor: Option<TlsAcceptor>,
    header_timeout: Duration,
    progress_limits: ProgressLimits,
    /// How long a recently used HTTP/1.1 connection is still served during shutdown.
    grace: Duration,
    stage: watch::Receiver<Stage>,
    paces: Arc<Paces>,
    /// Limits log lines about closed connections.
    closes: Arc<PeerRepeats>,
    slot: Slot,
}

impl<A: RequestHandler> Connection<A> {
    async fn run(mut self, stream: TcpStream) {
        if !self.wait_after_flood().await {
            return;
        }
        let head_deadline = Instant::now() + self.header_timeout;
        let Ok(address) = stream.peer_addr().map(|peer| peer.ip()) else { return };
        // A small response must not wait for the acknowledgement of the previous one.
        let _ = stream.set_nodelay(true);
        // The system would buffer megabytes for a reader that accepts nothing.
        let _ = rustix::net::sockopt::set_socket_send_buffer_size(&stream, SOCKET_SEND_BYTES);
        // A peer that accepts nothing or has disappeared must not hold a connection forever.
        #[cfg(target_os = "linux")]
        let _ = rustix::net::sockopt::set_tcp_user_timeout(&stream, PEER_UNRESPONSIVE_MS);
        match self.acceptor.take() {
            None => self.serve(stream, Peer { address, transport: Transport::Plain }, head_deadline).await,
            // Boxed, because the state of a TLS connection would make every plain connection as large.
            Some(acceptor) => Box::pin(self.serve_tls(acceptor, stream, address, head_deadline)).await,
        }
    }

    /// Waits if a connection of the address was recently closed for a flood. Returns `false` if the wait takes too
    /// long, the connection is evicted, or the host shuts down.
    async fn wait_after_flood(&mut self) -> bool {
        let pacer = self.slot.peer().and_then(|address| self.paces.floods.find_busy(&address));
        let Some(pacer) = pacer else { return true };
        let deadline = Instant::now() + self.header_timeout;
        tokio::select! {
            waited = tokio::time::timeout_at(deadline, pacer.wait(CONNECTION_CORE_US)) => waited.is_ok(),
            () = self.slot.activity.evicted() => false,
            _ = self.stage.wait_for(|stage| *stage != Stage::Serving) => false,
        }
    }

    async fn serve_tls(mut self, acceptor: TlsAcceptor, stream: TcpStream, address: IpAddr, head_deadline: Instant) {
        if let Some(stream) = self.tls_handshake(&acceptor, (stream, address), head_deadline).await {
            self.serve(stream, Peer { address, transport: Transport::Tls }, head_deadline).await;
        }
    }

    /// Performs the TLS handshake. Returns `None` if it fails or times out, the connection is evicted, or the host
    /// shuts down. No request has been received by then, so none needs a response.
    async fn tls_handshake(
        &mut self,
        acceptor: &TlsAcceptor,
        (stream, address): (TcpStream, IpAddr),
        deadline: Instant,
    ) -> Option<TlsStream<TcpStream>> {
        let handshake = async {
            self.paces.handshakes.wait(&network(address), HANDSHAKE_CORE_US).await;
            tls::accept(acceptor, stream).await
        };
        tokio::select! {
            result = tokio::time::timeout_at(deadline, handshake) => match result {
                Ok(Ok(stream)) => Some(stream),
                Ok(Err(error)) => {
                    tracing::debug!(%address, %error, "TLS handshake failed");
                    None
                }
                Err(_) => {
                    tracing::debug!(%address, "TLS handshake timed out (http.header-timeout-ms)");
                    None
                }
            },
            () = self.slot.activity.evicted() => None,
            _ = self.stage.wait_for(|stage| *stage != Stage::Serving) => None,
        }
    }

    async fn serve<S>(mut self, stream: S, peer: Peer, head_deadline: Instant)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let activity = &self.slot.activity;
        let handler = service_fn(|mut request: Request<Incoming>| {
            let (service, slots, paces) = (Arc::clone(&self.service), self.slot.slots(), Arc::clone(&self.paces));
            let active = activity.begin(request.version() == Version::HTTP_2);
            if active.requires_charge() {
                request.extensions_mut().insert(ChargeRequired);
            }
            handle_one(service, (slots, paces), active, request, peer)
        });
        let builder = builder(self.header_timeout);
        let stream = TokioIo::new(CountedStream::new(stream, activity.clone()));
        let connection = builder.serve_connection(stream, handler);
        tokio::pin!(connection);
        let close_reason = activity.wait_for_close_reason(head_deadline, self.progress_limits);
        tokio::pin!(close_reason);
        tokio::select! {
            // Errors here are the peer's: it disconnected, or sent data that is not HTTP.
            _ = &mut connection => return self.log_close(activity.flood_reason(), peer),
            reason = &mut close_reason => return self.log_close(Some(reason), peer),
            // hyper would wait for the rest of a partial head.
            () = activity.evicted() => if !activity.has_served() { return },
            () = wait_for_shutdown(&mut self.stage, activity, self.grace) => {}
        }
        connection.as_mut().graceful_shutdown();
        let reason = tokio::select! {
            _ = &mut connection => activity.flood_reason(),
            reason = &mut close_reason => Some(reason),
            () = wait_for_idle_after_eviction(activity) => None,
            _ = self.stage.wait_for(|stage| *stage == Stage::Abort) => None,
        };
        self.log_close(reason, peer);
    }
}

impl<A> Connection<A> {
    fn log_close(&self, reason: Option<CloseReason>, peer: Peer) {
        let reason_text = match reason {
            Some(CloseReason::SlowReader) => "the peer does not read its responses",
            Some(CloseReason::ControlFlood) => "the peer sent too many control frames",
            Some(CloseReason::RefusedRequests) => "too many requests of the peer were refused",
            Some(CloseReason::Idle) | None => return,
        };
        self.delay_next(reason);
        self.slot.slots().counts.count_close(reason);
        let due = self.closes.count(peer.address, reason_text, Instant::now());
        if let Some(connections) = due.peer {
            tracing::info!(peer = %peer.address, connections, "closed a connection: {reason_text}");
        }
        if let Some(connections) = due.others {
            tracing::info!(connections, "closed connections of further peers that flooded them or did not read");
        }
    }

    /// Delays further connections of the address after a flood.
    fn delay_next(&self, reason: Option<CloseReason>) {
        if let (Some(CloseReason::ControlFlood | CloseReason::RefusedRequests), Some(address)) =
            (reason, self.slot.peer())
        {
            let longest = Duration::from_millis(FLOOD_DELAY_MS_MAX);
            self.paces.floods.find(&address).count_within(FLOOD_CORE_US, longest);
        }
    }
}

/// Handles one request. The future of the handler is boxed, because an HTTP/2 stream would otherwise keep its memory
/// until the response is read.
async fn handle_one<A: RequestHandler>(
    service: Arc<A>,
    (slots, paces): (Arc<Slots>, Arc<Paces>),
    mut active: ActiveRequest,
    request: Request<Incoming>,
    peer: Peer,
) -> Result<Response<A::Body>, Infallible> {
    let is_http2 = request.version() == Version::HTTP_2;
    // The marker was set when the request began. More requests may have begun since.
    if request.extensions().get::<ChargeRequired>().is_some() {
        match service.charge(request.headers(), peer).await {
            Ok(memory) => active.set_memory(memory),
            Err(refusal) => {
                drop(request);
                let peer_address = slots.peer(peer.address);
                return Ok(Box::pin(pace_refusal(&paces, &active, refusal, peer_address)).await);
            }
        }
    }
    let mut response = Box::pin(service.handle(request, peer)).await;
    active.shrink_memory();
    if let Some(PacedAddress(address)) = response.extensions_mut().remove() {
        paces.responses.wait(&address, HOST_RESPONSE_CORE_US).await;
    }
    A::hold(response.body_mut(), active);
    if !is_http2 && slots.is_shutting_down.load(Ordering::Relaxed) {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    Ok(response)
}

/// Waits until the connection must begin its shutdown.
///
/// HTTP/2 clients are notified at once. An HTTP/1.1 connection closes with its next response, which announces it.
/// Closing it without a response could lose a request in transit, so a recently used connection stays open for the
/// grace period.
async fn wait_for_shutdown(stage: &mut watch::Receiver<Stage>, activity: &Activity, grace: Duration) {
    let _ = stage.wait_for(|stage| *stage != Stage::Serving).await;
    let was_used = activity.has_served() && activity.idle_for().is_none_or(|idle_for| idle_for < grace);
    if was_used && !activity.is_http2() {
        let _ = tokio::time::timeout(grace, stage.wait_for(|stage| *stage == Stage::Abort)).await;
    }
}

/// Completes some time after the connection was evicted, as soon as no request is active on it. The peer need not
/// confirm the close or send the rest of a head.
async fn wait_for_idle_after_eviction(activity: &Activity) {
    let grace = Duration::from_millis(STOP_GRACE_MS);
    loop {
        tokio::time::sleep(grace).await;
        if activity.is_evicted() && activity.idle_for().is_some() {
            return;
        }
    }
}

/// Configures hyper. On HTTP/1.1 the header timeout also limits the idle time between two requests.
fn builder(header_timeout: Duration) -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(header_timeout).max_buf_size(HEAD_BYTES_MAX);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(header_timeout)
        .keep_alive_timeout(header_timeout)
        .max_concurrent_streams(STREAMS_PER_CONNECTION)
        .initial_stream_window_size(HTTP2_STREAM_WINDOW_BYTES)
        .initial_connection_window_size(HTTP2_CONNECTION_WINDOW_BYTES)
        .max_send_buf_size(HTTP2_SEND_BYTES)
        .max_header_list_size(HTTP2_HEAD_BYTES_MAX);
    builder
}
