//! The model: what is true of each delivery, what the database says of it by now, and what a start must therefore be.

use super::*;

pub(super) const LANES: u64 = 5;
const TENANTS: u64 = 2;

type Key = (LaneId, Seq);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Fresh,
    Waits { attempt: u32, due: Timestamp },
    Delivered,
    Exhausted,
    Missing,
}

#[derive(Clone, Copy, Debug)]
struct Delivery {
    subject: Subject,
    fate: Fate,
    /// Attempts that were made.
    made: u32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum LaneState {
    Enabled,
    Disabled,
    Closed,
}

/// The breaker as it is described, not as it is built: failures since the last success, and the pause it is in.
#[derive(Clone, Debug, Default)]
struct Trouble {
    failures: u32,
    pause: Option<u64>,
    rests_until: Timestamp,
}

pub(super) struct World {
    scheduler: Scheduler,
    caps: Caps,
    now: Timestamp,
    next_seq: Seq,
    truth: BTreeMap<Key, Delivery>,
    /// As the database has it: the truth, some time ago.
    rows: BTreeMap<Key, Delivery>,
    unwritten: BTreeSet<Key>,
    running: BTreeMap<Key, (Attempt, bool)>,
    /// Lanes whose rows somebody else changed, which the machine was not told yet.
    untold: BTreeSet<LaneId>,
    loads: Vec<(Load, BTreeMap<Key, Delivery>)>,
    lanes: BTreeMap<LaneId, (LaneState, Trouble)>,
}

fn lane_settings(lane: LaneId) -> LaneSettings {
    LaneSettings {
        schedule: RetrySchedule::new(vec![500, 5_000, 50_000], 10),
        first_in_flight_max: 1 + lane as usize,
        retries_in_flight_max: 2,
        disable_after_ms: (lane == 0).then_some(300_000),
    }
}

impl World {
    pub fn new(caps: Caps, seed: u64) -> World {
        let mut scheduler = Scheduler::new(caps.clone(), seed);
        for lane in 0..LANES {
            scheduler.open_lane(lane, opening(lane % TENANTS, lane_settings(lane)), 0);
        }
        World {
            scheduler,
            caps,
            now: 0,
            next_seq: 1,
            truth: BTreeMap::new(),
            rows: BTreeMap::new(),
            unwritten: BTreeSet::new(),
            running: BTreeMap::new(),
            untold: BTreeSet::new(),
            loads: vec![],
            lanes: (0..LANES).map(|lane| (lane, (LaneState::Enabled, Trouble::default()))).collect(),
        }
    }

    pub fn take(&mut self, step: Step) {
        match step {
            Step::Commit { lane, subject, count } => (0..count).for_each(|_| self.commit(lane, subject)),
            Step::Pass { ms } => self.now += ms,
            Step::Start => self.start_all(),
            Step::Finish { which, outcome } => self.finish_one(which, outcome),
            Step::Write => self.write(),
            Step::Ask => self.ask(),
            Step::Answer { which } => self.answer(which),
            Step::LoadFails { which } => self.fail_load(which),
            Step::Miss { lane, subject } => self.miss(lane, subject),
            Step::Redeliver { which } => self.redeliver(which),
            Step::LookAgain => self.look_again(),
            Step::Enable { lane } => self.enable(lane),
            Step::Disable { lane } => self.disable(lane),
            Step::Toggle { lane } => {
                self.disable(lane);
                self.enable(lane);
            }
            Step::Close { lane } => self.close(lane),
        }
    }

    fn state(&mut self, lane: LaneId) -> &mut LaneState {
        &mut self.lanes.get_mut(&lane).unwrap().0
    }

    fn commit(&mut self, lane: LaneId, subject: Subject) {
        if let Some(seq) = self.insert(lane, subject) {
            self.scheduler.offer(lane, FreshRow { seq, subject }, self.now);
        }
    }

    fn miss(&mut self, lane: LaneId, subject: Subject) {
        if self.insert(lane, subject).is_some() {
            self.scheduler.look_again(lane, self.now);
        }
    }

    fn insert(&mut self, lane: LaneId, subject: Subject) -> Option<Seq> {
        if *self.state(lane) == LaneState::Closed {
            return None;
        }
        let seq = self.next_seq;
        self.next_seq += 1;
        let delivery = Delivery { subject, fate: Fate::Fresh, made: 0 };
        self.truth.insert((lane, seq), delivery);
        self.rows.insert((lane, seq), delivery);
        Some(seq)
    }

    fn start_all(&mut self) {
        while let Some(start) = self.scheduler.next(self.now) {
            self.judge(start);
            let was_open = self.lanes[&start.lane].1.pause.is_some();
            self.running.insert((start.lane, start.seq), (start.attempt, was_open));
            self.judge_caps(start.lane);
        }
    }

