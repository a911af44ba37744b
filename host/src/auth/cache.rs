//! Keys that were looked up a moment ago, and hashes that were found to be no key.
//!
//! Bounded, and short-lived: another process on the same database may revoke a key, so nothing is believed longer than
//! `KEY_CACHE_MS`. What this process revokes is forgotten at once. The two kinds have rooms of their own, so that a
//! flood of wrong keys never pushes out the right ones.

use std::{collections::HashMap, sync::Arc};

use parking_lot::RwLock;

use super::keys::KnownKey;
use crate::clock::Timestamp;
use crate::limits::{KEY_CACHE_ENTRIES, KEY_CACHE_MS};

#[derive(Default)]
pub(super) struct Cache {
    rooms: RwLock<Rooms>,
}

#[derive(Default)]
struct Rooms {
    known: HashMap<[u8; 32], (Timestamp, Arc<KnownKey>)>,
    unknown: HashMap<[u8; 32], Timestamp>,
    /// Counts what was forgotten, so that a look-up that began before cannot bring it back.
    forgotten: u64,
}

/// When a look-up began; see [`Cache::keep`].
pub(super) struct Began(u64);

impl Cache {
    /// `Some(None)`: known not to exist.
    pub(super) fn find(&self, hash: &[u8; 32], now: Timestamp) -> Option<Option<Arc<KnownKey>>> {
        let rooms = self.rooms.read();
        if let Some((filled_at, key)) = rooms.known.get(hash)
            && is_fresh(*filled_at, now)
        {
            return Some(Some(Arc::clone(key)));
        }
        rooms.unknown.get(hash).filter(|filled_at| is_fresh(**filled_at, now)).map(|_| None)
    }

    pub(super) fn begin(&self) -> Began {
        Began(self.rooms.read().forgotten)
    }

    /// Keeps what a look-up found, unless something was forgotten since it began.
    pub(super) fn keep(&self, began: &Began, hash: [u8; 32], found: Option<Arc<KnownKey>>, now: Timestamp) {
        let mut rooms = self.rooms.write();
        if rooms.forgotten != began.0 {
            return;
        }
        match found {
            Some(key) => {
                make_room(&mut rooms.known, |(filled_at, _)| is_fresh(*filled_at, now));
                rooms.unknown.remove(&hash);
                rooms.known.insert(hash, (now, key));
            }
            None => {
                make_room(&mut rooms.unknown, |filled_at| is_fresh(*filled_at, now));
                rooms.known.remove(&hash);
                rooms.unknown.insert(hash, now);
            }
        }
    }

    pub(super) fn forget(&self, hash: &[u8; 32]) {
        let mut rooms = self.rooms.write();
        rooms.forgotten += 1;
        rooms.known.remove(hash);
        rooms.unknown.remove(hash);
    }

    pub(super) fn forget_all(&self) {
        let mut rooms = self.rooms.write();
        rooms.forgotten += 1;
        rooms.known.clear();
        rooms.unknown.clear();
    }
}

/// A clock that was set back makes an entry stale, not eternal.
pub(super) fn is_fresh(filled_at: Timestamp, now: Timestamp) -> bool {
    now.checked_sub(filled_at).is_some_and(|age_ms| age_ms < KEY_CACHE_MS)
}

fn make_room<T>(room: &mut HashMap<[u8; 32], T>, is_fresh: impl Fn(&T) -> bool) {
    if room.len() >= KEY_CACHE_ENTRIES {
        room.retain(|_, entry| is_fresh(entry));
    }
    if room.len() >= KEY_CACHE_ENTRIES {
        room.clear();
    }
}
