//! The database file: open, close, the lock, the writer's connection, the readers.
//!
//! Before `Database::open` writes, it inspects the files (`files`). It then checks the database on a read-only
//! connection (`inspect`): its pages, and its identity against the recorded one (`identity`).
//!
//! Invariants:
//! - One process has the file open for writing (OS locks on `FILE.lock` and its folder).
//! - One connection writes (`write`): one transaction at a time, in a task that callers cannot interrupt.
//! - Long queries (`search`) have their own connections.
//! - A connection is closed and never used again if the outcome of its COMMIT is unknown, or if its ROLLBACK failed.
//!
//! `slot` holds the writer's connection, and whether in-memory decisions are still valid for the file. `write` runs the
//! transactions of that connection.

mod accept;
mod health;
mod identity;
mod inspect;
mod lock;
pub(super) mod options;
mod replace;
mod search;
mod slot;
mod write;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use arc_swap::ArcSwap;
use sqlx::{Connection, SqliteConnection, SqlitePool};

use super::files::{self, IndexTrust, Survey};
use super::model::catalogue::Catalogue;
use super::{DbError, migrations};
pub use accept::AcceptedDatabase;
pub use health::Health;
use health::Readers;
use identity::Marker;
use lock::{FileLock, SharedLock};
pub use options::{ContinueFn, DbOptions};
pub use replace::{ExistingDatabase, Replacement};
use search::Searchers;
pub use slot::Invalidation;
use slot::WriterSlot;
pub(super) use write::{WriteTransaction, is_certainly_rolled_back};

/// Handle to an open database file. Clones are cheap and share the file.
#[derive(Clone)]
pub struct Database {
    inner: Arc<Inner>,
}

struct Inner {
    path: PathBuf,
    options: DbOptions,
    read_only: bool,
    /// True if `record_version` writes `FILE.id`. Only a host does, because it has confirmed the identity.
    records_version: bool,
    /// Replaced as a whole after a COMMIT with an unknown outcome, so that no connection keeps cached state.
    readers: ArcSwap<Readers>,
    health: Health,
    /// Connections for long queries. Replaced together with the readers.
    searchers: ArcSwap<Searchers>,
    writer: Arc<tokio::sync::Mutex<WriterSlot>>,
    /// Maximum number of pages of the file, for tests of a full disk. 0 means no limit.
    pages_max: AtomicU32,
    /// Current schema of the plugins' tables.
    catalogue: Catalogue,
}

impl Database {
    /// Opens the database of a host. Creates the file (mode 0600) and its tables if they are missing.
    ///
    /// `url`: "sqlite:PATH".
    ///
    /// # Errors
    /// `Precondition` if another process has the file open, if a newer Tenon or another program wrote the file, or if
    /// it is not the recorded database. `Damaged` if one of its files cannot be trusted.
    pub async fn open(url: &str, options: &DbOptions) -> Result<Database, DbError> {
        let path = options::path_of(url)?;
        let mut lock = FileLock::take(&path).await?;
        replace::finish(&path)?;
        let survey = files::survey(&path, lock.trust)?;
        identity::refuse_lost(&path, &survey, options)?;
        options::create_private(&path)?;
        inspect::before_open(&path, &survey, options).await.map_err(|error| error.in_file(&path))?;
        let (writer, marker) = open_writer(&path).await.map_err(|error| error.in_file(&path))?;
        identity::confirm(&path, &marker)?;
        lock.record_boot(&path)?;
        Self::open_with(path, options, (writer, lock), true).await
    }

    /// Opens an existing database for tools without migrating its schema. Holds the lock, so no host can start
    /// meanwhile.
    ///
    /// # Errors
    /// `Precondition` if the file is absent, a host runs, or the file is not the recorded database.
    pub async fn open_unchanged(url: &str, options: &DbOptions) -> Result<Database, DbError> {
        let path = options::path_of(url)?;
        // Before the lock, so that a mistyped path creates no lock file.
        options::existing(&path)?;
        let mut lock = FileLock::take(&path).await?;
        replace::finish(&path)?;
        let survey = files::survey(&path, lock.trust)?;
        refuse_empty(&path, &survey)?;
        inspect::before_use(&path, &survey).await.map_err(|error| error.in_file(&path))?;
        let writer = options::connect_writer(&path).await.map_err(|error| error.in_file(&path))?;
        lock.record_boot(&path)?;
        Self::open_with(path, options, (writer, lock), false).await
    }

    async fn open_with(
        path: PathBuf,
        options: &DbOptions,
        (mut writer, lock): (SqliteConnection, FileLock),
        records_version: bool,
    ) -> Result<Database, DbError> {
        let catalogue = Catalogue::load(&mut writer).await?;
        let slot = WriterSlot::new(writer, lock).await?;
        let readers = options::readers(&path, options.readers, false).await?;
        Ok(Self::assemble(path, options, (slot, readers, catalogue), records_version))
    }

