//! The bank that is called by a host which is killed again and again: judges each call as it arrives.
//!
//! Lets some wait, so that attempts and pauses are under way when the process dies. What it holds against a host, besides what `attempts`
//! does: a call under another key than its own.
//!
//! Pure: no socket and no time.

use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::Value;

use crate::{
    crash::attempts::{Attempts, Verdict},
    receiver::{Post, Reply},
};

/// Of the calls that are accepted at first, every so many-th waits for its answer.
const LATE_EVERY: usize = 3;
const LATE: Duration = Duration::from_millis(100);
pub const ACCEPTED: u16 = 200;
/// Says nothing about the call itself: it is to be made again.
pub const REFUSED: u16 = 503;

#[derive(Default)]
pub struct Bank {
    /// By the id in their bodies.
    attempts: Attempts<String>,
}

impl Bank {
    pub fn receive(&mut self, post: &Post<'_>) -> Reply {
        self.judge(post.key, post.body).unwrap_or_else(|error| {
            self.attempts.note_wrong(format!("{error:#}"));
            Reply::Status(ACCEPTED)
        })
    }

    fn judge(&mut self, key: &str, body: &[u8]) -> anyhow::Result<Reply> {
        let sent: Value = serde_json::from_slice(body).with_context(|| format!("{key} is not JSON"))?;
        let id = sent.get("id").and_then(Value::as_str).with_context(|| format!("no id in {sent}"))?;
        ensure!(key == format!("called:{id}"), "{id} was sent under the key {key:?}");
        Ok(match self.attempts.judge(id.to_owned(), (id, body), || Ok(()))? {
            Verdict::Refused => Reply::Status(REFUSED),
            Verdict::Accepted(number) if number.is_multiple_of(LATE_EVERY) => Reply::Late(LATE, ACCEPTED),
            Verdict::Accepted(_) | Verdict::AcceptedAgain => Reply::Status(ACCEPTED),
        })
    }

    /// Nothing of the process that died is under way any more.
    pub fn note_kill(&mut self) {
        self.attempts.note_kill();
    }

    /// An error where something arrived that can never hold.
    pub fn check(&self) -> anyhow::Result<()> {
        self.attempts.check()
    }

    pub fn has_seen(&self, id: &str) -> bool {
        self.attempts.has_seen(&id.to_owned())
    }

    pub fn has_accepted(&self, id: &str) -> bool {
        self.attempts.has_accepted(&id.to_owned())
    }

    /// Calls, however often they came.
    pub fn received(&self) -> u64 {
        self.attempts.received()
    }

    /// Accepted once more after a kill.
    pub fn received_again(&self) -> u64 {
        self.attempts.repeated()
    }

    /// For the error: how far it has come.
    pub fn in_words(&self) -> String {
        self.attempts.in_words()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first call of all is refused.
    fn receive(bank: &mut Bank, id: &str, key: &str, more: &str) -> Reply {
        let body = format!("{{\"id\":{id:?}{more}}}");
        bank.receive(&Post { endpoint: 0, id: "", key, head: "", body: body.as_bytes() })
    }

    /// One call that was refused, then accepted.
    fn called() -> Bank {
        let mut bank = Bank::default();
        assert_eq!(receive(&mut bank, "a", "called:a", ""), Reply::Status(REFUSED));
        assert!(bank.has_seen("a") && !bank.has_accepted("a"));
        assert_eq!(receive(&mut bank, "a", "called:a", ""), Reply::Status(ACCEPTED));
        bank
    }

    fn complaint(bank: &Bank) -> String {
        bank.check().unwrap_err().to_string()
    }

    #[test]
    fn repeat_of_what_was_refused_is_right() {
        let bank = called();
        assert!(bank.check().is_ok() && bank.has_accepted("a"));
        assert_eq!((bank.received(), bank.received_again()), (1, 0));
    }

    #[test]
    fn repeat_of_what_was_accepted_needs_a_kill() {
        let mut bank = called();
        bank.note_kill();
        receive(&mut bank, "a", "called:a", "");
        assert!(bank.check().is_ok() && bank.received_again() == 1);
        receive(&mut bank, "a", "called:a", "");
        assert!(complaint(&bank).contains("a was accepted"));
    }

    #[test]
    fn other_bytes_under_the_same_key_are_seen() {
        let mut bank = called();
        bank.note_kill();
        receive(&mut bank, "a", "called:a", ",\"more\":1");
        assert!(complaint(&bank).contains("other bytes"));
    }

    #[test]
    fn other_key_is_seen() {
        for key in ["", "called:b"] {
            let mut bank = called();
            bank.note_kill();
            receive(&mut bank, "a", key, "");
            assert!(complaint(&bank).contains("under the key"));
        }
    }
}
