//! What OAuth asks of the database. `boot` answers; this room only knows the questions.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use zeroize::Zeroizing;

use super::{ClientRow, OAuthError};
use crate::clock::Timestamp;
use crate::{auth::store::StoreError, changes::operator_action::OperatorAction};

/// Boxed futures, since it is asked seldom: clients and keys are in memory.
pub trait OAuthStore: Send + Sync + 'static {
    /// Takes the place of the row with its id, if there is one. `action`: for the operators' journal, in the same transaction.
    fn put_client<'a>(
        &'a self,
        row: &'a ClientRow,
        action: Option<OperatorAction>,
    ) -> BoxFuture<'a, Result<(), StoreError>>;
    /// All of them, oldest first.
    fn list_clients(&self) -> BoxFuture<'_, Result<Vec<Arc<ClientRow>>, StoreError>>;
    /// Notes the id of an assertion until it ends; `false` where it was noted before. Forgets those that have ended.
    fn note_assertion(
        &self,
        id: [u8; 32],
        ends_at: Timestamp,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<bool, StoreError>>;
    /// The host's own keys as they were saved last; opened.
    fn load_keys(&self) -> BoxFuture<'_, Result<Option<Zeroizing<Vec<u8>>>, OAuthError>>;
    /// Seals them, in the place of those before. `action`: for the operators' journal, in the same transaction.
    fn save_keys<'a>(
        &'a self,
        plain: &'a [u8],
        action: Option<OperatorAction>,
    ) -> BoxFuture<'a, Result<(), OAuthError>>;
}
