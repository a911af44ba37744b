//! Caches answers of read-only calls until data that they read is written.
//!
//! A call is a function of its request and of what it reads. If the guest states that its answer depends on nothing
//! else (`answers.repeatable`), an equal request gets the same answer without a run, until data that the call read is
//! written. `commit::overlay::read_sets` decides whether the data is unchanged. Invariants: an answer belongs to one
//! generation and one principal. It is returned only if no accepted write has changed the data that it depends on. The
//! bytes of all answers are bounded.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use indexmap::IndexMap;
use parking_lot::Mutex;

use crate::{
    commit::committer::RegisteredReads,
    limits::{ANSWER_CACHE_BYTES_MAX, ANSWER_CACHE_ENTRY_BYTES, CACHED_ANSWER_BYTES_MAX},
    plugin::exchange::{Admitted, Answer, Content},
};

/// All parts of a request that its answer may depend on.
pub type RequestKey = Arc<[u8]>;

struct Entry {
    answer: Answer,
    reads: RegisteredReads,
    bytes: usize,
    /// True if the answer was returned since the clock hand last passed.
    touched: AtomicBool,
}

#[derive(Default)]
struct Entries {
    by_request: IndexMap<RequestKey, Arc<Entry>>,
    bytes: usize,
    hand: usize,
}

/// The answers of all plugins and tenants.
#[derive(Default)]
pub struct AnswerCache {
    entries: Mutex<Entries>,
}

impl AnswerCache {
    /// Returns the answer to an equal request, if the data that its call read is unchanged.
    pub fn find(&self, key: &RequestKey) -> Option<Answer> {
        let entry = self.entries.lock().by_request.get(key).cloned()?;
        // Takes the committer's lock, so the lock of the cache must not be held.
        if entry.reads.are_unchanged() {
            entry.touched.store(true, Ordering::Relaxed);
            return Some(entry.answer.clone());
        }
        let removed = self.entries.lock().remove(key, &entry);
        drop(removed);
        None
    }

    /// Caches an answer whose reads are registered, unless it is too large.
    pub fn insert(&self, key: RequestKey, answer: &Answer, reads: RegisteredReads) {
        let answer_bytes = answer.charged_bytes();
        if answer_bytes > CACHED_ANSWER_BYTES_MAX {
            return;
        }
        let media_type = answer.media_type.as_ref().map_or(0, String::len);
        let bytes = key.len() + answer_bytes as usize + media_type + reads.bytes() + ANSWER_CACHE_ENTRY_BYTES;
        let entry = Entry { answer: answer.clone(), reads, bytes, touched: AtomicBool::new(false) };
        let removed = self.entries.lock().insert(key, Arc::new(entry));
        // Freed after the lock is released.
        drop(removed);
    }

    #[cfg(test)]
    fn bytes(&self) -> usize {
        self.entries.lock().bytes
    }
}

impl Entries {
    /// Removes this entry, unless another one has replaced it.
    fn remove(&mut self, key: &RequestKey, entry: &Arc<Entry>) -> Option<Arc<Entry>> {
        let is_current = self.by_request.get(key).is_some_and(|found| Arc::ptr_eq(found, entry));
        let removed = is_current.then(|| self.by_request.swap_remove(key)).flatten()?;
        self.bytes -= removed.bytes;
        Some(removed)
    }

    /// Inserts an entry and returns the entries that were evicted or replaced.
    fn insert(&mut self, key: RequestKey, entry: Arc<Entry>) -> Vec<Arc<Entry>> {
        self.bytes += entry.bytes;
        let mut removed: Vec<Arc<Entry>> = self.by_request.insert(key, entry).into_iter().collect();
        self.bytes -= removed.iter().map(|entry| entry.bytes).sum::<usize>();
        while self.bytes > ANSWER_CACHE_BYTES_MAX {
            let Some(evicted) = self.step() else { break };
            removed.extend(evicted);
        }
        removed
    }

    /// Moves the clock hand by one entry, and evicts the entry if it was not returned since the hand passed. Returns
    /// `None` if there is no entry.
    fn step(&mut self) -> Option<Option<Arc<Entry>>> {
        if self.hand >= self.by_request.len() {
            self.hand = 0;
        }
        let (_, entry) = self.by_request.get_index(self.hand)?;
        if entry.touched.swap(false, Ordering::Relaxed) {
            self.hand += 1;
            return Some(None);
        }
        let (_, entry) = self.by_request.swap_remove_index(self.hand)?;
        self.bytes -= entry.bytes;
        Some(Some(entry))
    }
}

