//! A seeded simulation of the committer, its overlay and its writer with all faults, over a real file.
//!
//! A single thread drives it. Each step advances one call to its next operation, advances the writer to its next
//! statement, or injects a fault: a caller is dropped, a connection is lost, a commit fails, the disk is full or
//! missing, another program writes, a swap is prepared or cancelled. Each call emits an event in its change set. At a
//! checkpoint, the events show the order in which calls committed. `replay` runs them one after another, and each must
//! read the same values again.
//!
//! `TENON_SEED` repeats one seed. `TENON_SOAK` runs a million steps with consecutive seeds from a random one. A failure
//! prints its seed.

#![expect(clippy::disallowed_methods, reason = "the environment provides the seed to repeat")]

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use sqlx::{Connection, SqliteConnection};

use super::*;
use crate::commit::committer::writer::WriterTask;
use crate::commit::testing::model;
use crate::db::DbOptions;
use crate::db::apply::Failpoints;
use crate::db::model::PrepareOptions;
use crate::limits::OUTCOME_RETRY_MS;
use calls::{BANK, CallContext, End, Log, Op, Plan};
use models::tagged;
use replay::Replay;
use stepper::{Driven, Phase, Random, settle_tasks};

mod calls;
mod models;
mod observed;
mod replay;
mod stepper;

const STEPS: u64 = 2_500;
const SEEDS: u64 = 2;
/// A million steps.
const SOAK_SEEDS: u64 = 400;
const CALLS_MAX: usize = 12;
const CHECKPOINT_STEPS: u64 = 250;
/// Rounds in which every call and the writer are polled, until all must have ended.
const DRAIN_ROUNDS_MAX: u64 = 100_000;

#[test]
fn calls_are_serialisable_under_every_fault() {
    let seeds: Vec<u64> = match std::env::var("TENON_SEED").map(|seed| seed.parse()) {
        Ok(seed) => vec![seed.unwrap()],
        Err(_) if std::env::var_os("TENON_SOAK").is_some() => {
            let mut random = [0; 8];
            getrandom::fill(&mut random).unwrap();
            let first = u64::from_be_bytes(random) >> 16;
            (first..first + SOAK_SEEDS).collect()
        }
        Err(_) => (1..=SEEDS).collect(),
    };
    let mut totals = Totals::default();
    for seed in seeds {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(simulate(seed, &mut totals));
    }
    eprintln!("{totals:?}");
    assert!(totals.acknowledged > 0 && totals.unknown > 0 && totals.failed > 0);
}

#[derive(Debug, Default)]
struct Totals {
    steps: u64,
    acknowledged: u64,
    failed: u64,
    unknown: u64,
    read_only: u64,
    conflicts: u64,
    discarded: u64,
    foreign_writes: u64,
    swaps: u64,
    cancelled_swaps: u64,
}

/// Prints how to repeat a failure.
struct Trace {
    seed: u64,
    step: u64,
}

impl Drop for Trace {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("repeat it with TENON_SEED={} (step {})", self.seed, self.step);
        }
    }
}

async fn simulate(seed: u64, totals: &mut Totals) {
    let mut trace = Trace { seed, step: 0 };
    let mut world = World::open(seed).await;
    for step in 1..=STEPS {
        trace.step = step;
        world.step(totals).await;
        if step % CHECKPOINT_STEPS == 0 {
            world.check().await;
        }
    }
    world.check().await;
    let log = world.log.borrow();
    totals.steps += STEPS;
    totals.conflicts += log.conflicts;
    totals.discarded += log.discarded;
    for end in log.ends.values() {
        match end {
            End::Acknowledged(_) => totals.acknowledged += 1,
            End::Failed => totals.failed += 1,
            End::Unknown => totals.unknown += 1,
            End::ReadOnly => totals.read_only += 1,
        }
    }
}

struct World {
    random: Random,
    database: Database,
    committer: Committer,
    failpoints: Failpoints,
    folder: tempfile::TempDir,
    /// Connection that represents another program with the file open.
    outside: SqliteConnection,
    models: [Arc<DataModel>; 2],
    serving: usize,
    writer: Option<WriterTask>,
    writing: Option<Driven<WriterTask>>,
    calls: Vec<(u64, Driven<End>)>,
    /// Swaps that wait until the cache is empty.
    resetting: Vec<Driven<()>>,
    began: u64,
    is_away: bool,
    log: Rc<RefCell<Log>>,
    replay: Replay,
    replayed: i64,
    committed: BTreeSet<u64>,
    /// Foreign writes: the preceding event, the record, the number.
    foreign: Vec<(i64, String, u64)>,
    observed: observed::ObservedReads,
}

