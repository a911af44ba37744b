//! Thousands of random steps against a model: a database that is written late and read late, attempts that end at any time.
//!
//! The model knows what became of each delivery and judges every start; at the end all of them must come to theirs.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use model::World;

mod model;

/// One step of what can happen. Numbers are taken modulo what there is.
#[derive(Clone, Debug)]
enum Step {
    /// Events of one commit, for one lane.
    Commit {
        lane: u64,
        subject: u64,
        count: u64,
    },
    Pass {
        ms: u64,
    },
    Start,
    Finish {
        which: usize,
        outcome: Outcome,
    },
    /// What was decided reaches the database.
    Write,
    Ask,
    Answer {
        which: usize,
    },
    LoadFails {
        which: usize,
    },
    /// A commit that nobody offers; the machine is told to look again.
    Miss {
        lane: u64,
        subject: u64,
    },
    /// Somebody else decides that a delivery falls due now, whatever became of it.
    Redeliver {
        which: usize,
    },
    /// The machine is told of it.
    LookAgain,
    Enable {
        lane: u64,
    },
    Disable {
        lane: u64,
    },
    /// Off and on again.
    Toggle {
        lane: u64,
    },
    Close {
        lane: u64,
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
    let (lane, which) = (0..model::LANES, any::<prop::sample::Index>().prop_map(|index| index.index(1_000)));
    prop_oneof![
        8 => (lane.clone(), 0..3u64, 1..4u64).prop_map(|(lane, subject, count)| Step::Commit { lane, subject, count }),
        3 => (0..3_000u64).prop_map(|ms| Step::Pass { ms }),
        2 => (0..40_000u64).prop_map(|ms| Step::Pass { ms }),
        8 => Just(Step::Start),
        10 => (which.clone(), any_outcome()).prop_map(|(which, outcome)| Step::Finish { which, outcome }),
        2 => Just(Step::Write),
        4 => Just(Step::Ask),
        4 => which.clone().prop_map(|which| Step::Answer { which }),
        1 => which.clone().prop_map(|which| Step::LoadFails { which }),
        4 => which.prop_map(|which| Step::Redeliver { which }),
        3 => Just(Step::LookAgain),
        1 => (lane.clone(), 0..3u64).prop_map(|(lane, subject)| Step::Miss { lane, subject }),
        1 => lane.clone().prop_map(|lane| Step::Disable { lane }),
        2 => lane.clone().prop_map(|lane| Step::Enable { lane }),
        1 => lane.clone().prop_map(|lane| Step::Toggle { lane }),
        // Rarely: a closed lane makes the rest of the run poorer.
        1 => (lane, 0..8u64).prop_map(|(lane, dice)| if dice == 0 { Step::Close { lane } } else { Step::Start }),
    ]
}

fn any_caps() -> impl Strategy<Value = Caps> {
    (1..6usize, 1..4usize, 1..4usize, 1..12usize, 1..40usize, 0..60_000u64).prop_map(
        |(first_max, retries_max, tenant_max, lane_held_max, held_max, horizon_ms)| Caps {
            first_max,
            retries_max,
            tenant_first_max: tenant_max,
            tenant_retries_max: tenant_max,
            held_max,
            lane_held_max,
            lane_held_min: 1,
            horizon_ms,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_early_lost_doubled_or_out_of_sequence(
        caps in any_caps(),
        seed in any::<u64>(),
        steps in prop::collection::vec(any_step(), 1..2_000),
    ) {
        let mut world = World::new(caps, seed);
        steps.into_iter().for_each(|step| world.take(step));
        world.drain(if seed % 2 == 0 { Outcome::Delivered } else { FAILED });
        world.assert_all_ended();
    }

    /// Endpoints that answer at once and always fail, an engine that is always there: every retry starts in its millisecond.
    #[test]
    fn retries_of_lanes_that_are_well_are_never_late(dues in prop::collection::btree_set(0..500_000u64, 1..200)) {
        let mut desk = Desk { scheduler: Scheduler::new(Caps { lane_held_max: 8, ..Caps::default() }, 1), now: 0 };
        desk.scheduler.open_lane(1, Opening { has_stored: true, ..opening(1, settings()) }, 0);
        let mut stored: BTreeSet<(Timestamp, Seq)> = (0u64..).zip(&dues).map(|(seq, due)| (*due, seq)).collect();
        let mut started = vec![];
        while let Some(at) = desk.scheduler.wake_at() {
            desk.now = desk.now.max(at);
            while let Some(load) = desk.scheduler.wants(desk.now) {
                let Rows::Retries { due_from } = load.rows else {
                    desk.scheduler.loaded_fresh(&load, &[], desk.now);
                    continue;
                };
                let rows: Vec<RetryRow> = stored.range((due_from, 0)..).take(load.limit)
                    .map(|(due, seq)| retry(*seq, *due)).collect();
                desk.scheduler.loaded_retries(&load, &rows, desk.now);
            }
            while let Some(start) = desk.next() {
                started.push(desk.now);
                desk.finish(1, start.seq, Outcome::Delivered);
                stored.retain(|(_, seq)| *seq != start.seq);
            }
        }
        prop_assert_eq!(started, dues.into_iter().collect::<Vec<_>>());
    }
}
