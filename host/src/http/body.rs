//! The body of an answer: whole before its first byte is sent, or a stream of events that goes on.

use std::{
    any::Any,
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tokio::sync::mpsc;

pub enum Body {
    Whole(Full<Bytes>),
    Live(Live),
}

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

    /// A stream holds it until it ends; a whole body, which is sent at once, lets go of it.
    pub fn hold(&mut self, kept: impl Any + Send) {
        if let Body::Live(live) = self {
            live.kept = Some(Box::new(kept));
        }
    }
}

impl Default for Body {
    fn default() -> Body {
        Body::Whole(Full::default())
    }
}

impl<B: Into<Bytes>> From<B> for Body {
    fn from(bytes: B) -> Body {
        Body::Whole(Full::new(bytes.into()))
    }
}

impl HttpBody for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Body::Whole(body) => Pin::new(body).poll_frame(context),
            Body::Live(live) => live.chunks.poll_recv(context).map(|chunk| chunk.map(|chunk| Ok(Frame::data(chunk)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Body::Whole(body) => body.is_end_stream(),
            Body::Live(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Body::Whole(body) => body.size_hint(),
            Body::Live(_) => SizeHint::default(),
        }
    }
}