impl World {
    async fn open(seed: u64) -> World {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("test.db");
        let database = Database::open(&format!("sqlite:{}", path.display()), &DbOptions::default()).await.unwrap();
        let models = [model(1, None), tagged()];
        database.prepare_model(&models[0], &PrepareOptions::default()).await.unwrap();
        let failpoints = Failpoints::default();
        let mut random = Random(seed);
        let settings = CommitterSettings {
            overlay_bytes_max: [0, 2_000, 1 << 20][random.below(3)],
            large: if random.chance(50) { all_large() } else { LargeBounds::default() },
            ..CommitterSettings::default()
        };
        let writer = database.writer_with(failpoints.clone());
        let (committer, writer) = Committer::open(database.clone(), writer, settings).await.unwrap();
        // Not earlier: waits for SQLite have deadlines, and a paused clock advances to them when the runtime is idle.
        tokio::time::pause();
        let options = sqlx::sqlite::SqliteConnectOptions::new().filename(path).busy_timeout(Duration::ZERO);
        World {
            random,
            writer: Some(WriterTask::new(committer.shared.clone(), writer)),
            database,
            committer,
            failpoints,
            folder,
            outside: SqliteConnection::connect_with(&options).await.unwrap(),
            models,
            serving: 0,
            writing: None,
            calls: Vec::new(),
            resetting: Vec::new(),
            began: 0,
            is_away: false,
            log: Rc::default(),
            replay: Replay::default(),
            replayed: 0,
            committed: BTreeSet::new(),
            foreign: Vec::new(),
            observed: observed::ObservedReads::default(),
        }
    }

    async fn step(&mut self, totals: &mut Totals) {
        match self.random.below(1_000) {
            0..130 if self.calls.len() < CALLS_MAX => self.begin(),
            130..200 => self.read_and_observe().await,
            0..600 => self.advance_any().await,
            600..930 => self.write().await,
            930..950 => self.drop_caller(),
            950..965 => self.drop_reader(),
            965..975 => self.write_beside().await,
            975..985 => self.fail_batch(),
            985..988 => self.fill_disk().await,
            988..990 => self.move_file(),
            990..993 => totals.foreign_writes += u64::from(self.write_from_outside().await),
            993..995 => self.lose_connection().await,
            995..998 => self.swap(totals).await,
            _ => self.check_file().await,
        }
        self.check_observed();
    }

    fn begin(&mut self) {
        self.began += 1;
        let call = self.began;
        let phase = Rc::new(Cell::new(Phase::Elsewhere));
        let context = CallContext { committer: self.committer.clone(), log: self.log.clone(), phase: phase.clone() };
        let plan = Plan {
            call,
            ops: self.any_ops(),
            refuses: self.random.chance(10),
            model: self.models[self.serving].clone(),
        };
        self.calls.push((call, Driven::with_phase(calls::perform(context, plan), phase)));
    }

    fn any_ops(&mut self) -> Vec<Op> {
        let mut ops = Vec::new();
        if self.random.chance(15) {
            ops.push(Op::IdempotencyKey { name: format!("answer-{}", self.random.below(60)) });
        }
        for _ in 0..1 + self.random.below(4) {
            ops.push(self.any_op());
        }
        ops
    }

    fn any_op(&mut self) -> Op {
        let random = &mut self.random;
        let id = format!("thing-{}", random.below(6));
        match random.below(20) {
            0..5 => Op::Read { id },
            5..12 => {
                let title = random.chance(40).then(|| format!("title-{}", random.below(4)));
                Op::Write { id, title }
            }
            12..14 => Op::Delete { id },
            14..19 => {
                let (transfer, amount) = (format!("transfer-{}", random.below(2_000)), 1 + random.below(10));
                let one = if random.chance(40) { BANK.to_owned() } else { format!("account-{}", random.below(3)) };
                let other = format!("account-{}", 3 + random.below(3));
                let (from, to) = if random.chance(50) { (one, other) } else { (other, one) };
                Op::Transfer { id: transfer, from, to, amount: u32::try_from(amount).unwrap() }
            }
            _ => Op::Guard { name: format!("guard-{}", random.below(2)) },
        }
    }

    /// Lets a random call advance to its next operation.
    async fn advance_any(&mut self) {
        if let Some(at) = (!self.calls.is_empty()).then(|| self.random.below(self.calls.len())) {
            self.advance(at).await;
        }
    }

