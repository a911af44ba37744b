//! Thousands of random steps against a model: a database that is written late and read late, attempts that end at any
//! time.
//!
//! The model tracks the state of each delivery and checks every start. At the end all deliveries must have ended.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use model::World;

mod model;

/// A random step. Numbers are taken modulo the number of candidates.
#[derive(Clone, Debug)]
enum Step {
    /// Commits events of one subject for one queue.
    Commit {
        queue: QueueId,
        subject: u64,
        count: u64,
    },
    AdvanceClock {
        ms: u64,
    },
    Start,
    Finish {
        which: usize,
        outcome: Outcome,
    },
    /// Writes the decisions to the database.
    Write,
    BeginLoad,
    CompleteLoad {
        which: usize,
    },
    FailLoad {
        which: usize,
    },
    /// Commits a delivery without offering it, then calls `reread`.
    CommitWithoutOffer {
        queue: QueueId,
        subject: u64,
    },
    /// Makes a delivery due now in the database, in any state.
    Redeliver {
        which: usize,
    },
    /// Calls `reread` for redelivered deliveries.
    Reread,
    Enable {
        queue: QueueId,
    },
    Disable {
        queue: QueueId,
    },
    /// Disables and enables a queue.
    Toggle {
        queue: QueueId,
    },
    Close {
        queue: QueueId,
    },
}

fn any_outcome() -> impl Strategy<Value = Outcome> {
    prop_oneof![
        6 => Just(Outcome::Delivered),
        6 => Just(FAILED),
        1 => (0..30_000u64).prop_map(|ms| Outcome::Failed { retry_after_ms: Some(ms) }),
        1 => Just(Outcome::Gone),
        1 => Just(Outcome::NotMade),
        1 => Just(Outcome::Missing),
    ]
}

fn any_step() -> impl Strategy<Value = Step> {
    let queue = (0..model::QUEUES).prop_map(QueueId);
    let which = any::<prop::sample::Index>().prop_map(|index| index.index(1_000));
    prop_oneof![
        8 => (queue.clone(), 0..3u64, 1..4u64).prop_map(|(queue, subject, count)| Step::Commit { queue, subject, count }),
        3 => (0..3_000u64).prop_map(|ms| Step::AdvanceClock { ms }),
        2 => (0..40_000u64).prop_map(|ms| Step::AdvanceClock { ms }),
        8 => Just(Step::Start),
        10 => (which.clone(), any_outcome()).prop_map(|(which, outcome)| Step::Finish { which, outcome }),
        2 => Just(Step::Write),
        4 => Just(Step::BeginLoad),
        4 => which.clone().prop_map(|which| Step::CompleteLoad { which }),
        1 => which.clone().prop_map(|which| Step::FailLoad { which }),
        4 => which.prop_map(|which| Step::Redeliver { which }),
        3 => Just(Step::Reread),
        1 => (queue.clone(), 0..3u64).prop_map(|(queue, subject)| Step::CommitWithoutOffer { queue, subject }),
        1 => queue.clone().prop_map(|queue| Step::Disable { queue }),
        2 => queue.clone().prop_map(|queue| Step::Enable { queue }),
        1 => queue.clone().prop_map(|queue| Step::Toggle { queue }),
        // Rarely, because a closed queue reduces the rest of the run.
        1 => (queue, 0..8u64).prop_map(|(queue, dice)| if dice == 0 { Step::Close { queue } } else { Step::Start }),
    ]
}

fn any_caps() -> impl Strategy<Value = Caps> {
    (1..6usize, 1..4usize, 1..4usize, 1..12usize, 1..40usize, 0..60_000u64).prop_map(
        |(first_max, retries_max, tenant_max, queue_held_max, held_max, horizon_ms)| Caps {
            first_max,
            retries_max,
            tenant_first_max: tenant_max,
            tenant_retries_max: tenant_max,
            held_max,
            queue_held_max,
            queue_held_min: 1,
            horizon_ms,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn deliveries_are_never_early_lost_duplicated_or_out_of_sequence(
        caps in any_caps(),
        seed in any::<u64>(),
        steps in prop::collection::vec(any_step(), 1..2_000),
    ) {
        let mut world = World::new(caps, seed);
        steps.into_iter().for_each(|step| world.take(step));
        world.drain(if seed % 2 == 0 { Outcome::Delivered } else { FAILED });
        world.assert_all_ended();
    }

    /// If the engine completes loads and attempts at once, every retry starts in its millisecond.
    #[test]
    fn retries_of_healthy_queues_are_never_late(dues in prop::collection::btree_set(0..500_000u64, 1..200)) {
        let mut bench = Bench { scheduler: Scheduler::new(Caps { queue_held_max: 8, ..Caps::default() }, 1), now: 0 };
        bench.scheduler.open_queue(QUEUE, Opening { has_stored: true, ..opening(1, settings()) }, 0);
        let mut stored: BTreeSet<(Timestamp, Seq)> = (0u64..).zip(&dues).map(|(seq, due)| (*due, seq)).collect();
        let mut started = vec![];
        while let Some(at) = bench.scheduler.wake_at() {
            bench.now = bench.now.max(at);
            while let Some(load) = bench.scheduler.next_load(bench.now) {
                let Rows::Retries { due_from } = load.rows else {
                    bench.scheduler.loaded_fresh(&load, &[], bench.now);
                    continue;
                };
                let rows: Vec<RetryRow> = stored.range((due_from, 0)..).take(load.limit)
                    .map(|(due, seq)| retry(*seq, *due)).collect();
                bench.scheduler.loaded_retries(&load, &rows, bench.now);
            }
            while let Some(start) = bench.next() {
                started.push(bench.now);
                bench.finish(QUEUE, start.seq, Outcome::Delivered);
                stored.retain(|(_, seq)| *seq != start.seq);
            }
        }
        prop_assert_eq!(started, dues.into_iter().collect::<Vec<_>>());
    }
}
