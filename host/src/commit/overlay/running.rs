//! Which calls run, by when they began: what they may have seen must not be forgotten before they end.

use std::collections::BTreeMap;

use crate::changes::change_set::Version;

/// When a call began: the last version that was accepted before it, and the epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Began {
    pub epoch: u64,
    pub start: Version,
}

#[derive(Default)]
pub(super) struct Running {
    /// How many calls began at each version.
    starts: BTreeMap<Version, usize>,
    /// Calls that began before this version are too old: what they rest on may be forgotten already.
    floor: Version,
}

impl Running {
    pub(super) fn begin(&mut self, epoch: u64, start: Version) -> Began {
        *self.starts.entry(start).or_insert(0) += 1;
        Began { epoch, start }
    }

    pub(super) fn end(&mut self, began: &Began) {
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

    pub(super) fn is_outdated(&self, began: &Began) -> bool {
        began.start < self.floor
    }

    /// The start of the oldest running call that is not outdated.
    pub(super) fn oldest(&self) -> Option<Version> {
        self.starts.range(self.floor..).next().map(|(start, _)| *start)
    }
}