/// Returns the cache key of a request. Returns `None` if its answer must not be cached: the route writes, the request
/// has a body, or its caller has no tenant.
pub fn key_of<G>(admitted: &Admitted<G>) -> Option<RequestKey> {
    let principal = &admitted.principal;
    if admitted.route.writes() || admitted.content != Content::Empty || principal.tenant.is_empty() {
        return None;
    }
    let mut key = Vec::with_capacity(512);
    key.extend_from_slice(&admitted.mounted.number.to_be_bytes());
    let parts = [
        &*admitted.route.declared.operation,
        admitted.method.as_str(),
        &admitted.path,
        &principal.tenant,
        principal.environment,
        principal.kind.name(),
        &principal.subject,
    ];
    parts.iter().for_each(|part| push(&mut key, part));
    push_count(&mut key, principal.scopes.len());
    principal.scopes.iter().for_each(|scope| push(&mut key, scope));
    push_pairs(&mut key, &principal.attributes);
    [&admitted.parameters, &admitted.query, &admitted.headers, &admitted.context]
        .iter()
        .for_each(|pairs| push_pairs(&mut key, pairs));
    Some(key.into())
}

/// Appends a part after its length, so that no two requests have the same key.
fn push(key: &mut Vec<u8>, part: &str) {
    push_count(key, part.len());
    key.extend_from_slice(part.as_bytes());
}

fn push_count(key: &mut Vec<u8>, count: usize) {
    key.extend_from_slice(&(count as u64).to_be_bytes());
}

fn push_pairs<S: AsRef<str>>(key: &mut Vec<u8>, pairs: &[(S, S)]) {
    push_count(key, pairs.len());
    for (name, value) in pairs {
        push(key, name.as_ref());
        push(key, value.as_ref());
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::commit::testing::{Bench, increment};

    fn answer(bytes: usize) -> Answer {
        Answer { status: 200, headers: Vec::new(), media_type: None, body: Bytes::from(vec![b'x'; bytes]) }
    }

    fn key(name: usize) -> RequestKey {
        name.to_be_bytes().as_slice().into()
    }

    /// Returns registered reads of the record "a".
    async fn reads(bench: &Bench) -> RegisteredReads {
        let mut draft = bench.begin();
        draft.get("things", "a").await.unwrap();
        bench.committer.register_reads(draft.into_changes(None)).await.unwrap().unwrap()
    }

    #[tokio::test]
    async fn answer_is_returned_until_its_reads_are_written() {
        let (bench, cache) = (Bench::open().await, AnswerCache::default());
        cache.insert(key(1), &answer(10), reads(&bench).await);
        assert_eq!(cache.find(&key(1)), Some(answer(10)));
        assert_eq!(cache.find(&key(2)), None);
        bench.run(async |draft| increment(draft, "a").await).await.unwrap();
        assert_eq!(cache.find(&key(1)), None);
        assert_eq!(cache.bytes(), 0, "an outdated answer is dropped");
    }

    #[tokio::test]
    async fn bytes_of_answers_are_bounded_and_used_answers_stay() {
        let (bench, cache) = (Bench::open().await, AnswerCache::default());
        let largest = usize::try_from(CACHED_ANSWER_BYTES_MAX).unwrap();
        let fitting = ANSWER_CACHE_BYTES_MAX / largest;
        for name in 0..fitting * 2 {
            cache.insert(key(name), &answer(largest), reads(&bench).await);
            assert!(cache.find(&key(0)).is_some(), "it is requested all the time: {name}");
        }
        assert!(cache.bytes() <= ANSWER_CACHE_BYTES_MAX, "{}", cache.bytes());
        assert_eq!(cache.find(&key(1)), None);
    }

    #[tokio::test]
    async fn large_answer_is_not_cached() {
        let (bench, cache) = (Bench::open().await, AnswerCache::default());
        let large = usize::try_from(CACHED_ANSWER_BYTES_MAX).unwrap() + 1;
        cache.insert(key(1), &answer(large), reads(&bench).await);
        assert_eq!((cache.find(&key(1)), cache.bytes()), (None, 0));
    }

    #[test]
    fn key_separates_its_parts() {
        let keyed = |parts: &[&str]| {
            let mut key = Vec::new();
            parts.iter().for_each(|part| push(&mut key, part));
            key
        };
        assert_ne!(keyed(&["ab", "c"]), keyed(&["a", "bc"]));
        assert_ne!(keyed(&["a", ""]), keyed(&["a"]));
    }
}
