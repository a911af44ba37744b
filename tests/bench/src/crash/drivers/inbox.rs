//! The endpoint of a host that is killed again and again: judges each webhook as it arrives.
//!
//! What it holds against a host, besides what `attempts` does: a first attempt before that of an earlier event of the same driver, so an
//! event under a second id as well.
//!
//! Pure: no socket and no time.

use std::collections::HashMap;

use anyhow::{Context, ensure};
use serde_json::Value;

use super::{Actor, position_of};
use crate::crash::{
    attempts::{Attempts, Verdict},
    hash_of,
};

const ACCEPTED: u16 = 200;
const REFUSED: u16 = 500;

#[derive(Default)]
pub struct Inbox {
    /// By the hash of the id: there are millions.
    attempts: Attempts<u64>,
    /// Driver to the position of its last event whose first attempt was seen.
    positions: HashMap<String, u64>,
}

impl Inbox {
    /// The status to answer with.
    pub fn receive(&mut self, id: &str, body: &[u8]) -> u16 {
        self.judge(id, body).unwrap_or_else(|error| {
            self.attempts.note_wrong(format!("{error:#}"));
            ACCEPTED
        })
    }

    fn judge(&mut self, id: &str, body: &[u8]) -> anyhow::Result<u16> {
        ensure!(!id.is_empty(), "a webhook without an id");
        let positions = &mut self.positions;
        let verdict = self.attempts.judge(hash_of(id), (id, body), || note_position(positions, id, body))?;
        Ok(if verdict == Verdict::Refused { REFUSED } else { ACCEPTED })
    }

    /// Nothing of the process that died is under way any more.
    pub fn note_kill(&mut self) {
        self.attempts.note_kill();
    }

    /// Whether every event of what was acknowledged has arrived and was accepted; an error where something can never hold.
    pub fn is_complete(&self, actors: &[Actor]) -> anyhow::Result<bool> {
        self.attempts.check()?;
        let mut complete = self.attempts.waiting() == 0;
        for Actor { name: driver, position, .. } in actors {
            let told = self.positions.get(driver).copied().unwrap_or(0);
            ensure!(told <= *position, "{driver}: told up to {told}, acknowledged up to {position}");
            complete &= told == *position;
        }
        Ok(complete)
    }

    pub fn accepted(&self) -> u64 {
        self.attempts.accepted()
    }

    /// Accepted once more after a kill.
    pub fn repeated(&self) -> u64 {
        self.attempts.repeated()
    }

    /// For the error: how far it has come.
    pub fn in_words(&self) -> String {
        self.attempts.in_words()
    }
}

fn note_position(positions: &mut HashMap<String, u64>, id: &str, body: &[u8]) -> anyhow::Result<()> {
    let event: Value = serde_json::from_slice(body).with_context(|| format!("{id} is not JSON"))?;
    let data = event.get("data").with_context(|| format!("no data in {event}"))?;
    let driver = data.get("driver_id").and_then(Value::as_str).with_context(|| format!("no driver in {event}"))?;
    let position = position_of(data).with_context(|| format!("no position in {event}"))?;
    let last = positions.entry(driver.to_owned()).or_default();
    ensure!(position == *last + 1, "{driver}: the first attempt of position {position} came after that of {last}");
    *last = position;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crash::drivers::{latitude, track};

    fn body(position: u64) -> Vec<u8> {
        let data = serde_json::json!({ "driver_id": "driver_a", "latitude": latitude(position) });
        serde_json::json!({ "data": data }).to_string().into_bytes()
    }

    fn actor(position: u64) -> [Actor; 1] {
        [Actor { position, ..Actor::new("driver_a".to_owned(), track) }]
    }

    /// Positions 1 to 3 under ids of their own; the first is refused and comes again.
    fn told() -> Inbox {
        let mut inbox = Inbox::default();
        assert_eq!(inbox.receive("evt_1", &body(1)), REFUSED);
        for (id, position) in [("evt_2", 2), ("evt_3", 3), ("evt_1", 1)] {
            assert_eq!(inbox.receive(id, &body(position)), ACCEPTED);
        }
        inbox
    }

    fn complaint(inbox: &Inbox) -> String {
        inbox.is_complete(&actor(3)).unwrap_err().to_string()
    }

    #[test]
    fn everything_in_its_turn_is_complete() {
        assert!(told().is_complete(&actor(3)).unwrap());
    }

    #[test]
    fn what_is_missing_or_was_only_refused_is_waited_for() {
        assert!(!told().is_complete(&actor(4)).unwrap());
        let mut inbox = Inbox::default();
        inbox.receive("evt_1", &body(1));
        assert!(!inbox.is_complete(&actor(1)).unwrap());
    }

    #[test]
    fn repeat_of_what_was_accepted_needs_a_kill() {
        let mut inbox = told();
        inbox.note_kill();
        inbox.receive("evt_2", &body(2));
        assert!(inbox.is_complete(&actor(3)).unwrap() && inbox.repeated() == 1);
        inbox.receive("evt_2", &body(2));
        assert!(complaint(&inbox).contains("evt_2 was accepted"));
    }

    #[test]
    fn other_bytes_under_the_same_id_are_seen() {
        let mut inbox = told();
        inbox.note_kill();
        inbox.receive("evt_2", &body(3));
        assert!(complaint(&inbox).contains("other bytes"));
    }

    #[test]
    fn event_under_a_second_id_is_seen() {
        let mut inbox = told();
        inbox.receive("evt_9", &body(3));
        assert!(complaint(&inbox).contains("position 3 came after that of 3"));
    }

    #[test]
    fn first_attempt_before_that_of_an_earlier_event_is_seen() {
        let mut inbox = told();
        inbox.receive("evt_5", &body(5));
        assert!(complaint(&inbox).contains("position 5 came after that of 3"));
    }

    #[test]
    fn event_that_nobody_acknowledged_is_seen() {
        assert!(told().is_complete(&actor(2)).unwrap_err().to_string().contains("acknowledged up to 2"));
    }
}
