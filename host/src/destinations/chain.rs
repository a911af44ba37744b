//! One question or errand to a blockchain of this host: within its time, and in the words of other calls.

use std::time::Duration;

use tenon_chains::ChainError;
use tokio::time::{Instant, timeout_at};

use super::CallFailure;
use crate::{
    chains::{Chains, serve},
    changes::{
        outgoing::{OutgoingAnswer, OutgoingCall},
        scope::Scope,
    },
    limits::CHAIN_TIMEOUT_MS,
};

pub(super) async fn call(
    chains: &Chains,
    (scope, blockchain): (&Scope, &str),
    call: &OutgoingCall,
    idempotency_key: Option<&str>,
    until: Instant,
) -> Result<OutgoingAnswer, CallFailure> {
    let Some(chain) = chains.find(scope.tenant(), blockchain) else {
        return Err(CallFailure::not_sent(
            "no-such-blockchain",
            format!("there is no blockchain {blockchain:.40?} here"),
        ));
    };
    // A key is unique for its plugin and tenant alone.
    let key = serde_json::json!([&**scope.plugin(), &**scope.tenant(), idempotency_key]).to_string();
    let until = until.min(Instant::now() + Duration::from_millis(CHAIN_TIMEOUT_MS));
    let answer = timeout_at(until, serve(&**chain, call, &key)).await;
    let answer = answer.unwrap_or(Err(ChainError::Timeout));
    answer.map_err(|error| failure(blockchain, &error))
}

/// A node that did not answer may have taken what it was given.
fn failure(blockchain: &str, error: &ChainError) -> CallFailure {
    let class = match error {
        ChainError::Timeout => "timeout",
        ChainError::Unavailable { cause } => {
            return CallFailure::unknown("unavailable", format!("{blockchain} does not answer: {cause}"));
        }
        ChainError::NotAnAddress => "not-an-address",
        ChainError::NotAToken => "not-a-token",
        ChainError::NoFaucet => "no-faucet",
        ChainError::TooMany { .. } => "too-many",
    };
    CallFailure::unknown(class, format!("{blockchain}: {error}"))
}
