//! All writes that were accepted since the oldest running call began, durable or not, and a cache of older durable
//! entries.
//!
//! The only code that assumes that this process alone decides on its database. Never queries the database and never
//! waits. Accessed under the committer's lock, so every operation is short.
//!
//! Invariants:
//! - Every write that was accepted after the oldest running call began has an entry. Outdated calls do not count as
//!   running. So "no entry" means "not written since", and the committer can decide without the database. A value that
//!   a call loads may fill a gap, but never replaces an entry.
//! - Every write that is not durable has an entry.
//! - Within an epoch, only eviction removes entries: durable ones that are not newer than the start of the oldest
//!   running call. The other entries are *pinned*. Their bytes are counted exactly and have a limit of their own.
//! - A new epoch begins empty. Calls of an older epoch run again, and cannot fill the overlay.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ethnum::I256;
use indexmap::IndexMap;

use crate::changes::change_set::{Key, Read, Record, Space, Version};
use crate::changes::scope::Scope;
use crate::limits::{CACHED_ANSWER_READS_MAX, OVERLAY_ENTRY_BYTES, OVERLAY_EVICT_BYTES_PER_STEP, OVERLAY_EVICT_STEPS};

mod pinned;
mod read_sets;
mod running;
#[cfg(test)]
mod tests;

use pinned::Pinned;
use read_sets::ReadSets;
pub use read_sets::{CollectionSearch, ReadSet};
pub use running::CallStart;
use running::Running;

/// The content of a key.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    Absent,
    Record(Record),
    /// The id of the record that holds the slot of a unique index.
    Slot(Arc<str>),
    /// A guard that was bumped, a transfer that was posted, an account that is external.
    Mark,
    IdempotencyRecord {
        fingerprint: [u8; 32],
        sealed: Arc<[u8]>,
    },
    Balance(I256),
}

impl Content {
    pub fn bytes(&self) -> usize {
        match self {
            Content::Record(record) => record.body.len(),
            Content::IdempotencyRecord { sealed, .. } => sealed.len(),
            Content::Slot(owner) => owner.len(),
            Content::Absent | Content::Mark | Content::Balance(_) => 0,
        }
    }
}

/// The result of a read. `version` is 0 if the key is absent.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadResult {
    pub version: Version,
    pub content: Content,
    /// Version that must be durable before an answer that depends on this read is sent; 0 if it is durable already.
    pub waits_for: Version,
}

struct Entry {
    content: Content,
    version: Version,
    /// Version of the change set that wrote it, or of the durable row that it was loaded from.
    accepted: Version,
    bytes: usize,
    /// Read since the clock hand last passed.
    touched: bool,
}

/// Identifies the reservation of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReservationId(pub u64);

struct ReservedKeys {
    reservation: ReservationId,
    keys: HashSet<Key>,
}

/// Entries that left the overlay. Drop it after the lock is released: freeing bodies is slow.
#[derive(Default)]
#[must_use = "drop it outside of the lock"]
pub struct Garbage {
    evicted: Vec<(Key, Entry)>,
    _epoch: IndexMap<Key, Entry>,
    _read_sets: read_sets::Entries,
}

#[derive(Clone, Copy, Debug)]
pub struct OverlayLimits {
    /// Bytes of entries that are not pinned. Above this, entries are evicted.
    pub cache_bytes_max: usize,
    /// Bytes of pinned entries. Above this, the oldest running calls are outdated and run again.
    pub pinned_bytes_max: usize,
}

pub struct Overlay {
    epoch: u64,
    latest: Version,
    durable: Version,
    entries: IndexMap<Key, Entry>,
    bytes: usize,
    pinned: Pinned,
    limits: OverlayLimits,
    hand: usize,
    running: Running,
    /// The last write to each collection, for `find`. Durable entries are removed from time to time.
    collections: HashMap<(Scope, Arc<str>), Version>,
    /// Upper bound of the last write to a collection without an entry.
    collections_floor: Version,
    read_sets: ReadSets,
    /// At most one for each scope.
    reserved: HashMap<Scope, ReservedKeys>,
}

impl Overlay {
    /// Creates an empty overlay. `latest` is the highest version in the database.
    pub fn new(latest: Version, limits: OverlayLimits) -> Overlay {
        Overlay {
            epoch: 0,
            latest,
            durable: latest,
            entries: IndexMap::new(),
            bytes: 0,
            pinned: Pinned::after(latest),
            limits,
            hand: 0,
            running: Running::default(),
            collections: HashMap::new(),
            collections_floor: latest,
            read_sets: ReadSets::default(),
            reserved: HashMap::new(),
        }
    }

    pub fn begin(&mut self) -> CallStart {
        self.running.begin(self.epoch, self.latest)
    }

    pub fn end(&mut self, began: &CallStart) {
        self.running.end(began);
    }

