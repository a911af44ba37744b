//! The body of an answer: whole before its first byte is sent, or a stream of events that goes on.
//!
//! The charge of an answer is held until its last byte has left: on HTTP/1.1 by the bytes themselves, which hyper
//! drops when the connection has taken them; on HTTP/2, where a reader may keep single streams waiting, by `paced`. Answers
//! of the host itself have no charge. Over HTTP/2 they are paced as well, so that streams of slow readers are reset.
//! Headers without a body wait in HTTP/2 for as long as a connection is not read: an empty piece behind them holds their
//! charge.

use std::{
    any::Any,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::Version;
use http_body_util::Full;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tokio::sync::mpsc;

use super::{listener::Running, paced::Paced};
use crate::{
    budget::Charge,
    limits::{HTTP2_SMALL_HEADERS_BYTES, SMALL_ANSWER_BYTES},
};

pub enum Body {
    Whole(Bytes),
    /// A small one of HTTP/1.1: the buffer of the connection has room for it.
    Charged(Full<Bytes>, Charge),
    Paced(Paced),
    /// No body over HTTP/2. `None` once the empty piece is taken.
    Headers(Option<Charge>),
    Live(Live),
}

/// An answer whose reader took nothing for too long.
#[derive(Debug, thiserror::Error)]
#[error("the reader took nothing for too long")]
pub struct SlowReader;

/// Ends when its sender is dropped.
pub struct Live {
    chunks: mpsc::Receiver<Bytes>,
    /// What lives as long as the stream does.
    kept: Option<Box<dyn Any + Send>>,
}

impl Body {
    pub fn live(chunks: mpsc::Receiver<Bytes>) -> Body {
        Body::Live(Live { chunks, kept: None })
    }

    /// An answer and what it is charged with.
    pub fn charged(bytes: Bytes, charge: Option<Charge>, version: Version) -> Body {
        match charge {
            None => Body::from(bytes),
            Some(charge) if bytes.is_empty() => Body::headers(charge, version),
            Some(charge) if version == Version::HTTP_2 => Body::Paced(Paced::new(bytes, Some(charge))),
            Some(charge) if bytes.len() <= SMALL_ANSWER_BYTES => Body::Charged(Full::new(bytes), charge),
            Some(charge) => Body::from(charge.attach(bytes)),
        }
    }

    /// An answer without a body. HTTP/1.1 writes its headers before it reads the next request.
    fn headers(charge: Charge, version: Version) -> Body {
        match version == Version::HTTP_2 && charge.bytes() > HTTP2_SMALL_HEADERS_BYTES {
            true => Body::Headers(Some(charge)),
            false => Body::default(),
        }
    }

    /// The same answer to a HEAD.
    pub(super) fn into_headers(self) -> Body {
        match self {
            Body::Paced(paced) => {
                paced.into_charge().map_or_else(Body::default, |charge| Body::headers(charge, Version::HTTP_2))
            }
            Body::Headers(charge) => Body::Headers(charge),
            Body::Whole(_) | Body::Charged(..) | Body::Live(_) => Body::default(),
        }
    }

    /// A stream holds it until it ends, an answer over HTTP/2 until it is sent; a whole body, which the connection takes at
    /// once, lets go of it.
    pub(super) fn hold(&mut self, running: Running) {
        if running.is_http2()
            && let Body::Whole(bytes) = self
            && !bytes.is_empty()
        {
            *self = Body::Paced(Paced::new(std::mem::take(bytes), None));
        }
        match self {
            Body::Live(live) => live.kept = Some(Box::new(running)),
            Body::Paced(paced) => paced.hold(running),
            Body::Whole(_) | Body::Charged(..) | Body::Headers(_) => {}
        }
    }
}

impl Default for Body {
    fn default() -> Body {
        Body::Whole(Bytes::new())
    }
}

impl<B: Into<Bytes>> From<B> for Body {
    fn from(bytes: B) -> Body {
        Body::Whole(bytes.into())
    }
}

impl HttpBody for Body {
    type Data = Bytes;
    type Error = SlowReader;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, SlowReader>>> {
        match self.get_mut() {
            Body::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            Body::Whole(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Body::Charged(body, _) => {
                Pin::new(body).poll_frame(context).map(|frame| frame.map(|frame| frame.map_err(|never| match never {})))
            }
            Body::Paced(paced) => Poll::Ready(paced.next_chunk().map(|chunk| chunk.map(Frame::data))),
            Body::Headers(charge) => {
                let piece = charge.take().map(|charge| charge.attach(Bytes::new()));
                Poll::Ready(piece.map(|piece| Ok(Frame::data(piece))))
            }
            Body::Live(live) => live.chunks.poll_recv(context).map(|chunk| chunk.map(|chunk| Ok(Frame::data(chunk)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Body::Whole(bytes) => bytes.is_empty(),
            Body::Charged(body, _) => body.is_end_stream(),
            Body::Paced(paced) => paced.is_sent(),
            Body::Headers(charge) => charge.is_none(),
            Body::Live(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Body::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Body::Charged(body, _) => body.size_hint(),
            Body::Paced(paced) => SizeHint::with_exact(paced.left()),
            // hyper would add a length of 0, which the answer to a HEAD, 204 and 304 must not have.
            Body::Headers(_) | Body::Live(_) => SizeHint::default(),
        }
    }
}
