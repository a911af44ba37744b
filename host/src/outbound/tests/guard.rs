//! Addresses are checked when a connection is opened and again when it is reused.

use std::{future::pending, net::SocketAddr};

use super::{
    addresses::{FORBIDDEN, PUBLIC},
    receiver::{OK, Receiver, answer_all},
    *,
};
use crate::limits::{OUTBOUND_ADDRESSES_MAX, OUTBOUND_CONNECT_MS};

const CLOSING: &[u8] = b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";

/// Starts a receiver on a loopback address and port.
async fn receiver_on(ip: &str, port: u16, answer: &'static [u8]) -> Receiver {
    let address = SocketAddr::new(ip.parse().unwrap(), port);
    Receiver::start_at(address, move |_, stream| answer_all(stream, answer)).await
}

#[tokio::test]
async fn name_with_a_forbidden_address_is_not_called() {
    let listening = receiver_on("127.0.0.1", 0, OK).await;
    let port = listening.address.port();
    for (address, kind) in FORBIDDEN {
        let client = client_with(Names::new(&[("evil.example", &[&[address]])]));
        let call = call(&format!("http://evil.example:{port}/"));
        let error = client.send(&call, &AddressRule::default()).await.unwrap_err();
        assert_eq!(error.class, OutboundErrorClass::AddressNotAllowed, "{address}: {error}");
        assert!(error.message.contains(&kind.to_string()), "{error}");
    }
    assert_eq!(listening.connections(), 0);
}

#[tokio::test]
async fn forbidden_address_is_not_called_in_any_notation() {
    let client = client();
    for (address, _) in FORBIDDEN {
        let text = if address.contains(':') { format!("http://[{address}]/") } else { format!("http://{address}/") };
        let error = client.send(&call(&text), &AddressRule::default()).await.unwrap_err();
        assert_eq!(error.class, OutboundErrorClass::AddressNotAllowed, "{address}: {error}");
    }
    for host in
        ["2130706433", "0x7f000001", "0177.0.0.1", "127.1", "0", "%31%32%37.0.0.1", "１２７.0.0.1", "127。0。0。1"]
    {
        let error = client.send(&call(&format!("http://{host}/")), &AddressRule::default()).await.unwrap_err();
        assert_eq!(error.class, OutboundErrorClass::AddressNotAllowed, "{host}: {error}");
    }
}

#[tokio::test]
async fn one_forbidden_address_among_public_ones_disqualifies_the_name() {
    for answers in [[PUBLIC[0], "10.0.0.1"], ["10.0.0.1", PUBLIC[0]]] {
        let client = client_with(Names::new(&[("mixed.example", &[&answers])]));
        let error = client.send(&call("http://mixed.example/"), &AddressRule::default()).await.unwrap_err();
        assert_eq!(error.class, OutboundErrorClass::AddressNotAllowed, "{error}");
    }
}

#[tokio::test]
async fn dns_rebinding_between_lookup_and_connect_has_no_effect() {
    let allowed = receiver_on("127.0.0.2", 0, CLOSING).await;
    let forbidden = receiver_on("127.0.0.1", allowed.address.port(), OK).await;
    let names = Names::new(&[("rebind.example", &[&["127.0.0.2"], &["127.0.0.1"]])]);
    let client = client_with(Arc::clone(&names));
    let (rule, call) = (allow(&["127.0.0.2/32"]), call(&format!("http://rebind.example:{}/", allowed.address.port())));
    client.send(&call, &rule).await.expect("goes to the checked address");
    assert_eq!((names.lookups(), allowed.connections()), (1, 1), "a second lookup would return another address");
    let error = client.send(&call, &rule).await.unwrap_err();
    assert_eq!(error.class, OutboundErrorClass::AddressNotAllowed, "{error}");
    assert_eq!((names.lookups(), forbidden.connections()), (2, 0));
}

