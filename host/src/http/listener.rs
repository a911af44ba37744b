//! Connections: how many, how long they may dawdle, and how they end.
//!
//! Owns the accept loop (axum's own has no timeout for the head of a request). HTTP/1.1 and HTTP/2 on one port, with or
//! without TLS. Invariants: a connection holds one of `connections_max` slots, from the handshake on; one that has not
//! sent a whole first request head within the header timeout is cut, the handshake included; one whose peer
//! does not read is cut; after `stop`, running requests finish, and what has not after `shutdown_ms` is cut.

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

pub use super::activity::Running;
use super::{
    Calls, Service,
    activity::{Activity, Patience, Reason},
    body_memory::BodyMemory,
    content::Crowded,
    origin::{Peer, Wire},
    repeats::{PeerRepeats, Repeats},
    service::Uncalled,
    slots::{ConnectionCounts, Slot, Slots, TooManyOfPeer},
    tls::{self, Tls},
    watched::Watched,
};
use crate::{
    auth::guesses::network,
    config::HttpConfig,
    limits::{
        ACCEPT_PAUSE_MS, CONNECTION_CORE_US, FLOOD_CORE_US, FLOOD_DELAY_MS_MAX, HANDSHAKE_CORE_US, HEAD_BYTES_MAX,
        HTTP2_CONNECTION_WINDOW_BYTES, HTTP2_HEAD_BYTES_MAX, HTTP2_SEND_BYTES, HTTP2_STREAM_WINDOW_BYTES,
        OWN_ANSWER_CORE_US, PEER_SILENT_MS, SOCKET_SEND_BYTES, STOP_GRACE_MS, STREAMS_PER_CONNECTION,
    },
};
pub(super) use paces::Paces;
use paces::{pace_refused, refuse_stream};

mod paces;
#[cfg(test)]
mod tests;

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped {
    /// Connections whose requests had not finished when the time was up.
    pub cut: usize,
}

/// What answers the requests of a connection. Never fails: whatever goes wrong is an answer, too.
trait Answers: Send + Sync + 'static {
    type Body: Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>> + Send + 'static;

    fn answer(&self, request: Request<Incoming>, peer: Peer) -> impl Future<Output = Response<Self::Body>> + Send;

    /// Charges a request of a crowded connection, or refuses it.
    fn charge(&self, headers: &HeaderMap, peer: Peer) -> impl Future<Output = ChargedStream<Self::Body>> + Send;

    /// Counter of its connections.
    fn counts(&self) -> Arc<ConnectionCounts>;

    /// A request whose answer goes on for long, such as a stream, runs until that ends.
    fn hold(_body: &mut Self::Body, _running: Running) {}
}

/// Memory of a stream, where it is counted; the answer where there is none.
type ChargedStream<B> = Result<Option<BodyMemory>, Response<B>>;

impl<C: Calls> Answers for Service<C> {
    type Body = super::Body;

    fn answer(&self, request: Request<Incoming>, peer: Peer) -> impl Future<Output = Response<super::Body>> + Send {
        Service::answer(self, request, peer)
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

    fn hold(body: &mut super::Body, running: Running) {
        body.hold(running);
    }
}

impl Answers for axum::Router {
    type Body = axum::body::Body;

    async fn answer(&self, mut request: Request<Incoming>, peer: Peer) -> Response<axum::body::Body> {
        request.extensions_mut().insert(ConnectInfo(peer.address));
        let Ok(response) = self.clone().oneshot(request.map(axum::body::Body::new)).await;
        response
    }

    /// The operators' listener has few connections, and no budget.
    async fn charge(&self, _headers: &HeaderMap, _peer: Peer) -> ChargedStream<axum::body::Body> {
        Ok(None)
    }