    async fn advance(&mut self, at: usize) -> bool {
        let Some(end) = self.calls[at].1.step().await else { return false };
        let (call, _) = self.calls.swap_remove(at);
        self.log.borrow_mut().ends.insert(call, end);
        true
    }

    /// Advances the writer to its next statement.
    async fn write(&mut self) {
        if self.writing.is_none()
            && let Some(mut writer) = self.writer.take()
        {
            self.writing = Some(Driven::new(async move {
                writer.work().await;
                writer
            }));
        }
        let Some(writing) = &mut self.writing else { return };
        writing.wait(self.is_away.then(|| Duration::from_millis(OUTCOME_RETRY_MS))).await;
        self.writer = writing.poll();
        if self.writer.is_some() {
            self.writing = None;
        }
    }

    fn drop_caller(&mut self) {
        if self.calls.is_empty() {
            return;
        }
        let at = self.random.below(self.calls.len());
        let (call, _dropped) = self.calls.swap_remove(at);
        self.log.borrow_mut().ends.insert(call, End::Unknown);
    }

    /// Drops a call while SQLite still works for it.
    fn drop_reader(&mut self) {
        self.begin();
        if let Some((call, mut reader)) = self.calls.pop() {
            let _ = reader.poll();
            self.log.borrow_mut().ends.insert(call, End::Unknown);
        }
    }

    /// Makes a write outside of the batches, whose caller is dropped at a random point.
    async fn write_beside(&mut self) {
        let (database, id) = (self.database.clone(), [self.random.below(250) as u8; 32]);
        let mut beside = Driven::new(async move { database.record_assertion(&id, 10, 5).await });
        for _ in 0..self.random.below(8) {
            if self.writing.is_none() && !beside.is_woken() {
                beside.wait(None).await;
            }
            if beside.poll().is_some() {
                return;
            }
        }
        drop(beside);
        if self.random.chance(50) {
            settle_tasks().await;
        }
    }

    fn fail_batch(&mut self) {
        let all = [Failpoint::BeforeCommit, Failpoint::DuringCommitLost, Failpoint::DuringCommitKept];
        *self.failpoints.0.lock() = Some(all[self.random.below(all.len())]);
    }

    async fn fill_disk(&mut self) {
        if self.writing.is_none() {
            let pages = if self.random.chance(60) { 1 } else { 0 };
            self.database.limit_pages(pages).await.unwrap();
        }
    }

    /// Removes the file or restores it. Open files stay open, but cannot be opened again.
    fn move_file(&mut self) {
        let (here, there) = (self.folder.path().join("test.db"), self.folder.path().join("away.db"));
        self.is_away = !self.is_away;
        if !self.is_away {
            std::fs::rename(there, here).unwrap();
        } else {
            std::fs::rename(here, there).unwrap();
        }
    }

    async fn write_from_outside(&mut self) -> bool {
        settle_tasks().await;
        if self.writing.is_some() || self.is_away {
            return false;
        }
        let (id, count) = (format!("thing-{}", self.random.below(6)), 1_000 + self.random.next() % 1_000);
        let mut transaction = self.outside.begin_with("BEGIN IMMEDIATE").await.unwrap();
        let after: i64 =
            sqlx::query_scalar("SELECT coalesce(max(seq), 0) FROM events").fetch_one(&mut *transaction).await.unwrap();
        let update = sqlx::query("UPDATE notes_things SET body = json_set(body, '$.n', ?) WHERE id = ?");
        let update = update.bind(i64::try_from(count).unwrap()).bind(&id);
        if update.execute(&mut *transaction).await.unwrap().rows_affected() > 0 {
            self.foreign.push((after, id, count));
        }
        transaction.commit().await.unwrap();
        true
    }

    async fn lose_connection(&mut self) {
        settle_tasks().await;
        if self.writing.is_none() && !self.is_away {
            self.database.lose_connection().await;
        }
    }

    /// Prepares a swap completely, or cancels it on the way.
    async fn swap(&mut self, totals: &mut Totals) {
        if self.writing.is_some() || self.is_away {
            return;
        }
        let next = 1 - self.serving;
        let (database, next_model) = (self.database.clone(), self.models[next].clone());
        let mut prepared =
            Driven::new(async move { database.prepare_model(&next_model, &PrepareOptions::default()).await });
        for _ in 0..if self.random.chance(40) { self.random.below(40) } else { 100_000 } {
            prepared.wait(None).await;
            if let Some(outcome) = prepared.poll() {
                // Fails if the disk is full.
                if outcome.is_ok() {
                    let committer = self.committer.clone();
                    self.resetting.push(Driven::new(async move { committer.clear_cache().await }));
                    self.serving = next;
                    totals.swaps += 1;
                }
                return;
            }
        }
        totals.cancelled_swaps += 1;
    }

