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
    pub(in crate::commit) running: RunningCall,
    /// `None` for an anonymous call, which has read nothing and can change nothing.
    pub(in crate::commit) set: Option<ChangeSet>,
    pub(in crate::commit) searches: Vec<CollectionSearch>,
    /// The call read two versions of one record, so its reads are checked even if it changes nothing.
    pub(in crate::commit) read_two_versions: bool,
    pub(in crate::commit) model: Arc<DataModel>,
    pub(in crate::commit) purpose: Purpose,
    /// The newest version that the call read and that was not durable then.
    pub(in crate::commit) waits_for: Version,
    /// Estimated bytes of its rows.
    pub(in crate::commit) bytes: usize,
    /// Charge for the memory that it takes. `None` if that is too little to be charged.
    pub(in crate::commit) charge: Option<Charge>,
    /// Its call holds charged memory, so it does not wait for another call's reservation.
    pub(in crate::commit) holds_memory: bool,
    /// It waits for capacity if it is large.
    pub(in crate::commit) waits_for_capacity: bool,
    /// Deadline of the wait for another call's reservation or for capacity. `None`: no deadline.
    pub(in crate::commit) deadline: Option<Instant>,
}

impl Changes {
    /// Sets the deadline of the wait for another call's reservation or for capacity. The wait for an accepted change
    /// set has no deadline.
    pub fn until(mut self, deadline: Instant) -> Changes {
        self.deadline = Some(deadline);
        self
    }

    /// Declares further charged bytes that the call holds, such as those of an answer.
    pub fn with_held_bytes(mut self, bytes: u64) -> Changes {
        self.holds_memory |= bytes >= HELD_STEP_BYTES;
        self
    }

    /// Lets a large change set be accepted without capacity. For changes that the host itself makes, which have no
    /// deadline and no caller that could repeat them.
    pub fn without_capacity(mut self) -> Changes {
        self.waits_for_capacity = false;
        self
    }

    /// Returns the change set, for comparing two generations on the same snapshot.
    pub fn change_set(&self) -> Option<&ChangeSet> {
        self.set.as_ref()
    }

    /// Returns the estimated bytes that it writes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns true if there is nothing to write and nothing to check.
    pub fn is_read_only(&self) -> bool {
        let is_unchecked = self.purpose == Purpose::Commit && !self.read_two_versions;
        is_unchecked && self.set.as_ref().is_none_or(ChangeSet::is_empty)
    }
}
