//! The host in memory: the committed state, the changes of the running call, and the checks of the real host.
//!
//! Invariant: while a call runs, `working` is a copy of `committed` with the changes of the call. `end` replaces
//! `committed` with it if the call commits, and otherwise keeps only its journal.

mod imports;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use serde_json::Value;

use super::chains::{Blockchains, Chains};
use super::credentials::Credentials;
use super::destinations::Destinations;
use super::pending::{PendingWork, Questions};
use super::webhooks::{TestDelivery, Webhooks};
use super::{bounds, search};
use crate::bindings::tenon::plugin::types::Principal;
use crate::host::{Attempt, Destination, Entry, LedgerRefusal, Level, RecordRefusal, Transfer};
use crate::plugin::{Collection, Plugin};

/// An event that a committed call emitted.
#[derive(Clone, Debug, PartialEq)]
pub struct EmittedEvent {
    pub id: String,
    pub tenant: String,
    pub event_type: String,
    pub subject: String,
    pub payload: Value,
    /// Time of the call that emitted it, in milliseconds since 1970.
    pub at: u64,
}

/// Bounds of a balance that the running call requires.
struct Bound {
    account: String,
    asset: String,
    at_least: Option<i128>,
    at_most: Option<i128>,
}

#[derive(Clone, Default)]
pub(super) struct State {
    /// Records by tenant, collection and id.
    records: BTreeMap<(String, String, String), Entry>,
    events: Vec<EmittedEvent>,
    /// Balances by tenant, account and asset.
    balances: BTreeMap<(String, String, String), i128>,
    external: Vec<(String, String)>,
    transfers: Vec<(String, String)>,
    journal: Vec<Value>,
    webhooks: Webhooks,
    pub(super) pending: PendingWork,
    destinations: Destinations,
    pub(super) credentials: Credentials,
    pub(super) chains: Chains,
    /// Test events. Each has one endpoint, and none is in `events`.
    test_events: Vec<EmittedEvent>,
}

/// A host for one plugin. Its clock moves only when the test advances it.
pub struct TestHost {
    plugin: &'static Plugin,
    /// OpenAPI document against which answers and events are validated.
    document: Option<Value>,
    pub(super) committed: RefCell<State>,
    working: RefCell<State>,
    bounds: RefCell<Vec<Bound>>,
    pub(super) questions: RefCell<Questions>,
    pub(super) blockchains: RefCell<Option<Box<dyn Blockchains>>>,
    settings: RefCell<BTreeMap<String, String>>,
    numbers: RefCell<BTreeMap<(String, String), u64>>,
    log: RefCell<Vec<(Level, String)>>,
    tenant: RefCell<String>,
    now: Cell<u64>,
    version: Cell<u64>,
    requests: Cell<u64>,
    /// Whether the running call stated that its answer is repeatable.
    pub(super) repeatable: Cell<bool>,
    /// State of the random generator. Ids differ within a test and are equal in each run of the test.
    random: Cell<u64>,
}

impl TestHost {
    /// Returns a host without records and settings.
    pub fn new(plugin: &'static Plugin) -> TestHost {
        TestHost {
            plugin,
            document: None,
            committed: RefCell::default(),
            working: RefCell::default(),
            bounds: RefCell::default(),
            questions: RefCell::default(),
            blockchains: RefCell::default(),
            settings: RefCell::default(),
            numbers: RefCell::default(),
            log: RefCell::default(),
            tenant: RefCell::default(),
            now: Cell::new(super::START_MS),
            version: Cell::new(0),
            requests: Cell::new(0),
            repeatable: Cell::new(false),
            random: Cell::new(0x9e37_79b9_7f4a_7c15),
        }
    }

    /// Sets a value of the plugin's section of plugins.toml: one JSON text.
    pub fn setting(self, key: &str, json: &str) -> TestHost {
        self.settings.borrow_mut().insert(key.to_owned(), json.to_owned());
        self
    }

    /// Validates each answer and event against the plugin's OpenAPI document.
    pub fn validate_openapi(self) -> TestHost {
        TestHost { document: self.plugin.openapi.map(parsed), ..self }
    }

    /// Returns the time in milliseconds since 1970-01-01T00:00:00Z.
    pub fn now(&self) -> u64 {
        self.now.get()
    }

