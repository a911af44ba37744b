//! A database that takes the place of another one: written beside it, and there in one step.
//!
//! FILE.part is being written. Once it is complete and on disk it is named FILE.restored: that is the step. Whoever opens
//! FILE from then on finishes the exchange first, so that a process which dies in between leaves the old one or the new one.
//! Invariants: all of it happens under the lock of FILE; the log of the old one (FILE-wal) is never left beside the new
//! one, which it would destroy; the old one is moved aside (FILE.replaced-1, …) and never deleted.

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

/// What becomes of a database that is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Old {
    /// Then nothing is done.
    Stays,
    MovesAside,
}

/// The place beside a database, and the lock on it.
pub struct Replacement {
    path: PathBuf,
    part: PathBuf,
    _lock: FileLock,
}

impl Replacement {
    /// `Refused` where a host runs on the database of `url`, or where there is one that is to stay. Its folder must exist.
    pub async fn begin(url: &str, old: Old) -> Result<Replacement, DbError> {
        let path = resolved(&options::path_of(url)?);
        check_old(&path, old)?;
        let lock = FileLock::take(&path).await?;
        finish(&path)?;
        check_old(&path, old)?;
        let part = beside(&path, ".part");
        // What a process left behind that was killed.
        clear(&part)?;
        Ok(Replacement { path, part, _lock: lock })
    }

    /// For who wants to know before anything is begun.
    pub fn check(url: &str, old: Old) -> Result<(), DbError> {
        check_old(&options::path_of(url)?, old)
    }

    /// Where the new database is to be written.
    pub fn part(&self) -> &Path {
        &self.part
    }

    /// Makes the new database an empty one.
    pub fn write_empty(&self) -> Result<(), DbError> {
        options::create_private(&self.part)
    }

    /// Brings what was written to this program's schema, doubts what it says of outgoing calls, notes a line in its journal
    /// of operators, and puts it in place. Where the old one is now, if there was one.
    pub async fn commit(self, line: &SwapRow) -> Result<(PathBuf, Option<PathBuf>), DbError> {
        let mut writer = options::connect_writer(&self.part).await?;
        migrations::migrate(&mut writer).await?;
        tasks::doubt_effects(&mut writer).await?;
        swaps::insert(&mut writer, line).await?;
        let marker = Marker::of(&mut writer).await?;
        sqlx::raw_sql("PRAGMA wal_checkpoint(TRUNCATE)").execute(&mut writer).await?;
        writer.close().await?;
        if beside(&self.part, "-wal").exists() {
            return Err(DbError::Corrupt("the log of the new database was not folded into it".into()));
        }
        File::open(&self.part)?.sync_all()?;
        fs::rename(&self.part, beside(&self.path, ".restored"))?;
        sync_folder_of(&self.path)?;
        let replaced = finish(&self.path)?;
        marker.write(&self.path)?;
        Ok((self.path.clone(), replaced))
    }
}

/// What did not come to its end leaves nothing. After the exchange there is nothing to remove.
impl Drop for Replacement {
    fn drop(&mut self) {
        if let Err(error) = clear(&self.part) {
            tracing::warn!(file = %self.part.display(), %error, "could not be removed");
        }
    }
}

fn clear(part: &Path) -> io::Result<()> {
    ["", "-wal", "-shm"].into_iter().try_for_each(|ending| remove(&beside(part, ending)))
}

fn check_old(path: &Path, old: Old) -> Result<(), DbError> {
    let is_empty = fs::metadata(path).map_or(true, |data| data.len() == 0);
    if old == Old::MovesAside || is_empty {
        return Ok(());
    }
    Err(DbError::Refused(format!(
        "there is a database at {}; with --replace it is moved aside, and the new one takes its place",
        path.display()
    )))
}

/// Does what is left to do where a new database was named FILE.restored. The caller holds the lock.
pub(super) fn finish(path: &Path) -> Result<Option<PathBuf>, DbError> {
    // A rename would put the database in the place of a link.
    let path = &resolved(path);
    let restored = beside(path, ".restored");
    if !restored.exists() {
        return Ok(None);
    }
    let aside = move_aside(path)?;
    remove(&beside(path, "-shm"))?;
    // It describes the old one. Whoever opens the new one writes it again.
    remove(&marker_path(path))?;
    fs::rename(restored, path)?;
    sync_folder_of(path)?;
    tracing::info!(database = %path.display(), "a restored database has taken its place");
    Ok(aside)
}

/// The log goes first: as long as FILE is there, the next try finds the same number for both. A log without its FILE goes too.
fn move_aside(path: &Path) -> io::Result<Option<PathBuf>> {
    let (log, is_there) = (beside(path, "-wal"), path.exists());
    let is_free = |aside: &PathBuf| !aside.exists() && (is_there || !beside(aside, "-wal").exists());
    let mut numbered = (1_u32..).map(|number| beside(path, &format!(".replaced-{number}")));
    let Some(aside) = numbered.find(is_free) else { return Ok(None) };
    if log.exists() {
        fs::rename(log, beside(&aside, "-wal"))?;
        sync_folder_of(path)?;
    }
    if !is_there {
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

    /// A folder with these files, each holding its name, and FILE in it.
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
    fn wherever_a_process_died_the_next_one_finishes_the_exchange() {
        let done = ["t.db.replaced-1-wal=t.db-wal", "t.db.replaced-1=t.db", "t.db=t.db.restored"];
        for (place, before) in [
            ("named", &[("t.db", "t.db"), ("t.db-wal", "t.db-wal"), ("t.db-shm", "")][..]),
            ("log moved", &[("t.db", "t.db"), ("t.db.replaced-1-wal", "t.db-wal")]),
            ("file moved", &[("t.db.replaced-1", "t.db"), ("t.db.replaced-1-wal", "t.db-wal")]),
        ] {
            let (folder, file) = folder(&["t.db.restored"]);
            for (name, text) in before {
                fs::write(folder.path().join(name), text).unwrap();
            }
            finish(&file).unwrap();
            assert_eq!(files(&folder), done, "{place}");
            finish(&file).unwrap();
            assert_eq!(files(&folder), done, "{place}, again");
        }
    }

    #[test]
    fn a_log_without_its_database_never_meets_the_new_one() {
        let (folder, file) = folder(&["t.db-wal", "t.db.restored"]);
        assert_eq!(finish(&file).unwrap(), None);
        assert_eq!(files(&folder), ["t.db.replaced-1-wal=t.db-wal", "t.db=t.db.restored"]);
    }

    #[test]
    fn what_was_not_complete_changes_nothing() {
        let (folder, file) = folder(&["t.db", "t.db-wal", "t.db.part"]);
        assert_eq!(finish(&file).unwrap(), None);
        assert_eq!(files(&folder), ["t.db-wal=t.db-wal", "t.db.part=t.db.part", "t.db=t.db"]);
    }

    #[test]
    fn each_database_that_is_moved_aside_keeps_its_own_number() {
        let (folder, file) = folder(&["t.db", "t.db.replaced-1", "t.db.restored"]);
        assert_eq!(finish(&file).unwrap(), Some(folder.path().join("t.db.replaced-2")));
    }
}
