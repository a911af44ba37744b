//! Which records of a line are at work, which are due, and whether the database must be searched for more. Pure.
//!
//! Invariants: a record is at work once at a time. A record that is due is in `due`, or at work and in `again`, or `has_more` says
//! that the next search finds it.

use std::{collections::HashSet, sync::Arc};

use indexmap::IndexSet;
use tokio::task::JoinError;

use super::{Worked, inbox::Reported};
use crate::{changes::change_set::Timestamp, db::tasks::FirstTasks};

pub(super) struct Hands {
    most: usize,
    running: HashSet<Arc<str>>,
    /// Due and not at work, the earliest first.
    due: IndexSet<Arc<str>>,
    /// At work, and reported since then as due.
    again: HashSet<Arc<str>>,
    /// More may be due than is known: the database must be searched.
    has_more: bool,
    /// Commits went unreported: a record at work may be due again.
    is_doubtful: bool,
    /// When the next record is due after all those.
    next: Option<Timestamp>,
    /// A search failed, or work ended without a result: whoever works on this line next searches again.
    is_blind: bool,
}

impl Hands {
    /// `most`: records at work at once.
    pub fn new(most: usize) -> Hands {
        let (running, due, again) = (HashSet::new(), IndexSet::new(), HashSet::new());
        Hands { most, running, due, again, has_more: false, is_doubtful: false, next: None, is_blind: false }
    }

    /// Takes in what commits have reported.
    pub fn receive(&mut self, reported: Reported, now: Timestamp) {
        self.is_doubtful |= reported.is_partial;
        self.next = self.next.into_iter().chain(reported.next).min();
        self.has_more |= reported.is_partial || self.next.is_some_and(|next| next <= now);
        for id in reported.due {
            if self.running.contains(&id) {
                self.again.insert(id);
            } else if !self.has_more && self.due.len() < self.most {
                self.due.insert(id);
            } else {
                // A search returns it in its place among all that is due.
                self.has_more = true;
            }
        }
    }

    /// Whether the database must be searched before more can be taken up.
    pub fn must_look(&self) -> bool {
        self.has_more && self.due.is_empty() && self.running.len() < self.most
    }

    /// Records that a search must return, so that at least one of them is not at work.
    pub fn look_limit(&self) -> usize {
        self.most + 1
    }

    /// Takes in the result of a search of [`look_limit`](Self::look_limit) records.
    pub fn found(&mut self, found: FirstTasks) {
        (self.has_more, self.next) = (found.due.len() >= self.look_limit(), found.next);
        let (running, due): (Vec<_>, _) = found.due.into_iter().partition(|id| self.running.contains(id));
        self.due = due.into_iter().collect();
        if std::mem::take(&mut self.is_doubtful) {
            self.again.extend(running);
        }
    }

    pub fn fail_look(&mut self, again_at: Timestamp) {
        (self.has_more, self.is_blind, self.next) = (false, true, Some(again_at));
    }

    /// Records to begin with now, as many as there is room for.
    pub fn take_up(&mut self) -> Vec<Arc<str>> {
        let room = self.most.saturating_sub(self.running.len()).min(self.due.len());
        let taken: Vec<Arc<str>> = self.due.drain(..room).collect();
        self.running.extend(taken.iter().cloned());
        taken
    }

    /// When the database must be searched next. `None`: not before something is put down.
    pub fn look_at(&self) -> Option<Timestamp> {
        self.next.filter(|_| !self.has_more)
    }

    /// The work on a record has ended.
    pub fn put_down(&mut self, ended: Result<(Arc<str>, Worked), JoinError>) {
        let (id, worked) = match ended {
            Ok(ended) => ended,
            Err(error) => {
                tracing::error!("the work on a task ended badly: {error}");
                // Its record, which is not known, stays among those at work until the line rests.
                self.is_blind = true;
                return;
            }
        };
        self.running.remove(&id);
        match worked {
            // It is as due as before, and no commit reports it.
            Worked::Postponed => self.has_more = true,
            Worked::Settled if self.again.remove(&id) => {
                self.due.insert(id);
            }
            Worked::Settled => {}
        }
    }

    /// When the line has something to do again. `None`: nothing of it is stored.
    pub fn next(&self, blind_at: Timestamp) -> Option<Timestamp> {
        self.next.into_iter().chain(self.is_blind.then_some(blind_at)).min()
    }
}

#[cfg(test)]
mod tests;
