//! Rows that were changed outside of the scheduler: by a redelivery, a recovery, or commits that it missed.

use super::*;

/// Ends one attempt of each of the deliveries 1, 2, … with the outcome.
fn attempted(count: u64, outcome: Outcome) -> Bench {
    let mut bench = Bench::with_queue(settings());
    bench.offer(QUEUE, 1..=count);
    for seq in bench.starts() {
        bench.finish(QUEUE, seq, outcome);
    }
    bench
}

/// Begins the load of the retries of `QUEUE`.
fn next_retry_load(bench: &mut Bench) -> Load {
    let load = bench.scheduler.next_load(bench.now).expect("a load is due");
    assert_eq!(load.rows, Rows::Retries { due_from: 0 });
    load
}

#[test]
fn delivered_delivery_that_is_due_again_starts_at_once_with_the_number_of_its_row() {
    let mut bench = attempted(1, Outcome::Delivered);
    bench.load_rows(QUEUE, &[(1, bench.now)]);
    assert_eq!(bench.next(), Some(Start { queue: QUEUE, seq: 1, attempt: Attempt::Retry(2) }));
    assert_eq!(bench.finish(QUEUE, 1, FAILED).delivery, Decision::Retry { at: bench.now + 10 * MINUTE });
}

#[test]
fn exhausted_delivery_that_is_due_again_is_exhausted_by_the_next_failure() {
    let mut bench = Bench::with_queue(settings());
    bench.scheduler.reread(QUEUE, bench.now);
    let load = next_retry_load(&mut bench);
    bench.scheduler.loaded_retries(&load, &[RetryRow { seq: 1, attempt: 4, due: bench.now }], bench.now);
    assert_eq!(bench.next(), Some(Start { queue: QUEUE, seq: 1, attempt: Attempt::Retry(4) }));
    assert_eq!(bench.finish(QUEUE, 1, FAILED).delivery, Decision::Exhausted);
}

#[test]
fn redelivery_before_the_first_attempt_gets_the_whole_schedule() {
    let mut bench = Bench::with_queue(settings());
    bench.scheduler.reread(QUEUE, bench.now);
    let load = next_retry_load(&mut bench);
    bench.scheduler.loaded_retries(&load, &[RetryRow { seq: 1, attempt: 1, due: bench.now }], bench.now);
    assert_eq!(bench.attempt(FAILED).delivery, Decision::Retry { at: bench.now + 5 * MINUTE });
}

#[test]
fn redelivery_of_a_waiting_retry_starts_now_and_once() {
    let mut bench = attempted(1, FAILED);
    assert_eq!(bench.next(), None);
    bench.load_rows(QUEUE, &[(1, bench.now)]);
    assert_eq!(bench.starts(), [1]);
    bench.finish(QUEUE, 1, Outcome::Delivered);
    assert_eq!((bench.next(), bench.held(), bench.scheduler.wake_at()), (None, 0, None));
}

#[test]
fn redelivery_of_a_delivery_that_waits_for_its_subject_lets_the_next_one_start() {
    let mut bench = Bench::with_queue(settings());
    for seq in 1..=4 {
        bench.offer_with_subject(QUEUE, seq, 70);
    }
    assert_eq!(bench.starts(), [1]);
    bench.load_rows(QUEUE, &[(3, bench.now)]);
    assert_eq!(bench.starts(), [3]);
    bench.finish(QUEUE, 1, Outcome::Delivered);
    bench.load_rows(QUEUE, &[(2, bench.now), (3, bench.now)]);
    assert_eq!(bench.starts(), [4, 2]);
}

#[test]
fn delivery_whose_attempt_was_not_made_survives_a_disabled_queue() {
    let mut bench = Bench::with_queue(settings());
    bench.offer(QUEUE, [1]);
    bench.next();
    bench.load_rows(QUEUE, &[(1, bench.now)]);
    bench.scheduler.disable_queue(QUEUE, bench.now);
    bench.finish(QUEUE, 1, Outcome::NotMade);
    bench.scheduler.enable_queue(QUEUE, bench.now);
    let load = next_retry_load(&mut bench);
    bench.scheduler.loaded_retries(&load, &[RetryRow { seq: 1, attempt: 1, due: bench.now }], bench.now);
    assert_eq!(bench.starts(), [1]);
}

#[test]
fn attempt_in_flight_is_not_started_again() {
    let mut bench = attempted(2, FAILED);
    bench.advance(5 * MINUTE);
    assert_eq!(bench.starts(), [1, 2]);
    bench.load_rows(QUEUE, &[(1, bench.now), (2, bench.now)]);
    assert_eq!(bench.next(), None);
    bench.finish(QUEUE, 1, Outcome::Delivered);
    assert_eq!(bench.next(), None);
}

#[test]
fn rows_that_change_during_a_load_are_loaded_after_it() {
    let mut bench = attempted(1, Outcome::Delivered);
    bench.scheduler.reread(QUEUE, bench.now);
    let load = next_retry_load(&mut bench);
    bench.scheduler.reread(QUEUE, bench.now);
    bench.scheduler.loaded_retries(&load, &[], bench.now);
    let load = next_retry_load(&mut bench);
    bench.scheduler.loaded_retries(&load, &[retry(1, bench.now)], bench.now);
    assert_eq!(bench.starts(), [1]);
}

#[test]
fn redelivery_while_the_queue_is_disabled_starts_when_it_is_enabled() {
    let mut bench = attempted(1, Outcome::Delivered);
    bench.scheduler.disable_queue(QUEUE, bench.now);
    bench.load_rows(QUEUE, &[(1, bench.now)]);
    assert_eq!((bench.next(), bench.scheduler.wake_at()), (None, None));
    bench.scheduler.enable_queue(QUEUE, bench.now);
    let load = next_retry_load(&mut bench);
    bench.scheduler.loaded_retries(&load, &[retry(1, bench.now)], bench.now);
    assert_eq!(bench.starts(), [1]);
}

#[test]
fn deliveries_that_were_not_offered_start_in_their_sequence() {
    let mut bench = Bench::with_queue(settings());
    bench.offer_with_subject(QUEUE, 1, 70);
    assert_eq!(bench.starts(), [1]);
    bench.scheduler.reread(QUEUE, bench.now);
    bench.offer_with_subject(QUEUE, 3, 70);
    let retries = next_retry_load(&mut bench);
    bench.scheduler.loaded_retries(&retries, &[], bench.now);
    let load = bench.scheduler.next_load(bench.now).expect("fresh ones");
    assert_eq!(load.rows, Rows::Fresh { from: 0 });
    let rows = [1, 2, 3].map(|seq| FreshRow { seq, subject: 70 });
    bench.scheduler.loaded_fresh(&load, &rows, bench.now);
    for expected in [2, 3] {
        bench.finish(QUEUE, expected - 1, Outcome::Delivered);
        assert_eq!(bench.starts(), [expected]);
    }
}

#[test]
fn closed_and_unknown_queues_load_nothing() {
    let mut bench = Bench::with_queue(settings());
    bench.offer(QUEUE, [1]);
    bench.next();
    bench.scheduler.close_queue(QUEUE, bench.now);
    bench.scheduler.reread(QUEUE, bench.now);
    bench.scheduler.reread(QueueId(2), bench.now);
    assert_eq!((bench.scheduler.next_load(bench.now), bench.scheduler.wake_at()), (None, None));
}
