//! Limits lines of the log about what happens to connections again and again.
//!
//! An occurrence that follows a line within `limits::REPEATS_LOGGED_MS` gets no line of its own: the next line counts it.

use std::{collections::HashMap, net::IpAddr, time::Duration};

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::{
    auth::guesses::network,
    limits::{REPEATING_PEERS_MAX, REPEATS_LOGGED_MS},
};

/// Occurrences of one kind that the log does not have yet.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    logged_at: Option<Instant>,
    unlogged: u64,
}

impl Repeats {
    /// Counts an occurrence. Returns the number of occurrences since the last line if another line is due.
    pub(super) fn count(&mut self, now: Instant) -> Option<u64> {
        self.unlogged = self.unlogged.saturating_add(1);
        if !self.is_due(now) {
            return None;
        }
        self.logged_at = Some(now);
        Some(std::mem::take(&mut self.unlogged))
    }

    fn is_due(&self, now: Instant) -> bool {
        let pause = Duration::from_millis(REPEATS_LOGGED_MS);
        self.logged_at.is_none_or(|logged_at| now.duration_since(logged_at) >= pause)
    }
}

/// The same for each peer (of IPv6: each /64) and kind. Of too many peers at once, the latest get no line.
#[derive(Debug, Default)]
pub(super) struct PeerRepeats(Mutex<HashMap<(IpAddr, &'static str), Repeats>>);

impl PeerRepeats {
    pub(super) fn count(&self, peer: IpAddr, kind: &'static str, now: Instant) -> Option<u64> {
        let (key, mut peers) = ((network(peer), kind), self.0.lock());
        if peers.len() >= REPEATING_PEERS_MAX && !peers.contains_key(&key) {
            peers.retain(|_, repeats| !repeats.is_due(now));
            if peers.len() >= REPEATING_PEERS_MAX {
                return None;
            }
        }
        peers.entry(key).or_default().count(now)
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn repeats_are_logged_once_in_a_while_with_their_number() {
        let (mut repeats, start) = (Repeats::default(), Instant::now());
        let mut count = |after_ms| repeats.count(start + Duration::from_millis(after_ms));
        assert_eq!(count(0), Some(1));
        assert_eq!(count(50), None);
        assert_eq!(count(REPEATS_LOGGED_MS - 1), None);
        assert_eq!(count(REPEATS_LOGGED_MS), Some(3));
        assert_eq!(count(REPEATS_LOGGED_MS + 50), None);
    }

    #[test]
    fn each_peer_and_kind_has_lines_of_its_own() {
        let (peers, start) = (PeerRepeats::default(), Instant::now());
        let count = |peer: &str, kind| peers.count(peer.parse().unwrap(), kind, start);
        assert_eq!(count("10.0.0.1", "flood"), Some(1));
        assert_eq!(count("10.0.0.1", "flood"), None);
        assert_eq!(count("10.0.0.1", "slow"), Some(1));
        assert_eq!(count("10.0.0.2", "flood"), Some(1));
        assert_eq!(count("2001:db8::1", "flood"), Some(1));
        assert_eq!(count("2001:db8::2", "flood"), None);
        let later = start + Duration::from_millis(REPEATS_LOGGED_MS);
        assert_eq!(peers.count("10.0.0.1".parse().unwrap(), "flood", later), Some(2));
    }

    #[test]
    fn peers_are_bounded_and_forgotten_when_their_pause_is_over() {
        let (peers, start) = (PeerRepeats::default(), Instant::now());
        let peer = |number: usize| IpAddr::from(Ipv4Addr::from(u32::try_from(number).unwrap()));
        for number in 0..REPEATING_PEERS_MAX {
            assert_eq!(peers.count(peer(number), "flood", start), Some(1));
        }
        let one_more = peer(REPEATING_PEERS_MAX);
        assert_eq!(peers.count(one_more, "flood", start), None);
        let later = start + Duration::from_millis(REPEATS_LOGGED_MS);
        assert_eq!(peers.count(one_more, "flood", later), Some(1));
        assert_eq!(peers.0.lock().len(), 1);
    }
}
