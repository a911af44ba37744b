//! A query or command to a blockchain of this host, with a time limit.

use std::time::Duration;

use tenon_chains::ChainError;
use tokio::time::{Instant, timeout_at};

use super::DestinationCallError;
use crate::{
    chains::{Chains, serve},
    changes::{
        outgoing::{OutgoingCall, OutgoingResponse},
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
) -> Result<OutgoingResponse, DestinationCallError> {
    let Some(chain) = chains.find(scope.tenant(), blockchain) else {
        return Err(DestinationCallError::not_sent(
            "no-such-blockchain",
            format!("this host has no blockchain {blockchain:.40?}"),
        ));
    };
    // Idempotency keys are unique only within a plugin and tenant.
    let key = serde_json::json!([&**scope.plugin(), &**scope.tenant(), idempotency_key]).to_string();
    let until = until.min(Instant::now() + Duration::from_millis(CHAIN_TIMEOUT_MS));
    let response = timeout_at(until, serve(&**chain, call, &key)).await;
    let response = response.unwrap_or(Err(ChainError::Timeout));
    response.map_err(|error| call_error(blockchain, &error))
}

/// Converts a chain error. The outcome counts as unknown, because a node that did not respond may have accepted the
/// command.
fn call_error(blockchain: &str, error: &ChainError) -> DestinationCallError {
    let class = match error {
        ChainError::Timeout => "timeout",
        ChainError::Unavailable { cause } => {
            return DestinationCallError::unknown("unavailable", format!("{blockchain} is unavailable: {cause}"));
        }
        ChainError::NotAnAddress => "not-an-address",
        ChainError::NotAToken => "not-a-token",
        ChainError::NoFaucet => "no-faucet",
        ChainError::TooMany { .. } => "too-many",
    };
    DestinationCallError::unknown(class, format!("{blockchain}: {error}"))
}
