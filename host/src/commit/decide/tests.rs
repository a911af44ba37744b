//! Random interleavings of calls over a database that is only a map: whatever was accepted must read the same when the
//! accepted calls are run one after the other.

use std::collections::HashMap;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::changes::change_set::*;
use crate::changes::scope::Scope;
use crate::commit::overlay::{OverlayLimits, Seen};

const CALLS: usize = 4;
const KEYS: u8 = 5;

#[derive(Clone, Debug)]
enum Step {
    Get(u8),
    /// Asks the database, and gets the answer only with `EndLoad`.
    StartLoad(u8),
    EndLoad,
    Write(u8, Option<u8>),
    Guard(u8),
    TakeSlot(u8),
    Balance(u8),
    Post(u8, u8, u8),
    Require(u8, u8),
    TakeTurn,
    Commit,
    Refuse,
    /// So many of the accepted change sets reach the disk.
    Settle(u8),
    /// What is not durable is lost.
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
        1 => Just(Step::TakeTurn),
        5 => Just(Step::Commit),
        1 => Just(Step::Refuse),
        3 => (1..4_u8).prop_map(Step::Settle),
        1 => Just(Step::FailBatch),
    ]
}

/// Account 0 may go below zero.
fn is_external(account: &str) -> bool {
    account == "0"
}

struct Call {
    began: Began,
    set: ChangeSet,
    seen: HashMap<Key, Content>,
    loading: Option<(Key, Option<(Version, Content)>)>,
}

/// A call that was accepted, as it looked from outside.
struct Done {
    purpose: Purpose,
    seen: HashMap<Key, Content>,
    set: ChangeSet,
    writes: Vec<(Key, Content)>,
    version: Version,
}

struct World {
    overlay: Overlay,
    /// What is on disk.
    disk: HashMap<Key, (Version, Content)>,
    calls: Vec<Call>,
    /// In the order of acceptance; the first `durable` of them are on disk.
    history: Vec<Done>,
    durable: usize,
    turn: Option<usize>,
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
        World { overlay, disk: HashMap::new(), calls, history: Vec::new(), durable: 0, turn: None }
    }

    fn stored(&self, key: &Key) -> (Version, Content) {
        self.disk.get(key).cloned().unwrap_or((0, Content::Absent))
    }

    fn read(&mut self, call: usize, key: Key) {
        if self.calls[call].seen.contains_key(&key) {
            return;
        }
        let seen = self.overlay.look(&key);
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
                if self.overlay.look(&key).is_none() {
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
            Step::TakeTurn => self.take_turn(call),
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

    /// Like a draft: refuses what it knows to be impossible.
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

    fn take_turn(&mut self, call: usize) {
        if self.turn.is_none() {
            self.turn = Some(call);
            self.overlay.reserve(TurnId(call as u64), self.calls[call].seen.keys().cloned());
        }
    }

    fn end(&mut self, index: usize, purpose: Purpose) {
        let fresh = Call::begin(&mut self.overlay);
        let call = std::mem::replace(&mut self.calls[index], fresh);
        let set = if purpose == Purpose::Refusal { call.set.clone().into_refusal() } else { call.set.clone() };
        let proposal = Proposal::new(call.began, purpose, Arc::new(set)).unwrap();
        let decided = decide(&self.overlay, &proposal, (self.turn == Some(index)).then_some(TurnId(index as u64)));
        if let Ok(accepted) = decided {
            let writes = into_writes(proposal.writes, &accepted);
            let (version, _) = self.overlay.accept(writes.clone());
            self.history.push(Done { purpose, seen: call.seen, set: call.set, writes, version });
        }
        self.overlay.end(&call.began);
        if self.turn == Some(index) {
            self.turn = None;
            let _ = self.overlay.release(TurnId(index as u64));
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

    fn note(&mut self, key: Key, seen: Seen) {
        // Like a draft: what it looked at once stands for the rest of the call.
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

/// Runs the accepted calls one after the other: each must see what it saw, and leave the books in order.
fn check_serial(history: &[Done]) {
    let mut stands: HashMap<Key, Content> = HashMap::new();
    let mut balances: HashMap<Arc<str>, I256> = HashMap::new();
    for done in history {
        for (key, seen) in &done.seen {
            let now = stands.get(key).unwrap_or(&Content::Absent);
            assert_eq!(now, seen, "{key:?} in the call that became {}", done.version);
        }
        if done.purpose == Purpose::Refusal {
            for read in &done.set.balances {
                assert_eq!(balances.get(&read.account).copied().unwrap_or(I256::ZERO), read.amount);
            }
            continue;
        }
        for (key, content) in &done.writes {
            stands.insert(key.clone(), stamped(content, done.version));
        }
        for read in &done.set.balances {
            let balance = balances.entry(read.account.clone()).or_insert(I256::ZERO);
            *balance += net(&done.set, &read.account);
            assert!(read.external || *balance >= I256::ZERO, "{} overdrawn", read.account);
            assert_eq!(
                stands.get(&balance_key(&read.account)).cloned().unwrap_or(Content::Balance(I256::ZERO)),
                Content::Balance(*balance)
            );
        }
        for bound in &done.set.bounds {
            assert!(bound.at_least <= balances.get(&bound.account).copied());
        }
    }
    assert_eq!(balances.values().fold(I256::ZERO, |sum, balance| sum + balance), I256::ZERO);
}

/// For each key: an overlay that has forgotten everything would say the same as this one.
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
fn most_calls_that_do_not_meet_are_accepted() {
    let steps = (0..100).flat_map(|round| {
        let call = round % CALLS;
        [(call, Step::Write(call as u8, Some(round as u8))), (call, Step::Commit), (call, Step::Settle(1))]
    });
    assert_eq!(run(300, steps.collect()).history.len(), 100);
}

#[test]
fn of_two_writers_of_one_record_the_second_loses() {
    let write = |call, value| (call, Step::Write(0, Some(value)));
    let world = run(1 << 20, vec![write(0, 1), write(1, 2), (0, Step::Commit), (1, Step::Commit)]);
    assert_eq!(world.history.len(), 1);
}

#[test]
fn a_refusal_that_rests_on_an_old_state_does_not_go_out() {
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
fn nobody_else_writes_what_a_turn_reserved() {
    let steps = vec![(0, Step::Get(0)), (0, Step::TakeTurn), (1, Step::Write(0, Some(1))), (1, Step::Commit)];
    assert_eq!(run(1 << 20, steps).history.len(), 0);
}

#[test]
fn of_two_that_spend_the_same_money_the_second_loses() {
    let fund = [(2, Step::Post(0, 1, 10)), (2, Step::Commit)];
    let spend = [(0, Step::Post(1, 2, 8)), (1, Step::Post(1, 2, 8)), (0, Step::Commit), (1, Step::Commit)];
    assert_eq!(run(1 << 20, fund.into_iter().chain(spend).collect()).history.len(), 2);
}

#[test]
fn what_a_call_looked_at_first_stands_though_a_load_ends_later() {
    let own = [(0, Step::StartLoad(0)), (0, Step::Get(0))];
    let came = [(1, Step::Write(0, Some(1))), (1, Step::Commit), (0, Step::EndLoad)];
    let went = [(2, Step::Write(0, None)), (2, Step::Commit), (0, Step::Commit)];
    assert_eq!(run(1 << 20, own.into_iter().chain(came).chain(went).collect()).history.len(), 3);
}
