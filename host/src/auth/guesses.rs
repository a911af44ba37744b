//! Limits the rate of wrong credentials from one address.
//!
//! Owns a count for each address: so many failures at once, so many a second from then on. A network of IPv6 (/64) counts
//! as one address. In memory of this process only. Never sees a credential: callers report that one was wrong.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr},
    time::Duration,
};

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::limits::{GUESSES_REPORTED_MS, GUESSING_ADDRESSES_MAX};

/// Failures that one address may have.
#[derive(Clone, Copy, Debug)]
pub struct Allowance {
    pub at_once: u32,
    pub per_second: u32,
}

/// An address that has used up its allowance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocked {
    /// Whole seconds, at least one.
    pub retry_after_seconds: u64,
    /// True if a log line is due: each address has one in `GUESSES_REPORTED_MS`.
    pub is_report_due: bool,
}

pub struct Guesses {
    /// Between two failures that are allowed for ever.
    period: Duration,
    /// Time that failures at once add up to before the address is blocked.
    capacity: Duration,
    slots: Mutex<HashMap<IpAddr, Slot>>,
}

struct Slot {
    /// Time at which all failures so far no longer count.
    clear_at: Instant,
    reported_at: Option<Instant>,
}

impl Guesses {
    pub fn new(allowance: Allowance) -> Guesses {
        let period = Duration::from_secs(1) / allowance.per_second.max(1);
        Guesses { period, capacity: period * allowance.at_once.max(1), slots: Mutex::default() }
    }

    /// Counts a failure, unless the address has to wait anyway.
    pub fn note_failure(&self, address: IpAddr, now: Instant) -> Option<Blocked> {
        let mut slots = self.slots.lock();
        if slots.len() >= GUESSING_ADDRESSES_MAX {
            slots.retain(|_, slot| slot.clear_at > now);
        }
        if slots.len() >= GUESSING_ADDRESSES_MAX {
            // Memory comes first: everybody begins again.
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

    /// Returns the time until another failure is allowed.
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

/// Returns the address that failures count for. IPv6 counts by network, which holds more addresses than can be counted.
/// Returns the address that stands for all addresses of one peer: of IPv6 its /64.
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
    fn failures_beyond_the_allowance_have_to_wait_and_are_reported_once() {
        let (guesses, now) = (Guesses::new(Allowance { at_once: 3, per_second: 1 }), Instant::now());
        let (one, other) = (address("10.0.0.1"), address("10.0.0.2"));
        for _ in 0..3 {
            assert_eq!(guesses.note_failure(one, now), None);
        }
        assert_eq!(guesses.note_failure(one, now), Some(Blocked { retry_after_seconds: 1, is_report_due: true }));
        assert_eq!(guesses.note_failure(one, now), Some(Blocked { retry_after_seconds: 1, is_report_due: false }));
        assert_eq!(guesses.note_failure(other, now), None);
        let later = now + Duration::from_secs(1);
        assert_eq!(guesses.note_failure(one, later), None);
        assert!(guesses.note_failure(one, later).is_some(), "one a second from then on");
        assert_eq!(guesses.note_failure(one, later + Duration::from_secs(3)), None);
    }

    #[test]
    fn network_of_ipv6_is_one_address_and_mapped_ipv4_another() {
        let (guesses, now) = (Guesses::new(Allowance { at_once: 1, per_second: 1 }), Instant::now());
        guesses.note_failure(address("2001:db8:1:2::1"), now);
        guesses.note_failure(address("10.0.0.1"), now);
        assert!(guesses.note_failure(address("2001:db8:1:2:ffff::9"), now).is_some());
        assert!(guesses.note_failure(address("::ffff:10.0.0.1"), now).is_some());
        assert_eq!(guesses.note_failure(address("2001:db8:1:3::1"), now), None);
    }

    #[test]
    fn number_of_addresses_in_memory_is_bounded() {
        let (guesses, now) = (Guesses::new(Allowance { at_once: 1, per_second: 1 }), Instant::now());
        for number in 0..u32::try_from(GUESSING_ADDRESSES_MAX).unwrap() + 10 {
            guesses.note_failure(IpAddr::V4(number.into()), now);
        }
        assert!(guesses.slots.lock().len() <= GUESSING_ADDRESSES_MAX);
    }
}
