//! What keys ask of the database. `db` answers; this room only knows the questions.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::KeyRow;
use crate::clock::Timestamp;
use crate::{
    changes::{credential::Attribute, operator_action::OperatorAction, scope::Scope},
    secrets::SealedRow,
};

/// The database could not answer; the text is for the log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct StoreError(pub String);

/// The id of a key, and its sealed text.
pub type SealedKey = (String, Vec<u8>);

/// Boxed futures, since it is asked a few times a second at most: `Keys` remembers the answers.
pub trait KeyStore: Send + Sync + 'static {
    /// `copy`: of a key that signs. `action`: for the operators' journal, in the same transaction.
    fn insert_key<'a>(
        &'a self,
        row: &'a KeyRow,
        copy: Option<SealedRow>,
        action: Option<OperatorAction>,
    ) -> BoxFuture<'a, Result<(), StoreError>>;
    fn find_key_by_hash<'a>(&'a self, hash: &'a [u8; 32]) -> BoxFuture<'a, Result<Option<KeyRow>, StoreError>>;
    /// All of operators, the newest of those that plugins handed out; oldest first.
    fn list_keys(&self) -> BoxFuture<'_, Result<Vec<KeyRow>, StoreError>>;
    /// The id and the sealed copy of the oldest key of operators that signs for this plugin and tenant, and is valid.
    fn find_signing_key<'a>(
        &'a self,
        scope: &'a Scope,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<Option<SealedKey>, StoreError>>;
    /// The same of the newest that the plugin issued with this attribute.
    fn find_issued_signer<'a>(
        &'a self,
        scope: &'a Scope,
        attribute: &'a Attribute,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<Option<SealedKey>, StoreError>>;
    /// Sets the time of revocation where there is none, and drops the copy of the key. `None` if there is no such key; else the row as it now stands.
    /// `operator`: for the operators' journal.
    fn revoke_key<'a>(
        &'a self,
        id: &'a str,
        now: Timestamp,
        operator: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Option<KeyRow>, StoreError>>;
    /// Sets the last use of each key (by id), never to an earlier time.
    fn touch_keys<'a>(&'a self, uses: &'a [(Arc<str>, Timestamp)]) -> BoxFuture<'a, Result<(), StoreError>>;
}
