//! What was accepted since the oldest running call began, durable or not, and a cache of older durable entries.
//!
//! The one place that assumes that this process alone decides on its database. Never asks the database, never waits;
//! lives under the committer's lock, so everything here is short.
//!
//! Invariants:
//! - Every write that was accepted after the oldest running call began is here. So "no entry" means "not written since",
//!   and a call may decide without the database; and a value loaded by a call may fill a gap, but never replaces an entry.
//! - What is not durable is here.
//! - Only eviction takes entries away, and only such as are durable and not newer than the start of every running call.
//!   The other entries are *pinned*. Their bytes are counted exactly and have a limit of their own.
//! - A new epoch begins empty. Calls of an older one are run again, and fill nothing.

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
pub use running::Began;
use running::Running;

/// What stands at a key.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    Absent,
    Record(Record),
    /// The id of the record that holds the slot of a unique index.
    Slot(Arc<str>),
    /// A guard that was bumped, a transfer that was posted, an account that is external.
    Mark,
    Answer {
        fingerprint: [u8; 32],
        sealed: Arc<[u8]>,
    },
    Balance(I256),
}

impl Content {
    pub fn bytes(&self) -> usize {
        match self {
            Content::Record(record) => record.body.len(),
            Content::Answer { sealed, .. } => sealed.len(),
            Content::Slot(owner) => owner.len(),
            Content::Absent | Content::Mark | Content::Balance(_) => 0,
        }
    }
}

/// What a look found. `version` is 0 where the key is absent.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    pub version: Version,
    pub content: Content,
    /// What must be durable before an answer that rests on this goes out; 0 where it is already.
    pub waits_for: Version,
}

struct Entry {
    content: Content,
    version: Version,
    /// The change set that wrote it (its version), or that version of the durable row that it was loaded from.
    accepted: Version,
    bytes: usize,
    /// Looked at since the clock hand last passed.
    touched: bool,
}

/// Who may write the reserved keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnId(pub u64);

struct Reservation {
    turn: TurnId,
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
    /// Bytes of pinned entries. Above this, the oldest running calls are outdated: they run again.
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
    /// The last write to each collection, for `find`; entries that are durable are dropped now and then.
    collections: HashMap<(Scope, Arc<str>), Version>,
    /// The last write to a collection that has no entry is of this version at most.
    collections_floor: Version,
    read_sets: ReadSets,
    /// At most one for each scope.
    reserved: HashMap<Scope, Reservation>,
}

impl Overlay {
    /// `latest`: the highest version in the database.
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

    pub fn begin(&mut self) -> Began {
        self.running.begin(self.epoch, self.latest)
    }

    pub fn end(&mut self, began: &Began) {
        self.running.end(began);
    }

    /// Whether everything that was accepted since the call began is still known.
    pub fn is_current(&self, began: &Began) -> bool {
        began.epoch == self.epoch && !self.running.is_outdated(began)
    }

    pub fn look(&mut self, key: &Key) -> Option<Seen> {
        let durable = self.durable;
        let entry = self.entries.get_mut(key)?;
        entry.touched = true;
        let waits_for = if entry.accepted > durable { entry.accepted } else { 0 };
        Some(Seen { version: entry.version, content: entry.content.clone(), waits_for })
    }

    /// The version that stands at the key, 0 for absent; `None`: not written since the oldest running call began.
    pub fn version(&self, key: &Key) -> Option<Version> {
        self.entries.get(key).map(|entry| entry.version)
    }

    pub fn balance(&self, key: &Key) -> Option<I256> {
        match self.entries.get(key)?.content {
            Content::Balance(amount) => Some(amount),
            _ => None,
        }
    }

    /// Keeps what a call loaded from the database, unless something newer stands there already, and says what stands.
    /// `version` is 0 for absent.
    pub fn fill(&mut self, began: &Began, key: &Key, version: Version, content: Content) -> (Seen, Garbage) {
        if !self.is_current(began) {
            return (Seen { version, content, waits_for: 0 }, Garbage::default());
        }
        if let Some(seen) = self.look(key) {
            return (seen, Garbage::default());
        }
        // A version that somebody else invented must not keep the entry, or anybody, waiting.
        let accepted = version.min(self.durable);
        self.put(key.clone(), version, accepted, content.clone());
        (Seen { version, content, waits_for: 0 }, self.evict(1))
    }

    /// Takes in what `decide` accepted and gives it its version.
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
            let stands = if content == Content::Absent { 0 } else { version };
            self.put(key, stands, version, content);
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

