//! Machine code of single functions, stored from one compilation of a plugin to the next.
//!
//! Cranelift names each function by a digest of all inputs of its code. After a change of one rule, the compiler
//! compiles a few functions and reuses the others. The file of a plugin contains the functions of its component that
//! was compiled last. Invariant: a file is used only if the digest at its start matches the rest. Only the user of the
//! host can enter the folder, because code from it is executed.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
    io::{self, BufWriter, Write},
    ops::Range,
    path::Path,
    sync::atomic::{AtomicUsize, Ordering},
};

use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use wasmtime::CacheStore;

use super::child::create;
use crate::{limits::FUNCTION_CACHE_BYTES_MAX, regular_file};

const DIGEST_BYTES: usize = 32;

type Key = Box<[u8]>;

#[derive(Debug, Default)]
pub struct FunctionCache {
    content: Vec<u8>,
    /// Ranges of the functions of an earlier compilation in `content`.
    earlier: HashMap<Key, Range<usize>>,
    /// Keys of `earlier` that this compilation needed as well.
    reused: Mutex<HashSet<Key>>,
    added: Mutex<HashMap<Key, Vec<u8>>>,
    added_bytes: AtomicUsize,
    compiled: AtomicUsize,
}

impl FunctionCache {
    /// Reads a file. Returns an empty cache if it is missing, damaged or too large.
    pub fn read(path: &Path) -> FunctionCache {
        let content = regular_file::read(path, 2 * FUNCTION_CACHE_BYTES_MAX).unwrap_or_default();
        let whole =
            content.split_at_checked(DIGEST_BYTES).is_some_and(|(digest, rest)| *Sha256::digest(rest) == *digest);
        let Some(earlier) = whole.then(|| index(&content)).flatten() else { return FunctionCache::default() };
        FunctionCache { content, earlier, ..FunctionCache::default() }
    }

    /// Returns the number of functions that were reused, and of those that were compiled.
    pub fn counts(&self) -> (u64, u64) {
        (self.reused.lock().len() as u64, self.compiled.load(Ordering::Relaxed) as u64)
    }

    /// Writes the functions that this compilation needed.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let (reused, added) = (self.reused.lock(), self.added.lock());
        let old = reused.iter().filter_map(|key| Some((key, self.content.get(self.earlier.get(key)?.clone())?)));
        let new = added.iter().map(|(key, code)| (key, code.as_slice()));
        let mut digest = Sha256::new();
        let mut parts = vec![];
        for (key, code) in old.chain(new) {
            parts.extend([
                length(key)?.to_vec().into(),
                Cow::Borrowed(&**key),
                length(code)?.to_vec().into(),
                code.into(),
            ]);
        }
        parts.iter().for_each(|part: &Cow<'_, [u8]>| digest.update(part));
        let mut file = BufWriter::new(create(path)?);
        file.write_all(&digest.finalize())?;
        parts.iter().try_for_each(|part| file.write_all(part))?;
        file.flush()
    }
}

impl CacheStore for FunctionCache {
    fn get(&self, key: &[u8]) -> Option<Cow<'_, [u8]>> {
        let (key, range) = self.earlier.get_key_value(key)?;
        let code = self.content.get(range.clone())?;
        self.reused.lock().insert(key.clone());
        Some(Cow::Borrowed(code))
    }

    fn insert(&self, key: &[u8], code: Vec<u8>) -> bool {
        self.compiled.fetch_add(1, Ordering::Relaxed);
        let bytes = self.added_bytes.fetch_add(key.len() + code.len(), Ordering::Relaxed);
        let fits = bytes.saturating_add(self.content.len()) < FUNCTION_CACHE_BYTES_MAX;
        if fits {
            self.added.lock().insert(key.into(), code);
        }
        fits
    }
}

/// Parses length, key, length, code, and so on. Returns `None` if the lengths do not lead to the end.
fn index(content: &[u8]) -> Option<HashMap<Key, Range<usize>>> {
    let mut found = HashMap::new();
    let mut at = DIGEST_BYTES;
    while at < content.len() {
        let key = part(content, at)?;
        let code = part(content, key.end)?;
        at = code.end;
        found.insert(content.get(key)?.into(), code);
    }
    Some(found)
}

fn part(content: &[u8], at: usize) -> Option<Range<usize>> {
    let from = at.checked_add(size_of::<u32>())?;
    let length = u32::from_le_bytes(content.get(at..from)?.try_into().ok()?);
    let to = from.checked_add(length as usize)?;
    (to <= content.len()).then_some(from..to)
}

fn length(part: &[u8]) -> io::Result<[u8; 4]> {
    u32::try_from(part.len()).map(u32::to_le_bytes).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn write(cache: &FunctionCache) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("functions");
        cache.write(&path).unwrap();
        (folder, path)
    }

    fn two_functions() -> FunctionCache {
        let cache = FunctionCache::default();
        assert!(cache.insert(b"first", b"code of the first".to_vec()));
        assert!(cache.insert(b"second", Vec::new()));
        cache
    }

    #[test]
    fn functions_are_read_back_from_the_file() {
        let (_folder, path) = write(&two_functions());
        let cache = FunctionCache::read(&path);
        assert_eq!(cache.get(b"first").as_deref(), Some(&b"code of the first"[..]));
        assert_eq!(cache.get(b"second").as_deref(), Some(&b""[..]));
        assert_eq!(cache.get(b"third"), None);
        assert_eq!(cache.counts(), (2, 0));
    }

    #[test]
    fn functions_that_a_compilation_did_not_need_are_left_out() {
        let (_folder, path) = write(&two_functions());
        let cache = FunctionCache::read(&path);
        cache.get(b"second").unwrap();
        cache.insert(b"third", b"3".to_vec());
        let (_folder, path) = write(&cache);
        let cache = FunctionCache::read(&path);
        assert_eq!(cache.get(b"first"), None);
        assert_eq!(cache.get(b"second").as_deref(), Some(&b""[..]));
        assert_eq!(cache.get(b"third").as_deref(), Some(&b"3"[..]));
    }

    #[test]
    fn damaged_file_is_not_used() {
        let (_folder, path) = write(&two_functions());
        let whole = fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            fs::write(&path, damaged).unwrap();
            assert!(FunctionCache::read(&path).earlier.is_empty(), "byte {at}");
        }
        fs::write(&path, &whole[..whole.len() - 1]).unwrap();
        assert!(FunctionCache::read(&path).earlier.is_empty());
    }

    #[test]
    fn fifo_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("functions");
        regular_file::make_fifo(&path);
        assert!(FunctionCache::read(&path).earlier.is_empty());
    }

    #[test]
    fn functions_beyond_the_bound_are_not_stored() {
        let cache = FunctionCache::default();
        assert!(cache.insert(b"first", vec![0; FUNCTION_CACHE_BYTES_MAX]));
        assert!(!cache.insert(b"second", vec![0]));
    }
}
