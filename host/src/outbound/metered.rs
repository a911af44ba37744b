//! A socket, with or without TLS, that limits the bytes that one exchange reads.
//!
//! HTTP has no limit for the bytes before and between the parts of a response: interim responses, chunk framing,
//! trailers. `Metered` counts all of them. Long responses to one party are read one after the other, part by part, at a
//! limited rate. Otherwise many servers that send as fast as they can would occupy the threads of the host.

use std::{
    fmt, io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, ready},
};

use parking_lot::Mutex;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};
use tokio_rustls::client::TlsStream;

use crate::{
    fair::pace::Pacer,
    limits::{OUTBOUND_BYTES_PER_CORE_US, OUTBOUND_PACED_READ_BYTES},
};

pub(super) struct Metered {
    wire: Wire,
    meter: Arc<Meter>,
    /// Bytes read since the last pause.
    since_pause: usize,
    pause: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

pub(super) enum Wire {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

/// Shared by the connection that reads and the exchange that sets the limit.
#[derive(Default)]
pub(super) struct Meter {
    left: AtomicUsize,
    read: AtomicUsize,
    pacer: Mutex<Option<Arc<Pacer>>>,
}

impl Meter {
    /// Sets the byte limit and the rate limit of the party. Called before each exchange.
    pub(super) fn allow(&self, bytes: usize, pacer: Arc<Pacer>) {
        *self.pacer.lock() = Some(pacer);
        self.left.store(bytes, Ordering::Relaxed);
        self.read.store(0, Ordering::Relaxed);
    }

    /// Returns true if nothing was received since the last call of `allow`.
    pub(super) fn is_silent(&self) -> bool {
        self.read.load(Ordering::Relaxed) == 0
    }

    /// Returns the pause after `bytes` bytes. Returns `None` if `allow` was never called.
    fn pause(&self, bytes: usize) -> Option<Pin<Box<dyn Future<Output = ()> + Send>>> {
        let pacer = self.pacer.lock().clone()?;
        Some(Box::pin(async move { pacer.wait(bytes as u64 / OUTBOUND_BYTES_PER_CORE_US).await }))
    }

    fn count(&self, bytes: usize) {
        self.left.store(self.left.load(Ordering::Relaxed).saturating_sub(bytes), Ordering::Relaxed);
        self.read.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// Error: the server sent more bytes than the limit.
#[derive(Debug)]
pub(super) struct ResponseTooLong;

impl fmt::Display for ResponseTooLong {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("the response is too long")
    }
}

impl std::error::Error for ResponseTooLong {}

impl Metered {
    pub(super) fn new(wire: Wire) -> (Metered, Arc<Meter>) {
        let meter = Arc::new(Meter::default());
        (Metered { wire, meter: Arc::clone(&meter), since_pause: 0, pause: None }, meter)
    }
}

impl AsyncRead for Metered {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if let Some(pause) = &mut self.pause {
            ready!(pause.as_mut().poll(cx));
            self.pause = None;
        }
        let before = buffer.filled().len();
        ready!(match &mut self.wire {
            Wire::Plain(stream) => Pin::new(stream).poll_read(cx, buffer),
            Wire::Tls(stream) => Pin::new(stream).poll_read(cx, buffer),
        })?;
        let received = buffer.filled().len() - before;
        if received > 0 && self.meter.left.load(Ordering::Relaxed) == 0 {
            return Poll::Ready(Err(io::Error::other(ResponseTooLong)));
        }
        self.meter.count(received);
        self.since_pause += received;
        if self.since_pause >= OUTBOUND_PACED_READ_BYTES {
            self.pause = self.meter.pause(self.since_pause);
            self.since_pause = 0;
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Metered {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.wire {
            Wire::Plain(stream) => Pin::new(stream).poll_write(cx, bytes),
            Wire::Tls(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match &mut self.wire {
            Wire::Plain(stream) => Pin::new(stream).poll_write_vectored(cx, slices),
            Wire::Tls(stream) => Pin::new(stream).poll_write_vectored(cx, slices),
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.wire {
            Wire::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Wire::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.wire {
            Wire::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Wire::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