    /// Returns true if the overlay has all writes that were accepted since the call began.
    pub fn is_current(&self, began: &CallStart) -> bool {
        began.epoch == self.epoch && !self.running.is_outdated(began)
    }

    /// Returns the entry of the key and marks it as read.
    pub fn get(&mut self, key: &Key) -> Option<ReadResult> {
        let durable = self.durable;
        let entry = self.entries.get_mut(key)?;
        entry.touched = true;
        let waits_for = if entry.accepted > durable { entry.accepted } else { 0 };
        Some(ReadResult { version: entry.version, content: entry.content.clone(), waits_for })
    }

    /// Returns the current version of the key, or 0 if it is absent. `None`: not written since the oldest running call
    /// began.
    pub fn version(&self, key: &Key) -> Option<Version> {
        self.entries.get(key).map(|entry| entry.version)
    }

    pub fn balance(&self, key: &Key) -> Option<I256> {
        match self.entries.get(key)?.content {
            Content::Balance(amount) => Some(amount),
            _ => None,
        }
    }

    /// Caches a value that a call loaded from the database, unless the key has an entry already. Returns the current
    /// value. `version` is 0 if the key is absent.
    pub fn fill(&mut self, began: &CallStart, key: &Key, version: Version, content: Content) -> (ReadResult, Garbage) {
        if !self.is_current(began) {
            return (ReadResult { version, content, waits_for: 0 }, Garbage::default());
        }
        if let Some(seen) = self.get(key) {
            return (seen, Garbage::default());
        }
        // A version written by another program must not pin the entry or make a call wait.
        let accepted = version.min(self.durable);
        self.put(key.clone(), version, accepted, content.clone());
        (ReadResult { version, content, waits_for: 0 }, self.evict(1))
    }

    /// Adds the writes of an accepted change set and assigns its version.
    pub fn accept(&mut self, writes: Vec<(Key, Content)>) -> (Version, Garbage) {
        self.latest += 1;
        let version = self.latest;
        self.pinned.begin_version();
        let count = writes.len();
        for (key, mut content) in writes {
            if let Content::Record(record) = &mut content {
                record.version = version;
            }
            if let Space::Record(collection) = &key.space {
                self.collections.insert((key.scope.clone(), collection.clone()), version);
            }
            self.read_sets.note_write(&key, version);
            let stored_version = if content == Content::Absent { 0 } else { version };
            self.put(key, stored_version, version, content);
        }
        (version, self.evict(count))
    }

    fn put(&mut self, key: Key, version: Version, accepted: Version, content: Content) {
        let bytes = OVERLAY_ENTRY_BYTES + key.name.len() + content.bytes();
        self.bytes += bytes;
        self.pinned.add(accepted, bytes);
        let entry = Entry { content, version, accepted, bytes, touched: false };
        if let Some(old) = self.entries.insert(key, entry) {
            self.bytes -= old.bytes;
            self.pinned.remove(old.accepted, old.bytes);
        }
    }

    /// Moves the clock hand a few steps for each added entry, so that no single call pays for the whole eviction. The
    /// number of steps grows with the excess over the limit, so that pinned or recently read entries cannot let the
    /// cache grow without a bound.
    fn evict(&mut self, added: usize) -> Garbage {
        let mut garbage = Garbage::default();
        if self.bytes <= self.limits.cache_bytes_max {
            return garbage;
        }
        self.unpin();
        let Some(excess) = self.excess() else { return garbage };
        let keep_after = self.keep_after();
        let steps = added.saturating_mul(2) + OVERLAY_EVICT_STEPS + excess / OVERLAY_EVICT_BYTES_PER_STEP;
        for _ in 0..steps {
            if self.excess().is_none() {
                break;
            }
            self.step(keep_after, &mut garbage);
        }
        garbage
    }

    /// Returns the bytes by which the entries that are not pinned exceed their limit.
    fn excess(&self) -> Option<usize> {
        let cached = self.bytes.saturating_sub(self.pinned.bytes());
        cached.checked_sub(self.limits.cache_bytes_max).filter(|excess| *excess > 0)
    }

    /// Returns the version after which entries are pinned.
    fn keep_after(&self) -> Version {
        self.durable.min(self.running.oldest().unwrap_or(Version::MAX))
    }

    /// Updates the pinned bytes. If they exceed their limit, outdates the oldest calls until half of the limit is free.
    fn unpin(&mut self) {
        self.pinned.advance(self.keep_after());
        if self.pinned.total() > self.limits.pinned_bytes_max {
            self.running.outdate(self.pinned.floor_for(self.limits.pinned_bytes_max / 2, self.durable));
            self.pinned.advance(self.keep_after());
        }
    }

