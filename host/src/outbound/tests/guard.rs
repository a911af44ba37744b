//! What may be called is decided when a connection is opened, and again when one is used again.

use std::{future::pending, net::SocketAddr};

use super::{
    addresses::{FORBIDDEN, PUBLIC},
    receiver::{OK, Receiver, answer_all},
    *,
};
use crate::limits::{OUTBOUND_ADDRESSES_MAX, OUTBOUND_CONNECT_MS};

const CLOSING: &[u8] = b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";

/// A receiver on that address of loopback, at the port of another one if there is one.
async fn receiver_on(ip: &str, port: u16, answer: &'static [u8]) -> Receiver {
    let address = SocketAddr::new(ip.parse().unwrap(), port);
    Receiver::start_at(address, move |_, stream| answer_all(stream, answer)).await
}

#[tokio::test]
async fn a_name_that_stands_for_a_forbidden_address_is_not_called() {
    let listening = receiver_on("127.0.0.1", 0, OK).await;
    let port = listening.address.port();
    for (address, why) in FORBIDDEN {
        let client = client_with(Names::new(&[("evil.example", &[&[address]])]));
        let call = call(&format!("http://evil.example:{port}/"));
        let failure = client.send(&call, &AddressRule::default()).await.unwrap_err();
        assert_eq!(failure.class, FailureClass::AddressNotAllowed, "{address}: {failure}");
        assert!(failure.words.contains(&why.to_string()), "{failure}");
    }
    assert_eq!(listening.connections(), 0);
}

#[tokio::test]
async fn a_forbidden_address_is_not_called_however_it_is_written() {
    let client = client();
    for (address, _) in FORBIDDEN {
        let text = if address.contains(':') { format!("http://[{address}]/") } else { format!("http://{address}/") };
        let failure = client.send(&call(&text), &AddressRule::default()).await.unwrap_err();
        assert_eq!(failure.class, FailureClass::AddressNotAllowed, "{address}: {failure}");
    }
    for host in
        ["2130706433", "0x7f000001", "0177.0.0.1", "127.1", "0", "%31%32%37.0.0.1", "１２７.0.0.1", "127。0。0。1"]
    {
        let failure = client.send(&call(&format!("http://{host}/")), &AddressRule::default()).await.unwrap_err();
        assert_eq!(failure.class, FailureClass::AddressNotAllowed, "{host}: {failure}");
    }
}

#[tokio::test]
async fn one_forbidden_address_among_public_ones_spoils_the_name() {
    for answers in [[PUBLIC[0], "10.0.0.1"], ["10.0.0.1", PUBLIC[0]]] {
        let client = client_with(Names::new(&[("mixed.example", &[&answers])]));
        let failure = client.send(&call("http://mixed.example/"), &AddressRule::default()).await.unwrap_err();
        assert_eq!(failure.class, FailureClass::AddressNotAllowed, "{failure}");
    }
}

#[tokio::test]
async fn a_name_that_changes_its_address_between_look_up_and_connect_gains_nothing() {
    let allowed = receiver_on("127.0.0.2", 0, CLOSING).await;
    let forbidden = receiver_on("127.0.0.1", allowed.address.port(), OK).await;
    let names = Names::new(&[("rebind.example", &[&["127.0.0.2"], &["127.0.0.1"]])]);
    let client = client_with(Arc::clone(&names));
    let (rule, call) = (allow(&["127.0.0.2/32"]), call(&format!("http://rebind.example:{}/", allowed.address.port())));
    client.send(&call, &rule).await.expect("goes to the address that was judged");
    assert_eq!((names.lookups(), allowed.connections()), (1, 1), "a second look-up would be another answer");
    let failure = client.send(&call, &rule).await.unwrap_err();
    assert_eq!(failure.class, FailureClass::AddressNotAllowed, "{failure}");
    assert_eq!((names.lookups(), forbidden.connections()), (2, 0));
}