#[tokio::test]
async fn idle_connection_is_not_reused_if_its_address_is_not_allowed() {
    let receiver = Receiver::answering(OK).await;
    let (client, call) = (client(), call_at(receiver.address));
    client.send(&call, &loopback()).await.unwrap();
    assert_eq!(client.idle_connections(), 1);
    let error = client.send(&call, &AddressRule::default()).await.unwrap_err();
    assert_eq!(error.class, OutboundErrorClass::AddressNotAllowed, "{error}");
    assert_eq!((receiver.connections(), client.idle_connections()), (1, 0));
}

#[tokio::test]
async fn next_address_is_tried_if_one_does_not_respond() {
    let receiver = receiver_on("127.0.0.1", 0, OK).await;
    let client = client_with(Names::new(&[("two.example", &[&["127.0.0.9", "127.0.0.1"]])]));
    let call = call(&format!("http://two.example:{}/", receiver.address.port()));
    assert_eq!(client.send(&call, &loopback()).await.unwrap().status, 200);
}

#[tokio::test]
async fn name_without_an_address_or_with_too_many_is_a_dns_error() {
    let crowd = vec![PUBLIC[0]; OUTBOUND_ADDRESSES_MAX + 1];
    let client = client_with(Names::new(&[("empty.example", &[&[]]), ("crowd.example", &[&crowd])]));
    for name in ["empty", "crowd", "unknown"] {
        let error = client.send(&call(&format!("https://{name}.example/")), &loopback()).await.unwrap_err();
        assert_eq!(error.class, OutboundErrorClass::Dns, "{error}");
    }
}

struct Silent;

impl Resolve for Silent {
    fn lookup<'a>(&'a self, _: &'a Party, _: &'a str) -> Lookup<'a> {
        Box::pin(pending())
    }
}

#[tokio::test(start_paused = true)]
async fn name_server_that_never_responds_causes_a_timeout() {
    let client = Client::new(Roots::built_in(), Arc::new(Silent)).unwrap();
    let error = client.send(&call("https://silent.example/"), &loopback()).await.unwrap_err();
    assert_eq!((error.class, error.duration_ms), (OutboundErrorClass::Timeout, OUTBOUND_CONNECT_MS), "{error}");
}

#[tokio::test]
async fn name_is_looked_up_for_the_party_of_its_call() {
    let names = Names::new(&[]);
    let client = client_with(Arc::clone(&names));
    for party in [Party::Host, Party::of("acme")] {
        let call = OutboundCall { party: party.clone(), ..call("https://unknown.example/") };
        client.send(&call, &loopback()).await.unwrap_err();
        assert_eq!(names.lookups.lock().pop(), Some(party));
    }
}

#[tokio::test]
async fn system_resolver_finds_localhost() {
    let found = SystemResolver::new().lookup(&Party::Host, "localhost").await.unwrap();
    assert!(!found.is_empty() && found.iter().all(IpAddr::is_loopback), "{found:?}");
}

#[tokio::test]
async fn own_listener_is_not_called_by_any_of_its_addresses_or_names() {
    let own = receiver_on("127.0.0.1", 0, OK).await;
    let port = own.address.port();
    let client = client_with(Names::new(&[("own.example", &[&["127.0.0.1"]]), ("other.example", &[&["127.0.0.2"]])]));
    client.block_listeners(vec![own.address]);
    let rule = AddressRule::everywhere();
    for host in ["127.0.0.1", "0.0.0.0", "[::ffff:127.0.0.1]", "own.example"] {
        let error = client.send(&call(&format!("http://{host}:{port}/")), &rule).await.unwrap_err();
        let expected = (OutboundErrorClass::AddressNotAllowed, Some(Reason::OwnListener));
        assert_eq!((error.class, error.reason), expected, "{host}: {error}");
        assert!(!error.maybe_sent);
    }
    assert_eq!(own.connections(), 0);
    let other = receiver_on("127.0.0.2", port, OK).await;
    client.send(&call(&format!("http://other.example:{port}/")), &rule).await.unwrap();
    assert_eq!(other.connections(), 1);
}
