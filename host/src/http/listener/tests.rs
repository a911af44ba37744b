//! Connections that end for what was refused to them.

use super::*;
use crate::limits::REFUSED_STREAMS_WAITING_MAX;

fn peer(address: &str) -> Peer {
    Peer { address: address.parse().unwrap(), wire: Wire::Plain }
}

/// Paces of addresses, of which that of the peer is used up.
fn paces_without(peer: Peer) -> Paces {
    let paces = Paces::of_machine();
    while paces.answers.wait(&network(peer.address), 1_000_000).now_or_never().is_some() {}
    paces
}

fn reason_to_end(activity: &Activity) -> Option<Reason> {
    let patience = Patience { stall: Duration::from_secs(30), bytes_per_second: 1 };
    let ends = activity.wait_for_end(Instant::now() + Duration::from_secs(30), patience);
    // The streams of a test use up what a task may do at once.
    tokio::task::unconstrained(ends).now_or_never()
}

#[tokio::test(start_paused = true)]
async fn connection_whose_address_has_too_many_refused_streams_ends() {
    let peer = peer("10.0.0.1");
    let (paces, activity) = (paces_without(peer), Activity::new());
    let running = activity.begin(true);
    let refuse = || Box::pin(pace_refused(&paces, &running, refuse_stream(peer.address), peer));
    let mut waiting: Vec<_> = (0..REFUSED_STREAMS_WAITING_MAX).map(|_| refuse()).collect();
    assert!(waiting.iter_mut().all(|stream| stream.now_or_never().is_none()));
    assert_eq!(reason_to_end(&activity), None);
    assert!(refuse().now_or_never().is_some(), "it does not wait");
    assert_eq!(reason_to_end(&activity), Some(Reason::Refused));
}

#[tokio::test(start_paused = true)]
async fn refused_streams_of_one_client_do_not_end_the_connection_of_its_proxy() {
    let (client, proxy) = (peer("10.0.0.1"), peer("10.0.0.9"));
    let (paces, activity) = (paces_without(client), Activity::new());
    let running = activity.begin(true);
    let refuse = || Box::pin(pace_refused(&paces, &running, refuse_stream(client.address), proxy));
    let mut streams: Vec<_> = (0..=REFUSED_STREAMS_WAITING_MAX).map(|_| refuse()).collect();
    let refused = streams.iter_mut().filter_map(|stream| stream.now_or_never()).count();
    assert_eq!(refused, 1, "the others wait");
    assert_eq!(reason_to_end(&activity), None);
}
