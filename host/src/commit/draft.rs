//! One call's view: reads that are noted, writes that are collected. Capabilities are thin over it.
//!
//! Never changes anything outside of itself, but for filling the overlay with what it loaded. What it looked at once
//! stands for the rest of the call.
//!
//! - `records`: get, insert, replace, delete, unique slots, guards. `find`: pages and counts.
//! - `endpoints`: of webhooks. `destinations`: of calls. `credentials`: keys and tokens.
//!   `chains`: what is watched on blockchains. `tasks`: timers and effects. `ledger`: accounts, balances,
//!   transfers. `facts`: events, journal, numbers, kept answers.

use std::sync::Arc;

use indexmap::{IndexMap, IndexSet, map};

use super::committer::{Changes, RunningCall};
use super::decide::Purpose;
use super::overlay::{CollectionSearch, Content};
use crate::budget::Charge;
use crate::changes::change_set::{
    ChangeSet, DeliveryCommand, Event, JournalLine, KeptAnswer, Key, Read, RecordWrite, Space,
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
use ledger::Books;
pub use ledger::LedgerRefusal;
pub use records::{Entry, RecordRefusal};
pub use tasks::{Stored, raw};

/// What the host knows about a call. The same in every run of it.
#[derive(Clone, Debug)]
pub struct CallIdentity {
    /// `None` for an anonymous principal: it finds nothing and can change nothing.
    pub scope: Option<Scope>,
    pub model: Arc<DataModel>,
    pub now: Timestamp,
    /// Who: the subject of the principal.
    pub subject: Arc<str>,
    pub operation: Arc<str>,
    pub request_id: Arc<str>,
    /// Where ids come from.
    pub seed: [u8; 32],
    /// Deliveries and calls between hosts that led to this one. What the call causes carries it on.
    pub hops: u8,
}

#[derive(Debug, thiserror::Error)]
pub enum DraftError {
    /// The plugin did what it must not do: a sentence for its author. The call traps with it.
    #[error("{0}")]
    Misuse(String),
    /// The plugin went over a limit of its call: a sentence for its author. The call ends with it.
    #[error("{0}")]
    Limit(String),
    /// A cursor that is none of this query; it may come from the caller of the interface.
    #[error("{0}")]
    BadCursor(String),
    /// A newer generation wrote this record, or one so old that this generation cannot read it.
    #[error("record {id} of {collection} has data version {found}, which this version of the plugin cannot read")]
    Unreadable { collection: Arc<str>, id: Arc<str>, found: u32 },
    /// A swap took place: what serves from now on could not read what this call would write.
    #[error("data version {0} is not written any more")]
    Superseded(u32),
    #[error(transparent)]
    Database(#[from] DbError),
}

/// What stood at a key when the call first looked.
struct Stand {
    version: Version,
    content: Content,
}

pub struct Draft {
    running: RunningCall,
    call: CallIdentity,
    seen: IndexMap<Key, Stand>,
    /// Bytes of what it read.
    seen_bytes: usize,
    searches: Vec<CollectionSearch>,
    /// Of record keys. `None`: deleted.
    records: IndexMap<Key, Option<NewRecord>>,
    uniques: IndexMap<Key, Option<Arc<str>>>,
    guards: IndexSet<Arc<str>>,
    books: Books,
    events: Vec<Event>,
    deliveries: Vec<DeliveryCommand>,
    credentials: Credentials,
    journal: Vec<JournalLine>,
    operator: Option<OperatorAction>,
    event_ids: EventIds,
    /// Names of the counters that gave it numbers.
    counters: IndexSet<Arc<str>>,
    /// The effect whose outcome this call is told.
    told: Option<Arc<str>>,
    waits_for: Version,
    bytes: usize,
    /// For its part of the memory of the call, once that has run.
    charge: Option<Charge>,
}

impl Draft {
    pub(super) fn new(running: RunningCall, call: CallIdentity) -> Draft {
        Draft {
            running,
            seen: IndexMap::new(),
            seen_bytes: 0,
            searches: Vec::new(),
            records: IndexMap::new(),
            uniques: IndexMap::new(),
            guards: IndexSet::new(),
            books: Books::default(),
            events: Vec::new(),
            deliveries: Vec::new(),
            credentials: Credentials::new(call.seed),
            journal: Vec::new(),
            operator: None,
            event_ids: EventIds::new(call.seed, call.now),
            counters: IndexSet::new(),
            told: None,
            waits_for: 0,
            bytes: 0,
            charge: None,
            call,
        }
    }

    /// The call follows from one with this count: a task from the call that scheduled it.
    pub fn set_hops(&mut self, hops: u8) {
        self.call.hops = hops;
    }

    pub fn call(&self) -> &CallIdentity {
        &self.call
    }

    /// Estimate of the memory that it holds: its changes, and what it read. The overlay may have forgotten what was read.
    pub fn held_bytes(&self) -> usize {
        self.changed_bytes().saturating_add(self.seen_bytes)
    }

    /// The same of its changes, with the keys of what it read.
    pub fn changed_bytes(&self) -> usize {
        let keys = self.seen.len() + self.records.len() + self.books.len();
        let lines = self.events.len() + self.deliveries.len() + self.journal.len();
        self.bytes.saturating_add((keys + lines) * CHANGE_ROW_BYTES)
    }

    /// Holds the charge until its changes are durable or dropped.
    pub fn keep_charge(&mut self, charge: Charge) {
        self.charge = Some(charge);
    }

    /// Writes the line of the operators' journal together with the changes.
    pub fn note_operator(&mut self, action: OperatorAction) {
        self.operator = Some(action);
    }

    /// All that the call wants changed. `answer` is kept for its idempotency key.
    pub fn into_changes(self, answer: Option<KeptAnswer>) -> Changes {
        self.into_parts(Purpose::Commit, answer)
    }

    /// What is left of it when the plugin refused or trapped: journal lines, and everything that it saw.
    pub fn into_refusal(self) -> Changes {
        self.into_parts(Purpose::Refusal, None)
    }

    fn into_parts(mut self, purpose: Purpose, answer: Option<KeptAnswer>) -> Changes {
        let (charge, searches) = (self.charge.take(), std::mem::take(&mut self.searches));
        let (scope, model) = (self.call.scope.clone(), self.call.model.clone());
        let (waits_for, bodies) = (self.waits_for, self.bytes + answer.as_ref().map_or(0, |kept| kept.sealed.len()));
        let (running, set) = match scope {
            None => (self.running, None),
            Some(scope) => self.into_change_set(scope, answer),
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
        let (waits_for_room, deadline) = (true, None);
        Changes {
            running,
            set,
            searches,
            model,
            purpose,
            waits_for,
            bytes,
            charge,
            holds_memory,
            waits_for_room,
            deadline,
        }
    }

    fn into_change_set(self, scope: Scope, answer: Option<KeptAnswer>) -> (RunningCall, Option<ChangeSet>) {
        let mut set = ChangeSet::new(scope.clone(), self.call.now);
        set.reads = self.seen.into_iter().map(|(key, stand)| Read { key, seen: stand.version }).collect();
        if let Some(kept) = &answer {
            // A kept answer is only ever new, whether the call has asked for it or not.
            let key = Key { scope, space: Space::Answer, name: kept.name.clone() };
            if !set.reads.iter().any(|read| read.key == key) {
                set.reads.push(Read { key, seen: 0 });
            }
        }
        set.records = self.records.into_iter().filter_map(record_write).collect();
        set.uniques = self.uniques.into_iter().map(|(key, owner)| UniqueWrite { key, owner }).collect();
        set.guards = self.guards.into_iter().collect();
        self.books.into_change_set(&mut set);
        set.events = self.events;
        set.deliveries = self.deliveries;
        set.credentials = self.credentials.into_changes();
        set.journal = self.journal;
        set.operator = self.operator;
        set.answer = answer;
        (self.running, Some(set))
    }

    fn database(&self) -> Database {
        self.running.shared.database.clone()
    }

    /// For whatever changes something: an anonymous call may not.
    fn scope(&self) -> Result<Scope, DraftError> {
        let nobody = || misuse("an open route has no tenant: its calls can change nothing");
        self.call.scope.clone().ok_or_else(nobody)
    }

    /// What stands at the key as far as it is known without the database.
    fn look(&mut self, key: &Key) -> Result<Option<Content>, DraftError> {
        if let Some(stand) = self.seen.get(key) {
            return Ok(Some(stand.content.clone()));
        }
        let Some(seen) = self.running.shared.look(key) else { return Ok(None) };
        self.waits_for = self.waits_for.max(seen.waits_for);
        self.note(key.clone(), seen.version, seen.content.clone())?;
        Ok(Some(seen.content))
    }

    /// Notes what the database said; `None` for absent. Returns what stands there, which may be newer.
    fn keep(&mut self, key: Key, found: Option<(Version, Content)>) -> Result<Content, DraftError> {
        let (version, content) = found.unwrap_or((0, Content::Absent));
        let seen = self.running.shared.fill(&self.running.began, &key, version, content);
        self.waits_for = self.waits_for.max(seen.waits_for);
        self.note(key, seen.version, seen.content.clone())?;
        Ok(seen.content)
    }

    fn note(&mut self, key: Key, version: Version, content: Content) -> Result<(), DraftError> {
        self.check_keys()?;
        if let map::Entry::Vacant(place) = self.seen.entry(key) {
            self.seen_bytes = self.seen_bytes.saturating_add(content.bytes());
            place.insert(Stand { version, content });
        }
        Ok(())
    }

    /// Returns an error if the call uses `CALL_KEYS_MAX` keys already.
    fn check_keys(&self) -> Result<(), DraftError> {
        if self.seen.len() + self.records.len() + self.books.len() >= CALL_KEYS_MAX {
            return Err(DraftError::Limit(format!("a call may look at and write {CALL_KEYS_MAX} things at most")));
        }
        Ok(())
    }

    /// Counts what is collected.
    fn collect(&mut self, bytes: usize) -> Result<(), DraftError> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > CHANGE_SET_BYTES_MAX {
            return Err(DraftError::Limit(format!("a call may write {CHANGE_SET_BYTES_MAX} bytes at most")));
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

/// Ids and names become keys of indexes: bounded, and free of NUL, which not every database stores.
fn check_name(what: &str, name: &str) -> Result<(), DraftError> {
    if name.is_empty() || name.len() > KEY_BYTES_MAX || name.contains('\0') {
        let begins: String = name.chars().take(40).collect();
        return Err(misuse(format!("{what} must have 1 to {KEY_BYTES_MAX} bytes and no NUL: {begins:?}")));
    }
    Ok(())
}

/// One JSON text and nothing else.
fn check_json(what: &str, text: &str) -> Result<(), DraftError> {
    let parsed: Result<&serde_json::value::RawValue, _> = serde_json::from_str(text);
    parsed.map(|_| ()).map_err(|error| misuse(format!("{what} is not JSON: {error}")))
}
