//! A cache of events that are to be sent soon, so that a delivery right after its commit reads nothing. Events that do
//! not fit or wait for long are read from the database when they are sent.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use crate::{
    clock::Timestamp,
    db::apply::{EventSeq, QueueId, StoredEvent},
    limits::{DELIVERY_BODIES_BYTES_MAX, DELIVERY_BODY_KEPT_MS},
};

#[derive(Default)]
pub struct EventCache {
    /// In the order of commits.
    entries: BTreeMap<EventSeq, CachedEvent>,
    bytes: usize,
}

struct CachedEvent {
    event: Arc<StoredEvent>,
    /// The queues whose first attempt has not ended.
    queues_left: HashSet<QueueId>,
}

impl EventCache {
    /// Caches an event for its first attempts, one in each of its queues. Does nothing if the event has no queues or
    /// does not fit.
    pub fn insert(&mut self, event: &Arc<StoredEvent>) {
        let bytes = self.bytes.saturating_add(event.body.len());
        if event.queues.is_empty() || bytes > DELIVERY_BODIES_BYTES_MAX {
            return;
        }
        let entry = CachedEvent { event: event.clone(), queues_left: event.queues.iter().copied().collect() };
        if self.entries.insert(event.seq, entry).is_none() {
            self.bytes = bytes;
        }
    }

    pub fn find(&self, seq: EventSeq) -> Option<Arc<StoredEvent>> {
        self.entries.get(&seq).map(|entry| entry.event.clone())
    }

    /// Records the end of an attempt that was made. Evicts the event after its last first attempt.
    pub fn release(&mut self, seq: EventSeq, queue: QueueId) {
        let Some(entry) = self.entries.get_mut(&seq) else { return };
        entry.queues_left.remove(&queue);
        if entry.queues_left.is_empty() {
            self.bytes = self.bytes.saturating_sub(entry.event.body.len());
            self.entries.remove(&seq);
        }
    }

    /// Evicts events that were committed at least `DELIVERY_BODY_KEPT_MS` before `now`. They wait for an endpoint that
    /// is paused or slow.
    pub fn evict_old(&mut self, now: Timestamp) {
        while let Some(oldest) = self.entries.first_entry() {
            if now.saturating_sub(oldest.get().event.at) < DELIVERY_BODY_KEPT_MS {
                return;
            }
            self.bytes = self.bytes.saturating_sub(oldest.remove().event.body.len());
        }
    }

    /// Evicts all events. Attempts read them from the database.
    pub fn clear(&mut self) {
        *self = EventCache::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{db::testing::scope, limits::DELIVERY_BODY_KEPT_MS};

    const QUEUE: QueueId = QueueId(1);

    fn event(seq: EventSeq, at: Timestamp, queues: Vec<QueueId>) -> Arc<StoredEvent> {
        let scope = scope("notes", "acme/test");
        let [id, event_type, subject, body] = ["event", "thing.changed", "thing", "{}"].map(Arc::from);
        Arc::new(StoredEvent { seq, id, scope, event_type, subject, body, at, queues, is_test: false, hops: 0 })
    }

    #[test]
    fn event_that_waits_for_long_is_evicted() {
        let mut cache = EventCache::default();
        cache.insert(&event(1, 1_000, vec![QUEUE]));
        cache.insert(&event(2, 1_001, vec![QUEUE]));
        cache.evict_old(1_000 + DELIVERY_BODY_KEPT_MS);
        assert!(cache.find(1).is_none());
        assert!(cache.find(2).is_some());
        cache.release(1, QUEUE);
        cache.release(2, QUEUE);
        assert_eq!((cache.entries.len(), cache.bytes), (0, 0));
    }

    #[test]
    fn retry_in_one_queue_does_not_evict_an_event_before_its_first_attempt_in_another() {
        let (failing, slow) = (QueueId(1), QueueId(2));
        let mut cache = EventCache::default();
        cache.insert(&event(1, 1_000, vec![failing, slow]));
        cache.release(1, failing);
        cache.release(1, failing);
        assert!(cache.find(1).is_some());
        cache.release(1, slow);
        assert!(cache.find(1).is_none());
        assert_eq!(cache.bytes, 0);
    }
}
