//! Paces of client addresses for work without a plugin call, and refusals of streams.

use std::net::IpAddr;

use http::{HeaderValue, Response, StatusCode, header};

use crate::{
    auth::guess_limiter::network,
    fair::pace::Pacers,
    http::{Body, activity::ActiveRequest, service::PacedAddress},
    limits::{HOST_RESPONSE_CORE_US, REFUSED_STREAMS_WAITING_MAX},
};

/// Processor time limits of client addresses, for work that the host does without a plugin call.
pub(in crate::http) struct Paces {
    pub handshakes: Pacers<IpAddr>,
    pub responses: Pacers<IpAddr>,
    /// Connections closed because of a flood, and later connections of the same address.
    pub floods: Pacers<IpAddr>,
}

impl Paces {
    /// Returns the paces for the cores of this machine.
    pub fn of_machine() -> Paces {
        Paces { handshakes: Pacers::of_machine(), responses: Pacers::of_machine(), floods: Pacers::of_machine() }
    }

    /// Returns the paces of a machine with this number of cores.
    #[cfg(test)]
    pub fn of_cores(cores: u64) -> Paces {
        let pacers = || Pacers::of_cores(cores);
        Paces { handshakes: pacers(), responses: pacers(), floods: pacers() }
    }
}

/// Builds the response that refuses a stream. It has no body, so the stream ends with its head whether or not the peer
/// reads.
pub(super) fn refuse_stream(client: IpAddr) -> Response<Body> {
    let mut response = Response::new(Body::default());
    *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    response.extensions_mut().insert(PacedAddress(network(client)));
    response
}

/// Delays a refused stream according to the pace of its address, without holding its request.
///
/// If too many streams wait already, the connection closes, unless it belongs to a trusted proxy, which carries
/// requests of other addresses as well. `peer`: the address that the connection counts for, `None` for a trusted proxy.
pub(super) async fn pace_refusal<B>(
    paces: &Paces,
    active: &ActiveRequest,
    mut refusal: Response<B>,
    peer: Option<IpAddr>,
) -> Response<B> {
    if let Some(PacedAddress(address)) = refusal.extensions_mut().remove() {
        let is_paced = paces.responses.wait_among(&address, HOST_RESPONSE_CORE_US, REFUSED_STREAMS_WAITING_MAX).await;
        if !is_paced && peer.is_some() {
            active.close_connection();
        }
    }
    refusal
}
