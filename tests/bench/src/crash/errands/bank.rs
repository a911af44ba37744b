//! The bank that is called by a host which is killed again and again: judges each call as it arrives.
//!
//! Refuses some at first and lets some wait, so that attempts and pauses are under way when the process dies. What it holds
//! against a host:
//!
//! - a call that is made again after it was accepted, without a kill in between;
//! - a call that is made again with other bytes, or under another key.
//!
//! Pure: no socket and no time.

use std::{collections::HashMap, time::Duration};

use anyhow::{Context, ensure};
use serde_json::Value;

use crate::{
    crash::hash_of,
    receiver::{Post, Reply},
};

/// Of the first attempts, every so many-th is refused, and of the others every so many-th waits for its answer.
const REFUSED_EVERY: usize = 7;
const LATE_EVERY: usize = 3;
const LATE: Duration = Duration::from_millis(100);
pub const ACCEPTED: u16 = 200;
/// Says nothing about the call itself: it is to be made again.
pub const REFUSED: u16 = 503;

#[derive(Default)]
pub struct Bank {
    /// By the id in their bodies.
    calls: HashMap<String, Call>,
    kills: u32,
    /// The first thing that is wrong.
    wrong: Option<String>,
    received_again: u64,
}

struct Call {
    body: u64,
    /// After so many kills; not at all as long as it was only refused.
    accepted: Option<u32>,
}

impl Bank {
    pub fn receive(&mut self, post: &Post<'_>) -> Reply {
        self.judge(post.key, post.body).unwrap_or_else(|error| {
            self.wrong.get_or_insert(format!("{error:#}"));
            Reply::Status(ACCEPTED)
        })
    }

    fn judge(&mut self, key: &str, body: &[u8]) -> anyhow::Result<Reply> {
        let sent: Value = serde_json::from_slice(body).with_context(|| format!("{key} is not JSON"))?;
        let id = sent.get("id").and_then(Value::as_str).with_context(|| format!("no id in {sent}"))?;
        ensure!(key == format!("called:{id}"), "{id} was sent under the key {key:?}");
        if let Some(call) = self.calls.get_mut(id) {
            ensure!(call.body == hash_of(body), "{id} was sent again with other bytes");
            ensure!(call.accepted != Some(self.kills), "{id} was accepted, and sent again without a kill in between");
            self.received_again += u64::from(call.accepted.is_some());
            call.accepted = Some(self.kills);
            return Ok(Reply::Status(ACCEPTED));
        }
        let number = self.calls.len();
        let is_refused = number.is_multiple_of(REFUSED_EVERY);
        let accepted = (!is_refused).then_some(self.kills);
        self.calls.insert(id.to_owned(), Call { body: hash_of(body), accepted });
        Ok(match is_refused {
            true => Reply::Status(REFUSED),
            false if number.is_multiple_of(LATE_EVERY) => Reply::Late(LATE, ACCEPTED),
            false => Reply::Status(ACCEPTED),
        })
    }

    /// Nothing of the process that died is under way any more.
    pub fn note_kill(&mut self) {
        self.kills += 1;
    }

    /// An error where something arrived that can never hold.
    pub fn check(&self) -> anyhow::Result<()> {
        match &self.wrong {
            Some(wrong) => anyhow::bail!("{wrong}"),
            None => Ok(()),
        }
    }

    pub fn has_seen(&self, id: &str) -> bool {
        self.calls.contains_key(id)
    }

    pub fn has_accepted(&self, id: &str) -> bool {
        self.calls.get(id).is_some_and(|call| call.accepted.is_some())
    }

    /// Calls, however often they came.
    pub fn received(&self) -> u64 {
        self.calls.len() as u64
    }

    /// Accepted once more after a kill.
    pub fn received_again(&self) -> u64 {
        self.received_again
    }

    /// For the error: how far it has come.
    pub fn in_words(&self) -> String {
        let refused = self.calls.values().filter(|call| call.accepted.is_none()).count();
        format!("{} calls received, {refused} of them only refused, {} kills", self.received(), self.kills)
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
