//! Data versions written into one table since the process started. They keep the result of a search for the lowest
//! version usable.

use std::collections::BTreeMap;

/// Data versions written into one table since the process started.
#[derive(Debug, Default)]
pub(in crate::db) struct WrittenVersions {
    /// Number of batches that wrote into the table.
    pub(super) batches: u64,
    /// For each data version, the last batch in which it was the lowest.
    lowest: BTreeMap<u32, u64>,
    /// Result of the last search: (version, batch). After this batch, no record had a data version below this version.
    pub(super) searched: Option<(u32, u64)>,
}

impl WrittenVersions {
    /// Records the lowest data version of a batch. Called within its transaction.
    pub fn record(&mut self, lowest: u32) {
        self.batches += 1;
        self.lowest.insert(lowest, self.batches);
    }

    /// Returns true if it is known that no record has a data version below this.
    pub(super) fn is_searched(&self, below: u32) -> bool {
        self.searched.is_some_and(|(searched, batch)| {
            searched >= below && self.lowest.range(..below).all(|(_, written)| *written <= batch)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn search_holds_until_a_lower_data_version_is_written() {
        let mut versions = WrittenVersions::default();
        assert!(!versions.is_searched(1), "no search has run yet");
        versions.record(1);
        versions.searched = Some((2, versions.batches));
        assert!(versions.is_searched(2));
        assert!(!versions.is_searched(3), "the search was for a lower version");
        versions.record(2);
        assert!(versions.is_searched(2));
        versions.record(1);
        assert!(!versions.is_searched(2));
        assert!(versions.is_searched(1));
    }
}
