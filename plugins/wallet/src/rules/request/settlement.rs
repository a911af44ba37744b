//! A rule of auto-settlement, as it is made or changed.

use super::Context;
use super::reader::{Reader, given};
use super::swap::slippage;
use crate::rules::amount::Whole;
use crate::rules::asset::{self, Asset};
use crate::rules::invalid::{Field, Rule};
use crate::rules::limits::{NAME_CHARS_MAX, RULE_ASSETS_MAX};
use crate::rules::refusal::Refusal;
use crate::rules::settlement::{SettlementRule, Source, Target};
use crate::rules::swap::Order;

const SOURCE_ASSETS: Field = Field("source.assets");
const MIN: Field = Field("source.min_amount");
const MAX: Field = Field("source.max_amount");
const BLOCKCHAIN: Field = Field("destination.blockchain");
const ASSET: Field = Field("destination.asset");

/// As it was sent. Assets are symbols; those of the source live on the wallet's blockchain.
#[derive(Clone, Debug, Default)]
pub struct Raw {
    pub settlement_rule_name: Option<String>,
    pub is_active: Option<bool>,
    pub is_gateway: Option<bool>,
    pub settlement_order: Option<String>,
    pub slippage_tolerance: Option<String>,
    pub source_assets: Vec<String>,
    pub min_amount: Option<String>,
    pub max_amount: Option<String>,
    pub destination_blockchain: Option<String>,
    pub destination_asset: Option<String>,
    pub destination_address: Option<String>,
}

pub fn read(raw: &Raw, id: String, context: &Context) -> Result<SettlementRule, Refusal> {
    let mut reader = Reader::default();
    let name = reader.required_text(Field("settlement_rule_name"), &raw.settlement_rule_name, NAME_CHARS_MAX);
    let order = reader.choice(Field("settlement_order"), &raw.settlement_order, &Order::NAMES, Order::of_name);
    let order = order.unwrap_or_default();
    let slippage = slippage(&mut reader, &raw.slippage_tolerance);
    let source = source(&mut reader, raw, context);
    let target = if raw.is_gateway == Some(true) {
        gateway(&mut reader, &source, context)
    } else {
        destination(&mut reader, raw)
    };
    let is_active = raw.is_active.unwrap_or(true);
    let made = name.zip(target);
    reader.finish(made.map(|(name, target)| SettlementRule { id, name, is_active, source, target, order, slippage }))
}

fn source(reader: &mut Reader, raw: &Raw, context: &Context) -> Source {
    if raw.source_assets.is_empty() {
        reader.breaks(SOURCE_ASSETS, Rule::Required);
    }
    let mut assets: Vec<Asset> = Vec::new();
    // More than there are cannot all be known.
    for symbol in raw.source_assets.iter().take(RULE_ASSETS_MAX) {
        match asset::find(symbol, context.blockchain) {
            Some(asset) => assets.push(asset),
            None => {
                reader.breaks(SOURCE_ASSETS, Rule::UnknownAsset);
                break;
            }
        }
    }
    if raw.source_assets.len() > RULE_ASSETS_MAX {
        reader.breaks(SOURCE_ASSETS, Rule::UnknownAsset);
    }
    let min = threshold(reader, MIN, &raw.min_amount);
    let max = threshold(reader, MAX, &raw.max_amount);
    if min.zip(max).is_some_and(|(min, max)| max < min) {
        reader.breaks(MAX, Rule::BelowMinimum);
    }
    Source { blockchain: context.blockchain, assets, min, max }
}

/// "-1", or nothing: there is none.
fn threshold(reader: &mut Reader, field: Field, sent: &Option<String>) -> Option<Whole> {
    let text = given(sent).filter(|text| *text != "-1")?;
    Whole::parse(text).map_err(|rule| reader.breaks(field, rule)).ok()
}

/// Only USDC, and only where there is a gateway.
fn gateway(reader: &mut Reader, source: &Source, context: &Context) -> Option<Target> {
    if !context.blockchain.has_gateway() {
        let (blockchain, network) = (context.blockchain, context.network.name());
        reader.breaks(Field("is_gateway"), Rule::NoGateway { blockchain, network });
    }
    if source.assets.iter().any(|asset| !asset.is_usdc()) {
        reader.breaks(SOURCE_ASSETS, Rule::NotUsdc);
    }
    Some(Target::Gateway)
}

fn destination(reader: &mut Reader, raw: &Raw) -> Option<Target> {
    let blockchain = reader.blockchain(BLOCKCHAIN, &raw.destination_blockchain);
    let symbol = reader.required(ASSET, &raw.destination_asset);
    let blockchain = blockchain?;
    let asset = symbol.and_then(|symbol| asset::find(symbol, blockchain));
    if symbol.is_some() && asset.is_none() {
        reader.breaks(ASSET, Rule::UnknownAsset);
    }
    let address = reader.address(Field("destination.address"), &raw.destination_address, blockchain);
    Some(Target::Address { asset: asset?, address: address? })
}

#[cfg(test)]
mod tests {
    use super::super::samples::{ADDRESS, context, some, wrong};
    use super::*;
    use crate::rules::blockchain::Blockchain;

    fn raw() -> Raw {
        Raw {
            settlement_rule_name: some("to cold storage"),
            source_assets: vec!["USDC".into(), "DAI".into()],
            min_amount: some("10"),
            max_amount: some("-1"),
            destination_blockchain: some("polygon"),
            destination_asset: some("USDC"),
            destination_address: some(ADDRESS),
            ..Raw::default()
        }
    }

    fn check(raw: Raw, expected: &str) {
        assert_eq!(wrong(read(&raw, "r".into(), &context())), expected, "{raw:?}");
    }

    #[test]
    fn a_rule_has_a_name_a_source_and_a_destination() {
        check(raw(), "");
        check(
            Raw::default(),
            "settlement_rule_name required, source.assets required, destination.blockchain required, \
             destination.asset required",
        );
        check(Raw { source_assets: vec!["USDT".into()], ..raw() }, "source.assets asset");
        check(Raw { source_assets: vec!["USDC".into(); 21], ..raw() }, "source.assets asset");
        check(Raw { destination_asset: some("ZARP"), ..raw() }, "");
        check(Raw { destination_asset: some("EURC"), ..raw() }, "destination.asset asset");
        check(Raw { destination_address: some("x"), ..raw() }, "destination.address address");
    }

    #[test]
    fn the_upper_threshold_is_not_below_the_lower() {
        check(Raw { max_amount: some("10"), ..raw() }, "");
        check(Raw { max_amount: some("9.99"), ..raw() }, "source.max_amount range");
        check(Raw { min_amount: some("x"), ..raw() }, "source.min_amount decimal");
    }

    #[test]
    fn a_rule_for_the_gateway_takes_usdc_where_there_is_one() {
        let gateway = Raw { is_gateway: Some(true), source_assets: vec!["USDC".into()], ..raw() };
        check(gateway.clone(), "");
        check(Raw { source_assets: vec!["USDC".into(), "DAI".into()], ..gateway.clone() }, "source.assets usdc");
        let celo = Context { blockchain: Blockchain::Celo, ..context() };
        assert_eq!(wrong(read(&gateway, "r".into(), &celo)), "is_gateway gateway");
    }
}
