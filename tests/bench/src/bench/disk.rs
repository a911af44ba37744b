//! Rejects file systems in memory, because a benchmark of durable writes is meaningless there.

use std::path::Path;

use anyhow::bail;
use rustix::fs::statfs;

/// From linux/magic.h.
const TMPFS: i64 = 0x0102_1994;
const RAMFS: i64 = 0x8584_58f6;

/// Creates the folder if it is missing, and fails if it is on a file system in memory.
pub fn reject_memory(folder: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder)?;
    let kind = statfs(folder)?.f_type;
    if kind == TMPFS || kind == RAMFS {
        bail!(
            "{} is on a file system in memory, where writes are not durable: choose a folder on a disk with --folder",
            folder.display()
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_system_in_memory_is_rejected() {
        let shared_memory = Path::new("/dev/shm");
        let is_memory = statfs(shared_memory).is_ok_and(|found| found.f_type == TMPFS);
        assert_eq!(reject_memory(&shared_memory.join("tenon-bench-probe")).is_err(), is_memory);
        let _ = std::fs::remove_dir(shared_memory.join("tenon-bench-probe"));
    }
}
