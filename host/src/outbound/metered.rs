//! A socket, with TLS or without, that reads no more than one exchange may read.
//!
//! HTTP itself has no bound for what comes before and between the parts of an answer: interim answers, the framing of
//! chunks, trailers. Here all of it counts.

use std::{
    fmt, io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, ready},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};
use tokio_rustls::client::TlsStream;

pub(super) struct Metered {
    wire: Wire,
    meter: Arc<Meter>,
}

pub(super) enum Wire {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

/// Shared by the connection that reads and the exchange that says how much.
#[derive(Debug, Default)]
pub(super) struct Meter {
    left: AtomicUsize,
    read: AtomicUsize,
}

impl Meter {
    /// Before each exchange.
    pub(super) fn allow(&self, bytes: usize) {
        self.left.store(bytes, Ordering::Relaxed);
        self.read.store(0, Ordering::Relaxed);
    }

    /// Whether nothing at all came back.
    pub(super) fn is_silent(&self) -> bool {
        self.read.load(Ordering::Relaxed) == 0
    }

    fn count(&self, bytes: usize) {
        self.left.store(self.left.load(Ordering::Relaxed).saturating_sub(bytes), Ordering::Relaxed);
        self.read.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// The other side sends more than it may.
#[derive(Debug)]
pub(super) struct TooMuch;

impl fmt::Display for TooMuch {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("the answer is too long")
    }
}

impl std::error::Error for TooMuch {}

impl Metered {
    pub(super) fn new(wire: Wire) -> (Metered, Arc<Meter>) {
        let meter = Arc::new(Meter::default());
        (Metered { wire, meter: Arc::clone(&meter) }, meter)
    }
}

impl AsyncRead for Metered {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(match &mut self.wire {
            Wire::Plain(stream) => Pin::new(stream).poll_read(cx, buffer),
            Wire::Tls(stream) => Pin::new(stream).poll_read(cx, buffer),
        })?;
        let came = buffer.filled().len() - before;
        if came > 0 && self.meter.left.load(Ordering::Relaxed) == 0 {
            return Poll::Ready(Err(io::Error::other(TooMuch)));
        }
        self.meter.count(came);
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
