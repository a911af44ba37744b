//! What operators ask about networks of blockchains, and do to simulated ones, connected.
//!
//! - `amounts`: whole units and base units. `status`: how networks and transactions read. `control`: what is done.

mod amounts;
mod control;
mod status;

use std::{collections::HashMap, sync::Arc, time::Duration};

use futures_util::future::join_all;
use tenon_chains::{Answer, Chain, ChainError};
use tokio::time::timeout;

use super::operations::{Connected, failed};
use crate::{
    admin::{
        Refusal,
        operations::{BalanceQuestion, TransactionQuestion},
        wire::{self, NetworkSide},
    },
    chains::Side,
    changes::chain::ChainNote,
    limits::CHAIN_TIMEOUT_MS,
};

/// Watched addresses and followed transactions.
#[derive(Clone, Copy, Default)]
struct Told {
    watched: u64,
    followed: u64,
}

impl Connected {
    pub(super) async fn list_networks(&self) -> Result<Vec<wire::NetworkStatus>, Refusal> {
        let told = self.count_notes().await?;
        let all = self.chains.all().map(async |(side, chain)| {
            let facts = chain.facts();
            let head = within(chain.head()).await;
            let control = self.find_simulated(&facts.blockchain, to_wire(side));
            let faults = control.map(|simulated| status::faults(&simulated.faults()));
            let told = told.get(&(side, facts.blockchain.clone())).copied().unwrap_or_default();
            status::network(facts, to_wire(side), head.ok().map(|head| head.height), (told, faults))
        });
        Ok(join_all(all).await)
    }

    pub(super) async fn look_at_balance(&self, question: BalanceQuestion) -> Result<wire::BalanceReport, Refusal> {
        let BalanceQuestion { blockchain, network, address } = question;
        let chain = self.find_network(&blockchain, network)?;
        let facts = chain.facts();
        let assets = status::assets(facts);
        let each = assets.iter().map(async |asset| {
            let amount = within(chain.balance(&address, asset.address.as_deref())).await?;
            Ok(wire::Balance { symbol: asset.symbol.clone(), amount: amounts::whole_units(amount, asset.decimals) })
        });
        let balances: Result<Vec<wire::Balance>, ChainError> = join_all(each).await.into_iter().collect();
        let balances = balances.map_err(|error| refusal(error, (&blockchain, network), &address))?;
        Ok(wire::BalanceReport { blockchain, network, address, balances })
    }

    pub(super) async fn look_at_transaction(
        &self,
        question: TransactionQuestion,
    ) -> Result<wire::TransactionStatus, Refusal> {
        let TransactionQuestion { blockchain, network, hash } = question;
        let chain = self.find_network(&blockchain, network)?;
        let found = within(chain.find_transaction(&hash)).await;
        match found.map_err(|error| refusal(error, (&blockchain, network), &hash))? {
            Some(found) => Ok(status::transaction(chain.facts(), network, &found)),
            None => Err(Refusal::NotFound {
                message: format!("{blockchain} ({}) knows no transaction \"{hash:.100}\".", network.name()),
                hint: "The other network may: --network test or main. One that was dropped or replaced is gone."
                    .to_owned(),
            }),
        }
    }

    fn find_network(&self, blockchain: &str, network: NetworkSide) -> Result<&Arc<dyn Chain>, Refusal> {
        let is_it = |(side, chain): &(Side, &Arc<dyn Chain>)| {
            to_wire(*side) == network && chain.facts().blockchain == blockchain
        };
        let found = self.chains.all().find(is_it);
        found.map(|(_, chain)| chain).ok_or_else(|| self.no_such_network(blockchain, network))
    }

    fn no_such_network(&self, blockchain: &str, network: NetworkSide) -> Refusal {
        let of_side = self.chains.all().filter(|(side, _)| to_wire(*side) == network);
        let known: Vec<&str> = of_side.map(|(_, chain)| chain.facts().blockchain.as_str()).collect();
        let hint = match known.is_empty() {
            true => "This host has no blockchains: simulated = true in [chains] of plugins.toml brings simulated ones, at the \
                     next start."
                .to_owned(),
            false => format!("There are: {}.", known.join(", ")),
        };
        let message = format!("There is no blockchain \"{blockchain:.40}\" with a {} network here.", network.name());
        Refusal::NotFound { message, hint }
    }

    async fn count_notes(&self) -> Result<HashMap<(Side, String), Told>, Refusal> {
        let notes = self.database.list_chain_notes().await.map_err(|error| failed(error.to_string()))?;
        let mut told: HashMap<(Side, String), Told> = HashMap::new();
        for (scope, body) in notes {
            // One that cannot be read is told in the log of who watches.
            let Ok(note) = ChainNote::parse(&body) else { continue };
            let told = told.entry((Side::of(scope.tenant()), note.blockchain().to_owned())).or_default();
            match note {
                ChainNote::Watch(_) => told.watched += 1,
                ChainNote::Following(_) => told.followed += 1,
                ChainNote::Sighting(_) => {}
            }
        }
        Ok(told)
    }
}

fn to_wire(side: Side) -> NetworkSide {
    match side {
        Side::Test => NetworkSide::Test,
        Side::Main => NetworkSide::Main,
    }
}

/// A network that is slow keeps nobody for long.
async fn within<T>(answer: Answer<'_, T>) -> Result<T, ChainError> {
    timeout(Duration::from_millis(CHAIN_TIMEOUT_MS), answer).await.unwrap_or(Err(ChainError::Timeout))
}

/// `what`: an address, a hash, or what else was named.
fn refusal(error: ChainError, (blockchain, network): (&str, NetworkSide), what: &str) -> Refusal {
    let place = format!("{blockchain} ({})", network.name());
    let invalid = |message: String, hint: &str| Refusal::Invalid { message, hint: hint.to_owned() };
    match error {
        ChainError::NotAnAddress => invalid(
            format!("\"{what:.100}\" is no address of {blockchain}."),
            "It may be another blockchain's, or mistyped.",
        ),
        ChainError::NotAToken => {
            invalid(format!("{place} has no such token."), "`tenon chain list` shows which there are.")
        }
        ChainError::TooMany { max } => invalid(format!("{place} takes at most {max} at once."), "Name fewer."),
        ChainError::Timeout => Refusal::Refused {
            message: format!("{place} does not answer; what was ordered may have been done."),
            reasons: Vec::new(),
            hint: format!("`tenon chain fault {blockchain} off --network {}` ends an ordered silence.", network.name()),
        },
        ChainError::NoFaucet => failed(format!("{place} has no faucet")),
        ChainError::Unavailable { cause } => failed(format!("{place} cannot be asked: {cause}")),
    }
}
