//! JSON that contains a secret and is wiped when its last reader drops it.
//!
//! The buffer is allocated once with its final size: a buffer that grows would leave copies behind. Copies in the
//! buffers of hyper and of the kernel are not wiped.

use std::io::{self, Write};

use bytes::Bytes;
use serde::Serialize;
use zeroize::Zeroizing;

/// Serialises a value into a buffer that is wiped when dropped.
///
/// # Errors
/// JSON cannot represent the value.
pub fn json_bytes(value: &impl Serialize) -> Result<Bytes, serde_json::Error> {
    let mut length = Length(0);
    serde_json::to_writer(&mut length, value)?;
    let mut text = Zeroizing::new(Vec::with_capacity(length.0));
    serde_json::to_writer(&mut *text, value)?;
    Ok(Bytes::from_owner(text))
}

/// Counts the written bytes.
struct Length(usize);

impl Write for Length {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.saturating_add(bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(all(test, target_os = "linux"))]
pub(crate) mod tests {
    use std::{fs::File, hint::black_box, os::unix::fs::FileExt};

    use parking_lot::Mutex;

    use super::*;
    use crate::secrets::{
        SecretText, new_key_text,
        password::{PasswordOutcome, PasswordWork},
        private_file,
    };

    const MASK: u8 = 0xa5;

    /// Held by each test that searches memory: the buffer of a search contains secrets of other tests.
    pub(crate) static SEARCHING: Mutex<()> = Mutex::new(());

    pub(crate) fn masked(bytes: &[u8]) -> Vec<u8> {
        bytes.iter().map(|byte| byte ^ MASK).collect()
    }

    /// Counts the copies of a secret in the memory of this process. `needle` is masked, so that the search does not
    /// find itself.
    pub(crate) fn count_copies(needle: &[u8]) -> usize {
        let memory = File::open("/proc/self/mem").unwrap();
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let first = needle[0] ^ MASK;
        let mut found = 0;
        let mut chunk = vec![0; 1 << 20];
        for line in maps.lines().filter(|line| line.contains(" rw-p ")) {
            let (from, to) = line.split(' ').next().unwrap().split_once('-').unwrap();
            let (mut at, to) = (u64::from_str_radix(from, 16).unwrap(), u64::from_str_radix(to, 16).unwrap());
            while at < to {
                let Ok(read) = memory.read_at(&mut chunk, at) else { break };
                if read < needle.len() {
                    break;
                }
                for start in memchr::memchr_iter(first, &chunk[..=read - needle.len()]) {
                    let candidate = &chunk[start..start + needle.len()];
                    found += usize::from(candidate.iter().zip(needle).all(|(byte, masked)| byte ^ MASK == *masked));
                }
                at += (read - needle.len() + 1) as u64;
            }
            // A later read of this memory must not find the bytes that were copied here.
            chunk.fill(0);
        }
        found
    }

    #[derive(Serialize)]
    struct Created {
        #[serde(serialize_with = "write")]
        key: SecretText,
    }

    fn write<S: serde::Serializer>(text: &SecretText, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(text.expose())
    }

    #[test]
    fn secrets_leave_no_copy_in_freed_memory() {
        let _alone = SEARCHING.lock();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.token");
        let text = new_key_text().unwrap();
        let needle = masked(text.as_bytes());
        private_file::create(&file, &text).unwrap();
        let answer = json_bytes(&Created { key: SecretText::from(text) }).unwrap();
        assert!(count_copies(&needle) > 0, "the search finds what is there");
        drop(answer);
        assert_eq!(count_copies(&needle), 0, "the key, and the answer that showed it");
        let read = private_file::read(&file).unwrap().unwrap();
        assert!(count_copies(&needle) > 0);
        drop(read);
        assert_eq!(count_copies(&needle), 0, "the file that was read");
    }

    /// Overwrites the part of the stack that earlier calls have used.
    #[inline(never)]
    fn overwrite_stack() {
        black_box(&mut [0_u8; 256 << 10]);
    }

    #[test]
    fn passwords_leave_no_copy_in_freed_memory() {
        let _alone = SEARCHING.lock();
        let text = new_key_text().unwrap();
        let needle = masked(text.as_bytes());
        let work = PasswordWork::verify(text.to_string(), None).unwrap();
        drop(text);
        assert_eq!(work.compute().unwrap(), PasswordOutcome::Verified(false));
        assert!(count_copies(&needle) > 0, "the work holds its password");
        drop(work);
        // BLAKE2b keeps its last block on the stack.
        overwrite_stack();
        assert_eq!(count_copies(&needle), 0);
    }
}
