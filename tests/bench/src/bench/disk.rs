//! A benchmark of durable writes on a file system that is memory would be a lie: it is refused.

use std::path::Path;

use anyhow::bail;
use rustix::fs::statfs;

/// From linux/magic.h.
const TMPFS: i64 = 0x0102_1994;
const RAMFS: i64 = 0x8584_58f6;

/// Makes the folder where it is missing, and asks what it lies on.
pub fn refuse_memory(folder: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder)?;
    let kind = statfs(folder)?.f_type;
    if kind == TMPFS || kind == RAMFS {
        bail!(
            "{} lies on a file system that is memory, where nothing is ever durable; name a folder on a disk with --folder",
            folder.display()
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_refused_where_there_is_some() {
        let shared_memory = Path::new("/dev/shm");
        let is_memory = statfs(shared_memory).is_ok_and(|found| found.f_type == TMPFS);
        assert_eq!(refuse_memory(&shared_memory.join("tenon-bench-probe")).is_err(), is_memory);
        let _ = std::fs::remove_dir(shared_memory.join("tenon-bench-probe"));
    }
}
