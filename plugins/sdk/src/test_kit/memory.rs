//! The host in memory: what is committed, what the running call changed, and the checks that the real host makes.
//!
//! Invariant: `working` is a copy of `committed` while a call runs; `end` keeps one of them.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use serde_json::Value;

use super::destinations::Destinations;
use super::hooks::{Hooks, TestDelivery};
use super::outside::{Outside, Questions};
use super::{bounds, feed, search};
use crate::bindings::tenon::plugin::types::Principal;
use crate::host::{
    Attempt, Condition, DeliveryPage, Destination, DestinationRefusal, Effect, Endpoint, EndpointState, Entry,
    FeedFilter, FeedPage, Holding, Host, LedgerRefusal, Level, OutgoingCall, Page, Pair, Query, RecordRefusal,
    Response, SubscriptionRefusal, Transfer,
};
use crate::plugin::{Collection, Plugin};

/// An event that a committed call emitted.
#[derive(Clone, Debug, PartialEq)]
pub struct EmittedEvent {
    pub id: String,
    pub tenant: String,
    pub event_type: String,
    pub subject: String,
    pub payload: Value,
    /// Of the clock when it was emitted.
    pub at: u64,
}

/// What the running call requires of a balance.
struct Bound {
    account: String,
    asset: String,
    at_least: Option<i128>,
    at_most: Option<i128>,
}

#[derive(Clone, Default)]
pub(super) struct State {
    /// By tenant, collection, id.
    records: BTreeMap<(String, String, String), Entry>,
    events: Vec<EmittedEvent>,
    /// By tenant, account, asset.
    balances: BTreeMap<(String, String, String), i128>,
    external: Vec<(String, String)>,
    transfers: Vec<(String, String)>,
    journal: Vec<Value>,
    hooks: Hooks,
    pub(super) outside: Outside,
    destinations: Destinations,
    /// For one endpoint each: in no list of events.
    test_events: Vec<EmittedEvent>,
}

/// A host for one plugin. Its clock stands still until a test moves it.
pub struct TestHost {
    plugin: &'static Plugin,
    pub(super) committed: RefCell<State>,
    working: RefCell<State>,
    bounds: RefCell<Vec<Bound>>,
    pub(super) questions: RefCell<Questions>,
    settings: RefCell<BTreeMap<String, String>>,
    numbers: RefCell<BTreeMap<(String, String), u64>>,
    log: RefCell<Vec<(Level, String)>>,
    tenant: RefCell<String>,
    now: Cell<u64>,
    version: Cell<u64>,
    requests: Cell<u64>,
    /// State of a small generator: ids differ within a test, and are the same in each run of it.
    random: Cell<u64>,
}

impl TestHost {
    pub fn new(plugin: &'static Plugin) -> TestHost {
        TestHost {
            plugin,
            committed: RefCell::default(),
            working: RefCell::default(),
            bounds: RefCell::default(),
            questions: RefCell::default(),
            settings: RefCell::default(),
            numbers: RefCell::default(),
            log: RefCell::default(),
            tenant: RefCell::default(),
            now: Cell::new(super::START_MS),
            version: Cell::new(0),
            requests: Cell::new(0),
            random: Cell::new(0x9e37_79b9_7f4a_7c15),
        }
    }

    /// A value of the plugin's section of plugins.toml: one JSON text.
    pub fn setting(self, key: &str, json: &str) -> TestHost {
        self.settings.borrow_mut().insert(key.to_owned(), json.to_owned());
        self
    }

    /// Milliseconds since 1970-01-01T00:00:00Z.
    pub fn now(&self) -> u64 {
        self.now.get()
    }

    pub fn advance_ms(&self, milliseconds: u64) {
        self.now.set(self.now.get() + milliseconds);
    }

    /// A committed record of the default tenant.
    pub fn record(&self, collection: &str, id: &str) -> Option<Value> {
        let key = (super::TENANT.to_owned(), collection.to_owned(), id.to_owned());
        self.committed.borrow().records.get(&key).map(|entry| parsed(&entry.body))
    }

    /// Puts a record of the default tenant in place, as an older version of the plugin may have written it.
    pub fn put_record(&self, collection: &str, id: &str, body: &Value) {
        let key = (super::TENANT.to_owned(), collection.to_owned(), id.to_owned());
        let entry = self.entry(id, &body.to_string(), self.now.get());
        self.committed.borrow_mut().records.insert(key, entry);
    }

    /// Committed balances of the default tenant, by account and asset.
    pub fn balances(&self) -> BTreeMap<(String, String), i128> {
        let state = self.committed.borrow();
        let own = state.balances.iter().filter(|((tenant, _, _), _)| tenant == super::TENANT);
        own.map(|((_, account, asset), balance)| ((account.clone(), asset.clone()), *balance)).collect()
    }

