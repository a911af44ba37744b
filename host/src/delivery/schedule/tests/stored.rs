//! Deliveries that only the database holds, and their loads: no room, the horizon, a disabled queue, stale rows.

use super::*;

fn tight(queue_held_max: usize, horizon_ms: u64) -> Bench {
    let caps = Caps { queue_held_max, horizon_ms, ..Caps::default() };
    let mut bench = Bench { scheduler: Scheduler::new(caps, 7), now: 1_000 };
    bench.open(QUEUE, 1, QueueSettings { first_in_flight_max: 1, ..settings() });
    bench
}

fn fresh(seqs: impl IntoIterator<Item = Seq>) -> Vec<FreshRow> {
    seqs.into_iter().map(|seq| FreshRow { seq, subject: 1_000_000 + seq }).collect()
}

fn retries(rows: &[(Seq, Timestamp)]) -> Vec<RetryRow> {
    rows.iter().map(|(seq, due)| retry(*seq, *due)).collect()
}

#[test]
fn deliveries_beyond_the_room_are_loaded_when_half_of_it_is_free() {
    let mut bench = tight(4, MINUTE);
    bench.offer(QUEUE, 1..=9);
    assert_eq!(bench.scheduler.next_load(bench.now), None);
    assert_eq!(bench.next().map(|start| start.seq), Some(1));
    bench.finish(QUEUE, 1, Outcome::Delivered);
    assert_eq!(bench.next().map(|start| start.seq), Some(2));
    let load = bench.scheduler.next_load(bench.now).expect("half of the room is free");
    assert_eq!((load.rows, load.limit), (Rows::Fresh { from: 5 }, 2));
    bench.scheduler.loaded_fresh(&load, &fresh([5, 6]), bench.now);
    bench.finish(QUEUE, 2, Outcome::Delivered);
    for expected in [3, 4, 5, 6] {
        let start = bench.next().expect("loaded deliveries follow those in memory");
        assert_eq!(
            (start.seq, bench.finish(QUEUE, start.seq, Outcome::Delivered).delivery),
            (expected, Decision::Delivered)
        );
    }
    let load = bench.scheduler.next_load(bench.now).expect("there may be more");
    assert_eq!(load.rows, Rows::Fresh { from: 7 });
}

#[test]
fn delivery_offered_during_a_load_is_not_lost() {
    let mut bench = tight(2, MINUTE);
    bench.offer(QUEUE, 1..=3);
    bench.attempt(Outcome::Delivered);
    bench.next();
    let load = bench.scheduler.next_load(bench.now).expect("3 is in the database only");
    bench.offer(QUEUE, [4]);
    bench.scheduler.loaded_fresh(&load, &[], bench.now);
    let load = bench.scheduler.next_load(bench.now).expect("4 was offered after the rows were read");
    assert_eq!(load.rows, Rows::Fresh { from: 4 });
}

#[test]
fn delivery_that_ended_during_a_load_is_not_restored_by_its_rows() {
    let mut bench = tight(4, MINUTE);
    let opening = Opening { has_stored: true, ..opening(1, settings()) };
    bench.scheduler.open_queue(QueueId(2), opening, bench.now);
    bench.load_rows(QueueId(2), &[(5, 10)]);
    bench.next();
    bench.scheduler.reread(QueueId(2), bench.now);
    let load = bench.scheduler.next_load(bench.now).expect("retries of queue 2");
    assert_eq!(load.rows, Rows::Retries { due_from: 0 });
    bench.finish(QueueId(2), 5, Outcome::Delivered);
    bench.scheduler.loaded_retries(&load, &retries(&[(5, 10), (6, 10)]), bench.now);
    assert_eq!(bench.starts(), [6]);
}

