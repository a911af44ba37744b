//! Replaces a database atomically with a new one that is written beside it.
//!
//! The new database is written to FILE.part. Once it is complete and on disk, it is renamed to FILE.restored, which
//! commits the replacement. The next process that takes the exclusive lock of FILE first finishes the replacement, so a
//! crash in between leaves either the old database or the new one.
//!
//! Invariants:
//! - Every step runs under the lock of FILE.
//! - The log of the old database (FILE-wal) is never left beside the new database, which it would corrupt.
//! - The old database is moved aside (FILE.replaced-1, …) and never deleted.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use sqlx::Connection;

use super::identity::Marker;
use super::lock::FileLock;
use super::options;
use crate::db::files::{beside, marker_path, resolved};
use crate::db::swaps::{self, SwapRow};
use crate::db::{DbError, migrations, tasks};

/// The treatment of a database that already exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExistingDatabase {
    /// It is kept, and the replacement fails.
    Keep,
    /// It is renamed to FILE.replaced-1, -2, ….
    MoveAside,
}

/// A replacement in progress, which holds the lock of the database.
pub struct Replacement {
    path: PathBuf,
    part: PathBuf,
    _lock: FileLock,
}

impl Replacement {
    /// Begins a replacement of the database at `url`. Its folder must exist.
    ///
    /// # Errors
    /// `Precondition` if another process holds the lock, or if a database exists and `old` is `Keep`.
    pub async fn begin(url: &str, old: ExistingDatabase) -> Result<Replacement, DbError> {
        let path = resolved(&options::path_of(url)?);
        check_old(&path, old)?;
        let lock = FileLock::take(&path).await?;
        finish(&path)?;
        check_old(&path, old)?;
        let part = beside(&path, ".part");
        // A killed process may have left its unfinished database.
        clear(&part)?;
        Ok(Replacement { path, part, _lock: lock })
    }

    /// Checks, without side effects, whether an existing database prevents the replacement.
    pub fn check(url: &str, old: ExistingDatabase) -> Result<(), DbError> {
        check_old(&options::path_of(url)?, old)
    }

    /// Returns the path to which the new database must be written.
    pub fn part(&self) -> &Path {
        &self.part
    }

    /// Creates an empty new database.
    pub fn write_empty(&self) -> Result<(), DbError> {
        options::create_private(&self.part)
    }

    /// Completes the replacement. Returns the path of the database, and the path of the old one if it was moved aside.
    ///
    /// Migrates the new database to this program's schema, marks its unsettled effects as possibly sent, and adds
    /// `line` to its operators' journal.
    pub async fn commit(self, line: &SwapRow) -> Result<(PathBuf, Option<PathBuf>), DbError> {
        let mut writer = options::connect_writer(&self.part).await?;
        migrations::migrate(&mut writer).await?;
        tasks::mark_effects_unconfirmed(&mut writer).await?;
        swaps::insert(&mut writer, line).await?;
        let marker = Marker::of(&mut writer).await?;
        sqlx::raw_sql("PRAGMA wal_checkpoint(TRUNCATE)").execute(&mut writer).await?;
        writer.close().await?;
        if beside(&self.part, "-wal").exists() {
            return Err(DbError::Corrupt("the write-ahead log of the new database could not be checkpointed".into()));
        }
        File::open(&self.part)?.sync_all()?;
        fs::rename(&self.part, beside(&self.path, ".restored"))?;
        sync_folder_of(&self.path)?;
        let replaced = finish(&self.path)?;
        marker.write(&self.path)?;
        Ok((self.path.clone(), replaced))
    }
}

/// Removes the new database if the replacement did not complete. After completion there is nothing to remove.
impl Drop for Replacement {
    fn drop(&mut self) {
        if let Err(error) = clear(&self.part) {
            tracing::warn!(file = %self.part.display(), %error, "failed to remove an unfinished database");
        }
    }
}

fn clear(part: &Path) -> io::Result<()> {
    ["", "-wal", "-shm"].into_iter().try_for_each(|ending| remove(&beside(part, ending)))
}

fn check_old(path: &Path, old: ExistingDatabase) -> Result<(), DbError> {
    let is_empty = fs::metadata(path).map_or(true, |data| data.len() == 0);
    if old == ExistingDatabase::MoveAside || is_empty {
        return Ok(());
    }
    Err(DbError::Precondition(format!(
        "there is a database at {}; with --replace it is moved aside and replaced with the new one",
        path.display()
    )))
}

