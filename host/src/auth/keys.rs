//! Keys: create, list, revoke, authenticate, find the one that signs, and when each was last used.
//!
//! Never answers from memory for longer than `KEY_CACHE_MS`, and never after this process revoked a key. Last uses are
//! gathered in memory and written a batch at a time: a request never waits for them.

use std::{
    collections::HashMap,
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use subtle::ConstantTimeEq;
use tokio::sync::Semaphore;
use zeroize::Zeroizing;

use super::{
    AuthError, Denied, Environment, KeyRow, Principal, PrincipalKind,
    cache::Cache,
    key::{generate_id, generate_text, hash_text, kind_of_text},
    signing::SigningKeys,
    store::{KeyStore, StoreError},
};
use crate::clock::Timestamp;
use crate::{
    changes::{
        credential::{Attribute, CredentialChange, CredentialKind, is_scope},
        operator_action::OperatorAction,
        scope::Scope,
    },
    limits::{KEY_LOOKUPS_AT_ONCE, KEY_SCOPES_MAX, KEY_USE_GRAIN_MS, LIVE_KEYS_PER_OWNER},
    secrets::{MasterKeys, SealingRoot, SecretText},
};

pub struct Keys {
    store: Arc<dyn KeyStore>,
    cache: Cache,
    signing: SigningKeys,
    /// Keys that expire from the cache at the same moment under load ask once, not once a request.
    lookups: Semaphore,
    uses: Mutex<HashMap<Arc<str>, Timestamp>>,
    /// Counting the live keys of an owner and adding one is one step in this process.
    creating: tokio::sync::Mutex<()>,
}

/// A row, prepared for requests.
pub(super) struct KnownKey {
    row: KeyRow,
    principal: Arc<Principal>,
    /// 0: never.
    last_used_at: AtomicU64,
}

/// What an operator asks for.
#[derive(Clone, Debug)]
pub struct NewKey {
    /// "*" opens every plugin.
    pub plugin: String,
    pub organization: String,
    pub environment: Environment,
    pub scopes: Vec<String>,
    pub attributes: Vec<(String, String)>,
    /// Of the key that this one will replace; `None` makes a new owner.
    pub owner: Option<String>,
    pub expires_at: Option<Timestamp>,
    /// Whether webhooks may be signed with it.
    pub signs: bool,
    /// The operator who makes it, for the operators' journal; `None`: the host itself.
    pub operator: Option<String>,
}

/// The only time that the text is shown.
pub struct CreatedKey {
    pub row: KeyRow,
    pub text: Zeroizing<String>,
}

impl Keys {
    /// What seals the copies of keys that sign: `master_keys` those of operators, `sealing` those that plugins hand out.
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

    /// # Errors
    /// What is wrong with the request; an owner that has no live key, or two already.
    pub async fn create(&self, new: NewKey, now: Timestamp) -> Result<CreatedKey, AuthError> {
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
            OperatorAction::done(now, operator, (&row.plugin, "create-key"), target)
        });
        self.store.insert_key(&row, copy, action).await?;
        self.cache.forget(&row.hash);
        self.signing.forget();
        Ok(CreatedKey { row, text })
    }

    async fn check_owner(&self, owner: &str, new: &NewKey, now: Timestamp) -> Result<Arc<str>, AuthError> {
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
            0 => Err(AuthError::OwnerUnknown(owner.to_owned())),
            count if count >= LIVE_KEYS_PER_OWNER => Err(AuthError::OwnerFull(owner.to_owned())),
            _ => Ok(Arc::from(owner)),
        }
    }

    /// All keys, oldest first, revoked ones included.
    pub async fn list(&self) -> Result<Vec<KeyRow>, StoreError> {
        self.store.list_keys().await
    }

    /// From here on the key opens and signs nothing in this process; elsewhere after `KEY_CACHE_MS` at the latest.
    /// `None`: no such key. `operator`: for the operators' journal.
    pub async fn revoke(&self, id: &str, now: Timestamp, operator: Option<&str>) -> Result<Option<KeyRow>, StoreError> {
        let row = self.store.revoke_key(id, now, operator).await?;
        if let Some(row) = &row {
            self.cache.forget(&row.hash);
            self.signing.forget();
        }
        Ok(row)
    }

    /// A call of a plugin issued or revoked it, which is durable; `None`: it may have been any.
    pub fn note_change(&self, change: Option<(&Scope, &CredentialChange)>) {
        match change {
            Some((scope, change)) => {
                self.cache.forget(change.hash());
                self.signing.forget_issued(scope, change.attributes());
            }
            None => {
                self.cache.forget_all();
                self.signing.forget();
            }
        }
    }

    /// What webhooks of this plugin and tenant are signed with, where its API keys sign. Without an attribute the oldest valid
    /// key that operators made to: while one replaces another, the old one signs until it is revoked. With one, the newest
    /// valid key that the plugin made to and that carries it.
    pub async fn find_signing_key(
        &self,
        scope: &Scope,
        attribute: Option<&Attribute>,
        now: Timestamp,
    ) -> Result<Option<SecretText>, AuthError> {
        self.signing.find(&*self.store, (scope, attribute), now).await
    }

    /// Who the bearer of this text is, to this plugin.
    pub async fn authenticate(&self, text: &str, plugin: &str, now: Timestamp) -> Result<Arc<Principal>, Denied> {
        let key = self.judge(text, plugin, now).await?;
        self.note_use(&key, now);
        Ok(Arc::clone(&key.principal))
    }

    /// The same where nothing but a token that the plugin handed out counts.
    pub async fn authenticate_token(&self, text: &str, plugin: &str, now: Timestamp) -> Result<Arc<Principal>, Denied> {
        match kind_of_text(text) {
            Some(CredentialKind::Token) => self.authenticate(text, plugin, now).await,
            _ => Err(Denied::Malformed),
        }
    }

    /// Whether the text would open this plugin. Not a use of the key.
    pub async fn opens(&self, text: &str, plugin: &str, now: Timestamp) -> bool {
        self.judge(text, plugin, now).await.is_ok()
    }

    async fn judge(&self, text: &str, plugin: &str, now: Timestamp) -> Result<Arc<KnownKey>, Denied> {
        if kind_of_text(text).is_none() {
            return Err(Denied::Malformed);
        }
        let key = self.find(hash_text(text), now).await?.ok_or(Denied::Unknown)?;
        if key.row.revoked_at.is_some() {
            return Err(Denied::Revoked);
        }
        if !key.row.is_live(now) {
            return Err(Denied::Expired);
        }
        if &*key.row.plugin != "*" && &*key.row.plugin != plugin {
            return Err(Denied::OtherPlugin);
        }
        Ok(key)
    }

    async fn find(&self, hash: [u8; 32], now: Timestamp) -> Result<Option<Arc<KnownKey>>, StoreError> {
        if let Some(cached) = self.cache.find(&hash, now) {
            return Ok(cached);
        }
        let _turn = self.lookups.acquire().await.map_err(|_| StoreError("the host is stopping".to_owned()))?;
        if let Some(cached) = self.cache.find(&hash, now) {
            return Ok(cached);
        }
        let began = self.cache.begin();
        let row = self.store.find_key_by_hash(&hash).await?;
        // The map was asked by a hash of the secret; what it gave is compared in constant time all the same.
        let found = row.filter(|row| bool::from(row.hash.ct_eq(&hash))).map(|row| Arc::new(KnownKey::new(row)));
        self.cache.keep(&began, hash, found.clone(), now);
        Ok(found)
    }

    fn note_use(&self, key: &KnownKey, now: Timestamp) {
        let last = key.last_used_at.load(Ordering::Relaxed);
        let due = now.saturating_sub(last) >= KEY_USE_GRAIN_MS;
        if due && key.last_used_at.compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            self.uses.lock().insert(Arc::clone(&key.row.id), now);
        }
    }

    /// Writes the last uses that were gathered; returns how many. What fails is kept for the next time.
    pub async fn flush_uses(&self) -> Result<usize, StoreError> {
        let uses: Vec<_> = std::mem::take(&mut *self.uses.lock()).into_iter().collect();
        if uses.is_empty() {
            return Ok(0);
        }
        if let Err(error) = self.store.touch_keys(&uses).await {
            let mut gathered = self.uses.lock();
            for (id, at) in uses {
                gathered.entry(id).or_insert(at);
            }
            return Err(error);
        }
        Ok(uses.len())
    }

    /// The worker behind last uses: once a minute, and once more at the end. `boot` spawns it.
    pub async fn keep_flushing(&self, stop: impl Future<Output = ()>) {
        tokio::pin!(stop);
        loop {
            let stopping = tokio::select! {
                () = &mut stop => true,
                () = tokio::time::sleep(Duration::from_millis(KEY_USE_GRAIN_MS)) => false,
            };
            if let Err(error) = self.flush_uses().await {
                tracing::warn!(%error, "last uses of keys could not be written; tried again in a minute");
            }
            if stopping {
                return;
            }
        }
    }
}

