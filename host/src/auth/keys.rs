//! API keys: create, list, revoke, authenticate, find the signing key, and record the last use of each.
//!
//! A cached key is used for at most `KEY_CACHE_MS`, and never after this process revoked it. Last uses are collected in
//! memory and written in batches, so no request waits for them.

use std::{
    collections::HashMap,
    future::Future,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use parking_lot::Mutex;
use subtle::ConstantTimeEq;
use tokio::sync::Semaphore;
use zeroize::Zeroizing;

use super::{
    AuthAdminError, CredentialError, Environment, KeyRow, Principal,
    cache::Cache,
    key::{credential_kind, generate_id, generate_text, hash_text},
    known_key::KnownKey,
    signing::SigningKeys,
    store::{KeyStore, StoreError},
};
use crate::{
    changes::{
        credential::{Attribute, CredentialChange, CredentialKind, is_scope},
        operator_action::{CREATE_KEY, OperatorAction},
        scope::Scope,
    },
    clock::Timestamp,
    limits::{KEY_LOOKUPS_AT_ONCE, KEY_SCOPES_MAX, KEY_USE_GRAIN_MS, LIVE_KEYS_PER_OWNER},
    secrets::{MasterKeys, SealingRoot, SecretText},
};

pub struct Keys {
    store: Arc<dyn KeyStore>,
    cache: Cache,
    signing: SigningKeys,
    /// Limits concurrent lookups, so that a key that expires from the cache under load is queried a few times instead
    /// of once per request.
    lookups: Semaphore,
    uses: Mutex<HashMap<Arc<str>, Timestamp>>,
    /// Makes counting the active keys of an owner and adding one atomic in this process.
    creating: tokio::sync::Mutex<()>,
}

/// An operator's request for a new key.
#[derive(Clone, Debug)]
pub struct NewKey {
    /// "*" means every plugin.
    pub plugin: String,
    pub organization: String,
    pub environment: Environment,
    pub scopes: Vec<String>,
    pub attributes: Vec<(String, String)>,
    /// Owner of the key that this one will replace. `None` creates a new owner.
    pub owner: Option<String>,
    pub expires_at: Option<Timestamp>,
    /// True if webhooks may be signed with the key.
    pub signs: bool,
    /// The operator, for the operators' journal. `None` if the host itself creates the key.
    pub operator: Option<String>,
}

/// A new key with its text, which is returned only here.
pub struct CreatedKey {
    pub row: KeyRow,
    pub text: Zeroizing<String>,
}

impl Keys {
    /// Creates the service. `master_keys` seal copies of operators' signing keys, `sealing` copies of keys that plugins
    /// issue.
    pub fn new(store: Arc<dyn KeyStore>, master_keys: Arc<MasterKeys>, sealing: Arc<SealingRoot>) -> Keys {
        Keys {
            store,
            cache: Cache::default(),
            signing: SigningKeys::new(master_keys, sealing),
            lookups: Semaphore::new(KEY_LOOKUPS_AT_ONCE),
            uses: Mutex::default(),
            creating: tokio::sync::Mutex::default(),
        }
    }

    /// Creates a key and returns it with its text.
    ///
    /// # Errors
    /// The request is invalid, or its owner has no active key or already two.
    pub async fn create(&self, new: NewKey, now: Timestamp) -> Result<CreatedKey, AuthAdminError> {
        check_organization(&new.organization)?;
        check_scopes(&new.scopes)?;
        let _alone = self.creating.lock().await;
        let owner = match &new.owner {
            Some(owner) => self.check_owner(owner, &new, now).await?,
            None => generate_id("owner_")?,
        };
        let text = generate_text(new.environment)?;
        let row = KeyRow {
            id: generate_id("key_")?,
            hash: hash_text(&text),
            plugin: new.plugin.into(),
            organization: new.organization.into(),
            environment: new.environment,
            owner,
            scopes: new.scopes,
            attributes: new.attributes,
            created_at: now,
            expires_at: new.expires_at,
            revoked_at: None,
            last_used_at: None,
            signs: new.signs,
            kind: CredentialKind::ApiKey,
            label: None,
        };
        let copy = if row.signs { Some(self.signing.seal(&row, &text)?) } else { None };
        let action = new.operator.as_deref().map(|operator| {
            let target = format!("{} of {}", row.id, row.tenant());
            OperatorAction::done(now, operator, (&row.plugin, CREATE_KEY), target)
        });
        self.store.insert_key(&row, copy, action).await?;
        self.cache.evict(&row.hash);
        self.signing.clear();
        Ok(CreatedKey { row, text })
    }

    async fn check_owner(&self, owner: &str, new: &NewKey, now: Timestamp) -> Result<Arc<str>, AuthAdminError> {
        let rows = self.store.list_keys().await?;
        let live = rows.iter().filter(|row| {
            row.label.is_none()
                && &*row.owner == owner
                && row.is_live(now)
                && *row.plugin == *new.plugin
                && *row.organization == *new.organization
                && row.environment == new.environment
        });
        match live.count() {
            0 => Err(AuthAdminError::OwnerUnknown(owner.to_owned())),
            count if count >= LIVE_KEYS_PER_OWNER => Err(AuthAdminError::OwnerFull(owner.to_owned())),
            _ => Ok(Arc::from(owner)),
        }
    }

    /// Returns all keys of operators and the newest of those that plugins issued, oldest first, including revoked ones.
    pub async fn list(&self) -> Result<Vec<KeyRow>, StoreError> {
        self.store.list_keys().await
    }

    /// Revokes a key. It is invalid in this process at once, and in other processes after at most `KEY_CACHE_MS`.
    ///
    /// Returns `None` if there is no such key. `operator` is recorded in the operators' journal.
    pub async fn revoke(&self, id: &str, now: Timestamp, operator: Option<&str>) -> Result<Option<KeyRow>, StoreError> {
        let row = self.store.revoke_key(id, now, operator).await?;
        if let Some(row) = &row {
            self.cache.evict(&row.hash);
            self.signing.clear();
        }
        Ok(row)
    }

    /// Evicts a key that a plugin issued or revoked in a committed call. `None` means that any key may have changed.
    pub fn on_credential_change(&self, change: Option<(&Scope, &CredentialChange)>) {
        match change {
            Some((scope, change)) => {
                self.cache.evict(change.hash());
                self.signing.evict_issued(scope, change.attributes());
            }
            None => {
                self.cache.clear();
                self.signing.clear();
            }
        }
    }

    /// Returns the API key that signs webhooks of a plugin and tenant, if one does.
    ///
    /// Without an attribute, returns the oldest valid signing key created by an operator: during a rotation the old key
    /// signs until it is revoked. With an attribute, returns the newest valid signing key that the plugin issued with
    /// it.
    pub async fn find_signing_key(
        &self,
        scope: &Scope,
        attribute: Option<&Attribute>,
        now: Timestamp,
    ) -> Result<Option<SecretText>, AuthAdminError> {
        self.signing.find(&*self.store, (scope, attribute), now).await
    }

    /// Returns the principal of a key or token for a plugin, and records its use.
    pub async fn authenticate(
        &self,
        text: &str,
        plugin: &str,
        now: Timestamp,
    ) -> Result<Arc<Principal>, CredentialError> {
        let key = self.check(text, plugin, now).await?;
        self.record_use(&key, now);
        Ok(Arc::clone(&key.principal))
    }

    /// Authenticates a token issued by the plugin. API keys are rejected.
    pub async fn authenticate_token(
        &self,
        text: &str,
        plugin: &str,
        now: Timestamp,
    ) -> Result<Arc<Principal>, CredentialError> {
        match credential_kind(text) {
            Some(CredentialKind::Token) => self.authenticate(text, plugin, now).await,
            _ => Err(CredentialError::Malformed),
        }
    }

    /// Returns true if the text is a valid key or token for the plugin. The use is not recorded.
    pub async fn is_valid(&self, text: &str, plugin: &str, now: Timestamp) -> bool {
        self.check(text, plugin, now).await.is_ok()
    }

    async fn check(&self, text: &str, plugin: &str, now: Timestamp) -> Result<Arc<KnownKey>, CredentialError> {
        if credential_kind(text).is_none() {
            return Err(CredentialError::Malformed);
        }
        let key = self.find(hash_text(text), now).await?.ok_or(CredentialError::Unknown)?;
        if key.row.revoked_at.is_some() {
            return Err(CredentialError::Revoked);
        }
        if !key.row.is_live(now) {
            return Err(CredentialError::Expired);
        }
        if &*key.row.plugin != "*" && &*key.row.plugin != plugin {
            return Err(CredentialError::OtherPlugin);
        }
        Ok(key)
    }

    async fn find(&self, hash: [u8; 32], now: Timestamp) -> Result<Option<Arc<KnownKey>>, StoreError> {
        if let Some(cached) = self.cache.find(&hash, now) {
            return Ok(cached);
        }
        let _permit = self.lookups.acquire().await.map_err(|_| StoreError("the host is stopping".to_owned()))?;
        if let Some(cached) = self.cache.find(&hash, now) {
            return Ok(cached);
        }
        let start = self.cache.begin();
        let row = self.store.find_key_by_hash(&hash).await?;
        // The index compares hashes in variable time, so the row that it found is compared again in constant time.
        let found = row.filter(|row| bool::from(row.hash.ct_eq(&hash))).map(|row| Arc::new(KnownKey::new(row)));
        self.cache.insert(&start, hash, found.clone(), now);
        Ok(found)
    }

    fn record_use(&self, key: &KnownKey, now: Timestamp) {
        let last = key.last_used_at.load(Ordering::Relaxed);
        let due = now.saturating_sub(last) >= KEY_USE_GRAIN_MS;
        if due && key.last_used_at.compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            self.uses.lock().insert(Arc::clone(&key.row.id), now);
        }
    }

    /// Writes the collected last uses and returns their number. Uses that could not be written are kept for the next
    /// flush.
    pub async fn flush_uses(&self) -> Result<usize, StoreError> {
        let uses: Vec<_> = std::mem::take(&mut *self.uses.lock()).into_iter().collect();
        if uses.is_empty() {
            return Ok(0);
        }
        if let Err(error) = self.store.touch_keys(&uses).await {
            let mut pending = self.uses.lock();
            for (id, at) in uses {
                pending.entry(id).or_insert(at);
            }
            return Err(error);
        }
        Ok(uses.len())
    }

    /// Writes last uses once a minute, and a final time at shutdown. `boot` spawns this task.
    pub async fn run_use_flusher(&self, stop: impl Future<Output = ()>) {
        tokio::pin!(stop);
        loop {
            let stopping = tokio::select! {
                () = &mut stop => true,
                () = tokio::time::sleep(Duration::from_millis(KEY_USE_GRAIN_MS)) => false,
            };
            if let Err(error) = self.flush_uses().await {
                tracing::warn!(%error, "failed to write last uses of keys; retrying in a minute");
            }
            if stopping {
                return;
            }
        }
    }
}

/// Checks the name of an organization. It has no slash, so that the tenants ("organization/environment") of two
/// organizations differ.
pub(super) fn check_organization(text: &str) -> Result<(), AuthAdminError> {
    let is_valid = (1..=64).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
    if is_valid { Ok(()) } else { Err(AuthAdminError::Organization(text.to_owned())) }
}

pub(super) fn check_scopes(scopes: &[String]) -> Result<(), AuthAdminError> {
    if scopes.len() > KEY_SCOPES_MAX {
        return Err(AuthAdminError::Scopes(scopes.len()));
    }
    scopes.iter().try_for_each(|scope| check_scope(scope))
}

fn check_scope(text: &str) -> Result<(), AuthAdminError> {
    if is_scope(text) { Ok(()) } else { Err(AuthAdminError::Scope(text.to_owned())) }
}

#[cfg(test)]
pub(crate) mod tests;
