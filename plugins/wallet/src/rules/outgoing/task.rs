//! What a transaction is to do: what it holds, where that goes, what comes of it.

use crate::rules::amount::{Money, Units};
use crate::rules::asset::{Asset, GATEWAY_USDC};
use crate::rules::blockchain::Blockchain;
use crate::rules::books::{Account, Holder, Outside};
use crate::rules::code::Code;
use crate::rules::compliance::Currency;

/// Operations of the interface, and what the service does by itself (`Sweep`, `Fund`).
#[derive(Clone, Debug, PartialEq)]
pub enum Task {
    Withdraw {
        money: Money,
        destination_address: String,
    },
    Offramp {
        money: Money,
        currency: Currency,
        institution_identifier: String,
    },
    Swap {
        money: Money,
        to: Destination,
        at_least: Units,
        settled: bool,
    },
    /// USDC of a blockchain into the gateway's pool.
    GatewayDeposit {
        money: Money,
    },
    /// Of the pool, to USDC of a blockchain.
    GatewayWithdraw {
        units: Units,
        to: Destination,
    },
    /// What a deposit brought, to the master wallet.
    Sweep {
        money: Money,
        master: Holder,
    },
    /// Coins for gas, from the master wallet to an address that cannot pay for itself.
    Fund {
        money: Money,
        address: Holder,
    },
    /// What lies on the wrong blockchain was never in the books: only gas is.
    Salvage {
        amount: String,
        blockchain: Blockchain,
    },
    /// Raw bytes of the client's: what they move is seen on the blockchain, not known before.
    Broadcast {
        blockchain: Blockchain,
    },
}

/// Where something is bought, and for whom.
#[derive(Clone, Debug, PartialEq)]
pub struct Destination {
    pub asset: Asset,
    /// `None`: an address that is not ours.
    pub holder: Option<Holder>,
}

impl Task {
    /// What is set aside for it.
    pub fn money(&self) -> Option<Money> {
        match self {
            Task::Withdraw { money, .. }
            | Task::Offramp { money, .. }
            | Task::Swap { money, .. }
            | Task::GatewayDeposit { money }
            | Task::Sweep { money, .. }
            | Task::Fund { money, .. } => Some(*money),
            Task::GatewayWithdraw { units, .. } => Some(Money::new(GATEWAY_USDC, *units)),
            Task::Salvage { .. } | Task::Broadcast { .. } => None,
        }
    }

    /// Where that goes.
    pub(super) fn sink(&self) -> Option<Account> {
        Some(match self {
            Task::Withdraw { money, .. } | Task::GatewayDeposit { money } => {
                Account::External(Outside::Chain(money.asset.blockchain?))
            }
            Task::Offramp { .. } => Account::External(Outside::Bank),
            Task::Swap { .. } => Account::External(Outside::Swap),
            Task::GatewayWithdraw { .. } => Account::External(Outside::Gateway),
            Task::Sweep { master, .. } => Account::Available(master.clone()),
            Task::Fund { address, .. } => Account::Available(address.clone()),
            Task::Salvage { .. } | Task::Broadcast { .. } => return None,
        })
    }

    /// Whose balance of ours it fills by itself. Everything else that arrives at an address of ours is told as a deposit: a
    /// withdrawal to it, and what was bought on another blockchain, which comes with a hash that nobody here has signed.
    pub(super) fn fills(&self) -> Option<&Holder> {
        match self {
            Task::Swap { money, to, .. } => {
                to.holder.as_ref().filter(|_| to.asset.blockchain == money.asset.blockchain)
            }
            Task::GatewayWithdraw { to, .. } => to.holder.as_ref(),
            Task::Sweep { master, .. } => Some(master),
            Task::Fund { address, .. } => Some(address),
            _ => None,
        }
    }

    /// Whether a swap has brought less than was agreed to.
    pub(super) fn falls_short(&self, received: Option<Units>) -> bool {
        match self {
            Task::Swap { at_least, .. } => received.unwrap_or_default() < *at_least,
            _ => false,
        }
    }

    /// What is told where nothing better is known (spec/wallet: Errors; the nearest one for what has none).
    pub fn failure(&self) -> Code {
        match self {
            Task::Offramp { .. } => Code::OfframpFailed,
            Task::Swap { .. } => Code::SwapFailed,
            Task::Sweep { .. } | Task::Fund { .. } => Code::DepositSweepFailed,
            _ => Code::WithdrawalFailed,
        }
    }
}
