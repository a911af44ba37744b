//! The database interface of OAuth. `boot` implements it.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use zeroize::Zeroizing;

use super::{ClientRow, OAuthError};
use crate::clock::Timestamp;
use crate::{auth::store::StoreError, changes::operator_action::OperatorAction};

/// Database operations of OAuth. Futures are boxed, because they run rarely: clients and keys are in memory.
pub trait OAuthStore: Send + Sync + 'static {
    /// Inserts or replaces a client. `action` is written to the operators' journal in the same transaction.
    fn put_client<'a>(
        &'a self,
        row: &'a ClientRow,
        action: Option<OperatorAction>,
    ) -> BoxFuture<'a, Result<(), StoreError>>;
    /// Returns all clients, oldest first.
    fn list_clients(&self) -> BoxFuture<'_, Result<Vec<Arc<ClientRow>>, StoreError>>;
    /// Stores the id of an assertion until it expires and deletes expired ids. Returns false if the id was already
    /// stored.
    fn record_assertion(
        &self,
        id: [u8; 32],
        expires_at: Timestamp,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<bool, StoreError>>;
    /// Returns the host's own keys, opened, or `None` if none are stored.
    fn load_keys(&self) -> BoxFuture<'_, Result<Option<Zeroizing<Vec<u8>>>, OAuthError>>;
    /// Seals and replaces the host's own keys. `action` is written to the operators' journal in the same transaction.
    fn save_keys<'a>(
        &'a self,
        plain: &'a [u8],
        action: Option<OperatorAction>,
    ) -> BoxFuture<'a, Result<(), OAuthError>>;
}
