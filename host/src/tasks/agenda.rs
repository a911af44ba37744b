//! Times at which the workers of task queues start next. Pure: due times go in, due queues come out.
//!
//! Invariant: a queue with a stored due time has a running worker, or is scheduled for that time at the latest.
//! Starting a worker for a queue that has nothing due is harmless.

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
    /// Schedules the queue for `due` at the latest. Ignored while a worker of the queue is running, because the worker
    /// returns the next time when it finishes.
    pub fn schedule(&mut self, queue: &TaskQueue, due: Timestamp) {
        match self.queues.get(queue) {
            Some(State::Working) => {}
            Some(State::Waiting(at)) if *at <= due => {}
            _ => self.put(queue.clone(), due),
        }
    }

    /// Returns the next queue that is due, and marks its worker as running.
    pub fn next(&mut self, now: Timestamp) -> Option<TaskQueue> {
        self.order.first().filter(|(at, _)| *at <= now)?;
        let (_, queue) = self.order.pop_first()?;
        self.queues.insert(queue.clone(), State::Working);
        Some(queue)
    }

    /// Marks the worker of the queue as finished and schedules the queue for `next`. `None`: no stored record of the
    /// queue has a due time.
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
        agenda.schedule(&queue(1), 50);
        agenda.schedule(&queue(1), 80);
        assert_eq!((agenda.next(49), agenda.wake_at()), (None, Some(50)));
        assert_eq!(agenda.next(50), Some(queue(1)));
        assert_eq!((agenda.next(100), agenda.wake_at()), (None, None), "its worker is running");
    }

    #[test]
    fn queue_with_a_running_worker_is_scheduled_when_the_worker_finishes() {
        let mut agenda = Agenda::default();
        agenda.schedule(&queue(1), 0);
        agenda.next(0);
        agenda.schedule(&queue(1), 30);
        assert_eq!(agenda.wake_at(), None);
        agenda.finish(&queue(1), Some(90));
        assert_eq!(agenda.wake_at(), Some(90));
    }

    proptest! {
        /// After any sequence of commits and work, the agenda wakes no later than the due time of each stored record.
        #[test]
        fn every_stored_record_is_scheduled(steps in prop::collection::vec((0_u8..3, 0_u8..4, 0_u64..50), 1..200)) {
            let (mut agenda, mut stored, mut now) = (Agenda::default(), Vec::<(u8, u64)>::new(), 0_u64);
            let mut working: Vec<(u8, Option<u64>)> = Vec::new();
            for (step, number, amount) in steps {
                match step {
                    0 => {
                        stored.push((number, now + amount));
                        agenda.schedule(&queue(number), now + amount);
                        // A running worker includes later commits in the time that it returns.
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
