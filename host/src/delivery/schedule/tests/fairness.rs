//! Who waits for whom: tenants and lanes take turns, and one that hangs costs the others nothing.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Lane by lane, how much waits; a lane belongs to tenant lane % 4.
    #[test]
    fn whoever_still_waits_was_served_as_often_as_the_others(backlog in prop::collection::vec(0u64..20, 1..16)) {
        let mut desk = Desk::with(Caps { first_max: 1, ..Caps::default() });
        for (lane, waiting) in (0u64..).zip(&backlog) {
            desk.open(lane, lane % 4, settings());
            desk.offer(lane, (0..*waiting).map(|n| lane * 100 + n));
        }
        let mut left = backlog;
        let mut served: BTreeMap<u64, u64> = (0..4).map(|tenant| (tenant, 0)).collect();
        let mut served_lanes = vec![0; left.len()];
        while let Some(start) = desk.next() {
            desk.finish(start.lane, start.seq, Outcome::Delivered);
            left[start.lane as usize] -= 1;
            *served.entry(start.lane % 4).or_default() += 1;
            served_lanes[start.lane as usize] += 1;
            let waiting: Vec<u64> = (0..left.len() as u64).filter(|lane| left[*lane as usize] > 0).collect();
            for lane in &waiting {
                let most = served.values().max().copied().unwrap_or(0);
                prop_assert!(served[&(lane % 4)] + 1 >= most, "tenant of lane {lane}: {served:?}");
                let brothers = (0..left.len()).filter(|other| *other as u64 % 4 == lane % 4);
                let most = brothers.map(|other| served_lanes[other]).max().unwrap_or(0);
                prop_assert!(served_lanes[*lane as usize] + 1 >= most, "lane {lane}: {served_lanes:?}");
            }
        }
        prop_assert!(left.iter().all(|waiting| *waiting == 0));
    }

    /// A tenant that comes late with one delivery waits for one turn of each other tenant, whatever these have waiting.
    #[test]
    fn a_newcomer_waits_for_one_turn_of_each_other_tenant(tenants in 1u64..20, waiting in 1u64..50) {
        let mut desk = Desk::with(Caps { first_max: 1, ..Caps::default() });
        for tenant in 1..=tenants {
            desk.open(tenant, tenant, settings());
            desk.offer(tenant, (0..waiting).map(|n| tenant * 100 + n));
        }
        desk.open(99, 99, settings());
        desk.attempt(Outcome::Delivered);
        desk.offer(99, [7]);
        let before = std::iter::from_fn(|| {
            let start = desk.next()?;
            desk.finish(start.lane, start.seq, Outcome::Delivered);
            (start.lane != 99).then_some(())
        });
        prop_assert!(before.count() as u64 <= tenants);
    }
}

/// A hundred lanes of ten tenants, an event for each every 10 ms, answers after 2 ms; the lanes that hang never answer.
/// Gives the delay from offer to start of everything in the other lanes.
fn delays_with(hanging: &[LaneId]) -> Vec<(LaneId, u64)> {
    let mut desk = Desk::new();
    for lane in 0..100 {
        desk.open(lane, lane % 10, settings());
    }
    let mut answers: BTreeMap<Timestamp, Vec<(LaneId, Seq)>> = BTreeMap::new();
    let mut delays = vec![];
    for tick in 0..2_000u64 {
        for (lane, seq) in answers.remove(&desk.now).unwrap_or_default() {
            desk.finish(lane, seq, Outcome::Delivered);
        }
        for lane in (0..100).filter(|lane| lane % 10 == tick % 10) {
            desk.offer(lane, [desk.now * 100 + lane]);
        }
        while let Some(start) = desk.next() {
            if !hanging.contains(&start.lane) {
                answers.entry(desk.now + 2).or_default().push((start.lane, start.seq));
                delays.push((start.lane, desk.now - start.seq / 100));
            }
        }
        desk.later(1);
    }
    delays
}

#[test]
fn one_lane_that_hangs_delays_none_of_the_other_ninety_nine() {
    let with: Vec<_> = delays_with(&[42]);
    let without: Vec<_> = delays_with(&[]).into_iter().filter(|(lane, _)| *lane != 42).collect();
    assert_eq!(with, without);
    assert!(with.len() > 19_000 && with.iter().all(|(_, delay)| *delay == 0));
}

#[test]
fn a_tenant_whose_lanes_all_hang_delays_no_other_tenant() {
    let hanging: Vec<LaneId> = (0..100).filter(|lane| lane % 10 == 3).collect();
    assert!(delays_with(&hanging).iter().all(|(_, delay)| *delay == 0));
}
