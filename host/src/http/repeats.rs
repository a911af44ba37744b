//! Limits log lines about repeated connection events.
//!
//! An occurrence within `limits::REPEATS_LOGGED_MS` after a line gets no line of its own. The next line counts it.

use std::{collections::HashMap, net::IpAddr, time::Duration};

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::{
    auth::guess_limiter::network,
    limits::{REPEATING_PEERS_MAX, REPEATS_LOGGED_MS},
};

/// Occurrences of one kind that are not logged yet.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    logged_at: Option<Instant>,
    unlogged: u64,
}

impl Repeats {
    /// Counts an occurrence. Returns the number of occurrences since the last line if another line is due.
    pub(super) fn count(&mut self, now: Instant) -> Option<u64> {
        self.count_all(1, now)
    }

    /// Counts several occurrences. Zero only checks whether a line is due.
    fn count_all(&mut self, occurrences: u64, now: Instant) -> Option<u64> {
        self.unlogged = self.unlogged.saturating_add(occurrences);
        if self.unlogged == 0 || !self.is_due(now) {
            return None;
        }
        self.logged_at = Some(now);
        Some(std::mem::take(&mut self.unlogged))
    }

    fn is_due(&self, now: Instant) -> bool {
        let interval = Duration::from_millis(REPEATS_LOGGED_MS);
        self.logged_at.is_none_or(|logged_at| now.duration_since(logged_at) >= interval)
    }
}

/// Occurrences by peer and kind. An IPv6 /64 network is one peer.
#[derive(Debug, Default)]
pub(super) struct PeerRepeats(Mutex<Counted>);

#[derive(Debug, Default)]
struct Counted {
    peers: HashMap<(IpAddr, &'static str), Repeats>,
    /// Occurrences of peers that did not fit into the map, or that left it before their next line.
    others: Repeats,
}

/// Occurrences to report in the lines that are due.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct DueLines {
    /// Occurrences of the peer since its last line.
    pub peer: Option<u64>,
    /// Occurrences, of any kind, of peers that have no line of their own.
    pub others: Option<u64>,
}

impl PeerRepeats {
    pub(super) fn count(&self, peer: IpAddr, kind: &'static str, now: Instant) -> DueLines {
        let (key, mut counted) = ((network(peer), kind), self.0.lock());
        let Counted { peers, others } = &mut *counted;
        let mut unnamed: u64 = 0;
        if peers.len() >= REPEATING_PEERS_MAX && !peers.contains_key(&key) {
            for (_, left) in peers.extract_if(|_, repeats| repeats.is_due(now)) {
                unnamed = unnamed.saturating_add(left.unlogged);
            }
        }
        let peer = if peers.len() < REPEATING_PEERS_MAX || peers.contains_key(&key) {
            peers.entry(key).or_default().count(now)
        } else {
            unnamed = unnamed.saturating_add(1);
            None
        };
        DueLines { peer, others: others.count_all(unnamed, now) }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn repeats_are_logged_once_per_interval_with_their_count() {
        let (mut repeats, start) = (Repeats::default(), Instant::now());
        let mut count = |after_ms| repeats.count(start + Duration::from_millis(after_ms));
        assert_eq!(count(0), Some(1));
        assert_eq!(count(50), None);
        assert_eq!(count(REPEATS_LOGGED_MS - 1), None);
        assert_eq!(count(REPEATS_LOGGED_MS), Some(3));
        assert_eq!(count(REPEATS_LOGGED_MS + 50), None);
    }

    #[test]
    fn peers_and_kinds_are_logged_separately() {
        let (peers, start) = (PeerRepeats::default(), Instant::now());
        let count = |peer: &str, kind| peers.count(peer.parse().unwrap(), kind, start).peer;
        assert_eq!(count("10.0.0.1", "flood"), Some(1));
        assert_eq!(count("10.0.0.1", "flood"), None);
        assert_eq!(count("10.0.0.1", "slow"), Some(1));
        assert_eq!(count("10.0.0.2", "flood"), Some(1));
        assert_eq!(count("2001:db8::1", "flood"), Some(1));
        assert_eq!(count("2001:db8::2", "flood"), None);
        let later = start + Duration::from_millis(REPEATS_LOGGED_MS);
        let due = peers.count("10.0.0.1".parse().unwrap(), "flood", later);
        assert_eq!(due, DueLines { peer: Some(2), others: None });
    }

    fn peer(number: usize) -> IpAddr {
        Ipv4Addr::from(u32::try_from(number).unwrap()).into()
    }

    /// Fills the map with peers that each have one line and `unlogged` occurrences without one.
    fn full(start: Instant, unlogged: u64) -> PeerRepeats {
        let peers = PeerRepeats::default();
        for number in 0..REPEATING_PEERS_MAX {
            let peer = peer(number);
            assert_eq!(peers.count(peer, "flood", start), DueLines { peer: Some(1), others: None });
            for _ in 0..unlogged {
                assert_eq!(peers.count(peer, "flood", start), DueLines { peer: None, others: None });
            }
        }
        peers
    }

    #[test]
    fn peers_are_bounded_and_evicted_after_their_interval() {
        let start = Instant::now();
        let (peers, additional) = (full(start, 0), peer(REPEATING_PEERS_MAX));
        assert_eq!(peers.count(additional, "flood", start), DueLines { peer: None, others: Some(1) });
        let later = start + Duration::from_millis(REPEATS_LOGGED_MS);
        assert_eq!(peers.count(additional, "flood", later), DueLines { peer: Some(1), others: None });
        assert_eq!(peers.0.lock().peers.len(), 1);
    }

    #[test]
    fn occurrences_of_untracked_peers_are_counted_together() {
        let start = Instant::now();
        let (peers, additional) = (full(start, 2), peer(REPEATING_PEERS_MAX));
        let later = start + Duration::from_millis(REPEATS_LOGGED_MS);
        let all = 2 * REPEATING_PEERS_MAX as u64;
        assert_eq!(peers.count(additional, "flood", later), DueLines { peer: Some(1), others: Some(all) });
    }

    #[test]
    fn line_for_untracked_peers_is_logged_once_per_interval() {
        let start = Instant::now();
        let peers = full(start, 0);
        let without = |number: usize| peers.count(peer(REPEATING_PEERS_MAX + number), "flood", start);
        assert_eq!(without(0), DueLines { peer: None, others: Some(1) });
        assert_eq!(without(1), DueLines { peer: None, others: None });
        assert_eq!(without(2), DueLines { peer: None, others: None });
        let later = start + Duration::from_millis(REPEATS_LOGGED_MS);
        assert_eq!(peers.count(peer(0), "flood", later), DueLines { peer: Some(1), others: Some(2) });
    }
}
