//! The books of who is called by a host that is killed again and again: which bytes came, and after how many kills they were
//! accepted.
//!
//! Refuses some first attempts, so that retries wait when the process dies. What it holds against a host: something that is sent again
//! with other bytes, or after it was accepted, without a kill in between. Pure: no socket and no time.

use std::{collections::HashMap, hash::Hash};

use anyhow::ensure;

use super::hash_of;

/// Of the first attempts, every so many-th is refused.
const REFUSED_EVERY: usize = 7;

/// By what tells the things apart that are sent.
pub struct Attempts<K> {
    seen: HashMap<K, Seen>,
    kills: u32,
    /// The first thing that is wrong.
    wrong: Option<String>,
    accepted: u64,
    repeated: u64,
}

struct Seen {
    body: u64,
    /// After so many kills; not at all as long as it was only refused.
    accepted: Option<u32>,
}

/// What becomes of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// For this once.
    Refused,
    /// At once; so many others came before.
    Accepted(usize),
    /// After it was refused, or once more after a kill.
    AcceptedAgain,
}

impl<K> Default for Attempts<K> {
    fn default() -> Attempts<K> {
        Attempts { seen: HashMap::new(), kills: 0, wrong: None, accepted: 0, repeated: 0 }
    }
}

impl<K: Eq + Hash> Attempts<K> {
    /// `name`: for complaints. `first`: what has to hold for a first attempt alone.
    pub fn judge(
        &mut self,
        key: K,
        (name, body): (&str, &[u8]),
        first: impl FnOnce() -> anyhow::Result<()>,
    ) -> anyhow::Result<Verdict> {
        let body = hash_of(body);
        if let Some(seen) = self.seen.get_mut(&key) {
            ensure!(seen.body == body, "{name} was sent again with other bytes");
            let is_new = seen.accepted != Some(self.kills);
            ensure!(is_new, "{name} was accepted, and sent again without a kill in between");
            self.accepted += u64::from(seen.accepted.is_none());
            self.repeated += u64::from(seen.accepted.is_some());
            seen.accepted = Some(self.kills);
            return Ok(Verdict::AcceptedAgain);
        }
        first()?;
        let number = self.seen.len();
        let is_refused = number.is_multiple_of(REFUSED_EVERY);
        self.seen.insert(key, Seen { body, accepted: (!is_refused).then_some(self.kills) });
        self.accepted += u64::from(!is_refused);
        Ok(if is_refused { Verdict::Refused } else { Verdict::Accepted(number) })
    }

    /// Nothing of the process that died is under way any more.
    pub fn note_kill(&mut self) {
        self.kills += 1;
    }

    /// The first counts.
    pub fn note_wrong(&mut self, wrong: String) {
        self.wrong.get_or_insert(wrong);
    }

    /// An error where something arrived that can never hold.
    pub fn check(&self) -> anyhow::Result<()> {
        match &self.wrong {
            Some(wrong) => anyhow::bail!("{wrong}"),
            None => Ok(()),
        }
    }

    pub fn has_seen(&self, key: &K) -> bool {
        self.seen.contains_key(key)
    }

    pub fn has_accepted(&self, key: &K) -> bool {
        self.seen.get(key).is_some_and(|seen| seen.accepted.is_some())
    }

    /// Things, however often they came.
    pub fn received(&self) -> u64 {
        self.seen.len() as u64
    }

    pub fn accepted(&self) -> u64 {
        self.accepted
    }

    /// Accepted once more after a kill.
    pub fn repeated(&self) -> u64 {
        self.repeated
    }

    /// Refused, and not seen again yet.
    pub fn waiting(&self) -> u64 {
        self.received() - self.accepted
    }

    /// For the error: how far it has come.
    pub fn in_words(&self) -> String {
        let Attempts { accepted, repeated, kills, .. } = self;
        let waiting = self.waiting();
        format!("{accepted} accepted, {waiting} only refused, {repeated} accepted again after {kills} kills")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn send(attempts: &mut Attempts<&'static str>, key: &'static str, body: &[u8]) -> String {
        let verdict = attempts.judge(key, (key, body), || Ok(()));
        verdict.map(|verdict| format!("{verdict:?}")).unwrap_or_else(|error| error.to_string())
    }

    /// One that was refused, then accepted.
    fn sent() -> Attempts<&'static str> {
        let mut attempts = Attempts::default();
        assert_eq!(send(&mut attempts, "a", b"1"), "Refused");
        assert!(attempts.has_seen(&"a") && !attempts.has_accepted(&"a") && attempts.waiting() == 1);
        assert_eq!(send(&mut attempts, "a", b"1"), "AcceptedAgain");
        attempts
    }

    #[test]
    fn what_was_refused_is_accepted_when_it_comes_again() {
        let mut attempts = sent();
        assert_eq!(send(&mut attempts, "b", b"2"), "Accepted(1)");
        assert_eq!((attempts.received(), attempts.accepted(), attempts.repeated(), attempts.waiting()), (2, 2, 0, 0));
        assert!(attempts.has_accepted(&"a") && attempts.check().is_ok());
    }

    #[test]
    fn a_repeat_of_what_was_accepted_needs_a_kill() {
        let mut attempts = sent();
        attempts.note_kill();
        assert_eq!(send(&mut attempts, "a", b"1"), "AcceptedAgain");
        assert_eq!((attempts.accepted(), attempts.repeated()), (1, 1));
        assert_eq!(send(&mut attempts, "a", b"1"), "a was accepted, and sent again without a kill in between");
    }

    #[test]
    fn other_bytes_are_seen() {
        let mut attempts = sent();
        attempts.note_kill();
        assert_eq!(send(&mut attempts, "a", b"2"), "a was sent again with other bytes");
    }

    #[test]
    fn what_may_not_come_first_is_not_there() {
        let mut attempts = sent();
        assert!(attempts.judge("b", ("b", b""), || anyhow::bail!("too early")).is_err());
        assert!(!attempts.has_seen(&"b"));
    }

    #[test]
    fn the_first_thing_that_is_wrong_is_told() {
        let mut attempts = sent();
        attempts.note_wrong("one".to_owned());
        attempts.note_wrong("two".to_owned());
        assert_eq!(attempts.check().unwrap_err().to_string(), "one");
    }
}
