//! Random interleavings of calls over a map that represents the database. The accepted calls must read the same values
//! when they run one after the other.

use std::collections::HashMap;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::changes::change_set::*;
use crate::changes::scope::Scope;
use crate::commit::overlay::{OverlayLimits, ReadResult};

const CALLS: usize = 4;
const KEYS: u8 = 5;

#[derive(Clone, Debug)]
enum Step {
    Get(u8),
    /// Queries the database. `EndLoad` returns the result.
    StartLoad(u8),
    EndLoad,
    Write(u8, Option<u8>),
    Guard(u8),
    TakeSlot(u8),
    Balance(u8),
    Post(u8, u8, u8),
    Require(u8, u8),
    Reserve,
    Commit,
    Refuse,
    /// This number of accepted change sets becomes durable.
    Settle(u8),
    /// Changes that are not durable are lost.
    FailBatch,
}

fn step() -> impl Strategy<Value = Step> {
    let key = 0..KEYS;
    prop_oneof![
        4 => key.clone().prop_map(Step::Get),
        3 => key.clone().prop_map(Step::StartLoad),
        4 => Just(Step::EndLoad),
        4 => (key.clone(), proptest::option::weighted(0.7, any::<u8>())).prop_map(|(key, value)| Step::Write(key, value)),
        1 => key.clone().prop_map(Step::Guard),
        1 => key.clone().prop_map(Step::TakeSlot),
        1 => key.clone().prop_map(Step::Balance),
        5 => (0..3_u8, 0..3_u8, 1..20_u8).prop_map(|(debit, credit, amount)| Step::Post(debit, credit, amount)),
        1 => (0..3_u8, 0..10_u8).prop_map(|(account, least)| Step::Require(account, least)),
        1 => Just(Step::Reserve),
        5 => Just(Step::Commit),
        1 => Just(Step::Refuse),
        3 => (1..4_u8).prop_map(Step::Settle),
        1 => Just(Step::FailBatch),
    ]
}

/// Returns true for account 0, which may go below zero.
fn is_external(account: &str) -> bool {
    account == "0"
}

struct Call {
    began: CallStart,
    set: ChangeSet,
    seen: HashMap<Key, Content>,
    loading: Option<(Key, Option<(Version, Content)>)>,
}

/// An accepted call.
struct Done {
    purpose: Purpose,
    seen: HashMap<Key, Content>,
    set: ChangeSet,
    writes: Vec<(Key, Content)>,
    version: Version,
}

struct World {
    overlay: Overlay,
    /// Durable contents.
    disk: HashMap<Key, (Version, Content)>,
    calls: Vec<Call>,
    /// In the order of acceptance. The first `durable` calls are on disk.
    history: Vec<Done>,
    durable: usize,
    reserved_by: Option<usize>,
}

fn scope() -> Scope {
    Scope::new("notebook".into(), "acme/test".into()).unwrap()
}

fn key(space: Space, name: u8) -> Key {
    Key { scope: scope(), space, name: name.to_string().into() }
}

fn note(name: u8) -> Key {
    key(Space::Record("notes".into()), name)
}

fn balance_key(account: &str) -> Key {
    Key { scope: scope(), space: Space::Balance("coin".into()), name: account.into() }
}

impl World {
    fn new(cache_bytes_max: usize) -> World {
        let limits = OverlayLimits { cache_bytes_max, pinned_bytes_max: cache_bytes_max + 3_000 };
        let mut overlay = Overlay::new(0, limits);
        let calls = (0..CALLS).map(|_| Call::begin(&mut overlay)).collect();
        World { overlay, disk: HashMap::new(), calls, history: Vec::new(), durable: 0, reserved_by: None }
    }

    fn stored(&self, key: &Key) -> (Version, Content) {
        self.disk.get(key).cloned().unwrap_or((0, Content::Absent))
    }

