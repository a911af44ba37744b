//! Which delivery is attempted when: a pure state machine. Facts and the time go in; what to start comes out.
//!
//! Owns the places, turns, pauses and schedules of deliveries of all lanes. It has no body, no socket, no clock and no
//! database; the database holds the truth, this holds the part of it that is needed soon. What always holds:
//!
//! - no attempt is early, none is made twice at once, and a delivery gets exactly the attempts of its schedule, and those
//!   that somebody else's decision puts into its row;
//! - a delivery ends delivered, exhausted or dropped with its lane, or still waits, here or in the database;
//! - first attempts of one subject in one lane start in their sequence, each after the one before has ended;
//! - no cap is passed; free slots go round between tenants, then between the lanes of a tenant;
//! - a step costs O(log n) and a few microseconds; a delivery that waits costs about 80 bytes, a lane about 1 kB, a delivery
//!   beyond the horizon or the room nothing.
//!
//! # The engine around it
//!
//! 1. Open every lane; where rows may be there, say so (`has_stored`), and they are asked for.
//! 2. After a commit `offer` each delivery that it made. One that the machine has no room for it asks for later.
//! 3. After any fact, and at `wake_at`: call `next` until it gives nothing, and `wants` until it gives nothing.
//! 4. Each `Start` is answered by `finished`, always. Write what it decides, then (or in the same transaction) the attempt.
//! 5. Each `Load` is answered. The question is put after everything that was decided before it is written.
//! 6. Where rows changed by a decision made elsewhere, `look_again`. Where commits were missed, `catch_up`. Where deliveries
//!    were made after the batch of their event, `leave_stored`.
//!
//! After a crash rows are as they were written: an attempt that was under way is made again.
//!
//! - `facts`: the words of both sides; `retry`: the schedule; `lane`, `fresh`, `backlog`, `breaker`: one lane;
//!   `slots`: whose turn it is; `index`: notes by time; `finish`, `loads`: what two kinds of facts lead to.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use crate::clock::Timestamp;

mod backlog;
mod breaker;
mod facts;
mod finish;
mod fresh;
mod index;
mod lane;
mod loads;
mod random;
mod retry;
mod slots;
#[cfg(test)]
mod tests;

pub use facts::{
    Attempt, Caps, Counts, Decision, Disabled, Finished, FreshRow, LaneId, LaneSettings, LaneView, Load, Opening,
    Outcome, RetryRow, Rows, Seq, Start, Subject, TenantId,
};
use lane::{Class, Lane, State};
use random::Random;
pub use retry::RetrySchedule;
use slots::Slots;

#[derive(Debug)]
pub struct Scheduler {
    caps: Caps,
    lanes: HashMap<LaneId, Lane>,
    first: Slots,
    retries: Slots,
    /// When a lane may start something that it may not start now.
    wakes: BTreeSet<(Timestamp, LaneId)>,
    fresh_loads: BTreeSet<(Timestamp, LaneId)>,
    retry_loads: BTreeSet<(Timestamp, LaneId)>,
    held: usize,
    next_ticket: u64,
    random: Random,
}

impl Scheduler {
    /// The seed is for jitter only.
    pub fn new(caps: Caps, seed: u64) -> Self {
        Scheduler {
            first: Slots::new(caps.first_max, caps.tenant_first_max),
            retries: Slots::new(caps.retries_max, caps.tenant_retries_max),
            caps,
            lanes: HashMap::new(),
            wakes: BTreeSet::new(),
            fresh_loads: BTreeSet::new(),
            retry_loads: BTreeSet::new(),
            held: 0,
            next_ticket: 0,
            random: Random::new(seed),
        }
    }

    /// A lane that is open already only takes the settings. One that is closed while attempts are under way opens anew; these
    /// are its own again.
    pub fn open_lane(&mut self, id: LaneId, opening: Opening, now: Timestamp) {
        match self.lanes.get_mut(&id) {
            None => {
                self.lanes.insert(id, Lane::new(opening));
            }
            Some(lane) if lane.state == State::Closed => lane.reopen(opening),
            Some(lane) => lane.settings = opening.settings,
        }
        self.note(id, now);
    }

    /// From the next decision on.
    pub fn change_lane(&mut self, id: LaneId, settings: Arc<LaneSettings>, now: Timestamp) {
        if let Some(lane) = self.lanes.get_mut(&id) {
            lane.settings = settings;
        }
        self.note(id, now);
    }

    /// The lane begins as if it had never failed, and asks for what the database kept.
    pub fn enable_lane(&mut self, id: LaneId, now: Timestamp) {
        if let Some(lane) = self.lanes.get_mut(&id).filter(|lane| lane.state == State::Disabled) {
            lane.enable();
        }
        self.note(id, now);
    }

