//! The database file: open, close, the lock, the writer's connection, the readers.
//!
//! Every open inspects the files first (`files`) and then, on a read-only connection, the database that they hold (`inspect`): its pages,
//! and whether it is the one that was noted (`identity`).
//! Invariants: one process has the file open (OS locks on `FILE.lock` and its folder); one connection writes (`write`, one
//! transaction at a time, in a task that no caller can interrupt); what may take long (`search`) has connections of its own; a
//! connection whose COMMIT or ROLLBACK failed is closed and never used again.
//!
//! - `slot`: the writer's connection, and whether what was decided in memory still rests on the file. `write`: transactions on it.

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
pub use accept::Accepted;
pub use health::Health;
use health::Readers;
use identity::Marker;
use lock::{FileLock, SharedLock};
pub use options::{DbOptions, GoOn};
pub use replace::{Old, Replacement};
use search::Searchers;
pub use slot::Invalidation;
use slot::WriterSlot;
pub(super) use write::{WriteTransaction, is_surely_undone};

/// A handle: cheap to clone, all clones are the same open file.
#[derive(Clone)]
pub struct Database {
    inner: Arc<Inner>,
}

struct Inner {
    path: PathBuf,
    options: DbOptions,
    read_only: bool,
    /// Only a host, which has confirmed the identity, notes the version that the database reaches.
    notes_version: bool,
    /// Replaced as a whole after an error at COMMIT, so that no connection remembers what was before.
    readers: ArcSwap<Readers>,
    health: Health,
    /// The same for questions that may take long.
    searchers: ArcSwap<Searchers>,
    writer: Arc<tokio::sync::Mutex<WriterSlot>>,
    /// Pages that the file may have; 0: no limit. For tests of a full disk.
    pages_max: AtomicU32,
    /// What the tables of plugins look like now.
    catalogue: Catalogue,
}

