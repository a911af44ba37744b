//! OAuth tokens in memory. Concurrent callers that need the same token share one request.
//!
//! Tokens are never written to disk or to a log. Invariants: for each key at most one request is in flight. The waiting
//! callers drive the request, which is cancelled when the last caller stops waiting. A token that a server rejected is
//! not returned again.

use std::{collections::HashMap, future::Future, sync::Arc, time::Duration};

use futures_util::{
    FutureExt,
    future::{BoxFuture, WeakShared},
};
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use super::DestinationCallError;
use crate::{
    limits::{TOKENS_DROPPED, TOKENS_KEPT_MAX},
    outbound::{ClientAuthentication, OAuthClient},
    secrets::SecretText,
};

/// Cache key of a token. A destination whose OAuth parameters change gets another key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct TokenName {
    plugin: Arc<str>,
    /// `None` for a destination of the operator, which has one token for all tenants.
    tenant: Option<Arc<str>>,
    destination: Arc<str>,
    /// Hash over all parameters of the token request.
    parameters_hash: [u8; 32],
}

/// A token from the token endpoint, and how long to use it.
#[derive(Debug)]
pub(super) struct Granted {
    pub text: SecretText,
    pub use_for: Duration,
}

#[derive(Debug)]
pub(super) struct Token {
    pub text: SecretText,
    issued_at: Instant,
    expires_at: Instant,
}

/// A request in flight. The weak reference does not keep it alive.
type Flight = WeakShared<BoxFuture<'static, Result<Arc<Token>, DestinationCallError>>>;

#[derive(Default)]
struct Entry {
    token: Option<Arc<Token>>,
    flight: Option<Flight>,
}

/// The token cache. Cheap to clone.
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
        TokenName { plugin, tenant, destination: destination.into(), parameters_hash: hash.finalize().into() }
    }
}

impl Tokens {
    /// Returns the cached token, unless it has expired or is `rejected`. Otherwise calls `fetch` to request a new one.
    pub(super) async fn get<Fetch>(
        &self,
        name: &TokenName,
        rejected: Option<&Arc<Token>>,
        fetch: impl FnOnce() -> Fetch,
    ) -> Result<Arc<Token>, DestinationCallError>
    where
        Fetch: Future<Output = Result<Granted, DestinationCallError>> + Send + 'static,
    {
        let flight = {
            let mut cached = self.0.lock();
            make_room(&mut cached, name);
            let entry = cached.entry(name.clone()).or_default();
            if let Some(token) = entry.usable(rejected) {
                return Ok(token);
            }
            entry.flight.as_ref().and_then(Flight::upgrade).unwrap_or_else(|| {
                let flight = self.clone().run(name.clone(), fetch()).boxed().shared();
                entry.flight = flight.downgrade();
                flight
            })
        };
        flight.await
    }

    async fn run(
        self,
        name: TokenName,
        fetch: impl Future<Output = Result<Granted, DestinationCallError>>,
    ) -> Result<Arc<Token>, DestinationCallError> {
        let granted = fetch.await;
        let issued_at = Instant::now();
        let token = granted
            .map(|Granted { text, use_for }| Arc::new(Token { text, issued_at, expires_at: issued_at + use_for }));
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
    fn usable(&mut self, rejected: Option<&Arc<Token>>) -> Option<Arc<Token>> {
        let now = Instant::now();
        let is_rejected = |token: &Arc<Token>| rejected.is_some_and(|rejected| Arc::ptr_eq(rejected, token));
        self.token = self.token.take().filter(|token| now < token.expires_at && !is_rejected(token));
        self.token.clone()
    }

    fn is_in_flight(&self) -> bool {
        self.flight.as_ref().is_some_and(|flight| flight.upgrade().is_some())
    }

    /// Returns the time at which the entry's token was issued, or `None` if the entry must not be evicted.
    fn idle_since(&self) -> Option<Instant> {
        self.token.as_ref().filter(|_| !self.is_in_flight()).map(|token| token.issued_at)
    }
}

/// Makes room for a new entry if the cache is full.
///
/// Evicts expired entries first. If there are none, evicts the oldest few, except entries with a request in flight.
fn make_room(cached: &mut HashMap<TokenName, Entry>, name: &TokenName) {
    if cached.len() < TOKENS_KEPT_MAX || cached.contains_key(name) {
        return;
    }
    cached.retain(|_, entry| entry.usable(None).is_some() || entry.is_in_flight());
    if cached.len() < TOKENS_KEPT_MAX {
        return;
    }
    let idle = cached.iter().filter_map(|(name, entry)| Some((entry.idle_since()?, name.clone())));
    let mut idle: Vec<_> = idle.collect();
    idle.sort_unstable_by_key(|(since, _)| *since);
    for (_, name) in idle.iter().take(TOKENS_DROPPED) {
        cached.remove(name);
    }
}

#[cfg(test)]
mod tests;
