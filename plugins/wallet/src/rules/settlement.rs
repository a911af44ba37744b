//! Auto-settlement (spec/wallet: rule 5, Events): which rule a deposit meets, and what is done with its money.
//!
//! Rules are of one blockchain each. A rule of the address replaces all rules of its master wallet on that blockchain, with no
//! merging. The first rule that fits decides, in the order in which they were made: the same money is settled once.

use super::amount::{Money, Whole};
use super::asset::Asset;
use super::blockchain::Blockchain;
use super::swap::{Order, Slippage};

/// settlement_rule_name and what belongs to it.
#[derive(Clone, Debug, PartialEq)]
pub struct SettlementRule {
    pub id: String,
    pub name: String,
    pub is_active: bool,
    pub source: Source,
    pub target: Target,
    pub order: Order,
    pub slippage: Slippage,
}

/// Which deposits it is about.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    pub blockchain: Blockchain,
    pub assets: Vec<Asset>,
    /// Both limits belong to what fits; `None` is no limit.
    pub min: Option<Whole>,
    pub max: Option<Whole>,
}

/// Where the money is to go.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// Into the gateway's pool; of USDC alone.
    Gateway,
    /// As this asset to this address.
    Address { asset: Asset, address: String },
}

/// Rules and the switch of a wallet or an address.
#[derive(Clone, Debug, PartialEq)]
pub struct Settlement {
    pub is_active: bool,
    pub rules: Vec<SettlementRule>,
}

/// What a rule makes of a deposit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Action<'a> {
    /// The same asset, to the address.
    Withdraw {
        address: &'a str,
    },
    /// Another asset, or on another blockchain.
    Swap {
        to: Asset,
        address: &'a str,
    },
    GatewayDeposit,
}

impl SettlementRule {
    fn fits(&self, money: Money) -> bool {
        let amount = Whole::of(money);
        let above = self.source.min.is_none_or(|min| amount >= min);
        let below = self.source.max.is_none_or(|max| amount <= max);
        self.is_active && self.source.assets.contains(&money.asset) && above && below
    }

    /// What it does with money that fits.
    pub fn action(&self, money: Money) -> Action<'_> {
        match &self.target {
            Target::Gateway => Action::GatewayDeposit,
            Target::Address { asset, address } if *asset == money.asset => Action::Withdraw { address },
            Target::Address { asset, address } => Action::Swap { to: *asset, address },
        }
    }
}

/// The rule that a deposit of this much meets.
pub fn find<'a>(wallet: &'a Settlement, address: Option<&'a Settlement>, money: Money) -> Option<&'a SettlementRule> {
    let blockchain = money.asset.blockchain?;
    let is_of = |rule: &&SettlementRule| rule.source.blockchain == blockchain;
    // Even a rule that is switched off is the address's own: who switches it off wants nothing settled there.
    let own = address.filter(|own| own.rules.iter().any(|rule| is_of(&rule)));
    let settlement = own.unwrap_or(wallet);
    let rule = settlement.rules.iter().filter(is_of).find(|rule| rule.fits(money));
    rule.filter(|_| settlement.is_active)
}

#[cfg(test)]
mod tests;