    /// Moves the clock hand a few steps for each entry that came in, so that no call pays for all. The further the cache
    /// is above its limit, the more steps: neither pinned nor touched entries let it grow without a bound.
    fn evict(&mut self, came_in: usize) -> Garbage {
        let mut garbage = Garbage::default();
        if self.bytes <= self.limits.cache_bytes_max {
            return garbage;
        }
        self.unpin();
        let Some(excess) = self.excess() else { return garbage };
        let keep_after = self.keep_after();
        let steps = came_in.saturating_mul(2) + OVERLAY_EVICT_STEPS + excess / OVERLAY_EVICT_BYTES_PER_STEP;
        for _ in 0..steps {
            if self.excess().is_none() {
                break;
            }
            self.step(keep_after, &mut garbage);
        }
        garbage
    }

    /// Bytes by which the entries that are not pinned exceed their limit.
    fn excess(&self) -> Option<usize> {
        let cached = self.bytes.saturating_sub(self.pinned.bytes());
        cached.checked_sub(self.limits.cache_bytes_max).filter(|excess| *excess > 0)
    }

    /// Entries that were accepted after this version are pinned.
    fn keep_after(&self) -> Version {
        self.durable.min(self.running.oldest().unwrap_or(Version::MAX))
    }

    /// Counts what is pinned now. Where that exceeds its limit, outdates the oldest calls until half of the limit is free.
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

    /// Everything up to `version` is on disk.
    pub fn settle(&mut self, version: Version) {
        self.durable = self.durable.max(version);
        self.unpin();
        if self.collections.len() > crate::limits::OVERLAY_COLLECTIONS_MAX {
            let durable = self.durable;
            self.collections.retain(|_, written| *written > durable);
            self.collections_floor = durable;
        }
    }

    /// Forgets everything, accepted or cached. What is durable is in the database; the rest is run again.
    pub fn begin_epoch(&mut self) -> Garbage {
        self.epoch += 1;
        self.durable = self.latest;
        // Calls of older epochs pin nothing: they run again.
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

    /// The newest version that was given to anybody.
    pub fn latest(&self) -> Version {
        self.latest
    }

    pub fn durable(&self) -> Version {
        self.durable
    }

    /// What a `find` in this collection must wait for; 0: nothing.
    pub fn last_write(&self, scope: &Scope, collection: &Arc<str>) -> Version {
        let written = self.collections.get(&(scope.clone(), collection.clone())).copied().unwrap_or(0);
        if written > self.durable { written } else { 0 }
    }

    /// Registers what a call read, so that [`Overlay::are_unchanged`] can check it after the call has ended. The call must still be
    /// running, and what it read must be durable. Returns `None` if a read has changed or may have changed, or if there are more
    /// than [`CACHED_ANSWER_READS_MAX`] reads.
    pub fn register(&mut self, began: &Began, reads: &[Read], searches: &[CollectionSearch]) -> Option<ReadSet> {
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

    /// Whether everything that the set names stands as it was read.
    pub fn are_unchanged(&self, set: &ReadSet) -> bool {
        self.read_sets.are_unchanged(self.epoch, set)
    }

    pub fn unregister(&mut self, set: &ReadSet) {
        self.read_sets.remove(self.epoch, set);
    }

    /// From now on only `turn` may write these keys, all of one scope. Adds to what it reserved before.
    pub fn reserve(&mut self, turn: TurnId, keys: impl IntoIterator<Item = Key>) {
        for key in keys {
            let reservation = || Reservation { turn, keys: HashSet::new() };
            self.reserved.entry(key.scope.clone()).or_insert_with(reservation).keys.insert(key);
        }
    }

    /// Gives back what was reserved, to be dropped outside of the lock.
    pub fn release(&mut self, turn: TurnId) -> Option<HashSet<Key>> {
        let scope = self.reserved.iter().find(|(_, held)| held.turn == turn).map(|(scope, _)| scope.clone())?;
        self.reserved.remove(&scope).map(|reservation| reservation.keys)
    }

    /// Whether somebody else's turn keeps this key from being written.
    pub fn is_reserved(&self, key: &Key, turn: Option<TurnId>) -> bool {
        // Most of the time nobody has a turn: then this costs nothing.
        !self.reserved.is_empty()
            && self.reserved.get(&key.scope).is_some_and(|held| Some(held.turn) != turn && held.keys.contains(key))
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Bytes of entries that cannot be evicted now: not durable yet, or accepted since the oldest running call began.
    pub fn pinned_bytes(&self) -> usize {
        self.pinned.total()
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether no read and no cached answer rests on it: then a foreign write makes nothing outdated.
    pub fn serves_nothing(&self) -> bool {
        self.is_empty() && self.read_sets.is_empty()
    }
}
