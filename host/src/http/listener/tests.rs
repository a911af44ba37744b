//! Connections that end for what was refused to them.

use super::*;
use crate::limits::REFUSED_STREAMS_WAITING_MAX;

/// Paces of addresses, of which that of `address` is used up.
fn paces_without(address: IpAddr) -> Paces {
    let paces = Paces::of_machine();
    while paces.answers.wait(&network(address), 1_000_000).now_or_never().is_some() {}
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
    let address: IpAddr = "10.0.0.1".parse().unwrap();
    let (paces, activity) = (paces_without(address), Activity::new());
    let running = activity.begin(true);
    let refuse = || Box::pin(pace_refused(&paces, &running, refuse_stream(address), Some(address)));
    let mut waiting: Vec<_> = (0..REFUSED_STREAMS_WAITING_MAX).map(|_| refuse()).collect();
    assert!(waiting.iter_mut().all(|stream| stream.now_or_never().is_none()));
    assert_eq!(reason_to_end(&activity), None);
    assert!(refuse().now_or_never().is_some(), "it does not wait");
    assert_eq!(reason_to_end(&activity), Some(Reason::Refused));
}

#[tokio::test(start_paused = true)]
async fn refused_streams_do_not_end_the_connection_of_a_trusted_proxy() {
    let proxy: IpAddr = "2001:db8::9".parse().unwrap();
    let settings = HttpConfig { trusted_proxies: vec![proxy], ..HttpConfig::for_tests() };
    let slots = Slots::new(&settings, Arc::default());
    // The proxy itself, where it does not name its client; a client of its network; another one.
    for client in ["2001:db8::9", "2001:db8::1", "10.0.0.1"] {
        let client: IpAddr = client.parse().unwrap();
        let (paces, activity) = (paces_without(client), Activity::new());
        let running = activity.begin(true);
        let refuse = || Box::pin(pace_refused(&paces, &running, refuse_stream(client), slots.peer(proxy)));
        let mut streams: Vec<_> = (0..=REFUSED_STREAMS_WAITING_MAX).map(|_| refuse()).collect();
        let refused = streams.iter_mut().filter_map(|stream| stream.now_or_never()).count();
        assert_eq!(refused, 1, "the others wait");
        assert_eq!(reason_to_end(&activity), None, "{client}");
    }
}
