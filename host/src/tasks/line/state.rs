//! Which records of a line are at work, which are due, and whether the database must be searched for more. Pure.
//!
//! Invariants: a record is at work once at a time. A record that is due is in `due`, or at work and in `due_again`, or `has_more` says
//! that the next search finds it.

use std::{collections::HashSet, sync::Arc};

use indexmap::IndexSet;
use tokio::task::JoinError;

use super::{Worked, inbox::Reported};
use crate::clock::Timestamp;
use crate::db::tasks::FirstTasks;

pub(super) struct LineState {
    running_max: usize,
    running: HashSet<Arc<str>>,
    /// Due and not at work, the earliest first.
    due: IndexSet<Arc<str>>,
    /// At work, and reported since then as due.
    due_again: HashSet<Arc<str>>,
    /// More may be due than is known: the database must be searched.
    has_more: bool,
    /// Commits went unreported: a record at work may be due again.
    missed_reports: bool,
    /// When the next record is due after all those.
    next: Option<Timestamp>,
    /// A search failed, or work ended without a result. The line searches again after a pause.
    has_lost_track: bool,
}

impl LineState {
    /// `running_max`: records at work at once.
    pub fn new(running_max: usize) -> LineState {
        let (running, due, due_again) = (HashSet::new(), IndexSet::new(), HashSet::new());
        LineState {
            running_max,
            running,
            due,
            due_again,
            has_more: false,
            missed_reports: false,
            next: None,
            has_lost_track: false,
        }
    }

    /// Takes in what commits have reported.
    pub fn receive(&mut self, reported: Reported, now: Timestamp) {
        self.missed_reports |= reported.is_partial;
        self.next = self.next.into_iter().chain(reported.next).min();
        self.has_more |= reported.is_partial || self.next.is_some_and(|next| next <= now);
        for id in reported.due {
            if self.running.contains(&id) {
                self.due_again.insert(id);
            } else if !self.has_more && self.due.len() < self.running_max {
                self.due.insert(id);
            } else {
                // A search returns it in its place among all that is due.
                self.has_more = true;
            }
        }
    }

    /// Whether more can be started than is known. A search replaces what is known by the earliest of all that is due.
    pub fn must_search(&self) -> bool {
        self.has_more && self.running.len() + self.due.len() < self.running_max
    }

    /// Records that a search must return, so that at least one of them is not at work.
    pub fn search_limit(&self) -> usize {
        self.running_max + 1
    }

    /// Takes in the result of a search of [`search_limit`](Self::search_limit) records.
    pub fn found(&mut self, found: FirstTasks) {
        (self.has_more, self.next) = (found.due.len() >= self.search_limit(), found.next);
        let (running, due): (Vec<_>, _) = found.due.into_iter().partition(|id| self.running.contains(id));
        self.due = due.into_iter().collect();
        if std::mem::take(&mut self.missed_reports) {
            self.due_again.extend(running);
        }
    }

    pub fn search_failed(&mut self, again_at: Timestamp) {
        (self.has_more, self.has_lost_track, self.next) = (false, true, Some(again_at));
    }

    /// Records to begin with now, as many as there is room for.
    pub fn start_due(&mut self) -> Vec<Arc<str>> {
        let room = self.running_max.saturating_sub(self.running.len()).min(self.due.len());
        let taken: Vec<Arc<str>> = self.due.drain(..room).collect();
        self.running.extend(taken.iter().cloned());
        taken
    }

    /// When the database must be searched next. `None`: not before something has ended.
    pub fn next_search(&self) -> Option<Timestamp> {
        self.next.filter(|_| !self.has_more)
    }

    /// The work on a record has ended.
    pub fn finish(&mut self, ended: Result<(Arc<str>, Worked), JoinError>) {
        let (id, worked) = match ended {
            Ok(ended) => ended,
            Err(error) => {
                tracing::error!("the work on a task ended badly: {error}");
                // Its record, which is not known, stays among those at work until the line rests.
                self.has_lost_track = true;
                return;
            }
        };
        self.running.remove(&id);
        match worked {
            // No commit reports it.
            Worked::Postponed | Worked::NotDue => {
                self.due_again.remove(&id);
                self.has_more = true;
            }
            Worked::Settled if self.due_again.remove(&id) => {
                self.due.insert(id);
            }
            Worked::Settled => {}
        }
    }

    /// When the line has something to do again. `None`: nothing of it is stored.
    pub fn next(&self, search_at: Timestamp) -> Option<Timestamp> {
        self.next.into_iter().chain(self.has_lost_track.then_some(search_at)).min()
    }
}

#[cfg(test)]
mod tests;
