//! The file: its connections, and how numbers lie in it.
//!
//! One connection writes; others read what was committed. A commit survives the end of the process, not always that of the
//! machine (`synchronous = NORMAL`).

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
    /// A row that this program has not written.
    #[error("simulated blockchains: the file holds something else: {0}")]
    Broken(&'static str),
}

impl From<StoreError> for ChainError {
    fn from(error: StoreError) -> ChainError {
        ChainError::Unavailable { cause: error.to_string() }
    }
}

/// Makes the file where there is none.
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

/// Heights, counts and times fit: what does not is beyond any question.
pub(super) fn int(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(super) fn count(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}
