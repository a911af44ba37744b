//! The view of one call: records its reads and collects its writes. Capabilities are thin wrappers around it.
//!
//! Changes nothing outside of itself, except that it fills the overlay with values that it loaded and takes numbers
//! from counters. A key that was read once has the same value for the rest of the call, except in the pages of `find`.
//! A call that read two versions of one record conflicts, even if it changes nothing.
//!
//! - `records`: get, insert, replace, delete, unique slots, guards. `find`: pages and counts.
//! - `endpoints`: webhook endpoints. `destinations`: destinations of outgoing calls. `credentials`: keys and tokens.
//!   `chains`: watched addresses and transactions. `tasks`: timers and effects. `ledger`: accounts, balances,
//!   transfers. `facts`: events, journal, numbers, idempotency records.

use std::sync::Arc;

use indexmap::{IndexMap, IndexSet, map};

use super::committer::{Changes, Committer, RunningCall};
use super::decide::Purpose;
use super::overlay::{CollectionSearch, Content};
use crate::budget::Charge;
use crate::changes::change_set::{
    ChangeSet, DeliveryCommand, Event, IdempotencyRecord, JournalLine, Key, Read, RecordWrite, Space,
};
use crate::changes::change_set::{NewRecord, UniqueWrite, Version};
use crate::changes::operator_action::OperatorAction;
use crate::changes::scope::Scope;
use crate::clock::Timestamp;
use crate::db::model::DataModel;
use crate::db::{Database, DbError};
use crate::limits::{CALL_KEYS_MAX, CHANGE_ROW_BYTES, CHANGE_SET_BYTES_MAX, KEY_BYTES_MAX};

mod chains;
mod credentials;
mod destinations;
mod endpoints;
mod facts;
mod find;
mod ledger;
mod records;
mod tasks;
#[cfg(test)]
mod tests;

pub use crate::db::credentials::IssuedCredential;
pub use crate::db::deliveries::{DeliveryState, StoredAttempt, StoredDelivery};
pub use crate::db::feed::{FeedFilter, FeedPage};
pub use crate::db::find::{Comparison, Condition, Query, Sort, Value};
use credentials::Credentials;
pub use credentials::Grant;
pub use endpoints::{EndpointEntry, TooMany};
use facts::EventIds;
pub use find::FoundPage;
use ledger::LedgerDraft;
pub use ledger::LedgerError;
pub use records::{Entry, RecordError};
pub use tasks::{Stored, raw};

/// Properties of a call, the same in every run of it.
#[derive(Clone, Debug)]
pub struct CallIdentity {
    /// `None` for an anonymous principal, which finds nothing and can change nothing.
    pub scope: Option<Scope>,
    pub model: Arc<DataModel>,
    pub now: Timestamp,
    /// Subject of the principal.
    pub subject: Arc<str>,
    pub operation: Arc<str>,
    pub request_id: Arc<str>,
    /// Seed of generated ids.
    pub seed: [u8; 32],
    /// Number of deliveries and calls between hosts that led to this call. Passed on to everything that the call
    /// causes.
    pub hops: u8,
}

#[derive(Debug, thiserror::Error)]
pub enum DraftError {
    /// The plugin violated the contract. The call traps with this message for the plugin's author.
    #[error("{0}")]
    Misuse(String),
    /// The plugin exceeded a limit of its call. The call ends with this message for the plugin's author.
    #[error("{0}")]
    Limit(String),
    /// The cursor does not belong to this query. It may come from the caller of the interface.
    #[error("{0}")]
    BadCursor(String),
    /// The record was written by a newer generation, or by one that is too old for this generation to read.
    #[error("record {id} of {collection} has data version {found}, which this version of the plugin cannot read")]
    Unreadable { collection: Arc<str>, id: Arc<str>, found: u32 },
    /// A swap took place, and the generation that serves now cannot read records that this call would write.
    #[error("data version {0} is no longer written")]
    Superseded(u32),
    #[error(transparent)]
    Database(#[from] DbError),
}

/// The value of a key when the call first read it.
struct SeenValue {
    version: Version,
    content: Content,
}

pub struct Draft {
    running: RunningCall,
    call: CallIdentity,
    seen: IndexMap<Key, SeenValue>,
    /// Bytes of the values that it read.
    seen_bytes: usize,
    searches: Vec<CollectionSearch>,
    /// `find` returned another version of a record than the call had read.
    read_two_versions: bool,
    /// Written records by key. `None`: deleted.
    records: IndexMap<Key, Option<NewRecord>>,
    uniques: IndexMap<Key, Option<Arc<str>>>,
    guards: IndexSet<Arc<str>>,
    ledger: LedgerDraft,
    events: Vec<Event>,
    deliveries: Vec<DeliveryCommand>,
    credentials: Credentials,
    journal: Vec<JournalLine>,
    operator: Option<OperatorAction>,
    event_ids: EventIds,
    /// Names of the counters that it took numbers from.
    counters: IndexSet<Arc<str>>,
    /// The effect whose outcome this call receives.
    reported_effect: Option<Arc<str>>,
    waits_for: Version,
    bytes: usize,
    /// Charge for its part of the memory of the call. Set after the run.
    charge: Option<Charge>,
}

impl Committer {
    /// Returns the draft of a new call. Entries that are accepted from now on are not evicted before the draft, or the
    /// changes made from it, are dropped, unless the call becomes outdated because it pins too many bytes.
    pub fn begin(&self, call: CallIdentity) -> Draft {
        Draft::new(self.register_call(), call)
    }
}

impl Draft {
    fn new(running: RunningCall, call: CallIdentity) -> Draft {
        Draft {
            running,
            seen: IndexMap::new(),
            seen_bytes: 0,
            searches: Vec::new(),
            read_two_versions: false,
            records: IndexMap::new(),
            uniques: IndexMap::new(),
            guards: IndexSet::new(),
            ledger: LedgerDraft::default(),
            events: Vec::new(),
            deliveries: Vec::new(),
            credentials: Credentials::new(call.seed),
            journal: Vec::new(),
            operator: None,
            event_ids: EventIds::new(call.seed, call.now),
            counters: IndexSet::new(),
            reported_effect: None,
            waits_for: 0,
            bytes: 0,
            charge: None,
            call,
        }
    }

