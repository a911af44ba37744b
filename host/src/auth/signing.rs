//! Keys that webhooks are signed with, where an interface says that its API keys sign: their copies, sealed under the master key.
//!
//! Never logs or shows the text of a key. Invariants: a copy opens for its own tenant and key only; what this process revoked
//! signs nothing from then on, what ended otherwise `KEY_CACHE_MS` later at the latest.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;

use super::{AuthError, KeyRow, cache::is_fresh, store::KeyStore};
use crate::{
    changes::{change_set::Timestamp, scope::Scope},
    limits::KEY_CACHE_ENTRIES,
    secrets::{MasterKeys, SealedRow, SecretError, SecretName, SecretText},
};

const PURPOSE: &str = "signing-key";

pub(super) struct SigningKeys {
    master_keys: Arc<MasterKeys>,
    found: Mutex<Found>,
}

#[derive(Default)]
struct Found {
    scopes: HashMap<Scope, (Timestamp, Option<SecretText>)>,
    /// Counts changes of keys, so that a look-up that began before cannot bring back what it found.
    changes: u64,
}

impl SigningKeys {
    pub fn new(master_keys: Arc<MasterKeys>) -> SigningKeys {
        SigningKeys { master_keys, found: Mutex::default() }
    }

    /// The copy of a key, to be stored.
    pub fn seal(&self, row: &KeyRow, text: &str) -> Result<SealedRow, SecretError> {
        let name = copy_name(row.tenant(), row.id.to_string());
        let sealed = self.master_keys.seal(&name, text.as_bytes())?;
        Ok(SealedRow { name, sealed })
    }

    /// The oldest valid key that signs for this plugin and tenant.
    pub async fn find(
        &self,
        store: &dyn KeyStore,
        scope: &Scope,
        now: Timestamp,
    ) -> Result<Option<SecretText>, AuthError> {
        let changes = {
            let found = self.found.lock();
            match found.scopes.get(scope) {
                Some((at, key)) if is_fresh(*at, now) => return Ok(key.clone()),
                _ => found.changes,
            }
        };
        let key = match store.find_signing_key(scope, now).await? {
            Some((id, sealed)) => Some(self.open(scope, id, &sealed)?),
            None => None,
        };
        let mut found = self.found.lock();
        if found.changes == changes {
            if found.scopes.len() >= KEY_CACHE_ENTRIES {
                found.scopes.clear();
            }
            found.scopes.insert(scope.clone(), (now, key.clone()));
        }
        Ok(key)
    }

    /// A key was made or revoked.
    pub fn forget(&self) {
        let mut found = self.found.lock();
        found.changes += 1;
        found.scopes.clear();
    }

    fn open(&self, scope: &Scope, id: String, sealed: &[u8]) -> Result<SecretText, SecretError> {
        let plain = self.master_keys.open(&copy_name(scope.tenant().to_string(), id), sealed)?;
        let text = std::str::from_utf8(&plain).map_err(|_| SecretError::Refused)?;
        Ok(SecretText::new(text.to_owned()))
    }
}

fn copy_name(tenant: String, id: String) -> SecretName {
    SecretName { tenant, purpose: PURPOSE.to_owned(), name: id }
}