/// Finishes a replacement that was committed (FILE.restored exists). Returns the path of the old database if it was
/// moved aside. The caller holds the lock.
pub(super) fn finish(path: &Path) -> Result<Option<PathBuf>, DbError> {
    // A rename would replace a symbolic link with the database.
    let path = &resolved(path);
    let restored = beside(path, ".restored");
    if !restored.exists() {
        return Ok(None);
    }
    let aside = move_aside(path)?;
    remove(&beside(path, "-shm"))?;
    // The marker describes the old database. `commit` writes the new one. After a crash, the next open does.
    remove(&marker_path(path))?;
    fs::rename(restored, path)?;
    sync_folder_of(path)?;
    tracing::info!(database = %path.display(), "replaced the database with a restored one");
    Ok(aside)
}

/// Renames the old database and its log to names with the next free number.
///
/// The log is renamed first: as long as FILE exists, a later attempt finds the same number for both. A log without its
/// FILE is renamed as well.
fn move_aside(path: &Path) -> io::Result<Option<PathBuf>> {
    let (log, exists) = (beside(path, "-wal"), path.exists());
    let is_free = |aside: &PathBuf| !aside.exists() && (exists || !beside(aside, "-wal").exists());
    let mut numbered = (1_u32..).map(|number| beside(path, &format!(".replaced-{number}")));
    let Some(aside) = numbered.find(is_free) else { return Ok(None) };
    if log.exists() {
        fs::rename(log, beside(&aside, "-wal"))?;
        sync_folder_of(path)?;
    }
    if !exists {
        return Ok(None);
    }
    fs::rename(path, &aside)?;
    sync_folder_of(path)?;
    Ok(Some(aside))
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

fn sync_folder_of(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates a folder with these files, each containing its own name, and returns it with the path of FILE.
    fn folder(names: &[&str]) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        for name in names {
            fs::write(folder.path().join(name), name).unwrap();
        }
        let file = folder.path().join("t.db");
        (folder, file)
    }

    fn files(folder: &tempfile::TempDir) -> Vec<String> {
        let entry = |entry: io::Result<fs::DirEntry>| {
            let path = entry.unwrap().path();
            format!("{}={}", path.file_name().unwrap().display(), fs::read_to_string(&path).unwrap())
        };
        let mut files: Vec<String> = fs::read_dir(folder).unwrap().map(entry).collect();
        files.sort();
        files
    }

    #[test]
    fn interrupted_replacement_is_finished_by_the_next_process() {
        let done = ["t.db.replaced-1-wal=t.db-wal", "t.db.replaced-1=t.db", "t.db=t.db.restored"];
        for (stage, before) in [
            ("committed", &[("t.db", "t.db"), ("t.db-wal", "t.db-wal"), ("t.db-shm", "")][..]),
            ("log moved", &[("t.db", "t.db"), ("t.db.replaced-1-wal", "t.db-wal")]),
            ("file moved", &[("t.db.replaced-1", "t.db"), ("t.db.replaced-1-wal", "t.db-wal")]),
        ] {
            let (folder, file) = folder(&["t.db.restored"]);
            for (name, text) in before {
                fs::write(folder.path().join(name), text).unwrap();
            }
            finish(&file).unwrap();
            assert_eq!(files(&folder), done, "{stage}");
            finish(&file).unwrap();
            assert_eq!(files(&folder), done, "{stage}, again");
        }
    }

    #[test]
    fn log_without_its_database_is_not_left_beside_the_new_one() {
        let (folder, file) = folder(&["t.db-wal", "t.db.restored"]);
        assert_eq!(finish(&file).unwrap(), None);
        assert_eq!(files(&folder), ["t.db.replaced-1-wal=t.db-wal", "t.db=t.db.restored"]);
    }

    #[test]
    fn incomplete_new_database_changes_nothing() {
        let (folder, file) = folder(&["t.db", "t.db-wal", "t.db.part"]);
        assert_eq!(finish(&file).unwrap(), None);
        assert_eq!(files(&folder), ["t.db-wal=t.db-wal", "t.db.part=t.db.part", "t.db=t.db"]);
    }

    #[test]
    fn each_database_moved_aside_gets_its_own_number() {
        let (folder, file) = folder(&["t.db", "t.db.replaced-1", "t.db.restored"]);
        assert_eq!(finish(&file).unwrap(), Some(folder.path().join("t.db.replaced-2")));
    }
}
