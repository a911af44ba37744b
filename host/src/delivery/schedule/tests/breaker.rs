//! What an endpoint that keeps failing gets: pauses, one attempt at a time, and at last nothing.

use super::*;

/// As many failures as open the breaker, of deliveries 1, 2, …
fn open_breaker() -> Desk {
    let mut desk = Desk::lane(settings());
    desk.offer(1, 1..=100);
    for _ in 0..limits::BREAKER_FAILURES {
        desk.attempt(FAILED);
    }
    desk
}

fn is_open(desk: &Desk) -> bool {
    desk.scheduler.view(1).expect("the lane is open").breaker_open
}

#[test]
fn five_failures_in_a_row_open_the_breaker() {
    let mut desk = Desk::lane(settings());
    desk.offer(1, 1..=100);
    for _ in 0..4 {
        desk.attempt(FAILED);
    }
    desk.attempt(Outcome::Delivered);
    for _ in 0..4 {
        desk.attempt(FAILED);
    }
    assert!(!is_open(&desk));
    desk.attempt(FAILED);
    assert!(is_open(&desk));
    assert_eq!(desk.next(), None);
}

#[test]
fn pauses_double_from_a_second_to_half_a_minute_with_one_attempt_after_each() {
    let mut desk = open_breaker();
    for pause in [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000] {
        assert_eq!(desk.scheduler.wake_at(), Some(desk.now + pause));
        desk.later(pause - 1);
        assert_eq!(desk.next(), None);
        desk.later(1);
        let start = desk.next().expect("the pause is over");
        assert_eq!(desk.next(), None, "one at a time");
        desk.later(10_000);
        desk.finish(1, start.seq, FAILED);
    }
}

#[test]
fn any_success_closes_the_breaker() {
    let mut desk = open_breaker();
    desk.later(1_000);
    desk.attempt(Outcome::Delivered);
    assert!(!is_open(&desk));
    assert_eq!(desk.starts().len(), limits::LANE_FIRST_IN_FLIGHT_MAX);
}

#[test]
fn failures_of_what_was_under_way_do_not_lengthen_the_pause() {
    let mut desk = Desk::lane(settings());
    desk.offer(1, 1..=100);
    for seq in desk.starts() {
        desk.finish(1, seq, FAILED);
    }
    assert_eq!(desk.scheduler.wake_at(), Some(desk.now + limits::BREAKER_PAUSE_MS_MIN));
}

#[test]
fn a_success_of_what_was_under_way_closes_the_breaker() {
    let mut desk = Desk::lane(settings());
    desk.offer(1, 1..=100);
    for seq in desk.starts() {
        desk.finish(1, seq, if seq == 16 { Outcome::Delivered } else { FAILED });
    }
    assert!(!is_open(&desk));
}

#[test]
fn while_it_is_open_a_retry_that_is_due_goes_before_a_fresh_one() {
    let mut desk = open_breaker();
    desk.later(5 * MINUTE);
    assert_eq!(desk.next(), Some(Start { lane: 1, seq: 1, attempt: Attempt::Retry(2) }));
}

#[test]
fn what_waits_behind_a_breaker_is_not_counted_as_attempted() {
    let mut desk = open_breaker();
    desk.later(60 * MINUTE);
    desk.attempt(Outcome::Delivered);
    let attempts: Vec<Attempt> = std::iter::from_fn(|| desk.next()).map(|start| start.attempt).collect();
    assert!(attempts.iter().all(|attempt| matches!(attempt, Attempt::First | Attempt::Retry(2))));
}

#[test]
fn our_own_trouble_does_not_open_a_breaker() {
    let mut desk = Desk::lane(settings());
    desk.offer(1, 1..=100);
    for _ in 0..10 {
        desk.attempt(Outcome::NotMade);
        desk.later(limits::NOT_MADE_PAUSE_MS);
    }
    assert!(!is_open(&desk));
}

#[test]
fn an_endpoint_that_only_fails_for_five_days_is_disabled() {
    let mut desk = Desk::lane(LaneSettings { disable_after_ms: Some(limits::DISABLE_AFTER_MS), ..settings() });
    let since = desk.now;
    desk.offer(1, 1..=3);
    assert_eq!(desk.attempt(FAILED).failing_since, Some(since));
    desk.now = since + limits::DISABLE_AFTER_MS - 1;
    assert_eq!(desk.attempt(FAILED).disabled, None);
    desk.later(1);
    assert_eq!(desk.attempt(FAILED).disabled, Some(Disabled::Failing { since }));
    assert_eq!((desk.next(), desk.scheduler.wake_at()), (None, None));
}

#[test]
fn one_success_begins_the_five_days_anew() {
    let mut desk = Desk::lane(LaneSettings { disable_after_ms: Some(limits::DISABLE_AFTER_MS), ..settings() });
    desk.offer(1, 1..=3);
    desk.attempt(FAILED);
    assert_eq!(desk.attempt(Outcome::Delivered).failing_since, None);
    desk.later(limits::DISABLE_AFTER_MS);
    assert_eq!(desk.attempt(FAILED).disabled, None);
}

#[test]
fn a_restart_does_not_forget_since_when_an_endpoint_fails() {
    let mut desk = Desk::new();
    let disable_after_ms = Some(limits::DISABLE_AFTER_MS);
    let opening = opening(1, LaneSettings { disable_after_ms, ..settings() });
    desk.now = limits::DISABLE_AFTER_MS + 77;
    desk.scheduler.open_lane(1, Opening { failing_since: Some(77), ..opening }, desk.now);
    desk.offer(1, [1]);
    assert_eq!(desk.attempt(FAILED).disabled, Some(Disabled::Failing { since: 77 }));
}

#[test]
fn an_endpoint_that_says_gone_is_disabled_and_keeps_its_deliveries() {
    let mut desk = Desk::lane(settings());
    desk.offer(1, [1, 2]);
    let finished = desk.attempt(Outcome::Gone);
    assert_eq!(finished.disabled, Some(Disabled::Gone));
    assert_eq!(finished.delivery, Decision::Retry { at: desk.now + 5 * MINUTE });
    desk.later(60 * MINUTE);
    assert_eq!(desk.next(), None);
}

#[test]
fn a_lane_that_is_enabled_again_begins_as_if_it_had_never_failed() {
    let mut desk = open_breaker();
    desk.scheduler.disable_lane(1, desk.now);
    desk.scheduler.enable_lane(1, desk.now);
    assert!(!is_open(&desk));
    desk.stored(1, &[(1, desk.now)]);
    assert_eq!(desk.attempt(Outcome::NotMade).failing_since, None);
}