    /// Sets the hops of the call that caused this one. A task has the hops of the call that scheduled it.
    pub fn set_hops(&mut self, hops: u8) {
        self.call.hops = hops;
    }

    pub fn call(&self) -> &CallIdentity {
        &self.call
    }

    /// Returns the estimated memory that it holds: its changes and the values that it read, which may no longer be in
    /// the overlay.
    pub fn held_bytes(&self) -> usize {
        self.changed_bytes().saturating_add(self.seen_bytes)
    }

    /// Returns the estimated memory of its changes and of the keys that it read.
    pub fn changed_bytes(&self) -> usize {
        let keys = self.seen.len() + self.records.len() + self.ledger.len();
        let lines = self.events.len() + self.deliveries.len() + self.journal.len();
        self.bytes.saturating_add((keys + lines) * CHANGE_ROW_BYTES)
    }

    /// Holds the charge until its changes are durable or dropped.
    pub fn keep_charge(&mut self, charge: Charge) {
        self.charge = Some(charge);
    }

    /// Writes the line of the operators' journal together with the changes.
    pub fn record_operator_action(&mut self, action: OperatorAction) {
        self.operator = Some(action);
    }

    /// Returns all changes of the call. `record` is stored for its idempotency key.
    pub fn into_changes(self, record: Option<IdempotencyRecord>) -> Changes {
        self.into_parts(Purpose::Commit, record)
    }

    /// Returns the part that is committed if the plugin refused or trapped: journal lines and all reads.
    pub fn into_refusal(self) -> Changes {
        self.into_parts(Purpose::Refusal, None)
    }

    fn into_parts(mut self, purpose: Purpose, record: Option<IdempotencyRecord>) -> Changes {
        let (charge, searches) = (self.charge.take(), std::mem::take(&mut self.searches));
        let read_two_versions = self.read_two_versions;
        let (scope, model) = (self.call.scope.clone(), self.call.model.clone());
        let (waits_for, bodies) =
            (self.waits_for, self.bytes + record.as_ref().map_or(0, |record| record.sealed.len()));
        let (running, set) = match scope {
            None => (self.running, None),
            Some(scope) => self.into_change_set(scope, record),
        };
        let set = match purpose {
            Purpose::Commit => set,
            Purpose::Refusal => set.map(ChangeSet::into_refusal),
        };
        let bytes = set.as_ref().map_or(0, |set| match purpose {
            Purpose::Commit => bodies + set.rows() * CHANGE_ROW_BYTES,
            // The rest of the bodies is dropped.
            Purpose::Refusal => set.journal_bytes() + set.rows() * CHANGE_ROW_BYTES,
        });
        let holds_memory = charge.is_some();
        let (waits_for_capacity, deadline) = (true, None);
        Changes {
            running,
            set,
            searches,
            read_two_versions,
            model,
            purpose,
            waits_for,
            bytes,
            charge,
            holds_memory,
            waits_for_capacity,
            deadline,
        }
    }

