//! The changes of one call, on their way to the committer.

use std::sync::Arc;

use tokio::time::Instant;

use super::RunningCall;
use crate::budget::Charge;
use crate::changes::change_set::{ChangeSet, Version};
use crate::commit::decide::Purpose;
use crate::commit::overlay::CollectionSearch;
use crate::db::model::DataModel;
use crate::limits::HELD_STEP_BYTES;

/// The changes and reads of one call. Until they are committed or dropped, the call counts as running.
pub struct Changes {
    pub(in crate::changes) running: RunningCall,
    /// `None` for an anonymous call: it saw nothing and can change nothing.
    pub(in crate::changes) set: Option<ChangeSet>,
    pub(in crate::changes) searches: Vec<CollectionSearch>,
    pub(in crate::changes) model: Arc<DataModel>,
    pub(in crate::changes) purpose: Purpose,
    /// The newest version that the call saw before it was durable.
    pub(in crate::changes) waits_for: Version,
    /// Estimate of its rows.
    pub(in crate::changes) bytes: usize,
    /// For the memory that it takes; `None` where that is too little to be charged.
    pub(in crate::changes) charge: Option<Charge>,
    /// Whether its call holds charged memory. It does not wait for another call's turn then.
    pub(in crate::changes) holds_memory: bool,
    /// Whether it waits for room if it is large.
    pub(in crate::changes) waits_for_room: bool,
    /// Latest time to wait for another call's turn, or for room; `None`: as long as it takes.
    pub(in crate::changes) deadline: Option<Instant>,
}

impl Changes {
    /// From the deadline on, the call waits neither for another call's turn nor for room. What was accepted is waited for
    /// all the same.
    pub fn until(mut self, deadline: Instant) -> Changes {
        self.deadline = Some(deadline);
        self
    }

    /// Its call holds so many charged bytes besides, such as those of an answer.
    pub fn beside(mut self, bytes: u64) -> Changes {
        self.holds_memory |= bytes >= HELD_STEP_BYTES;
        self
    }

    /// It is accepted without room: a change of the host's own, which has no deadline and no caller who could repeat it.
    pub fn without_room(mut self) -> Changes {
        self.waits_for_room = false;
        self
    }

    /// For comparing two generations on the same snapshot.
    pub fn change_set(&self) -> Option<&ChangeSet> {
        self.set.as_ref()
    }

    /// Estimate of the bytes that it writes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Nothing to write and nothing to check.
    pub fn is_look(&self) -> bool {
        self.purpose == Purpose::Commit && self.set.as_ref().is_none_or(ChangeSet::is_empty)
    }
}
