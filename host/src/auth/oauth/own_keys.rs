//! The host's own keys: one that signs, and those before it, which verify until their last token has ended.
//!
//! Invariant: what is in memory was saved before. Saved as one sealed secret, so that a rotation happens whole or not at all.

use std::sync::Arc;

use arc_swap::ArcSwap;
use base64::{Engine, engine::general_purpose::STANDARD};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use zeroize::{Zeroize, Zeroizing};

use super::{
    Algorithm, KeyRotation, OAuthError, OAuthStore, Settings,
    jwk::KeySet,
    overlap_ms,
    signing::{self, SigningKey},
};
use crate::clock::Timestamp;
use crate::{changes::operator_action::OperatorAction, limits::OWN_KEYS_MAX};

pub(super) struct OwnKeys {
    keys: ArcSwap<Vec<Kept>>,
    /// Reading, adding a key and saving is one step in this process.
    rotating: tokio::sync::Mutex<()>,
}

/// The first of a list signs.
#[derive(Clone)]
struct Kept {
    key: Arc<SigningKey>,
    saved: Saved,
}

#[derive(Clone, Serialize, Deserialize)]
struct Saved {
    algorithm: String,
    /// PKCS #8 in base64.
    pkcs8: String,
    /// When it verifies nothing any more; `None` for the one that signs.
    until: Option<Timestamp>,
}

impl Drop for Saved {
    fn drop(&mut self) {
        self.pkcs8.zeroize();
    }
}

impl OwnKeys {
    /// Makes a key where there is none, or where the operator chose another algorithm since.
    pub async fn open(store: &dyn OAuthStore, settings: &Settings, now: Timestamp) -> Result<OwnKeys, OAuthError> {
        let saved: Vec<Saved> = match store.load_keys().await? {
            Some(text) => serde_json::from_slice(&text).map_err(|_| OAuthError::Key("cannot be read"))?,
            None => Vec::new(),
        };
        let keys = saved.into_iter().map(Kept::load).collect::<Result<Vec<_>, _>>()?;
        let is_current = keys.first().is_some_and(|kept| kept.key.algorithm == settings.algorithm);
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
        let _alone = self.rotating.lock().await;
        let algorithm = settings.algorithm;
        if self.valid(now).count() >= OWN_KEYS_MAX {
            return Err(OAuthError::Keys);
        }
        // An RSA key takes a core for a second.
        let pkcs8 = tokio::task::spawn_blocking(move || signing::make(algorithm)).await;
        let pkcs8 = pkcs8.map_err(|_| OAuthError::Key("cannot be made"))??;
        let mut keys = vec![Kept::load(Saved {
            algorithm: algorithm.name().to_owned(),
            pkcs8: STANDARD.encode(pkcs8.as_slice()),
            until: None,
        })?];
        let until = now.saturating_add(overlap_ms(settings));
        for mut kept in self.valid(now) {
            kept.saved.until.get_or_insert(until);
            keys.push(kept);
        }
        let saved: Vec<&Saved> = keys.iter().map(|kept| &kept.saved).collect();
        // Large enough for all of it: bytes that grow would leave copies behind.
        let length = saved.iter().map(|saved| saved.pkcs8.len() + 128).sum();
        let mut text = Zeroizing::new(Vec::with_capacity(length));
        serde_json::to_writer(&mut *text, &saved).map_err(|_| OAuthError::Key("cannot be written down"))?;
        let mut ids = keys.iter().map(|kept| kept.key.id.clone());
        let rotation = KeyRotation { key: ids.next().unwrap_or_default(), algorithm, previous: ids.collect() };
        let action = operator.map(|operator| {
            let target = format!("{} signs from now on", rotation.key);
            OperatorAction::done(now, operator, ("*", "rotate-token-keys"), target)
        });
        store.save_keys(&text, action).await?;
        self.keys.store(Arc::new(keys));
        Ok(rotation)
    }

    /// The one that signs; there is none only where no tokens are given out.
    pub fn current(&self) -> Option<Arc<SigningKey>> {
        self.keys.load().first().map(|kept| Arc::clone(&kept.key))
    }

    /// The public keys that verify now.
    pub fn public(&self, now: Timestamp) -> KeySet {
        KeySet::from(self.valid(now).map(|kept| kept.key.public().clone()).collect::<Vec<_>>())
    }

    pub fn jwks(&self, now: Timestamp) -> Vec<Value> {
        self.valid(now).map(|kept| kept.key.jwk()).collect()
    }

    fn valid(&self, now: Timestamp) -> impl Iterator<Item = Kept> + use<> {
        let keys = self.keys.load_full();
        let valid: Vec<Kept> =
            keys.iter().filter(|kept| kept.saved.until.is_none_or(|until| now < until)).cloned().collect();
        valid.into_iter()
    }
}

impl Kept {
    fn load(saved: Saved) -> Result<Kept, OAuthError> {
        let algorithm = Algorithm::parse(&saved.algorithm).ok_or(OAuthError::Key("has an unknown algorithm"))?;
        let pkcs8 = STANDARD.decode(&saved.pkcs8).map_err(|_| OAuthError::Key("cannot be read"))?;
        let key = Arc::new(SigningKey::load(algorithm, &Zeroizing::new(pkcs8))?);
        Ok(Kept { key, saved })
    }
}
