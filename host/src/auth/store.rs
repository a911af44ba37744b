//! The database interface of keys. `boot` implements it.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::KeyRow;
use crate::{
    changes::{credential::Attribute, operator_action::OperatorAction, scope::Scope},
    clock::Timestamp,
    secrets::SealedRow,
};

/// A failed database operation. The text is for the log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct StoreError(pub String);

/// The id of a key and its sealed text.
pub type SealedKey = (String, Vec<u8>);

/// Database operations of keys. Futures are boxed, because they run at most a few times a second: `Keys` caches
/// results.
pub trait KeyStore: Send + Sync + 'static {
    /// Inserts a key. `copy` is the sealed copy of a signing key. `action` is written to the operators' journal in the
    /// same transaction.
    fn insert_key<'a>(
        &'a self,
        row: &'a KeyRow,
        copy: Option<SealedRow>,
        action: Option<OperatorAction>,
    ) -> BoxFuture<'a, Result<(), StoreError>>;
    fn find_key_by_hash<'a>(&'a self, hash: &'a [u8; 32]) -> BoxFuture<'a, Result<Option<KeyRow>, StoreError>>;
    /// Returns all keys of operators and the newest of those that plugins issued, oldest first.
    fn list_keys(&self) -> BoxFuture<'_, Result<Vec<KeyRow>, StoreError>>;
    /// Returns the id and sealed copy of the oldest valid signing key of operators for a plugin and tenant.
    fn find_signing_key<'a>(
        &'a self,
        scope: &'a Scope,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<Option<SealedKey>, StoreError>>;
    /// Returns the id and sealed copy of the newest valid signing key that the plugin issued with this attribute.
    fn find_issued_signer<'a>(
        &'a self,
        scope: &'a Scope,
        attribute: &'a Attribute,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<Option<SealedKey>, StoreError>>;
    /// Sets the revocation time unless it is set, and deletes the copy of the key. Returns the updated row, or
    /// `None` if there is no such key. `operator` is recorded in the operators' journal.
    fn revoke_key<'a>(
        &'a self,
        id: &'a str,
        now: Timestamp,
        operator: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Option<KeyRow>, StoreError>>;
    /// Sets the last use of each key (by id). A later time is never replaced by an earlier one.
    fn touch_keys<'a>(&'a self, uses: &'a [(Arc<str>, Timestamp)]) -> BoxFuture<'a, Result<(), StoreError>>;
}