    /// Advances the clock.
    pub fn advance_ms(&self, milliseconds: u64) {
        self.now.set(self.now.get() + milliseconds);
    }

    /// Returns a committed record of the default tenant.
    pub fn record(&self, collection: &str, id: &str) -> Option<Value> {
        let key = (super::TENANT.to_owned(), collection.to_owned(), id.to_owned());
        self.committed.borrow().records.get(&key).map(|entry| parsed(&entry.body))
    }

    /// Stores a record of the default tenant, as an older version of the plugin may have written it.
    pub fn put_record(&self, collection: &str, id: &str, body: &Value) {
        let key = (super::TENANT.to_owned(), collection.to_owned(), id.to_owned());
        let entry = self.entry(id, &body.to_string(), self.now.get());
        self.committed.borrow_mut().records.insert(key, entry);
    }

    /// Returns the committed balances of the default tenant, by account and asset.
    pub fn balances(&self) -> BTreeMap<(String, String), i128> {
        let state = self.committed.borrow();
        let own = state.balances.iter().filter(|((tenant, _, _), _)| tenant == super::TENANT);
        own.map(|((_, account, asset), balance)| ((account.clone(), asset.clone()), *balance)).collect()
    }

    /// Returns the events of committed calls, in order.
    pub fn events(&self) -> Vec<EmittedEvent> {
        self.committed.borrow().events.clone()
    }

    /// Returns the deliveries to webhook endpoints, in the order of their events.
    pub fn deliveries(&self) -> Vec<TestDelivery> {
        self.committed.borrow().webhooks.list().to_vec()
    }

    /// Records an attempt of a delivery to an endpoint of the default tenant, and the resulting state of the delivery:
    /// "retrying", "delivered" or "failed".
    pub fn record_attempt(&self, endpoint: &str, event: &str, attempt: Attempt, state: &str) {
        self.committed.borrow_mut().webhooks.record_attempt(super::TENANT, endpoint, event, attempt, state);
    }

    /// Disables an endpoint of the default tenant, as the host does when deliveries fail for too long.
    pub fn disable_endpoint(&self, id: &str, reason: &str) {
        self.committed.borrow_mut().webhooks.disable(super::TENANT, id, reason);
    }

    /// Returns a destination of the default tenant, with its secrets.
    pub fn destination(&self, name: &str) -> Option<Destination> {
        self.committed.borrow().destinations.find(super::TENANT, name).cloned()
    }

    /// Returns the journal entries of all calls, including refused ones.
    pub fn journal(&self) -> Vec<Value> {
        self.committed.borrow().journal.clone()
    }

    /// Returns the log messages of all calls.
    pub fn logged(&self) -> Vec<(Level, String)> {
        self.log.borrow().clone()
    }