    /// What committed calls emitted, in order.
    pub fn events(&self) -> Vec<EmittedEvent> {
        self.committed.borrow().events.clone()
    }

    /// What is on its way to endpoints of webhooks, in the order of the events.
    pub fn deliveries(&self) -> Vec<TestDelivery> {
        self.committed.borrow().hooks.list().to_vec()
    }

    /// What the host would note of a request to an endpoint of the default tenant, and the state that the delivery is in
    /// then: "retrying", "delivered" or "failed".
    pub fn note_attempt(&self, endpoint: &str, event: &str, attempt: Attempt, state: &str) {
        self.committed.borrow_mut().hooks.note_attempt(super::TENANT, endpoint, event, attempt, state);
    }

    /// What the host does with an endpoint of the default tenant that failed for too long.
    pub fn disable_endpoint(&self, id: &str, reason: &str) {
        self.committed.borrow_mut().hooks.disable(super::TENANT, id, reason);
    }

    /// A destination of the default tenant, with its secrets.
    pub fn destination(&self, name: &str) -> Option<Destination> {
        self.committed.borrow().destinations.find(super::TENANT, name).cloned()
    }

    /// Lines that calls appended, also those that refused.
    pub fn journal(&self) -> Vec<Value> {
        self.committed.borrow().journal.clone()
    }

    /// Messages that calls logged.
    pub fn logged(&self) -> Vec<(Level, String)> {
        self.log.borrow().clone()
    }

    pub(super) fn plugin(&self) -> &'static Plugin {
        self.plugin
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

