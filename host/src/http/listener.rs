//! Connections: how many, how long they may dawdle, and how they end.
//!
//! Owns the accept loop (axum's own has no timeout for the head of a request). HTTP/1.1 and HTTP/2 on one port, with or
//! without TLS. Invariants: a connection holds one of `connections_max` slots, from the handshake on; one that has not
//! sent a whole first request head within the header timeout is cut, whatever the handshake took of it; after `stop`,
//! running requests finish, and what has not after `shutdown_ms` is cut.

#![expect(clippy::disallowed_methods, reason = "one task for each connection; `serve` ends them")]

use std::{
    convert::Infallible,
    future::Future,
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::extract::ConnectInfo;
use bytes::Bytes;
use http::{Request, Response};
use hyper::{
    body::{Body, Incoming},
    service::service_fn,
};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::{
        conn::auto,
        graceful::{GracefulShutdown, Watcher},
    },
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore, watch},
    time::Instant,
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};
use tower::ServiceExt;

use super::{
    Calls, Service,
    origin::{Peer, Wire},
    tls::{self, Tls},
};
use crate::{
    config::HttpConfig,
    limits::{ACCEPT_PAUSE_MS, CONNECTION_IDLE_MS, HEAD_BYTES_MAX, PEER_SILENT_MS, STREAMS_PER_CONNECTION},
};

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

    /// A request whose answer goes on for long, such as a stream, runs until that ends.
    fn hold(_body: &mut Self::Body, _running: Running) {}
}

impl<C: Calls> Answers for Service<C> {
    type Body = super::Body;

    fn answer(&self, request: Request<Incoming>, peer: Peer) -> impl Future<Output = Response<super::Body>> + Send {
        Service::answer(self, request, peer)
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
}

/// Serves the interfaces until `stop` is done and what runs has finished, or its time is up.
pub async fn serve<C: Calls>(
    listener: TcpListener,
    tls: Option<Arc<Tls>>,
    service: Arc<Service<C>>,
    stop: impl Future<Output = ()>,
) -> Stopped {
    let settings = service.settings.clone();
    run((listener, tls.as_deref()), settings, service, stop).await
}

/// The same over plain HTTP for routes that are no plugin's, such as the operators'.
pub async fn serve_router(
    listener: TcpListener,
    settings: HttpConfig,
    router: axum::Router,
    stop: impl Future<Output = ()>,
) -> Stopped {
    run((listener, None), settings, Arc::new(router), stop).await
}

async fn run<A: Answers>(
    (listener, tls): (TcpListener, Option<&Tls>),
    settings: HttpConfig,
    service: Arc<A>,
    stop: impl Future<Output = ()>,
) -> Stopped {
    tokio::pin!(stop);
    let slots = Arc::new(Semaphore::new(settings.connections_max));
    let graceful = GracefulShutdown::new();
    let (stage, _) = watch::channel(Stage::Serving);
    loop {
        let (stream, slot) = tokio::select! {
            biased;
            () = &mut stop => break,
            accepted = accept(&listener, &slots) => match accepted {
                Some(accepted) => accepted,
                None => break,
            },
        };
        let connection = Connection {
            service: Arc::clone(&service),
            acceptor: tls.map(Tls::acceptor),
            header_timeout: Duration::from_millis(settings.header_timeout_ms),
            watcher: graceful.watcher(),
            stage: stage.subscribe(),
            _slot: slot,
        };
        tokio::spawn(connection.run(stream));
    }
    drop(listener);
    wait_for_end(graceful, stage, &settings).await
}

/// What connections have to know of the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Serving,
    /// Nothing new is begun.
    Stopping,
    /// The time is up.
    Cut,
}

async fn wait_for_end(graceful: GracefulShutdown, stage: watch::Sender<Stage>, settings: &HttpConfig) -> Stopped {
    stage.send_replace(Stage::Stopping);
    let patience = Duration::from_millis(settings.shutdown_ms);
    if tokio::time::timeout(patience, graceful.shutdown()).await.is_ok() {
        return Stopped { cut: 0 };
    }
    let unfinished = stage.receiver_count();
    stage.send_replace(Stage::Cut);
    stage.closed().await;
    Stopped { cut: unfinished }
}

/// The next connection, once there is a slot for it. `None` never happens while the slots exist.
async fn accept(listener: &TcpListener, slots: &Arc<Semaphore>) -> Option<(TcpStream, OwnedSemaphorePermit)> {
    let slot = Arc::clone(slots).acquire_owned().await.ok()?;
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return Some((stream, slot)),
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(Duration::from_millis(ACCEPT_PAUSE_MS)).await;
            }
        }
    }
}

