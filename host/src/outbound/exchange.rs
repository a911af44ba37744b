//! A request and its response on one connection, within the bytes and the time that they may use.
//!
//! The caller drives the connection: no task runs beside it, and dropping a call drops its connection.

use std::{
    future::{Future, poll_fn},
    net::IpAddr,
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll, Waker},
};

use bytes::{Bytes, BytesMut};
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::{body::Incoming, client::conn::http1};
use hyper_util::rt::TokioIo;
use tokio::time::{Instant, timeout_at};

use super::{
    error::{OutboundError, OutboundErrorClass},
    metered::{Meter, Metered, Wire},
};
use crate::{
    fair::pace::Pacer,
    limits::{OUTBOUND_HEAD_BYTES_MAX, OUTBOUND_HEADERS_MAX},
};

/// How reading the body of a response ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyEnd {
    /// The body is complete.
    Whole,
    /// The body, or the body with its framing, is longer than its limit. The rest was not read.
    Cut,
    /// The connection broke, or the time was up.
    Broken(OutboundErrorClass),
}

pub(super) struct Connection {
    sender: http1::SendRequest<Full<Bytes>>,
    protocol: Protocol,
    meter: Arc<Meter>,
    peer: IpAddr,
}

/// `None` once the connection has ended.
type Protocol = Option<http1::Connection<TokioIo<Metered>, Full<Bytes>>>;

impl Connection {
    pub(super) async fn start(wire: Wire, peer: IpAddr) -> Result<Connection, OutboundError> {
        let (metered, meter) = Metered::new(wire);
        let (sender, protocol) = http1::Builder::new()
            .max_buf_size(OUTBOUND_HEAD_BYTES_MAX)
            .max_headers(OUTBOUND_HEADERS_MAX)
            .handshake(TokioIo::new(metered))
            .await
            .map_err(|error| OutboundError::from_hyper(&error))?;
        Ok(Connection { sender, protocol: Some(protocol), meter, peer })
    }

    pub(super) fn peer(&self) -> IpAddr {
        self.peer
    }

    /// Returns true if the server has sent nothing since the request began.
    pub(super) fn is_silent(&self) -> bool {
        self.meter.is_silent()
    }

    /// Sends the request and waits for the head of the response.
    pub(super) async fn request(
        &mut self,
        request: Request<Full<Bytes>>,
        response_bytes_max: usize,
        pacer: Arc<Pacer>,
    ) -> Result<Response<Incoming>, OutboundError> {
        self.meter.allow(response_bytes_max.saturating_add(OUTBOUND_HEAD_BYTES_MAX), pacer);
        let response = self.sender.send_request(request);
        drive(&mut self.protocol, response).await.map_err(|error| OutboundError::from_hyper(&error))
    }

    /// Reads at most `bytes_max` bytes of the body.
    pub(super) async fn read(&mut self, mut body: Incoming, bytes_max: usize, until: Instant) -> (Bytes, BodyEnd) {
        let mut read = BytesMut::new();
        loop {
            let frame = match timeout_at(until, drive(&mut self.protocol, body.frame())).await {
                Ok(None) => return (read.freeze(), BodyEnd::Whole),
                Ok(Some(Ok(frame))) => frame,
                Ok(Some(Err(error))) => {
                    let end = match OutboundError::from_hyper(&error).class {
                        OutboundErrorClass::TooLarge => BodyEnd::Cut,
                        class => BodyEnd::Broken(class),
                    };
                    return (read.freeze(), end);
                }
                Err(_) => return (read.freeze(), BodyEnd::Broken(OutboundErrorClass::Timeout)),
            };
            let Some(data) = frame.data_ref() else { continue };
            let remaining = bytes_max - read.len();
            read.extend_from_slice(data.get(..remaining).unwrap_or(data));
            if data.len() > remaining {
                return (read.freeze(), BodyEnd::Cut);
            }
        }
    }

    /// Returns true if another request can be sent: the response was read to its end, and the server keeps the
    /// connection open.
    pub(super) fn is_ready(&mut self) -> bool {
        self.poll_once();
        self.protocol.is_some() && self.sender.is_ready()
    }

    /// Polls the connection without waiting, so that it processes pending events.
    fn poll_once(&mut self) {
        step(&mut self.protocol, &mut Context::from_waker(Waker::noop()));
    }
}

async fn drive<T>(protocol: &mut Protocol, future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    poll_fn(|cx| {
        step(protocol, cx);
        future.as_mut().poll(cx)
    })
    .await
}

/// Polls the connection. Its error is reported to the running request, so it can be ignored here.
fn step(protocol: &mut Protocol, cx: &mut Context<'_>) {
    if let Some(connection) = protocol
        && let Poll::Ready(_) = Pin::new(connection).poll(cx)
    {
        *protocol = None;
    }
}