impl KnownKey {
    fn new(row: KeyRow) -> KnownKey {
        let principal = Principal {
            tenant: row.tenant().into(),
            environment: row.environment.name(),
            kind: match row.kind {
                CredentialKind::ApiKey => PrincipalKind::ApiKey,
                CredentialKind::Token => PrincipalKind::Token,
            },
            subject: Arc::clone(&row.id),
            owner: Arc::clone(&row.owner),
            scopes: row.scopes.clone(),
            attributes: row.attributes.clone(),
        };
        let last_used_at = AtomicU64::new(row.last_used_at.unwrap_or(0));
        KnownKey { row, principal: Arc::new(principal), last_used_at }
    }
}

/// No slash: tenants are "organization/environment", and two of them must never spell the same.
pub(super) fn check_organization(text: &str) -> Result<(), AuthError> {
    let sound = (1..=64).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
    if sound { Ok(()) } else { Err(AuthError::Organization(text.to_owned())) }
}

pub(super) fn check_scopes(scopes: &[String]) -> Result<(), AuthError> {
    if scopes.len() > KEY_SCOPES_MAX {
        return Err(AuthError::Scopes(scopes.len()));
    }
    scopes.iter().try_for_each(|scope| check_scope(scope))
}

fn check_scope(text: &str) -> Result<(), AuthError> {
    if is_scope(text) { Ok(()) } else { Err(AuthError::Scope(text.to_owned())) }
}

#[cfg(test)]
pub(crate) mod tests;