    pub(super) fn end(&self, commit: bool) {
        let mut working = self.working.take();
        if commit {
            self.check_bounds(&working);
            let known = self.committed.borrow().events.len();
            for event in working.events.iter().skip(known) {
                working.hooks.deliver(event, self.now.get());
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
            assert!(holds, "the bound on {account} ({asset}) does not hold: the real host would run the call for ever");
        }
    }

    fn tenant(&self) -> String {
        self.tenant.borrow().clone()
    }

    fn writing_tenant(&self) -> String {
        let tenant = self.tenant();
        assert!(!tenant.is_empty(), "an open route changes nothing: it has no tenant");
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
            let Some(values) = search::slot(index, &body) else { continue };
            let taken = state.records.iter().any(|((owner, name, other), entry)| {
                *owner == tenant
                    && name == collection
                    && other != id
                    && search::slot(index, &parsed(&entry.body)) == Some(values.clone())
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

    /// 32 bytes in base64, of letters alone.
    fn new_secret(&self) -> String {
        let letter = || char::from(b'a' + (self.fill_random() % 26) as u8);
        format!("whsec_{}A=", (0..42).map(|_| letter()).collect::<String>())
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

impl Host for TestHost {
    fn records_get(&self, collection: &str, id: &str) -> Option<Entry> {
        self.working.borrow().records.get(&self.key(collection, id)).cloned()
    }

    fn records_get_many(&self, collection: &str, ids: &[String]) -> Vec<Option<Entry>> {
        ids.iter().map(|id| self.records_get(collection, id)).collect()
    }

    fn records_insert(&self, collection: &str, id: &str, body: &str) -> Result<(), RecordRefusal> {
        self.writing_tenant();
        let key = self.key(collection, id);
        if self.working.borrow().records.contains_key(&key) {
            return Err(RecordRefusal::AlreadyExists);
        }
        self.check_record(collection, id, body)?;
        let entry = self.entry(id, body, self.now.get());
        self.working.borrow_mut().records.insert(key, entry);
        Ok(())
    }

    fn records_replace(&self, collection: &str, id: &str, body: &str) -> Result<(), RecordRefusal> {
        self.writing_tenant();
        let key = self.key(collection, id);
        let Some(before) = self.working.borrow().records.get(&key).cloned() else {
            return Err(RecordRefusal::NotFound);
        };
        self.check_record(collection, id, body)?;
        let entry = self.entry(id, body, before.created_at);
        self.working.borrow_mut().records.insert(key, entry);
        Ok(())
    }

    fn records_delete(&self, collection: &str, id: &str) -> Result<(), RecordRefusal> {
        self.writing_tenant();
        let key = self.key(collection, id);
        self.working.borrow_mut().records.remove(&key).map(|_| ()).ok_or(RecordRefusal::NotFound)
    }

    fn records_find(&self, collection: &str, query: &Query) -> Result<Page, RecordRefusal> {
        search::check_served(self.collection(collection), &query.conditions, &query.sort);
        let (tenant, state) = (self.tenant(), self.committed.borrow());
        let of_tenant = state.records.iter().filter(|((owner, name, _), _)| *owner == tenant && name == collection);
        search::page(of_tenant.map(|(_, entry)| entry), query)
    }

    fn records_count(&self, collection: &str, conditions: &[Condition], limit: u32) -> u32 {
        search::check_served(self.collection(collection), conditions, &[]);
        let (tenant, state) = (self.tenant(), self.committed.borrow());
        let of_tenant = state.records.iter().filter(|((owner, name, _), _)| *owner == tenant && name == collection);
        let found = search::matching(of_tenant.map(|(_, entry)| entry), conditions).len();
        u32::try_from(found).unwrap_or(limit).min(limit)
    }

    fn records_guard(&self, _name: &str) {
        self.writing_tenant();
    }

    fn ledger_open_external(&self, account: &str) {
        let tenant = self.writing_tenant();
        self.working.borrow_mut().external.push((tenant, account.to_owned()));
    }

    fn ledger_balance(&self, account: &str, asset: &str) -> String {
        let key = (self.tenant(), account.to_owned(), asset.to_owned());
        self.working.borrow().balances.get(&key).copied().unwrap_or(0).to_string()
    }

    fn ledger_balances(&self, account: &str) -> Vec<Holding> {
        let (tenant, state) = (self.tenant(), self.working.borrow());
        let of_account = state.balances.iter().filter(|((owner, name, _), _)| *owner == tenant && name == account);
        of_account.map(|((_, _, asset), amount)| Holding { asset: asset.clone(), amount: amount.to_string() }).collect()
    }

    fn ledger_post(&self, transfers: &[Transfer]) -> Result<(), LedgerRefusal> {
        let tenant = self.writing_tenant();
        let mut state = self.working.borrow().clone();
        for transfer in transfers {
            let amount = self.check_transfer(&state, transfer)?;
            for (account, change) in [(&transfer.debit, -amount), (&transfer.credit, amount)] {
                let key = (tenant.clone(), account.clone(), transfer.asset.clone());
                *state.balances.entry(key).or_default() += change;
            }
            state.transfers.push((tenant.clone(), transfer.id.clone()));
        }
        let overdrawn = state.balances.iter().find(|((owner, account, _), amount)| {
            **amount < 0 && *owner == tenant && !state.external.contains(&(owner.clone(), account.clone()))
        });
        if let Some(((_, account, _), _)) = overdrawn {
            return Err(LedgerRefusal::Insufficient(account.clone()));
        }
        *self.working.borrow_mut() = state;
        Ok(())
    }

    fn ledger_require(&self, account: &str, asset: &str, at_least: Option<&str>, at_most: Option<&str>) {
        let bound = |text: &str| amount(text).unwrap_or_else(|| panic!("{text} is not an amount"));
        let (at_least, at_most) = (at_least.map(bound), at_most.map(bound));
        self.bounds.borrow_mut().push(Bound {
            account: account.to_owned(),
            asset: asset.to_owned(),
            at_least,
            at_most,
        });
    }

    fn events_emit(&self, event_type: &str, subject: &str, payload: &str) -> String {
        let event = self.event(event_type, subject, payload);
        let id = event.id.clone();
        self.working.borrow_mut().events.push(event);
        id
    }

    fn events_list(&self, filter: &FeedFilter, after: Option<&str>, limit: u32) -> Option<FeedPage> {
        feed::list(&self.committed.borrow().events, &self.tenant(), (filter, after, limit))
    }

    fn subscriptions_put(&self, endpoint: &Endpoint) -> Result<(), SubscriptionRefusal> {
        let tenant = self.writing_tenant();
        self.working.borrow_mut().hooks.put(&tenant, endpoint, self.now.get(), || self.new_secret())
    }

    fn subscriptions_remove(&self, id: &str) -> bool {
        self.working.borrow_mut().hooks.remove(&self.writing_tenant(), id)
    }

    fn subscriptions_get(&self, id: &str) -> Option<EndpointState> {
        self.working.borrow().hooks.get(&self.tenant(), id)
    }

    fn subscriptions_all(&self) -> Vec<EndpointState> {
        self.working.borrow().hooks.all(&self.tenant())
    }

    fn subscriptions_secret(&self, id: &str) -> Option<String> {
        self.working.borrow().hooks.secret(&self.tenant(), id)
    }

    fn subscriptions_rotate_secret(&self, id: &str) -> Option<String> {
        let secret = self.new_secret();
        self.working.borrow_mut().hooks.rotate(&self.writing_tenant(), id, secret, self.now.get())
    }

    fn subscriptions_deliveries(
        &self,
        endpoint: &str,
        state: Option<&str>,
        after: Option<&str>,
        limit: u32,
    ) -> Option<DeliveryPage> {
        self.committed.borrow().hooks.deliveries(&self.tenant(), endpoint, state, after, limit)
    }

    fn subscriptions_attempts(&self, endpoint: &str, event: &str) -> Option<Vec<Attempt>> {
        self.committed.borrow().hooks.attempts(&self.tenant(), endpoint, event)
    }

    fn subscriptions_redeliver(&self, endpoint: &str, event: &str) -> bool {
        let (tenant, mut working) = (self.writing_tenant(), self.working.borrow_mut());
        let mut known = working.events.iter().chain(&working.test_events);
        let event = known.find(|known| known.tenant == tenant && known.id == event).cloned();
        working.hooks.redeliver(&tenant, endpoint, event.as_ref(), self.now.get())
    }

    fn subscriptions_recover(&self, endpoint: &str, since: u64) -> bool {
        self.working.borrow_mut().hooks.recover(&self.writing_tenant(), endpoint, since, self.now.get())
    }

    fn subscriptions_send_test(&self, endpoint: &str, event_type: &str, payload: &str) -> Option<String> {
        self.subscriptions_get(endpoint)?;
        let event = self.event(event_type, endpoint, payload);
        let (id, mut working) = (event.id.clone(), self.working.borrow_mut());
        working.hooks.deliver_to(&event, endpoint, self.now.get());
        working.test_events.push(event);
        Some(id)
    }

    fn tasks_schedule(&self, name: &str, key: &str, at: u64, payload: &str) {
        self.check_task(name, key);
        parsed(payload);
        self.working.borrow_mut().outside.schedule(&self.writing_tenant(), (name, key), at, payload);
    }

    fn tasks_cancel(&self, name: &str, key: &str) -> bool {
        self.check_task(name, key);
        self.working.borrow_mut().outside.cancel(&self.writing_tenant(), name, key)
    }

    fn effects_start(&self, effect: &Effect) -> bool {
        self.check_effect(effect);
        self.working.borrow_mut().outside.start(&self.writing_tenant(), effect)
    }

    fn effects_cancel(&self, then: &str, key: &str) -> bool {
        self.check_task(then, key);
        self.working.borrow_mut().outside.stop(&self.writing_tenant(), then, key)
    }

    fn questions_ask(&self, key: &str, call: &OutgoingCall) -> Option<Result<Response, String>> {
        self.questions.borrow_mut().ask(key, call)
    }

    fn destinations_put(&self, destination: &Destination) -> Result<(), DestinationRefusal> {
        self.working.borrow_mut().destinations.put(&self.writing_tenant(), destination)
    }

    fn destinations_remove(&self, name: &str) -> bool {
        self.working.borrow_mut().destinations.remove(&self.writing_tenant(), name)
    }

    fn destinations_get(&self, name: &str) -> Option<Destination> {
        self.working.borrow().destinations.get(&self.tenant(), name)
    }

    fn ids_uuid(&self) -> String {
        let (high, low) = (self.fill_random(), self.fill_random());
        let (a, b, c) = (high >> 32, high >> 16 & 0xffff, high & 0x0fff);
        format!("{a:08x}-{b:04x}-7{c:03x}-{:04x}-{:012x}", 0x8000 | low >> 50, low & 0xffff_ffff_ffff)
    }

    fn ids_public_id(&self, prefix: &str) -> String {
        const ALPHABET: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";
        let mut suffix = String::new();
        for _ in 0..10 {
            let letter = ALPHABET.iter().cycle().nth((self.fill_random() % 36) as usize);
            suffix.extend(letter.map(|letter| char::from(*letter)));
        }
        format!("{prefix}_{suffix}")
    }

    fn ids_random(&self, length: u32) -> Vec<u8> {
        (0..length).map(|_| self.fill_random().to_le_bytes()).map(|[byte, ..]| byte).collect()
    }

    fn ids_next(&self, name: &str) -> u64 {
        let mut numbers = self.numbers.borrow_mut();
        let number = numbers.entry((self.tenant(), name.to_owned())).or_default();
        *number += 1;
        *number
    }

    fn journal_append(&self, entry: &str) {
        self.working.borrow_mut().journal.push(parsed(entry));
    }

    fn config_get(&self, key: &str) -> Option<String> {
        self.settings.borrow().get(key).cloned()
    }

    fn log_write(&self, level: Level, message: &str, _fields: &[Pair]) {
        self.log.borrow_mut().push((level, message.to_owned()));
    }
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("this is not JSON ({error}): {text}"))
}

fn amount(text: &str) -> Option<i128> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}
