//! Blockchain networks: status, balances, transactions, and the control of simulated networks.
//!
//! - `amounts`: conversion of whole units and base units. `status`: conversion to JSON types.
//! - `control`: control of simulated networks.

mod amounts;
mod control;
mod status;

use std::{collections::HashMap, sync::Arc, time::Duration};

use axum::{Json, extract::State, routing::post};
use futures_util::future::join_all;
use http::Uri;
use serde::Deserialize;
use tenon_chains::{
    Chain, ChainError, ChainFuture,
    simulated::{Network, SimulatedChain},
};
use tokio::time::timeout;

use super::{
    AdminError, Services,
    inputs::read_options,
    routes::Routes,
    wire::{AssetStatus, Balance, BalanceReport, NetworkSide, NetworkStatus, TransactionStatus},
};
use crate::{chains::NetworkKind, changes::chain::ChainNote, limits::CHAIN_TIMEOUT_MS};

pub fn routes() -> Routes {
    Routes::default()
        .read("/v1/chains", list)
        .read_with_options("/v1/chains/balance", balance)
        .read_with_options("/v1/chains/transaction", transaction)
        .action("control-chain", "/v1/chains/control", post(control::control))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BalanceOptions {
    blockchain: String,
    #[serde(default)]
    network: NetworkSide,
    address: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TransactionOptions {
    blockchain: String,
    #[serde(default)]
    network: NetworkSide,
    hash: String,
}

/// Numbers of watched addresses and followed transactions.
#[derive(Clone, Copy, Default)]
struct NoteCounts {
    watched: u64,
    followed: u64,
}

async fn list(State(host): State<Arc<Services>>) -> Result<Json<Vec<NetworkStatus>>, AdminError> {
    let counts = count_notes(&host).await?;
    let networks = host.chains.all().map(async |(kind, chain)| {
        let (facts, network) = (chain.facts(), NetworkSide::from(kind));
        let head = with_timeout(chain.head()).await;
        let simulated = find_simulated(&host, &facts.blockchain, network);
        let faults = simulated.map(|simulated| status::faults(&simulated.faults()));
        let counts = counts.get(&(kind, facts.blockchain.clone())).copied().unwrap_or_default();
        status::network(facts, network, head.ok().map(|head| head.height), (counts, faults))
    });
    Ok(Json(join_all(networks).await))
}

/// Returns the balance of the coin, then of every token.
async fn balance(State(host): State<Arc<Services>>, uri: Uri) -> Result<Json<BalanceReport>, AdminError> {
    let hint = "The options are blockchain, network (test, main), and address.";
    let BalanceOptions { blockchain, network, address } = read_options(&uri, hint)?;
    let chain = find_network(&host, &blockchain, network)?;
    let facts = chain.facts();
    let assets: Vec<AssetStatus> = std::iter::once(status::coin(facts)).chain(status::tokens(facts)).collect();
    let balances = assets.iter().map(async |asset| {
        let amount = with_timeout(chain.balance(&address, asset.address.as_deref())).await?;
        Ok(Balance { symbol: asset.symbol.clone(), amount: amounts::whole_units(amount, asset.decimals) })
    });
    let balances: Result<Vec<Balance>, ChainError> = join_all(balances).await.into_iter().collect();
    let balances = balances.map_err(|error| chain_error(error, (&blockchain, network), &address))?;
    Ok(Json(BalanceReport { blockchain, network, address, balances }))
}

async fn transaction(State(host): State<Arc<Services>>, uri: Uri) -> Result<Json<TransactionStatus>, AdminError> {
    let hint = "The options are blockchain, network (test, main), and hash.";
    let TransactionOptions { blockchain, network, hash } = read_options(&uri, hint)?;
    let chain = find_network(&host, &blockchain, network)?;
    let found = with_timeout(chain.find_transaction(&hash)).await;
    let found = found.map_err(|error| chain_error(error, (&blockchain, network), &hash))?;
    let found = found.ok_or_else(|| {
        let message = format!("{blockchain} ({}) has no transaction \"{hash:.100}\".", network.name());
        let hint = "It may be on the other network (--network test or main), or it was dropped or replaced.";
        AdminError::not_found(message, hint)
    })?;
    Ok(Json(status::transaction(chain.facts(), network, &found)))
}

fn find_network<'a>(
    host: &'a Services,
    blockchain: &str,
    network: NetworkSide,
) -> Result<&'a Arc<dyn Chain>, AdminError> {
    let mut chains = host.chains.all().filter(|(kind, _)| NetworkSide::from(*kind) == network);
    let found = chains.find(|(_, chain)| chain.facts().blockchain == blockchain);
    found.map(|(_, chain)| chain).ok_or_else(|| unknown_network(host, blockchain, network))
}

