//! Events that are to be sent soon, so that a delivery right after its commit reads nothing. What does not fit, and what waits for
//! long, is read when it is sent.

use std::{collections::BTreeMap, sync::Arc};

use crate::clock::Timestamp;
use crate::{
    db::apply::{EventSeq, StoredEvent},
    limits::{DELIVERY_BODIES_BYTES_MAX, DELIVERY_BODY_KEPT_MS},
};

#[derive(Default)]
pub struct Bodies {
    /// The oldest first.
    kept: BTreeMap<EventSeq, Kept>,
    bytes: usize,
}

struct Kept {
    event: Arc<StoredEvent>,
    /// First attempts that have not ended.
    wanted: usize,
}

impl Bodies {
    /// For its first attempts, one in each of its lanes.
    pub fn keep(&mut self, event: &Arc<StoredEvent>) {
        let bytes = self.bytes.saturating_add(event.body.len());
        if event.lanes.is_empty() || bytes > DELIVERY_BODIES_BYTES_MAX {
            return;
        }
        let kept = Kept { event: event.clone(), wanted: event.lanes.len() };
        if self.kept.insert(event.seq, kept).is_none() {
            self.bytes = bytes;
        }
    }

    pub fn find(&self, seq: EventSeq) -> Option<Arc<StoredEvent>> {
        self.kept.get(&seq).map(|kept| kept.event.clone())
    }

    /// One of its attempts has ended.
    pub fn release(&mut self, seq: EventSeq) {
        let Some(kept) = self.kept.get_mut(&seq) else { return };
        kept.wanted = kept.wanted.saturating_sub(1);
        if kept.wanted == 0 {
            self.bytes = self.bytes.saturating_sub(kept.event.body.len());
            self.kept.remove(&seq);
        }
    }

    /// Drops those that were committed some time before `now`: they wait for an endpoint that is paused or slow.
    pub fn drop_old(&mut self, now: Timestamp) {
        while let Some(oldest) = self.kept.first_entry() {
            if now.saturating_sub(oldest.get().event.at) < DELIVERY_BODY_KEPT_MS {
                return;
            }
            self.bytes = self.bytes.saturating_sub(oldest.remove().event.body.len());
        }
    }

    /// They are read again where they are still wanted.
    pub fn clear(&mut self) {
        *self = Bodies::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{db::testing::scope, limits::DELIVERY_BODY_KEPT_MS};

    fn event(seq: EventSeq, at: Timestamp) -> Arc<StoredEvent> {
        let scope = scope("notes", "acme/test");
        let [id, event_type, subject, body] = ["event", "thing.changed", "thing", "{}"].map(Arc::from);
        Arc::new(StoredEvent { seq, id, scope, event_type, subject, body, at, lanes: vec![1], is_test: false, hops: 0 })
    }

    #[test]
    fn body_that_waits_for_long_is_not_kept() {
        let mut bodies = Bodies::default();
        bodies.keep(&event(1, 1_000));
        bodies.keep(&event(2, 1_001));
        bodies.drop_old(1_000 + DELIVERY_BODY_KEPT_MS);
        assert!(bodies.find(1).is_none());
        assert!(bodies.find(2).is_some());
        bodies.release(1);
        bodies.release(2);
        assert_eq!((bodies.kept.len(), bodies.bytes), (0, 0));
    }
}
