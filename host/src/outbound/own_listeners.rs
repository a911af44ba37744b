//! Listeners of the host that a client blocks. No call of the client reaches them, even if the rule of the call allows
//! their addresses.
//!
//! The address that is connected to is checked, so that neither a name nor another address of this machine leads there.
//! A port that a proxy or a router forwards to the host cannot be detected here: the hop count ends such a loop.

use std::{
    net::{IpAddr, SocketAddr, UdpSocket},
    sync::Arc,
};

use arc_swap::ArcSwap;

/// Shared by all calls.
#[derive(Default)]
pub(super) struct OwnListeners(ArcSwap<Vec<SocketAddr>>);

impl OwnListeners {
    pub(super) fn set(&self, listeners: Vec<SocketAddr>) {
        self.0.store(Arc::new(listeners));
    }

    /// Returns true if one of the listeners accepts a connection to this address.
    pub(super) fn accept(&self, ip: IpAddr, port: u16) -> bool {
        let ip = ip.to_canonical();
        self.0.load().iter().any(|own| own.port() == port && is_reached(own.ip().to_canonical(), ip))
    }
}

/// Returns true if a listener on `own` accepts connections to `ip`.
fn is_reached(own: IpAddr, ip: IpAddr) -> bool {
    // The system connects an unspecified address to the loopback interface.
    own == ip || (ip.is_unspecified() && own.is_loopback()) || (own.is_unspecified() && is_local(ip))
}

/// Returns true for an address of this machine. A socket can be bound to local addresses only; nothing is sent.
fn is_local(ip: IpAddr) -> bool {
    ip.is_loopback() || ip.is_unspecified() || UdpSocket::bind((ip, 0)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_own(own: &str, target: &str) -> bool {
        let (listeners, target): (OwnListeners, SocketAddr) = (OwnListeners::default(), target.parse().unwrap());
        listeners.set(vec![own.parse().unwrap()]);
        listeners.accept(target.ip(), target.port())
    }

    #[test]
    fn address_that_leads_to_a_listener_of_the_host_is_detected() {
        for (own, target) in [
            ("127.0.0.1:80", "127.0.0.1:80"),
            ("127.0.0.1:80", "0.0.0.0:80"),
            ("127.0.0.1:80", "[::ffff:127.0.0.1]:80"),
            ("0.0.0.0:80", "127.0.0.1:80"),
            ("0.0.0.0:80", "127.9.9.9:80"),
            ("0.0.0.0:80", "0.0.0.0:80"),
            ("[::]:80", "127.0.0.1:80"),
            ("[::]:80", "[::1]:80"),
            ("[::]:80", "[::]:80"),
            ("203.0.113.7:80", "203.0.113.7:80"),
        ] {
            assert!(is_own(own, target), "{own} {target}");
        }
    }

    #[test]
    fn other_ports_and_machines_are_not_own_listeners() {
        for (own, target) in [
            ("127.0.0.1:80", "127.0.0.1:81"),
            ("0.0.0.0:80", "127.0.0.1:81"),
            ("0.0.0.0:80", "203.0.113.7:80"),
            ("[::]:80", "[2001:db8::7]:80"),
            ("127.0.0.1:80", "127.0.0.2:80"),
            ("203.0.113.7:80", "0.0.0.0:80"),
        ] {
            assert!(!is_own(own, target), "{own} {target}");
        }
    }

    #[test]
    fn address_of_an_interface_reaches_a_listener_on_all_addresses() {
        // Uses the address of the interface with the default route. Without one there is nothing to test.
        let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
        if socket.connect("203.0.113.7:9").is_ok() {
            let own = socket.local_addr().unwrap().ip();
            assert!(is_own("0.0.0.0:80", &format!("{own}:80")), "{own}");
        }
    }
}
