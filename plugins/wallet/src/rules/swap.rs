//! Which of several offers a swap takes, and the least that it must bring (spec/wallet: slippage_tolerance, settlement_order).
//!
//! The specification names the four priorities and not what they mean; their meaning is decided here.

use ethnum::U256;

use super::amount::Units;
use super::invalid::Rule;
use super::limits::PERCENT_DECIMALS;
use super::refusal::Refusal;

/// Hundredths of a percent in one whole.
const WHOLE: u128 = 10_000;

/// How far the price may have moved against the client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Slippage {
    /// "-1", the default.
    #[default]
    Unlimited,
    /// In hundredths of a percent.
    AtMost(u32),
}

/// settlement_order. Each falls back to the most that is brought, then to what came first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Soonest there.
    Fastest,
    /// Least network fee.
    Cheapest,
    /// Brings the most. Who asks for nothing gets it.
    #[default]
    Recommended,
    /// Of those that fix their price, the one that brings the most.
    NoSlippage,
}

/// What a provider would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// How the provider knows it.
    pub route: String,
    /// In base units of what is bought.
    pub amount: Units,
    /// In the gas coin of where it begins.
    pub network_fee: Units,
    pub estimated_arrival_s: u64,
    /// The provider stands by this amount.
    pub is_fixed: bool,
}

impl Slippage {
    /// A percentage as text: "0.5", "-1".
    pub fn parse(text: &str) -> Result<Slippage, Rule> {
        if text == "-1" {
            return Ok(Slippage::Unlimited);
        }
        let hundredths = Units::parse(text, PERCENT_DECIMALS).map_err(|_| Rule::NotPercent)?;
        let hundredths = hundredths.to_digits().parse().ok().filter(|hundredths| u128::from(*hundredths) <= WHOLE);
        hundredths.map(Slippage::AtMost).ok_or(Rule::NotPercent)
    }

    /// The least of what was quoted that the client takes; rounded up, in the client's favour.
    pub fn least(self, quoted: Units) -> Option<Units> {
        match self {
            Slippage::Unlimited => Some(Units::ZERO),
            Slippage::AtMost(hundredths) => {
                let rest = WHOLE.checked_sub(u128::from(hundredths))?;
                quoted.scale_up(U256::new(rest), U256::new(WHOLE))
            }
        }
    }
}

impl Order {
    pub const NAMES: [&str; 4] = ["FASTEST", "CHEAPEST", "RECOMMENDED", "NO_SLIPPAGE"];

    pub fn name(self) -> &'static str {
        match self {
            Order::Fastest => "FASTEST",
            Order::Cheapest => "CHEAPEST",
            Order::Recommended => "RECOMMENDED",
            Order::NoSlippage => "NO_SLIPPAGE",
        }
    }

    pub fn of_name(name: &str) -> Option<Order> {
        Some(match name {
            "FASTEST" => Order::Fastest,
            "CHEAPEST" => Order::Cheapest,
            "RECOMMENDED" => Order::Recommended,
            "NO_SLIPPAGE" => Order::NoSlippage,
            _ => return None,
        })
    }

    /// The offer that is taken. One that brings nothing is none.
    pub fn choose(self, offers: Vec<Offer>) -> Result<Offer, Refusal> {
        let wanted = offers.into_iter().filter(|offer| !offer.amount.is_zero());
        let wanted = wanted.filter(|offer| self != Order::NoSlippage || offer.is_fixed);
        // The first of equals: `min_by_key` keeps it.
        let best = wanted.min_by_key(|offer| {
            let most = std::cmp::Reverse(offer.amount);
            match self {
                Order::Fastest => (Units::new(u128::from(offer.estimated_arrival_s)), most),
                Order::Cheapest => (offer.network_fee, most),
                Order::Recommended | Order::NoSlippage => (Units::ZERO, most),
            }
        });
        best.ok_or(Refusal::NoOffer)
    }

    /// The least that an offer must bring in the end. Who asked for no slippage gets what was offered.
    pub fn least(self, slippage: Slippage, offer: &Offer) -> Option<Units> {
        match self {
            Order::NoSlippage => Some(offer.amount),
            _ => slippage.least(offer.amount),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn offers() -> Vec<Offer> {
        let offer = |route: &str, amount, fee, estimated_arrival_s, is_fixed| Offer {
            route: route.into(),
            amount: Units::new(amount),
            network_fee: Units::new(fee),
            estimated_arrival_s,
            is_fixed,
        };
        vec![
            offer("slow", 100, 5, 600, false),
            offer("quick", 90, 9, 3, false),
            offer("cheap", 95, 1, 60, false),
            offer("fixed", 80, 7, 60, true),
            offer("empty", 0, 0, 0, true),
        ]
    }

    #[test]
    fn every_priority_takes_another_offer() {
        for (order, expected) in
            [("FASTEST", "quick"), ("CHEAPEST", "cheap"), ("RECOMMENDED", "slow"), ("NO_SLIPPAGE", "fixed")]
        {
            assert_eq!(Order::of_name(order).unwrap().choose(offers()).unwrap().route, expected, "{order}");
        }
        assert_eq!(Order::of_name("fastest"), None);
    }

    #[test]
    fn among_equals_the_most_wins_and_then_the_first() {
        let mut equal = offers();
        equal.iter_mut().for_each(|offer| offer.estimated_arrival_s = 1);
        assert_eq!(Order::Fastest.choose(equal.clone()).unwrap().route, "slow");
        equal.iter_mut().for_each(|offer| offer.amount = Units::new(1));
        assert_eq!(Order::Fastest.choose(equal).unwrap().route, "slow");
    }

    #[test]
    fn where_nobody_offers_there_is_no_swap() {
        assert_eq!(Order::Recommended.choose(Vec::new()), Err(Refusal::NoOffer));
        let mut floating = offers();
        floating.retain(|offer| !offer.is_fixed);
        assert_eq!(Order::NoSlippage.choose(floating), Err(Refusal::NoOffer));
    }

    #[test]
    fn a_tolerance_is_a_percentage() {
        for (text, expected) in [
            ("-1", Ok(Slippage::Unlimited)),
            ("0", Ok(Slippage::AtMost(0))),
            ("0.5", Ok(Slippage::AtMost(50))),
            ("100", Ok(Slippage::AtMost(10_000))),
            ("100.01", Err(Rule::NotPercent)),
            ("0.001", Err(Rule::NotPercent)),
            ("-0.5", Err(Rule::NotPercent)),
            ("", Err(Rule::NotPercent)),
            ("1%", Err(Rule::NotPercent)),
        ] {
            assert_eq!(Slippage::parse(text), expected, "{text:?}");
        }
    }

    #[test]
    fn the_least_that_a_swap_brings_follows_the_tolerance() {
        let least = |text: &str, quoted| Slippage::parse(text).unwrap().least(Units::new(quoted)).unwrap();
        assert_eq!(least("0.5", 1_000), Units::new(995));
        assert_eq!(least("0.5", 1_001), Units::new(996), "rounded up");
        assert_eq!(least("0", 1_000), Units::new(1_000));
        assert_eq!(least("-1", 1_000), Units::ZERO);
        let fixed = &offers()[3];
        assert_eq!(Order::NoSlippage.least(Slippage::Unlimited, fixed), Some(fixed.amount));
    }

    proptest! {
        #[test]
        fn the_least_is_never_more_than_was_quoted(quoted in 0..10u128.pow(38), hundredths in 0u32..=10_000) {
            let least = Slippage::AtMost(hundredths).least(Units::new(quoted)).unwrap();
            prop_assert!(least <= Units::new(quoted));
        }
    }
}
