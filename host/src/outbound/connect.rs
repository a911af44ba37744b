//! Opens a connection: looks up, judges, connects, speaks TLS.
//!
//! Invariant: the addresses that are connected to are those that were judged, so that a name that changes its address
//! gains nothing. None of them is a listener of the host itself. One forbidden address among several disqualifies the name:
//! receivers have no such names, attackers do.

use std::{net::IpAddr, sync::Arc, time::Duration};

use rustls::pki_types::ServerName;
use tokio::{
    net::TcpStream,
    time::{Instant, timeout, timeout_at},
};
use tokio_rustls::TlsConnector;

use super::{
    address::AddressRule,
    failure::{Failure, FailureClass},
    metered::Wire,
    own::OwnListeners,
    reason::Reason,
    resolve::{Party, Resolve},
    target::{Target, Where},
};
use crate::limits::{OUTBOUND_ADDRESSES_MAX, OUTBOUND_ADDRESSES_TRIED, OUTBOUND_CONNECT_MS};

pub(super) struct Connector {
    pub(super) tls: TlsConnector,
    pub(super) resolver: Arc<dyn Resolve>,
    /// Never connected to.
    pub(super) own: OwnListeners,
}

impl Connector {
    /// A socket on which requests can be sent, and to whom it goes.
    pub(super) async fn connect(
        &self,
        party: &Party,
        target: &Target,
        rule: &AddressRule,
    ) -> Result<(Wire, IpAddr), Failure> {
        let until = Instant::now() + Duration::from_millis(OUTBOUND_CONNECT_MS);
        let late = |_| {
            let words = format!("no connection to {} within {OUTBOUND_CONNECT_MS} ms", target.place());
            Failure::new(FailureClass::Timeout, words)
        };
        let found = timeout_at(until, self.find_addresses(party, target, rule)).await.map_err(late)??;
        let (stream, ip) = connect_first(target, &found, until).await?;
        if !target.is_https() {
            return Ok((Wire::Plain(stream), ip));
        }
        let spoken = timeout_at(until, self.tls.connect(server_name(target)?, stream)).await.map_err(late)?;
        let stream = spoken.map_err(|error| {
            let failure = Failure::of_io(&error);
            let words = format!("TLS with {}: {}", target.place(), failure.words);
            failure.reworded(words)
        })?;
        Ok((Wire::Tls(Box::new(stream)), ip))
    }

    /// At least one, all of them allowed.
    async fn find_addresses(&self, party: &Party, target: &Target, rule: &AddressRule) -> Result<Vec<IpAddr>, Failure> {
        let found = match target.host() {
            Where::Address(ip) => vec![*ip],
            Where::Name(name) => self
                .resolver
                .lookup(party, name)
                .await
                .map_err(|error| Failure::new(FailureClass::Dns, format!("{name} cannot be looked up: {error}")))?,
        };
        if found.is_empty() || found.len() > OUTBOUND_ADDRESSES_MAX {
            let words = format!("{} has {} addresses", target.place(), found.len());
            return Err(Failure::new(FailureClass::Dns, words));
        }
        for ip in &found {
            rule.judge(*ip).map_err(|why| {
                let words = format!("{} is {ip}, {why}, which may not be called", target.place());
                Failure::new(FailureClass::AddressNotAllowed, words)
            })?;
            if self.own.take(*ip, target.port()) {
                let words = format!("{} at {ip} is a listener of this host, which is never called", target.place());
                let failure = Failure::new(FailureClass::AddressNotAllowed, words);
                return Err(Failure { reason: Some(Reason::OwnListener), ..failure });
            }
        }
        Ok(found)
    }
}

/// The first address that takes a connection. Each gets its share of the time, so that a silent one does not use up that
/// of the others.
async fn connect_first(target: &Target, found: &[IpAddr], until: Instant) -> Result<(TcpStream, IpAddr), Failure> {
    let mut last = None;
    let mut left = u32::try_from(found.len()).map_or(OUTBOUND_ADDRESSES_TRIED, |n| n.min(OUTBOUND_ADDRESSES_TRIED));
    for ip in found {
        let Some(share) = until.saturating_duration_since(Instant::now()).checked_div(left) else { break };
        left -= 1;
        let failure = match timeout(share, TcpStream::connect((*ip, target.port()))).await {
            Ok(Ok(stream)) => {
                // A request is written at once; waiting for more to send would only delay it.
                stream.set_nodelay(true).map_err(|error| Failure::of_io(&error))?;
                // Reset when it is closed: a connection that waits for the other side to close it as well holds its local port
                // for a minute, and a receiver that never closes would use up all ports to its address.
                stream.set_zero_linger().map_err(|error| Failure::of_io(&error))?;
                return Ok((stream, *ip));
            }
            Ok(Err(error)) => Failure::of_io(&error),
            Err(_) => Failure::new(FailureClass::Timeout, "no answer to the attempt to connect"),
        };
        last = Some(Failure::new(failure.class, format!("{} at {ip}: {}", target.place(), failure.words)));
    }
    Err(last.unwrap_or_else(|| Failure::new(FailureClass::Dns, format!("{} has no address", target.place()))))
}

fn server_name(target: &Target) -> Result<ServerName<'static>, Failure> {
    match target.host() {
        Where::Address(ip) => Ok(ServerName::from(*ip)),
        Where::Name(name) => ServerName::try_from(name.clone()).map_err(|_| {
            let words = format!("no certificate can be for the name of {}", target.place());
            Failure { reason: Some(Reason::CertificateWrongName), ..Failure::new(FailureClass::Tls, words) }
        }),
    }
}
