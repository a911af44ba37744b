//! What only the database holds, and how it comes back: no room, a horizon, a lane at rest, rows that are stale.

use super::*;

fn tight(lane_held_max: usize, horizon_ms: u64) -> Desk {
    let caps = Caps { lane_held_max, horizon_ms, ..Caps::default() };
    let mut desk = Desk { scheduler: Scheduler::new(caps, 7), now: 1_000 };
    desk.open(1, 1, LaneSettings { first_in_flight_max: 1, ..settings() });
    desk
}

fn fresh(seqs: impl IntoIterator<Item = Seq>) -> Vec<FreshRow> {
    seqs.into_iter().map(|seq| FreshRow { seq, subject: 1_000_000 + seq }).collect()
}

fn retries(rows: &[(Seq, Timestamp)]) -> Vec<RetryRow> {
    rows.iter().map(|(seq, due)| retry(*seq, *due)).collect()
}

#[test]
fn beyond_the_room_deliveries_are_asked_for_when_half_of_it_is_free() {
    let mut desk = tight(4, MINUTE);
    desk.offer(1, 1..=9);
    assert_eq!(desk.scheduler.wants(desk.now), None);
    assert_eq!(desk.next().map(|start| start.seq), Some(1));
    desk.finish(1, 1, Outcome::Delivered);
    assert_eq!(desk.next().map(|start| start.seq), Some(2));
    let load = desk.scheduler.wants(desk.now).expect("two of four places are free");
    assert_eq!((load.rows, load.limit), (Rows::Fresh { from: 5 }, 2));
    desk.scheduler.loaded_fresh(&load, &fresh([5, 6]), desk.now);
    desk.finish(1, 2, Outcome::Delivered);
    for expected in [3, 4, 5, 6] {
        let start = desk.next().expect("loaded ones follow what was held");
        assert_eq!(
            (start.seq, desk.finish(1, start.seq, Outcome::Delivered).delivery),
            (expected, Decision::Delivered)
        );
    }
    let load = desk.scheduler.wants(desk.now).expect("there may be more");
    assert_eq!(load.rows, Rows::Fresh { from: 7 });
}

#[test]
fn what_is_offered_during_a_load_is_not_lost() {
    let mut desk = tight(2, MINUTE);
    desk.offer(1, 1..=3);
    desk.attempt(Outcome::Delivered);
    desk.next();
    let load = desk.scheduler.wants(desk.now).expect("3 is in the database only");
    desk.offer(1, [4]);
    desk.scheduler.loaded_fresh(&load, &[], desk.now);
    let load = desk.scheduler.wants(desk.now).expect("4 came too late for the rows");
    assert_eq!(load.rows, Rows::Fresh { from: 4 });
}

#[test]
fn what_ended_during_a_load_does_not_come_back_with_its_rows() {
    let mut desk = tight(4, MINUTE);
    let opening = Opening { has_stored: true, ..opening(1, settings()) };
    desk.scheduler.open_lane(2, opening, desk.now);
    desk.stored(2, &[(5, 10)]);
    desk.next();
    desk.scheduler.look_again(2, desk.now);
    let load = desk.scheduler.wants(desk.now).expect("retries of lane 2");
    assert_eq!(load.rows, Rows::Retries { due_from: 0 });
    desk.finish(2, 5, Outcome::Delivered);
    desk.scheduler.loaded_retries(&load, &retries(&[(5, 10), (6, 10)]), desk.now);
    assert_eq!(desk.starts(), [6]);
}

#[test]
fn a_retry_beyond_the_horizon_is_asked_for_before_it_is_due() {
    let mut desk = tight(100, 2 * MINUTE);
    desk.offer(1, [1]);
    let Decision::Retry { at } = desk.attempt(FAILED).delivery else { panic!("it is tried again") };
    assert_eq!(desk.held(), 0);
    assert_eq!(desk.scheduler.wake_at(), Some(at - MINUTE));
    desk.now = at - MINUTE;
    let load = desk.scheduler.wants(desk.now).expect("it is due in a minute");
    assert_eq!(load.rows, Rows::Retries { due_from: at });
    desk.scheduler.loaded_retries(&load, &retries(&[(1, at), (9, at + 60 * MINUTE)]), desk.now);
    assert_eq!(desk.next(), None);
    desk.now = at;
    assert_eq!(desk.starts(), [1]);
    assert_eq!(desk.scheduler.wake_at(), Some(at + 59 * MINUTE), "the next one is known, and far");
}

