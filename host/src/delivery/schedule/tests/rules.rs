//! The rules of attempts, order and queues.

use super::*;

const PLAIN: Start = Start { queue: QUEUE, seq: 1, attempt: Attempt::First };

#[test]
fn offered_delivery_starts_at_once() {
    let mut bench = Bench::with_queue(settings());
    bench.offer(QUEUE, [1]);
    assert_eq!(bench.next(), Some(PLAIN));
    assert_eq!(bench.next(), None);
}

#[test]
fn delivery_offered_twice_starts_once() {
    let mut bench = Bench::with_queue(settings());
    bench.offer(QUEUE, [1, 1]);
    assert_eq!(bench.starts(), [1]);
    bench.offer(QUEUE, [1]);
    assert_eq!(bench.starts(), [] as [Seq; 0], "while it is in flight");
}

#[test]
fn delivery_that_waits_for_its_subject_and_is_offered_again_starts_once() {
    let mut bench = Bench::with_queue(settings());
    bench.offer_with_subject(QUEUE, 1, 70);
    bench.offer_with_subject(QUEUE, 2, 70);
    assert_eq!(bench.starts(), [1]);
    bench.offer_with_subject(QUEUE, 2, 70);
    bench.finish(QUEUE, 1, Outcome::Delivered);
    assert_eq!(bench.starts(), [2]);
    bench.finish(QUEUE, 2, Outcome::Delivered);
    assert_eq!((bench.next(), bench.held()), (None, 0));
}

#[test]
fn failed_delivery_is_retried_by_the_schedule_and_not_a_millisecond_early() {
    let mut bench = Bench::with_queue(settings());
    bench.offer(QUEUE, [1]);
    let at = bench.now + 5 * MINUTE;
    assert_eq!(bench.attempt(FAILED).delivery, Decision::Retry { at });
    assert_eq!(bench.scheduler.wake_at(), Some(at));
    bench.now = at - 1;
    assert_eq!(bench.next(), None);
    bench.now = at;
    assert_eq!(bench.next(), Some(Start { attempt: Attempt::Retry(2), ..PLAIN }));
}

#[test]
fn delay_counts_from_the_end_of_the_attempt() {
    let mut bench = Bench::with_queue(settings());
    bench.offer(QUEUE, [1]);
    bench.next();
    bench.advance(9_000);
    let at = bench.now + 5 * MINUTE;
    assert_eq!(bench.finish(QUEUE, 1, FAILED).delivery, Decision::Retry { at });
}

#[test]
fn delivery_gets_one_attempt_more_than_there_are_delays() {
    let mut bench = Bench::with_queue(settings());
    bench.offer(QUEUE, [1]);
    assert!(matches!(bench.attempt(FAILED).delivery, Decision::Retry { .. }));
    bench.advance(5 * MINUTE);
    assert!(matches!(bench.attempt(FAILED).delivery, Decision::Retry { .. }));
    bench.advance(10 * MINUTE);
    assert_eq!(bench.attempt(FAILED).delivery, Decision::Exhausted);
    assert_eq!((bench.next(), bench.scheduler.wake_at()), (None, None));
}

#[test]
fn default_schedule_is_5_10_20_40_and_80_minutes() {
    let schedule = RetrySchedule::default();
    let delays: Vec<u64> = (1..=6).map_while(|made| schedule.next_at(made, 0, None, 0)).collect();
    assert_eq!(delays, [5, 10, 20, 40, 80].map(|minutes| minutes * MINUTE));
}

#[test]
fn jitter_adds_at_most_a_tenth_and_subtracts_nothing() {
    let schedule = RetrySchedule::default();
    let mut random = Random::new(1);
    let times: Vec<u64> = (0..1_000).filter_map(|_| schedule.next_at(1, 0, None, random.next())).collect();
    assert_eq!(times.len(), 1_000);
    assert!(times.iter().all(|at| (300_000..=330_000).contains(at)));
    assert!(times.iter().max() > Some(&329_000) && times.iter().min() < Some(&301_000), "it does spread them");
}

