//! Connections that close because too many of their streams were refused.

use super::*;
use crate::limits::REFUSED_STREAMS_WAITING_MAX;

/// Returns paces in which that of `address` is used up.
fn paces_without(address: IpAddr) -> Paces {
    let paces = Paces::of_machine();
    while paces.responses.wait(&network(address), 1_000_000).now_or_never().is_some() {}
    paces
}

fn close_reason(activity: &Activity) -> Option<CloseReason> {
    let limits = ProgressLimits { stall_timeout: Duration::from_secs(30), bytes_per_second: 1 };
    let closed = activity.wait_for_close_reason(Instant::now() + Duration::from_secs(30), limits);
    // Unconstrained, because the streams of a test use up the budget of a task.
    tokio::task::unconstrained(closed).now_or_never()
}

#[tokio::test(start_paused = true)]
async fn connection_of_address_with_too_many_refused_streams_closes() {
    let address: IpAddr = "10.0.0.1".parse().unwrap();
    let (paces, activity) = (paces_without(address), Activity::new());
    let active = activity.begin(true);
    let refuse = || Box::pin(pace_refusal(&paces, &active, refuse_stream(address), Some(address)));
    let mut waiting: Vec<_> = (0..REFUSED_STREAMS_WAITING_MAX).map(|_| refuse()).collect();
    assert!(waiting.iter_mut().all(|stream| stream.now_or_never().is_none()));
    assert_eq!(close_reason(&activity), None);
    assert!(refuse().now_or_never().is_some(), "it does not wait");
    assert_eq!(close_reason(&activity), Some(CloseReason::RefusedRequests));
}

#[tokio::test(start_paused = true)]
async fn refused_streams_do_not_close_connection_of_trusted_proxy() {
    let proxy: IpAddr = "2001:db8::9".parse().unwrap();
    let settings = HttpConfig { trusted_proxies: vec![proxy], ..HttpConfig::for_tests() };
    let slots = Slots::new(&settings, Arc::default());
    // The address of the proxy itself, of a client in its network, and of another client.
    for client in ["2001:db8::9", "2001:db8::1", "10.0.0.1"] {
        let client: IpAddr = client.parse().unwrap();
        let (paces, activity) = (paces_without(client), Activity::new());
        let active = activity.begin(true);
        let refuse = || Box::pin(pace_refusal(&paces, &active, refuse_stream(client), slots.peer(proxy)));
        let mut streams: Vec<_> = (0..=REFUSED_STREAMS_WAITING_MAX).map(|_| refuse()).collect();
        let refused = streams.iter_mut().filter_map(|stream| stream.now_or_never()).count();
        assert_eq!(refused, 1, "the others wait");
        assert_eq!(close_reason(&activity), None, "{client}");
    }
}
