//! What an operator's tools do with the files: examine them beside a host, and accept a database that a start refuses.

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

/// A database that was accepted as it is.
#[derive(Debug)]
pub struct Accepted {
    pub database: PathBuf,
    pub version: Version,
}

impl Database {
    /// Inspects the files, while a host runs or not. A description of what they hold.
    pub fn survey_beside(path: &Path) -> Result<String, DbError> {
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

    /// For `tenon db check`, after the files were inspected: as `open_read_only`, but the schema may be older.
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

    /// How the database differs from what was noted beside it.
    pub async fn check_identity(&self) -> Result<Vec<String>, DbError> {
        let mut reader = self.readers().acquire().await?;
        let found = Marker::find(&mut reader).await?;
        Ok(identity::difference(self.path(), found.as_ref())?.into_iter().collect())
    }

    /// Makes the database that is there the one that belongs there, and notes a line in the journal of operators. `Refused` if
    /// pages are damaged, or a host runs.
    pub async fn accept(url: &str, line: &SwapRow) -> Result<Accepted, DbError> {
        let path = options::path_of(url)?;
        options::existing(&path)?;
        let lock = FileLock::take(&path).await?;
        replace::finish(&path)?;
        let accepted = accept(&path, line).await.map_err(|error| error.in_file(&path));
        drop(lock);
        accepted
    }
}

async fn accept(path: &Path, line: &SwapRow) -> Result<Accepted, DbError> {
    files::check_kinds(path)?;
    // A cut log is accepted: it is not surveyed.
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
    Ok(Accepted { database: path.to_owned(), version: marker.version })
}