    /// Opens a file that no process writes, such as a backup. Takes no lock and creates no files. Its schema may be
    /// older.
    ///
    /// Reads fail once `should_continue` returns false.
    pub async fn open_immutable(path: &Path, should_continue: ContinueFn) -> Result<Database, DbError> {
        options::existing(path)?;
        refuse_empty(path, &files::survey(path, IndexTrust::Unknown)?)?;
        let readers = options::immutable_readers(path, should_continue).await?;
        let mut connection = readers.acquire().await?;
        migrations::check_known(&mut connection).await?;
        let catalogue = Catalogue::load(&mut connection).await?;
        drop(connection);
        let searchers = Searchers::immutable(path, readers.clone());
        let database =
            Self::assemble(path.to_owned(), &DbOptions::default(), (WriterSlot::closed(), readers, catalogue), false);
        database.inner.searchers.store(Arc::new(searchers));
        Ok(database)
    }

    /// Opens an existing database for tools, whether or not a host runs. Holds no lock afterwards and changes nothing.
    pub async fn open_read_only(url: &str, options: &DbOptions) -> Result<Database, DbError> {
        let database = Self::open_older_read_only(url, options).await?;
        let mut reader = database.readers().acquire().await?;
        migrations::check(&mut reader).await?;
        drop(reader);
        Ok(database)
    }

    /// Like `open_read_only`, but the schema may be older. Callers must read only columns that every schema has.
    pub async fn open_older_read_only(url: &str, options: &DbOptions) -> Result<Database, DbError> {
        let path = options::path_of(url)?;
        options::existing(&path)?;
        // Skipped beside a running host: its files change, and the host has inspected them itself.
        if let Some(lock) = SharedLock::take(&path)? {
            refuse_empty(&path, &files::survey(&path, lock.trust)?)?;
        }
        let readers = options::readers(&path, options.readers, true).await?;
        let mut connection = readers.acquire().await?;
        migrations::check_known(&mut connection).await?;
        let catalogue = Catalogue::load(&mut connection).await?;
        drop(connection);
        Ok(Self::assemble(path, options, (WriterSlot::closed(), readers, catalogue), false))
    }

    /// Returns the path in "sqlite:PATH".
    pub fn file_of(url: &str) -> Result<PathBuf, DbError> {
        options::path_of(url)
    }

    fn assemble(
        path: PathBuf,
        options: &DbOptions,
        (slot, readers, catalogue): (WriterSlot, SqlitePool, Catalogue),
        records_version: bool,
    ) -> Database {
        let health = Health::new(&path);
        let read_only = slot.is_closed();
        Database {
            inner: Arc::new(Inner {
                searchers: ArcSwap::from_pointee(Searchers::new(&path, read_only)),
                path,
                options: options.clone(),
                read_only,
                records_version,
                readers: ArcSwap::from_pointee(Readers::new(readers, health.clone())),
                health,
                writer: Arc::new(tokio::sync::Mutex::new(slot)),
                pages_max: AtomicU32::new(0),
                catalogue,
            }),
        }
    }

    /// Checkpoints the log into the file and releases the lock. Later writes return `Closed`, and later reads fail.
    pub async fn close(&self) -> Result<(), DbError> {
        let mut slot = self.inner.writer.lock().await;
        self.record_last_version().await;
        self.readers().close().await;
        self.inner.searchers.load_full().close().await;
        let (connection, _lock) = slot.close();
        if let Some(mut connection) = connection {
            sqlx::raw_sql("PRAGMA optimize; PRAGMA wal_checkpoint(TRUNCATE)").execute(&mut connection).await?;
            connection.close().await?;
        }
        Ok(())
    }

    /// Records the version of the last batch in `FILE.id`, so that a later start detects an older state.
    ///
    /// Called by `close`, and periodically.
    pub async fn record_version(&self) -> Result<(), DbError> {
        if !self.inner.records_version {
            return Ok(());
        }
        let mut reader = self.readers().acquire().await?;
        let marker = Marker::of(&mut reader).await?;
        drop(reader);
        marker.record(self.path())
    }

    async fn record_last_version(&self) {
        if let Err(error) = self.record_version().await {
            tracing::warn!("failed to record the version of the database: {error}");
        }
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// Returns the health, which reports damage and I/O errors.
    pub fn health(&self) -> &Health {
        &self.inner.health
    }

    /// Records an error of a statement that ran on its own connection.
    pub(super) fn observe<T>(&self, result: Result<T, DbError>) -> Result<T, DbError> {
        result.inspect_err(|error| self.health().record_error(error))
    }

    pub(super) fn readers(&self) -> Arc<Readers> {
        self.inner.readers.load_full()
    }

    pub(super) fn catalogue(&self) -> &Catalogue {
        &self.inner.catalogue
    }
}

/// Connects the writer and migrates the schema.
async fn open_writer(path: &Path) -> Result<(SqliteConnection, Marker), DbError> {
    let mut writer = options::connect_writer(path).await?;
    migrations::migrate(&mut writer).await?;
    let marker = Marker::of(&mut writer).await?;
    Ok((writer, marker))
}

fn refuse_empty(path: &Path, survey: &Survey) -> Result<(), DbError> {
    match survey {
        Survey::Nothing { .. } => Err(DbError::damaged(path, "it is empty")),
        Survey::Database { .. } => Ok(()),
    }
}

#[cfg(test)]
mod tests;
