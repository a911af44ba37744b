//! Wrong passwords of one driver, counted by the address that they come from.
//!
//! An address may be wrong a few times, and then waits longer after each wrong password: from a minute up to an hour. Addresses
//! from which the right password has never come share a second, larger allowance, so that many addresses are no way around
//! the first. An address from which the right password came is not charged for the others: a stranger who guesses from
//! elsewhere does not lock the driver out.
//!
//! Invariants: a password that comes during a wait is not compared, right or not; what is kept is bounded.

use super::code::{LIFETIME_MS, WRONG_MAX};
use crate::rules::refusal::Refusal;

/// Wrong passwords of all unfamiliar addresses together, before they wait.
pub const STRANGERS_WRONG_MAX: u8 = 50;
/// Addresses that are kept for one driver.
pub const SOURCES_MAX: usize = 8;
/// The first wait; each wrong password doubles it.
const WAIT_MS: u64 = 60_000;

/// Wrong passwords, each less than an hour after the previous one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    pub wrong: u8,
    pub last_ms: u64,
}

impl Count {
    /// Milliseconds until a password is compared again.
    fn wait_ms(self, wrong_max: u8, now_ms: u64) -> u64 {
        let Some(more) = self.wrong.checked_sub(wrong_max) else { return 0 };
        let wait_ms = WAIT_MS.checked_shl(u32::from(more)).unwrap_or(LIFETIME_MS).min(LIFETIME_MS);
        self.last_ms.saturating_add(wait_ms).saturating_sub(now_ms)
    }

    /// The shift of [`Count::wait_ms`] stays small.
    fn add(self, now_ms: u64) -> Count {
        let wrong = if now_ms.saturating_sub(self.last_ms) < LIFETIME_MS { self.wrong } else { 0 };
        Count { wrong: wrong.saturating_add(1).min(STRANGERS_WRONG_MAX + 16), last_ms: now_ms }
    }
}

/// Guesses from one address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    pub address: String,
    pub count: Count,
    /// The right password has come from there.
    pub is_familiar: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Guesses {
    /// Ordered by their last change, newest last.
    pub sources: Vec<Source>,
    /// Guesses from all addresses that are not familiar.
    pub strangers: Count,
}

impl Guesses {
    /// Refuses a password from this address during a wait: it is not compared.
    pub fn check(&self, address: &str, now_ms: u64) -> Result<(), Refusal> {
        let source = self.sources.iter().find(|source| source.address == address);
        let own_ms = source.map_or(0, |source| source.count.wait_ms(WRONG_MAX, now_ms));
        let is_familiar = source.is_some_and(|source| source.is_familiar);
        let shared_ms = if is_familiar { 0 } else { self.strangers.wait_ms(STRANGERS_WRONG_MAX, now_ms) };
        match own_ms.max(shared_ms) {
            0 => Ok(()),
            wait_ms => Err(Refusal::TooManyPasswords { retry_after_s: wait_ms.div_ceil(1_000) }),
        }
    }

    /// Returns the state after a password from this address was compared.
    pub fn note(mut self, address: &str, is_right: bool, now_ms: u64) -> Guesses {
        let known = self.sources.iter().position(|source| source.address == address);
        let before = known.and_then(|at| self.sources.get(at)).cloned();
        let was_familiar = before.as_ref().is_some_and(|source| source.is_familiar);
        // Most logins: there is nothing to write.
        if is_right && was_familiar && before.as_ref().is_some_and(|source| source.count == Count::default()) {
            return self;
        }
        self.sources.retain(|source| source.address != address);
        let count = before.map(|source| source.count).unwrap_or_default();
        let count = if is_right { Count::default() } else { count.add(now_ms) };
        if !is_right && !was_familiar {
            self.strangers = self.strangers.add(now_ms);
        }
        self.keep(Source { address: address.to_owned(), count, is_familiar: was_familiar || is_right })
    }

    /// A familiar address makes room last.
    fn keep(mut self, source: Source) -> Guesses {
        if self.sources.len() >= SOURCES_MAX {
            let oldest = self.sources.iter().position(|source| !source.is_familiar).unwrap_or(0);
            self.sources.remove(oldest);
        }
        self.sources.push(source);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_000_000_000;
    const HOME: &str = "203.0.113.7";
    const STRANGER: &str = "198.51.100.1";

    fn guessed(known: Guesses, address: &str, times: u8) -> Guesses {
        (0..times).fold(known, |known, _| known.note(address, false, NOW))
    }

    fn wait_s(known: &Guesses, address: &str, now_ms: u64) -> u64 {
        match known.check(address, now_ms) {
            Ok(()) => 0,
            Err(Refusal::TooManyPasswords { retry_after_s }) => retry_after_s,
            Err(other) => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_address_waits_longer_after_each_wrong_password() {
        let mut known = guessed(Guesses::default(), STRANGER, WRONG_MAX - 1);
        assert_eq!(wait_s(&known, STRANGER, NOW), 0);
        for minutes in [1, 2, 4, 8, 16, 32, 60, 60] {
            known = known.note(STRANGER, false, NOW);
            assert_eq!(wait_s(&known, STRANGER, NOW), minutes * 60);
            assert_eq!(wait_s(&known, STRANGER, NOW + minutes * 60_000 - 1), 1);
            assert_eq!(wait_s(&known, STRANGER, NOW + minutes * 60_000), 0);
        }
        let later = known.note(STRANGER, false, NOW + LIFETIME_MS);
        assert_eq!(wait_s(&later, STRANGER, NOW + LIFETIME_MS), 0, "an hour later they are forgotten");
    }

    #[test]
    fn right_password_resets_the_count_of_its_address() {
        let known = guessed(Guesses::default(), HOME, WRONG_MAX - 1).note(HOME, true, NOW);
        assert_eq!(wait_s(&guessed(known, HOME, WRONG_MAX - 1), HOME, NOW), 0);
    }

    #[test]
    fn guesses_from_other_addresses_do_not_lock_out_a_familiar_one() {
        let known = Guesses::default().note(HOME, true, NOW);
        let known = guessed(known, STRANGER, 200);
        assert!(wait_s(&known, STRANGER, NOW) > 0);
        assert_eq!(wait_s(&known, HOME, NOW), 0);
        assert!(
            wait_s(&known, "192.0.2.1", NOW) > 0,
            "an unknown address shares the allowance of unfamiliar addresses"
        );
    }

    #[test]
    fn many_addresses_are_no_way_around_the_allowance() {
        let mut known = Guesses::default().note(HOME, true, NOW);
        let mut compared = 0;
        for nth in 0..2_000 {
            let address = format!("198.51.{}.{}", nth / 250, nth % 250);
            if known.check(&address, NOW).is_ok() {
                compared += 1;
                known = known.note(&address, false, NOW);
            }
            assert!(known.sources.len() <= SOURCES_MAX);
        }
        assert_eq!(compared, usize::from(STRANGERS_WRONG_MAX));
        assert_eq!(wait_s(&known, HOME, NOW), 0);
    }

    #[test]
    fn the_longest_series_still_ends_within_an_hour() {
        let known = guessed(Guesses::default(), STRANGER, u8::MAX);
        assert_eq!(wait_s(&known, STRANGER, NOW), 3_600);
        assert_eq!(wait_s(&known, STRANGER, NOW + LIFETIME_MS), 0);
    }
}
