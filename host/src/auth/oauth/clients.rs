//! All clients, in memory and in the database. One writer at a time.
//!
//! Invariant: a change is in the database before it is in memory. A revocation is the exception: it takes effect
//! immediately.

use std::{collections::HashMap, sync::Arc};

use parking_lot::RwLock;
use zeroize::Zeroizing;

use super::{ClientRow, CreatedClient, KeySet, NewClient, OAuthStore, StoreError, client::ClientProof};
use crate::{
    auth::{
        AuthAdminError,
        key::{generate_id, generate_secret, hash_text},
        keys::{check_organization, check_scopes},
    },
    changes::operator_action::{CREATE_CLIENT, OperatorAction, REVOKE_CLIENT, ROTATE_CLIENT},
    clock::Timestamp,
    limits::{CLIENT_SECRET_OVERLAP_MS, CLIENTS_MAX},
};

pub(super) struct Clients {
    rows: RwLock<HashMap<Arc<str>, Arc<ClientRow>>>,
    writing: tokio::sync::Mutex<()>,
}

impl Clients {
    pub async fn load(store: &dyn OAuthStore) -> Result<Clients, StoreError> {
        let rows = store.list_clients().await?.into_iter().map(|row| (Arc::clone(&row.id), row));
        Ok(Clients { rows: RwLock::new(rows.collect()), writing: tokio::sync::Mutex::default() })
    }

    /// Returns a client that is not revoked.
    pub fn find_live(&self, id: &str) -> Option<Arc<ClientRow>> {
        self.rows.read().get(id).filter(|row| row.revoked_at.is_none()).cloned()
    }

    pub fn list(&self) -> Vec<Arc<ClientRow>> {
        let mut rows: Vec<_> = self.rows.read().values().cloned().collect();
        rows.sort_by(|one, two| (one.created_at, &one.id).cmp(&(two.created_at, &two.id)));
        rows
    }

    pub async fn create(
        &self,
        store: &dyn OAuthStore,
        new: NewClient,
        now: Timestamp,
    ) -> Result<CreatedClient, AuthAdminError> {
        check_organization(&new.organization)?;
        check_scopes(&new.scopes)?;
        if let Some(scope) = new.scopes.iter().find(|scope| !is_scope_token(scope)) {
            return Err(AuthAdminError::ScopeToken(scope.clone()));
        }
        let (proof, secret) = match new.jwks {
            Some(text) => {
                let keys = KeySet::parse(&text).map_err(AuthAdminError::ClientKeys)?;
                (ClientProof::Keys(text.into(), keys), None)
            }
            None => {
                let secret = generate_secret(new.environment)?;
                (ClientProof::Secret { hash: hash_text(&secret), previous: None }, Some(secret))
            }
        };
        let _guard = self.writing.lock().await;
        if self.rows.read().len() >= CLIENTS_MAX {
            return Err(AuthAdminError::Clients);
        }
        let row = Arc::new(ClientRow {
            id: generate_id("client_")?,
            plugin: new.plugin.into(),
            organization: new.organization.into(),
            environment: new.environment,
            scopes: new.scopes,
            proof,
            created_at: now,
            revoked_at: None,
        });
        let action = new.operator.map(|operator| action_on(&row, CREATE_CLIENT, &operator, now));
        store.put_client(&row, action).await?;
        self.insert(&row);
        Ok(CreatedClient { row, secret })
    }

    /// Creates a new secret. The previous secret stays valid for `CLIENT_SECRET_OVERLAP_MS`. The secret before it
    /// becomes invalid. Returns `None` if no unrevoked client with a secret has this id.
    pub async fn rotate(
        &self,
        store: &dyn OAuthStore,
        id: &str,
        (now, operator): (Timestamp, Option<&str>),
    ) -> Result<Option<CreatedClient>, AuthAdminError> {
        let _guard = self.writing.lock().await;
        let Some(row) = self.find_live(id) else { return Ok(None) };
        let ClientProof::Secret { hash: before, .. } = row.proof else { return Ok(None) };
        let secret: Zeroizing<String> = generate_secret(row.environment)?;
        let previous = Some((before, now.saturating_add(CLIENT_SECRET_OVERLAP_MS)));
        let proof = ClientProof::Secret { hash: hash_text(&secret), previous };
        let row = Arc::new(ClientRow { proof, ..ClientRow::clone(&row) });
        let action = operator.map(|operator| action_on(&row, ROTATE_CLIENT, operator, now));
        store.put_client(&row, action).await?;
        self.insert(&row);
        Ok(Some(CreatedClient { row, secret: Some(secret) }))
    }

    pub async fn revoke(
        &self,
        store: &dyn OAuthStore,
        id: &str,
        (now, operator): (Timestamp, Option<&str>),
    ) -> Result<Option<Arc<ClientRow>>, AuthAdminError> {
        let _guard = self.writing.lock().await;
        let Some(row) = self.rows.read().get(id).cloned() else { return Ok(None) };
        let revoked_at = row.revoked_at.or(Some(now));
        let row = Arc::new(ClientRow { revoked_at, ..ClientRow::clone(&row) });
        self.insert(&row);
        let action = operator.map(|operator| action_on(&row, REVOKE_CLIENT, operator, now));
        store.put_client(&row, action).await?;
        Ok(Some(row))
    }

    fn insert(&self, row: &Arc<ClientRow>) {
        self.rows.write().insert(Arc::clone(&row.id), Arc::clone(row));
    }
}

fn action_on(row: &ClientRow, action: &'static str, operator: &str, now: Timestamp) -> OperatorAction {
    let target = format!("{} of {}/{}", row.id, row.organization, row.environment.name());
    OperatorAction::done(now, operator, (&row.plugin, action), target)
}

/// Returns true if RFC 6749 (3.3) allows `text` as a scope, so that scopes can be separated by spaces and quoted.
pub(super) fn is_scope_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\')
}
