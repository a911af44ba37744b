//! The four ways that the sandbox swaps: soonest, cheapest, most, and at a fixed price.

use ethnum::U256;
use serde::{Deserialize, Serialize};

use super::amount::Units;
use super::prices::{RATE_DECIMALS, Rate};

/// Hundredths of a percent in one whole.
const WHOLE: u64 = 10_000;

/// One way. What it brings and how far that may move are in hundredths of a percent.
struct Way {
    name: &'static str,
    brings: u64,
    slippage: u64,
    arrival_s: u64,
    /// Estimates of a transfer.
    network_fees: u64,
    is_fixed: bool,
}

const WAYS: [Way; 4] = [
    Way { name: "best", brings: 9_990, slippage: 50, arrival_s: 180, network_fees: 2, is_fixed: false },
    Way { name: "cheap", brings: 9_970, slippage: 50, arrival_s: 900, network_fees: 1, is_fixed: false },
    Way { name: "fast", brings: 9_950, slippage: 50, arrival_s: 30, network_fees: 3, is_fixed: false },
    Way { name: "fixed", brings: 9_900, slippage: 0, arrival_s: 240, network_fees: 2, is_fixed: true },
];

/// Amounts in base units of what is got; the network's fee in those of the coin that gas is paid in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    pub way: String,
    pub amount: Units,
    pub minimum_amount: Units,
    pub fee: Units,
    pub network_fee: Units,
    pub arrival_s: u64,
    /// In hundredths of a percent.
    pub slippage: u64,
    pub is_fixed: bool,
}

/// settlement_order of the wallet interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    Fastest,
    Cheapest,
    Recommended,
    NoSlippage,
}

impl Priority {
    pub const NAMES: &str = "FASTEST, CHEAPEST, RECOMMENDED, NO_SLIPPAGE";

    pub fn of_name(name: &str) -> Option<Priority> {
        Some(match name {
            "FASTEST" => Priority::Fastest,
            "CHEAPEST" => Priority::Cheapest,
            "RECOMMENDED" => Priority::Recommended,
            "NO_SLIPPAGE" => Priority::NoSlippage,
            _ => return None,
        })
    }

    /// What serves it best stands first.
    fn way(self) -> &'static str {
        match self {
            Priority::Fastest => "fast",
            Priority::Cheapest => "cheap",
            Priority::Recommended => "best",
            Priority::NoSlippage => "fixed",
        }
    }
}

/// Those that bring something. `None` where the amount fits no number.
pub fn offers(units: Units, (from, to): (u32, u32), rate: Rate, transfer_fee: Units) -> Option<Vec<Offer>> {
    let worth = rate.convert(units, from, to)?;
    let offers = WAYS.iter().map(|way| offer(way, worth, transfer_fee)).collect::<Option<Vec<Offer>>>()?;
    Some(offers.into_iter().filter(|offer| offer.minimum_amount != Units::ZERO).collect())
}

fn offer(way: &Way, worth: Units, transfer_fee: Units) -> Option<Offer> {
    let part = |units: Units, hundredths: u64| units.scale(U256::from(hundredths), U256::from(WHOLE));
    let amount = part(worth, way.brings)?;
    Some(Offer {
        way: way.name.to_owned(),
        amount,
        minimum_amount: part(amount, WHOLE.checked_sub(way.slippage)?)?,
        fee: worth.checked_sub(amount)?,
        network_fee: transfer_fee.scale(U256::from(way.network_fees), U256::ONE)?,
        arrival_s: way.arrival_s,
        slippage: way.slippage,
        is_fixed: way.is_fixed,
    })
}

/// As the customer wishes: the best for it first, and no other but fixed prices for who wants those.
pub fn sorted(mut offers: Vec<Offer>, priority: Option<Priority>) -> Vec<Offer> {
    let Some(priority) = priority else { return offers };
    offers.sort_by_key(|offer| offer.way != priority.way());
    offers.retain(|offer| priority != Priority::NoSlippage || offer.is_fixed);
    offers
}

/// Whole units of what is got for one whole unit of what is given, as text; "0" where that is less than it can say.
pub fn rate((given, from): (Units, u32), (got, to): (Units, u32)) -> String {
    let ten = U256::new(10);
    let digits = || {
        let factor = ten.checked_pow(RATE_DECIMALS.checked_add(from)?)?;
        let divisor = U256::from_str_radix(&given.to_digits(), 10).ok()?.checked_mul(ten.checked_pow(to)?)?;
        got.scale(factor, divisor)
    };
    digits().unwrap_or_default().to_decimal(RATE_DECIMALS)
}

/// What arrives where a swap falls short: a tenth less.
pub fn short_of(amount: Units) -> Option<Units> {
    amount.scale(U256::from(9u8), U256::from(10u8))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some() -> Vec<Offer> {
        let rate = Rate::between("USDC", "USDT").unwrap();
        offers(Units::parse("100", 6).unwrap(), (6, 6), rate, Units::new(U256::new(7))).unwrap()
    }

    #[test]
    fn each_priority_finds_its_offer_first() {
        let first = |name| sorted(some(), Priority::of_name(name)).remove(0).way;
        for (name, way) in
            [("FASTEST", "fast"), ("CHEAPEST", "cheap"), ("RECOMMENDED", "best"), ("NO_SLIPPAGE", "fixed")]
        {
            assert_eq!(first(name), way);
        }
        assert!(sorted(some(), Some(Priority::NoSlippage)).iter().all(|offer| offer.is_fixed));
    }

    #[test]
    fn the_offers_are_what_their_names_say() {
        let offers = some();
        let way = |name: &str| offers.iter().find(|offer| offer.way == name).unwrap();
        assert!(offers.iter().all(|offer| offer.arrival_s >= way("fast").arrival_s));
        assert!(offers.iter().all(|offer| offer.network_fee >= way("cheap").network_fee));
        assert!(offers.iter().all(|offer| offer.amount <= way("best").amount));
        assert_eq!(way("fixed").amount, way("fixed").minimum_amount);
        assert_eq!(way("best").amount.to_decimal(6), "99.9");
        assert_eq!(way("best").minimum_amount.to_decimal(6), "99.4005");
        assert_eq!(rate((Units::parse("100", 6).unwrap(), 6), (way("best").amount, 6)), "0.999");
    }

    #[test]
    fn what_brings_nothing_is_no_offer() {
        let rate = Rate::between("USDC", "BTC").unwrap();
        let dust = Units::new(U256::ONE);
        assert_eq!(offers(dust, (6, 0), rate, Units::ZERO), Some(Vec::new()));
    }
}