fn unknown_network(host: &Services, blockchain: &str, network: NetworkSide) -> AdminError {
    let chains = host.chains.all().filter(|(kind, _)| NetworkSide::from(*kind) == network);
    let known: Vec<&str> = chains.map(|(_, chain)| chain.facts().blockchain.as_str()).collect();
    let hint = if known.is_empty() {
        "This host has no blockchains. Set simulated = true in [chains] of plugins.toml for simulated ones, and \
         restart."
            .to_owned()
    } else {
        format!("Known blockchains: {}.", known.join(", "))
    };
    let message = format!("There is no blockchain \"{blockchain:.40}\" with a {} network.", network.name());
    AdminError::not_found(message, hint)
}

fn find_simulated<'a>(host: &'a Services, blockchain: &str, network: NetworkSide) -> Option<&'a Arc<SimulatedChain>> {
    let network = match network {
        NetworkSide::Test => Network::Test,
        NetworkSide::Main => Network::Main,
    };
    host.simulated.as_ref()?.find(blockchain, network)
}

async fn count_notes(host: &Services) -> Result<HashMap<(NetworkKind, String), NoteCounts>, AdminError> {
    let notes = host.database.list_chain_notes().await.map_err(AdminError::failed)?;
    let mut all: HashMap<(NetworkKind, String), NoteCounts> = HashMap::new();
    for (scope, body) in notes {
        // The chain watcher logs a note that cannot be parsed.
        let Ok(note) = ChainNote::parse(&body) else { continue };
        let counts = all.entry((NetworkKind::of(scope.tenant()), note.blockchain().to_owned())).or_default();
        match note {
            ChainNote::Watch(_) => counts.watched += 1,
            ChainNote::Following(_) => counts.followed += 1,
            ChainNote::Sighting(_) => {}
        }
    }
    Ok(all)
}

/// Limits the time of a request to a network.
async fn with_timeout<T>(response: ChainFuture<'_, T>) -> Result<T, ChainError> {
    timeout(Duration::from_millis(CHAIN_TIMEOUT_MS), response).await.unwrap_or(Err(ChainError::Timeout))
}

/// Converts an error of a network. `input` is the address or hash of the request.
fn chain_error(error: ChainError, (blockchain, network): (&str, NetworkSide), input: &str) -> AdminError {
    let side = network.name();
    let name = format!("{blockchain} ({side})");
    match error {
        ChainError::NotAnAddress => AdminError::invalid(
            format!("\"{input:.100}\" is not an address of {blockchain}."),
            "It may belong to another blockchain, or be mistyped.",
        ),
        ChainError::NotAToken => {
            AdminError::invalid(format!("{name} has no such token."), "List the tokens with `tenon chain list`.")
        }
        ChainError::TooMany { max } => {
            AdminError::invalid(format!("{name} accepts at most {max} at once."), "Send fewer.")
        }
        ChainError::Timeout => AdminError::conflict(
            format!("{name} does not answer."),
            Vec::new(),
            format!("End an injected silence with `tenon chain fault {blockchain} off --network {side}`."),
        ),
        ChainError::NoFaucet => AdminError::failed(format!("{name} has no faucet")),
        ChainError::Unavailable { cause } => AdminError::failed(format!("{name} is not available: {cause}")),
    }
}
