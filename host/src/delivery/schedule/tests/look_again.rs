//! Rows that changed by somebody else's decision: a redelivery, a recovery, commits that were missed.

use super::*;

/// Deliveries 1, 2, … had an attempt each, which ended so.
fn attempted(count: u64, outcome: Outcome) -> Desk {
    let mut desk = Desk::lane(settings());
    desk.offer(1, 1..=count);
    for seq in desk.starts() {
        desk.finish(1, seq, outcome);
    }
    desk
}

/// The retries of lane 1 that are asked for now.
fn ask(desk: &mut Desk) -> Load {
    let load = desk.scheduler.wants(desk.now).expect("rows are wanted");
    assert_eq!(load.rows, Rows::Retries { due_from: 0 });
    load
}

#[test]
fn a_delivered_one_that_is_due_again_goes_at_once_with_the_number_of_its_row() {
    let mut desk = attempted(1, Outcome::Delivered);
    desk.stored(1, &[(1, desk.now)]);
    assert_eq!(desk.next(), Some(Start { lane: 1, seq: 1, attempt: Attempt::Retry(2) }));
    assert_eq!(desk.finish(1, 1, FAILED).delivery, Decision::Retry { at: desk.now + 10 * MINUTE });
}

#[test]
fn an_exhausted_one_that_is_due_again_is_exhausted_by_the_next_failure() {
    let mut desk = Desk::lane(settings());
    desk.scheduler.look_again(1, desk.now);
    let load = ask(&mut desk);
    desk.scheduler.loaded_retries(&load, &[RetryRow { seq: 1, attempt: 4, due: desk.now }], desk.now);
    assert_eq!(desk.next(), Some(Start { lane: 1, seq: 1, attempt: Attempt::Retry(4) }));
    assert_eq!(desk.finish(1, 1, FAILED).delivery, Decision::Exhausted);
}

#[test]
fn one_that_was_never_tried_and_is_due_out_of_its_turn_gets_its_whole_schedule() {
    let mut desk = Desk::lane(settings());
    desk.scheduler.look_again(1, desk.now);
    let load = ask(&mut desk);
    desk.scheduler.loaded_retries(&load, &[RetryRow { seq: 1, attempt: 1, due: desk.now }], desk.now);
    assert_eq!(desk.attempt(FAILED).delivery, Decision::Retry { at: desk.now + 5 * MINUTE });
}

#[test]
fn one_that_waits_for_a_retry_and_is_due_now_goes_now_and_once() {
    let mut desk = attempted(1, FAILED);
    assert_eq!(desk.next(), None);
    desk.stored(1, &[(1, desk.now)]);
    assert_eq!(desk.starts(), [1]);
    desk.finish(1, 1, Outcome::Delivered);
    assert_eq!((desk.next(), desk.held(), desk.scheduler.wake_at()), (None, 0, None));
}

#[test]
fn one_that_waits_for_its_subject_and_is_due_now_leaves_its_turn_to_the_next() {
    let mut desk = Desk::lane(settings());
    for seq in 1..=4 {
        desk.offer_of(1, seq, 70);
    }
    assert_eq!(desk.starts(), [1]);
    desk.stored(1, &[(3, desk.now)]);
    assert_eq!(desk.starts(), [3]);
    desk.finish(1, 1, Outcome::Delivered);
    desk.stored(1, &[(2, desk.now), (3, desk.now)]);
    assert_eq!(desk.starts(), [4, 2]);
}

#[test]
fn one_whose_attempt_was_not_made_is_not_lost_with_a_lane_that_rests() {
    let mut desk = Desk::lane(settings());
    desk.offer(1, [1]);
    desk.next();
    desk.stored(1, &[(1, desk.now)]);
    desk.scheduler.disable_lane(1, desk.now);
    desk.finish(1, 1, Outcome::NotMade);
    desk.scheduler.enable_lane(1, desk.now);
    let load = ask(&mut desk);
    desk.scheduler.loaded_retries(&load, &[RetryRow { seq: 1, attempt: 1, due: desk.now }], desk.now);
    assert_eq!(desk.starts(), [1]);
}

#[test]
fn what_is_under_way_is_not_made_a_second_time() {
    let mut desk = attempted(2, FAILED);
    desk.later(5 * MINUTE);
    assert_eq!(desk.starts(), [1, 2]);
    desk.stored(1, &[(1, desk.now), (2, desk.now)]);
    assert_eq!(desk.next(), None);
    desk.finish(1, 1, Outcome::Delivered);
    assert_eq!(desk.next(), None);
}

#[test]
fn what_becomes_due_during_a_load_is_asked_for_after_it() {
    let mut desk = attempted(1, Outcome::Delivered);
    desk.scheduler.look_again(1, desk.now);
    let load = ask(&mut desk);
    desk.scheduler.look_again(1, desk.now);
    desk.scheduler.loaded_retries(&load, &[], desk.now);
    let load = ask(&mut desk);
    desk.scheduler.loaded_retries(&load, &[retry(1, desk.now)], desk.now);
    assert_eq!(desk.starts(), [1]);
}

#[test]
fn what_becomes_due_while_the_lane_rests_goes_when_it_is_enabled() {
    let mut desk = attempted(1, Outcome::Delivered);
    desk.scheduler.disable_lane(1, desk.now);
    desk.stored(1, &[(1, desk.now)]);
    assert_eq!((desk.next(), desk.scheduler.wake_at()), (None, None));
    desk.scheduler.enable_lane(1, desk.now);
    let load = ask(&mut desk);
    desk.scheduler.loaded_retries(&load, &[retry(1, desk.now)], desk.now);
    assert_eq!(desk.starts(), [1]);
}

#[test]
fn what_was_committed_and_not_offered_is_found_in_its_sequence() {
    let mut desk = Desk::lane(settings());
    desk.offer_of(1, 1, 70);
    assert_eq!(desk.starts(), [1]);
    desk.scheduler.look_again(1, desk.now);
    desk.offer_of(1, 3, 70);
    let retries = ask(&mut desk);
    desk.scheduler.loaded_retries(&retries, &[], desk.now);
    let load = desk.scheduler.wants(desk.now).expect("fresh ones");
    assert_eq!(load.rows, Rows::Fresh { from: 0 });
    let rows = [1, 2, 3].map(|seq| FreshRow { seq, subject: 70 });
    desk.scheduler.loaded_fresh(&load, &rows, desk.now);
    for expected in [2, 3] {
        desk.finish(1, expected - 1, Outcome::Delivered);
        assert_eq!(desk.starts(), [expected]);
    }
}

#[test]
fn a_lane_that_is_closed_or_unknown_is_not_looked_at() {
    let mut desk = Desk::lane(settings());
    desk.offer(1, [1]);
    desk.next();
    desk.scheduler.close_lane(1, desk.now);
    desk.scheduler.look_again(1, desk.now);
    desk.scheduler.look_again(2, desk.now);
    assert_eq!((desk.scheduler.wants(desk.now), desk.scheduler.wake_at()), (None, None));
}