    fn read(&mut self, call: usize, key: Key) {
        if self.calls[call].seen.contains_key(&key) {
            return;
        }
        let seen = self.overlay.get(&key);
        let seen = seen.unwrap_or_else(|| {
            let (version, content) = self.stored(&key);
            self.overlay.fill(&self.calls[call].began, &key, version, content).0
        });
        self.calls[call].note(key, seen);
    }

    fn read_balance(&mut self, call: usize, account: u8) {
        let account = account.to_string();
        if self.calls[call].set.balances.iter().any(|read| *read.account == *account) {
            return;
        }
        let key = balance_key(&account);
        let amount = self.overlay.balance(&key).unwrap_or_else(|| match self.stored(&key).1 {
            Content::Balance(amount) => amount,
            _ => I256::ZERO,
        });
        let _ = self.overlay.fill(&self.calls[call].began, &key, 0, Content::Balance(amount));
        let external = is_external(&account);
        let read = BalanceRead { account: account.into(), asset: "coin".into(), amount, external };
        self.calls[call].set.balances.push(read);
    }

    fn step(&mut self, call: usize, step: Step) {
        match step {
            Step::Get(name) => self.read(call, note(name)),
            Step::StartLoad(name) => {
                let key = note(name);
                if self.overlay.get(&key).is_none() {
                    let found = self.disk.get(&key).cloned();
                    self.calls[call].loading = Some((key, found));
                }
            }
            Step::EndLoad => self.end_load(call),
            Step::Write(name, value) => {
                self.read(call, note(name));
                self.calls[call].write(name, value);
            }
            Step::Guard(name) => {
                let key = key(Space::Guard, name);
                self.read(call, key.clone());
                self.calls[call].set.guards.push(key.name);
            }
            Step::TakeSlot(name) => self.take_slot(call, name),
            Step::Balance(account) => self.read_balance(call, account % 3),
            Step::Post(debit, credit, amount) if debit != credit => self.post(call, debit, credit, amount),
            Step::Post(..) => {}
            Step::Require(account, least) => {
                self.read_balance(call, account);
                let account = account.to_string().into();
                let at_least = Some(I256::from(least));
                self.calls[call].set.bounds.push(Bound { account, asset: "coin".into(), at_least, at_most: None });
            }
            Step::Reserve => self.reserve(call),
            Step::Commit => self.end(call, Purpose::Commit),
            Step::Refuse => self.end(call, Purpose::Refusal),
            Step::Settle(count) => self.settle(count.into()),
            Step::FailBatch => {
                self.history.truncate(self.durable);
                let _ = self.overlay.begin_epoch();
            }
        }
    }

    fn end_load(&mut self, call: usize) {
        if let Some((key, found)) = self.calls[call].loading.take() {
            let (version, content) = found.unwrap_or((0, Content::Absent));
            let (seen, _) = self.overlay.fill(&self.calls[call].began, &key, version, content);
            self.calls[call].note(key, seen);
        }
    }

    fn take_slot(&mut self, call: usize, name: u8) {
        let key = key(Space::Unique("notes".into(), "by-title".into()), name);
        self.read(call, key.clone());
        if self.calls[call].seen[&key] == Content::Absent {
            self.calls[call].set.uniques.push(UniqueWrite { key, owner: Some("owner".into()) });
        }
    }

    /// Posts a transfer. Like a draft, rejects it if it is certain to overdraw an account.
    fn post(&mut self, call: usize, debit: u8, credit: u8, amount: u8) {
        self.read_balance(call, debit);
        self.read_balance(call, credit);
        let set = &mut self.calls[call].set;
        let transfer = Transfer {
            id: format!("{call}-{}-{}", self.history.len(), set.transfers.len()).into(),
            debit: debit.to_string().into(),
            credit: credit.to_string().into(),
            asset: "coin".into(),
            amount: I256::from(amount),
            memo: "".into(),
        };
        set.transfers.push(transfer);
        if set.balances.iter().any(|read| !read.external && read.amount + net(set, &read.account) < I256::ZERO) {
            set.transfers.pop();
        }
    }

