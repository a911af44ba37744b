//! Open connections: limits on their number in total and per peer, and the eviction of idle connections.
//!
//! Invariants: never more than `connections_max` are open, and never more than `connections_per_peer_max` of one peer
//! that is not a trusted proxy. If all slots are taken, `Slots` evicts an idle connection: first those that never sent
//! a request, then those that have been idle longest.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use tokio::{sync::Notify, time::timeout};

use super::activity::{Activity, CloseReason};
use crate::{
    config::HttpConfig,
    limits::{EVICTION_IDLE_MS_MIN, EVICTION_POLL_MS},
    metrics::ConnectionReading,
};

/// Connection counters for metrics.
#[derive(Debug, Default)]
pub struct ConnectionCounts {
    open: AtomicU64,
    refused: AtomicU64,
    cut: AtomicU64,
    flooded: AtomicU64,
}

impl ConnectionCounts {
    pub fn reading(&self) -> ConnectionReading {
        ConnectionReading {
            open: self.open.load(Ordering::Relaxed),
            refused: self.refused.load(Ordering::Relaxed),
            cut: self.cut.load(Ordering::Relaxed),
            flooded: self.flooded.load(Ordering::Relaxed),
        }
    }

    pub(super) fn count_close(&self, reason: Option<CloseReason>) {
        match reason {
            Some(CloseReason::SlowReader) => self.cut.fetch_add(1, Ordering::Relaxed),
            Some(CloseReason::ControlFlood | CloseReason::RefusedRequests) => {
                self.flooded.fetch_add(1, Ordering::Relaxed)
            }
            Some(CloseReason::Idle) | None => 0,
        };
    }
}

pub(super) struct Slots {
    connections_max: usize,
    per_peer_max: usize,
    trusted_proxies: Vec<IpAddr>,
    open: Mutex<Open>,
    freed: Notify,
    pub(super) counts: Arc<ConnectionCounts>,
    /// If true, responses over HTTP/1.1 close their connections.
    pub(super) is_shutting_down: AtomicBool,
}

#[derive(Default)]
struct Open {
    numbers: u64,
    connections: HashMap<u64, Arc<Activity>>,
    peers: HashMap<IpAddr, usize>,
}

/// The slot of one connection, released on drop.
pub(super) struct Slot {
    slots: Arc<Slots>,
    number: u64,
    peer: Option<IpAddr>,
    pub(super) activity: Arc<Activity>,
}

/// The peer has reached its limit of open connections.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooManyOfPeer;

impl Slots {
    pub(super) fn new(settings: &HttpConfig, counts: Arc<ConnectionCounts>) -> Arc<Slots> {
        Arc::new(Slots {
            connections_max: settings.connections_max,
            per_peer_max: settings.connections_per_peer_max,
            trusted_proxies: settings.trusted_proxies.clone(),
            open: Mutex::default(),
            freed: Notify::new(),
            counts,
            is_shutting_down: AtomicBool::new(false),
        })
    }

    /// Returns a slot for an accepted connection. Waits while all slots are taken by busy connections.
    pub(super) async fn take(self: &Arc<Self>, address: IpAddr) -> Result<Slot, TooManyOfPeer> {
        let peer = self.peer(address);
        loop {
            let freed = self.freed.notified();
            if let Some(taken) = self.try_take(peer) {
                return taken;
            }
            self.evict_one();
            // A connection may become idle without closing, so the wait has a timeout.
            let _ = timeout(Duration::from_millis(EVICTION_POLL_MS), freed).await;
        }
    }

    /// Returns a slot without waiting. `None` if all slots are taken.
    fn try_take(self: &Arc<Self>, peer: Option<IpAddr>) -> Option<Result<Slot, TooManyOfPeer>> {
        let mut open = self.open.lock();
        if let Some(peer) = peer
            && open.peers.get(&peer).is_some_and(|count| *count >= self.per_peer_max)
        {
            self.counts.refused.fetch_add(1, Ordering::Relaxed);
            return Some(Err(TooManyOfPeer));
        }
        if open.connections.len() >= self.connections_max {
            return None;
        }
        if let Some(peer) = peer {
            *open.peers.entry(peer).or_default() += 1;
        }
        open.numbers += 1;
        let (number, activity) = (open.numbers, Activity::new());
        open.connections.insert(number, activity.clone());
        self.counts.open.fetch_add(1, Ordering::Relaxed);
        Some(Ok(Slot { slots: Arc::clone(self), number, peer, activity }))
    }

