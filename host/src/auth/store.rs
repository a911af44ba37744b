//! What keys ask of the database. `db` answers; this room only knows the questions.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::KeyRow;
use crate::changes::change_set::Timestamp;

/// The database could not answer; the text is for the log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct StoreError(pub String);

/// Boxed futures, since it is asked a few times a second at most: `Keys` remembers the answers.
pub trait KeyStore: Send + Sync + 'static {
    fn insert_key<'a>(&'a self, row: &'a KeyRow) -> BoxFuture<'a, Result<(), StoreError>>;
    fn find_key_by_hash<'a>(&'a self, hash: &'a [u8; 32]) -> BoxFuture<'a, Result<Option<KeyRow>, StoreError>>;
    /// All of them, oldest first.
    fn list_keys(&self) -> BoxFuture<'_, Result<Vec<KeyRow>, StoreError>>;
    /// Sets the time of revocation where there is none. `None` if there is no such key; else the row as it now stands.
    fn revoke_key<'a>(&'a self, id: &'a str, now: Timestamp) -> BoxFuture<'a, Result<Option<KeyRow>, StoreError>>;
    /// Sets the last use of each key (by id), never to an earlier time.
    fn touch_keys<'a>(&'a self, uses: &'a [(Arc<str>, Timestamp)]) -> BoxFuture<'a, Result<(), StoreError>>;
}
