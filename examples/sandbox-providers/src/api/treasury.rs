//! /v1/treasury: whom an operator has to send coins to on a blockchain without a faucet.

use serde_json::json;
use tenon_plugin::{Answer, Call, Outcome, json as text};

use crate::rules::limits::TREASURY_INDEX;
use crate::words;

pub fn show(call: &Call) -> Outcome {
    let network = call.chains().network(call.parameter("blockchain")).ok_or_else(words::not_found)?;
    let address = call.keyring().account(call.parameter("blockchain"), TREASURY_INDEX).address;
    let answer = json!({
        "blockchain": call.parameter("blockchain"),
        "network": network.name,
        "address": address,
        "has_faucet": network.has_faucet,
    });
    Ok(Answer::ok(text::to_text(&answer)?))
}
