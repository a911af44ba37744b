//! Tokens in memory, and one request for all who need the same one.
//!
//! Never on disk, never in a log. Invariants: of one name, one request is under way at a time; it is driven by those who wait
//! for it, and ends with the last of them; a token that was refused is given to nobody again.

use std::{collections::HashMap, future::Future, sync::Arc, time::Duration};

use futures_util::{
    FutureExt,
    future::{BoxFuture, WeakShared},
};
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use super::CallFailure;
use crate::{
    limits::{TOKENS_DROPPED, TOKENS_KEPT_MAX},
    outbound::{ClientAuthentication, OAuthClient},
    secrets::SecretText,
};

/// For whom, and what for. A destination that is changed has another name for its tokens.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct TokenName {
    plugin: Arc<str>,
    /// `None`: what the operator has named has one token for all tenants.
    tenant: Option<Arc<str>>,
    destination: Arc<str>,
    /// Over everything that it is asked for with.
    made_of: [u8; 32],
}

/// As it came from the token endpoint.
#[derive(Debug)]
pub(super) struct Granted {
    pub text: SecretText,
    pub use_for: Duration,
}

#[derive(Debug)]
pub(super) struct Token {
    pub text: SecretText,
    since: Instant,
    until: Instant,
}

/// A request that is under way, as those who do not wait for it know it.
type Flight = WeakShared<BoxFuture<'static, Result<Arc<Token>, CallFailure>>>;

#[derive(Default)]
struct Entry {
    token: Option<Arc<Token>>,
    flight: Option<Flight>,
}

/// Cheap to clone.
#[derive(Clone, Default)]
pub(super) struct Tokens(Arc<Mutex<HashMap<TokenName, Entry>>>);

impl TokenName {
    pub(super) fn new(
        (plugin, tenant): (&Arc<str>, Option<&Arc<str>>),
        destination: &str,
        client: &OAuthClient,
    ) -> TokenName {
        let authentication = match client.authentication {
            ClientAuthentication::Basic => "basic",
            ClientAuthentication::Post => "post",
        };
        let mut hash = Sha256::new();
        for part in [
            &client.token_url,
            &client.client_id,
            client.client_secret.expose(),
            client.scope.as_deref().unwrap_or_default(),
            client.audience.as_deref().unwrap_or_default(),
            authentication,
        ] {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        let (plugin, tenant) = (plugin.clone(), tenant.cloned());
        TokenName { plugin, tenant, destination: destination.into(), made_of: hash.finalize().into() }
    }
}

impl Tokens {
    /// The token that is kept, unless it is old or `refused`; else the one that `ask` gets.
    pub(super) async fn get<Asking>(
        &self,
        name: &TokenName,
        refused: Option<&Arc<Token>>,
        ask: impl FnOnce() -> Asking,
    ) -> Result<Arc<Token>, CallFailure>
    where
        Asking: Future<Output = Result<Granted, CallFailure>> + Send + 'static,
    {
        let flight = {
            let mut kept = self.0.lock();
            make_room(&mut kept, name);
            let entry = kept.entry(name.clone()).or_default();
            if let Some(token) = entry.usable(refused) {
                return Ok(token);
            }
            entry.flight.as_ref().and_then(Flight::upgrade).unwrap_or_else(|| {
                let flight = self.clone().fetch(name.clone(), ask()).boxed().shared();
                entry.flight = flight.downgrade();
                flight
            })
        };
        flight.await
    }

    async fn fetch(
        self,
        name: TokenName,
        asking: impl Future<Output = Result<Granted, CallFailure>>,
    ) -> Result<Arc<Token>, CallFailure> {
        let granted = asking.await;
        let since = Instant::now();
        let token = granted.map(|Granted { text, use_for }| Arc::new(Token { text, since, until: since + use_for }));
        let entry = Entry { token: token.as_ref().ok().cloned(), flight: None };
        self.0.lock().insert(name, entry);
        token
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.0.lock().len()
    }
}

impl Entry {
    fn usable(&mut self, refused: Option<&Arc<Token>>) -> Option<Arc<Token>> {
        let now = Instant::now();
        let is_refused = |token: &Arc<Token>| refused.is_some_and(|refused| Arc::ptr_eq(refused, token));
        self.token = self.token.take().filter(|token| now < token.until && !is_refused(token));
        self.token.clone()
    }

    fn is_waited_for(&self) -> bool {
        self.flight.as_ref().is_some_and(|flight| flight.upgrade().is_some())
    }

    /// Since when it has its token, where it may be dropped.
    fn idle_since(&self) -> Option<Instant> {
        self.token.as_ref().filter(|_| !self.is_waited_for()).map(|token| token.since)
    }
}

/// What has come to its end goes first. Where nothing has, the oldest few go, but for those that are waited for: who needs one
/// asks again.
fn make_room(kept: &mut HashMap<TokenName, Entry>, name: &TokenName) {
    if kept.len() < TOKENS_KEPT_MAX || kept.contains_key(name) {
        return;
    }
    kept.retain(|_, entry| entry.usable(None).is_some() || entry.is_waited_for());
    if kept.len() < TOKENS_KEPT_MAX {
        return;
    }
    let idle = kept.iter().filter_map(|(name, entry)| Some((entry.idle_since()?, name.clone())));
    let mut idle: Vec<_> = idle.collect();
    idle.sort_unstable_by_key(|(since, _)| *since);
    for (_, name) in idle.iter().take(TOKENS_DROPPED) {
        kept.remove(name);
    }
}

#[cfg(test)]
mod tests;
