//! The gateway's contracts, as its provider names them: USDC that is sent there directly is lost.

use serde::{Deserialize, Serialize};
use tenon_plugin::{Call, Collection, Stop, json};

use crate::rules::address;
use crate::rules::blockchain::Blockchain;
use crate::settings;

const GATEWAYS: &str = "gateway-contracts";

/// By blockchain.
pub const COLLECTIONS: &[Collection] = &[Collection::new(GATEWAYS, &[])];

#[derive(Serialize, Deserialize)]
struct Body {
    contract_address: String,
}

/// What the operator says goes before what the provider says. In the spelling of requests that were read.
pub fn contract(call: &Call, blockchain: Blockchain) -> Result<Option<String>, Stop> {
    if let Some(set) = settings::gateway_contract(call, blockchain.slug())? {
        return Ok(Some(address::read(blockchain, &set).unwrap_or(set)));
    }
    let found = call.records(GATEWAYS).get(blockchain.slug());
    let body = found.map(|entry| json::from_text::<Body>(&entry.body)).transpose()?;
    Ok(body.map(|Body { contract_address: named }| address::read(blockchain, &named).unwrap_or(named)))
}

pub fn set(call: &Call, blockchain: Blockchain, contract_address: String) -> Result<(), Stop> {
    super::put(call, GATEWAYS, blockchain.slug(), &json::to_text(&Body { contract_address })?)
}
