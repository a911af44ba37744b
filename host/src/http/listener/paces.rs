//! Paces of addresses: what the host does for them without a call, and streams that it refuses.

use std::net::IpAddr;

use http::{HeaderValue, Response, StatusCode, header};

use crate::{
    auth::guesses::network,
    fair::pace::Pacers,
    http::{Body, activity::Running, service::Uncalled},
    limits::{OWN_ANSWER_CORE_US, REFUSED_STREAMS_WAITING_MAX},
};

/// Paces of addresses, for work that the host does for them without a call.
pub(in crate::http) struct Paces {
    pub handshakes: Pacers<IpAddr>,
    pub answers: Pacers<IpAddr>,
    /// Connections that were closed for what their peer sent, and later connections of the same address.
    pub floods: Pacers<IpAddr>,
}

impl Paces {
    pub fn of_machine() -> Paces {
        Paces { handshakes: Pacers::of_machine(), answers: Pacers::of_machine(), floods: Pacers::of_machine() }
    }

    /// The paces of a machine with so many cores.
    #[cfg(test)]
    pub fn of_cores(cores: u64) -> Paces {
        let pacers = || Pacers::of_cores(cores);
        Paces { handshakes: pacers(), answers: pacers(), floods: pacers() }
    }
}

/// Without a body: the stream ends with its head, whether the peer reads or not.
pub(super) fn refuse_stream(client: IpAddr) -> Response<Body> {
    let mut response = Response::new(Body::default());
    *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    response.extensions_mut().insert(Uncalled(network(client)));
    response
}

/// A refused stream waits for the pace of its address, without its request. If too many wait already, its connection ends,
/// unless it is a trusted proxy's, which carries requests of other addresses as well. `counted`: address that the connection counts for,
/// `None` for a trusted proxy's.
pub(super) async fn pace_refused<B>(
    paces: &Paces,
    running: &Running,
    mut refused: Response<B>,
    counted: Option<IpAddr>,
) -> Response<B> {
    if let Some(Uncalled(address)) = refused.extensions_mut().remove() {
        let is_paced = paces.answers.wait_among(&address, OWN_ANSWER_CORE_US, REFUSED_STREAMS_WAITING_MAX).await;
        if !is_paced && counted.is_some() {
            running.end_connection();
        }
    }
    refused
}
