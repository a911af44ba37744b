//! Reads that are observed after their call has ended: for answers that are given again.
//!
//! Never runs a call and never holds an answer; `plugin::call` does.

use std::sync::Arc;

use super::{Changes, CommitError, Committer, Shared};
use crate::commit::overlay::ReadSet;

/// Reads of a call that changed nothing. They are observed until this is dropped.
pub struct RegisteredReads {
    shared: Arc<Shared>,
    reads: ReadSet,
}

impl RegisteredReads {
    /// Estimate of the memory that they take.
    pub fn bytes(&self) -> usize {
        self.reads.bytes()
    }

    /// Whether the same call would read the same now, writes that are accepted and not durable included.
    pub fn are_unchanged(&self) -> bool {
        self.shared.state.lock().overlay.are_unchanged(&self.reads)
    }
}

impl Drop for RegisteredReads {
    fn drop(&mut self) {
        self.shared.state.lock().overlay.unregister(&self.reads);
    }
}

impl Committer {
    /// Like [`Committer::commit`] for a call that changed nothing, and registers what it read. `None` if something of it has
    /// changed meanwhile, or if the call belongs to no tenant.
    pub async fn register_reads(&self, changes: Changes) -> Result<Option<RegisteredReads>, CommitError> {
        let Changes { running, set, searches, waits_for, .. } = changes;
        self.wait_until_durable(&running, waits_for).await?;
        let Some(set) = set else { return Ok(None) };
        let registered = {
            let mut state = self.shared.state.lock();
            // Without the writer, nothing notices foreign writes.
            if state.ended { None } else { state.overlay.register(&running.began, &set.reads, &searches) }
        };
        Ok(registered.map(|reads| RegisteredReads { shared: self.shared.clone(), reads }))
    }
}
