//! Rules of auto-settlement, with their switch: one record for each wallet and address that has some.

use serde::{Deserialize, Serialize};
use tenon_plugin::{Call, Collection, Stop, json};

use crate::rules::amount::{Units, Whole};
use crate::rules::asset::Asset;
use crate::rules::blockchain::Blockchain;
use crate::rules::books::Holder;
use crate::rules::limits::PERCENT_DECIMALS;
use crate::rules::settlement::{Settlement, SettlementRule, Source, Target};
use crate::rules::swap::{Order, Slippage};
use crate::wire;

const SETTLEMENTS: &str = "settlements";

/// By holder.
pub const COLLECTIONS: &[Collection] = &[Collection::new(SETTLEMENTS, &[])];

/// Of one wallet or address: each is read with every deposit.
pub const RULES_MAX: usize = 50;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SettlementBody {
    pub is_active: bool,
    pub rules: Vec<RuleBody>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RuleBody {
    pub id: String,
    name: String,
    is_active: bool,
    #[serde(with = "wire::blockchain")]
    blockchain: Blockchain,
    assets: Vec<String>,
    #[serde(with = "wire::whole::option", default)]
    min: Option<Whole>,
    #[serde(with = "wire::whole::option", default)]
    max: Option<Whole>,
    /// Asset and address; `None`: the gateway.
    target: Option<(String, String)>,
    order: String,
    slippage: String,
    pub created_ms: u64,
    pub updated_ms: u64,
}

/// As requests and answers write it.
pub fn slippage_text(slippage: Slippage) -> String {
    match slippage {
        Slippage::Unlimited => "-1".to_owned(),
        Slippage::AtMost(hundredths) => Units::new(hundredths.into()).to_decimal(PERCENT_DECIMALS),
    }
}

impl RuleBody {
    pub fn new(rule: &SettlementRule, (created_ms, updated_ms): (u64, u64)) -> RuleBody {
        let SettlementRule { id, name, is_active, source, target, order, slippage } = rule.clone();
        RuleBody {
            id,
            name,
            is_active,
            blockchain: source.blockchain,
            assets: source.assets.iter().map(|asset| asset.key()).collect(),
            min: source.min,
            max: source.max,
            target: match target {
                Target::Gateway => None,
                Target::Address { asset, address } => Some((asset.key(), address)),
            },
            order: order.name().to_owned(),
            slippage: slippage_text(slippage),
            created_ms,
            updated_ms,
        }
    }

    pub fn rule(&self) -> Result<SettlementRule, Stop> {
        let broken = || Stop::fault(["settlement rule ", &self.id, " cannot be read"].concat());
        let asset = |key: &String| Asset::of_key(key).ok_or_else(broken);
        let assets: Result<Vec<Asset>, Stop> = self.assets.iter().map(asset).collect();
        let target = match &self.target {
            None => Target::Gateway,
            Some((key, address)) => Target::Address { asset: asset(key)?, address: address.clone() },
        };
        Ok(SettlementRule {
            id: self.id.clone(),
            name: self.name.clone(),
            is_active: self.is_active,
            source: Source { blockchain: self.blockchain, assets: assets?, min: self.min, max: self.max },
            target,
            order: Order::of_name(&self.order).unwrap_or_default(),
            slippage: Slippage::parse(&self.slippage).map_err(|_| broken())?,
        })
    }
}

pub fn load(call: &Call, holder: &Holder) -> Result<Option<SettlementBody>, Stop> {
    call.records(SETTLEMENTS).get(&holder.name()).map(|entry| json::from_text(&entry.body)).transpose()
}

pub fn save(call: &Call, holder: &Holder, body: &SettlementBody) -> Result<(), Stop> {
    super::put(call, SETTLEMENTS, &holder.name(), &json::to_text(body)?)
}

/// As the rules judge by it.
pub fn settlement(call: &Call, holder: &Holder) -> Result<Option<Settlement>, Stop> {
    let Some(body) = load(call, holder)? else { return Ok(None) };
    let rules: Result<Vec<SettlementRule>, Stop> = body.rules.iter().map(RuleBody::rule).collect();
    Ok(Some(Settlement { is_active: body.is_active, rules: rules? }))
}
