//! Events that are to be sent soon, so that a delivery right after its commit reads nothing. What does not fit is read when
//! it is sent.

use std::{collections::HashMap, sync::Arc};

use crate::{
    db::apply::{EventSeq, StoredEvent},
    limits::DELIVERY_BODIES_BYTES_MAX,
};

#[derive(Default)]
pub struct Bodies {
    kept: HashMap<EventSeq, Kept>,
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

    /// They are read again where they are still wanted.
    pub fn clear(&mut self) {
        *self = Bodies::default();
    }
}
