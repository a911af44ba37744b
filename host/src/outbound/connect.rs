//! Opens a connection: looks up the name, checks the addresses, connects, and negotiates TLS.
//!
//! Invariant: only addresses that were checked are connected to, so that a name that changes its address gains nothing.
//! None of them is a blocked listener of the host. One forbidden address disqualifies the name: attackers use names
//! with public and forbidden addresses, receivers do not.

use std::{net::IpAddr, sync::Arc, time::Duration};

use rustls::pki_types::ServerName;
use tokio::{
    net::TcpStream,
    time::{Instant, timeout, timeout_at},
};
use tokio_rustls::TlsConnector;

use super::{
    address::AddressRule,
    error::{OutboundError, OutboundErrorClass},
    metered::Wire,
    own_listeners::OwnListeners,
    reason::Reason,
    resolve::{Party, Resolve},
    target::{Target, TargetHost},
};
use crate::limits::{OUTBOUND_ADDRESSES_MAX, OUTBOUND_ADDRESSES_TRIED, OUTBOUND_CONNECT_MS};

pub(super) struct Connector {
    pub(super) tls: TlsConnector,
    pub(super) resolver: Arc<dyn Resolve>,
    /// Listeners of the host that are never connected to.
    pub(super) own_listeners: OwnListeners,
}

impl Connector {
    /// Opens a connection for requests and returns it with the address of the server.
    pub(super) async fn connect(
        &self,
        party: &Party,
        target: &Target,
        rule: &AddressRule,
    ) -> Result<(Wire, IpAddr), OutboundError> {
        let until = Instant::now() + Duration::from_millis(OUTBOUND_CONNECT_MS);
        let late = |_| {
            let message = format!("no connection to {} within {OUTBOUND_CONNECT_MS} ms", target.origin());
            OutboundError::new(OutboundErrorClass::Timeout, message)
        };
        let found = timeout_at(until, self.find_addresses(party, target, rule)).await.map_err(late)??;
        let (stream, ip) = connect_first(target, &found, until).await?;
        if !target.is_https() {
            return Ok((Wire::Plain(stream), ip));
        }
        let connected = timeout_at(until, self.tls.connect(server_name(target)?, stream)).await.map_err(late)?;
        let stream = connected.map_err(|error| {
            let error = OutboundError::from_io(&error);
            let message = format!("TLS with {}: {}", target.origin(), error.message);
            error.with_message(message)
        })?;
        Ok((Wire::Tls(Box::new(stream)), ip))
    }

    /// Returns the addresses of the target: at least one, and all of them allowed.
    async fn find_addresses(
        &self,
        party: &Party,
        target: &Target,
        rule: &AddressRule,
    ) -> Result<Vec<IpAddr>, OutboundError> {
        let found = match target.host() {
            TargetHost::Address(ip) => vec![*ip],
            TargetHost::Name(name) => self.resolver.lookup(party, name).await.map_err(|error| {
                OutboundError::new(OutboundErrorClass::Dns, format!("{name} cannot be looked up: {error}"))
            })?,
        };
        if found.is_empty() || found.len() > OUTBOUND_ADDRESSES_MAX {
            let message = format!("{} has {} addresses", target.origin(), found.len());
            return Err(OutboundError::new(OutboundErrorClass::Dns, message));
        }
        for ip in &found {
            rule.check(*ip).map_err(|kind| {
                let message = format!("{} is {ip}, {kind}, which may not be called", target.origin());
                OutboundError::new(OutboundErrorClass::AddressNotAllowed, message)
            })?;
            if self.own_listeners.accept(*ip, target.port()) {
                let message = format!("{} at {ip} is a listener of this host, which is never called", target.origin());
                let error = OutboundError::new(OutboundErrorClass::AddressNotAllowed, message);
                return Err(OutboundError { reason: Some(Reason::OwnListener), ..error });
            }
        }
        Ok(found)
    }
}

/// Connects to the first address that accepts. Each address gets its share of the time, so that a silent address does
/// not use up the time of the other addresses.
async fn connect_first(
    target: &Target,
    found: &[IpAddr],
    until: Instant,
) -> Result<(TcpStream, IpAddr), OutboundError> {
    let mut last = None;
    let mut left = u32::try_from(found.len()).map_or(OUTBOUND_ADDRESSES_TRIED, |n| n.min(OUTBOUND_ADDRESSES_TRIED));
    for ip in found {
        let Some(share) = until.saturating_duration_since(Instant::now()).checked_div(left) else { break };
        left -= 1;
        let error = match timeout(share, TcpStream::connect((*ip, target.port()))).await {
            Ok(Ok(stream)) => {
                // Requests are written at once. Nagle's algorithm would only delay them.
                stream.set_nodelay(true).map_err(|error| OutboundError::from_io(&error))?;
                // The connection is reset when it is closed. A connection that waits for the peer to close it as well
                // holds its local port for a minute, and a receiver that never closes would use up all ports to its
                // address.
                stream.set_zero_linger().map_err(|error| OutboundError::from_io(&error))?;
                return Ok((stream, *ip));
            }
            Ok(Err(error)) => OutboundError::from_io(&error),
            Err(_) => OutboundError::new(OutboundErrorClass::Timeout, "no answer to the attempt to connect"),
        };
        last = Some(OutboundError::new(error.class, format!("{} at {ip}: {}", target.origin(), error.message)));
    }
    Err(last
        .unwrap_or_else(|| OutboundError::new(OutboundErrorClass::Dns, format!("{} has no address", target.origin()))))
}

fn server_name(target: &Target) -> Result<ServerName<'static>, OutboundError> {
    match target.host() {
        TargetHost::Address(ip) => Ok(ServerName::from(*ip)),
        TargetHost::Name(name) => ServerName::try_from(name.clone()).map_err(|_| {
            let message = format!("no certificate can be for the name of {}", target.origin());
            let error = OutboundError::new(OutboundErrorClass::Tls, message);
            OutboundError { reason: Some(Reason::CertificateWrongName), ..error }
        }),
    }
}
