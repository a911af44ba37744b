//! What is done with the money of a deposit once it is final (spec/wallet: Events): it is settled where a rule says so, swept
//! where sweeping is on, or rests.
//!
//! The specification lets both run and not both have the same money: a rule goes first, and takes it from where it lies.

use super::amount::{Money, Units};
use super::books::Holder;
use super::deposit::{Custody, Deposit};
use super::settings::{AddressSettings, WalletSettings, sweeps};
use super::settlement::{Settlement, SettlementRule, find};
use super::status::Status;
use super::sweep::is_sweepable;

/// What follows a deposit.
#[derive(Clone, Debug, PartialEq)]
pub enum Next<'a> {
    Settle(&'a SettlementRule),
    /// The whole balance of the address in this asset, earlier deposits below the threshold included.
    Sweep(Units),
    Rest,
}

/// What the wallet has been told, and the address where there is one.
#[derive(Clone, Copy, Debug)]
pub struct Told<'a> {
    pub wallet: &'a WalletSettings,
    pub address: &'a AddressSettings,
    pub wallet_rules: &'a Settlement,
    pub address_rules: Option<&'a Settlement>,
}

/// `balance`: what its holder can spend of the asset.
pub fn after<'a>(deposit: &Deposit, told: Told<'a>, balance: Units) -> Next<'a> {
    let lying = Money::new(deposit.sighting.money.asset, balance);
    if deposit.custody == Custody::Watched || deposit.status != Status::Success || !deposit.is_told() {
        return Next::Rest;
    }
    let address_rules = told.address_rules.filter(|_| matches!(deposit.holder, Holder::Address(_)));
    match find(told.wallet_rules, address_rules, deposit.sighting.money) {
        // Somebody may have spent it in the meantime.
        Some(rule) if balance >= deposit.sighting.money.units => Next::Settle(rule),
        _ if is_sweepable(deposit) && sweeps(told.wallet, told.address, lying) => Next::Sweep(balance),
        _ => Next::Rest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::asset;
    use crate::rules::blockchain::Blockchain;
    use crate::rules::deposit::samples;
    use crate::rules::settlement::{Source, Target};
    use crate::rules::swap::{Order, Slippage};

    fn deposit(holder: Holder) -> Deposit {
        Deposit { holder, ..samples::deposit() }
    }

    fn rules(rules: usize) -> Settlement {
        let source = Source {
            blockchain: Blockchain::Base,
            assets: vec![asset::find("USDC", Blockchain::Base).unwrap()],
            min: None,
            max: None,
        };
        let rule = SettlementRule {
            id: "r".into(),
            name: "r".into(),
            is_active: true,
            source,
            target: Target::Gateway,
            order: Order::Recommended,
            slippage: Slippage::Unlimited,
        };
        Settlement { is_active: true, rules: vec![rule; rules] }
    }

    fn check(deposit: &Deposit, wallet_rules: &Settlement, balance: u128, expected: &str) {
        let (wallet, address) = (WalletSettings::default(), AddressSettings::default());
        let told = Told { wallet: &wallet, address: &address, wallet_rules, address_rules: None };
        let done = match after(deposit, told, Units::new(balance)) {
            Next::Settle(rule) => format!("settle {}", rule.id),
            Next::Sweep(units) => format!("sweep {}", units.to_digits()),
            Next::Rest => "rest".to_owned(),
        };
        assert_eq!(done, expected, "{deposit:?} with {balance}");
    }

    #[test]
    fn a_rule_goes_before_the_sweep() {
        let deposit = deposit(Holder::Address("a".into()));
        check(&deposit, &rules(1), 150, "settle r");
        check(&deposit, &rules(0), 150, "sweep 150");
        check(&deposit, &rules(1), 60, "sweep 60");
        check(&deposit, &rules(0), 0, "rest");
    }

    #[test]
    fn what_is_in_the_master_wallet_is_settled_and_not_swept() {
        let deposit = deposit(Holder::Wallet("w".into()));
        check(&deposit, &rules(1), 150, "settle r");
        check(&deposit, &rules(0), 150, "rest");
    }

    #[test]
    fn what_is_not_ours_or_not_final_rests() {
        let ours = deposit(Holder::Address("a".into()));
        check(&Deposit { custody: Custody::Watched, ..ours.clone() }, &rules(1), 150, "rest");
        check(&Deposit { status: Status::Processing, ..ours }, &rules(1), 150, "rest");
    }
}
