//! Swaps and bridges: offers, and the orders.

use serde::{Deserialize, Serialize};
use tenon_plugin::{Call, Stop, json, time};

use super::client;
use crate::rules::amount::{Money, Units};
use crate::rules::asset::{self, Asset};
use crate::rules::blockchain::Blockchain;
use crate::rules::swap::Offer;

pub const DESTINATION: &str = "liquidity";
/// Offers of one quote that are looked at.
const OFFERS_MAX: usize = 32;

#[derive(Serialize)]
struct Place<'a> {
    blockchain: &'a str,
    asset: &'a str,
}

#[derive(Serialize)]
struct Asked<'a> {
    from: Place<'a>,
    to: Place<'a>,
    amount: String,
    order: &'a str,
}

#[derive(Deserialize)]
struct Quote {
    expires_at: String,
    offers: Vec<OfferText>,
}

#[derive(Deserialize)]
struct OfferText {
    offer_id: String,
    amount: String,
    minimum_amount: String,
    network_fee: String,
    arrival_seconds: u64,
    #[serde(default)]
    is_fixed: bool,
}

/// What is on offer until then, and the least that each offer brings.
pub struct Offers {
    pub expires_ms: u64,
    pub offers: Vec<(Offer, Units)>,
}

fn place(asset: Asset) -> Place<'static> {
    Place { blockchain: asset.blockchain.map_or("", Blockchain::slug), asset: asset.symbol }
}

pub fn quote(call: &Call, money: Money, to: Asset, order: &str) -> Result<Offers, Stop> {
    let asked = Asked { from: place(money.asset), to: place(to), amount: money.to_decimal(), order };
    let reply = client::ask(call, DESTINATION, "/v1/swap/quotes", Some(json::to_text(&asked)?))?;
    let Quote { expires_at, offers } = client::understood(reply)?;
    // An offer that cannot be read is none.
    let read = offers.into_iter().take(OFFERS_MAX).filter_map(|offer| offer.read(money, to));
    Ok(Offers { expires_ms: time::parse(&expires_at).unwrap_or_default(), offers: read.collect() })
}

impl OfferText {
    fn read(self, money: Money, to: Asset) -> Option<(Offer, Units)> {
        let gas = asset::gas(money.asset.blockchain?);
        let least = Units::parse(&self.minimum_amount, to.decimals).ok()?;
        let offer = Offer {
            route: self.offer_id,
            amount: Units::parse(&self.amount, to.decimals).ok()?,
            network_fee: Units::parse(&self.network_fee, gas.decimals).ok()?,
            estimated_arrival_s: self.arrival_seconds,
            is_fixed: self.is_fixed,
        };
        Some((offer, least))
    }
}

#[derive(Serialize)]
pub struct Order<'a> {
    pub id: &'a str,
    pub offer_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum_amount: Option<String>,
    pub recipient_address: &'a str,
    pub refund_address: &'a str,
}
