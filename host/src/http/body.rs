//! The body of a response: whole before its first byte is sent, or an event stream.
//!
//! The charge of a plugin's answer is held until its last byte has left. On HTTP/1.1 a small body holds it. The bytes
//! of a larger body hold it themselves, and hyper drops them when the connection has taken them. On HTTP/2, where a
//! reader may stall single streams, `paced` holds it. Responses of the host itself have no charge. Over HTTP/2 they are
//! paced as well, so that the streams of slow readers are reset.
//!
//! Over HTTP/2, headers without a body stay in memory until the peer reads them. An empty chunk after large headers
//! holds their charge.

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

use super::{activity::ActiveRequest, paced::PacedBody};
use crate::{
    budget::Charge,
    limits::{HTTP2_SMALL_HEADERS_BYTES, SMALL_RESPONSE_BYTES},
};

pub enum Body {
    Whole(Bytes),
    /// A small body over HTTP/1.1, which fits into the buffer of the connection.
    Charged(Full<Bytes>, Charge),
    Paced(PacedBody),
    /// No body over HTTP/2. `None` once the empty chunk is taken.
    Headers(Option<Charge>),
    Stream(EventStream),
}

/// Error of a body whose reader accepted nothing for too long.
#[derive(Debug, thiserror::Error)]
#[error("the reader accepted nothing for too long")]
pub struct SlowReader;

/// An event stream. Ends when its sender is dropped.
pub struct EventStream {
    chunks: mpsc::Receiver<Bytes>,
    /// Dropped together with the stream.
    held: Option<Box<dyn Any + Send>>,
}

impl Body {
    pub fn stream(chunks: mpsc::Receiver<Bytes>) -> Body {
        Body::Stream(EventStream { chunks, held: None })
    }

    /// Returns the body of an answer with its memory charge.
    pub fn charged(bytes: Bytes, charge: Option<Charge>, version: Version) -> Body {
        match charge {
            None => Body::from(bytes),
            Some(charge) if bytes.is_empty() => Body::headers(charge, version),
            Some(charge) if version == Version::HTTP_2 => Body::Paced(PacedBody::new(bytes, Some(charge))),
            Some(charge) if bytes.len() <= SMALL_RESPONSE_BYTES => Body::Charged(Full::new(bytes), charge),
            Some(charge) => Body::from(charge.attach(bytes)),
        }
    }

    /// Returns the empty body of an answer. On HTTP/1.1 it needs no charge, because hyper writes the headers before it
    /// reads the next request.
    fn headers(charge: Charge, version: Version) -> Body {
        match version == Version::HTTP_2 && charge.bytes() > HTTP2_SMALL_HEADERS_BYTES {
            true => Body::Headers(Some(charge)),
            false => Body::default(),
        }
    }

    /// Returns the body of the same response to a HEAD request.
    pub(super) fn into_headers(self) -> Body {
        match self {
            Body::Paced(paced) => {
                paced.into_charge().map_or_else(Body::default, |charge| Body::headers(charge, Version::HTTP_2))
            }
            Body::Headers(charge) => Body::Headers(charge),
            Body::Whole(_) | Body::Charged(..) | Body::Stream(_) => Body::default(),
        }
    }

    /// Holds the active request: a stream until it ends, a body over HTTP/2 until it is sent. Any other body drops the
    /// active request, because the connection takes the body at once.
    pub(super) fn hold(&mut self, active: ActiveRequest) {
        if active.is_http2()
            && let Body::Whole(bytes) = self
            && !bytes.is_empty()
        {
            *self = Body::Paced(PacedBody::new(std::mem::take(bytes), None));
        }
        match self {
            Body::Stream(stream) => stream.held = Some(Box::new(active)),
            Body::Paced(paced) => paced.hold(active),
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
                let chunk = charge.take().map(|charge| charge.attach(Bytes::new()));
                Poll::Ready(chunk.map(|chunk| Ok(Frame::data(chunk))))
            }
            Body::Stream(stream) => {
                stream.chunks.poll_recv(context).map(|chunk| chunk.map(|chunk| Ok(Frame::data(chunk))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Body::Whole(bytes) => bytes.is_empty(),
            Body::Charged(body, _) => body.is_end_stream(),
            Body::Paced(paced) => paced.is_sent(),
            Body::Headers(charge) => charge.is_none(),
            Body::Stream(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Body::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Body::Charged(body, _) => body.size_hint(),
            Body::Paced(paced) => SizeHint::with_exact(paced.left()),
            // hyper would add a length of 0, which responses to HEAD, 204 and 304 must not have.
            Body::Headers(_) | Body::Stream(_) => SizeHint::default(),
        }
    }
}