    /// Counters of its connections. The default, for the operators' listener with its few connections, discards them.
    fn counts(&self) -> Arc<ConnectionCounts> {
        Arc::default()
    }
}

/// Serves the interfaces until `stop` is done and what runs has finished, or its time is up.
pub async fn serve<C: Calls>(
    listener: TcpListener,
    tls: Option<Arc<Tls>>,
    service: Arc<Service<C>>,
    stop: impl Future<Output = ()>,
) -> Stopped {
    serve_at(Paces::of_machine().into(), (listener, tls), service, stop).await
}

/// The same at these paces.
pub(super) async fn serve_at<C: Calls>(
    paces: Arc<Paces>,
    (listener, tls): (TcpListener, Option<Arc<Tls>>),
    service: Arc<Service<C>>,
    stop: impl Future<Output = ()>,
) -> Stopped {
    let settings = service.settings.clone();
    let patience = Duration::from_millis(settings.shutdown_ms);
    let stop = async move {
        stop.await;
        Instant::now() + patience
    };
    run((listener, tls.as_deref()), settings, service, paces, stop).await
}

/// The same over plain HTTP for routes that are no plugin's, such as the operators'. `stop` returns the time at which it cuts what
/// still runs.
pub async fn serve_router(
    listener: TcpListener,
    settings: HttpConfig,
    router: axum::Router,
    stop: impl Future<Output = Instant>,
) -> Stopped {
    run((listener, None), settings, Arc::new(router), Paces::of_machine().into(), stop).await
}

async fn run<A: Answers>(
    (listener, tls): (TcpListener, Option<&Tls>),
    settings: HttpConfig,
    service: Arc<A>,
    paces: Arc<Paces>,
    stop: impl Future<Output = Instant>,
) -> Stopped {
    tokio::pin!(stop);
    let slots = Slots::new(&settings, service.counts());
    let (stage, _) = watch::channel(Stage::Serving);
    let ends = Arc::new(PeerRepeats::default());
    let mut failures = Repeats::default();
    let start = |stream: TcpStream, slot: Slot| {
        let connection = Connection {
            service: Arc::clone(&service),
            acceptor: tls.map(Tls::acceptor),
            header_timeout: Duration::from_millis(settings.header_timeout_ms),
            patience: Patience::of(&settings),
            grace: Duration::from_millis(STOP_GRACE_MS.min(settings.shutdown_ms / 2)),
            stage: stage.subscribe(),
            paces: Arc::clone(&paces),
            ends: Arc::clone(&ends),
            slot,
        };
        tokio::spawn(connection.run(stream));
    };
    let until = loop {
        let admitted = tokio::select! {
            biased;
            until = &mut stop => break until,
            admitted = accept(&listener, &slots, &mut failures) => admitted,
        };
        if let Some((stream, slot)) = admitted {
            start(stream, slot);
        }
    };
    slots.is_stopping.store(true, Ordering::Relaxed);
    // Connections that the system has already accepted are served while places are free. The others are closed unanswered.
    while let Some(Some((stream, slot))) = accept(&listener, &slots, &mut failures).now_or_never() {
        start(stream, slot);
    }
    drop(listener);
    wait_for_end(stage, until).await
}

/// What connections have to know of the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Serving,
    /// Nothing new is begun after a grace.
    Stopping,
    /// The time is up.
    Cut,
}

async fn wait_for_end(stage: watch::Sender<Stage>, until: Instant) -> Stopped {
    stage.send_replace(Stage::Stopping);
    if tokio::time::timeout_at(until, stage.closed()).await.is_ok() {
        return Stopped { cut: 0 };
    }
    let unfinished = stage.receiver_count();
    stage.send_replace(Stage::Cut);
    stage.closed().await;
    Stopped { cut: unfinished }
}

/// The next connection with a place. `None`: it was refused, or could not be accepted.
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
            tracing::debug!(peer = %peer.ip(), "connection refused: its peer has http.connections-per-peer-max of them");
            None
        }
    }
}

struct Connection<A> {
    service: Arc<A>,
    acceptor: Option<TlsAcceptor>,
    header_timeout: Duration,
    patience: Patience,
    /// Time that an idle connection of HTTP/1.1 is still served when the host stops.
    grace: Duration,
    stage: watch::Receiver<Stage>,
    paces: Arc<Paces>,
    /// Ends of connections that are logged.
    ends: Arc<PeerRepeats>,
    slot: Slot,
}

