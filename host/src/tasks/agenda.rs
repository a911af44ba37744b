//! Who has something due, and when. Pure: times and facts go in, what to look at comes out.
//!
//! Invariant: a line that has something due is either at work, or is looked at by then; a look too many does no harm.

use std::collections::{BTreeSet, HashMap};

use crate::changes::timer::TaskLine;
use crate::clock::Timestamp;

#[derive(Default)]
pub struct Agenda {
    lines: HashMap<TaskLine, State>,
    order: BTreeSet<(Timestamp, TaskLine)>,
}

enum State {
    Waits(Timestamp),
    Works,
}

impl Agenda {
    /// Something of the line is due then. A line at work says in the end when it has something to do again.
    pub fn note(&mut self, line: &TaskLine, due: Timestamp) {
        match self.lines.get(line) {
            Some(State::Works) => {}
            Some(State::Waits(at)) if *at <= due => {}
            _ => self.put(line.clone(), due),
        }
    }

    /// The next line that has something due; it is at work from now on.
    pub fn next(&mut self, now: Timestamp) -> Option<TaskLine> {
        self.order.first().filter(|(at, _)| *at <= now)?;
        let (_, line) = self.order.pop_first()?;
        self.lines.insert(line.clone(), State::Works);
        Some(line)
    }

    /// It has nothing more to do before `next`.
    pub fn rests(&mut self, line: &TaskLine, next: Option<Timestamp>) {
        self.lines.remove(line);
        if let Some(due) = next {
            self.put(line.clone(), due);
        }
    }

    pub fn wake_at(&self) -> Option<Timestamp> {
        self.order.first().map(|(at, _)| *at)
    }

    fn put(&mut self, line: TaskLine, due: Timestamp) {
        if let Some(State::Waits(before)) = self.lines.insert(line.clone(), State::Waits(due)) {
            self.order.remove(&(before, line.clone()));
        }
        self.order.insert((due, line));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::changes::scope::Scope;

    fn line(number: u8) -> TaskLine {
        let tenant = format!("t{number}/test");
        TaskLine { scope: Scope::new("notes".into(), tenant.into()).unwrap(), destination: None }
    }

    #[test]
    fn a_line_is_looked_at_when_something_is_due_and_not_before() {
        let mut agenda = Agenda::default();
        agenda.note(&line(1), 50);
        agenda.note(&line(1), 80);
        assert_eq!((agenda.next(49), agenda.wake_at()), (None, Some(50)));
        assert_eq!(agenda.next(50), Some(line(1)));
        assert_eq!((agenda.next(100), agenda.wake_at()), (None, None), "it is at work");
    }

    #[test]
    fn line_at_work_is_taken_up_again_when_it_has_rested() {
        let mut agenda = Agenda::default();
        agenda.note(&line(1), 0);
        agenda.next(0);
        agenda.note(&line(1), 30);
        assert_eq!(agenda.wake_at(), None);
        agenda.rests(&line(1), Some(90));
        assert_eq!(agenda.wake_at(), Some(90));
    }

    proptest! {
        /// The stored dues are the truth; whatever the order of commits and looks, everything is done, and never early.
        #[test]
        fn everything_due_is_looked_at(steps in prop::collection::vec((0_u8..3, 0_u8..4, 0_u64..50), 1..200)) {
            let (mut agenda, mut stored, mut now) = (Agenda::default(), Vec::<(u8, u64)>::new(), 0_u64);
            let mut working: Vec<(u8, Option<u64>)> = Vec::new();
            for (step, number, amount) in steps {
                match step {
                    0 => {
                        stored.push((number, now + amount));
                        agenda.note(&line(number), now + amount);
                        // The line at work takes in what is reported meanwhile.
                        for (_, next) in working.iter_mut().filter(|(worker, _)| *worker == number) {
                            *next = Some(next.map_or(now + amount, |next| next.min(now + amount)));
                        }
                    }
                    1 => {
                        now += amount;
                        while let Some(next) = agenda.next(now) {
                            let number = (0..4).find(|number| line(*number) == next).unwrap();
                            stored.retain(|(owner, due)| *owner != number || *due > now);
                            let next_due = stored.iter().filter(|(owner, _)| *owner == number).map(|(_, due)| *due).min();
                            working.push((number, next_due));
                        }
                    }
                    _ => for (number, next) in working.drain(..) {
                        agenda.rests(&line(number), next);
                    },
                }
            }
            for (number, next) in working.drain(..) {
                agenda.rests(&line(number), next);
            }
            for (number, due) in stored {
                prop_assert!(agenda.wake_at().is_some_and(|at| at <= due), "{number} due at {due} is forgotten");
            }
        }
    }
}
