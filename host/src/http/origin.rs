//! Client address and transport of a request, from its connection or from the headers of a trusted proxy.
//!
//! This module never reads the Host header. The caller controls it, so no link may be based on it. Links start with
//! `Config::link_base`.

use std::net::IpAddr;

use http::HeaderMap;

/// The other end of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Peer {
    pub address: IpAddr,
    pub transport: Transport,
}

/// How a request was transmitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transport {
    Plain,
    Tls,
}

pub(super) struct Origins {
    trusted_proxies: Vec<IpAddr>,
}

impl Origins {
    pub(super) fn new(trusted_proxies: Vec<IpAddr>) -> Origins {
        Origins { trusted_proxies }
    }

    /// Returns the nearest address that is not a trusted proxy, or the farthest known proxy if there is none. Entries
    /// to the left of it in X-Forwarded-For may be forged.
    pub(super) fn client_address(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let mut client = peer.to_canonical();
        let forwarded: Vec<&str> = headers
            .get_all("x-forwarded-for")
            .iter()
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','))
            .collect();
        for hop in forwarded.into_iter().rev() {
            if !self.is_trusted(client) {
                break;
            }
            let Ok(address) = hop.trim().parse::<IpAddr>() else { break };
            client = address.to_canonical();
        }
        client
    }

    /// Returns true if no third party could read the request: it came over TLS, or did not leave this machine.
    pub(super) fn is_private(&self, peer: Peer, headers: &HeaderMap) -> bool {
        let address = peer.address.to_canonical();
        self.transport(peer, headers) == Transport::Tls || (address.is_loopback() && !self.is_trusted(address))
    }

    /// Returns the transport of a request. Behind a trusted proxy, it is TLS only if every reported protocol is HTTPS.
    /// If the proxy reports none, the transport of its own connection counts.
    fn transport(&self, peer: Peer, headers: &HeaderMap) -> Transport {
        if !self.is_trusted(peer.address.to_canonical()) {
            return peer.transport;
        }
        // Each proxy adds a value, to the same header line or in its own.
        let values = headers.get_all("x-forwarded-proto").iter();
        let mut protocols = values.flat_map(|value| value.to_str().unwrap_or("").split(',')).map(str::trim);
        let is_https = |proto: &str| proto.eq_ignore_ascii_case("https");
        match protocols.next() {
            None => peer.transport,
            Some(first) if is_https(first) && protocols.all(is_https) => Transport::Tls,
            Some(_) => Transport::Plain,
        }
    }

    fn is_trusted(&self, address: IpAddr) -> bool {
        self.trusted_proxies.contains(&address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forwarded_for(text: &str) -> HeaderMap {
        [("x-forwarded-for".parse().unwrap(), text.parse().unwrap())].into_iter().collect()
    }

    fn plain(address: &str) -> Peer {
        Peer { address: address.parse().unwrap(), transport: Transport::Plain }
    }

    fn client(forwarded: &str, peer: &str) -> String {
        let origins = Origins::new(vec!["10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap()]);
        origins.client_address(peer.parse().unwrap(), &forwarded_for(forwarded)).to_string()
    }

    #[test]
    fn forwarded_addresses_count_only_from_trusted_proxies() {
        assert_eq!(client("1.1.1.1", "9.9.9.9"), "9.9.9.9");
        assert_eq!(client("1.1.1.1", "10.0.0.1"), "1.1.1.1");
        assert_eq!(client("6.6.6.6, 1.1.1.1, 10.0.0.2", "10.0.0.1"), "1.1.1.1");
        assert_eq!(client("nonsense", "10.0.0.1"), "10.0.0.1");
        assert_eq!(client("1.1.1.1", "::ffff:10.0.0.1"), "1.1.1.1");
    }

    #[test]
    fn request_is_private_over_tls_on_loopback_or_if_a_trusted_proxy_reports_https() {
        let origins = Origins::new(vec!["10.0.0.1".parse().unwrap(), "127.0.0.2".parse().unwrap()]);
        let is_private = |peer: Peer, protos: &[&str]| {
            let mut map = HeaderMap::new();
            for proto in protos {
                map.append("x-forwarded-proto", proto.parse().unwrap());
            }
            origins.is_private(peer, &map)
        };
        for (address, protos, expected) in [
            ("9.9.9.9", &[][..], false),
            ("9.9.9.9", &["https"], false),
            ("192.168.0.9", &["https"], false),
            ("127.0.0.1", &[], true),
            ("::1", &["http"], true),
            ("::ffff:127.0.0.1", &[], true),
            ("10.0.0.1", &[], false),
            ("10.0.0.1", &["https"], true),
            ("::ffff:10.0.0.1", &["HTTPS"], true),
            ("10.0.0.1", &["http"], false),
            ("10.0.0.1", &["https, http"], false),
            ("10.0.0.1", &["https", "http"], false),
            ("10.0.0.1", &[""], false),
            // A proxy on this machine acts for remote callers.
            ("127.0.0.2", &[], false),
            ("127.0.0.2", &["https"], true),
        ] {
            assert_eq!(is_private(plain(address), protos), expected, "{address} {protos:?}");
        }
        let encrypted = |address: &str| Peer { transport: Transport::Tls, ..plain(address) };
        assert!(is_private(encrypted("9.9.9.9"), &["http"]) && is_private(encrypted("10.0.0.1"), &[]));
        assert!(!is_private(encrypted("10.0.0.1"), &["http"]), "the proxy received it over plain HTTP");
    }
}
