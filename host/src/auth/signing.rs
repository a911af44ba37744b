//! Sealed copies of the API keys that sign webhooks, for interfaces that declare that their API keys sign.
//!
//! The copy of an operator's key is sealed under the master key. The copy of a key that a plugin issued is sealed under
//! the sealing root of the database.
//!
//! The text of a key is never logged. Invariants: a copy can be opened only for its own tenant and key. A key revoked
//! by this process stops signing at once. A key that expires, or that another process revokes, stops signing after at
//! most `KEY_CACHE_MS`.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;

use super::{AuthAdminError, KeyRow, cache::is_fresh, store::KeyStore};
use crate::{
    changes::{
        credential::{Attribute, copy_name},
        scope::Scope,
    },
    clock::Timestamp,
    limits::KEY_CACHE_ENTRIES,
    secrets::{MasterKeys, SealedRow, SealingRoot, SecretError, SecretName, SecretText},
};

const PURPOSE: &str = "signing-key";

pub(super) struct SigningKeys {
    master_keys: Arc<MasterKeys>,
    sealing: Arc<SealingRoot>,
    cache: Mutex<SigningCache>,
}

#[derive(Default)]
struct SigningCache {
    keys: HashMap<SignerScope, (Timestamp, Option<SecretText>)>,
    /// Counts changes of keys, so that a lookup that began before a change cannot insert a stale result.
    changes: u64,
}

/// Owner of a signing key. Without an attribute, the key was created by an operator.
type SignerScope = (Scope, Option<Attribute>);

impl SigningKeys {
    pub fn new(master_keys: Arc<MasterKeys>, sealing: Arc<SealingRoot>) -> SigningKeys {
        SigningKeys { master_keys, sealing, cache: Mutex::default() }
    }

    /// Seals the copy of a key for storage.
    pub fn seal(&self, row: &KeyRow, text: &str) -> Result<SealedRow, SecretError> {
        let name = operator_copy(row.tenant(), row.id.to_string());
        let sealed = self.master_keys.seal(&name, text.as_bytes())?;
        Ok(SealedRow { name, sealed })
    }

    /// Returns the oldest valid signing key of operators for a plugin and tenant. With an attribute, returns the newest
    /// valid signing key that the plugin issued with it.
    pub async fn find(
        &self,
        store: &dyn KeyStore,
        (scope, attribute): (&Scope, Option<&Attribute>),
        now: Timestamp,
    ) -> Result<Option<SecretText>, AuthAdminError> {
        let signer = (scope.clone(), attribute.cloned());
        let changes = {
            let cache = self.cache.lock();
            match cache.keys.get(&signer) {
                Some((at, key)) if is_fresh(*at, now) => return Ok(key.clone()),
                _ => cache.changes,
            }
        };
        let key = match attribute {
            None => store.find_signing_key(scope, now).await?.map(|(id, sealed)| self.open(scope, id, &sealed)),
            Some(attribute) => {
                let issued = store.find_issued_signer(scope, attribute, now).await?;
                issued.map(|(id, sealed)| self.open_issued(scope, &id, &sealed))
            }
        };
        let key = key.transpose()?;
        let mut cache = self.cache.lock();
        if cache.changes == changes {
            if cache.keys.len() >= KEY_CACHE_ENTRIES {
                cache.keys.clear();
            }
            cache.keys.insert(signer, (now, key.clone()));
        }
        Ok(key)
    }

    /// Clears the cache after a key was created or revoked.
    pub fn clear(&self) {
        let mut cache = self.cache.lock();
        cache.changes += 1;
        cache.keys.clear();
    }

    /// Evicts the entries of a key that a plugin issued or revoked with these attributes.
    pub fn evict_issued(&self, scope: &Scope, attributes: &[Attribute]) {
        let mut cache = self.cache.lock();
        cache.changes += 1;
        for attribute in attributes {
            cache.keys.remove(&(scope.clone(), Some(attribute.clone())));
        }
    }

    fn open(&self, scope: &Scope, id: String, sealed: &[u8]) -> Result<SecretText, SecretError> {
        secret_text(&self.master_keys.open(&operator_copy(scope.tenant().to_string(), id), sealed)?)
    }

    fn open_issued(&self, scope: &Scope, id: &str, sealed: &[u8]) -> Result<SecretText, SecretError> {
        secret_text(&self.sealing.open(&copy_name(scope, id), sealed)?)
    }
}

fn secret_text(plain: &[u8]) -> Result<SecretText, SecretError> {
    let text = std::str::from_utf8(plain).map_err(|_| SecretError::CannotOpen)?;
    Ok(SecretText::new(text.to_owned()))
}

fn operator_copy(tenant: String, id: String) -> SecretName {
    SecretName { tenant, purpose: PURPOSE.to_owned(), name: id }
}