struct Connection<A> {
    service: Arc<A>,
    acceptor: Option<TlsAcceptor>,
    header_timeout: Duration,
    watcher: Watcher,
    stage: watch::Receiver<Stage>,
    _slot: OwnedSemaphorePermit,
}

impl<A: Answers> Connection<A> {
    async fn run(mut self, stream: TcpStream) {
        let head_until = Instant::now() + self.header_timeout;
        let Ok(address) = stream.peer_addr().map(|peer| peer.ip()) else { return };
        // Small answers must not wait for the acknowledgement of the one before.
        let _ = stream.set_nodelay(true);
        // Who takes nothing of what is sent, or is gone without a word, must not hold a connection for ever.
        #[cfg(target_os = "linux")]
        let _ = rustix::net::sockopt::set_tcp_user_timeout(&stream, PEER_SILENT_MS);
        match self.acceptor.take() {
            None => self.serve(stream, Peer { address, wire: Wire::Plain }, head_until).await,
            // Apart, or every connection without TLS would be as large.
            Some(acceptor) => Box::pin(self.serve_encrypted(acceptor, stream, address, head_until)).await,
        }
    }

    async fn serve_encrypted(mut self, acceptor: TlsAcceptor, stream: TcpStream, address: IpAddr, head_until: Instant) {
        if let Some(stream) = self.shake_hands(&acceptor, (stream, address), head_until).await {
            self.serve(stream, Peer { address, wire: Wire::Tls }, head_until).await;
        }
    }

    /// `None` where it fails, takes too long, or the host stops: nothing was asked that had to be answered.
    async fn shake_hands(
        &mut self,
        acceptor: &TlsAcceptor,
        (stream, address): (TcpStream, IpAddr),
        until: Instant,
    ) -> Option<TlsStream<TcpStream>> {
        tokio::select! {
            shaken = tokio::time::timeout_at(until, tls::accept(acceptor, stream)) => match shaken {
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
            _ = self.stage.wait_for(|stage| *stage != Stage::Serving) => None,
        }
    }

    async fn serve<S>(mut self, stream: S, peer: Peer, head_until: Instant)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let activity = Arc::new(Activity::default());
        let answer = service_fn(|request: Request<Incoming>| {
            let service = Arc::clone(&self.service);
            let running = Running::begin(&activity);
            async move {
                let mut response = service.answer(request, peer).await;
                A::hold(response.body_mut(), running);
                Ok::<_, Infallible>(response)
            }
        });
        let builder = builder(self.header_timeout);
        let connection = self.watcher.watch(builder.serve_connection(TokioIo::new(stream), answer));
        tokio::select! {
            // Errors here are the peer's: it hung up, or sent what is not HTTP.
            _ = connection => {}
            () = activity.wait_for_idleness(head_until) => {}
            _ = self.stage.wait_for(|stage| *stage == Stage::Cut) => {}
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
        .max_header_list_size(u32::try_from(HEAD_BYTES_MAX).unwrap_or(u32::MAX));
    builder
}

/// What happens on a connection, seen from outside of hyper: its own timeout begins only when it knows the version of
/// HTTP, and does not see a peer that never reads its answer.
#[derive(Default)]
struct Activity {
    running: AtomicUsize,
    begun: AtomicUsize,
}

impl Activity {
    /// Ends when no request has begun in time, or none has run for `CONNECTION_IDLE_MS`.
    async fn wait_for_idleness(&self, head_until: Instant) {
        tokio::time::sleep_until(head_until).await;
        let mut begun = self.begun.load(Ordering::Relaxed);
        if begun == 0 {
            return;
        }
        loop {
            tokio::time::sleep(Duration::from_millis(CONNECTION_IDLE_MS)).await;
            let begun_by_now = self.begun.load(Ordering::Relaxed);
            if begun_by_now == begun && self.running.load(Ordering::Relaxed) == 0 {
                return;
            }
            begun = begun_by_now;
        }
    }
}

/// A request that runs; ends when it is dropped, the caller having hung up included.
struct Running(Arc<Activity>);

impl Running {
    fn begin(activity: &Arc<Activity>) -> Running {
        activity.begun.fetch_add(1, Ordering::Relaxed);
        activity.running.fetch_add(1, Ordering::Relaxed);
        Running(Arc::clone(activity))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::Relaxed);
    }
}
