//! Keys that webhooks are signed with, where an interface says that its API keys sign: their copies, sealed under the master
//! key, or where a plugin issued them under the root of the database.
//!
//! Never logs or shows the text of a key. Invariants: a copy opens for its own tenant and key only; what this process revoked
//! signs nothing from then on, what ended otherwise `KEY_CACHE_MS` later at the latest.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;

use super::{AuthError, KeyRow, cache::is_fresh, store::KeyStore};
use crate::clock::Timestamp;
use crate::{
    changes::{
        credential::{Attribute, copy_name},
        scope::Scope,
    },
    limits::KEY_CACHE_ENTRIES,
    secrets::{MasterKeys, SealedRow, SealingRoot, SecretError, SecretName, SecretText},
};

const PURPOSE: &str = "signing-key";

pub(super) struct SigningKeys {
    master_keys: Arc<MasterKeys>,
    sealing: Arc<SealingRoot>,
    found: Mutex<Found>,
}

#[derive(Default)]
struct Found {
    keys: HashMap<Place, (Timestamp, Option<SecretText>)>,
    /// Counts changes of keys, so that a look-up that began before cannot bring back what it found.
    changes: u64,
}

/// Whose key it is; without an attribute one of the operators'.
type Place = (Scope, Option<Attribute>);

impl SigningKeys {
    pub fn new(master_keys: Arc<MasterKeys>, sealing: Arc<SealingRoot>) -> SigningKeys {
        SigningKeys { master_keys, sealing, found: Mutex::default() }
    }

    /// The copy of a key, to be stored.
    pub fn seal(&self, row: &KeyRow, text: &str) -> Result<SealedRow, SecretError> {
        let name = operators_copy(row.tenant(), row.id.to_string());
        let sealed = self.master_keys.seal(&name, text.as_bytes())?;
        Ok(SealedRow { name, sealed })
    }

    /// The oldest valid one of the operators' that signs for this plugin and tenant, or the newest that the plugin issued with
    /// this attribute.
    pub async fn find(
        &self,
        store: &dyn KeyStore,
        (scope, attribute): (&Scope, Option<&Attribute>),
        now: Timestamp,
    ) -> Result<Option<SecretText>, AuthError> {
        let place = (scope.clone(), attribute.cloned());
        let changes = {
            let found = self.found.lock();
            match found.keys.get(&place) {
                Some((at, key)) if is_fresh(*at, now) => return Ok(key.clone()),
                _ => found.changes,
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
        let mut found = self.found.lock();
        if found.changes == changes {
            if found.keys.len() >= KEY_CACHE_ENTRIES {
                found.keys.clear();
            }
            found.keys.insert(place, (now, key.clone()));
        }
        Ok(key)
    }

    /// A key was made or revoked.
    pub fn forget(&self) {
        let mut found = self.found.lock();
        found.changes += 1;
        found.keys.clear();
    }

    /// A plugin issued or revoked one with these attributes.
    pub fn forget_issued(&self, scope: &Scope, attributes: &[Attribute]) {
        let mut found = self.found.lock();
        found.changes += 1;
        for attribute in attributes {
            found.keys.remove(&(scope.clone(), Some(attribute.clone())));
        }
    }

    fn open(&self, scope: &Scope, id: String, sealed: &[u8]) -> Result<SecretText, SecretError> {
        secret_text(&self.master_keys.open(&operators_copy(scope.tenant().to_string(), id), sealed)?)
    }

    fn open_issued(&self, scope: &Scope, id: &str, sealed: &[u8]) -> Result<SecretText, SecretError> {
        secret_text(&self.sealing.open(&copy_name(scope, id), sealed)?)
    }
}

fn secret_text(plain: &[u8]) -> Result<SecretText, SecretError> {
    let text = std::str::from_utf8(plain).map_err(|_| SecretError::Refused)?;
    Ok(SecretText::new(text.to_owned()))
}

fn operators_copy(tenant: String, id: String) -> SecretName {
    SecretName { tenant, purpose: PURPOSE.to_owned(), name: id }
}
