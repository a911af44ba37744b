//! Webhook endpoint of a host that is killed repeatedly: checks each webhook as it arrives.
//!
//! Besides the checks of `attempts`, a first attempt before that of an earlier event of the same driver is a
//! violation. So is an event with a second id.
//!
//! Pure: no socket and no clock.

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
    /// Attempts by the hash of the webhook id, because there are millions of ids.
    attempts: Attempts<u64>,
    /// Position of the last event whose first attempt arrived, by driver.
    positions: HashMap<String, u64>,
}

impl Inbox {
    /// Receives a webhook. Returns the response status.
    pub fn receive(&mut self, id: &str, body: &[u8]) -> u16 {
        self.check(id, body).unwrap_or_else(|error| {
            self.attempts.record_violation(format!("{error:#}"));
            ACCEPTED
        })
    }

    fn check(&mut self, id: &str, body: &[u8]) -> anyhow::Result<u16> {
        ensure!(!id.is_empty(), "a webhook without an id");
        let positions = &mut self.positions;
        let verdict = self.attempts.record(hash_of(id), (id, body), || record_position(positions, id, body))?;
        Ok(if verdict == Verdict::Refused { REFUSED } else { ACCEPTED })
    }

    /// Records a kill. All requests of the killed process have been read before this call.
    pub fn record_kill(&mut self) {
        self.attempts.record_kill();
    }

    /// Returns true if every event of the acknowledged changes was accepted.
    ///
    /// # Errors
    /// A violation was recorded, or an event exceeds the acknowledged position.
    pub fn is_complete(&self, actors: &[Actor]) -> anyhow::Result<bool> {
        self.attempts.check()?;
        let mut complete = self.attempts.waiting() == 0;
        for Actor { name: driver, position, .. } in actors {
            let received = self.positions.get(driver).copied().unwrap_or(0);
            ensure!(received <= *position, "{driver}: webhooks up to {received}, acknowledged up to {position}");
            complete &= received == *position;
        }
        Ok(complete)
    }

    pub fn accepted(&self) -> u64 {
        self.attempts.accepted()
    }

    /// Returns how often a webhook was accepted again after a kill.
    pub fn repeated(&self) -> u64 {
        self.attempts.repeated()
    }

    /// Describes the progress, for error messages.
    pub fn progress(&self) -> String {
        self.attempts.progress()
    }
}

fn record_position(positions: &mut HashMap<String, u64>, id: &str, body: &[u8]) -> anyhow::Result<()> {
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

    /// Returns an inbox with the positions 1 to 3, each with its own id. The first one was refused and retried.
    fn filled() -> Inbox {
        let mut inbox = Inbox::default();
        assert_eq!(inbox.receive("evt_1", &body(1)), REFUSED);
        for (id, position) in [("evt_2", 2), ("evt_3", 3), ("evt_1", 1)] {
            assert_eq!(inbox.receive(id, &body(position)), ACCEPTED);
        }
        inbox
    }

    fn violation(inbox: &Inbox) -> String {
        inbox.is_complete(&actor(3)).unwrap_err().to_string()
    }

    #[test]
    fn events_in_order_are_complete() {
        assert!(filled().is_complete(&actor(3)).unwrap());
    }

    #[test]
    fn missing_or_refused_event_is_incomplete() {
        assert!(!filled().is_complete(&actor(4)).unwrap());
        let mut inbox = Inbox::default();
        inbox.receive("evt_1", &body(1));
        assert!(!inbox.is_complete(&actor(1)).unwrap());
    }

    #[test]
    fn repeat_of_an_accepted_webhook_requires_a_kill() {
        let mut inbox = filled();
        inbox.record_kill();
        inbox.receive("evt_2", &body(2));
        assert!(inbox.is_complete(&actor(3)).unwrap() && inbox.repeated() == 1);
        inbox.receive("evt_2", &body(2));
        assert!(violation(&inbox).contains("evt_2 was accepted"));
    }

    #[test]
    fn changed_bytes_of_an_id_are_detected() {
        let mut inbox = filled();
        inbox.record_kill();
        inbox.receive("evt_2", &body(3));
        assert!(violation(&inbox).contains("other bytes"));
    }

    #[test]
    fn event_with_a_second_id_is_detected() {
        let mut inbox = filled();
        inbox.receive("evt_9", &body(3));
        assert!(violation(&inbox).contains("position 3 came after that of 3"));
    }

    #[test]
    fn first_attempt_out_of_order_is_detected() {
        let mut inbox = filled();
        inbox.receive("evt_5", &body(5));
        assert!(violation(&inbox).contains("position 5 came after that of 3"));
    }

    #[test]
    fn event_of_an_unacknowledged_change_is_detected() {
        assert!(filled().is_complete(&actor(2)).unwrap_err().to_string().contains("acknowledged up to 2"));
    }
}
