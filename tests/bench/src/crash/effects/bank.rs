//! Bank that is called by a host which is killed repeatedly: checks each call as it arrives.
//!
//! Delays some responses, so that attempts and pauses are pending when the process dies. Besides the checks of
//! `attempts`, a call with a key other than its own is a violation.
//!
//! Pure: no socket and no clock.

use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::Value;

use crate::{
    crash::attempts::{Attempts, Verdict},
    receiver::{ReceivedRequest, ReceiverResponse},
};

/// Every n-th call gets its response late, if it is accepted at its first attempt.
const LATE_EVERY: usize = 3;
const LATE: Duration = Duration::from_millis(100);
pub const ACCEPTED: u16 = 200;
/// Temporary refusal: the call has to be retried.
pub const REFUSED: u16 = 503;

#[derive(Default)]
pub struct Bank {
    /// By the id in the body.
    attempts: Attempts<String>,
}

impl Bank {
    pub fn receive(&mut self, request: &ReceivedRequest<'_>) -> ReceiverResponse {
        self.check_call(request.key, request.body).unwrap_or_else(|error| {
            self.attempts.record_violation(format!("{error:#}"));
            ReceiverResponse::Status(ACCEPTED)
        })
    }

    fn check_call(&mut self, key: &str, body: &[u8]) -> anyhow::Result<ReceiverResponse> {
        let sent: Value = serde_json::from_slice(body).with_context(|| format!("{key} is not JSON"))?;
        let id = sent.get("id").and_then(Value::as_str).with_context(|| format!("no id in {sent}"))?;
        ensure!(key == format!("called:{id}"), "{id} was sent under the key {key:?}");
        Ok(match self.attempts.record(id.to_owned(), (id, body), || Ok(()))? {
            Verdict::Refused => ReceiverResponse::Status(REFUSED),
            Verdict::Accepted(number) if number.is_multiple_of(LATE_EVERY) => ReceiverResponse::Late(LATE, ACCEPTED),
            Verdict::Accepted(_) | Verdict::AcceptedAgain => ReceiverResponse::Status(ACCEPTED),
        })
    }

    /// Records a kill. All requests of the killed process must have been read before this call.
    pub fn record_kill(&mut self) {
        self.attempts.record_kill();
    }

    /// Returns the first violation as an error.
    pub fn check(&self) -> anyhow::Result<()> {
        self.attempts.check()
    }

    pub fn has_received(&self, id: &str) -> bool {
        self.attempts.has_received(&id.to_owned())
    }

    pub fn has_accepted(&self, id: &str) -> bool {
        self.attempts.has_accepted(&id.to_owned())
    }

    /// Returns the number of distinct calls.
    pub fn received(&self) -> u64 {
        self.attempts.received()
    }

    /// Returns how often a call was accepted again after a kill.
    pub fn accepted_again(&self) -> u64 {
        self.attempts.repeated()
    }

    /// Describes the progress, for error messages.
    pub fn progress(&self) -> String {
        self.attempts.progress()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends a call. The bank refuses the very first one.
    fn receive(bank: &mut Bank, id: &str, key: &str, more: &str) -> ReceiverResponse {
        let body = format!("{{\"id\":{id:?}{more}}}");
        bank.receive(&ReceivedRequest { endpoint: 0, id: "", key, head: "", body: body.as_bytes() })
    }

    /// Returns a bank with one call that was refused, then accepted.
    fn called() -> Bank {
        let mut bank = Bank::default();
        assert_eq!(receive(&mut bank, "a", "called:a", ""), ReceiverResponse::Status(REFUSED));
        assert!(bank.has_received("a") && !bank.has_accepted("a"));
        assert_eq!(receive(&mut bank, "a", "called:a", ""), ReceiverResponse::Status(ACCEPTED));
        bank
    }

    fn violation(bank: &Bank) -> String {
        bank.check().unwrap_err().to_string()
    }

    #[test]
    fn retry_of_a_refused_call_is_valid() {
        let bank = called();
        assert!(bank.check().is_ok() && bank.has_accepted("a"));
        assert_eq!((bank.received(), bank.accepted_again()), (1, 0));
    }

    #[test]
    fn repeat_of_an_accepted_call_requires_a_kill() {
        let mut bank = called();
        bank.record_kill();
        receive(&mut bank, "a", "called:a", "");
        assert!(bank.check().is_ok() && bank.accepted_again() == 1);
        receive(&mut bank, "a", "called:a", "");
        assert!(violation(&bank).contains("a was accepted"));
    }

    #[test]
    fn changed_bytes_of_a_key_are_detected() {
        let mut bank = called();
        bank.record_kill();
        receive(&mut bank, "a", "called:a", ",\"more\":1");
        assert!(violation(&bank).contains("other bytes"));
    }

    #[test]
    fn wrong_key_is_detected() {
        for key in ["", "called:b"] {
            let mut bank = called();
            bank.record_kill();
            receive(&mut bank, "a", key, "");
            assert!(violation(&bank).contains("under the key"));
        }
    }
}
