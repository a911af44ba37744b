//! The host's own token keys: one that signs, and previous ones, which verify until their last token has expired.
//!
//! Invariant: keys are stored before they are used. They are stored as one sealed secret, so that a rotation is atomic.

use std::sync::Arc;

use arc_swap::ArcSwap;
use base64::{Engine, engine::general_purpose::STANDARD};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use zeroize::{Zeroize, Zeroizing};

use super::{
    Algorithm, KeyRotation, OAuthError, OAuthStore, Settings,
    jwk::KeySet,
    signing::{self, SigningKey},
};
use crate::clock::Timestamp;
use crate::{
    changes::operator_action::{OperatorAction, ROTATE_TOKEN_KEYS},
    config::keys::TOKEN_LIFETIME,
    limits::{OWN_KEYS_MAX, TOKEN_LEEWAY_MS},
};

pub(super) struct OwnKeys {
    keys: ArcSwap<Vec<OwnKey>>,
    /// Makes reading, adding a key and storing atomic in this process.
    rotating: tokio::sync::Mutex<()>,
}

/// A key in memory. The first key of a list signs.
#[derive(Clone)]
struct OwnKey {
    key: Arc<SigningKey>,
    stored: StoredKey,
}

#[derive(Clone, Serialize, Deserialize)]
struct StoredKey {
    algorithm: String,
    /// PKCS #8 in base64.
    pkcs8: String,
    /// Time at which the key stops verifying. `None` for the key that signs.
    until: Option<Timestamp>,
    /// Longest lifetime of the tokens that the key has signed. For a key stored by an older version, which did not
    /// record it, the longest lifetime that the setting allows.
    #[serde(default = "longest_token_ms")]
    token_ms: u64,
}

fn longest_token_ms() -> u64 {
    TOKEN_LIFETIME.max
}

impl Drop for StoredKey {
    fn drop(&mut self) {
        self.pkcs8.zeroize();
    }
}

impl OwnKeys {
    /// Loads the keys. If the host issues tokens, creates a key if there is none or if the operator has chosen another
    /// algorithm, and stores a longer token lifetime for the key that signs.
    pub async fn open(store: &dyn OAuthStore, settings: &Settings, now: Timestamp) -> Result<OwnKeys, OAuthError> {
        let stored: Vec<StoredKey> = match store.load_keys().await? {
            Some(text) => serde_json::from_slice(&text).map_err(|_| OAuthError::Key("cannot be read"))?,
            None => Vec::new(),
        };
        let mut keys = stored.into_iter().map(OwnKey::load).collect::<Result<Vec<_>, _>>()?;
        let is_current = keys.first().is_some_and(|own| own.key.algorithm == settings.algorithm);
        if let Some(own) = keys.first_mut()
            && is_current
            && settings.issuer.is_some()
            && own.stored.token_ms < settings.token_ms
        {
            own.stored.token_ms = settings.token_ms;
            store.save_keys(&serialize(&keys)?, None).await?;
        }
        let own_keys = OwnKeys { keys: ArcSwap::from_pointee(keys), rotating: tokio::sync::Mutex::default() };
        if !is_current && settings.issuer.is_some() {
            own_keys.rotate(store, settings, (now, None)).await?;
        }
        Ok(own_keys)
    }

    pub async fn rotate(
        &self,
        store: &dyn OAuthStore,
        settings: &Settings,
        (now, operator): (Timestamp, Option<&str>),
    ) -> Result<KeyRotation, OAuthError> {
        let _guard = self.rotating.lock().await;
        let algorithm = settings.algorithm;
        if self.valid(now).count() >= OWN_KEYS_MAX {
            return Err(OAuthError::Keys);
        }
        // Generating an RSA key uses a core for a second.
        let pkcs8 = tokio::task::spawn_blocking(move || signing::generate(algorithm)).await;
        let pkcs8 = pkcs8.map_err(|_| OAuthError::Key("cannot be generated"))??;
        let mut keys = vec![OwnKey::load(StoredKey {
            algorithm: algorithm.name().to_owned(),
            pkcs8: STANDARD.encode(pkcs8.as_slice()),
            until: None,
            token_ms: settings.token_ms,
        })?];
        for mut own in self.valid(now) {
            // The setting may have been shortened since the key signed its last tokens.
            let token_ms = own.stored.token_ms.max(settings.token_ms);
            own.stored.until.get_or_insert(now.saturating_add(token_ms).saturating_add(TOKEN_LEEWAY_MS));
            keys.push(own);
        }
        let text = serialize(&keys)?;
        let mut ids = keys.iter().map(|own| own.key.id.clone());
        let rotation = KeyRotation { key: ids.next().unwrap_or_default(), algorithm, previous: ids.collect() };
        let action = operator.map(|operator| {
            let target = format!("{} signs from now on", rotation.key);
            OperatorAction::done(now, operator, ("*", ROTATE_TOKEN_KEYS), target)
        });
        store.save_keys(&text, action).await?;
        self.keys.store(Arc::new(keys));
        Ok(rotation)
    }

    /// Returns the key that signs. `None` only if the host issues no tokens.
    pub fn current(&self) -> Option<Arc<SigningKey>> {
        self.keys.load().first().map(|own| Arc::clone(&own.key))
    }

    /// Returns the public keys that verify at this time.
    pub fn public(&self, now: Timestamp) -> KeySet {
        KeySet::from(self.valid(now).map(|own| own.key.public().clone()).collect::<Vec<_>>())
    }

    pub fn jwks(&self, now: Timestamp) -> Vec<Value> {
        self.valid(now).map(|own| own.key.jwk()).collect()
    }

    fn valid(&self, now: Timestamp) -> impl Iterator<Item = OwnKey> + use<> {
        let keys = self.keys.load_full();
        let valid: Vec<OwnKey> =
            keys.iter().filter(|own| own.stored.until.is_none_or(|until| now < until)).cloned().collect();
        valid.into_iter()
    }
}

fn serialize(keys: &[OwnKey]) -> Result<Zeroizing<Vec<u8>>, OAuthError> {
    let stored: Vec<&StoredKey> = keys.iter().map(|own| &own.stored).collect();
    // Allocated once: a buffer that grows would leave copies behind.
    let length = stored.iter().map(|stored| stored.pkcs8.len() + 128).sum();
    let mut text = Zeroizing::new(Vec::with_capacity(length));
    serde_json::to_writer(&mut *text, &stored).map_err(|_| OAuthError::Key("cannot be serialised"))?;
    Ok(text)
}

impl OwnKey {
    fn load(stored: StoredKey) -> Result<OwnKey, OAuthError> {
        let algorithm = Algorithm::parse(&stored.algorithm).ok_or(OAuthError::Key("has an unknown algorithm"))?;
        let pkcs8 = STANDARD.decode(&stored.pkcs8).map_err(|_| OAuthError::Key("cannot be read"))?;
        let key = Arc::new(SigningKey::load(algorithm, &Zeroizing::new(pkcs8))?);
        Ok(OwnKey { key, stored })
    }
}