    fn into_change_set(self, scope: Scope, record: Option<IdempotencyRecord>) -> (RunningCall, Option<ChangeSet>) {
        let mut set = ChangeSet::new(scope.clone(), self.call.now);
        set.reads = self.seen.into_iter().map(|(key, seen)| Read { key, seen: seen.version }).collect();
        if let Some(record) = &record {
            // An idempotency record must be new, whether or not the call has read its key.
            let key = Key { scope, space: Space::IdempotencyRecord, name: record.name.clone() };
            if !set.reads.iter().any(|read| read.key == key) {
                set.reads.push(Read { key, seen: 0 });
            }
        }
        set.records = self.records.into_iter().filter_map(record_write).collect();
        set.uniques = self.uniques.into_iter().map(|(key, owner)| UniqueWrite { key, owner }).collect();
        set.guards = self.guards.into_iter().collect();
        self.ledger.into_change_set(&mut set);
        set.events = self.events;
        set.deliveries = self.deliveries;
        set.credentials = self.credentials.into_changes();
        set.journal = self.journal;
        set.operator = self.operator;
        set.idempotency_record = record;
        (self.running, Some(set))
    }

    fn database(&self) -> Database {
        self.running.shared.database.clone()
    }

    /// Returns the scope of a change, or an error for an anonymous call, which can change nothing.
    fn scope(&self) -> Result<Scope, DraftError> {
        let anonymous = || misuse("a call of an open route has no tenant and can change nothing");
        self.call.scope.clone().ok_or_else(anonymous)
    }

    /// Returns the value of the key if it is known without the database.
    fn find_cached(&mut self, key: &Key) -> Result<Option<Content>, DraftError> {
        if let Some(seen) = self.seen.get(key) {
            return Ok(Some(seen.content.clone()));
        }
        let Some(seen) = self.running.shared.get(key) else { return Ok(None) };
        self.waits_for = self.waits_for.max(seen.waits_for);
        self.note(key.clone(), seen.version, seen.content.clone())?;
        Ok(Some(seen.content))
    }

    /// Caches a value from the database (`None`: absent) and records the read. Returns the current value, which may be
    /// newer.
    fn cache(&mut self, key: Key, found: Option<(Version, Content)>) -> Result<Content, DraftError> {
        let (version, content) = found.unwrap_or((0, Content::Absent));
        let seen = self.running.shared.fill(&self.running.began, &key, version, content);
        self.waits_for = self.waits_for.max(seen.waits_for);
        self.note(key, seen.version, seen.content.clone())?;
        Ok(seen.content)
    }

    fn note(&mut self, key: Key, version: Version, content: Content) -> Result<(), DraftError> {
        // Only a new key counts towards the limit.
        let has_room = self.check_keys();
        if let map::Entry::Vacant(vacant) = self.seen.entry(key) {
            has_room?;
            self.seen_bytes = self.seen_bytes.saturating_add(content.bytes());
            vacant.insert(SeenValue { version, content });
        }
        Ok(())
    }

    /// Returns an error if the call uses `CALL_KEYS_MAX` keys already.
    fn check_keys(&self) -> Result<(), DraftError> {
        if self.seen.len() + self.records.len() + self.ledger.len() >= CALL_KEYS_MAX {
            return Err(DraftError::Limit(format!("a call may read and write at most {CALL_KEYS_MAX} keys")));
        }
        Ok(())
    }

    /// Adds to the bytes that the call writes. Returns an error above the limit.
    fn collect(&mut self, bytes: usize) -> Result<(), DraftError> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > CHANGE_SET_BYTES_MAX {
            return Err(DraftError::Limit(format!("a call may write at most {CHANGE_SET_BYTES_MAX} bytes")));
        }
        Ok(())
    }
}

fn record_write((key, after): (Key, Option<NewRecord>)) -> Option<RecordWrite> {
    match key.space {
        Space::Record(collection) => Some(RecordWrite { collection, id: key.name, after }),
        _ => None,
    }
}

fn misuse(sentence: impl Into<String>) -> DraftError {
    DraftError::Misuse(sentence.into())
}

/// Checks an id or a name. They are keys of indexes, so they are bounded and contain no NUL, which not every database
/// stores.
fn check_name(what: &str, name: &str) -> Result<(), DraftError> {
    if name.is_empty() || name.len() > KEY_BYTES_MAX || name.contains('\0') {
        let start: String = name.chars().take(40).collect();
        return Err(misuse(format!("{what} must have 1 to {KEY_BYTES_MAX} bytes and no NUL: {start:?}")));
    }
    Ok(())
}

/// Checks that `text` is exactly one JSON text.
fn check_json(what: &str, text: &str) -> Result<(), DraftError> {
    let parsed: Result<&serde_json::value::RawValue, _> = serde_json::from_str(text);
    parsed.map(|_| ()).map_err(|error| misuse(format!("{what} is not JSON: {error}")))
}