    fn reserve(&mut self, call: usize) {
        if self.reserved_by.is_none() {
            self.reserved_by = Some(call);
            self.overlay.reserve(ReservationId(call as u64), self.calls[call].seen.keys().cloned());
        }
    }

    fn end(&mut self, index: usize, purpose: Purpose) {
        let fresh = Call::begin(&mut self.overlay);
        let call = std::mem::replace(&mut self.calls[index], fresh);
        let set = if purpose == Purpose::Refusal { call.set.clone().into_refusal() } else { call.set.clone() };
        let proposal = Proposal::new(call.began, purpose, Arc::new(set)).unwrap();
        let decided =
            decide(&self.overlay, &proposal, (self.reserved_by == Some(index)).then_some(ReservationId(index as u64)));
        if let Ok(accepted) = decided {
            let writes = into_writes(proposal.writes, &accepted);
            let (version, _) = self.overlay.accept(writes.clone());
            self.history.push(Done { purpose, seen: call.seen, set: call.set, writes, version });
        }
        self.overlay.end(&call.began);
        if self.reserved_by == Some(index) {
            self.reserved_by = None;
            let _ = self.overlay.release(ReservationId(index as u64));
        }
    }

    fn settle(&mut self, count: usize) {
        for done in self.history.iter().skip(self.durable).take(count) {
            for (key, content) in &done.writes {
                let version = if *content == Content::Absent { 0 } else { done.version };
                self.disk.insert(key.clone(), (version, stamped(content, done.version)));
            }
            self.overlay.settle(done.version);
            self.durable += 1;
        }
    }
}

fn net(set: &ChangeSet, account: &str) -> I256 {
    set.transfers.iter().fold(I256::ZERO, |sum, transfer| match account {
        name if name == &*transfer.debit => sum - transfer.amount,
        name if name == &*transfer.credit => sum + transfer.amount,
        _ => sum,
    })
}

fn stamped(content: &Content, version: Version) -> Content {
    match content.clone() {
        Content::Record(record) => Content::Record(Record { version, ..record }),
        content => content,
    }
}

impl Call {
    fn begin(overlay: &mut Overlay) -> Call {
        let set = ChangeSet::new(scope(), 0);
        Call { began: overlay.begin(), set, seen: HashMap::new(), loading: None }
    }

    fn note(&mut self, key: Key, seen: ReadResult) {
        // Like a draft: a value that was read once stays the same for the rest of the call.
        if !self.seen.contains_key(&key) {
            self.set.reads.push(Read { key: key.clone(), seen: seen.version });
            self.seen.insert(key, seen.content);
        }
    }

    fn write(&mut self, name: u8, value: Option<u8>) {
        let id: Arc<str> = name.to_string().into();
        self.set.records.retain(|write| write.id != id);
        let after = value.map(|value| NewRecord {
            body: value.to_string().into(),
            data_version: 1,
            created_at: 0,
            updated_at: 0,
            fields: Vec::new(),
        });
        self.set.records.push(RecordWrite { collection: "notes".into(), id, after });
    }
}

/// Runs the accepted calls one after the other. Each must read the same values again, and all balances must stay valid.
fn check_serial(history: &[Done]) {
    let mut contents: HashMap<Key, Content> = HashMap::new();
    let mut balances: HashMap<Arc<str>, I256> = HashMap::new();
    for done in history {
        for (key, seen) in &done.seen {
            let now = contents.get(key).unwrap_or(&Content::Absent);
            assert_eq!(now, seen, "{key:?} in the call that became {}", done.version);
        }
        if done.purpose == Purpose::Refusal {
            for read in &done.set.balances {
                assert_eq!(balances.get(&read.account).copied().unwrap_or(I256::ZERO), read.amount);
            }
            continue;
        }
        for (key, content) in &done.writes {
            contents.insert(key.clone(), stamped(content, done.version));
        }
        for read in &done.set.balances {
            let balance = balances.entry(read.account.clone()).or_insert(I256::ZERO);
            *balance += net(&done.set, &read.account);
            assert!(read.external || *balance >= I256::ZERO, "{} overdrawn", read.account);
            assert_eq!(
                contents.get(&balance_key(&read.account)).cloned().unwrap_or(Content::Balance(I256::ZERO)),
                Content::Balance(*balance)
            );
        }
        for bound in &done.set.bounds {
            assert!(bound.at_least <= balances.get(&bound.account).copied());
        }
    }
    assert_eq!(balances.values().fold(I256::ZERO, |sum, balance| sum + balance), I256::ZERO);
}