    fn judge(&mut self, start: Start) {
        let key = (start.lane, start.seq);
        let delivery = self.truth[&key];
        assert!(!self.running.contains_key(&key), "{start:?} is under way already");
        let (state, trouble) = &self.lanes[&start.lane];
        assert_eq!(*state, LaneState::Enabled, "{start:?} of a lane at rest");
        assert!(self.now >= trouble.rests_until, "{start:?} in a pause");
        let others = self.running.keys().filter(|(lane, _)| *lane == start.lane).count();
        assert!(trouble.pause.is_none() || others == 0, "{start:?} beside another, past an open breaker");
        match start.attempt {
            Attempt::First => {
                // One that was asked for out of its turn may have kept it.
                let is_untried = matches!(delivery.fate, Fate::Fresh | Fate::Waits { attempt: 1, .. });
                assert!(is_untried, "{start:?} of {delivery:?}");
                let earlier = self.truth.range((start.lane, 0)..key);
                let mut held_up = earlier.filter(|(_, other)| other.subject == delivery.subject);
                assert!(held_up.all(|(_, other)| other.fate != Fate::Fresh), "{start:?} overtakes");
            }
            Attempt::Retry(number) => {
                let Fate::Waits { attempt, due } = delivery.fate else { panic!("{start:?} of {delivery:?}") };
                assert!(attempt == number && due <= self.now, "{start:?} of {delivery:?} at {}", self.now);
            }
        }
    }

    fn judge_caps(&self, lane: LaneId) {
        let count = |first: bool, of: &dyn Fn(LaneId) -> bool| {
            let running = self.running.iter().filter(|((lane, _), _)| of(*lane));
            running.filter(|(_, (attempt, _))| (*attempt == Attempt::First) == first).count()
        };
        let tenant = |other: LaneId| other % TENANTS == lane % TENANTS;
        let settings = lane_settings(lane);
        assert!(count(true, &|_| true) <= self.caps.first_max && count(false, &|_| true) <= self.caps.retries_max);
        assert!(count(true, &tenant) <= self.caps.tenant_first_max);
        assert!(count(false, &tenant) <= self.caps.tenant_retries_max);
        assert!(count(true, &|other| other == lane) <= settings.first_in_flight_max);
        assert!(count(false, &|other| other == lane) <= settings.retries_in_flight_max);
    }

    fn finish_one(&mut self, which: usize, outcome: Outcome) {
        let Some((&key, &(_, was_open))) = pick(self.running.iter(), which) else { return };
        self.running.remove(&key);
        let finished = self.scheduler.finished(key.0, key.1, outcome, self.now);
        if *self.state(key.0) == LaneState::Closed {
            assert_eq!(finished.delivery, Decision::Dropped);
            return;
        }
        self.judge_end(key, outcome, finished.delivery);
        self.lanes.get_mut(&key.0).unwrap().1.note(outcome, was_open, self.now);
        if finished.disabled.is_some() {
            *self.state(key.0) = LaneState::Disabled;
        }
        if finished.delivery != Decision::Unchanged {
            self.unwritten.insert(key);
        }
    }

    fn judge_end(&mut self, key: Key, outcome: Outcome, decision: Decision) {
        let now = self.now;
        let delivery = self.truth.get_mut(&key).unwrap();
        let is_charged = !matches!(outcome, Outcome::NotMade | Outcome::Missing);
        delivery.made += u32::from(is_charged);
        match decision {
            Decision::Delivered => {
                assert_eq!(outcome, Outcome::Delivered);
                delivery.fate = Fate::Delivered;
            }
            Decision::Retry { at } => {
                let delay = [500, 5_000, 50_000][delivery.made as usize - 1];
                let asked =
                    if let Outcome::Failed { retry_after_ms } = outcome { retry_after_ms.unwrap_or(0) } else { 0 };
                let pause = asked.max(delay);
                assert!(is_charged && at >= now + pause && at <= now + pause + pause / 10);
                delivery.fate = Fate::Waits { attempt: delivery.made + 1, due: at };
            }
            Decision::Exhausted => {
                assert!(is_charged && delivery.made >= 4 && outcome != Outcome::Delivered);
                delivery.fate = Fate::Exhausted;
            }
            Decision::Unchanged => {
                assert_eq!(outcome, Outcome::NotMade);
                // Somebody else may have changed the row while the attempt was under way.
                if !self.unwritten.contains(&key) {
                    *delivery = self.rows[&key];
                }
            }
            Decision::Dropped => {
                assert_eq!(outcome, Outcome::Missing);
                delivery.fate = Fate::Missing;
            }
        }
    }

    fn write(&mut self) {
        for key in std::mem::take(&mut self.unwritten) {
            self.rows.insert(key, self.truth[&key]);
        }
    }

    /// The rows are those of the moment in which the machine asks; the answer may come much later.
    fn ask(&mut self) {
        self.write();
        if let Some(load) = self.scheduler.wants(self.now) {
            assert!(load.limit > 0);
            let mine = self.rows.range((load.lane, 0)..=(load.lane, Seq::MAX));
            let rows = mine.map(|(key, delivery)| (*key, *delivery)).collect();
            self.loads.push((load, rows));
        }
    }

