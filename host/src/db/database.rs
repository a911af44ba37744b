//! The database file.

use std::sync::Arc;

#[derive(Clone, Debug)]
pub struct DbOptions {
    /// Read-only connections.
    pub readers: u32,
    /// The write-ahead log is folded into the file and cut once it is larger than this. Bytes.
    pub wal_bytes_max: u64,
}

impl Default for DbOptions {
    fn default() -> Self {
        DbOptions { readers: 4, wal_bytes_max: 64 << 20 }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum DbError {
    /// The setting is wrong, the file is in use, newer, or not ours: a sentence for the operator.
    #[error("{0}")]
    Refused(String),
    #[error("database: {0}")]
    Sql(#[from] sqlx::Error),
    #[error("database file: {0}")]
    Io(#[from] std::io::Error),
    /// A row that the host cannot have written.
    #[error("database: unreadable row: {0}")]
    Corrupt(String),
    #[error("the database is closed")]
    Closed,
}

#[derive(Clone)]
pub struct Database {
    #[allow(dead_code)]
    inner: Arc<()>,
}

impl Database {
    /// `url`: "sqlite:PATH". The file and its tables are made if they are missing.
    pub async fn open(_url: &str, _options: &DbOptions) -> Result<Database, DbError> {
        unimplemented!()
    }
    /// For tools: no lock, no migration, nothing can be written.
    pub async fn open_read_only(_url: &str, _options: &DbOptions) -> Result<Database, DbError> {
        unimplemented!()
    }
    /// Folds the log into the file and frees the lock.
    pub async fn close(&self) -> Result<(), DbError> {
        unimplemented!()
    }
}
