//! Cache of key lookups: known keys, and hashes that belong to no key.
//!
//! Bounded and short-lived: another process on the same database may revoke a key, so no entry is used for longer than
//! `KEY_CACHE_MS`. Revocations by this process evict their entry at once. Known and unknown hashes have separate maps,
//! so that a flood of wrong keys never evicts valid ones.

use std::{collections::HashMap, sync::Arc};

use parking_lot::RwLock;

use super::known_key::KnownKey;
use crate::clock::Timestamp;
use crate::limits::{KEY_CACHE_ENTRIES, KEY_CACHE_MS};

#[derive(Default)]
pub(super) struct Cache {
    entries: RwLock<Entries>,
}

#[derive(Default)]
struct Entries {
    known: HashMap<[u8; 32], (Timestamp, Arc<KnownKey>)>,
    unknown: HashMap<[u8; 32], Timestamp>,
    /// Counts evictions, so that a lookup that began before an eviction cannot insert a stale result.
    evictions: u64,
}

/// The eviction count when a lookup began; see [`Cache::insert`].
pub(super) struct LookupStart(u64);

impl Cache {
    /// Returns the cached result of a lookup. `Some(None)` means that the key is known not to exist.
    pub(super) fn find(&self, hash: &[u8; 32], now: Timestamp) -> Option<Option<Arc<KnownKey>>> {
        let entries = self.entries.read();
        if let Some((filled_at, key)) = entries.known.get(hash)
            && is_fresh(*filled_at, now)
        {
            return Some(Some(Arc::clone(key)));
        }
        entries.unknown.get(hash).filter(|filled_at| is_fresh(**filled_at, now)).map(|_| None)
    }

    pub(super) fn begin(&self) -> LookupStart {
        LookupStart(self.entries.read().evictions)
    }

    /// Inserts the result of a lookup, unless an entry was evicted since the lookup began.
    pub(super) fn insert(&self, start: &LookupStart, hash: [u8; 32], found: Option<Arc<KnownKey>>, now: Timestamp) {
        let mut entries = self.entries.write();
        if entries.evictions != start.0 {
            return;
        }
        match found {
            Some(key) => {
                make_room(&mut entries.known, |(filled_at, _)| is_fresh(*filled_at, now));
                entries.unknown.remove(&hash);
                entries.known.insert(hash, (now, key));
            }
            None => {
                make_room(&mut entries.unknown, |filled_at| is_fresh(*filled_at, now));
                entries.known.remove(&hash);
                entries.unknown.insert(hash, now);
            }
        }
    }

    pub(super) fn evict(&self, hash: &[u8; 32]) {
        let mut entries = self.entries.write();
        entries.evictions += 1;
        entries.known.remove(hash);
        entries.unknown.remove(hash);
    }

    pub(super) fn clear(&self) {
        let mut entries = self.entries.write();
        entries.evictions += 1;
        entries.known.clear();
        entries.unknown.clear();
    }
}

/// Returns true if an entry may still be used. An entry that is newer than `now`, because the clock was set back, is
/// stale.
pub(super) fn is_fresh(filled_at: Timestamp, now: Timestamp) -> bool {
    now.checked_sub(filled_at).is_some_and(|age_ms| age_ms < KEY_CACHE_MS)
}

fn make_room<T>(map: &mut HashMap<[u8; 32], T>, is_fresh: impl Fn(&T) -> bool) {
    if map.len() >= KEY_CACHE_ENTRIES {
        map.retain(|_, entry| is_fresh(entry));
    }
    if map.len() >= KEY_CACHE_ENTRIES {
        map.clear();
    }
}
