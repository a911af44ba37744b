//! Destinations: one attempt of a call to a server that the operator or the tenant has named.
//!
//! Owns which server is meant by a name, who the host is to it, tokens of OAuth 2.0, and what an attempt came to. Never tries
//! again, but for a token that was refused; never shows an address or a credential to a plugin. Invariants:
//!
//! - A name that the operator uses is the operator's, for every tenant that it is named for.
//! - What a plugin says of path and headers changes neither the server nor who the host is to it.
//! - `NotSent` is said only where no byte of the request can have reached the other side.
//!
//! - `named`: from a name to a server. `request`, `answer`: a plugin's words as HTTP, and back.
//! - `chain`: one call to a blockchain of this host. `attempt`: one call to one server. `oauth`: asking for a token. `tokens`: keeping it, one request for many callers.
//! - `neighbour`: a plugin of this host. `stored`: messages that are kept instead of being sent. `failure`: why there is no answer.

mod answer;
mod attempt;
mod chain;
mod failure;
mod named;
mod neighbour;
mod oauth;
mod request;
mod stored;
#[cfg(test)]
mod tests;
mod tokens;

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;

pub use failure::{CallFailure, Certainty};
pub use neighbour::{Neighbour, Neighbours, Visit};

use crate::{
    chains::{Chains, blockchain_of},
    changes::{
        outgoing::{OutgoingAnswer, OutgoingCall},
        scope::Scope,
    },
    clock::Clock,
    config::DestinationConfig,
    db::Database,
    limits::{DESTINATION_TIMEOUT_MS, EFFECT_ATTEMPT_MS_MAX},
    outbound::{Client, Outside},
};
use attempt::Attempt;
use named::Meant;
use tokens::Tokens;

/// What the operator has named, by plugin and name.
pub type Named = Arc<dyn Fn(&str, &str) -> Option<Arc<DestinationConfig>> + Send + Sync>;

pub struct Parts {
    pub client: Arc<Client>,
    pub outside: Arc<Outside>,
    pub database: Database,
    pub clock: Clock,
    pub chains: Chains,
    pub named: Named,
    pub neighbours: Neighbours,
}

/// Cheap to clone.
#[derive(Clone)]
pub struct Destinations {
    parts: Arc<Parts>,
    tokens: Tokens,
}

impl Destinations {
    pub fn new(parts: Parts) -> Destinations {
        Destinations { parts: Arc::new(parts), tokens: Tokens::default() }
    }

    /// One attempt. `within`: what is left of the caller's time. `idempotency_key` is sent as `Idempotency-Key` where it is
    /// given, whatever the call says.
    pub async fn call(
        &self,
        scope: &Scope,
        call: &OutgoingCall,
        idempotency_key: Option<&str>,
        within: Duration,
    ) -> Result<OutgoingAnswer, CallFailure> {
        let until = Instant::now() + within;
        if let Some(blockchain) = blockchain_of(&call.destination) {
            return chain::call(&self.parts.chains, (scope, blockchain), call, idempotency_key, until).await;
        }
        let request = request::prepare(call, idempotency_key)?;
        match named::find(&self.parts, scope, &call.destination).await? {
            Meant::Outbox => stored::store(&self.parts, scope, &call.destination, &request).await,
            Meant::Plugin(neighbour) => {
                let attempt = Duration::from_millis(attempt_ms(call.timeout_ms, None));
                neighbour::call(&self.parts, scope, &neighbour, request, until.min(Instant::now() + attempt)).await
            }
            Meant::Server(server) => {
                let attempt = Duration::from_millis(attempt_ms(call.timeout_ms, server.timeout_ms));
                let until = until.min(Instant::now() + attempt);
                let (parts, tokens, destination) = (&self.parts, &self.tokens, &*call.destination);
                let answer =
                    Attempt { parts, tokens, scope, destination, server: &server, until }.perform(&request).await?;
                answer::read(answer)
            }
        }
    }
}

/// How long one attempt may take: as the call asks (0: it does not), as far as the operator allows.
fn attempt_ms(asked_ms: u32, allowed_ms: Option<u64>) -> u64 {
    match asked_ms {
        0 => allowed_ms.unwrap_or(DESTINATION_TIMEOUT_MS),
        asked_ms => allowed_ms.unwrap_or(EFFECT_ATTEMPT_MS_MAX).min(asked_ms.into()),
    }
}