#[test]
fn retry_after_of_the_endpoint_counts_up_to_a_day() {
    let schedule = RetrySchedule::new(vec![5 * MINUTE], 0);
    let check =
        |requested_ms, expected_ms| assert_eq!(schedule.next_at(1, 0, Some(requested_ms), 3), Some(expected_ms));
    check(1_000, 5 * MINUTE);
    check(7 * MINUTE, 7 * MINUTE);
    check(u64::MAX, limits::RETRY_AFTER_MS_MAX);
}

#[test]
fn extreme_numbers_neither_panic_nor_start_early() {
    let schedule = RetrySchedule::new(vec![u64::MAX, 1], 1_000);
    assert_eq!(schedule.next_at(1, u64::MAX - 1, None, u64::MAX), Some(u64::MAX));
    assert!(schedule.next_at(0, 5, None, 0) >= Some(5) && schedule.next_at(u32::MAX, 5, None, 0).is_none());
}

#[test]
fn first_attempts_of_one_subject_wait_for_each_other() {
    let mut bench = Bench::with_queue(settings());
    for (seq, subject) in [(1, 70), (2, 70), (3, 80), (4, 70)] {
        bench.offer_with_subject(QUEUE, seq, subject);
    }
    assert_eq!(bench.starts(), [1, 3]);
    bench.finish(QUEUE, 1, Outcome::Delivered);
    assert_eq!(bench.starts(), [2]);
    bench.finish(QUEUE, 2, Outcome::Delivered);
    assert_eq!(bench.starts(), [4]);
}

#[test]
fn failed_first_attempt_does_not_block_the_next_of_its_subject() {
    let mut bench = Bench::with_queue(settings());
    bench.offer_with_subject(QUEUE, 1, 70);
    bench.offer_with_subject(QUEUE, 2, 70);
    bench.attempt(FAILED);
    assert_eq!(bench.starts(), [2]);
}

#[test]
fn subjects_of_different_queues_do_not_wait_for_each_other() {
    let mut bench = Bench::with_queue(settings());
    bench.open(QueueId(2), 1, settings());
    bench.offer_with_subject(QUEUE, 1, 70);
    bench.offer_with_subject(QueueId(2), 2, 70);
    assert_eq!(bench.starts(), [1, 2]);
}

#[test]
fn attempt_that_was_not_made_is_repeated_and_does_not_count() {
    let mut bench = Bench::with_queue(settings());
    bench.offer_with_subject(QUEUE, 1, 70);
    bench.offer_with_subject(QUEUE, 2, 70);
    let finished = bench.attempt(Outcome::NotMade);
    assert_eq!((finished.delivery, finished.failing_since), (Decision::Unchanged, None));
    assert_eq!(bench.next(), None, "a lasting problem causes no busy loop");
    bench.advance(limits::NOT_MADE_PAUSE_MS);
    assert_eq!(bench.next(), Some(PLAIN));
    bench.finish(QUEUE, 1, FAILED);
    bench.advance(5 * MINUTE);
    assert_eq!(bench.starts(), [2, 1]);
    bench.finish(QUEUE, 1, Outcome::NotMade);
    bench.advance(limits::NOT_MADE_PAUSE_MS);
    assert_eq!(bench.next(), Some(Start { attempt: Attempt::Retry(2), ..PLAIN }));
}

#[test]
fn missing_delivery_is_dropped_and_frees_its_subject() {
    let mut bench = Bench::with_queue(settings());
    bench.offer_with_subject(QUEUE, 1, 70);
    bench.offer_with_subject(QUEUE, 2, 70);
    assert_eq!(bench.attempt(Outcome::Missing).delivery, Decision::Dropped);
    assert_eq!(bench.starts(), [2]);
}

