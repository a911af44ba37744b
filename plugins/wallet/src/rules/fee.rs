//! Network fees (research/wallet 5: only the blockchain's gas, no mark-up; the estimate is deliberately high), and who pays them.

use ethnum::U256;

use super::amount::{Money, Units};
use super::asset;
use super::blockchain::{Blockchain, Family};
use super::limits::GAS_MARGIN_PERCENT;
use super::refusal::Refusal;

/// How the gas of a movement from an address under a wallet gets paid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The address has enough.
    Own,
    /// The master wallet signs beside the address and pays.
    Sponsored,
    /// The master wallet sends this much first.
    Funded(Units),
}

/// What is held for gas, and told as networkFee: `gas` units at `price`, with the margin.
pub fn estimate(blockchain: Blockchain, gas: u64, price: Units) -> Option<Money> {
    let hundredths = U256::from(gas).checked_mul(U256::from(GAS_MARGIN_PERCENT))?;
    let units = price.scale_up(hundredths, U256::new(100))?;
    Some(Money::new(asset::gas(blockchain), units))
}

/// Gas that the master wallet has promised to pay for an address with so much of its own.
pub fn way(blockchain: Blockchain, needed: Units, own: Units) -> Way {
    match needed.saturating_sub(own) {
        Units::ZERO => Way::Own,
        // Solana names who pays; EVM and Tron take it from who moves.
        _ if blockchain.family() == Family::Solana => Way::Sponsored,
        missing => Way::Funded(missing),
    }
}

/// Rule 2: the master wallet must hold the native token. Without it no address is made under it.
pub fn check_funded(native_balance: Units) -> Result<(), Refusal> {
    if native_balance.is_zero() { Err(Refusal::InsufficientGas) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::blockchain::Blockchain::*;

    #[test]
    fn a_fee_is_held_with_a_margin() {
        let fee = estimate(Base, 65_000, Units::new(1_000_000_000)).unwrap();
        assert_eq!((fee.to_decimal(), fee.asset.symbol), ("0.0000975".into(), "ETH"));
        assert_eq!(estimate(Tempo, 1, Units::new(1)).unwrap().units, Units::new(2), "rounded up");
    }

    #[test]
    fn a_fee_that_fits_no_number_is_none() {
        let huge = Units::new(u128::MAX).scale_down(U256::new(u128::MAX), U256::ONE).unwrap();
        assert_eq!(estimate(Base, u64::MAX, huge), None);
    }

    #[test]
    fn an_address_that_cannot_pay_is_helped_by_its_master() {
        for (blockchain, needed, own, expected) in [
            (Base, 10, 10, Way::Own),
            (Base, 10, 4, Way::Funded(Units::new(6))),
            (Tron, 10, 0, Way::Funded(Units::new(10))),
            (Solana, 10, 4, Way::Sponsored),
            (Solana, 10, 10, Way::Own),
        ] {
            assert_eq!(way(blockchain, Units::new(needed), Units::new(own)), expected, "{}", blockchain.slug());
        }
    }

    #[test]
    fn a_master_without_gas_makes_no_address() {
        assert_eq!(check_funded(Units::ZERO), Err(Refusal::InsufficientGas));
        assert_eq!(check_funded(Units::new(1)), Ok(()));
    }
}
