//! Operator requests for blockchain networks.
//!
//! - `amounts`: conversion of whole units and base units. `status`: conversion to JSON types.
//! - `control`: control of simulated networks.

mod amounts;
mod control;
mod status;

use std::{collections::HashMap, sync::Arc, time::Duration};

use futures_util::future::join_all;
use tenon_chains::{Chain, ChainError, ChainFuture};
use tokio::time::timeout;

use super::operations::{HostOperations, failed};
use crate::{
    admin::{
        AdminError,
        operations::{BalanceQuery, TransactionQuery},
        wire::{self, NetworkSide},
    },
    chains::NetworkKind,
    changes::chain::ChainNote,
    limits::CHAIN_TIMEOUT_MS,
};

/// Numbers of watched addresses and followed transactions.
#[derive(Clone, Copy, Default)]
struct NoteCounts {
    watched: u64,
    followed: u64,
}

impl HostOperations {
    pub(super) async fn list_networks(&self) -> Result<Vec<wire::NetworkStatus>, AdminError> {
        let counts = self.count_notes().await?;
        let all = self.chains.all().map(async |(side, chain)| {
            let facts = chain.facts();
            let head = with_timeout(chain.head()).await;
            let control = self.find_simulated(&facts.blockchain, to_wire(side));
            let faults = control.map(|simulated| status::faults(&simulated.faults()));
            let counts = counts.get(&(side, facts.blockchain.clone())).copied().unwrap_or_default();
            status::network(facts, to_wire(side), head.ok().map(|head| head.height), (counts, faults))
        });
        Ok(join_all(all).await)
    }

    pub(super) async fn find_balances(&self, query: BalanceQuery) -> Result<wire::BalanceReport, AdminError> {
        let BalanceQuery { blockchain, network, address } = query;
        let chain = self.find_network(&blockchain, network)?;
        let facts = chain.facts();
        let assets = status::assets(facts);
        let each = assets.iter().map(async |asset| {
            let amount = with_timeout(chain.balance(&address, asset.address.as_deref())).await?;
            Ok(wire::Balance { symbol: asset.symbol.clone(), amount: amounts::whole_units(amount, asset.decimals) })
        });
        let balances: Result<Vec<wire::Balance>, ChainError> = join_all(each).await.into_iter().collect();
        let balances = balances.map_err(|error| chain_error(error, (&blockchain, network), &address))?;
        Ok(wire::BalanceReport { blockchain, network, address, balances })
    }

    pub(super) async fn find_network_transaction(
        &self,
        query: TransactionQuery,
    ) -> Result<wire::TransactionStatus, AdminError> {
        let TransactionQuery { blockchain, network, hash } = query;
        let chain = self.find_network(&blockchain, network)?;
        let found = with_timeout(chain.find_transaction(&hash)).await;
        match found.map_err(|error| chain_error(error, (&blockchain, network), &hash))? {
            Some(found) => Ok(status::transaction(chain.facts(), network, &found)),
            None => Err(AdminError::NotFound {
                message: format!("{blockchain} ({}) has no transaction \"{hash:.100}\".", network.name()),
                hint: "It may be on the other network (--network test or main), or it was dropped or replaced."
                    .to_owned(),
            }),
        }
    }

    fn find_network(&self, blockchain: &str, network: NetworkSide) -> Result<&Arc<dyn Chain>, AdminError> {
        let is_it = |(side, chain): &(NetworkKind, &Arc<dyn Chain>)| {
            to_wire(*side) == network && chain.facts().blockchain == blockchain
        };
        let found = self.chains.all().find(is_it);
        found.map(|(_, chain)| chain).ok_or_else(|| self.unknown_network(blockchain, network))
    }

    fn unknown_network(&self, blockchain: &str, network: NetworkSide) -> AdminError {
        let of_side = self.chains.all().filter(|(side, _)| to_wire(*side) == network);
        let known: Vec<&str> = of_side.map(|(_, chain)| chain.facts().blockchain.as_str()).collect();
        let hint = match known.is_empty() {
            true => "This host has no blockchains. Set simulated = true in [chains] of plugins.toml for simulated ones, and \
                     restart."
                .to_owned(),
            false => format!("Known blockchains: {}.", known.join(", ")),
        };
        let message = format!("There is no blockchain \"{blockchain:.40}\" with a {} network.", network.name());
        AdminError::NotFound { message, hint }
    }

    async fn count_notes(&self) -> Result<HashMap<(NetworkKind, String), NoteCounts>, AdminError> {
        let notes = self.database.list_chain_notes().await.map_err(|error| failed(error.to_string()))?;
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
}

fn to_wire(side: NetworkKind) -> NetworkSide {
    match side {
        NetworkKind::Test => NetworkSide::Test,
        NetworkKind::Main => NetworkSide::Main,
    }
}

/// Limits the time of a request to a network.
async fn with_timeout<T>(answer: ChainFuture<'_, T>) -> Result<T, ChainError> {
    timeout(Duration::from_millis(CHAIN_TIMEOUT_MS), answer).await.unwrap_or(Err(ChainError::Timeout))
}

/// Converts an error of a network. `input` is the address or hash of the request.
fn chain_error(error: ChainError, (blockchain, network): (&str, NetworkSide), input: &str) -> AdminError {
    let network_name = format!("{blockchain} ({})", network.name());
    let invalid = |message: String, hint: &str| AdminError::Invalid { message, hint: hint.to_owned() };
    match error {
        ChainError::NotAnAddress => invalid(
            format!("\"{input:.100}\" is not an address of {blockchain}."),
            "It may belong to another blockchain, or be mistyped.",
        ),
        ChainError::NotAToken => {
            invalid(format!("{network_name} has no such token."), "List the tokens with `tenon chain list`.")
        }
        ChainError::TooMany { max } => invalid(format!("{network_name} accepts at most {max} at once."), "Send fewer."),
        ChainError::Timeout => AdminError::Conflict {
            message: format!("{network_name} does not answer. The requested action may have been done."),
            reasons: Vec::new(),
            hint: format!(
                "End an injected silence with `tenon chain fault {blockchain} off --network {}`.",
                network.name()
            ),
        },
        ChainError::NoFaucet => failed(format!("{network_name} has no faucet")),
        ChainError::Unavailable { cause } => failed(format!("{network_name} is not available: {cause}")),
    }
}
