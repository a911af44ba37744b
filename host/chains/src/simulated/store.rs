//! The database file: connections and number encodings.
//!
//! A single connection writes. The other connections read committed data. A commit survives a crash of the process, but
//! not always a crash of the machine (`synchronous = NORMAL`).

use std::path::Path;

use ethnum::U256;
use sqlx::{
    ConnectOptions, Connection, SqliteConnection, SqlitePool,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};

use crate::ChainError;

const READERS: u32 = 4;

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("simulated blockchains: {0}")]
    Sql(#[from] sqlx::Error),
    /// A row has content that this program does not write.
    #[error("simulated blockchains: the file is corrupt: {0}")]
    Broken(&'static str),
}

impl From<StoreError> for ChainError {
    fn from(error: StoreError) -> ChainError {
        ChainError::Unavailable { cause: error.to_string() }
    }
}

/// Opens the file. Creates it if it is missing.
pub(super) async fn open(path: &Path) -> Result<(SqliteConnection, SqlitePool), StoreError> {
    let options = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Normal)
        .statement_cache_capacity(64)
        .disable_statement_logging();
    let mut writer = options.clone().connect().await?;
    let mut schema = writer.begin().await?;
    sqlx::raw_sql(include_str!("schema.sql")).execute(&mut *schema).await?;
    schema.commit().await?;
    let readers = SqlitePoolOptions::new().max_connections(READERS).test_before_acquire(false);
    let readers = readers.connect_with(options.read_only(true)).await?;
    Ok((writer, readers))
}

pub(super) fn blob(amount: U256) -> Vec<u8> {
    amount.to_be_bytes().to_vec()
}

pub(super) fn amount(blob: &[u8]) -> Result<U256, StoreError> {
    let bytes = blob.try_into().map_err(|_| StoreError::Broken("an amount"))?;
    Ok(U256::from_be_bytes(bytes))
}

/// Converts a height, count or time. Larger values saturate: they are beyond all stored ones.
pub(super) fn int(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(super) fn count(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}
