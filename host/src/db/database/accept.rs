//! Operations of operator tools on the files: inspect them beside a host, and accept a database that the host rejects.

use std::path::{Path, PathBuf};

use sqlx::Connection;

use super::identity::{self, Marker};
use super::inspect;
use super::lock::{FileLock, SharedLock};
use super::options::{self, DbOptions};
use super::replace;
use super::{Database, WriterSlot};
use crate::changes::change_set::Version;
use crate::db::files::{self, Survey};
use crate::db::model::catalogue::Catalogue;
use crate::db::swaps::{self, SwapRow};
use crate::db::{DbError, migrations};

/// A database that an operator accepted in its current state.
#[derive(Debug)]
pub struct AcceptedDatabase {
    pub database: PathBuf,
    pub version: Version,
}

impl Database {
    /// Inspects the files, whether or not a host runs, and returns a description of their content.
    pub fn inspect_files(path: &Path) -> Result<String, DbError> {
        options::existing(path)?;
        let lock = SharedLock::take(path)?;
        let survey = match &lock {
            Some(lock) => files::survey(path, lock.trust)?,
            None => files::survey_in_use(path)?,
        };
        match survey {
            Survey::Nothing { .. } => Err(DbError::damaged(path, "it is empty")),
            Survey::Database { pages, page_bytes, log_frames, .. } => {
                Ok(format!("{pages} pages of {page_bytes} bytes, {log_frames} frames in the log"))
            }
        }
    }

    /// Opens the database for `tenon db check`, after its files were inspected. Like `open_read_only`, but the schema
    /// may be older.
    pub async fn open_to_check(url: &str) -> Result<Database, DbError> {
        let path = options::path_of(url)?;
        let open = async {
            let readers = options::readers(&path, 1, true).await?;
            let mut connection = readers.acquire().await?;
            migrations::check_known(&mut connection).await?;
            let catalogue = Catalogue::load(&mut connection).await?;
            drop(connection);
            Ok((readers, catalogue))
        };
        let (readers, catalogue) = open.await.map_err(|error: DbError| error.in_file(&path))?;
        Ok(Self::assemble(path.clone(), &DbOptions::default(), (WriterSlot::closed(), readers, catalogue), false))
    }

    /// Returns how the database differs from the recorded identity and version.
    pub async fn check_identity(&self) -> Result<Vec<String>, DbError> {
        let mut reader = self.readers().acquire().await?;
        let found = Marker::find(&mut reader).await?;
        Ok(identity::difference(self.path(), found.as_ref())?.into_iter().collect())
    }

    /// Records the identity of the existing database as the expected one, and adds `line` to its operators' journal.
    ///
    /// # Errors
    /// `Precondition` if the file is absent or a host runs. `Damaged` if pages are damaged.
    pub async fn accept(url: &str, line: &SwapRow) -> Result<AcceptedDatabase, DbError> {
        let path = options::path_of(url)?;
        options::existing(&path)?;
        let lock = FileLock::take(&path).await?;
        replace::finish(&path)?;
        let accepted = accept(&path, line).await.map_err(|error| error.in_file(&path));
        drop(lock);
        accepted
    }
}

async fn accept(path: &Path, line: &SwapRow) -> Result<AcceptedDatabase, DbError> {
    files::check_kinds(path)?;
    // The log is not inspected, because a truncated log is accepted.
    if files::length(path)?.unwrap_or(0) == 0 {
        return Err(DbError::damaged(path, "it is empty"));
    }
    inspect::before_accept(path, files::length(&files::beside(path, "-wal"))?.unwrap_or(0)).await?;
    let mut writer = options::connect_writer(path).await?;
    migrations::migrate(&mut writer).await?;
    swaps::insert(&mut writer, line).await?;
    sqlx::raw_sql("PRAGMA wal_checkpoint(TRUNCATE)").execute(&mut writer).await?;
    let marker = Marker::of(&mut writer).await?;
    writer.close().await?;
    marker.write(path)?;
    Ok(AcceptedDatabase { database: path.to_owned(), version: marker.version })
}
