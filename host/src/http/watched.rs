//! A connection whose reads and writes are counted, and whose one wrong answer is put right.
//!
//! A peer that sends as fast as it is read would keep a thread for itself, so the reader pauses for others after each
//! `READ_TURN_BYTES`. One that floods the connection with control frames is cut.
//!
//! hyper refuses a Content-Length of more than 2^64 - 3 as a head that is too large (431), before anything here sees the
//! request. What is too large is the body, so the status line is replaced by one of the same length.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::{activity::Activity, frames::Frames};
use crate::limits::READ_TURN_BYTES;

/// The lengths that hyper cannot represent begin with these digits.
const ENDLESS_LENGTH: &[u8] = b"1844674407370955161";
const HEAD_TOO_LARGE: &[u8] = b"HTTP/1.1 431 Request Header Fields Too Large\r\n";
const BODY_TOO_LARGE: &[u8] = b"HTTP/1.1 413 Declared Content Much Too Large\r\n";

pub(super) struct Watched<S> {
    stream: S,
    activity: Arc<Activity>,
    /// True if the last head declares no length.
    is_endless: bool,
    frames: Frames,
    /// Bytes read since the last pause.
    turn: usize,
}

impl<S> Watched<S> {
    pub(super) fn new(stream: S, activity: Arc<Activity>) -> Watched<S> {
        Watched { stream, activity, is_endless: false, frames: Frames::new(), turn: 0 }
    }

    fn note(&mut self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match &written {
            Poll::Ready(Ok(bytes)) => {
                self.activity.note_written(*bytes);
                self.frames.note_written(*bytes);
            }
            Poll::Pending => self.activity.note_blocked(),
            Poll::Ready(Err(_)) => {}
        }
        written
    }

    /// The answer with its right status.
    fn corrected(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let rest = bytes.strip_prefix(HEAD_TOO_LARGE).filter(|_| self.is_endless)?;
        Some([BODY_TOO_LARGE, rest].concat())
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.turn >= READ_TURN_BYTES {
            self.turn = 0;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let before = into.filled().len();
        if Pin::new(&mut self.stream).poll_read(context, into)?.is_pending() {
            self.turn = 0;
            return Poll::Pending;
        }
        let bytes = into.filled().get(before..).unwrap_or_default();
        self.turn += bytes.len();
        if !self.frames.accept(bytes) {
            self.activity.note_flood();
            return Poll::Ready(Err(io::Error::other("too many control frames")));
        }
        // Between two requests a head is read; bodies, which are long, are not searched.
        if !self.activity.is_busy() {
            self.is_endless = memchr::memmem::find(bytes, ENDLESS_LENGTH).is_some();
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let corrected = self.corrected(bytes);
        let written = Pin::new(&mut self.stream).poll_write(context, corrected.as_deref().unwrap_or(bytes));
        self.note(written)
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
        self.note(written)
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