impl<A: Answers> Connection<A> {
    async fn run(mut self, stream: TcpStream) {
        if !self.wait_after_flood().await {
            return;
        }
        let head_until = Instant::now() + self.header_timeout;
        let Ok(address) = stream.peer_addr().map(|peer| peer.ip()) else { return };
        // Small answers must not wait for the acknowledgement of the one before.
        let _ = stream.set_nodelay(true);
        // The system would take megabytes for a reader that takes none.
        let _ = rustix::net::sockopt::set_socket_send_buffer_size(&stream, SOCKET_SEND_BYTES);
        // Who takes nothing of what is sent, or is gone without a word, must not hold a connection for ever.
        #[cfg(target_os = "linux")]
        let _ = rustix::net::sockopt::set_tcp_user_timeout(&stream, PEER_SILENT_MS);
        match self.acceptor.take() {
            None => self.serve(stream, Peer { address, wire: Wire::Plain }, head_until).await,
            // Apart, or every connection without TLS would be as large.
            Some(acceptor) => Box::pin(self.serve_encrypted(acceptor, stream, address, head_until)).await,
        }
    }

    /// Waits if a connection of the address was closed for a flood lately. `false`: the wait takes too long, another connection
    /// needs the place, or the host stops.
    async fn wait_after_flood(&mut self) -> bool {
        let pacer = self.slot.peer().and_then(|address| self.paces.floods.find_busy(&address));
        let Some(pacer) = pacer else { return true };
        let until = Instant::now() + self.header_timeout;
        tokio::select! {
            waited = tokio::time::timeout_at(until, pacer.wait(CONNECTION_CORE_US)) => waited.is_ok(),
            () = self.slot.activity.dismissed() => false,
            _ = self.stage.wait_for(|stage| *stage != Stage::Serving) => false,
        }
    }

    async fn serve_encrypted(mut self, acceptor: TlsAcceptor, stream: TcpStream, address: IpAddr, head_until: Instant) {
        if let Some(stream) = self.shake_hands(&acceptor, (stream, address), head_until).await {
            self.serve(stream, Peer { address, wire: Wire::Tls }, head_until).await;
        }
    }

    /// `None` where it fails, takes too long, another connection needs the place, or the host stops: nothing was asked that
    /// had to be answered.
    async fn shake_hands(
        &mut self,
        acceptor: &TlsAcceptor,
        (stream, address): (TcpStream, IpAddr),
        until: Instant,
    ) -> Option<TlsStream<TcpStream>> {
        let handshake = async {
            self.paces.handshakes.wait(&network(address), HANDSHAKE_CORE_US).await;
            tls::accept(acceptor, stream).await
        };
        tokio::select! {
            shaken = tokio::time::timeout_at(until, handshake) => match shaken {
                Ok(Ok(stream)) => Some(stream),
                Ok(Err(error)) => {
                    tracing::debug!(%address, %error, "TLS handshake failed");
                    None
                }
                Err(_) => {
                    tracing::debug!(%address, "TLS handshake took longer than header-timeout-ms");
                    None
                }
            },
            () = self.slot.activity.dismissed() => None,
            _ = self.stage.wait_for(|stage| *stage != Stage::Serving) => None,
        }
    }

    async fn serve<S>(mut self, stream: S, peer: Peer, head_until: Instant)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let activity = &self.slot.activity;
        let answer = service_fn(|mut request: Request<Incoming>| {
            let (service, slots, paces) = (Arc::clone(&self.service), self.slot.slots(), Arc::clone(&self.paces));
            let running = activity.begin(request.version() == Version::HTTP_2);
            if running.is_crowded() {
                request.extensions_mut().insert(Crowded);
            }
            answer_one(service, (slots, paces), running, request, peer)
        });
        let builder = builder(self.header_timeout);
        let stream = TokioIo::new(Watched::new(stream, activity.clone()));
        let connection = builder.serve_connection(stream, answer);
        tokio::pin!(connection);
        let ends = activity.wait_for_end(head_until, self.patience);
        tokio::pin!(ends);
        tokio::select! {
            // Errors here are the peer's: it hung up, or sent what is not HTTP.
            _ = &mut connection => return self.note_end(activity.flooded(), peer),
            reason = &mut ends => return self.note_end(Some(reason), peer),
            // hyper would wait for the rest of a head that has begun.
            () = activity.dismissed() => if !activity.has_served() { return },
            () = wait_for_stop(&mut self.stage, activity, self.grace) => {}
        }
        connection.as_mut().graceful_shutdown();
        let reason = tokio::select! {
            _ = &mut connection => activity.flooded(),
            reason = &mut ends => Some(reason),
            () = make_room(activity) => None,
            _ = self.stage.wait_for(|stage| *stage == Stage::Cut) => None,
        };
        self.note_end(reason, peer);
    }
}

