//! A connection stream that counts reads and writes, and corrects one response of hyper.
//!
//! A peer that sends as fast as the host reads could occupy a thread, so the reader yields after each
//! `READ_YIELD_BYTES`. The stream fails if the peer floods it with control frames.
//!
//! hyper rejects a Content-Length of more than 2^64 - 3 as a head that is too large (431) before any code here receives
//! the request. The correct status is 413, so the stream replaces the status line by one of the same length.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::{activity::Activity, frames::Frames};
use crate::limits::READ_YIELD_BYTES;

/// The lengths that fit into 64 bits and that hyper cannot represent begin with these digits.
const OVERSIZED_LENGTH: &[u8] = b"1844674407370955161";
const HEAD_TOO_LARGE: &[u8] = b"HTTP/1.1 431 Request Header Fields Too Large\r\n";
const BODY_TOO_LARGE: &[u8] = b"HTTP/1.1 413 Declared Content Much Too Large\r\n";

pub(super) struct CountedStream<S> {
    stream: S,
    activity: Arc<Activity>,
    /// True if the bytes last read between two requests contain `OVERSIZED_LENGTH`.
    has_oversized_length: bool,
    frames: Frames,
    /// Bytes read since the last yield.
    unyielded: usize,
}

impl<S> CountedStream<S> {
    pub(super) fn new(stream: S, activity: Arc<Activity>) -> CountedStream<S> {
        CountedStream { stream, activity, has_oversized_length: false, frames: Frames::new(), unyielded: 0 }
    }

    fn record_write(&mut self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match &written {
            Poll::Ready(Ok(bytes)) => {
                self.activity.record_written(*bytes);
                self.frames.record_written(*bytes);
            }
            Poll::Pending => self.activity.record_blocked(),
            Poll::Ready(Err(_)) => {}
        }
        written
    }

    /// Returns the response with the corrected status line, or `None` if it needs no correction.
    fn corrected(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let rest = bytes.strip_prefix(HEAD_TOO_LARGE).filter(|_| self.has_oversized_length)?;
        Some([BODY_TOO_LARGE, rest].concat())
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for CountedStream<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.unyielded >= READ_YIELD_BYTES {
            self.unyielded = 0;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let before = into.filled().len();
        if Pin::new(&mut self.stream).poll_read(context, into)?.is_pending() {
            self.unyielded = 0;
            return Poll::Pending;
        }
        let bytes = into.filled().get(before..).unwrap_or_default();
        self.unyielded += bytes.len();
        if !self.frames.accept(bytes) {
            self.activity.record_flood();
            return Poll::Ready(Err(io::Error::other("too many control frames")));
        }
        // Between two requests hyper reads a head. Bodies are long and are not searched.
        if !self.activity.is_busy() {
            self.has_oversized_length = memchr::memmem::find(bytes, OVERSIZED_LENGTH).is_some();
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for CountedStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let corrected = self.corrected(bytes);
        let written = Pin::new(&mut self.stream).poll_write(context, corrected.as_deref().unwrap_or(bytes));
        self.record_write(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = match slices.first().and_then(|first| self.corrected(first)) {
            Some(corrected) => Pin::new(&mut self.stream).poll_write(context, &corrected),
            None => Pin::new(&mut self.stream).poll_write_vectored(context, slices),
        };
        self.record_write(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
