//! The change set: all changes and all reads of one call. The most important type of the host.
//!
//! A plain value: it can be printed, compared, stored, replayed. It never touches the database. `decide` checks it and
//! `db::apply` writes it.

use std::sync::Arc;

use ethnum::I256;

use super::{credential::CredentialChange, endpoint::EndpointId, operator_action::OperatorAction, scope::Scope};
use crate::clock::Timestamp;

/// A number from one sequence for the whole database, never used twice. 0 means "absent".
pub type Version = u64;

/// Identifies anything that can be read and can therefore conflict. One namespace for everything, so that `decide` has
/// one rule.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    pub scope: Scope,
    pub space: Space,
    /// The id of the record, the values of the unique index, the name of the guard, …
    pub name: Arc<str>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// A record of this collection; `name` is its id.
    Record(Arc<str>),
    /// A slot of a unique index (collection, id of the index); `name` is the JSON array of its values.
    Unique(Arc<str>, Arc<str>),
    /// A guard; `name` is its name in the plugin.
    Guard,
    /// An idempotency record; `name` is the hex SHA-256 of owner and idempotency key.
    IdempotencyRecord,
    /// A ledger transfer; `name` is its id.
    Transfer,
    /// A ledger account. Its version changes when it is opened as external, not with its balance.
    Account,
    /// The balance of an account in this asset; `name` is the account. Transfers are checked by amount, not by version.
    Balance(Arc<str>),
}

/// The current state of a record, accepted or durable.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    pub version: Version,
    pub data_version: u32,
    /// One JSON text.
    pub body: Arc<str>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// A read of a call. `seen` is the version that it read, or 0 if the key was absent.
#[derive(Clone, Debug, PartialEq)]
pub struct Read {
    pub key: Key,
    pub seen: Version,
}

/// A value of an indexed field, as the database stores it. Booleans are 0 and 1. Lists, objects and absent fields are
/// null.
#[derive(Clone, Debug, PartialEq)]
pub enum Field {
    Null,
    Integer(i64),
    Real(f64),
    Text(Arc<str>),
}

/// The last state that the call gave to one record. At most one for each record in a change set.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordWrite {
    pub collection: Arc<str>,
    pub id: Arc<str>,
    /// `None` deletes.
    pub after: Option<NewRecord>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct NewRecord {
    pub body: Arc<str>,
    pub data_version: u32,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// A value for each indexed column of the collection, in the order of `db::model::Collection::columns`.
    pub fields: Vec<Field>,
}

/// A slot of a unique index that this call takes (`Some(id)`) or frees (`None`). A slot that it takes is in `reads`, or
/// was freed by the same call. A slot that it frees belongs to a record in `reads`, and changes only with that record.
#[derive(Clone, Debug, PartialEq)]
pub struct UniqueWrite {
    pub key: Key,
    pub owner: Option<Arc<str>>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Transfer {
    pub id: Arc<str>,
    /// Account whose balance decreases.
    pub debit: Arc<str>,
    /// Account whose balance increases.
    pub credit: Arc<str>,
    pub asset: Arc<str>,
    /// Whole minor units, above zero.
    pub amount: I256,
    pub memo: Arc<str>,
}

/// A balance that the call read, or needs in order to post: its amount before this call.
#[derive(Clone, Debug, PartialEq)]
pub struct BalanceRead {
    pub account: Arc<str>,
    pub asset: Arc<str>,
    pub amount: I256,
    /// May go below zero.
    pub external: bool,
}

/// The balance after this call must lie within these bounds.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    pub account: Arc<str>,
    pub asset: Arc<str>,
    pub at_least: Option<I256>,
    pub at_most: Option<I256>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// "event_…", stable over re-runs of the same call.
    pub id: Arc<str>,
    pub event_type: Arc<str>,
    pub subject: Arc<str>,
    /// One JSON text, envelope included: the exact bytes that leave the host.
    pub body: Arc<str>,
    /// The only endpoint that receives it, regardless of subscriptions: a test event.
    pub only: Option<EndpointId>,
    /// Deliveries and outgoing calls that led to the call.
    pub hops: u8,
}

/// A command of a call about existing deliveries.
#[derive(Clone, Debug, PartialEq)]
pub enum DeliveryCommand {
    /// Delivers the event again now, even if it was delivered before.
    Redeliver { endpoint: EndpointId, event: Arc<str> },
    /// Delivers again all events that were given up since that time.
    Recover { endpoint: EndpointId, since: Timestamp },
}