impl Database {
    /// `url`: "sqlite:PATH". The file (mode 0600) and its tables are made if they are missing.
    /// `Refused` where another process has the file open, it is newer than this program, it is not ours, or it is not the database
    /// that was here. `Damaged` where one of its files cannot be trusted.
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
        lock.note_boot(&path)?;
        Self::open_with(path, options, (writer, lock), true).await
    }

    /// For tools while no host runs, and keeps one from starting. The file must exist; its schema stays what it is.
    /// `Refused` where it is not the database that was here.
    pub async fn open_unchanged(url: &str, options: &DbOptions) -> Result<Database, DbError> {
        let path = options::path_of(url)?;
        // Before the lock, so that a slip in the name leaves nothing behind.
        options::existing(&path)?;
        let mut lock = FileLock::take(&path).await?;
        replace::finish(&path)?;
        let survey = files::survey(&path, lock.trust)?;
        refuse_empty(&path, &survey)?;
        inspect::before_use(&path, &survey).await.map_err(|error| error.in_file(&path))?;
        let writer = options::connect_writer(&path).await.map_err(|error| error.in_file(&path))?;
        lock.note_boot(&path)?;
        Self::open_with(path, options, (writer, lock), false).await
    }

    async fn open_with(
        path: PathBuf,
        options: &DbOptions,
        (mut writer, lock): (SqliteConnection, FileLock),
        notes_version: bool,
    ) -> Result<Database, DbError> {
        let catalogue = Catalogue::load(&mut writer).await?;
        let slot = WriterSlot::new(writer, lock).await?;
        let readers = options::readers(&path, options.readers, false).await?;
        Ok(Self::assemble(path, options, (slot, readers, catalogue), notes_version))
    }

    /// A file that nobody writes, a backup: takes no lock and leaves nothing beside it. Its schema may be older. Whoever reads
    /// in it fails once `go_on` says no.
    pub async fn open_still(path: &Path, go_on: GoOn) -> Result<Database, DbError> {
        options::existing(path)?;
        refuse_empty(path, &files::survey(path, IndexTrust::Unknown)?)?;
        let readers = options::still_readers(path, go_on).await?;
        let mut connection = readers.acquire().await?;
        migrations::check_known(&mut connection).await?;
        let catalogue = Catalogue::load(&mut connection).await?;
        drop(connection);
        let searchers = Searchers::still(path, readers.clone());
        let database =
            Self::assemble(path.to_owned(), &DbOptions::default(), (WriterSlot::closed(), readers, catalogue), false);
        database.inner.searchers.store(Arc::new(searchers));
        Ok(database)
    }

    /// For tools beside a running host: takes no lock, changes nothing. The file must exist.
    pub async fn open_read_only(url: &str, options: &DbOptions) -> Result<Database, DbError> {
        let database = Self::open_older_read_only(url, options).await?;
        let mut reader = database.readers().acquire().await?;
        migrations::check(&mut reader).await?;
        drop(reader);
        Ok(database)
    }

    /// The same, but the schema may be older: for tables that have kept their shape, as those of swaps and of plugins.
    pub async fn open_older_read_only(url: &str, options: &DbOptions) -> Result<Database, DbError> {
        let path = options::path_of(url)?;
        options::existing(&path)?;
        // The files change while a host runs: it has inspected them itself.
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

    /// The file that "sqlite:PATH" names.
    pub fn file_of(url: &str) -> Result<PathBuf, DbError> {
        options::path_of(url)
    }

    fn assemble(
        path: PathBuf,
        options: &DbOptions,
        (slot, readers, catalogue): (WriterSlot, SqlitePool, Catalogue),
        notes_version: bool,
    ) -> Database {
        let health = Health::new(&path);
        let read_only = slot.is_closed();
        Database {
            inner: Arc::new(Inner {
                searchers: ArcSwap::from_pointee(Searchers::new(&path, read_only)),
                path,
                options: options.clone(),
                read_only,
                notes_version,
                readers: ArcSwap::from_pointee(Readers::new(readers, health.clone())),
                health,
                writer: Arc::new(tokio::sync::Mutex::new(slot)),
                pages_max: AtomicU32::new(0),
                catalogue,
            }),
        }
    }

    /// Folds the log into the file and frees the lock. Writes after it are `Closed`; reads fail.
    pub async fn close(&self) -> Result<(), DbError> {
        let mut slot = self.inner.writer.lock().await;
        self.note_last_version().await;
        self.readers().close().await;
        self.inner.searchers.load_full().close().await;
        let (connection, _lock) = slot.close();
        if let Some(mut connection) = connection {
            sqlx::raw_sql("PRAGMA optimize; PRAGMA wal_checkpoint(TRUNCATE)").execute(&mut connection).await?;
            connection.close().await?;
        }
        Ok(())
    }

    /// Notes the version of the last batch beside the database, so that a later start notices an older state. For `close`, and now and then.
    pub async fn note_version(&self) -> Result<(), DbError> {
        if !self.inner.notes_version {
            return Ok(());
        }
        let mut reader = self.readers().acquire().await?;
        let marker = Marker::of(&mut reader).await?;
        drop(reader);
        marker.note(self.path())
    }

    async fn note_last_version(&self) {
        if let Err(error) = self.note_version().await {
            tracing::warn!("failed to note the version of the database: {error}");
        }
    }

    /// Where the file lies.
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// Whether it has turned out to be damaged.
    pub fn health(&self) -> &Health {
        &self.inner.health
    }

    /// For statements on a connection of their own: notes an error.
    pub(super) fn observe<T>(&self, result: Result<T, DbError>) -> Result<T, DbError> {
        result.inspect_err(|error| self.health().note(error))
    }

    pub(super) fn readers(&self) -> Arc<Readers> {
        self.inner.readers.load_full()
    }

    pub(super) fn catalogue(&self) -> &Catalogue {
        &self.inner.catalogue
    }
}

/// Brings the schema up to date.
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
