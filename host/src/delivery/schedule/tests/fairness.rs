//! Fairness: slots rotate between tenants and queues, and an endpoint that hangs does not delay the others.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// `backlog` holds the number of waiting deliveries of each queue. A queue belongs to tenant queue % 4.
    #[test]
    fn waiting_tenants_and_queues_are_served_equally_often(backlog in prop::collection::vec(0u64..20, 1..16)) {
        let mut bench = Bench::with(Caps { first_max: 1, ..Caps::default() });
        for (queue, waiting) in (0u64..).zip(&backlog) {
            bench.open(queue_id(queue), queue % 4, settings());
            bench.offer(queue_id(queue), (0..*waiting).map(|n| queue * 100 + n));
        }
        let mut left = backlog;
        let mut served: BTreeMap<u64, u64> = (0..4).map(|tenant| (tenant, 0)).collect();
        let mut served_queues = vec![0; left.len()];
        while let Some(start) = bench.next() {
            bench.finish(start.queue, start.seq, Outcome::Delivered);
            let queue = start.queue.0.cast_unsigned();
            left[queue as usize] -= 1;
            *served.entry(queue % 4).or_default() += 1;
            served_queues[queue as usize] += 1;
            let waiting: Vec<u64> = (0..left.len() as u64).filter(|queue| left[*queue as usize] > 0).collect();
            for queue in &waiting {
                let most = served.values().max().copied().unwrap_or(0);
                prop_assert!(served[&(queue % 4)] + 1 >= most, "tenant of queue {queue}: {served:?}");
                let of_same_tenant = (0..left.len()).filter(|other| *other as u64 % 4 == queue % 4);
                let most = of_same_tenant.map(|other| served_queues[other]).max().unwrap_or(0);
                prop_assert!(served_queues[*queue as usize] + 1 >= most, "queue {queue}: {served_queues:?}");
            }
        }
        prop_assert!(left.iter().all(|waiting| *waiting == 0));
    }

    /// A tenant with a new delivery waits for at most one attempt of each other tenant, regardless of their backlogs.
    #[test]
    fn new_tenant_waits_for_one_attempt_of_each_other_tenant(tenants in 1u64..20, waiting in 1u64..50) {
        let mut bench = Bench::with(Caps { first_max: 1, ..Caps::default() });
        for tenant in 1..=tenants {
            bench.open(queue_id(tenant), tenant, settings());
            bench.offer(queue_id(tenant), (0..waiting).map(|n| tenant * 100 + n));
        }
        bench.open(QueueId(99), 99, settings());
        bench.attempt(Outcome::Delivered);
        bench.offer(QueueId(99), [7]);
        let before = std::iter::from_fn(|| {
            let start = bench.next()?;
            bench.finish(start.queue, start.seq, Outcome::Delivered);
            (start.queue != QueueId(99)).then_some(())
        });
        prop_assert!(before.count() as u64 <= tenants);
    }
}

/// Simulates a hundred queues of ten tenants, with an event for each every 10 ms and attempts that take 2 ms. Attempts
/// of the `hanging` queues never end. Returns the delays from offer to start in the other queues.
fn delays_with(hanging: &[QueueId]) -> Vec<(QueueId, u64)> {
    let mut bench = Bench::new();
    for queue in 0..100 {
        bench.open(queue_id(queue), queue % 10, settings());
    }
    let mut ends: BTreeMap<Timestamp, Vec<(QueueId, Seq)>> = BTreeMap::new();
    let mut delays = vec![];
    for tick in 0..2_000u64 {
        for (queue, seq) in ends.remove(&bench.now).unwrap_or_default() {
            bench.finish(queue, seq, Outcome::Delivered);
        }
        for queue in (0..100).filter(|queue| queue % 10 == tick % 10) {
            bench.offer(queue_id(queue), [bench.now * 100 + queue]);
        }
        while let Some(start) = bench.next() {
            if !hanging.contains(&start.queue) {
                ends.entry(bench.now + 2).or_default().push((start.queue, start.seq));
                delays.push((start.queue, bench.now - start.seq / 100));
            }
        }
        bench.advance(1);
    }
    delays
}

#[test]
fn endpoint_that_hangs_delays_none_of_the_other_ninety_nine() {
    let with: Vec<_> = delays_with(&[QueueId(42)]);
    let without: Vec<_> = delays_with(&[]).into_iter().filter(|(queue, _)| *queue != QueueId(42)).collect();
    assert_eq!(with, without);
    assert!(with.len() > 19_000 && with.iter().all(|(_, delay)| *delay == 0));
}

#[test]
fn tenant_whose_endpoints_all_hang_delays_no_other_tenant() {
    let hanging: Vec<QueueId> = (0..100).filter(|queue| queue % 10 == 3).map(QueueId).collect();
    assert!(delays_with(&hanging).iter().all(|(_, delay)| *delay == 0));
}