    /// Starts nothing more. Nothing is lost: what waits is in the database, and what is under way ends as always.
    pub fn disable_lane(&mut self, id: LaneId, now: Timestamp) {
        if let Some(lane) = self.lanes.get_mut(&id).filter(|lane| lane.state == State::Enabled) {
            lane.disable();
        }
        self.note(id, now);
    }

    /// The endpoint was removed: everything of it is dropped. Attempts that are under way are still to be answered.
    pub fn close_lane(&mut self, id: LaneId, now: Timestamp) {
        if let Some(lane) = self.lanes.get_mut(&id) {
            lane.close();
        }
        self.note(id, now);
        self.forget_if_over(id);
    }

    /// A delivery that was committed and had no attempt yet. Known ones are passed over. Deliveries of one lane come in
    /// their sequence, and before the answer of a load that may show them: else they may start out of sequence, or twice.
    pub fn offer(&mut self, id: LaneId, row: FreshRow, now: Timestamp) {
        let room = self.caps.room(self.held);
        let Some(lane) = self.lanes.get_mut(&id) else { return };
        let stays = lane.state != State::Enabled || lane.fresh_held() >= room;
        if stays || lane.fresh_backlog.from().is_some() {
            lane.fresh_backlog.leave(row.seq);
        } else {
            lane.hold_fresh(row);
        }
        self.note(id, now);
    }

    /// Rows of this lane changed in a way that was not offered: they are asked for again, from the beginning. What waits
    /// goes by its row; what is under way is passed over, and its end decides.
    pub fn look_again(&mut self, id: LaneId, now: Timestamp) {
        if let Some(lane) = self.lanes.get_mut(&id) {
            lane.read_again();
        }
        self.note(id, now);
    }

    /// Deliveries of this lane may have been committed from this number on without being offered: they are read from the
    /// database.
    pub fn leave_stored(&mut self, id: LaneId, from: Seq, now: Timestamp) {
        if let Some(lane) = self.lanes.get_mut(&id) {
            lane.fresh_backlog.leave(from);
        }
        self.note(id, now);
    }

    /// The same, and rows may have changed by a decision made elsewhere, as in [`Scheduler::look_again`].
    pub fn catch_up(&mut self, id: LaneId, from: Seq, now: Timestamp) {
        if let Some(lane) = self.lanes.get_mut(&id) {
            lane.fresh_backlog.leave(from);
            lane.retry_backlog.leave(0);
        }
        self.note(id, now);
    }

    /// The next attempt to start now. First attempts go before retries, whose slots they do not take.
    pub fn next(&mut self, now: Timestamp) -> Option<Start> {
        while let Some(&(at, id)) = self.wakes.first().filter(|(at, _)| *at <= now) {
            self.note(id, now);
            // Notes are of the future only; were one not, it must not be looked at for ever.
            self.wakes.remove(&(at, id));
        }
        self.start(Class::First, now).or_else(|| self.start(Class::Retry, now))
    }

    /// When to call `next` and `wants` again, if no fact comes before. A time that is past means now.
    pub fn wake_at(&self) -> Option<Timestamp> {
        let alarms = [&self.wakes, &self.fresh_loads, &self.retry_loads];
        alarms.iter().filter_map(|alarms| alarms.first()).map(|(at, _)| *at).min()
    }

    pub fn view(&self, id: LaneId) -> Option<LaneView> {
        self.lanes.get(&id).filter(|lane| lane.state != State::Closed).map(Lane::view)
    }

    pub fn counts(&self) -> Counts {
        Counts { held: self.held, first_in_flight: self.first.running(), retries_in_flight: self.retries.running() }
    }

    fn start(&mut self, class: Class, now: Timestamp) -> Option<Start> {
        loop {
            let slots = if class == Class::First { &mut self.first } else { &mut self.retries };
            let id = slots.begin()?;
            let lane = self.lanes.get_mut(&id)?;
            lane.place.lose_turn(class);
            let started = lane.start(class, now);
            if started.is_none() {
                // The clock was set back: it was ready, and is not any more.
                slots.end(lane.tenant);
            }
            self.note(id, now);
            if let Some((seq, attempt)) = started {
                return Some(Start { lane: id, seq, attempt });
            }
        }
    }

    /// A closed lane is there for as long as its attempts are.
    fn forget_if_over(&mut self, id: LaneId) {
        if self.lanes.get(&id).is_some_and(|lane| lane.state == State::Closed && lane.in_flight() == 0) {
            self.lanes.remove(&id);
        }
    }
}
