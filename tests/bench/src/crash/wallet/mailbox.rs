//! Where all webhooks go: judges each as it arrives. Pure: no socket and no time.
//!
//! What it holds against a host, besides what `attempts` does: a signature that is not the wallet's.

use std::collections::HashMap;

use anyhow::{Context, ensure};
use serde_json::Value;

use crate::{
    crash::{
        attempts::{Attempts, Verdict},
        hash_of,
    },
    receiver::{Post, Reply},
    wallet::{is_signed, text},
};

const ACCEPTED: u16 = 200;
const REFUSED: u16 = 500;

#[derive(Default)]
pub struct Mailbox {
    /// By wallet.
    keys: HashMap<String, String>,
    /// By `webhook-id`.
    letters: HashMap<String, Letter>,
    attempts: Attempts<String>,
}

#[derive(Clone, Debug)]
pub struct Letter {
    pub event: String,
    /// The record that it tells of.
    pub about: String,
    /// Hash of its bytes.
    pub body: u64,
}

impl Mailbox {
    pub fn receive(&mut self, post: &Post<'_>) -> Reply {
        let status = self.judge(post).unwrap_or_else(|error| {
            self.attempts.note_wrong(format!("webhook {}: {error:#}", post.id));
            ACCEPTED
        });
        Reply::Status(status)
    }

    fn judge(&mut self, post: &Post<'_>) -> anyhow::Result<u16> {
        ensure!(!post.id.is_empty(), "it has no id");
        let told: Value = serde_json::from_slice(post.body).context("it is not JSON")?;
        let data = told.get("data").with_context(|| format!("no data in {told}"))?;
        // Whoever made the wallet has not been answered yet.
        let Some(key) = self.keys.get(&text(data, "wallet_id")?) else { return Ok(REFUSED) };
        ensure!(is_signed(post, key), "its signature is not the wallet's: {told}");
        let verdict = self.attempts.judge(post.id.to_owned(), ("it", post.body), || Ok(()))?;
        let (event, about) = (text(&told, "event")?, text(data, "id").unwrap_or_default());
        self.letters.insert(post.id.to_owned(), Letter { event, about, body: hash_of(post.body) });
        Ok(if verdict == Verdict::Refused { REFUSED } else { ACCEPTED })
    }

    pub fn note_key(&mut self, wallet: &str, key: &str) {
        self.keys.insert(wallet.to_owned(), key.to_owned());
    }

    /// Nothing of the process that died is under way any more.
    pub fn note_kill(&mut self) {
        self.attempts.note_kill();
    }

    /// Letters that were accepted once more after a kill.
    pub fn repeated(&self) -> u64 {
        self.attempts.repeated()
    }

    /// What was accepted, by id; an error where something was wrong.
    pub fn accepted(&self) -> anyhow::Result<HashMap<String, Letter>> {
        self.attempts.check()?;
        let accepted = self.letters.iter().filter(|(id, _)| self.attempts.has_accepted(id));
        Ok(accepted.map(|(id, letter)| (id.clone(), letter.clone())).collect())
    }
}

#[cfg(test)]
mod tests {
    use hmac::{Hmac, Mac};
    use sha2::Sha512;

    use super::*;

    const BODY: &[u8] = br#"{"event":"withdraw.success","data":{"wallet_id":"w","id":"t1"}}"#;

    fn post(mailbox: &mut Mailbox, id: &str, key: &str, body: &[u8]) -> Reply {
        let signed = Hmac::<Sha512>::new_from_slice(key.as_bytes()).unwrap().chain_update(body).finalize();
        let signature = hex::encode(signed.into_bytes());
        let head = format!("POST /hook HTTP/1.1\r\nx-service-signature: {signature}\r\n\r\n");
        mailbox.receive(&Post { endpoint: 0, id, key: "", head: &head, body })
    }

    /// The first is refused once; then both are there.
    fn told() -> Mailbox {
        let mut mailbox = Mailbox::default();
        assert_eq!(post(&mut mailbox, "e1", "k", BODY), Reply::Status(REFUSED), "its wallet is not known");
        mailbox.note_key("w", "k");
        for (id, status) in [("e1", REFUSED), ("e2", ACCEPTED), ("e1", ACCEPTED)] {
            assert_eq!(post(&mut mailbox, id, "k", BODY), Reply::Status(status));
        }
        mailbox
    }

    fn wrong(mailbox: &Mailbox) -> String {
        mailbox.accepted().map(|_| String::new()).unwrap_or_else(|error| error.to_string())
    }

    #[test]
    fn what_is_signed_is_kept_and_may_come_again_after_a_kill() {
        let mut mailbox = told();
        mailbox.note_kill();
        post(&mut mailbox, "e2", "k", BODY);
        let accepted = mailbox.accepted().unwrap();
        assert_eq!((accepted.len(), mailbox.repeated()), (2, 1));
        assert_eq!((accepted["e1"].event.as_str(), accepted["e1"].about.as_str()), ("withdraw.success", "t1"));
    }

    #[test]
    fn a_foreign_signature_other_bytes_and_a_repeat_are_noticed() {
        let mut mailbox = told();
        post(&mut mailbox, "e3", "x", BODY);
        assert!(wrong(&mailbox).contains("signature"), "{}", wrong(&mailbox));
        let mut mailbox = told();
        mailbox.note_kill();
        post(&mut mailbox, "e2", "k", br#"{"event":"withdraw.failed","data":{"wallet_id":"w","id":"t1"}}"#);
        assert!(wrong(&mailbox).contains("other bytes"), "{}", wrong(&mailbox));
        let mut mailbox = told();
        post(&mut mailbox, "e2", "k", BODY);
        assert!(wrong(&mailbox).contains("without a kill"), "{}", wrong(&mailbox));
    }
}
