//! Seeds of tenants: made at the first use, sealed at rest, opened for one use.
//!
//! Owns which seed belongs to whom and how it is stored. Never logs one, never gives one to a plugin; only an operator's
//! command sees a phrase (`export`). What is done with a seed is `tenon_keyring`'s, what a plugin may ask `capability`'s. Invariants:
//!
//! - A seed is on disk before anything was derived from it, and never replaced by another one.
//! - It is sealed under the master key, bound to its plugin and tenant.
//! - In memory lies what is sealed. An opened seed lives as long as one use, and is wiped.

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

/// Of the names of sealed secrets.
pub const SEED_PURPOSE: &str = "seed";

/// What the keyring asks of the database.
pub trait SeedStore: Send + Sync + 'static {
    fn find_seed<'a>(&'a self, name: &'a SecretName) -> BoxFuture<'a, Result<Option<Vec<u8>>, String>>;
    /// Durable when it returns. `false`: there was one already, and it stays.
    fn insert_seed<'a>(
        &'a self,
        name: &'a SecretName,
        sealed: &'a [u8],
        action: Option<OperatorAction>,
    ) -> BoxFuture<'a, Result<bool, String>>;
}

#[derive(Debug, thiserror::Error)]
pub enum SeedError {
    #[error("seeds cannot be read or written: {0}")]
    Store(String),
    #[error(transparent)]
    Secret(#[from] SecretError),
    #[error(transparent)]
    Keyring(#[from] KeyringError),
    /// An operator brings one for a tenant that has another.
    #[error("this tenant has a seed already, and it is another one")]
    Taken,
}

/// Seeds of all plugins and tenants.
pub struct Keyring {
    store: Arc<dyn SeedStore>,
    master_keys: Arc<MasterKeys>,
    /// As they lie in the database.
    sealed: Mutex<HashMap<Scope, Arc<[u8]>>>,
}

/// No seeds are stored, and none can be.
struct Closed;

impl SeedStore for Closed {
    fn find_seed<'a>(&'a self, _name: &'a SecretName) -> BoxFuture<'a, Result<Option<Vec<u8>>, String>> {
        Box::pin(async { Err("no seeds are kept here".to_owned()) })
    }

    fn insert_seed<'a>(
        &'a self,
        _name: &'a SecretName,
        _sealed: &'a [u8],
        _action: Option<OperatorAction>,
    ) -> BoxFuture<'a, Result<bool, String>> {
        Box::pin(async { Err("no seeds are kept here".to_owned()) })
    }
}

impl Keyring {
    /// Has no keys: for who loads plugins without running them.
    pub fn closed() -> Result<Keyring, SecretError> {
        let master_keys = MasterKeys::parse(&new_key_text()?)?;
        Ok(Keyring::new(Arc::new(Closed), Arc::new(master_keys)))
    }

    pub fn new(store: Arc<dyn SeedStore>, master_keys: Arc<MasterKeys>) -> Keyring {
        Keyring { store, master_keys, sealed: Mutex::default() }
    }

    /// For one use. The first use of a plugin and tenant makes it.
    pub async fn seed(&self, scope: &Scope) -> Result<Seed, SeedError> {
        let known = self.sealed.lock().get(scope).cloned();
        let sealed = match known {
            Some(sealed) => sealed,
            None => self.find_or_make(scope).await?,
        };
        self.open(&name_of(scope), &sealed)?.seed()
    }

    /// `None`: nothing has used it yet. For an operator's backup alone.
    pub async fn export(&self, scope: &Scope) -> Result<Option<SeedPhrase>, SeedError> {
        let name = name_of(scope);
        let Some(sealed) = self.store.find_seed(&name).await.map_err(SeedError::Store)? else { return Ok(None) };
        Ok(Some(self.open(&name, &sealed)?.phrase()?))
    }

    /// An operator's phrase for a tenant that has none yet; the same one again changes nothing. Says whether it is new here.
    /// `action`: for the operators' journal.
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

    async fn find_or_make(&self, scope: &Scope) -> Result<Arc<[u8]>, SeedError> {
        let name = name_of(scope);
        let sealed = match self.store.find_seed(&name).await.map_err(SeedError::Store)? {
            Some(sealed) => sealed,
            None => self.make(&name).await?,
        };
        let sealed: Arc<[u8]> = sealed.into();
        let mut known = self.sealed.lock();
        if known.len() >= SEEDS_KEPT {
            known.clear();
        }
        known.insert(scope.clone(), sealed.clone());
        Ok(sealed)
    }

    /// Of two that make one at the same time the first wins, and both use that.
    async fn make(&self, name: &SecretName) -> Result<Vec<u8>, SeedError> {
        let mut entropy = zeroize::Zeroizing::new([0; SEED_ENTROPY_BYTES]);
        getrandom::fill(entropy.as_mut()).map_err(SecretError::Random)?;
        let phrase = SeedPhrase::from_entropy(entropy.as_ref())?;
        let sealed = self.master_keys.seal(name, StoredSeed::new(&phrase).as_bytes())?;
        if self.store.insert_seed(name, &sealed, None).await.map_err(SeedError::Store)? {
            return Ok(sealed);
        }
        let found = self.store.find_seed(name).await.map_err(SeedError::Store)?;
        found.ok_or_else(|| SeedError::Store("a seed was there and is not any more".to_owned()))
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