    async fn check_file(&mut self) {
        if let Some(mut writer) = self.writer.take() {
            self.writing = Some(Driven::new(async move {
                writer.check_file().await;
                writer
            }));
            self.write().await;
        }
    }

    /// Ends all faults and all futures, and checks that the file has the content that the replayed calls produce.
    async fn check(&mut self) {
        if self.is_away {
            self.move_file();
        }
        *self.failpoints.0.lock() = None;
        self.drain().await;
        self.replay().await;
        let list = "SELECT id, body FROM notes_things ORDER BY id";
        let records: Vec<(String, String)> = sqlx::query_as(list).fetch_all(&mut self.outside).await.unwrap();
        assert_eq!(records, self.replay.records());
        let list = "SELECT account, amount FROM balances WHERE amount <> '0' ORDER BY account";
        let balances: Vec<(String, String)> = sqlx::query_as(list).fetch_all(&mut self.outside).await.unwrap();
        assert_eq!(balances, self.replay.balances());
        assert_eq!(self.names("SELECT name FROM answers ORDER BY name").await, self.replay.idempotency_records());
        assert_eq!(self.names("SELECT id FROM transfers ORDER BY id").await, self.replay.transfers());
        let log = self.log.borrow();
        assert!(
            log.records_read.iter().all(|name| self.replay.has_record(name)),
            "an idempotency record that is not stored was read"
        );
        for (call, end) in &log.ends {
            match end {
                End::Acknowledged(_) => assert!(self.committed.contains(call), "call {call} was lost"),
                End::Failed | End::ReadOnly => assert!(!self.committed.contains(call), "call {call} committed"),
                End::Unknown => {}
            }
        }
    }

    async fn names(&mut self, list: &'static str) -> Vec<String> {
        sqlx::query_scalar(list).fetch_all(&mut self.outside).await.unwrap()
    }

    async fn drain(&mut self) {
        let mut healed = false;
        for _ in 0..DRAIN_ROUNDS_MAX {
            self.write().await;
            if self.writing.is_none() && !healed {
                settle_tasks().await;
                self.database.limit_pages(0).await.unwrap();
                healed = true;
            }
            let mut at = 0;
            while at < self.calls.len() {
                at += usize::from(!self.advance(at).await);
            }
            let mut waiting = Vec::new();
            for mut resetting in std::mem::take(&mut self.resetting) {
                if resetting.step().await.is_none() {
                    waiting.push(resetting);
                }
            }
            self.resetting = waiting;
            if self.calls.is_empty() && self.resetting.is_empty() && self.writing.is_none() && healed {
                // An accepted change set whose caller is gone may still be queued.
                if self.committer.stats().queued == 0 {
                    return settle_tasks().await;
                }
            }
        }
        panic!("{} calls wait forever", self.calls.len());
    }

    /// Replays the calls of new events and the foreign writes in between, in their order.
    async fn replay(&mut self) {
        let list = sqlx::query_as("SELECT seq, subject FROM events WHERE seq > ? ORDER BY seq").bind(self.replayed);
        let events: Vec<(i64, String)> = list.fetch_all(&mut self.outside).await.unwrap();
        let log = self.log.clone();
        let log = log.borrow();
        let mut foreign = std::mem::take(&mut self.foreign).into_iter().peekable();
        for (seq, subject) in events {
            while let Some((_, id, count)) = foreign.next_if(|(after, ..)| *after < seq) {
                self.replay.set(&id, count);
            }
            assert_eq!(seq, self.replayed + 1, "a number is missing");
            self.replayed = seq;
            let (call, run) = subject.split_once('-').unwrap();
            let id = (call.parse().unwrap(), run.parse().unwrap());
            assert!(self.committed.insert(id.0), "call {call} committed twice");
            if let Some(End::Acknowledged(acknowledged)) = log.ends.get(&id.0) {
                assert_eq!(*acknowledged, id, "the committed run is not the acknowledged one");
            }
            self.replay.replay(&log.attempts[&id]);
        }
        for (_, id, count) in foreign {
            self.replay.set(&id, count);
        }
    }
}
