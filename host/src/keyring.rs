//! Seeds of tenants: created at the first use or imported by an operator, sealed at rest, opened for one use.
//!
//! Owns the seed of each plugin and tenant and how it is stored. A seed is never logged or returned to a plugin. Only
//! an operator's command returns a phrase (`export`). `tenon_keyring` derives keys from a seed, and `capability` checks
//! what a plugin may request. Invariants:
//!
//! - A seed is durable before anything is derived from it, and is never replaced by another one.
//! - A stored seed is sealed under the master key, bound to its plugin and tenant.
//! - The cache holds only sealed seeds. An opened seed exists for one use, and is then wiped.

mod stored;

use std::{collections::HashMap, sync::Arc};

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tenon_keyring::{KeyringError, Seed, SeedPhrase};

use crate::{
    changes::operator_action::OperatorAction,
    changes::scope::Scope,
    limits::{SEED_ENTROPY_BYTES, SEEDS_KEPT},
    secrets::{MasterKeys, SecretError, SecretName, new_key_text},
};
use stored::StoredSeed;

/// Purpose of seeds in the names of sealed secrets.
pub const SEED_PURPOSE: &str = "seed";

/// The database interface of the keyring.
pub trait SeedStore: Send + Sync + 'static {
    fn find_seed<'a>(&'a self, name: &'a SecretName) -> BoxFuture<'a, Result<Option<Vec<u8>>, String>>;
    /// Inserts a seed. Durable on return. Returns false if a seed is stored already, which is kept.
    fn insert_seed<'a>(
        &'a self,
        name: &'a SecretName,
        sealed: &'a [u8],
        action: Option<OperatorAction>,
    ) -> BoxFuture<'a, Result<bool, String>>;
}

#[derive(Debug, thiserror::Error)]
pub enum SeedError {
    #[error("failed to read or write seeds: {0}")]
    Store(String),
    #[error(transparent)]
    Secret(#[from] SecretError),
    #[error(transparent)]
    Keyring(#[from] KeyringError),
    /// An operator imports a seed for a tenant that has another one.
    #[error("this tenant has a seed already, and it is another one")]
    Taken,
}

/// Seeds of all plugins and tenants.
pub struct Keyring {
    store: Arc<dyn SeedStore>,
    master_keys: Arc<MasterKeys>,
    /// Sealed seeds, as in the database.
    sealed: Mutex<HashMap<Scope, Arc<[u8]>>>,
}

/// A store without seeds. Every operation fails.
struct Closed;

impl SeedStore for Closed {
    fn find_seed<'a>(&'a self, _name: &'a SecretName) -> BoxFuture<'a, Result<Option<Vec<u8>>, String>> {
        Box::pin(async { Err("this host stores no seeds".to_owned()) })
    }

    fn insert_seed<'a>(
        &'a self,
        _name: &'a SecretName,
        _sealed: &'a [u8],
        _action: Option<OperatorAction>,
    ) -> BoxFuture<'a, Result<bool, String>> {
        Box::pin(async { Err("this host stores no seeds".to_owned()) })
    }
}

impl Keyring {
    /// Returns a keyring without keys, for loading plugins without running them.
    pub fn closed() -> Result<Keyring, SecretError> {
        let master_keys = MasterKeys::parse(&new_key_text()?)?;
        Ok(Keyring::new(Arc::new(Closed), Arc::new(master_keys)))
    }

    pub fn new(store: Arc<dyn SeedStore>, master_keys: Arc<MasterKeys>) -> Keyring {
        Keyring { store, master_keys, sealed: Mutex::default() }
    }

    /// Returns the seed of a plugin and tenant for one use. The first use creates it.
    pub async fn seed(&self, scope: &Scope) -> Result<Seed, SeedError> {
        let known = self.sealed.lock().get(scope).cloned();
        let sealed = match known {
            Some(sealed) => sealed,
            None => self.find_or_create(scope).await?,
        };
        self.open(&name_of(scope), &sealed)?.seed()
    }

    /// Returns the phrase of a seed, for an operator's backup only. Returns `None` if the seed does not exist yet.
    pub async fn export(&self, scope: &Scope) -> Result<Option<SeedPhrase>, SeedError> {
        let name = name_of(scope);
        let Some(sealed) = self.store.find_seed(&name).await.map_err(SeedError::Store)? else { return Ok(None) };
        Ok(Some(self.open(&name, &sealed)?.phrase()?))
    }

    /// Imports an operator's phrase for a plugin and tenant without a seed. Returns false if they already have the same
    /// seed. Fails with `Taken` if they have another one.
    ///
    /// `action` is written to the operators' journal.
    pub async fn import(&self, scope: &Scope, phrase: &SeedPhrase, action: OperatorAction) -> Result<bool, SeedError> {
        let name = name_of(scope);
        let seed = StoredSeed::new(phrase);
        let sealed = self.master_keys.seal(&name, seed.as_bytes())?;
        if self.store.insert_seed(&name, &sealed, Some(action)).await.map_err(SeedError::Store)? {
            return Ok(true);
        }
        match self.store.find_seed(&name).await.map_err(SeedError::Store)? {
            Some(sealed) if self.open(&name, &sealed)?.is_same(&seed) => Ok(false),
            _ => Err(SeedError::Taken),
        }
    }

    async fn find_or_create(&self, scope: &Scope) -> Result<Arc<[u8]>, SeedError> {
        let name = name_of(scope);
        let sealed = match self.store.find_seed(&name).await.map_err(SeedError::Store)? {
            Some(sealed) => sealed,
            None => self.create(&name).await?,
        };
        let sealed: Arc<[u8]> = sealed.into();
        let mut known = self.sealed.lock();
        if known.len() >= SEEDS_KEPT {
            known.clear();
        }
        known.insert(scope.clone(), sealed.clone());
        Ok(sealed)
    }

    /// Creates a seed. If two calls create one at the same time, the first one is stored and both use it.
    async fn create(&self, name: &SecretName) -> Result<Vec<u8>, SeedError> {
        let mut entropy = zeroize::Zeroizing::new([0; SEED_ENTROPY_BYTES]);
        getrandom::fill(entropy.as_mut()).map_err(SecretError::Random)?;
        let phrase = SeedPhrase::from_entropy(entropy.as_ref())?;
        let sealed = self.master_keys.seal(name, StoredSeed::new(&phrase).as_bytes())?;
        if self.store.insert_seed(name, &sealed, None).await.map_err(SeedError::Store)? {
            return Ok(sealed);
        }
        let found = self.store.find_seed(name).await.map_err(SeedError::Store)?;
        found.ok_or_else(|| SeedError::Store("a stored seed has disappeared".to_owned()))
    }

    fn open(&self, name: &SecretName, sealed: &[u8]) -> Result<StoredSeed, SeedError> {
        Ok(StoredSeed::from_bytes(self.master_keys.open(name, sealed)?)?)
    }
}

impl std::fmt::Debug for Keyring {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Keyring")
    }
}

fn name_of(scope: &Scope) -> SecretName {
    SecretName { tenant: scope.tenant().to_string(), purpose: SEED_PURPOSE.into(), name: scope.plugin().to_string() }
}

#[cfg(test)]
mod tests;
