//! Destinations: one attempt of a call to a server that the operator or the tenant has configured.
//!
//! Owns the resolution of destination names, authentication, OAuth 2.0 tokens, and the outcome of an attempt. Does not
//! retry, except once with a new token after a 401. Does not expose addresses or credentials to plugins. Invariants:
//!
//! - A name that the operator has configured for a tenant takes precedence over the tenant's own destinations.
//! - A plugin's path and headers change neither the server nor the credentials.
//! - `NotSent` is returned only if no byte of the request can have reached the server.
//!
//! - `resolution`: from a name to a server. `request`, `response`: conversion between a plugin's values and HTTP.
//! - `chain`: a call to a blockchain of this host. `attempt`: a call to a server. `oauth`: token requests. `tokens`:
//!   the token cache, which shares one request among many callers.
//! - `plugin_call`: a call to a plugin of this host. `outbox`: messages that are stored instead of being sent. `error`:
//!   errors.

mod attempt;
mod chain;
mod error;
mod oauth;
mod outbox;
mod plugin_call;
mod request;
mod resolution;
mod response;
#[cfg(test)]
mod tests;
mod tokens;

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;

pub use error::{Certainty, DestinationCallError};
pub use plugin_call::{PluginCallHandler, PluginCalls, PluginTarget};

use crate::{
    chains::{Chains, blockchain_of},
    changes::{
        outgoing::{OutgoingCall, OutgoingResponse},
        scope::Scope,
    },
    clock::Clock,
    config::DestinationConfig,
    db::Database,
    limits::{DESTINATION_TIMEOUT_MS, EFFECT_ATTEMPT_MS_MAX},
    outbound::{Client, OutboundContext},
};
use attempt::Attempt;
use resolution::Resolved;
use tokens::Tokens;

/// Looks up the operator's destinations by plugin and name.
pub type OperatorDestinations = Arc<dyn Fn(&str, &str) -> Option<Arc<DestinationConfig>> + Send + Sync>;

pub struct Parts {
    pub client: Arc<Client>,
    pub outbound_context: Arc<OutboundContext>,
    pub database: Database,
    pub clock: Clock,
    pub chains: Chains,
    pub operator_destinations: OperatorDestinations,
    pub plugin_calls: PluginCalls,
}

/// Performs calls to destinations. Cheap to clone.
#[derive(Clone)]
pub struct Destinations {
    parts: Arc<Parts>,
    tokens: Tokens,
}

impl Destinations {
    pub fn new(parts: Parts) -> Destinations {
        Destinations { parts: Arc::new(parts), tokens: Tokens::default() }
    }

    /// Performs one attempt within the caller's remaining time.
    ///
    /// If `idempotency_key` is given, a server or plugin receives it as `Idempotency-Key`, in place of a header of that
    /// name in the call.
    pub async fn call(
        &self,
        scope: &Scope,
        call: &OutgoingCall,
        idempotency_key: Option<&str>,
        within: Duration,
    ) -> Result<OutgoingResponse, DestinationCallError> {
        let until = Instant::now() + within;
        if let Some(blockchain) = blockchain_of(&call.destination) {
            return chain::call(&self.parts.chains, (scope, blockchain), call, idempotency_key, until).await;
        }
        let request = request::prepare(call, idempotency_key)?;
        match resolution::resolve(&self.parts, scope, &call.destination).await? {
            Resolved::Outbox => outbox::store(&self.parts, scope, &call.destination, &request).await,
            Resolved::Plugin(target) => {
                let attempt = Duration::from_millis(attempt_ms(call.timeout_ms, None));
                plugin_call::call(&self.parts, scope, &target, request, until.min(Instant::now() + attempt)).await
            }
            Resolved::Server(server) => {
                let attempt = Duration::from_millis(attempt_ms(call.timeout_ms, server.timeout_ms));
                let until = until.min(Instant::now() + attempt);
                let (parts, tokens, destination) = (&self.parts, &self.tokens, &*call.destination);
                let response =
                    Attempt { parts, tokens, scope, destination, server: &server, until }.perform(&request).await?;
                response::read(response)
            }
        }
    }
}

/// Returns the time limit of one attempt. A requested limit is capped at the operator's, or at `EFFECT_ATTEMPT_MS_MAX`
/// without one. If none is requested (0), the operator's applies, or `DESTINATION_TIMEOUT_MS` without one.
fn attempt_ms(requested_ms: u32, allowed_ms: Option<u64>) -> u64 {
    match requested_ms {
        0 => allowed_ms.unwrap_or(DESTINATION_TIMEOUT_MS),
        requested_ms => allowed_ms.unwrap_or(EFFECT_ATTEMPT_MS_MAX).min(requested_ms.into()),
    }
}