#[test]
fn queue_limits_first_attempts_and_retries_separately() {
    let mut bench = Bench::with_queue(QueueSettings { first_in_flight_max: 3, retries_in_flight_max: 2, ..settings() });
    bench.offer(QUEUE, 1..=10);
    let rows: Vec<(Seq, Timestamp)> = (101..=110).map(|seq| (seq, bench.now)).collect();
    bench.load_rows(QUEUE, &rows);
    assert_eq!(bench.starts(), [1, 2, 3, 101, 102]);
    bench.finish(QUEUE, 2, Outcome::Delivered);
    bench.finish(QUEUE, 101, Outcome::Delivered);
    assert_eq!(bench.starts(), [4, 103]);
}

#[test]
fn slots_limit_the_attempts_of_all_queues() {
    let mut bench = Bench::with(Caps { first_max: 5, tenant_first_max: 3, ..Caps::default() });
    for queue in 1..=6 {
        bench.open(queue_id(queue), queue % 3, settings());
        bench.offer(queue_id(queue), [queue * 10, queue * 10 + 1]);
    }
    assert_eq!(bench.starts().len(), 5);
    assert_eq!(bench.scheduler.counts().first_in_flight, 5);
}

#[test]
fn tenant_never_exceeds_its_share() {
    let mut bench = Bench::with(Caps { first_max: 8, tenant_first_max: 2, ..Caps::default() });
    for queue in 1..=4 {
        bench.open(queue_id(queue), 1, settings());
        bench.offer(queue_id(queue), [queue]);
    }
    assert_eq!(bench.starts(), [1, 2]);
    bench.finish(QUEUE, 1, Outcome::Delivered);
    assert_eq!(bench.starts(), [3]);
}

#[test]
fn closed_queue_drops_all_deliveries() {
    let mut bench = Bench::with_queue(settings());
    bench.offer(QUEUE, 1..=20);
    bench.attempt(FAILED);
    bench.next();
    bench.scheduler.close_queue(QUEUE, bench.now);
    assert_eq!((bench.next(), bench.scheduler.wake_at()), (None, None));
    assert_eq!(bench.finish(QUEUE, 2, FAILED).delivery, Decision::Dropped);
    let empty = Counts { held: 0, first_in_flight: 0, retries_in_flight: 0 };
    assert_eq!((bench.scheduler.counts(), bench.scheduler.view(QUEUE)), (empty, None));
}

#[test]
fn reopened_queue_takes_over_running_attempts() {
    let one_at_a_time = QueueSettings { first_in_flight_max: 1, ..settings() };
    let mut bench = Bench::with_queue(one_at_a_time.clone());
    bench.offer(QUEUE, [1]);
    bench.next();
    bench.scheduler.close_queue(QUEUE, bench.now);
    bench.open(QUEUE, 1, one_at_a_time);
    bench.offer(QUEUE, [1, 2]);
    assert_eq!(bench.next(), None);
    assert_eq!(bench.finish(QUEUE, 1, Outcome::Delivered).delivery, Decision::Delivered);
    assert_eq!(bench.starts(), [2]);
}

#[test]
fn no_attempt_is_early_after_the_clock_is_set_back() {
    let mut bench = Bench::with_queue(QueueSettings { retries_in_flight_max: 1, ..settings() });
    bench.load_rows(QUEUE, &[(1, bench.now + 10), (2, bench.now + 10)]);
    bench.advance(10);
    assert_eq!(bench.starts(), [1]);
    bench.finish(QUEUE, 1, Outcome::Delivered);
    bench.now -= 5;
    assert_eq!((bench.next(), bench.scheduler.counts().retries_in_flight), (None, 0));
    bench.advance(5);
    assert_eq!(bench.starts(), [2]);
}

#[test]
fn end_of_an_unknown_attempt_changes_nothing() {
    let mut bench = Bench::with_queue(settings());
    assert_eq!(bench.finish(QUEUE, 5, FAILED).delivery, Decision::Dropped);
    assert_eq!(bench.finish(QueueId(4), 5, FAILED).delivery, Decision::Dropped);
    bench.offer(QUEUE, [1]);
    assert_eq!(bench.attempt(Outcome::NotMade).failing_since, None);
}