    fn step(&mut self, keep_after: Version, garbage: &mut Garbage) {
        if self.hand >= self.entries.len() {
            self.hand = 0;
        }
        let Some((_, entry)) = self.entries.get_index_mut(self.hand) else { return };
        if entry.touched || entry.accepted > keep_after {
            entry.touched = false;
            self.hand += 1;
        } else if let Some((key, entry)) = self.entries.swap_remove_index(self.hand) {
            self.bytes -= entry.bytes;
            garbage.evicted.push((key, entry));
        }
    }

    /// Records that everything up to `version` is durable.
    pub fn settle(&mut self, version: Version) {
        self.durable = self.durable.max(version);
        self.unpin();
        if self.collections.len() > crate::limits::OVERLAY_COLLECTIONS_MAX {
            let durable = self.durable;
            self.collections.retain(|_, written| *written > durable);
            self.collections_floor = durable;
        }
    }

    /// Removes all entries, accepted or cached, and begins a new epoch. Durable values are in the database. Running
    /// calls and calls that are not durable run again.
    pub fn begin_epoch(&mut self) -> Garbage {
        self.epoch += 1;
        self.durable = self.latest;
        // Calls of older epochs run again, so they pin nothing.
        self.running.outdate(self.latest);
        self.pinned = Pinned::after(self.latest);
        self.bytes = 0;
        self.hand = 0;
        self.collections.clear();
        self.collections_floor = self.latest;
        let read_sets = self.read_sets.clear();
        Garbage { evicted: Vec::new(), _epoch: std::mem::take(&mut self.entries), _read_sets: read_sets }
    }

    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Returns the newest version that was assigned.
    pub fn latest(&self) -> Version {
        self.latest
    }

    pub fn durable(&self) -> Version {
        self.durable
    }

    /// Returns the version that a search of this collection must wait for; 0 if everything is durable.
    pub fn last_write(&self, scope: &Scope, collection: &Arc<str>) -> Version {
        let written = self.collections.get(&(scope.clone(), collection.clone())).copied().unwrap_or(0);
        if written > self.durable { written } else { 0 }
    }

    /// Registers the reads of a call, so that [`Overlay::are_unchanged`] can check them after the call has ended. The
    /// call must still be running, and the values that it read must be durable. Returns `None` if a read has changed or
    /// may have changed, or if there are more than [`CACHED_ANSWER_READS_MAX`] reads and searches.
    pub fn register(&mut self, began: &CallStart, reads: &[Read], searches: &[CollectionSearch]) -> Option<ReadSet> {
        let is_same = |read: &Read| self.version(&read.key).is_none_or(|version| version == read.seen);
        let is_found_again = |search: &CollectionSearch| {
            let collection = (search.scope.clone(), search.collection.clone());
            self.collections.get(&collection).copied().unwrap_or(self.collections_floor) <= search.since
        };
        let is_unchanged = reads.len() + searches.len() <= CACHED_ANSWER_READS_MAX
            && self.is_current(began)
            && reads.iter().all(is_same)
            && searches.iter().all(is_found_again);
        let now = (self.epoch, self.latest);
        is_unchanged.then(|| self.read_sets.register(now, reads.iter().map(|read| &read.key), searches))
    }

    /// Returns true if no read of the set has changed.
    pub fn are_unchanged(&self, set: &ReadSet) -> bool {
        self.read_sets.are_unchanged(self.epoch, set)
    }

    pub fn unregister(&mut self, set: &ReadSet) {
        self.read_sets.remove(self.epoch, set);
    }

    /// Reserves the keys, which must have one scope, in addition to the keys that the reservation already has. Other
    /// calls cannot write them.
    pub fn reserve(&mut self, reservation: ReservationId, keys: impl IntoIterator<Item = Key>) {
        for key in keys {
            let reserved = || ReservedKeys { reservation, keys: HashSet::new() };
            self.reserved.entry(key.scope.clone()).or_insert_with(reserved).keys.insert(key);
        }
    }

    /// Releases a reservation and returns its keys, to be dropped outside of the lock.
    pub fn release(&mut self, reservation: ReservationId) -> Option<HashSet<Key>> {
        let scope =
            self.reserved.iter().find(|(_, held)| held.reservation == reservation).map(|(scope, _)| scope.clone())?;
        self.reserved.remove(&scope).map(|held| held.keys)
    }

    /// Returns true if another reservation includes the key.
    pub fn is_reserved(&self, key: &Key, reservation: Option<ReservationId>) -> bool {
        // Most of the time there is no reservation, and this costs nothing.
        !self.reserved.is_empty()
            && self
                .reserved
                .get(&key.scope)
                .is_some_and(|held| Some(held.reservation) != reservation && held.keys.contains(key))
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the bytes of entries that cannot be evicted: not durable yet, or accepted since the oldest running call
    /// began.
    pub fn pinned_bytes(&self) -> usize {
        self.pinned.total()
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns true if no read and no cached answer depends on the overlay, so that a foreign write cannot make
    /// anything outdated.
    pub fn serves_nothing(&self) -> bool {
        self.is_empty() && self.read_sets.is_empty()
    }
}
