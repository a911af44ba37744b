//! The model: the true state of each delivery, its state in the database, and the checks of every start.

use super::*;

/// The number of queues.
pub(super) const QUEUES: i64 = 5;
const TENANTS: u64 = 2;

type DeliveryId = (QueueId, Seq);

#[derive(Clone, Copy, Debug, PartialEq)]
enum DeliveryState {
    Fresh,
    Waits { attempt: u32, due: Timestamp },
    Delivered,
    Exhausted,
    Missing,
}

#[derive(Clone, Copy, Debug)]
struct Delivery {
    subject: Subject,
    state: DeliveryState,
    /// Attempts that were made.
    made: u32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum QueueState {
    Enabled,
    Disabled,
    Closed,
}

/// The breaker as specified: failures since the last success, and its pause.
#[derive(Clone, Debug, Default)]
struct ModelBreaker {
    failures: u32,
    pause: Option<u64>,
    paused_until: Timestamp,
}

pub(super) struct World {
    scheduler: Scheduler,
    caps: Caps,
    now: Timestamp,
    next_seq: Seq,
    truth: BTreeMap<DeliveryId, Delivery>,
    /// The stored state, which may be older than `truth`.
    rows: BTreeMap<DeliveryId, Delivery>,
    unwritten: BTreeSet<DeliveryId>,
    running: BTreeMap<DeliveryId, (Attempt, bool)>,
    /// Queues with redelivered rows for which `reread` was not called yet.
    redelivered_queues: BTreeSet<QueueId>,
    loads: Vec<(Load, BTreeMap<DeliveryId, Delivery>)>,
    queues: BTreeMap<QueueId, (QueueState, ModelBreaker)>,
}

fn queues() -> impl Iterator<Item = QueueId> {
    (0..QUEUES).map(QueueId)
}

fn tenant_of(queue: QueueId) -> TenantId {
    queue.0.cast_unsigned() % TENANTS
}

fn queue_settings(queue: QueueId) -> QueueSettings {
    QueueSettings {
        schedule: RetrySchedule::new(vec![500, 5_000, 50_000], 10),
        first_in_flight_max: 1 + queue.0 as usize,
        retries_in_flight_max: 2,
        disable_after_ms: (queue.0 == 0).then_some(300_000),
    }
}

impl World {
    pub fn new(caps: Caps, seed: u64) -> World {
        let mut scheduler = Scheduler::new(caps.clone(), seed);
        for queue in queues() {
            scheduler.open_queue(queue, opening(tenant_of(queue), queue_settings(queue)), 0);
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
            redelivered_queues: BTreeSet::new(),
            loads: vec![],
            queues: queues().map(|queue| (queue, (QueueState::Enabled, ModelBreaker::default()))).collect(),
        }
    }

    pub fn take(&mut self, step: Step) {
        match step {
            Step::Commit { queue, subject, count } => (0..count).for_each(|_| self.commit(queue, subject)),
            Step::AdvanceClock { ms } => self.now += ms,
            Step::Start => self.start_all(),
            Step::Finish { which, outcome } => self.finish_one(which, outcome),
            Step::Write => self.write(),
            Step::BeginLoad => self.begin_load(),
            Step::CompleteLoad { which } => self.complete_load(which),
            Step::FailLoad { which } => self.fail_load(which),
            Step::CommitWithoutOffer { queue, subject } => self.commit_without_offer(queue, subject),
            Step::Redeliver { which } => self.redeliver(which),
            Step::Reread => self.reread(),
            Step::Enable { queue } => self.enable(queue),
            Step::Disable { queue } => self.disable(queue),
            Step::Toggle { queue } => {
                self.disable(queue);
                self.enable(queue);
            }
            Step::Close { queue } => self.close(queue),
        }
    }

    fn queue_state(&mut self, queue: QueueId) -> &mut QueueState {
        &mut self.queues.get_mut(&queue).unwrap().0
    }

    fn commit(&mut self, queue: QueueId, subject: Subject) {
        if let Some(seq) = self.insert(queue, subject) {
            self.scheduler.offer(queue, FreshRow { seq, subject }, self.now);
        }
    }

    fn commit_without_offer(&mut self, queue: QueueId, subject: Subject) {
        if self.insert(queue, subject).is_some() {
            self.scheduler.reread(queue, self.now);
        }
    }

    fn insert(&mut self, queue: QueueId, subject: Subject) -> Option<Seq> {
        if *self.queue_state(queue) == QueueState::Closed {
            return None;
        }
        let seq = self.next_seq;
        self.next_seq += 1;
        let delivery = Delivery { subject, state: DeliveryState::Fresh, made: 0 };
        self.truth.insert((queue, seq), delivery);
        self.rows.insert((queue, seq), delivery);
        Some(seq)
    }

    fn start_all(&mut self) {
        while let Some(start) = self.scheduler.next(self.now) {
            self.check_start(start);
            let was_open = self.queues[&start.queue].1.pause.is_some();
            self.running.insert((start.queue, start.seq), (start.attempt, was_open));
            self.check_caps(start.queue);
        }
    }