    pub(super) fn plugin(&self) -> &'static Plugin {
        self.plugin
    }

    pub(super) fn document(&self) -> Option<&Value> {
        self.document.as_ref()
    }

    pub(super) fn next_request_id(&self) -> String {
        self.requests.set(self.requests.get() + 1);
        format!("req_{:010}", self.requests.get())
    }

    pub(super) fn begin(&self, principal: &Principal) {
        self.tenant.replace(principal.tenant.clone());
        self.bounds.borrow_mut().clear();
        *self.working.borrow_mut() = self.committed.borrow().clone();
    }

    /// Runs `call` on the committed state and discards its changes.
    pub(super) fn run_discarded<T>(&self, principal: &Principal, call: impl FnOnce() -> T) -> T {
        let working = self.working.borrow().clone();
        self.begin(principal);
        let result = call();
        *self.working.borrow_mut() = working;
        result
    }

    pub(super) fn end(&self, commit: bool) {
        let mut working = self.working.take();
        if commit {
            self.check_bounds(&working);
            let known = self.committed.borrow().events.len();
            for event in working.events.iter().skip(known) {
                self.check_event(event);
                working.webhooks.deliver(event, self.now.get());
            }
            *self.committed.borrow_mut() = working;
        } else {
            self.committed.borrow_mut().journal = working.journal;
        }
    }

    fn check_bounds(&self, state: &State) {
        for Bound { account, asset, at_least, at_most } in self.bounds.borrow().iter() {
            let balance = state.balances.get(&(self.tenant(), account.clone(), asset.clone())).copied().unwrap_or(0);
            let holds = at_least.is_none_or(|bound| balance >= bound) && at_most.is_none_or(|bound| balance <= bound);
            assert!(holds, "{account} ({asset}) violates a required bound: the real host would retry the call forever");
        }
    }

    /// Returns the tenant of the running call. Fails the test on an open route, which has no keys and no blockchains.
    pub(super) fn working_tenant(&self) -> String {
        self.writing_tenant()
    }

    fn tenant(&self) -> String {
        self.tenant.borrow().clone()
    }

    fn writing_tenant(&self) -> String {
        let tenant = self.tenant();
        assert!(!tenant.is_empty(), "an open route has no tenant and must not change anything");
        tenant
    }

    fn collection(&self, name: &str) -> &'static Collection {
        let found = self.plugin.collections.iter().find(|collection| collection.name == name);
        found.unwrap_or_else(|| panic!("collection {name} is not declared in the manifest"))
    }

    fn key(&self, collection: &str, id: &str) -> (String, String, String) {
        bounds::check_id(id);
        let collection = self.collection(collection);
        (self.tenant(), collection.name.to_owned(), id.to_owned())
    }

    fn entry(&self, id: &str, body: &str, created_at: u64) -> Entry {
        parsed(body);
        self.version.set(self.version.get() + 1);
        let version = self.version.get();
        Entry { id: id.to_owned(), version, body: body.to_owned(), created_at, updated_at: self.now.get() }
    }

    fn check_record(&self, collection: &str, id: &str, text: &str) -> Result<(), RecordRefusal> {
        let (tenant, body) = (self.tenant(), parsed(text));
        bounds::check_record(self.collection(collection), text, &body)?;
        let state = self.working.borrow();
        for index in self.collection(collection).indexes.iter().filter(|index| index.unique) {
            let Some(values) = search::unique_values(index, &body) else { continue };
            let taken = state.records.iter().any(|((owner, name, other), entry)| {
                *owner == tenant
                    && name == collection
                    && other != id
                    && search::unique_values(index, &parsed(&entry.body)) == Some(values.clone())
            });
            if taken {
                return Err(RecordRefusal::NotUnique(index.name.to_owned()));
            }
        }
        Ok(())
    }

    fn event(&self, event_type: &str, subject: &str, payload: &str) -> EmittedEvent {
        let declared = self.plugin.event_types.iter().any(|declared| declared.name == event_type);
        assert!(declared, "event type {event_type} is not declared in the manifest");
        let tenant = self.writing_tenant();
        let digits: String = (0..10).map(|_| format!("{:x}", self.fill_random() % 16)).collect();
        let (event_type, subject) = (event_type.to_owned(), subject.to_owned());
        let (id, payload, at) = (format!("event_{digits:0>32}"), parsed(payload), self.now.get());
        EmittedEvent { id, tenant, event_type, subject, payload, at }
    }

    /// Returns a signing secret: "whsec_" and 32 bytes in base64. All characters before the padding are letters.
    fn new_secret(&self) -> String {
        let letter = || char::from(b'a' + (self.fill_random() % 26) as u8);
        format!("whsec_{}A=", (0..42).map(|_| letter()).collect::<String>())
    }

    pub(super) fn randomness(&self) -> u64 {
        self.random.get()
    }

    /// Resets the generator, so that every round of a call generates the same ids.
    pub(super) fn repeat_randomness(&self, randomness: u64) {
        self.random.set(randomness);
    }

    fn fill_random(&self) -> u64 {
        // splitmix64
        let state = self.random.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.random.set(state);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn check_transfer(&self, state: &State, transfer: &Transfer) -> Result<i128, LedgerRefusal> {
        let tenant = self.tenant();
        if state.transfers.contains(&(tenant, transfer.id.clone())) {
            return Err(LedgerRefusal::AlreadyPosted(transfer.id.clone()));
        }
        match amount(&transfer.amount) {
            Some(amount) if amount > 0 && transfer.debit != transfer.credit => Ok(amount),
            _ => Err(LedgerRefusal::Malformed(transfer.id.clone())),
        }
    }
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("this is not JSON ({error}): {text}"))
}

fn amount(text: &str) -> Option<i128> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}
