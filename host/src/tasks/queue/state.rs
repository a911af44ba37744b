//! Tracks which records of a queue are running, which are due, and whether the database must be searched for more.
//! Pure.
//!
//! Invariants: a record runs once at a time. A due record is in `due`, or it is running and in `due_again`, or
//! `has_more` is set and the next search finds it.

use std::{collections::HashSet, sync::Arc};

use indexmap::IndexSet;
use tokio::task::JoinError;

use super::{WorkOutcome, inbox::Reported};
use crate::clock::Timestamp;
use crate::db::tasks::FirstTasks;

pub(super) struct QueueState {
    running_max: usize,
    running: HashSet<Arc<str>>,
    /// Records that are due and not running, in the order in which they start.
    due: IndexSet<Arc<str>>,
    /// Running records that may have become due again since they started.
    due_again: HashSet<Arc<str>>,
    /// More records may be due than are in `due`, so the database must be searched.
    has_more: bool,
    /// Reports of commits were lost, so a running record may be due again.
    missed_reports: bool,
    /// Time at which the first record that is not due yet becomes due.
    next: Option<Timestamp>,
    /// A search failed, or the work on a record panicked. The queue searches again after a pause.
    has_lost_track: bool,
}

impl QueueState {
    /// `running_max` is the number of records that may run at once.
    pub fn new(running_max: usize) -> QueueState {
        let (running, due, due_again) = (HashSet::new(), IndexSet::new(), HashSet::new());
        QueueState {
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

    /// Adds the records that commits have reported.
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
                // A search returns the record in the order of due times.
                self.has_more = true;
            }
        }
    }

    /// Returns true if more records may be due than are in `due`, and more of them can be started. A search replaces
    /// `due` with the earliest due records.
    pub fn must_search(&self) -> bool {
        self.has_more && self.running.len() + self.due.len() < self.running_max
    }

    /// Returns the number of records that a search must return, so that at least one of these records is not running.
    pub fn search_limit(&self) -> usize {
        self.running_max + 1
    }

    /// Applies the result of a search for [`search_limit`](Self::search_limit) records.
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

    /// Marks due records as running, as many as `running_max` allows, and returns their ids.
    pub fn start_due(&mut self) -> Vec<Arc<str>> {
        let count = self.running_max.saturating_sub(self.running.len()).min(self.due.len());
        let started: Vec<Arc<str>> = self.due.drain(..count).collect();
        self.running.extend(started.iter().cloned());
        started
    }

    /// Returns the time at which the database must be searched next. `None`: not before a running
    /// record finishes or a commit reports a record.
    pub fn next_search(&self) -> Option<Timestamp> {
        self.next.filter(|_| !self.has_more)
    }

    /// Records that the work on a record has ended.
    pub fn finish(&mut self, ended: Result<(Arc<str>, WorkOutcome), JoinError>) {
        let (id, outcome) = match ended {
            Ok(ended) => ended,
            Err(error) => {
                tracing::error!("work on a task failed: {error}");
                // The id of its record is not known. The record counts as running until the queue has finished.
                self.has_lost_track = true;
                return;
            }
        };
        self.running.remove(&id);
        match outcome {
            // No commit reports when these records are due.
            WorkOutcome::Postponed | WorkOutcome::NotDue => {
                self.due_again.remove(&id);
                self.has_more = true;
            }
            WorkOutcome::Settled if self.due_again.remove(&id) => {
                self.due.insert(id);
            }
            WorkOutcome::Settled => {}
        }
    }

    /// Returns the time at which the queue has something to do again. `None`: no stored record of the queue has a due
    /// time.
    pub fn next(&self, search_at: Timestamp) -> Option<Timestamp> {
        self.next.into_iter().chain(self.has_lost_track.then_some(search_at)).min()
    }
}

#[cfg(test)]
mod tests;
