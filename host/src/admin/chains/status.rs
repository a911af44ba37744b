//! Conversion of networks, faults and transactions to JSON types.

use tenon_chains::{
    Facts, State, Transaction,
    simulated::{Faults, Outage},
};

use super::{NoteCounts, amounts::whole_units};
use crate::{
    admin::wire::{AssetStatus, FaultStatus, MovementStatus, NetworkSide, NetworkStatus, Silence, TransactionStatus},
    chains::NetworkKind,
};

impl From<NetworkKind> for NetworkSide {
    fn from(kind: NetworkKind) -> NetworkSide {
        match kind {
            NetworkKind::Test => NetworkSide::Test,
            NetworkKind::Main => NetworkSide::Main,
        }
    }
}

pub fn network(
    facts: &Facts,
    network: NetworkSide,
    height: Option<u64>,
    (counts, faults): (NoteCounts, Option<FaultStatus>),
) -> NetworkStatus {
    NetworkStatus {
        blockchain: facts.blockchain.clone(),
        network,
        name: facts.network.clone(),
        chain_id: facts.chain_id,
        height,
        block_time_ms: facts.block_time_ms,
        coin: coin(facts),
        tokens: tokens(facts).collect(),
        watched: counts.watched,
        followed: counts.followed,
        faults,
    }
}

pub fn coin(facts: &Facts) -> AssetStatus {
    AssetStatus { symbol: facts.symbol.clone(), decimals: facts.decimals, address: None }
}

pub fn tokens(facts: &Facts) -> impl Iterator<Item = AssetStatus> {
    facts.tokens.iter().map(|token| AssetStatus {
        symbol: token.symbol.clone(),
        decimals: token.decimals,
        address: Some(token.address.clone()),
    })
}

pub fn faults(faults: &Faults) -> FaultStatus {
    let silence = match faults.outage {
        Outage::Off => Silence::Off,
        Outage::RequestsLost => Silence::Lost,
        Outage::ResponsesLost => Silence::Taken,
    };
    FaultStatus { fail_next: faults.fail_next, stick_next: faults.stick_next, slow_ms: faults.slow_ms, silence }
}

pub fn transaction(facts: &Facts, network: NetworkSide, found: &Transaction) -> TransactionStatus {
    let movements = found.movements.iter().map(|movement| {
        let token = movement.token.as_deref().map(|address| (address, facts.find_token(address)));
        let (symbol, decimals) = match token {
            None => (facts.symbol.as_str(), facts.decimals),
            Some((_, Some(token))) => (token.symbol.as_str(), token.decimals),
            // The decimals of an unknown token are unknown, so the amount is in base units.
            Some((address, None)) => (address, 0),
        };
        MovementStatus {
            sender: movement.sender.clone(),
            recipient: movement.recipient.clone(),
            symbol: symbol.to_owned(),
            amount: whole_units(movement.amount, decimals),
        }
    });
    TransactionStatus {
        blockchain: facts.blockchain.clone(),
        network,
        hash: found.hash.clone(),
        sender: found.sender.clone(),
        state: match found.state {
            State::Waiting => "waiting",
            State::Done => "done",
            State::Failed => "failed",
        }
        .to_owned(),
        block: found.block,
        confirmations: found.confirmations,
        fee: whole_units(found.fee, facts.decimals),
        coin: facts.symbol.clone(),
        movements: movements.collect(),
    }
}
