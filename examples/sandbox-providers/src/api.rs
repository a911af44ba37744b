//! Requests and answers: parse, ask the tables, answer. Owns the wire forms.

pub mod form;
pub mod gateway;
pub mod liquidity;
pub mod lists;
pub mod payout;
pub mod rates;
pub mod screening;
pub mod shown;
pub mod treasury;
pub mod virtual_accounts;
pub mod webhook;

use tenon_plugin::{Answer, Call, Outcome, Stop};

use crate::rules::amount::Units;
use crate::rules::order::{Asset, Kind, Order};
use crate::words::No;
use crate::{callbacks, records};

/// An asset of a blockchain that the host has.
pub fn asset(call: &Call, blockchain: &str, symbol: &str) -> Result<Asset, Stop> {
    let network = call.chains().network(blockchain).ok_or(No::Route)?;
    let of = |token: Option<String>, decimals: u8| Asset {
        blockchain: blockchain.to_owned(),
        symbol: symbol.to_owned(),
        token,
        decimals: u32::from(decimals),
    };
    if network.symbol == symbol {
        return Ok(of(None, network.decimals));
    }
    let token = network.tokens.into_iter().find(|token| token.symbol == symbol);
    token.map(|token| of(Some(token.address), token.decimals)).ok_or_else(|| No::Route.into())
}

/// What was taken before, where this is a repeat of it; another request with its id is refused.
pub fn find_repeat(call: &Call, kind: Kind, id: &str, request: &str) -> Result<Option<Order>, Stop> {
    match records::find_order(call, &records::order_key(kind, id))? {
        Some(order) if order.request == request => Ok(Some(order)),
        Some(_) => Err(No::Conflict.into()),
        None => Ok(None),
    }
}

pub fn repeated(order: &Order) -> Outcome {
    Ok(Answer::ok(shown::order(order)?))
}

/// Stores a new one and tells the customer of it.
pub fn taken(call: &Call, order: &Order) -> Outcome {
    records::insert_order(call, order)?;
    callbacks::tell_order(call, order)?;
    Ok(Answer::created(shown::order(order)?))
}

pub fn read(call: &Call, kind: Kind) -> Outcome {
    let id = form::parameter(call, "id")?;
    repeated(&records::load_order(call, kind, id)?)
}

/// Of what is given or got, in whole units.
pub fn decimal(asset: &Asset, units: Units) -> String {
    units.to_decimal(asset.decimals)
}