    fn check_start(&mut self, start: Start) {
        let key = (start.queue, start.seq);
        let delivery = self.truth[&key];
        assert!(!self.running.contains_key(&key), "{start:?} is in flight already");
        let (state, breaker) = &self.queues[&start.queue];
        assert_eq!(*state, QueueState::Enabled, "{start:?} of a queue that is not enabled");
        assert!(self.now >= breaker.paused_until, "{start:?} in a pause");
        let others = self.running.keys().filter(|(queue, _)| *queue == start.queue).count();
        assert!(breaker.pause.is_none() || others == 0, "{start:?} beside another, past an open breaker");
        match start.attempt {
            Attempt::First => {
                // A redelivered delivery may still start as a first attempt.
                let is_untried =
                    matches!(delivery.state, DeliveryState::Fresh | DeliveryState::Waits { attempt: 1, .. });
                assert!(is_untried, "{start:?} of {delivery:?}");
                let earlier = self.truth.range((start.queue, 0)..key);
                let mut earlier_of_subject = earlier.filter(|(_, other)| other.subject == delivery.subject);
                assert!(
                    earlier_of_subject.all(|(_, other)| other.state != DeliveryState::Fresh),
                    "{start:?} overtakes"
                );
            }
            Attempt::Retry(number) => {
                let DeliveryState::Waits { attempt, due } = delivery.state else { panic!("{start:?} of {delivery:?}") };
                assert!(attempt == number && due <= self.now, "{start:?} of {delivery:?} at {}", self.now);
            }
        }
    }

    fn check_caps(&self, queue: QueueId) {
        let count = |first: bool, of: &dyn Fn(QueueId) -> bool| {
            let running = self.running.iter().filter(|((queue, _), _)| of(*queue));
            running.filter(|(_, (attempt, _))| (*attempt == Attempt::First) == first).count()
        };
        let tenant = |other: QueueId| tenant_of(other) == tenant_of(queue);
        let settings = queue_settings(queue);
        assert!(count(true, &|_| true) <= self.caps.first_max && count(false, &|_| true) <= self.caps.retries_max);
        assert!(count(true, &tenant) <= self.caps.tenant_first_max);
        assert!(count(false, &tenant) <= self.caps.tenant_retries_max);
        assert!(count(true, &|other| other == queue) <= settings.first_in_flight_max);
        assert!(count(false, &|other| other == queue) <= settings.retries_in_flight_max);
    }

    fn finish_one(&mut self, which: usize, outcome: Outcome) {
        let Some((&key, &(_, was_open))) = pick(self.running.iter(), which) else { return };
        self.running.remove(&key);
        let finished = self.scheduler.finish(key.0, key.1, outcome, self.now);
        if *self.queue_state(key.0) == QueueState::Closed {
            assert_eq!(finished.delivery, Decision::Dropped);
            return;
        }
        self.check_decision(key, outcome, finished.delivery);
        self.queues.get_mut(&key.0).unwrap().1.record(outcome, was_open, self.now);
        if finished.disabled.is_some() {
            *self.queue_state(key.0) = QueueState::Disabled;
        }
        if finished.delivery != Decision::Unchanged {
            self.unwritten.insert(key);
        }
    }

    fn check_decision(&mut self, key: DeliveryId, outcome: Outcome, decision: Decision) {
        let now = self.now;
        let delivery = self.truth.get_mut(&key).unwrap();
        let counts = !matches!(outcome, Outcome::NotMade | Outcome::Missing);
        delivery.made += u32::from(counts);
        match decision {
            Decision::Delivered => {
                assert_eq!(outcome, Outcome::Delivered);
                delivery.state = DeliveryState::Delivered;
            }
            Decision::Retry { at } => {
                let delay = [500, 5_000, 50_000][delivery.made as usize - 1];
                let requested =
                    if let Outcome::Failed { retry_after_ms } = outcome { retry_after_ms.unwrap_or(0) } else { 0 };
                let pause = requested.max(delay);
                assert!(counts && at >= now + pause && at <= now + pause + pause / 10);
                delivery.state = DeliveryState::Waits { attempt: delivery.made + 1, due: at };
            }
            Decision::Exhausted => {
                assert!(counts && delivery.made >= 4 && outcome != Outcome::Delivered);
                delivery.state = DeliveryState::Exhausted;
            }
            Decision::Unchanged => {
                assert_eq!(outcome, Outcome::NotMade);
                // A redelivery may have changed the row while the attempt was in flight.
                if !self.unwritten.contains(&key) {
                    *delivery = self.rows[&key];
                }
            }
            Decision::Dropped => {
                assert_eq!(outcome, Outcome::Missing);
                delivery.state = DeliveryState::Missing;
            }
        }
    }

    fn write(&mut self) {
        for key in std::mem::take(&mut self.unwritten) {
            self.rows.insert(key, self.truth[&key]);
        }
    }

