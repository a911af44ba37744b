//! Reads of cached answers: the last accepted write to each key and collection in a [`ReadSet`].
//!
//! Keys and collections are represented by hashes. A hash collision invalidates a read set too early, never too late.
//! Invariant: every write that is accepted after a set was registered is recorded here until the set is removed.

use std::{
    collections::HashMap,
    hash::{BuildHasher, BuildHasherDefault, Hasher, RandomState},
    sync::Arc,
};

use crate::{
    changes::{
        change_set::{Key, Space, Version},
        scope::Scope,
    },
    limits::REGISTERED_READ_BYTES,
};

/// A search of a collection: its result is unchanged while nothing is written to the collection.
#[derive(Clone, Debug, PartialEq)]
pub struct CollectionSearch {
    pub scope: Scope,
    pub collection: Arc<str>,
    /// The newest accepted version when the search began. The search found all writes to the collection up to this
    /// version.
    pub since: Version,
}

/// Reads of a call that has ended, registered with the overlay.
#[derive(Debug)]
pub struct ReadSet {
    epoch: u64,
    /// The newest accepted version when it was registered.
    since: Version,
    hashes: Box<[u64]>,
}

impl ReadSet {
    /// Returns the estimated memory that it takes, with its entries.
    pub fn bytes(&self) -> usize {
        self.hashes.len() * REGISTERED_READ_BYTES
    }
}

pub(super) struct Entry {
    /// Number of read sets that contain it.
    sets: u32,
    /// The last write since the first of these sets was registered.
    written: Version,
}

/// Entries by the hash of their key or collection.
pub(super) type Entries = HashMap<u64, Entry, BuildHasherDefault<Hashed>>;

/// Hasher for keys that are hashes already. It is cheap because the table grows under the committer's lock.
#[derive(Default)]
pub(super) struct Hashed(u64);

impl Hasher for Hashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |hash, byte| hash.rotate_left(8) ^ u64::from(*byte));
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

#[derive(Default)]
pub(super) struct ReadSets {
    hasher: RandomState,
    entries: Entries,
}

impl ReadSets {
    /// Registers reads that are unchanged now.
    pub(super) fn register<'a>(
        &mut self,
        (epoch, since): (u64, Version),
        keys: impl Iterator<Item = &'a Key>,
        searches: &[CollectionSearch],
    ) -> ReadSet {
        let collections = searches.iter().map(|search| self.hash_of(&search.scope, &search.collection));
        let mut hashes: Vec<u64> = keys.map(|key| self.hasher.hash_one(key)).chain(collections).collect();
        hashes.sort_unstable();
        hashes.dedup();
        for hash in &hashes {
            self.entries.entry(*hash).or_insert(Entry { sets: 0, written: 0 }).sets += 1;
        }
        ReadSet { epoch, since, hashes: hashes.into() }
    }

    pub(super) fn remove(&mut self, epoch: u64, set: &ReadSet) {
        if set.epoch != epoch {
            return;
        }
        for hash in &set.hashes {
            if let Some(entry) = self.entries.get_mut(hash) {
                entry.sets -= 1;
                if entry.sets == 0 {
                    self.entries.remove(hash);
                }
            }
        }
    }

    pub(super) fn are_unchanged(&self, epoch: u64, set: &ReadSet) -> bool {
        let is_unchanged = |hash| self.entries.get(hash).is_some_and(|entry| entry.written <= set.since);
        set.epoch == epoch && set.hashes.iter().all(is_unchanged)
    }

    /// Records an accepted write.
    pub(super) fn note_write(&mut self, key: &Key, version: Version) {
        if self.entries.is_empty() {
            return;
        }
        self.note(self.hasher.hash_one(key), version);
        if let Space::Record(collection) = &key.space {
            self.note(self.hash_of(&key.scope, collection), version);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Removes all sets, because their epoch has ended. The returned entries must be dropped after the lock is
    /// released.
    pub(super) fn clear(&mut self) -> Entries {
        std::mem::take(&mut self.entries)
    }

    fn note(&mut self, hash: u64, version: Version) {
        if let Some(entry) = self.entries.get_mut(&hash) {
            entry.written = version;
        }
    }

    fn hash_of(&self, scope: &Scope, collection: &Arc<str>) -> u64 {
        self.hasher.hash_one((scope, collection))
    }
}
