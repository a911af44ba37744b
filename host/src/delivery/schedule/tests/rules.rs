//! One sentence for each rule of attempts, order and lanes.

use super::*;

const PLAIN: Start = Start { lane: 1, seq: 1, attempt: Attempt::First };

#[test]
fn what_is_offered_starts_at_once() {
    let mut desk = Desk::lane(settings());
    desk.offer(1, [1]);
    assert_eq!(desk.next(), Some(PLAIN));
    assert_eq!(desk.next(), None);
}

#[test]
fn what_is_offered_twice_starts_once() {
    let mut desk = Desk::lane(settings());
    desk.offer(1, [1, 1]);
    assert_eq!(desk.starts(), [1]);
    desk.offer(1, [1]);
    assert_eq!(desk.starts(), [] as [Seq; 0], "while it is under way");
}

#[test]
fn what_waits_for_its_subject_and_is_offered_again_starts_once() {
    let mut desk = Desk::lane(settings());
    desk.offer_of(1, 1, 70);
    desk.offer_of(1, 2, 70);
    assert_eq!(desk.starts(), [1]);
    desk.offer_of(1, 2, 70);
    desk.finish(1, 1, Outcome::Delivered);
    assert_eq!(desk.starts(), [2]);
    desk.finish(1, 2, Outcome::Delivered);
    assert_eq!((desk.next(), desk.held()), (None, 0));
}

#[test]
fn a_failure_is_tried_again_by_the_schedule_and_not_a_millisecond_early() {
    let mut desk = Desk::lane(settings());
    desk.offer(1, [1]);
    let at = desk.now + 5 * MINUTE;
    assert_eq!(desk.attempt(FAILED).delivery, Decision::Retry { at });
    assert_eq!(desk.scheduler.wake_at(), Some(at));
    desk.now = at - 1;
    assert_eq!(desk.next(), None);
    desk.now = at;
    assert_eq!(desk.next(), Some(Start { attempt: Attempt::Retry(2), ..PLAIN }));
}

#[test]
fn the_interval_counts_from_the_end_of_the_attempt() {
    let mut desk = Desk::lane(settings());
    desk.offer(1, [1]);
    desk.next();
    desk.later(9_000);
    let at = desk.now + 5 * MINUTE;
    assert_eq!(desk.finish(1, 1, FAILED).delivery, Decision::Retry { at });
}

#[test]
fn a_delivery_gets_one_attempt_more_than_there_are_delays() {
    let mut desk = Desk::lane(settings());
    desk.offer(1, [1]);
    assert!(matches!(desk.attempt(FAILED).delivery, Decision::Retry { .. }));
    desk.later(5 * MINUTE);
    assert!(matches!(desk.attempt(FAILED).delivery, Decision::Retry { .. }));
    desk.later(10 * MINUTE);
    assert_eq!(desk.attempt(FAILED).delivery, Decision::Exhausted);
    assert_eq!((desk.next(), desk.scheduler.wake_at()), (None, None));
}

#[test]
fn the_default_schedule_is_5_10_20_40_and_80_minutes() {
    let schedule = RetrySchedule::default();
    let delays: Vec<u64> = (1..=6).map_while(|made| schedule.next_at(made, 0, None, 0)).collect();
    assert_eq!(delays, [5, 10, 20, 40, 80].map(|minutes| minutes * MINUTE));
}

#[test]
fn jitter_adds_a_tenth_at_most_and_takes_nothing_away() {
    let schedule = RetrySchedule::default();
    let mut random = Random::new(1);
    let times: Vec<u64> = (0..1_000).filter_map(|_| schedule.next_at(1, 0, None, random.next())).collect();
    assert_eq!(times.len(), 1_000);
    assert!(times.iter().all(|at| (300_000..=330_000).contains(at)));
    assert!(times.iter().max() > Some(&329_000) && times.iter().min() < Some(&301_000), "it does spread them");
}

#[test]
fn an_endpoint_that_asks_for_a_pause_gets_it_up_to_a_day() {
    let schedule = RetrySchedule::new(vec![5 * MINUTE], 0);
    let check = |asked_ms, expected_ms| assert_eq!(schedule.next_at(1, 0, Some(asked_ms), 3), Some(expected_ms));
    check(1_000, 5 * MINUTE);
    check(7 * MINUTE, 7 * MINUTE);
    check(u64::MAX, limits::RETRY_AFTER_MS_MAX);
}

#[test]
fn absurd_numbers_neither_panic_nor_come_early() {
    let schedule = RetrySchedule::new(vec![u64::MAX, 1], 1_000);
    assert_eq!(schedule.next_at(1, u64::MAX - 1, None, u64::MAX), Some(u64::MAX));
    assert!(schedule.next_at(0, 5, None, 0) >= Some(5) && schedule.next_at(u32::MAX, 5, None, 0).is_none());
}

#[test]
fn first_attempts_of_one_subject_wait_for_each_other() {
    let mut desk = Desk::lane(settings());
    for (seq, subject) in [(1, 70), (2, 70), (3, 80), (4, 70)] {
        desk.offer_of(1, seq, subject);
    }
    assert_eq!(desk.starts(), [1, 3]);
    desk.finish(1, 1, Outcome::Delivered);
    assert_eq!(desk.starts(), [2]);
    desk.finish(1, 2, Outcome::Delivered);
    assert_eq!(desk.starts(), [4]);
}

#[test]
fn a_failed_first_attempt_does_not_hold_back_the_next_of_its_subject() {
    let mut desk = Desk::lane(settings());
    desk.offer_of(1, 1, 70);
    desk.offer_of(1, 2, 70);
    desk.attempt(FAILED);
    assert_eq!(desk.starts(), [2]);
}