#[test]
fn a_retry_does_not_take_the_room_of_stored_ones_that_are_due_before_it() {
    let mut desk = tight(2, 10 * MINUTE);
    desk.stored(1, &[(1, desk.now), (2, desk.now), (3, desk.now + 1_000)]);
    assert_eq!(desk.starts(), [1, 2]);
    desk.finish(1, 1, FAILED);
    desk.finish(1, 2, FAILED);
    assert_eq!(desk.held(), 0);
    let load = desk.scheduler.wants(desk.now).expect("3 is in the database");
    assert_eq!(load.rows, Rows::Retries { due_from: desk.now });
}

#[test]
fn rows_of_what_is_under_way_do_not_fill_a_load() {
    let mut desk = tight(2, MINUTE);
    let rows: Vec<(Seq, Timestamp)> = (1..=9).map(|seq| (seq, desk.now)).collect();
    for _ in 0..3 {
        desk.stored(1, &rows);
        desk.starts();
    }
    assert_eq!((desk.scheduler.counts().retries_in_flight, desk.held()), (4, 6));
    desk.finish(1, 1, Outcome::Delivered);
    assert_eq!((desk.starts(), desk.held()), (vec![5], 5));
    let load = desk.scheduler.wants(desk.now).expect("half of the room is free");
    desk.scheduler.loaded_retries(&load, &retries(&rows[1..][..load.limit]), desk.now);
    assert_eq!(desk.held(), 6, "it brought something new");
}

#[test]
fn a_first_attempt_that_ended_during_a_load_is_not_made_again() {
    let mut desk = Desk::lane(settings());
    for (seq, subject) in [(1, 70), (2, 70), (3, 80)] {
        desk.offer_of(1, seq, subject);
    }
    assert_eq!(desk.starts(), [1, 3]);
    desk.scheduler.disable_lane(1, desk.now);
    desk.scheduler.enable_lane(1, desk.now);
    let retries = desk.scheduler.wants(desk.now).expect("all of it went to the database");
    desk.scheduler.loaded_retries(&retries, &[], desk.now);
    let load = desk.scheduler.wants(desk.now).expect("2 with it");
    desk.finish(1, 3, Outcome::Delivered);
    let rows = [FreshRow { seq: 2, subject: 70 }, FreshRow { seq: 3, subject: 80 }];
    desk.scheduler.loaded_fresh(&load, &rows, desk.now);
    desk.finish(1, 1, Outcome::Delivered);
    assert_eq!(desk.starts(), [2]);
}

#[test]
fn many_retries_due_at_one_time_all_come_in() {
    let mut desk = tight(4, MINUTE);
    let rows: Vec<(Seq, Timestamp)> = (1..=50).map(|seq| (seq, 900)).collect();
    let opening = Opening { has_stored: true, ..opening(1, settings()) };
    desk.scheduler.open_lane(2, opening, desk.now);
    let mut left = rows.clone();
    for _ in 0..100 {
        while let Some(load) = desk.scheduler.wants(desk.now) {
            match load.rows {
                Rows::Fresh { .. } => desk.scheduler.loaded_fresh(&load, &[], desk.now),
                Rows::Retries { .. } => {
                    let page = retries(&left[..left.len().min(load.limit)]);
                    desk.scheduler.loaded_retries(&load, &page, desk.now);
                }
            }
        }
        for seq in desk.starts() {
            desk.finish(2, seq, Outcome::Delivered);
            left.retain(|row| row.0 != seq);
        }
    }
    assert_eq!(left, []);
}

