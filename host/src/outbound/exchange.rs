//! One request and its answer on one connection, within the bytes and the time that they may take.
//!
//! The call that waits drives the connection: no task runs beside it, and a call that is dropped drops its connection.

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
    failure::{Failure, FailureClass},
    metered::{Meter, Metered, Wire},
};
use crate::{
    fair::pace::Pacer,
    limits::{OUTBOUND_HEAD_BYTES_MAX, OUTBOUND_HEADERS_MAX},
};

/// How the body of an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyEnd {
    /// All of it is here.
    Whole,
    /// There was more than the call wanted; the rest was not read.
    Cut,
    /// The connection broke, or the time was up.
    Broken(FailureClass),
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
    pub(super) async fn start(wire: Wire, peer: IpAddr) -> Result<Connection, Failure> {
        let (metered, meter) = Metered::new(wire);
        let (sender, protocol) = http1::Builder::new()
            .max_buf_size(OUTBOUND_HEAD_BYTES_MAX)
            .max_headers(OUTBOUND_HEADERS_MAX)
            .handshake(TokioIo::new(metered))
            .await
            .map_err(|error| Failure::of_exchange(&error))?;
        Ok(Connection { sender, protocol: Some(protocol), meter, peer })
    }

    pub(super) fn peer(&self) -> IpAddr {
        self.peer
    }

    /// Whether the other side has sent nothing at all since the request began.
    pub(super) fn is_silent(&self) -> bool {
        self.meter.is_silent()
    }

    /// Sends the request and waits for the head of its answer.
    pub(super) async fn ask(
        &mut self,
        request: Request<Full<Bytes>>,
        answer_bytes_max: usize,
        pacer: Arc<Pacer>,
    ) -> Result<Response<Incoming>, Failure> {
        self.meter.allow(answer_bytes_max.saturating_add(OUTBOUND_HEAD_BYTES_MAX), pacer);
        let answer = self.sender.send_request(request);
        drive(&mut self.protocol, answer).await.map_err(|error| Failure::of_exchange(&error))
    }

    /// The first bytes of the body.
    pub(super) async fn read(&mut self, mut body: Incoming, bytes_max: usize, until: Instant) -> (Bytes, BodyEnd) {
        let mut read = BytesMut::new();
        loop {
            let frame = match timeout_at(until, drive(&mut self.protocol, body.frame())).await {
                Ok(None) => return (read.freeze(), BodyEnd::Whole),
                Ok(Some(Ok(frame))) => frame,
                Ok(Some(Err(error))) => {
                    let end = match Failure::of_exchange(&error).class {
                        FailureClass::TooLarge => BodyEnd::Cut,
                        class => BodyEnd::Broken(class),
                    };
                    return (read.freeze(), end);
                }
                Err(_) => return (read.freeze(), BodyEnd::Broken(FailureClass::Timeout)),
            };
            let Some(data) = frame.data_ref() else { continue };
            let room = bytes_max - read.len();
            read.extend_from_slice(data.get(..room).unwrap_or(data));
            if data.len() > room {
                return (read.freeze(), BodyEnd::Cut);
            }
        }
    }

    /// Whether another request can be sent: the answer is read to its end, and the other side keeps the connection.
    pub(super) fn is_ready(&mut self) -> bool {
        self.look();
        self.protocol.is_some() && self.sender.is_ready()
    }

    /// Lets the connection notice what has happened, without waiting for anything.
    fn look(&mut self) {
        step(&mut self.protocol, &mut Context::from_waker(Waker::noop()));
    }
}

async fn drive<T>(protocol: &mut Protocol, wanted: impl Future<Output = T>) -> T {
    let mut wanted = pin!(wanted);
    poll_fn(|cx| {
        step(protocol, cx);
        wanted.as_mut().poll(cx)
    })
    .await
}

/// What ended a connection is told to the request that runs on it, so nothing is lost here.
fn step(protocol: &mut Protocol, cx: &mut Context<'_>) {
    if let Some(connection) = protocol
        && let Poll::Ready(_) = Pin::new(connection).poll(cx)
    {
        *protocol = None;
    }
}
