//! Reads that are observed after their call has ended, for cached answers.
//!
//! Never runs a call and never holds an answer: `plugin::call` does both.

use std::sync::Arc;

use super::{Changes, CommitError, Committer, Shared};
use crate::commit::overlay::ReadSet;

/// Reads of a call that changed nothing. They are observed until this is dropped.
pub struct RegisteredReads {
    shared: Arc<Shared>,
    reads: ReadSet,
}

impl RegisteredReads {
    /// Returns the estimated memory that they take.
    pub fn bytes(&self) -> usize {
        self.reads.bytes()
    }

    /// Returns true if the same call would read the same values now. Considers accepted writes that are not durable
    /// yet.
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
    /// Commits a call that changed nothing, like [`Committer::commit`], and registers its reads. Returns `None` if a
    /// value that it read has or may have changed, if it has too many reads, if it belongs to no tenant, or if the
    /// writer task has ended.
    pub async fn register_reads(&self, changes: Changes) -> Result<Option<RegisteredReads>, CommitError> {
        if changes.read_two_versions {
            return self.commit(changes, None).await.map(|()| None);
        }
        let Changes { running, set, searches, waits_for, .. } = changes;
        self.wait_until_durable(&running, waits_for).await?;
        let Some(set) = set else { return Ok(None) };
        let registered = {
            let mut state = self.shared.state.lock();
            // Foreign writes are detected by the writer task only.
            if state.ended { None } else { state.overlay.register(&running.began, &set.reads, &searches) }
        };
        Ok(registered.map(|reads| RegisteredReads { shared: self.shared.clone(), reads }))
    }
}