#[test]
fn subjects_of_different_lanes_do_not_wait_for_each_other() {
    let mut desk = Desk::lane(settings());
    desk.open(2, 1, settings());
    desk.offer_of(1, 1, 70);
    desk.offer_of(2, 2, 70);
    assert_eq!(desk.starts(), [1, 2]);
}

#[test]
fn an_attempt_that_was_not_made_is_the_next_again_and_costs_nothing() {
    let mut desk = Desk::lane(settings());
    desk.offer_of(1, 1, 70);
    desk.offer_of(1, 2, 70);
    let finished = desk.attempt(Outcome::NotMade);
    assert_eq!((finished.delivery, finished.failing_since), (Decision::Unchanged, None));
    assert_eq!(desk.next(), None, "trouble that lasts does not spin");
    desk.later(limits::NOT_MADE_PAUSE_MS);
    assert_eq!(desk.next(), Some(PLAIN));
    desk.finish(1, 1, FAILED);
    desk.later(5 * MINUTE);
    assert_eq!(desk.starts(), [2, 1]);
    desk.finish(1, 1, Outcome::NotMade);
    desk.later(limits::NOT_MADE_PAUSE_MS);
    assert_eq!(desk.next(), Some(Start { attempt: Attempt::Retry(2), ..PLAIN }));
}

#[test]
fn a_delivery_that_is_missing_is_dropped_and_frees_its_subject() {
    let mut desk = Desk::lane(settings());
    desk.offer_of(1, 1, 70);
    desk.offer_of(1, 2, 70);
    assert_eq!(desk.attempt(Outcome::Missing).delivery, Decision::Dropped);
    assert_eq!(desk.starts(), [2]);
}

#[test]
fn a_lane_starts_no_more_than_its_caps_and_retries_have_their_own() {
    let mut desk = Desk::lane(LaneSettings { first_in_flight_max: 3, retries_in_flight_max: 2, ..settings() });
    desk.offer(1, 1..=10);
    let rows: Vec<(Seq, Timestamp)> = (101..=110).map(|seq| (seq, desk.now)).collect();
    desk.stored(1, &rows);
    assert_eq!(desk.starts(), [1, 2, 3, 101, 102]);
    desk.finish(1, 2, Outcome::Delivered);
    desk.finish(1, 101, Outcome::Delivered);
    assert_eq!(desk.starts(), [4, 103]);
}

#[test]
fn all_lanes_together_start_no_more_than_the_slots() {
    let mut desk = Desk::with(Caps { first_max: 5, tenant_first_max: 3, ..Caps::default() });
    for lane in 1..=6 {
        desk.open(lane, lane % 3, settings());
        desk.offer(lane, [lane * 10, lane * 10 + 1]);
    }
    assert_eq!(desk.starts().len(), 5);
    assert_eq!(desk.scheduler.counts().first_in_flight, 5);
}

#[test]
fn one_tenant_never_has_more_than_its_share() {
    let mut desk = Desk::with(Caps { first_max: 8, tenant_first_max: 2, ..Caps::default() });
    for lane in 1..=4 {
        desk.open(lane, 1, settings());
        desk.offer(lane, [lane]);
    }
    assert_eq!(desk.starts(), [1, 2]);
    desk.finish(1, 1, Outcome::Delivered);
    assert_eq!(desk.starts(), [3]);
}

#[test]
fn a_lane_that_is_closed_drops_everything() {
    let mut desk = Desk::lane(settings());
    desk.offer(1, 1..=20);
    desk.attempt(FAILED);
    desk.next();
    desk.scheduler.close_lane(1, desk.now);
    assert_eq!((desk.next(), desk.scheduler.wake_at()), (None, None));
    assert_eq!(desk.finish(1, 2, FAILED).delivery, Decision::Dropped);
    let gone = Counts { held: 0, first_in_flight: 0, retries_in_flight: 0 };
    assert_eq!((desk.scheduler.counts(), desk.scheduler.view(1)), (gone, None));
}

#[test]
fn a_lane_that_opens_again_knows_what_is_still_under_way() {
    let one_at_a_time = LaneSettings { first_in_flight_max: 1, ..settings() };
    let mut desk = Desk::lane(one_at_a_time.clone());
    desk.offer(1, [1]);
    desk.next();
    desk.scheduler.close_lane(1, desk.now);
    desk.open(1, 1, one_at_a_time);
    desk.offer(1, [1, 2]);
    assert_eq!(desk.next(), None);
    assert_eq!(desk.finish(1, 1, Outcome::Delivered).delivery, Decision::Delivered);
    assert_eq!(desk.starts(), [2]);
}

#[test]
fn nothing_is_early_where_the_clock_is_set_back() {
    let mut desk = Desk::lane(LaneSettings { retries_in_flight_max: 1, ..settings() });
    desk.stored(1, &[(1, desk.now + 10), (2, desk.now + 10)]);
    desk.later(10);
    assert_eq!(desk.starts(), [1]);
    desk.finish(1, 1, Outcome::Delivered);
    desk.now -= 5;
    assert_eq!((desk.next(), desk.scheduler.counts().retries_in_flight), (None, 0));
    desk.later(5);
    assert_eq!(desk.starts(), [2]);
}

#[test]
fn an_answer_to_nothing_changes_nothing() {
    let mut desk = Desk::lane(settings());
    assert_eq!(desk.finish(1, 5, FAILED).delivery, Decision::Dropped);
    assert_eq!(desk.finish(4, 5, FAILED).delivery, Decision::Dropped);
    desk.offer(1, [1]);
    assert_eq!(desk.attempt(Outcome::NotMade).failing_since, None);
}