/// A line of the tenant's journal, chained by hash when it is applied. A refusal also writes it.
#[derive(Clone, Debug, PartialEq)]
pub struct JournalLine {
    /// Subject of the principal that made the call.
    pub subject: Arc<str>,
    pub operation: Arc<str>,
    pub request_id: Arc<str>,
    /// `None` if a version of Tenon that did not record it wrote the line.
    pub decided_by: Option<Arc<DecidedBy>>,
    /// One JSON text.
    pub entry: Arc<str>,
}

impl JournalLine {
    /// Returns the number of bytes of all strings of the row.
    pub fn bytes(&self) -> usize {
        let decided_by = self.decided_by.as_ref().map_or(0, |by| by.version.len() + by.component.len());
        self.subject.len() + self.operation.len() + self.request_id.len() + decided_by + self.entry.len()
    }
}

/// Identifies the generation that decided, so that it can be found again later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecidedBy {
    pub version: String,
    /// Hex SHA-256 of the component.
    pub component: String,
}

/// The answer that is stored for an idempotency key, in the same transaction as the changes of its call.
#[derive(Clone, Debug, PartialEq)]
pub struct IdempotencyRecord {
    /// Hex SHA-256 of owner and key: the `name` of its `Key`.
    pub name: Arc<str>,
    /// SHA-256 of method, full path, query and body.
    pub fingerprint: [u8; 32],
    /// Status, headers and body, sealed under a key derived from the idempotency key.
    pub sealed: Arc<[u8]>,
}

/// All changes and all reads of one call.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangeSet {
    pub scope: Scope,
    /// The time of the call, stored in every row that it writes.
    pub now: Timestamp,
    pub reads: Vec<Read>,
    pub records: Vec<RecordWrite>,
    pub uniques: Vec<UniqueWrite>,
    /// Names of the guards that this call bumps. Their `Read`s are in `reads`.
    pub guards: Vec<Arc<str>>,
    /// Accounts that this call opens as external: their balances may go below zero.
    pub accounts_opened: Vec<Arc<str>>,
    pub balances: Vec<BalanceRead>,
    pub transfers: Vec<Transfer>,
    pub bounds: Vec<Bound>,
    pub events: Vec<Event>,
    pub deliveries: Vec<DeliveryCommand>,
    pub credentials: Vec<CredentialChange>,
    pub journal: Vec<JournalLine>,
    /// Line of the operators' journal, if an operator made this change.
    pub operator: Option<OperatorAction>,
    pub idempotency_record: Option<IdempotencyRecord>,
}

impl ChangeSet {
    pub fn new(scope: Scope, now: Timestamp) -> ChangeSet {
        ChangeSet {
            scope,
            now,
            reads: Vec::new(),
            records: Vec::new(),
            uniques: Vec::new(),
            guards: Vec::new(),
            accounts_opened: Vec::new(),
            balances: Vec::new(),
            transfers: Vec::new(),
            bounds: Vec::new(),
            events: Vec::new(),
            deliveries: Vec::new(),
            credentials: Vec::new(),
            journal: Vec::new(),
            operator: None,
            idempotency_record: None,
        }
    }

    /// Returns true if there is nothing to write, so that no commit is needed.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
            && self.uniques.is_empty()
            && self.guards.is_empty()
            && self.accounts_opened.is_empty()
            && self.transfers.is_empty()
            && self.events.is_empty()
            && self.deliveries.is_empty()
            && self.credentials.is_empty()
            && self.journal.is_empty()
            && self.operator.is_none()
            && self.idempotency_record.is_none()
    }

    /// Returns the approximate number of rows that it writes or deletes, for the estimate of its size.
    pub fn rows(&self) -> usize {
        self.records.len()
            + self.uniques.len()
            + self.guards.len()
            + self.transfers.len()
            + self.events.len()
            + self.deliveries.len()
            + self.credentials.iter().map(CredentialChange::rows).sum::<usize>()
            + self.journal.len()
    }

    pub fn journal_bytes(&self) -> usize {
        self.journal.iter().map(JournalLine::bytes).sum()
    }

    /// Keeps only what a refusal commits: the journal, and the reads that the refusal depends on.
    pub fn into_refusal(self) -> ChangeSet {
        ChangeSet {
            scope: self.scope,
            now: self.now,
            reads: self.reads,
            balances: self.balances,
            bounds: Vec::new(),
            journal: self.journal,
            records: Vec::new(),
            uniques: Vec::new(),
            guards: Vec::new(),
            accounts_opened: Vec::new(),
            transfers: Vec::new(),
            events: Vec::new(),
            deliveries: Vec::new(),
            credentials: Vec::new(),
            operator: None,
            idempotency_record: None,
        }
    }
}
