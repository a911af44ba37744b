//! Record of the calls that an external service gets from a host that is killed repeatedly: the hash of the bytes of
//! each call, and the number of kills before it was last accepted.
//!
//! Refuses some first attempts, so that retries are pending when the process dies. A violation by the host is a call
//! that is sent again with other bytes, or sent again although it was accepted and no kill has followed. Pure: no
//! socket and no clock.

use std::{collections::HashMap, hash::Hash};

use anyhow::ensure;

use super::hash_of;

/// Every n-th first attempt is refused.
const REFUSED_EVERY: usize = 7;

/// Attempts by key. `K` identifies a call.
pub struct Attempts<K> {
    received: HashMap<K, Attempt>,
    kills: u32,
    /// The first violation.
    violation: Option<String>,
    accepted: u64,
    repeated: u64,
}

struct Attempt {
    /// Hash of the bytes.
    body: u64,
    /// Number of kills before it was last accepted. `None` if it was only refused.
    accepted: Option<u32>,
}

/// Result of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Refused once, to be retried.
    Refused,
    /// Accepted at the first attempt, with the number of distinct calls before it.
    Accepted(usize),
    /// Accepted after a refusal, or accepted again after a kill.
    AcceptedAgain,
}

impl<K> Default for Attempts<K> {
    fn default() -> Attempts<K> {
        Attempts { received: HashMap::new(), kills: 0, violation: None, accepted: 0, repeated: 0 }
    }
}

impl<K: Eq + Hash> Attempts<K> {
    /// Records an attempt. `name` is used in error messages. `check_first` is a condition for first attempts only.
    ///
    /// # Errors
    /// The call was sent with other bytes, or again without a kill, or `check_first` fails.
    pub fn record(
        &mut self,
        key: K,
        (name, body): (&str, &[u8]),
        check_first: impl FnOnce() -> anyhow::Result<()>,
    ) -> anyhow::Result<Verdict> {
        let body = hash_of(body);
        if let Some(attempt) = self.received.get_mut(&key) {
            ensure!(attempt.body == body, "{name} was sent again with other bytes");
            let is_new = attempt.accepted != Some(self.kills);
            ensure!(is_new, "{name} was accepted, and sent again without a kill in between");
            self.accepted += u64::from(attempt.accepted.is_none());
            self.repeated += u64::from(attempt.accepted.is_some());
            attempt.accepted = Some(self.kills);
            return Ok(Verdict::AcceptedAgain);
        }
        check_first()?;
        let number = self.received.len();
        let is_refused = number.is_multiple_of(REFUSED_EVERY);
        self.received.insert(key, Attempt { body, accepted: (!is_refused).then_some(self.kills) });
        self.accepted += u64::from(!is_refused);
        Ok(if is_refused { Verdict::Refused } else { Verdict::Accepted(number) })
    }

    /// Records a kill. All requests of the killed process have been read before this call.
    pub fn record_kill(&mut self) {
        self.kills += 1;
    }

    /// Records a violation. Only the first one is kept.
    pub fn record_violation(&mut self, violation: String) {
        self.violation.get_or_insert(violation);
    }

    /// Returns the first violation as an error.
    pub fn check(&self) -> anyhow::Result<()> {
        match &self.violation {
            Some(violation) => anyhow::bail!("{violation}"),
            None => Ok(()),
        }
    }

    pub fn has_received(&self, key: &K) -> bool {
        self.received.contains_key(key)
    }

    pub fn has_accepted(&self, key: &K) -> bool {
        self.received.get(key).is_some_and(|attempt| attempt.accepted.is_some())
    }

    /// Returns the number of distinct calls.
    pub fn received(&self) -> u64 {
        self.received.len() as u64
    }

    pub fn accepted(&self) -> u64 {
        self.accepted
    }

    /// Returns how often a call was accepted again after a kill.
    pub fn repeated(&self) -> u64 {
        self.repeated
    }

    /// Returns the number of calls that were refused and not retried yet.
    pub fn waiting(&self) -> u64 {
        self.received() - self.accepted
    }

    /// Describes the progress, for error messages.
    pub fn progress(&self) -> String {
        let Attempts { accepted, repeated, kills, .. } = self;
        let waiting = self.waiting();
        format!("{accepted} accepted, {waiting} only refused, {repeated} accepted again after {kills} kills")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn send(attempts: &mut Attempts<&'static str>, key: &'static str, body: &[u8]) -> String {
        let verdict = attempts.record(key, (key, body), || Ok(()));
        verdict.map(|verdict| format!("{verdict:?}")).unwrap_or_else(|error| error.to_string())
    }

    /// Returns a record with one call that was refused, then accepted.
    fn sent() -> Attempts<&'static str> {
        let mut attempts = Attempts::default();
        assert_eq!(send(&mut attempts, "a", b"1"), "Refused");
        assert!(attempts.has_received(&"a") && !attempts.has_accepted(&"a") && attempts.waiting() == 1);
        assert_eq!(send(&mut attempts, "a", b"1"), "AcceptedAgain");
        attempts
    }

    #[test]
    fn refused_call_is_accepted_at_its_retry() {
        let mut attempts = sent();
        assert_eq!(send(&mut attempts, "b", b"2"), "Accepted(1)");
        assert_eq!((attempts.received(), attempts.accepted(), attempts.repeated(), attempts.waiting()), (2, 2, 0, 0));
        assert!(attempts.has_accepted(&"a") && attempts.check().is_ok());
    }

    #[test]
    fn repeat_of_an_accepted_call_requires_a_kill() {
        let mut attempts = sent();
        attempts.record_kill();
        assert_eq!(send(&mut attempts, "a", b"1"), "AcceptedAgain");
        assert_eq!((attempts.accepted(), attempts.repeated()), (1, 1));
        assert_eq!(send(&mut attempts, "a", b"1"), "a was accepted, and sent again without a kill in between");
    }

    #[test]
    fn changed_bytes_are_detected() {
        let mut attempts = sent();
        attempts.record_kill();
        assert_eq!(send(&mut attempts, "a", b"2"), "a was sent again with other bytes");
    }

    #[test]
    fn failed_first_check_leaves_no_attempt() {
        let mut attempts = sent();
        assert!(attempts.record("b", ("b", b""), || anyhow::bail!("too early")).is_err());
        assert!(!attempts.has_received(&"b"));
    }

    #[test]
    fn first_violation_is_reported() {
        let mut attempts = sent();
        attempts.record_violation("one".to_owned());
        attempts.record_violation("two".to_owned());
        assert_eq!(attempts.check().unwrap_err().to_string(), "one");
    }
}
