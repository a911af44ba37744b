//! What a transaction of a list is (research/wallet 2: type). Sweeps are none: they stand beside their deposit.

use super::deposit::Deposit;
use super::outgoing::Task;

/// type of a transaction record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    Deposit,
    Withdraw,
    Offramp,
    Swap,
    GatewayDeposit,
    GatewayWithdraw,
    /// Coins for gas.
    AutoFunding,
    Salvage,
    /// A message or a raw transaction.
    Signed,
}

impl Kind {
    pub const ALL: [Kind; 9] = [
        Kind::Deposit,
        Kind::Withdraw,
        Kind::Offramp,
        Kind::Swap,
        Kind::GatewayDeposit,
        Kind::GatewayWithdraw,
        Kind::AutoFunding,
        Kind::Salvage,
        Kind::Signed,
    ];
    pub const NAMES: [&str; 9] = [
        "DEPOSIT",
        "WITHDRAW",
        "OFFRAMP",
        "SWAP",
        "GATEWAY_DEPOSIT",
        "GATEWAY_WITHDRAW",
        "AUTO_FUNDING",
        "SALVAGE",
        "SIGNED",
    ];

    pub fn of(task: &Task) -> Option<Kind> {
        Some(match task {
            Task::Withdraw { .. } => Kind::Withdraw,
            Task::Offramp { .. } => Kind::Offramp,
            Task::Swap { .. } => Kind::Swap,
            Task::GatewayDeposit { .. } => Kind::GatewayDeposit,
            Task::GatewayWithdraw { .. } => Kind::GatewayWithdraw,
            Task::Fund { .. } => Kind::AutoFunding,
            Task::Salvage { .. } => Kind::Salvage,
            Task::Broadcast { .. } => Kind::Signed,
            Task::Sweep { .. } => return None,
        })
    }

    /// Coins for gas come without a transaction.
    pub fn of_deposit(deposit: &Deposit) -> Option<Kind> {
        deposit.is_told().then_some(Kind::Deposit)
    }

    pub fn name(self) -> &'static str {
        match self {
            Kind::Deposit => "DEPOSIT",
            Kind::Withdraw => "WITHDRAW",
            Kind::Offramp => "OFFRAMP",
            Kind::Swap => "SWAP",
            Kind::GatewayDeposit => "GATEWAY_DEPOSIT",
            Kind::GatewayWithdraw => "GATEWAY_WITHDRAW",
            Kind::AutoFunding => "AUTO_FUNDING",
            Kind::Salvage => "SALVAGE",
            Kind::Signed => "SIGNED",
        }
    }

    pub fn of_name(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::blockchain::Blockchain;
    use crate::rules::deposit::samples;

    #[test]
    fn every_kind_is_known_by_its_name() {
        assert_eq!(Kind::ALL.map(Kind::name), Kind::NAMES);
        assert!(Kind::ALL.into_iter().all(|kind| Kind::of_name(kind.name()) == Some(kind)));
        assert_eq!(Kind::of_name("deposit"), None);
    }

    #[test]
    fn a_record_is_of_the_kind_of_its_task() {
        assert_eq!(Kind::of(&Task::Broadcast { blockchain: Blockchain::Base }), Some(Kind::Signed));
        assert_eq!(Kind::of_deposit(&samples::deposit()), Some(Kind::Deposit));
    }
}
