//! Rates between assets and currencies: exact decimals, whole arithmetic. Rounding is always down for who receives.

use ethnum::U256;

use super::amount::Units;
use super::limits::RATE_DIGITS_MAX;

/// How many whole units of one thing a whole unit of another is worth: `digits / 10^decimals`. Above zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    digits: U256,
    decimals: u32,
}

impl Rate {
    /// "1510.25"; `None` where that is not a rate: a provider's mistake, not the client's.
    pub fn parse(text: &str) -> Option<Rate> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let all = [whole, fraction].concat();
        let is_digits = !whole.is_empty() && all.bytes().all(|byte| byte.is_ascii_digit());
        if !is_digits || all.len() > RATE_DIGITS_MAX || text.ends_with('.') {
            return None;
        }
        let digits = U256::from_str_radix(&all, 10).ok().filter(|digits| *digits > U256::ZERO)?;
        Some(Rate { digits, decimals: u32::try_from(fraction.len()).ok()? })
    }

    /// What `units` of something with `from` decimals come to, in base units of something with `to` decimals. `None` where
    /// that fits no number.
    pub fn convert(self, units: Units, from: u32, to: u32) -> Option<Units> {
        let ten = U256::new(10);
        let factor = self.digits.checked_mul(ten.checked_pow(to)?)?;
        units.scale_down(factor, ten.checked_pow(from.checked_add(self.decimals)?)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(rate: &str, units: u128, from: u32, to: u32, expected: u128) {
        let converted = Rate::parse(rate).unwrap().convert(Units::new(units), from, to);
        assert_eq!(converted, Some(Units::new(expected)), "{units} at {rate}");
    }

    #[test]
    fn a_rate_converts_between_decimals() {
        check("1510.25", 10_000_000, 6, 2, 1_510_250);
        check("1", 10_000_000, 6, 18, 10_000_000_000_000_000_000);
        check("0.9999", 1_000_000, 6, 6, 999_900);
        check("0.333", 10, 0, 0, 3);
        check("3700", 1, 6, 0, 0);
    }

    #[test]
    fn what_is_no_rate_is_none() {
        for text in ["", "0", "0.00", "-1", "1e3", ".5", "1.", "1.2.3", &"9".repeat(31)] {
            assert_eq!(Rate::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn what_fits_no_number_is_none() {
        let rate = Rate::parse(&"9".repeat(30)).unwrap();
        assert_eq!(rate.convert(Units::new(u128::MAX), 0, 18), None);
    }

    proptest! {
        #[test]
        fn there_and_back_never_makes_money(units in 0..10u128.pow(24), numerator in 1u32..1_000_000) {
            // A rate and its inverse, rounded up to the client's loss as providers do.
            let there = Rate::parse(&numerator.to_string()).unwrap();
            let back = Rate { digits: U256::new(10u128.pow(18) / u128::from(numerator)), decimals: 18 };
            prop_assume!(back.digits > 0);
            let bought = there.convert(Units::new(units), 6, 6).unwrap();
            prop_assert!(back.convert(bought, 6, 6).unwrap() <= Units::new(units));
        }
    }
}
