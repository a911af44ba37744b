//! `Idempotency-Key`: the same key and request get the stored answer, whatever happened in between.
//!
//! The answer is kept in the transaction of its effects, so there is no moment in which one exists without the other.
//! What is stored is sealed under a key derived from the idempotency key: without it, nobody can read it. The gates keep
//! equal keys from running side by side in this process; correctness does not rest on them but on the commit.

use std::{collections::HashMap, sync::Arc};

use bytes::Bytes;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tokio::{
    sync::OwnedMutexGuard,
    time::{Instant, timeout_at},
};

use crate::{
    auth::Principal,
    changes::change_set::KeptAnswer,
    commit::draft::Draft,
    failure::Failure,
    limits::IDEMPOTENCY_WAITING_MAX,
    plugin::exchange::{Admitted, Answer, Reply},
    secrets::{self, AnswerContext},
};

/// The header that tells a repeated answer from a first one.
const REPLAYED: &str = "idempotency-replayed";

/// One idempotency key in use: where its answer is kept, and what it stands for.
pub struct Kept {
    /// Hex SHA-256 of the owner of the credential and the key.
    name: Arc<str>,
    /// SHA-256 of method, path, query and body.
    fingerprint: [u8; 32],
    key: String,
    plugin: Arc<str>,
    principal: Arc<Principal>,
}

/// The part of a kept answer in front of its body.
#[derive(Serialize, Deserialize)]
struct Head {
    status: u16,
    headers: Vec<(String, String)>,
    media_type: Option<String>,
}

impl Kept {
    /// `None` where the request carries no key, and for nobody: whoever has no tenant changes nothing, and must not wait
    /// for other nobodies.
    pub fn of<G>(admitted: &Admitted<G>) -> Option<Kept> {
        if admitted.principal.tenant.is_empty() {
            return None;
        }
        let key = admitted.idempotency_key.clone()?;
        let name = hash(&[admitted.principal.owner.as_bytes(), key.as_bytes()]);
        let fingerprint = hash(&[
            admitted.method.as_str().as_bytes(),
            admitted.path.as_bytes(),
            admitted.raw_query.as_bytes(),
            admitted.content.bytes(),
        ]);
        let name: Arc<str> = hex::encode(name).into();
        let (plugin, principal) = (admitted.mounted.plugin.clone(), admitted.principal.clone());
        Some(Kept { name, fingerprint, key, plugin, principal })
    }

    /// What the sealed text is bound to.
    fn context(&self) -> AnswerContext<'_> {
        AnswerContext { plugin: &self.plugin, tenant: &self.principal.tenant, owner: &self.principal.owner }
    }

    /// Plugin, tenant and name: one gate for each.
    fn place(&self) -> Place {
        (self.plugin.clone(), self.principal.tenant.clone(), self.name.clone())
    }

    /// The stored answer, or the failure that stands for it. Noted as a read: an answer that appears later conflicts.
    pub async fn find(&self, draft: &mut Draft) -> Result<Option<Answer>, Failure> {
        let stored = match draft.find_answer(&self.name).await {
            Ok(Some(stored)) => stored,
            Ok(None) => return Ok(None),
            Err(error) => {
                tracing::error!("kept answers cannot be read: {error}");
                return Err(Failure::Unavailable);
            }
        };
        if stored.fingerprint != self.fingerprint {
            return Err(Failure::IdempotencyMismatch);
        }
        match self.open(&stored.sealed) {
            Some(answer) => Ok(Some(answer)),
            None => {
                tracing::error!("a kept answer cannot be opened: it was changed in the database");
                Err(Failure::Unavailable)
            }
        }
    }

    /// Returns the idempotency record for the change set. A stream is not kept. `Unavailable` if it cannot be sealed.
    pub fn keep_reply(&self, reply: &Reply) -> Result<Option<KeptAnswer>, Failure> {
        let Reply::Whole(answer, _) = reply else { return Ok(None) };
        self.seal(answer).map(Some).ok_or_else(|| {
            tracing::error!("an answer to keep cannot be sealed");
            Failure::Unavailable
        })
    }

    fn seal(&self, answer: &Answer) -> Option<KeptAnswer> {
        let head =
            Head { status: answer.status, headers: answer.headers.clone(), media_type: answer.media_type.clone() };
        let mut plain = serde_json::to_vec(&head).ok()?;
        plain.push(b'\n');
        plain.extend_from_slice(&answer.body);
        let sealed = secrets::seal_answer(&self.key, self.context(), &plain).ok()?;
        Some(KeptAnswer { name: self.name.clone(), fingerprint: self.fingerprint, sealed: sealed.into() })
    }

    fn open(&self, sealed: &[u8]) -> Option<Answer> {
        let plain = secrets::open_answer(&self.key, self.context(), sealed).ok()?;
        let at = plain.iter().position(|byte| *byte == b'\n')?;
        let (head, body) = plain.split_at_checked(at)?;
        let head: Head = serde_json::from_slice(head).ok()?;
        let mut headers = head.headers;
        headers.push((REPLAYED.to_owned(), "true".to_owned()));
        let body = Bytes::copy_from_slice(body.get(1..)?);
        Some(Answer { status: head.status, headers, media_type: head.media_type, body })
    }
}

/// SHA-256 over the parts, each with its length in front, so that no two lists of parts look alike.
fn hash(parts: &[&[u8]]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part);
    }
    hasher.finalize().into()
}

type Place = (Arc<str>, Arc<str>, Arc<str>);
type Gate = Arc<tokio::sync::Mutex<()>>;

/// One gate for each key in use: a second request with the same key waits for the first.
#[derive(Default)]
pub struct Gates(Mutex<HashMap<Place, Gate>>);

/// Holds the gate of one key; the next one in line may pass when it is dropped.
pub struct Passage<'a> {
    gates: &'a Gates,
    place: Place,
    held: Option<OwnedMutexGuard<()>>,
}

impl Gates {
    /// `IdempotencyInProgress` where the first one still runs at the deadline, or too many wait for it already.
    pub async fn pass(&self, kept: &Kept, deadline: Instant) -> Result<Passage<'_>, Failure> {
        let gate = self.0.lock().entry(kept.place()).or_default().clone();
        // Besides those who wait, the map holds it, who passed, and this call.
        if Arc::strong_count(&gate) > IDEMPOTENCY_WAITING_MAX + 3 {
            return Err(Failure::IdempotencyInProgress);
        }
        let mut passage = Passage { gates: self, place: kept.place(), held: None };
        match timeout_at(deadline, gate.lock_owned()).await {
            Ok(held) => {
                passage.held = Some(held);
                Ok(passage)
            }
            Err(_) => Err(Failure::IdempotencyInProgress),
        }
    }
}

impl Drop for Passage<'_> {
    fn drop(&mut self) {
        self.held = None;
        let mut gates = self.gates.0.lock();
        // Only the map holds it: nobody runs and nobody waits.
        if gates.get(&self.place).is_some_and(|gate| Arc::strong_count(gate) == 1) {
            gates.remove(&self.place);
        }
    }
}