#[test]
fn retry_beyond_the_horizon_is_loaded_before_it_is_due() {
    let mut bench = tight(100, 2 * MINUTE);
    bench.offer(QUEUE, [1]);
    let Decision::Retry { at } = bench.attempt(FAILED).delivery else { panic!("it is tried again") };
    assert_eq!(bench.held(), 0);
    assert_eq!(bench.scheduler.wake_at(), Some(at - MINUTE));
    bench.now = at - MINUTE;
    let load = bench.scheduler.next_load(bench.now).expect("it is due in a minute");
    assert_eq!(load.rows, Rows::Retries { due_from: at });
    bench.scheduler.loaded_retries(&load, &retries(&[(1, at), (9, at + 60 * MINUTE)]), bench.now);
    assert_eq!(bench.next(), None);
    bench.now = at;
    assert_eq!(bench.starts(), [1]);
    assert_eq!(bench.scheduler.wake_at(), Some(at + 59 * MINUTE), "the next retry is known and beyond the horizon");
}

#[test]
fn retry_does_not_take_the_room_of_stored_retries_that_are_due_before_it() {
    let mut bench = tight(2, 10 * MINUTE);
    bench.load_rows(QUEUE, &[(1, bench.now), (2, bench.now), (3, bench.now + 1_000)]);
    assert_eq!(bench.starts(), [1, 2]);
    bench.finish(QUEUE, 1, FAILED);
    bench.finish(QUEUE, 2, FAILED);
    assert_eq!(bench.held(), 0);
    let load = bench.scheduler.next_load(bench.now).expect("3 is in the database");
    assert_eq!(load.rows, Rows::Retries { due_from: bench.now });
}

#[test]
fn rows_of_running_attempts_do_not_fill_a_load() {
    let mut bench = tight(2, MINUTE);
    let rows: Vec<(Seq, Timestamp)> = (1..=9).map(|seq| (seq, bench.now)).collect();
    for _ in 0..3 {
        bench.load_rows(QUEUE, &rows);
        bench.starts();
    }
    assert_eq!((bench.scheduler.counts().retries_in_flight, bench.held()), (4, 6));
    bench.finish(QUEUE, 1, Outcome::Delivered);
    assert_eq!((bench.starts(), bench.held()), (vec![5], 5));
    let load = bench.scheduler.next_load(bench.now).expect("half of the room is free");
    bench.scheduler.loaded_retries(&load, &retries(&rows[1..][..load.limit]), bench.now);
    assert_eq!(bench.held(), 6, "the load returned a new row");
}

#[test]
fn first_attempt_that_ended_during_a_load_is_not_repeated() {
    let mut bench = Bench::with_queue(settings());
    for (seq, subject) in [(1, 70), (2, 70), (3, 80)] {
        bench.offer_with_subject(QUEUE, seq, subject);
    }
    assert_eq!(bench.starts(), [1, 3]);
    bench.scheduler.disable_queue(QUEUE, bench.now);
    bench.scheduler.enable_queue(QUEUE, bench.now);
    let retries = bench.scheduler.next_load(bench.now).expect("everything is in the database");
    bench.scheduler.loaded_retries(&retries, &[], bench.now);
    let load = bench.scheduler.next_load(bench.now).expect("2 with it");
    bench.finish(QUEUE, 3, Outcome::Delivered);
    let rows = [FreshRow { seq: 2, subject: 70 }, FreshRow { seq: 3, subject: 80 }];
    bench.scheduler.loaded_fresh(&load, &rows, bench.now);
    bench.finish(QUEUE, 1, Outcome::Delivered);
    assert_eq!(bench.starts(), [2]);
}

#[test]
fn many_retries_due_at_one_time_are_all_loaded() {
    let mut bench = tight(4, MINUTE);
    let rows: Vec<(Seq, Timestamp)> = (1..=50).map(|seq| (seq, 900)).collect();
    let opening = Opening { has_stored: true, ..opening(1, settings()) };
    bench.scheduler.open_queue(QueueId(2), opening, bench.now);
    let mut left = rows.clone();
    for _ in 0..100 {
        while let Some(load) = bench.scheduler.next_load(bench.now) {
            match load.rows {
                Rows::Fresh { .. } => bench.scheduler.loaded_fresh(&load, &[], bench.now),
                Rows::Retries { .. } => {
                    let page = retries(&left[..left.len().min(load.limit)]);
                    bench.scheduler.loaded_retries(&load, &page, bench.now);
                }
            }
        }
        for seq in bench.starts() {
            bench.finish(QueueId(2), seq, Outcome::Delivered);
            left.retain(|row| row.0 != seq);
        }
    }
    assert_eq!(left, []);
}