    /// Reads the rows when the load begins. The load may complete much later.
    fn begin_load(&mut self) {
        self.write();
        if let Some(load) = self.scheduler.next_load(self.now) {
            assert!(load.limit > 0);
            let mine = self.rows.range((load.queue, 0)..=(load.queue, Seq::MAX));
            let rows = mine.map(|(key, delivery)| (*key, *delivery)).collect();
            self.loads.push((load, rows));
        }
    }

    fn complete_load(&mut self, which: usize) {
        if self.loads.is_empty() {
            return;
        }
        let (load, rows) = self.loads.remove(which % self.loads.len());
        match load.rows {
            Rows::Fresh { from } => {
                let fresh = rows.iter().filter(|((_, seq), row)| *seq >= from && row.state == DeliveryState::Fresh);
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

    /// Writes all decisions first. The decision of a running attempt overwrites the redelivery later.
    fn redeliver(&mut self, which: usize) {
        self.write();
        let Some((&key, &row)) = pick(self.rows.iter().filter(|(_, row)| row.state != DeliveryState::Missing), which)
        else {
            return;
        };
        let row = Delivery { state: DeliveryState::Waits { attempt: row.made + 1, due: self.now }, ..row };
        self.rows.insert(key, row);
        if !self.running.contains_key(&key) {
            self.truth.insert(key, row);
        }
        self.redelivered_queues.insert(key.0);
    }

    fn reread(&mut self) {
        for queue in std::mem::take(&mut self.redelivered_queues) {
            self.scheduler.reread(queue, self.now);
        }
    }

    fn enable(&mut self, queue: QueueId) {
        if *self.queue_state(queue) == QueueState::Disabled {
            self.queues.insert(queue, (QueueState::Enabled, ModelBreaker::default()));
        }
        self.scheduler.enable_queue(queue, self.now);
    }

    fn disable(&mut self, queue: QueueId) {
        if *self.queue_state(queue) == QueueState::Enabled {
            *self.queue_state(queue) = QueueState::Disabled;
        }
        self.scheduler.disable_queue(queue, self.now);
    }

    fn close(&mut self, queue: QueueId) {
        *self.queue_state(queue) = QueueState::Closed;
        self.scheduler.close_queue(queue, self.now);
    }

    /// Runs until everything has ended. The engine completes all loads, and every attempt ends with the outcome.
    pub fn drain(&mut self, outcome: Outcome) {
        self.reread();
        for _ in 0..200_000 {
            queues().for_each(|queue| self.enable(queue));
            self.start_all();
            let loads_before = self.loads.len();
            self.begin_load();
            if let Some(at) =
                self.scheduler.wake_at().filter(|_| self.running.is_empty() && self.loads.len() == loads_before)
            {
                self.now = self.now.max(at);
            } else if self.running.is_empty() && self.loads.is_empty() {
                return;
            }
            self.complete_load(0);
            self.finish_one(0, outcome);
        }
        panic!("the scheduler does not terminate: {:?}", self.scheduler.counts());
    }

    pub fn assert_all_ended(&mut self) {
        for (key, delivery) in self.truth.clone() {
            let ended = match delivery.state {
                DeliveryState::Fresh | DeliveryState::Waits { .. } => *self.queue_state(key.0) == QueueState::Closed,
                DeliveryState::Delivered | DeliveryState::Missing => true,
                DeliveryState::Exhausted => delivery.made >= 4,
            };
            assert!(ended, "{key:?} is lost: {delivery:?}");
        }
        assert_eq!(self.scheduler.counts(), Counts { held: 0, first_in_flight: 0, retries_in_flight: 0 });
        for (queue, (state, _)) in &self.queues {
            assert_eq!(self.scheduler.view(*queue).is_some(), *state != QueueState::Closed);
        }
    }
}

impl ModelBreaker {
    fn record(&mut self, outcome: Outcome, was_open: bool, now: Timestamp) {
        match outcome {
            Outcome::Delivered => *self = ModelBreaker::default(),
            Outcome::NotMade => self.paused_until = self.paused_until.max(now + limits::NOT_MADE_PAUSE_MS),
            Outcome::Missing => {}
            Outcome::Failed { .. } | Outcome::Gone => {
                self.failures += 1;
                let next = match self.pause {
                    None if self.failures >= limits::BREAKER_FAILURES => limits::BREAKER_PAUSE_MS_MIN,
                    Some(pause) if was_open => (pause * 2).min(limits::BREAKER_PAUSE_MS_MAX),
                    _ => return,
                };
                self.pause = Some(next);
                self.paused_until = self.paused_until.max(now + next);
            }
        }
    }
}

fn retry_row((key, delivery): (&DeliveryId, &Delivery)) -> Option<RetryRow> {
    let DeliveryState::Waits { attempt, due } = delivery.state else { return None };
    Some(RetryRow { seq: key.1, attempt, due })
}

fn pick<T>(of: impl Iterator<Item = T>, which: usize) -> Option<T> {
    let all: Vec<T> = of.collect();
    let count = all.len();
    all.into_iter().nth(which.checked_rem(count)?)
}
