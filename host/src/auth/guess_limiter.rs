//! Limits the rate of wrong credentials from one address.
//!
//! Counts failures by address: allows a burst at once, then a fixed rate per second. An IPv6 /64 network counts as one
//! address. The counts are in memory of this process only. Credentials are not passed to this module.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr},
    time::Duration,
};

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::limits::{GUESSES_REPORTED_MS, GUESSING_ADDRESSES_MAX};

/// Number of failures that one address may have.
#[derive(Clone, Copy, Debug)]
pub struct Allowance {
    pub at_once: u32,
    pub per_second: u32,
}

/// Rejection of an address that has used up its allowance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocked {
    /// Whole seconds, at least one.
    pub retry_after_seconds: u64,
    /// True if a log line is due: an address causes at most one in `GUESSES_REPORTED_MS`.
    pub is_report_due: bool,
}

pub struct GuessLimiter {
    /// Interval between two failures that is always allowed.
    period: Duration,
    /// Accumulated time of failures at which the address is blocked.
    capacity: Duration,
    slots: Mutex<HashMap<IpAddr, Slot>>,
}

struct Slot {
    /// Time from which the failures so far no longer count.
    clear_at: Instant,
    reported_at: Option<Instant>,
}

impl GuessLimiter {
    pub fn new(allowance: Allowance) -> GuessLimiter {
        let period = Duration::from_secs(1) / allowance.per_second.max(1);
        GuessLimiter { period, capacity: period * allowance.at_once.max(1), slots: Mutex::default() }
    }

    /// Counts a failure and returns `None`, or returns how long the address has to wait.
    pub fn record_failure(&self, address: IpAddr, now: Instant) -> Option<Blocked> {
        let mut slots = self.slots.lock();
        if slots.len() >= GUESSING_ADDRESSES_MAX {
            slots.retain(|_, slot| slot.clear_at > now);
        }
        if slots.len() >= GUESSING_ADDRESSES_MAX {
            // Memory must stay bounded: all counts are reset.
            slots.clear();
        }
        let slot = slots.entry(network(address)).or_insert(Slot { clear_at: now, reported_at: None });
        match self.excess(slot.clear_at, now) {
            None => {
                slot.clear_at = slot.clear_at.max(now) + self.period;
                None
            }
            Some(wait) => {
                let quiet = Duration::from_millis(GUESSES_REPORTED_MS);
                let is_report_due = slot.reported_at.is_none_or(|at| now.saturating_duration_since(at) >= quiet);
                if is_report_due {
                    slot.reported_at = Some(now);
                }
                Some(Blocked::new(wait, is_report_due))
            }
        }
    }

    /// Returns the time until another failure is allowed, or `None` if it is allowed now.
    fn excess(&self, clear_at: Instant, now: Instant) -> Option<Duration> {
        let used = clear_at.saturating_duration_since(now) + self.period;
        used.checked_sub(self.capacity).filter(|wait| !wait.is_zero())
    }
}

impl Blocked {
    fn new(wait: Duration, is_report_due: bool) -> Blocked {
        let retry_after_seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
        Blocked { retry_after_seconds, is_report_due }
    }
}

/// Returns the address that failures count for: an IPv6 address is replaced by its /64, because one peer may own all of
/// its addresses.
pub fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn failures_beyond_the_allowance_wait_and_are_reported_once() {
        let (limiter, now) = (GuessLimiter::new(Allowance { at_once: 3, per_second: 1 }), Instant::now());
        let (one, other) = (address("10.0.0.1"), address("10.0.0.2"));
        for _ in 0..3 {
            assert_eq!(limiter.record_failure(one, now), None);
        }
        assert_eq!(limiter.record_failure(one, now), Some(Blocked { retry_after_seconds: 1, is_report_due: true }));
        assert_eq!(limiter.record_failure(one, now), Some(Blocked { retry_after_seconds: 1, is_report_due: false }));
        assert_eq!(limiter.record_failure(other, now), None);
        let later = now + Duration::from_secs(1);
        assert_eq!(limiter.record_failure(one, later), None);
        assert!(limiter.record_failure(one, later).is_some(), "one per second from then on");
        assert_eq!(limiter.record_failure(one, later + Duration::from_secs(3)), None);
    }

    #[test]
    fn ipv6_network_counts_as_one_address_and_mapped_ipv4_as_its_ipv4_address() {
        let (limiter, now) = (GuessLimiter::new(Allowance { at_once: 1, per_second: 1 }), Instant::now());
        limiter.record_failure(address("2001:db8:1:2::1"), now);
        limiter.record_failure(address("10.0.0.1"), now);
        assert!(limiter.record_failure(address("2001:db8:1:2:ffff::9"), now).is_some());
        assert!(limiter.record_failure(address("::ffff:10.0.0.1"), now).is_some());
        assert_eq!(limiter.record_failure(address("2001:db8:1:3::1"), now), None);
    }

    #[test]
    fn number_of_addresses_in_memory_is_bounded() {
        let (limiter, now) = (GuessLimiter::new(Allowance { at_once: 1, per_second: 1 }), Instant::now());
        for number in 0..u32::try_from(GUESSING_ADDRESSES_MAX).unwrap() + 10 {
            limiter.record_failure(IpAddr::V4(number.into()), now);
        }
        assert!(limiter.slots.lock().len() <= GUESSING_ADDRESSES_MAX);
    }
}