    fn evict_one(&self) {
        let open = self.open.lock();
        let idle_min = Duration::from_millis(EVICTION_IDLE_MS_MIN);
        // A connection is evicted only once, so one that does not close cannot prevent the eviction of others.
        let candidates = open.connections.values().filter(|activity| !activity.is_evicted());
        let idle = candidates.filter_map(|activity| {
            let idle_for = activity.idle_for().filter(|idle_for| *idle_for >= idle_min)?;
            Some((!activity.has_served(), idle_for, activity))
        });
        if let Some((_, _, activity)) = idle.max_by_key(|(is_unused, idle_for, _)| (*is_unused, *idle_for)) {
            activity.evict();
        }
    }

    /// Returns the address that a connection counts for. `None` for a trusted proxy, which carries requests of many
    /// addresses. An IPv6 /64 network counts as one peer.
    pub(super) fn peer(&self, address: IpAddr) -> Option<IpAddr> {
        let address = address.to_canonical();
        if self.trusted_proxies.contains(&address) {
            return None;
        }
        Some(match address {
            IpAddr::V4(_) => address,
            IpAddr::V6(address) => (address.to_bits() & (u128::MAX << 64)).to_be_bytes().into(),
        })
    }
}

impl Slot {
    pub(super) fn slots(&self) -> Arc<Slots> {
        self.slots.clone()
    }

    /// Returns the address that the connection counts for. `None` for a trusted proxy.
    pub(super) fn peer(&self) -> Option<IpAddr> {
        self.peer
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut open = self.slots.open.lock();
        open.connections.remove(&self.number);
        self.slots.counts.open.fetch_sub(1, Ordering::Relaxed);
        if let Some(peer) = self.peer
            && let Some(count) = open.peers.get_mut(&peer)
        {
            *count -= 1;
            if *count == 0 {
                open.peers.remove(&peer);
            }
        }
        drop(open);
        self.slots.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slots(connections_max: usize, connections_per_peer_max: usize) -> Arc<Slots> {
        let settings = HttpConfig {
            connections_max,
            connections_per_peer_max,
            trusted_proxies: vec!["10.0.0.9".parse().unwrap()],
            ..HttpConfig::for_tests()
        };
        Slots::new(&settings, Arc::default())
    }

    async fn take(slots: &Arc<Slots>, address: &str) -> Result<Slot, TooManyOfPeer> {
        slots.take(address.parse().unwrap()).await
    }

    #[tokio::test]
    async fn peer_cannot_exceed_its_connection_limit() {
        let slots = slots(10, 2);
        let held = [take(&slots, "10.0.0.1").await, take(&slots, "::ffff:10.0.0.1").await];
        assert!(held.iter().all(Result::is_ok));
        assert!(take(&slots, "10.0.0.1").await.is_err());
        assert!(take(&slots, "10.0.0.2").await.is_ok());
        drop(held);
        assert!(take(&slots, "10.0.0.1").await.is_ok());
        assert!(slots.open.lock().peers.is_empty());
    }

    #[tokio::test]
    async fn ipv6_network_is_one_peer_and_trusted_proxy_is_unlimited() {
        let slots = slots(10, 1);
        let _one = take(&slots, "2001:db8:1:2::1").await.ok().unwrap();
        assert!(take(&slots, "2001:db8:1:2:ffff::9").await.is_err());
        assert!(take(&slots, "2001:db8:1:3::1").await.is_ok());
        let _proxied = [take(&slots, "10.0.0.9").await, take(&slots, "10.0.0.9").await];
        assert!(_proxied.iter().all(Result::is_ok));
    }

    #[tokio::test(start_paused = true)]
    async fn unresponsive_connection_does_not_block_eviction_of_others() {
        let slots = slots(2, 10);
        let stuck = take(&slots, "10.0.0.1").await.ok().unwrap();
        let idle = take(&slots, "10.0.0.2").await.ok().unwrap();
        drop(idle.activity.begin(false));
        let close_when_evicted = async {
            idle.activity.evicted().await;
            drop(idle);
        };
        let began = tokio::time::Instant::now();
        let (third, ()) = tokio::join!(take(&slots, "10.0.0.3"), close_when_evicted);
        assert!(third.is_ok() && stuck.activity.is_evicted());
        assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn longest_unused_connection_is_evicted_and_busy_one_stays() {
        let slots = slots(2, 10);
        let busy = take(&slots, "10.0.0.1").await.ok().unwrap();
        let _running = busy.activity.begin(false);
        let unused = take(&slots, "10.0.0.2").await.ok().unwrap();
        let close_when_evicted = async {
            unused.activity.evicted().await;
            drop(unused);
        };
        let (third, ()) = tokio::join!(take(&slots, "10.0.0.3"), close_when_evicted);
        assert!(third.is_ok());
        assert_eq!(slots.open.lock().connections.len(), 2);
    }
}
