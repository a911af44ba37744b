//! Times at which task queues must be worked on next. Pure: due times go in, due queues come out.
//!
//! Invariant: a queue that has a due record is either at work or scheduled for that time at the latest. Working on a
//! queue that has nothing due is harmless.

use std::collections::{BTreeSet, HashMap};

use crate::changes::timer::TaskQueue;
use crate::clock::Timestamp;

#[derive(Default)]
pub struct Agenda {
    queues: HashMap<TaskQueue, State>,
    order: BTreeSet<(Timestamp, TaskQueue)>,
}

enum State {
    Waiting(Timestamp),
    Working,
}

impl Agenda {
    /// Schedules the queue for `due` at the latest. Ignored for a queue at work: it returns its next time when it
    /// finishes.
    pub fn note(&mut self, queue: &TaskQueue, due: Timestamp) {
        match self.queues.get(queue) {
            Some(State::Working) => {}
            Some(State::Waiting(at)) if *at <= due => {}
            _ => self.put(queue.clone(), due),
        }
    }

    /// Returns the next queue that has something due and marks it as at work.
    pub fn next(&mut self, now: Timestamp) -> Option<TaskQueue> {
        self.order.first().filter(|(at, _)| *at <= now)?;
        let (_, queue) = self.order.pop_first()?;
        self.queues.insert(queue.clone(), State::Working);
        Some(queue)
    }

    /// Ends the work on the queue and schedules it for `next`. `None`: it has no stored records.
    pub fn finish(&mut self, queue: &TaskQueue, next: Option<Timestamp>) {
        self.queues.remove(queue);
        if let Some(due) = next {
            self.put(queue.clone(), due);
        }
    }

    /// Returns the earliest scheduled time.
    pub fn wake_at(&self) -> Option<Timestamp> {
        self.order.first().map(|(at, _)| *at)
    }

    fn put(&mut self, queue: TaskQueue, due: Timestamp) {
        if let Some(State::Waiting(before)) = self.queues.insert(queue.clone(), State::Waiting(due)) {
            self.order.remove(&(before, queue.clone()));
        }
        self.order.insert((due, queue));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::changes::scope::Scope;

    fn queue(number: u8) -> TaskQueue {
        let tenant = format!("t{number}/test");
        TaskQueue { scope: Scope::new("notes".into(), tenant.into()).unwrap(), destination: None }
    }

    #[test]
    fn queue_is_returned_at_its_earliest_due_time_and_not_before() {
        let mut agenda = Agenda::default();
        agenda.note(&queue(1), 50);
        agenda.note(&queue(1), 80);
        assert_eq!((agenda.next(49), agenda.wake_at()), (None, Some(50)));
        assert_eq!(agenda.next(50), Some(queue(1)));
        assert_eq!((agenda.next(100), agenda.wake_at()), (None, None), "it is at work");
    }

    #[test]
    fn queue_at_work_is_scheduled_again_after_it_has_finished() {
        let mut agenda = Agenda::default();
        agenda.note(&queue(1), 0);
        agenda.next(0);
        agenda.note(&queue(1), 30);
        assert_eq!(agenda.wake_at(), None);
        agenda.finish(&queue(1), Some(90));
        assert_eq!(agenda.wake_at(), Some(90));
    }

    proptest! {
        /// Every stored record is worked on, and never before it is due, for any order of commits and work.
        #[test]
        fn every_due_record_is_scheduled(steps in prop::collection::vec((0_u8..3, 0_u8..4, 0_u64..50), 1..200)) {
            let (mut agenda, mut stored, mut now) = (Agenda::default(), Vec::<(u8, u64)>::new(), 0_u64);
            let mut working: Vec<(u8, Option<u64>)> = Vec::new();
            for (step, number, amount) in steps {
                match step {
                    0 => {
                        stored.push((number, now + amount));
                        agenda.note(&queue(number), now + amount);
                        // The queue at work includes later reports in its next time.
                        for (_, next) in working.iter_mut().filter(|(worker, _)| *worker == number) {
                            *next = Some(next.map_or(now + amount, |next| next.min(now + amount)));
                        }
                    }
                    1 => {
                        now += amount;
                        while let Some(next) = agenda.next(now) {
                            let number = (0..4).find(|number| queue(*number) == next).unwrap();
                            stored.retain(|(owner, due)| *owner != number || *due > now);
                            let next_due = stored.iter().filter(|(owner, _)| *owner == number).map(|(_, due)| *due).min();
                            working.push((number, next_due));
                        }
                    }
                    _ => for (number, next) in working.drain(..) {
                        agenda.finish(&queue(number), next);
                    },
                }
            }
            for (number, next) in working.drain(..) {
                agenda.finish(&queue(number), next);
            }
            for (number, due) in stored {
                prop_assert!(agenda.wake_at().is_some_and(|at| at <= due), "{number} due at {due} is not scheduled");
            }
        }
    }
}
