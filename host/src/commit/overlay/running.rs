//! The running calls, by the version at which they began. Entries that were accepted after a call began must not be
//! evicted before it ends.

use std::collections::BTreeMap;

use crate::changes::change_set::Version;

/// The start of a call: the last version that was accepted before it, and the epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallStart {
    pub epoch: u64,
    pub start: Version,
}

#[derive(Default)]
pub(super) struct Running {
    /// Number of running calls that began at each version.
    starts: BTreeMap<Version, usize>,
    /// Calls that began before this version are outdated: entries that they depend on may have been evicted.
    floor: Version,
}

impl Running {
    pub(super) fn begin(&mut self, epoch: u64, start: Version) -> CallStart {
        *self.starts.entry(start).or_insert(0) += 1;
        CallStart { epoch, start }
    }

    pub(super) fn end(&mut self, began: &CallStart) {
        if let Some(count) = self.starts.get_mut(&began.start) {
            *count -= 1;
            if *count == 0 {
                self.starts.remove(&began.start);
            }
        }
    }

    pub(super) fn outdate(&mut self, floor: Version) {
        self.floor = self.floor.max(floor);
    }

    pub(super) fn is_outdated(&self, began: &CallStart) -> bool {
        began.start < self.floor
    }

    /// Returns the start of the oldest running call that is not outdated.
    pub(super) fn oldest(&self) -> Option<Version> {
        self.starts.range(self.floor..).next().map(|(start, _)| *start)
    }
}
