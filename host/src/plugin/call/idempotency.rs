//! `Idempotency-Key`: a repeated request with the same key receives the stored answer.
//!
//! The record is written in the transaction of the changes, so that neither exists without the other. It is sealed
//! under a key derived from the idempotency key and can be read only with that key. The locks serialize requests with
//! equal keys in this process. Correctness depends on the commit and not on the locks.

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
    changes::change_set::IdempotencyRecord,
    commit::draft::Draft,
    host_error::HostError,
    limits::IDEMPOTENCY_WAITING_MAX,
    plugin::exchange::{Admitted, Answer, CallResponse},
    secrets::{self, AnswerContext},
};

/// Header that distinguishes a stored answer from a first one.
const REPLAYED: &str = "idempotency-replayed";

/// A request with an idempotency key: the name of its record, and the fingerprint of the request.
pub struct IdempotentRequest {
    /// Name of the record: hex SHA-256 of the owner of the credential and the key.
    name: Arc<str>,
    /// SHA-256 of method, path, query and body.
    fingerprint: [u8; 32],
    key: String,
    plugin: Arc<str>,
    principal: Arc<Principal>,
}

/// The part of a record in front of the body.
#[derive(Serialize, Deserialize)]
struct RecordHead {
    status: u16,
    headers: Vec<(String, String)>,
    media_type: Option<String>,
}

impl IdempotentRequest {
    /// Creates the value for a request. Returns `None` if the request has no key, or its caller has no tenant. A caller
    /// without a tenant changes nothing, and must not wait for other callers without a tenant.
    pub fn of<G>(admitted: &Admitted<G>) -> Option<IdempotentRequest> {
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
        Some(IdempotentRequest { name, fingerprint, key, plugin, principal })
    }

    /// Returns the values that the sealed record is bound to.
    fn context(&self) -> AnswerContext<'_> {
        AnswerContext { plugin: &self.plugin, tenant: &self.principal.tenant, owner: &self.principal.owner }
    }

    /// Returns plugin, tenant and name.
    fn lock_key(&self) -> LockKey {
        (self.plugin.clone(), self.principal.tenant.clone(), self.name.clone())
    }

    /// Returns the stored answer. The draft registers the read, so that a record that is written later conflicts.
    pub async fn find(&self, draft: &mut Draft) -> Result<Option<Answer>, HostError> {
        let stored = match draft.find_idempotency_record(&self.name).await {
            Ok(Some(stored)) => stored,
            Ok(None) => return Ok(None),
            Err(error) => {
                tracing::error!("failed to read an idempotency record: {error}");
                return Err(HostError::Unavailable);
            }
        };
        if stored.fingerprint != self.fingerprint {
            return Err(HostError::IdempotencyMismatch);
        }
        match self.open(&stored.sealed) {
            Some(answer) => Ok(Some(answer)),
            None => {
                tracing::error!("failed to open an idempotency record: it was changed in the database");
                Err(HostError::Unavailable)
            }
        }
    }

    /// Returns the idempotency record for the change set. A stream has none. Fails with `Unavailable` if it cannot be
    /// sealed.
    pub fn make_record(&self, reply: &CallResponse) -> Result<Option<IdempotencyRecord>, HostError> {
        let CallResponse::Whole(answer, _) = reply else { return Ok(None) };
        self.seal(answer).map(Some).ok_or_else(|| {
            tracing::error!("failed to seal an idempotency record");
            HostError::Unavailable
        })
    }

    fn seal(&self, answer: &Answer) -> Option<IdempotencyRecord> {
        let head = RecordHead {
            status: answer.status,
            headers: answer.headers.clone(),
            media_type: answer.media_type.clone(),
        };
        let mut plain = serde_json::to_vec(&head).ok()?;
        plain.push(b'\n');
        plain.extend_from_slice(&answer.body);
        let sealed = secrets::seal_answer(&self.key, self.context(), &plain).ok()?;
        Some(IdempotencyRecord { name: self.name.clone(), fingerprint: self.fingerprint, sealed: sealed.into() })
    }

    fn open(&self, sealed: &[u8]) -> Option<Answer> {
        let plain = secrets::open_answer(&self.key, self.context(), sealed).ok()?;
        let at = plain.iter().position(|byte| *byte == b'\n')?;
        let (head, body) = plain.split_at_checked(at)?;
        let head: RecordHead = serde_json::from_slice(head).ok()?;
        let mut headers = head.headers;
        headers.push((REPLAYED.to_owned(), "true".to_owned()));
        let body = Bytes::copy_from_slice(body.get(1..)?);
        Some(Answer { status: head.status, headers, media_type: head.media_type, body })
    }
}

/// Returns the SHA-256 of the parts. Each part is prefixed with its length, so that different lists of parts have
/// different digests.
fn hash(parts: &[&[u8]]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part);
    }
    hasher.finalize().into()
}

type LockKey = (Arc<str>, Arc<str>, Arc<str>);
type KeyLock = Arc<tokio::sync::Mutex<()>>;

/// A lock for each key in use: a second request with the same key waits for the first.
#[derive(Default)]
pub struct IdempotencyLocks(Mutex<HashMap<LockKey, KeyLock>>);

/// Holds the lock of one key until it is dropped.
pub struct IdempotencyGuard<'a> {
    locks: &'a IdempotencyLocks,
    lock_key: LockKey,
    held: Option<OwnedMutexGuard<()>>,
}

impl IdempotencyLocks {
    /// Locks the key of a request. Fails with `IdempotencyInProgress` if the first request still runs at the deadline,
    /// or if too many requests already wait for it.
    pub async fn lock(
        &self,
        request: &IdempotentRequest,
        deadline: Instant,
    ) -> Result<IdempotencyGuard<'_>, HostError> {
        let lock = self.0.lock().entry(request.lock_key()).or_default().clone();
        // Besides the waiting requests, the map, the running request, and this one hold a reference.
        if Arc::strong_count(&lock) > IDEMPOTENCY_WAITING_MAX + 3 {
            return Err(HostError::IdempotencyInProgress);
        }
        let mut guard = IdempotencyGuard { locks: self, lock_key: request.lock_key(), held: None };
        match timeout_at(deadline, lock.lock_owned()).await {
            Ok(held) => {
                guard.held = Some(held);
                Ok(guard)
            }
            Err(_) => Err(HostError::IdempotencyInProgress),
        }
    }
}

impl Drop for IdempotencyGuard<'_> {
    fn drop(&mut self) {
        self.held = None;
        let mut locks = self.locks.0.lock();
        // Only the map holds a reference: no request runs or waits.
        if locks.get(&self.lock_key).is_some_and(|lock| Arc::strong_count(lock) == 1) {
            locks.remove(&self.lock_key);
        }
    }
}
