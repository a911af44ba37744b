//! Endpoint of all webhooks: checks each webhook as it arrives. Pure: no socket and no clock.
//!
//! Besides the checks of `attempts`, a signature with another key than the wallet's is a violation.

use std::collections::HashMap;

use anyhow::{Context, ensure};
use serde_json::Value;

use crate::{
    crash::{
        attempts::{Attempts, Verdict},
        hash_of,
    },
    receiver::{ReceivedRequest, ReceiverResponse},
    wallet::{is_signed, text},
};

const ACCEPTED: u16 = 200;
const REFUSED: u16 = 500;

#[derive(Default)]
pub struct Inbox {
    /// API keys by wallet.
    keys: HashMap<String, String>,
    /// Webhooks by `webhook-id`.
    webhooks: HashMap<String, Webhook>,
    attempts: Attempts<String>,
}

#[derive(Clone, Debug)]
pub struct Webhook {
    pub event: String,
    /// Id of the record that the event is about.
    pub subject: String,
    /// Hash of its bytes.
    pub body: u64,
}

impl Inbox {
    pub fn receive(&mut self, request: &ReceivedRequest<'_>) -> ReceiverResponse {
        let status = self.check(request).unwrap_or_else(|error| {
            self.attempts.record_violation(format!("webhook {}: {error:#}", request.id));
            ACCEPTED
        });
        ReceiverResponse::Status(status)
    }

    fn check(&mut self, request: &ReceivedRequest<'_>) -> anyhow::Result<u16> {
        ensure!(!request.id.is_empty(), "it has no id");
        let event: Value = serde_json::from_slice(request.body).context("it is not JSON")?;
        let data = event.get("data").with_context(|| format!("no data in {event}"))?;
        // The key is unknown until the response to the creation of the wallet has arrived.
        let Some(key) = self.keys.get(&text(data, "wallet_id")?) else { return Ok(REFUSED) };
        ensure!(is_signed(request, key), "its signature is not the wallet's: {event}");
        let verdict = self.attempts.record(request.id.to_owned(), ("it", request.body), || Ok(()))?;
        let (event, subject) = (text(&event, "event")?, text(data, "id").unwrap_or_default());
        self.webhooks.insert(request.id.to_owned(), Webhook { event, subject, body: hash_of(request.body) });
        Ok(if verdict == Verdict::Refused { REFUSED } else { ACCEPTED })
    }

    pub fn add_key(&mut self, wallet: &str, key: &str) {
        self.keys.insert(wallet.to_owned(), key.to_owned());
    }

    /// Records a kill. All requests of the killed process have been read before this call.
    pub fn record_kill(&mut self) {
        self.attempts.record_kill();
    }

    /// Returns how often a webhook was accepted again after a kill.
    pub fn repeated(&self) -> u64 {
        self.attempts.repeated()
    }

    /// Returns the accepted webhooks by id, or the first violation as an error.
    pub fn accepted(&self) -> anyhow::Result<HashMap<String, Webhook>> {
        self.attempts.check()?;
        let accepted = self.webhooks.iter().filter(|(id, _)| self.attempts.has_accepted(id));
        Ok(accepted.map(|(id, webhook)| (id.clone(), webhook.clone())).collect())
    }
}

#[cfg(test)]
mod tests {
    use hmac::{Hmac, Mac};
    use sha2::Sha512;

    use super::*;

    const BODY: &[u8] = br#"{"event":"withdraw.success","data":{"wallet_id":"w","id":"t1"}}"#;

    fn post(inbox: &mut Inbox, id: &str, key: &str, body: &[u8]) -> ReceiverResponse {
        let signed = Hmac::<Sha512>::new_from_slice(key.as_bytes()).unwrap().chain_update(body).finalize();
        let signature = hex::encode(signed.into_bytes());
        let head = format!("POST /hook HTTP/1.1\r\nx-service-signature: {signature}\r\n\r\n");
        inbox.receive(&ReceivedRequest { endpoint: 0, id, key: "", head: &head, body })
    }

    /// Returns an inbox with two webhooks. The first one was refused, then accepted.
    fn filled() -> Inbox {
        let mut inbox = Inbox::default();
        assert_eq!(post(&mut inbox, "e1", "k", BODY), ReceiverResponse::Status(REFUSED), "its wallet is not known");
        inbox.add_key("w", "k");
        for (id, status) in [("e1", REFUSED), ("e2", ACCEPTED), ("e1", ACCEPTED)] {
            assert_eq!(post(&mut inbox, id, "k", BODY), ReceiverResponse::Status(status));
        }
        inbox
    }

    fn violation(inbox: &Inbox) -> String {
        inbox.accepted().map(|_| String::new()).unwrap_or_else(|error| error.to_string())
    }

    #[test]
    fn signed_webhook_is_stored_and_may_repeat_after_a_kill() {
        let mut inbox = filled();
        inbox.record_kill();
        post(&mut inbox, "e2", "k", BODY);
        let accepted = inbox.accepted().unwrap();
        assert_eq!((accepted.len(), inbox.repeated()), (2, 1));
        assert_eq!((accepted["e1"].event.as_str(), accepted["e1"].subject.as_str()), ("withdraw.success", "t1"));
    }

    #[test]
    fn wrong_signature_changed_bytes_and_repeat_are_detected() {
        let mut inbox = filled();
        post(&mut inbox, "e3", "x", BODY);
        assert!(violation(&inbox).contains("signature"), "{}", violation(&inbox));
        let mut inbox = filled();
        inbox.record_kill();
        post(&mut inbox, "e2", "k", br#"{"event":"withdraw.failed","data":{"wallet_id":"w","id":"t1"}}"#);
        assert!(violation(&inbox).contains("other bytes"), "{}", violation(&inbox));
        let mut inbox = filled();
        post(&mut inbox, "e2", "k", BODY);
        assert!(violation(&inbox).contains("without a kill"), "{}", violation(&inbox));
    }
}
