//! How much room is left on the disk of the database.

use super::{Database, DbError};

impl Database {
    /// Bytes that this process may still write there.
    pub fn free_disk_bytes(&self) -> Result<u64, DbError> {
        let state = rustix::fs::statvfs(self.path()).map_err(std::io::Error::from)?;
        Ok(state.f_bavail.saturating_mul(state.f_frsize))
    }
}

#[cfg(test)]
mod tests {
    use crate::db::testing::TestFile;

    #[tokio::test]
    async fn a_disk_that_tests_run_on_has_some_room_left() {
        let file = TestFile::open().await;
        assert!(file.db.free_disk_bytes().unwrap() > 0);
    }
}