#[tokio::test]
async fn a_kept_connection_is_not_used_where_its_address_is_not_allowed() {
    let receiver = Receiver::answering(OK).await;
    let (client, call) = (client(), call_at(receiver.address));
    client.send(&call, &loopback()).await.unwrap();
    assert_eq!(client.idle_connections(), 1);
    let failure = client.send(&call, &AddressRule::default()).await.unwrap_err();
    assert_eq!(failure.class, FailureClass::AddressNotAllowed, "{failure}");
    assert_eq!((receiver.connections(), client.idle_connections()), (1, 0));
}

#[tokio::test]
async fn where_one_address_is_dead_the_next_one_is_tried() {
    let receiver = receiver_on("127.0.0.1", 0, OK).await;
    let client = client_with(Names::new(&[("two.example", &[&["127.0.0.9", "127.0.0.1"]])]));
    let call = call(&format!("http://two.example:{}/", receiver.address.port()));
    assert_eq!(client.send(&call, &loopback()).await.unwrap().status, 200);
}

#[tokio::test]
async fn a_name_that_has_no_address_or_far_too_many_is_a_failure_of_dns() {
    let crowd = vec![PUBLIC[0]; OUTBOUND_ADDRESSES_MAX + 1];
    let client = client_with(Names::new(&[("empty.example", &[&[]]), ("crowd.example", &[&crowd])]));
    for name in ["empty", "crowd", "unknown"] {
        let failure = client.send(&call(&format!("https://{name}.example/")), &loopback()).await.unwrap_err();
        assert_eq!(failure.class, FailureClass::Dns, "{failure}");
    }
}

struct Silent;

impl Resolve for Silent {
    fn lookup<'a>(&'a self, _: &'a Party, _: &'a str) -> Lookup<'a> {
        Box::pin(pending())
    }
}

#[tokio::test(start_paused = true)]
async fn a_name_server_that_never_answers_costs_the_time_for_connecting() {
    let client = Client::new(Roots::built_in(), Arc::new(Silent)).unwrap();
    let failure = client.send(&call("https://silent.example/"), &loopback()).await.unwrap_err();
    assert_eq!((failure.class, failure.duration_ms), (FailureClass::Timeout, OUTBOUND_CONNECT_MS), "{failure}");
}

#[tokio::test]
async fn name_is_looked_up_for_the_party_of_its_call() {
    let names = Names::new(&[]);
    let client = client_with(Arc::clone(&names));
    for party in [Party::Host, Party::of("acme")] {
        let call = Call { party: party.clone(), ..call("https://unknown.example/") };
        client.send(&call, &loopback()).await.unwrap_err();
        assert_eq!(names.lookups.lock().pop(), Some(party));
    }
}

#[tokio::test]
async fn the_system_finds_localhost() {
    let found = SystemResolver::new().lookup(&Party::Host, "localhost").await.unwrap();
    assert!(!found.is_empty() && found.iter().all(IpAddr::is_loopback), "{found:?}");
}

#[tokio::test]
async fn own_listener_is_not_called_by_any_of_its_addresses_or_names() {
    let own = receiver_on("127.0.0.1", 0, OK).await;
    let port = own.address.port();
    let client = client_with(Names::new(&[("own.example", &[&["127.0.0.1"]]), ("other.example", &[&["127.0.0.2"]])]));
    client.refuse_listeners(vec![own.address]);
    let rule = AddressRule::everywhere();
    for host in ["127.0.0.1", "0.0.0.0", "[::ffff:127.0.0.1]", "own.example"] {
        let failure = client.send(&call(&format!("http://{host}:{port}/")), &rule).await.unwrap_err();
        let refused = (FailureClass::AddressNotAllowed, Some(Reason::OwnListener));
        assert_eq!((failure.class, failure.reason), refused, "{host}: {failure}");
        assert!(!failure.begun);
    }
    assert_eq!(own.connections(), 0);
    let other = receiver_on("127.0.0.2", port, OK).await;
    client.send(&call(&format!("http://other.example:{port}/")), &rule).await.unwrap();
    assert_eq!(other.connections(), 1);
}
