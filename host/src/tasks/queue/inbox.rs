//! Collects the due records of a queue that commits report, and the time at which the next one is due.
//!
//! The engine adds reports, and the queue takes them while it works. At most `TASKS_REPORTED_MAX` ids are kept. Beyond
//! that, `is_partial` is set and the queue searches the database.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::clock::Timestamp;
use crate::limits::TASKS_REPORTED_MAX;

#[derive(Default)]
pub(in crate::tasks) struct Inbox {
    reported: Mutex<Reported>,
    arrived: Notify,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Reported {
    /// Records that are due, in the order of their commits.
    pub due: Vec<Arc<str>>,
    /// Time at which the first of the other records is due.
    pub next: Option<Timestamp>,
    /// Records other than those in `due` may be due.
    pub is_partial: bool,
}

impl Inbox {
    /// Reports that the record is due at `due`. Without `id`, any record of the queue may be due.
    pub fn put(&self, due: Timestamp, id: Option<&Arc<str>>, now: Timestamp) {
        self.reported.lock().add(due, id, now);
        self.arrived.notify_one();
    }

    /// Makes a running worker check for due records and for shutdown.
    pub fn wake(&self) {
        self.put(0, None, 0);
    }

    /// Returns the time at which a queue that has ended its work must run again. `next` is the time that the queue
    /// returned. `None`: no stored record of the queue has a due time.
    pub fn finish(&self, next: Option<Timestamp>) -> Option<Timestamp> {
        let mut reported = self.reported.lock();
        reported.next = reported.next.into_iter().chain(next).min();
        let is_due = reported.is_partial || !reported.due.is_empty();
        if is_due { Some(0) } else { reported.next }
    }

    pub(super) fn take(&self) -> Reported {
        std::mem::take(&mut self.reported.lock())
    }

    /// Waits for a report. Returns at once if one was added since this method returned last.
    pub(super) async fn arrived(&self) {
        self.arrived.notified().await;
    }
}

impl Reported {
    fn add(&mut self, due: Timestamp, id: Option<&Arc<str>>, now: Timestamp) {
        match id {
            Some(_) if due > now => self.next = Some(self.next.map_or(due, |next| next.min(due))),
            Some(id) if self.due.len() < TASKS_REPORTED_MAX => self.due.push(id.clone()),
            _ => self.is_partial = true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = 100;

    #[test]
    fn due_records_are_named_and_later_ones_give_the_next_time() {
        let inbox = Inbox::default();
        inbox.put(NOW, Some(&"a".into()), NOW);
        inbox.put(NOW + 9, Some(&"b".into()), NOW);
        inbox.put(NOW + 5, Some(&"c".into()), NOW);
        let expected = Reported { due: vec!["a".into()], next: Some(NOW + 5), is_partial: false };
        assert_eq!(inbox.take(), expected);
        assert_eq!(inbox.take(), Reported::default());
    }

    #[test]
    fn more_than_the_limit_is_left_to_the_database() {
        let inbox = Inbox::default();
        (0..=TASKS_REPORTED_MAX).for_each(|number| inbox.put(NOW, Some(&number.to_string().into()), NOW));
        let reported = inbox.take();
        assert_eq!((reported.due.len(), reported.is_partial), (TASKS_REPORTED_MAX, true));
    }

    #[test]
    fn finished_queue_runs_again_at_the_next_time_unless_something_was_reported() {
        let inbox = Inbox::default();
        assert_eq!(inbox.finish(None), None);
        assert_eq!(inbox.finish(Some(NOW)), Some(NOW));
        assert_eq!(inbox.finish(Some(NOW + 1)), Some(NOW), "the earlier time stands until it is taken");
        inbox.put(NOW, Some(&"a".into()), NOW);
        assert_eq!(inbox.finish(None), Some(0));
    }
}
