//! Settings of a master wallet and of an address under it (spec/wallet: rule 4): auto-sweep and gasless withdrawal. What the
//! address says goes before what the wallet says, in both.

use super::amount::{Money, Whole};

/// Of a master wallet. Defaults are the specification's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WalletSettings {
    pub auto_sweep: AutoSweep,
    pub gasless_withdraw: GaslessWithdraw,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AutoSweep {
    pub is_active: bool,
    /// Balance of the address from which on it is swept.
    pub threshold: Whole,
}

/// Whether the master wallet pays the gas of a withdrawal from an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GaslessWithdraw {
    pub is_active: bool,
    pub operator: Operator,
    /// What the withdrawn amount is compared with.
    pub threshold: Whole,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    Gt,
    Gte,
    Lt,
    Lte,
    Eq,
}

/// Of an address: only what it was told. Both flags of the interface have a default of the wallet's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AddressSettings {
    pub disable_auto_sweep: Option<bool>,
    pub enable_gasless_withdraw: Option<bool>,
}

impl AddressSettings {
    /// On the blockchain of another wallet than its own: it cannot promise that wallet's coins, only do without them.
    pub fn elsewhere(self) -> AddressSettings {
        AddressSettings { enable_gasless_withdraw: self.enable_gasless_withdraw.filter(|enabled| !enabled), ..self }
    }
}

impl Default for WalletSettings {
    fn default() -> WalletSettings {
        WalletSettings {
            auto_sweep: AutoSweep { is_active: true, threshold: Whole::ZERO },
            gasless_withdraw: GaslessWithdraw { is_active: false, operator: Operator::Gte, threshold: Whole::ZERO },
        }
    }
}

impl Operator {
    pub const NAMES: [&str; 5] = ["gt", "gte", "lt", "lte", "eq"];

    pub fn name(self) -> &'static str {
        match self {
            Operator::Gt => "gt",
            Operator::Gte => "gte",
            Operator::Lt => "lt",
            Operator::Lte => "lte",
            Operator::Eq => "eq",
        }
    }

    pub fn of_name(name: &str) -> Option<Operator> {
        Some(match name {
            "gt" => Operator::Gt,
            "gte" => Operator::Gte,
            "lt" => Operator::Lt,
            "lte" => Operator::Lte,
            "eq" => Operator::Eq,
            _ => return None,
        })
    }

    pub fn holds(self, amount: Whole, threshold: Whole) -> bool {
        match self {
            Operator::Gt => amount > threshold,
            Operator::Gte => amount >= threshold,
            Operator::Lt => amount < threshold,
            Operator::Lte => amount <= threshold,
            Operator::Eq => amount == threshold,
        }
    }
}

/// Whether an address with this balance is swept now. Nothing is never swept.
pub fn sweeps(wallet: &WalletSettings, address: &AddressSettings, balance: Money) -> bool {
    let is_active = address.disable_auto_sweep.map_or(wallet.auto_sweep.is_active, |disabled| !disabled);
    is_active && !balance.units.is_zero() && Whole::of(balance) >= wallet.auto_sweep.threshold
}

/// Whether the master wallet pays for a withdrawal of this amount from this address. An address that says so itself is asked
/// for no threshold.
pub fn is_gasless(wallet: &WalletSettings, address: &AddressSettings, amount: Money) -> bool {
    let rule = wallet.gasless_withdraw;
    address.enable_gasless_withdraw.unwrap_or(rule.is_active && rule.operator.holds(Whole::of(amount), rule.threshold))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::amount::Units;
    use crate::rules::asset;
    use crate::rules::blockchain::Blockchain;

    /// Whole units of an asset with six decimals.
    fn usdc(whole: u128) -> Money {
        Money::new(asset::find("USDC", Blockchain::Base).unwrap(), Units::new(whole * 1_000_000))
    }

    fn ten() -> Whole {
        Whole::parse("10").unwrap()
    }

    #[test]
    fn sweeping_is_on_from_the_beginning_and_gasless_withdrawal_off() {
        let (wallet, address) = (WalletSettings::default(), AddressSettings::default());
        assert!(sweeps(&wallet, &address, usdc(1)));
        assert!(!sweeps(&wallet, &address, usdc(0)));
        assert!(!is_gasless(&wallet, &address, usdc(1_000_000)));
    }

    #[test]
    fn an_address_overrides_its_wallet() {
        let mut wallet = WalletSettings::default();
        let off = AddressSettings { disable_auto_sweep: Some(true), enable_gasless_withdraw: Some(true) };
        assert!(!sweeps(&wallet, &off, usdc(5)));
        assert!(is_gasless(&wallet, &off, usdc(5)));
        wallet.auto_sweep.is_active = false;
        wallet.gasless_withdraw.is_active = true;
        let on = AddressSettings { disable_auto_sweep: Some(false), enable_gasless_withdraw: Some(false) };
        assert!(sweeps(&wallet, &on, usdc(5)));
        assert!(!is_gasless(&wallet, &on, usdc(5)));
        assert!(!sweeps(&wallet, &AddressSettings::default(), usdc(5)));
    }

    #[test]
    fn an_address_promises_nothing_for_the_wallet_of_another_blockchain() {
        let mut other = WalletSettings::default();
        let on = AddressSettings { enable_gasless_withdraw: Some(true), ..AddressSettings::default() };
        assert!(!is_gasless(&other, &on.elsewhere(), usdc(5)));
        other.gasless_withdraw.is_active = true;
        assert!(is_gasless(&other, &on.elsewhere(), usdc(5)));
        let off = AddressSettings { enable_gasless_withdraw: Some(false), ..AddressSettings::default() };
        assert!(!is_gasless(&other, &off.elsewhere(), usdc(5)));
    }

    #[test]
    fn a_balance_is_swept_from_its_threshold_on() {
        let mut wallet = WalletSettings::default();
        wallet.auto_sweep.threshold = ten();
        for (balance, expected) in [(9, false), (10, true), (11, true)] {
            assert_eq!(sweeps(&wallet, &AddressSettings::default(), usdc(balance)), expected, "{balance}");
        }
    }

    #[test]
    fn an_operator_compares_the_amount_with_the_threshold() {
        for (name, expected) in [
            ("gt", [false, false, true]),
            ("gte", [false, true, true]),
            ("lt", [true, false, false]),
            ("lte", [true, true, false]),
            ("eq", [false, true, false]),
        ] {
            let mut wallet = WalletSettings::default();
            let operator = Operator::of_name(name).unwrap();
            wallet.gasless_withdraw = GaslessWithdraw { is_active: true, operator, threshold: ten() };
            let judged = [9, 10, 11].map(|amount| is_gasless(&wallet, &AddressSettings::default(), usdc(amount)));
            assert_eq!(judged, expected, "{name}");
        }
        assert_eq!(Operator::of_name("ne"), None);
        assert!(Operator::NAMES.into_iter().all(|name| Operator::of_name(name).map(Operator::name) == Some(name)));
    }
}
