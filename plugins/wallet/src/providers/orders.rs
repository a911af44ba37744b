//! What has become of something that a provider moves, in one shape for all kinds.

use serde::Deserialize;

use super::{gateway, liquidity, payout};
use crate::records::provided::Kind;

/// Longest text of a provider that is kept.
const TEXT_CHARS_MAX: usize = 128;

/// As a provider shows it.
#[derive(Clone, Debug, Deserialize)]
pub struct Order {
    pub status: String,
    pub reason: Option<String>,
    pub deposit: Option<Deposit>,
    pub delivery: Option<Movement>,
    pub refund: Option<Movement>,
}

/// Where our coins are to go.
#[derive(Clone, Debug, Deserialize)]
pub struct Deposit {
    pub blockchain: String,
    pub asset: String,
    pub address: String,
    pub amount: String,
}

/// What the provider sends.
#[derive(Clone, Debug, Deserialize)]
pub struct Movement {
    pub amount: String,
    pub transaction_hash: Option<String>,
}

impl Order {
    /// `None`: not the contract's form.
    pub fn read(text: &str) -> Option<Order> {
        let mut order: Order = serde_json::from_str(text).ok()?;
        order.reason = order.reason.map(|reason| reason.chars().take(TEXT_CHARS_MAX).collect());
        Some(order)
    }

    pub fn delivery_hash(&self) -> Option<&str> {
        hash_of(self.delivery.as_ref())
    }

    pub fn refund_hash(&self) -> Option<&str> {
        hash_of(self.refund.as_ref())
    }
}

fn hash_of(movement: Option<&Movement>) -> Option<&str> {
    movement?.transaction_hash.as_deref().filter(|hash| hash.len() <= TEXT_CHARS_MAX)
}

pub fn destination(kind: Kind) -> &'static str {
    match kind {
        Kind::Payout => payout::DESTINATION,
        Kind::Swap => liquidity::DESTINATION,
        Kind::GatewayDeposit | Kind::GatewayWithdrawal => gateway::DESTINATION,
    }
}

/// Below the base address of the destination; an order's own behind it.
pub fn path(kind: Kind) -> &'static str {
    match kind {
        Kind::Payout => "/v1/payouts",
        Kind::Swap => "/v1/swaps",
        Kind::GatewayDeposit => "/v1/gateway/deposits",
        Kind::GatewayWithdrawal => "/v1/gateway/withdrawals",
    }
}
