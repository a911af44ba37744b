//! Who has something due, and when. Pure: times and facts go in, what to look at comes out.
//!
//! Invariant: a line that has something due is either at work, or is looked at by then; a look too many does no harm.

use std::collections::{BTreeSet, HashMap};

use crate::changes::{change_set::Timestamp, timer::TaskLine};

#[derive(Default)]
pub struct Agenda {
    lines: HashMap<TaskLine, State>,
    order: BTreeSet<(Timestamp, TaskLine)>,
}

enum State {
    Waits(Timestamp),
    /// With the earliest time that was heard of since it began.
    Works(Option<Timestamp>),
}

impl Agenda {
    /// Something of the line is due then. Whether it is at work, and has to be told.
    pub fn note(&mut self, line: &TaskLine, due: Timestamp) -> bool {
        match self.lines.get_mut(line) {
            Some(State::Works(heard)) => {
                *heard = Some(heard.map_or(due, |heard| heard.min(due)));
                true
            }
            Some(State::Waits(at)) if *at <= due => false,
            _ => {
                self.put(line.clone(), due);
                false
            }
        }
    }

    /// The next line that has something due; it is at work from now on.
    pub fn next(&mut self, now: Timestamp) -> Option<TaskLine> {
        self.order.first().filter(|(at, _)| *at <= now)?;
        let (_, line) = self.order.pop_first()?;
        self.lines.insert(line.clone(), State::Works(None));
        Some(line)
    }

    /// It has nothing more to do before `next`.
    pub fn rests(&mut self, line: &TaskLine, next: Option<Timestamp>) {
        let heard = match self.lines.remove(line) {
            Some(State::Works(heard)) => heard,
            _ => None,
        };
        if let Some(due) = heard.into_iter().chain(next).min() {
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
        assert!(!agenda.note(&line(1), 50));
        assert!(!agenda.note(&line(1), 80));
        assert_eq!((agenda.next(49), agenda.wake_at()), (None, Some(50)));
        assert_eq!(agenda.next(50), Some(line(1)));
        assert_eq!((agenda.next(100), agenda.wake_at()), (None, None), "it is at work");
    }

    #[test]
    fn what_is_heard_while_a_line_works_is_not_forgotten() {
        let mut agenda = Agenda::default();
        agenda.note(&line(1), 0);
        agenda.next(0);
        assert!(agenda.note(&line(1), 30), "it has to be told");
        agenda.rests(&line(1), Some(90));
        assert_eq!(agenda.wake_at(), Some(30));
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