#[test]
fn disabled_queue_holds_nothing_and_loads_everything_when_it_is_enabled() {
    let mut bench = tight(100, 60 * MINUTE);
    bench.offer(QUEUE, [1, 2, 3]);
    bench.attempt(FAILED);
    bench.scheduler.disable_queue(QUEUE, bench.now);
    assert_eq!((bench.held(), bench.scheduler.next_load(bench.now)), (0, None));
    bench.scheduler.enable_queue(QUEUE, bench.now);
    let loads: Vec<Rows> = std::iter::from_fn(|| bench.scheduler.next_load(bench.now)).map(|load| load.rows).collect();
    assert_eq!(loads, [Rows::Retries { due_from: 0 }, Rows::Fresh { from: 0 }]);
}

#[test]
fn load_of_a_queue_that_was_disabled_meanwhile_is_ignored() {
    let mut bench = tight(2, MINUTE);
    let opening = Opening { has_stored: true, ..opening(1, settings()) };
    bench.scheduler.open_queue(QueueId(2), opening, bench.now);
    let loads: Vec<Load> = std::iter::from_fn(|| bench.scheduler.next_load(bench.now)).collect();
    bench.scheduler.disable_queue(QueueId(2), bench.now);
    bench.scheduler.loaded_retries(&loads[0], &retries(&[(1, 1)]), bench.now);
    bench.scheduler.loaded_fresh(&loads[1], &fresh([2]), bench.now);
    assert_eq!((bench.next(), bench.held()), (None, 0));
    bench.scheduler.enable_queue(QueueId(2), bench.now);
    assert!(bench.scheduler.next_load(bench.now).is_some());
}

#[test]
fn failed_load_is_repeated_after_a_pause() {
    let mut bench = tight(2, MINUTE);
    let opening = Opening { has_stored: true, ..opening(1, settings()) };
    bench.scheduler.open_queue(QueueId(2), opening, bench.now);
    let loads: Vec<Load> = std::iter::from_fn(|| bench.scheduler.next_load(bench.now)).collect();
    loads.iter().for_each(|load| bench.scheduler.load_failed(load, bench.now));
    assert_eq!(bench.scheduler.next_load(bench.now), None);
    assert_eq!(bench.scheduler.wake_at(), Some(bench.now + limits::DELIVERY_LOAD_PAUSE_MS));
    bench.advance(limits::DELIVERY_LOAD_PAUSE_MS);
    assert_eq!(bench.scheduler.next_load(bench.now).map(|load| load.rows), Some(loads[0].rows));
}

#[test]
fn queue_continues_while_others_hold_all_memory() {
    let caps = Caps { held_max: 10, queue_held_max: 10, queue_held_min: 2, ..Caps::default() };
    let mut bench = Bench::with(caps);
    bench.open(QUEUE, 1, QueueSettings { first_in_flight_max: 1, ..settings() });
    bench.open(QueueId(2), 2, settings());
    bench.offer(QUEUE, 1..=10);
    bench.offer(QueueId(2), 101..=105);
    assert_eq!(bench.held(), 12);
    assert_eq!(bench.starts(), [1, 101, 102]);
}

#[test]
fn hundred_thousand_retries_of_ten_thousand_queues_start_on_time() {
    let mut bench = Bench::new();
    for queue in 0..10_000 {
        bench.open(queue_id(queue), queue % 500, settings());
    }
    for queue in 0..10_000 {
        let seqs = (0..10).map(|n| n * 10_000 + queue);
        let rows: Vec<(Seq, Timestamp)> = seqs.map(|seq| (seq, bench.now + 1_000 + seq)).collect();
        bench.load_rows(queue_id(queue), &rows);
    }
    assert_eq!(bench.held(), 100_000);
    let mut done = 0;
    while let Some(at) = bench.scheduler.wake_at() {
        bench.now = at;
        while let Some(start) = bench.next() {
            bench.finish(start.queue, start.seq, Outcome::Delivered);
            assert_eq!(start.seq + 2_000, bench.now, "starts in its millisecond");
            done += 1;
        }
    }
    assert_eq!((done, bench.held()), (100_000, 0));
}