impl<A> Connection<A> {
    fn note_end(&self, reason: Option<Reason>, peer: Peer) {
        let why = match reason {
            Some(Reason::SlowReader) => "its peer does not read what it requested",
            Some(Reason::Flood) => "its peer sent too many control frames",
            Some(Reason::Refused) => "too many requests of its peer were refused",
            Some(Reason::Idle) | None => return,
        };
        self.delay_next(reason);
        self.slot.slots().counts.count_end(reason);
        let due = self.ends.count(peer.address, why, Instant::now());
        if let Some(connections) = due.peer {
            tracing::info!(peer = %peer.address, connections, "connection ended: {why}");
        }
        if let Some(connections) = due.others {
            tracing::info!(connections, "connections of further peers ended for what these peers sent or did not read");
        }
    }

    /// After a flood, further connections of the address wait.
    fn delay_next(&self, reason: Option<Reason>) {
        if let (Some(Reason::Flood | Reason::Refused), Some(address)) = (reason, self.slot.peer()) {
            let longest = Duration::from_millis(FLOOD_DELAY_MS_MAX);
            self.paces.floods.find(&address).count_within(FLOOD_CORE_US, longest);
        }
    }
}

/// The future of the answer is apart: a stream of HTTP/2 would keep its memory until the answer is read.
async fn answer_one<A: Answers>(
    service: Arc<A>,
    (slots, paces): (Arc<Slots>, Arc<Paces>),
    mut running: Running,
    request: Request<Incoming>,
    peer: Peer,
) -> Result<Response<A::Body>, Infallible> {
    let is_http2 = request.version() == Version::HTTP_2;
    // As it was when the request began: more may have begun before this runs.
    if request.extensions().get::<Crowded>().is_some() {
        match service.charge(request.headers(), peer).await {
            Ok(memory) => running.keep(memory),
            Err(refused) => {
                drop(request);
                let counted = slots.peer(peer.address);
                return Ok(Box::pin(pace_refused(&paces, &running, refused, counted)).await);
            }
        }
    }
    let mut response = Box::pin(service.answer(request, peer)).await;
    running.shrink_memory();
    if let Some(Uncalled(address)) = response.extensions_mut().remove() {
        paces.answers.wait(&address, OWN_ANSWER_CORE_US).await;
    }
    A::hold(response.body_mut(), running);
    if !is_http2 && slots.is_stopping.load(Ordering::Relaxed) {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    Ok(response)
}

/// Clients of HTTP/2 are notified at once. On HTTP/1.1 a connection ends with its next answer, which announces it; one that is
/// closed without an answer may lose a request that is on its way, so an idle one stays open for the grace.
async fn wait_for_stop(stage: &mut watch::Receiver<Stage>, activity: &Activity, grace: Duration) {
    let _ = stage.wait_for(|stage| *stage != Stage::Serving).await;
    let was_used = activity.has_served() && activity.resting().is_none_or(|resting| resting < grace);
    if was_used && !activity.is_http2() {
        let _ = tokio::time::timeout(grace, stage.wait_for(|stage| *stage == Stage::Cut)).await;
    }
}

/// Ends a while after the connection was dismissed, as soon as nothing runs on it: the peer need not confirm the end, nor
/// send the rest of a head.
async fn make_room(activity: &Activity) {
    let grace = Duration::from_millis(STOP_GRACE_MS);
    loop {
        tokio::time::sleep(grace).await;
        if activity.is_dismissed() && activity.resting().is_some() {
            return;
        }
    }
}

/// On HTTP/1.1 the header timeout is also how long a connection may rest between two requests.
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
