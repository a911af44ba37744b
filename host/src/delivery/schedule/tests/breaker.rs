//! Endpoints that keep failing: pauses, one attempt at a time, and the endpoint is finally disabled.

use super::*;

/// Opens the breaker by failing deliveries 1, 2, …
fn open_breaker() -> Bench {
    let mut bench = Bench::with_queue(settings());
    bench.offer(QUEUE, 1..=100);
    for _ in 0..limits::BREAKER_FAILURES {
        bench.attempt(FAILED);
    }
    bench
}

fn is_open(bench: &Bench) -> bool {
    bench.scheduler.view(QUEUE).expect("the queue is open").breaker_open
}

#[test]
fn five_consecutive_failures_open_the_breaker() {
    let mut bench = Bench::with_queue(settings());
    bench.offer(QUEUE, 1..=100);
    for _ in 0..4 {
        bench.attempt(FAILED);
    }
    bench.attempt(Outcome::Delivered);
    for _ in 0..4 {
        bench.attempt(FAILED);
    }
    assert!(!is_open(&bench));
    bench.attempt(FAILED);
    assert!(is_open(&bench));
    assert_eq!(bench.next(), None);
}

#[test]
fn pauses_double_from_a_second_to_half_a_minute_with_one_attempt_after_each() {
    let mut bench = open_breaker();
    for pause in [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000] {
        assert_eq!(bench.scheduler.wake_at(), Some(bench.now + pause));
        bench.advance(pause - 1);
        assert_eq!(bench.next(), None);
        bench.advance(1);
        let start = bench.next().expect("the pause is over");
        assert_eq!(bench.next(), None, "one attempt at a time");
        bench.advance(10_000);
        bench.finish(QUEUE, start.seq, FAILED);
    }
}

#[test]
fn any_success_closes_the_breaker() {
    let mut bench = open_breaker();
    bench.advance(1_000);
    bench.attempt(Outcome::Delivered);
    assert!(!is_open(&bench));
    assert_eq!(bench.starts().len(), limits::QUEUE_FIRST_IN_FLIGHT_MAX);
}

#[test]
fn failures_of_attempts_already_in_flight_do_not_lengthen_the_pause() {
    let mut bench = Bench::with_queue(settings());
    bench.offer(QUEUE, 1..=100);
    for seq in bench.starts() {
        bench.finish(QUEUE, seq, FAILED);
    }
    assert_eq!(bench.scheduler.wake_at(), Some(bench.now + limits::BREAKER_PAUSE_MS_MIN));
}

#[test]
fn success_of_an_attempt_already_in_flight_closes_the_breaker() {
    let mut bench = Bench::with_queue(settings());
    bench.offer(QUEUE, 1..=100);
    for seq in bench.starts() {
        bench.finish(QUEUE, seq, if seq == 16 { Outcome::Delivered } else { FAILED });
    }
    assert!(!is_open(&bench));
}

#[test]
fn due_retry_precedes_a_fresh_delivery_while_the_breaker_is_open() {
    let mut bench = open_breaker();
    bench.advance(5 * MINUTE);
    assert_eq!(bench.next(), Some(Start { queue: QUEUE, seq: 1, attempt: Attempt::Retry(2) }));
}

#[test]
fn deliveries_that_wait_for_the_breaker_count_no_attempt() {
    let mut bench = open_breaker();
    bench.advance(60 * MINUTE);
    bench.attempt(Outcome::Delivered);
    let attempts: Vec<Attempt> = std::iter::from_fn(|| bench.next()).map(|start| start.attempt).collect();
    assert!(attempts.iter().all(|attempt| matches!(attempt, Attempt::First | Attempt::Retry(2))));
}

#[test]
fn attempts_that_were_not_made_do_not_open_the_breaker() {
    let mut bench = Bench::with_queue(settings());
    bench.offer(QUEUE, 1..=100);
    for _ in 0..10 {
        bench.attempt(Outcome::NotMade);
        bench.advance(limits::NOT_MADE_PAUSE_MS);
    }
    assert!(!is_open(&bench));
}

#[test]
fn endpoint_that_fails_for_five_days_is_disabled() {
    let mut bench = Bench::with_queue(QueueSettings { disable_after_ms: Some(limits::DISABLE_AFTER_MS), ..settings() });
    let since = bench.now;
    bench.offer(QUEUE, 1..=3);
    assert_eq!(bench.attempt(FAILED).failing_since, Some(since));
    bench.now = since + limits::DISABLE_AFTER_MS - 1;
    assert_eq!(bench.attempt(FAILED).disabled, None);
    bench.advance(1);
    assert_eq!(bench.attempt(FAILED).disabled, Some(Disabled::Failing { since }));
    assert_eq!((bench.next(), bench.scheduler.wake_at()), (None, None));
}

#[test]
fn success_restarts_the_five_days() {
    let mut bench = Bench::with_queue(QueueSettings { disable_after_ms: Some(limits::DISABLE_AFTER_MS), ..settings() });
    bench.offer(QUEUE, 1..=3);
    bench.attempt(FAILED);
    assert_eq!(bench.attempt(Outcome::Delivered).failing_since, None);
    bench.advance(limits::DISABLE_AFTER_MS);
    assert_eq!(bench.attempt(FAILED).disabled, None);
}

#[test]
fn start_of_the_failures_survives_a_restart() {
    let mut bench = Bench::new();
    let disable_after_ms = Some(limits::DISABLE_AFTER_MS);
    let opening = opening(1, QueueSettings { disable_after_ms, ..settings() });
    bench.now = limits::DISABLE_AFTER_MS + 77;
    bench.scheduler.open_queue(QUEUE, Opening { failing_since: Some(77), ..opening }, bench.now);
    bench.offer(QUEUE, [1]);
    assert_eq!(bench.attempt(FAILED).disabled, Some(Disabled::Failing { since: 77 }));
}

#[test]
fn endpoint_that_responds_with_410_is_disabled_and_keeps_its_deliveries() {
    let mut bench = Bench::with_queue(settings());
    bench.offer(QUEUE, [1, 2]);
    let finished = bench.attempt(Outcome::Gone);
    assert_eq!(finished.disabled, Some(Disabled::Gone));
    assert_eq!(finished.delivery, Decision::Retry { at: bench.now + 5 * MINUTE });
    bench.advance(60 * MINUTE);
    assert_eq!(bench.next(), None);
}

#[test]
fn enabled_queue_starts_without_its_history_of_failures() {
    let mut bench = open_breaker();
    bench.scheduler.disable_queue(QUEUE, bench.now);
    bench.scheduler.enable_queue(QUEUE, bench.now);
    assert!(!is_open(&bench));
    bench.load_rows(QUEUE, &[(1, bench.now)]);
    assert_eq!(bench.attempt(Outcome::NotMade).failing_since, None);
}