    fn answer(&mut self, which: usize) {
        if self.loads.is_empty() {
            return;
        }
        let (load, rows) = self.loads.remove(which % self.loads.len());
        match load.rows {
            Rows::Fresh { from } => {
                let fresh = rows.iter().filter(|((_, seq), row)| *seq >= from && row.fate == Fate::Fresh);
                let page = fresh.map(|((_, seq), row)| FreshRow { seq: *seq, subject: row.subject });
                let page: Vec<FreshRow> = page.take(load.limit).collect();
                self.scheduler.loaded_fresh(&load, &page, self.now);
            }
            Rows::Retries { due_from } => {
                let mut page: Vec<RetryRow> = rows.iter().filter_map(retry_row).collect();
                page.retain(|row| row.due >= due_from);
                page.sort_by_key(|row| (row.due, row.seq));
                page.truncate(load.limit);
                self.scheduler.loaded_retries(&load, &page, self.now);
            }
        }
    }

    fn fail_load(&mut self, which: usize) {
        if !self.loads.is_empty() {
            let (load, _) = self.loads.remove(which % self.loads.len());
            self.scheduler.load_failed(&load, self.now);
        }
    }

    /// What was decided before is written before. What comes of an attempt that is under way is written over it.
    fn redeliver(&mut self, which: usize) {
        self.write();
        let Some((&key, &row)) = pick(self.rows.iter().filter(|(_, row)| row.fate != Fate::Missing), which) else {
            return;
        };
        let row = Delivery { fate: Fate::Waits { attempt: row.made + 1, due: self.now }, ..row };
        self.rows.insert(key, row);
        if !self.running.contains_key(&key) {
            self.truth.insert(key, row);
        }
        self.untold.insert(key.0);
    }

    fn look_again(&mut self) {
        for lane in std::mem::take(&mut self.untold) {
            self.scheduler.look_again(lane, self.now);
        }
    }

    fn enable(&mut self, lane: LaneId) {
        if *self.state(lane) == LaneState::Disabled {
            self.lanes.insert(lane, (LaneState::Enabled, Trouble::default()));
        }
        self.scheduler.enable_lane(lane, self.now);
    }

    fn disable(&mut self, lane: LaneId) {
        if *self.state(lane) == LaneState::Enabled {
            *self.state(lane) = LaneState::Disabled;
        }
        self.scheduler.disable_lane(lane, self.now);
    }

    fn close(&mut self, lane: LaneId) {
        *self.state(lane) = LaneState::Closed;
        self.scheduler.close_lane(lane, self.now);
    }

    /// From now on the engine does all that it is asked for, and every attempt ends so.
    pub fn drain(&mut self, outcome: Outcome) {
        self.look_again();
        for _ in 0..200_000 {
            (0..LANES).for_each(|lane| self.enable(lane));
            self.start_all();
            let asked = self.loads.len();
            self.ask();
            if let Some(at) = self.scheduler.wake_at().filter(|_| self.running.is_empty() && self.loads.len() == asked)
            {
                self.now = self.now.max(at);
            } else if self.running.is_empty() && self.loads.is_empty() {
                return;
            }
            self.answer(0);
            self.finish_one(0, outcome);
        }
        panic!("it goes on for ever: {:?}", self.scheduler.counts());
    }

    pub fn assert_all_ended(&mut self) {
        for (key, delivery) in self.truth.clone() {
            let ended = match delivery.fate {
                Fate::Fresh | Fate::Waits { .. } => *self.state(key.0) == LaneState::Closed,
                Fate::Delivered | Fate::Missing => true,
                Fate::Exhausted => delivery.made >= 4,
            };
            assert!(ended, "{key:?} is lost: {delivery:?}");
        }
        assert_eq!(self.scheduler.counts(), Counts { held: 0, first_in_flight: 0, retries_in_flight: 0 });
        for (lane, (state, _)) in &self.lanes {
            assert_eq!(self.scheduler.view(*lane).is_some(), *state != LaneState::Closed);
        }
    }
}

impl Trouble {
    fn note(&mut self, outcome: Outcome, was_open: bool, now: Timestamp) {
        match outcome {
            Outcome::Delivered => *self = Trouble::default(),
            Outcome::NotMade => self.rests_until = self.rests_until.max(now + limits::NOT_MADE_PAUSE_MS),
            Outcome::Missing => {}
            Outcome::Failed { .. } | Outcome::Gone => {
                self.failures += 1;
                let next = match self.pause {
                    None if self.failures >= limits::BREAKER_FAILURES => limits::BREAKER_PAUSE_MS_MIN,
                    Some(pause) if was_open => (pause * 2).min(limits::BREAKER_PAUSE_MS_MAX),
                    _ => return,
                };
                self.pause = Some(next);
                self.rests_until = self.rests_until.max(now + next);
            }
        }
    }
}

fn retry_row((key, delivery): (&Key, &Delivery)) -> Option<RetryRow> {
    let Fate::Waits { attempt, due } = delivery.fate else { return None };
    Some(RetryRow { seq: key.1, attempt, due })
}

fn pick<T>(of: impl Iterator<Item = T>, which: usize) -> Option<T> {
    let all: Vec<T> = of.collect();
    let count = all.len();
    all.into_iter().nth(which.checked_rem(count)?)
}