/// Makes all changes durable, and checks that the overlay has the same version of each record as the database.
fn check_overlay(world: &mut World) {
    world.settle(usize::MAX);
    for name in 0..KEYS {
        let stored = world.stored(&note(name)).0;
        assert_eq!(world.overlay.version(&note(name)).unwrap_or(stored), stored);
    }
}

fn run(cache_bytes_max: usize, steps: Vec<(usize, Step)>) -> World {
    let mut world = World::new(cache_bytes_max);
    for (call, step) in steps {
        world.step(call, step);
    }
    check_serial(&world.history);
    check_overlay(&mut world);
    world
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn accepted_calls_are_serialisable(steps in proptest::collection::vec((0..CALLS, step()), 1..120)) {
        run(1 << 20, steps);
    }

    #[test]
    fn eviction_never_breaks_validation(steps in proptest::collection::vec((0..CALLS, step()), 1..120)) {
        run(300, steps);
    }
}

#[test]
fn calls_without_common_keys_are_accepted() {
    let steps = (0..100).flat_map(|round| {
        let call = round % CALLS;
        [(call, Step::Write(call as u8, Some(round as u8))), (call, Step::Commit), (call, Step::Settle(1))]
    });
    assert_eq!(run(300, steps.collect()).history.len(), 100);
}

#[test]
fn second_writer_of_one_record_conflicts() {
    let write = |call, value| (call, Step::Write(0, Some(value)));
    let world = run(1 << 20, vec![write(0, 1), write(1, 2), (0, Step::Commit), (1, Step::Commit)]);
    assert_eq!(world.history.len(), 1);
}

#[test]
fn refusal_based_on_outdated_reads_conflicts() {
    let world =
        run(1 << 20, vec![(1, Step::Get(0)), (0, Step::Write(0, Some(1))), (0, Step::Commit), (1, Step::Refuse)]);
    assert_eq!(world.history.len(), 1);
}

#[test]
fn transfers_on_one_balance_do_not_conflict() {
    let post = |call| (call, Step::Post(0, 1, 5));
    let world = run(1 << 20, vec![post(0), post(1), (0, Step::Commit), (1, Step::Commit)]);
    assert_eq!(world.history.len(), 2);
}

#[test]
fn reserved_key_cannot_be_written_by_another_call() {
    let steps = vec![(0, Step::Get(0)), (0, Step::Reserve), (1, Step::Write(0, Some(1))), (1, Step::Commit)];
    assert_eq!(run(1 << 20, steps).history.len(), 0);
}

#[test]
fn second_transfer_that_would_overdraw_a_balance_conflicts() {
    let fund = [(2, Step::Post(0, 1, 10)), (2, Step::Commit)];
    let spend = [(0, Step::Post(1, 2, 8)), (1, Step::Post(1, 2, 8)), (0, Step::Commit), (1, Step::Commit)];
    assert_eq!(run(1 << 20, fund.into_iter().chain(spend).collect()).history.len(), 2);
}

#[test]
fn first_read_of_a_key_is_kept_if_a_load_ends_later() {
    let own = [(0, Step::StartLoad(0)), (0, Step::Get(0))];
    let came = [(1, Step::Write(0, Some(1))), (1, Step::Commit), (0, Step::EndLoad)];
    let went = [(2, Step::Write(0, None)), (2, Step::Commit), (0, Step::Commit)];
    assert_eq!(run(1 << 20, own.into_iter().chain(came).chain(went).collect()).history.len(), 3);
}