#[test]
fn a_lane_at_rest_holds_nothing_and_asks_for_everything_when_it_is_enabled() {
    let mut desk = tight(100, 60 * MINUTE);
    desk.offer(1, [1, 2, 3]);
    desk.attempt(FAILED);
    desk.scheduler.disable_lane(1, desk.now);
    assert_eq!((desk.held(), desk.scheduler.wants(desk.now)), (0, None));
    desk.scheduler.enable_lane(1, desk.now);
    let wanted: Vec<Rows> = std::iter::from_fn(|| desk.scheduler.wants(desk.now)).map(|load| load.rows).collect();
    assert_eq!(wanted, [Rows::Retries { due_from: 0 }, Rows::Fresh { from: 0 }]);
}

#[test]
fn an_answer_for_a_lane_that_was_disabled_meanwhile_changes_nothing() {
    let mut desk = tight(2, MINUTE);
    let opening = Opening { has_stored: true, ..opening(1, settings()) };
    desk.scheduler.open_lane(2, opening, desk.now);
    let loads: Vec<Load> = std::iter::from_fn(|| desk.scheduler.wants(desk.now)).collect();
    desk.scheduler.disable_lane(2, desk.now);
    desk.scheduler.loaded_retries(&loads[0], &retries(&[(1, 1)]), desk.now);
    desk.scheduler.loaded_fresh(&loads[1], &fresh([2]), desk.now);
    assert_eq!((desk.next(), desk.held()), (None, 0));
    desk.scheduler.enable_lane(2, desk.now);
    assert!(desk.scheduler.wants(desk.now).is_some());
}

#[test]
fn rows_that_could_not_be_read_are_asked_for_again_after_a_pause() {
    let mut desk = tight(2, MINUTE);
    let opening = Opening { has_stored: true, ..opening(1, settings()) };
    desk.scheduler.open_lane(2, opening, desk.now);
    let loads: Vec<Load> = std::iter::from_fn(|| desk.scheduler.wants(desk.now)).collect();
    loads.iter().for_each(|load| desk.scheduler.load_failed(load, desk.now));
    assert_eq!(desk.scheduler.wants(desk.now), None);
    assert_eq!(desk.scheduler.wake_at(), Some(desk.now + limits::DELIVERY_LOAD_PAUSE_MS));
    desk.later(limits::DELIVERY_LOAD_PAUSE_MS);
    assert_eq!(desk.scheduler.wants(desk.now).map(|load| load.rows), Some(loads[0].rows));
}

#[test]
fn a_lane_goes_on_where_others_hold_all_memory() {
    let caps = Caps { held_max: 10, lane_held_max: 10, lane_held_min: 2, ..Caps::default() };
    let mut desk = Desk::with(caps);
    desk.open(1, 1, LaneSettings { first_in_flight_max: 1, ..settings() });
    desk.open(2, 2, settings());
    desk.offer(1, 1..=10);
    desk.offer(2, 101..=105);
    assert_eq!(desk.held(), 12);
    assert_eq!(desk.starts(), [1, 101, 102]);
}

#[test]
fn a_hundred_thousand_retries_of_ten_thousand_lanes_are_small_and_quick() {
    let mut desk = Desk::new();
    for lane in 0..10_000 {
        desk.open(lane, lane % 500, settings());
    }
    for lane in 0..10_000 {
        let seqs = (0..10).map(|n| n * 10_000 + lane);
        let rows: Vec<(Seq, Timestamp)> = seqs.map(|seq| (seq, desk.now + 1_000 + seq)).collect();
        desk.stored(lane, &rows);
    }
    assert_eq!(desk.held(), 100_000);
    let mut done = 0;
    while let Some(at) = desk.scheduler.wake_at() {
        desk.now = at;
        while let Some(start) = desk.next() {
            desk.finish(start.lane, start.seq, Outcome::Delivered);
            assert_eq!(start.seq + 2_000, desk.now, "in its millisecond");
            done += 1;
        }
    }
    assert_eq!((done, desk.held()), (100_000, 0));
}
