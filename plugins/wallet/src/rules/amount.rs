//! Money (spec/wallet: amount): decimal text of whole units at the border, integers of base units inside. Never a float.
//!
//! Invariant: every step is checked; what does not fit is a fault of the caller's, never a wrapped number.

use ethnum::U256;

use super::asset::Asset;
use super::invalid::Rule;
use super::limits::{AMOUNT_CHARS_MAX, AMOUNT_DIGITS_MAX};

/// Base units of some asset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Units(U256);

/// Base units of this asset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Money {
    pub asset: Asset,
    pub units: Units,
}

/// Whole units with eighteen decimals: what amounts of assets with different decimals are compared in. Thresholds are such.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Whole(U256);

/// No asset has more.
pub const WHOLE_DECIMALS: u32 = 18;

impl Whole {
    pub const ZERO: Whole = Whole(U256::ZERO);

    pub fn parse(text: &str) -> Result<Whole, Rule> {
        Units::parse(text, WHOLE_DECIMALS).map(|units| Whole(units.0))
    }

    pub fn to_decimal(self) -> String {
        Units(self.0).to_decimal(WHOLE_DECIMALS)
    }

    /// What fits no number is more than every threshold.
    pub fn of(money: Money) -> Whole {
        let more = WHOLE_DECIMALS.saturating_sub(money.asset.decimals);
        let scaled = U256::new(10).checked_pow(more).and_then(|factor| money.units.0.checked_mul(factor));
        Whole(scaled.unwrap_or(U256::MAX))
    }
}

impl Units {
    pub const ZERO: Units = Units(U256::ZERO);

    pub const fn new(units: u128) -> Units {
        Units(U256::new(units))
    }

    /// `text` as it stands in a request: "10.5". Zeros behind the last decimal are harmless ("10.500000000" USDC), other
    /// digits there are not.
    pub fn parse(text: &str, decimals: u32) -> Result<Units, Rule> {
        if text.starts_with('-') {
            return Err(Rule::NotAboveZero);
        }
        let (whole, fraction) = text.split_once('.').map_or((text, None), |(whole, rest)| (whole, Some(rest)));
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if !digits(whole) || !fraction.is_none_or(digits) {
            return Err(Rule::NotDecimal);
        }
        if text.len() > AMOUNT_CHARS_MAX {
            return Err(Rule::TooLarge { digits_max: AMOUNT_DIGITS_MAX });
        }
        let fraction = fraction.unwrap_or_default().trim_end_matches('0');
        let Some(missing) = (decimals as usize).checked_sub(fraction.len()) else {
            return Err(Rule::TooPrecise { decimals });
        };
        let all = [whole, fraction, &"0".repeat(missing)].concat();
        Units::of_digits(all.trim_start_matches('0')).ok_or(Rule::TooLarge { digits_max: AMOUNT_DIGITS_MAX })
    }

    /// Above zero: what is withdrawn, swapped, charged (spec/wallet: Limits).
    pub fn parse_positive(text: &str, decimals: u32) -> Result<Units, Rule> {
        let units = Units::parse(text, decimals)?;
        if units.is_zero() { Err(Rule::NotAboveZero) } else { Ok(units) }
    }

    /// Digits without a sign or zeros in front; none are zero.
    fn of_digits(digits: &str) -> Option<Units> {
        match digits.len() {
            0 => Some(Units::ZERO),
            1..=AMOUNT_DIGITS_MAX => U256::from_str_radix(digits, 10).ok().map(Units),
            _ => None,
        }
    }

    /// What the ledger writes and reads.
    pub fn to_digits(self) -> String {
        self.0.to_string()
    }

    /// Base units as the ledger and blockchains write them.
    pub fn of_base(digits: &str) -> Option<Units> {
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| U256::from_str_radix(digits, 10).ok().map(Units)).flatten()
    }

    /// Whole units, as briefly as they can be written: "10.5", "0".
    pub fn to_decimal(self, decimals: u32) -> String {
        let digits = self.0.to_string();
        let width = decimals as usize;
        let padded = ["0".repeat((width + 1).saturating_sub(digits.len())), digits].concat();
        let (whole, fraction) = padded.split_at(padded.len() - width);
        match fraction.trim_end_matches('0') {
            "" => whole.to_owned(),
            fraction => [whole, ".", fraction].concat(),
        }
    }

    pub fn is_zero(self) -> bool {
        self == Units::ZERO
    }

    pub fn checked_add(self, other: Units) -> Option<Units> {
        self.0.checked_add(other.0).map(Units)
    }

    pub fn checked_sub(self, other: Units) -> Option<Units> {
        self.0.checked_sub(other.0).map(Units)
    }

    /// Nothing where `other` is more.
    /// At most what fits a number, which is more than there can be.
    pub fn saturating_add(self, other: Units) -> Units {
        Units(self.0.saturating_add(other.0))
    }

    pub fn saturating_sub(self, other: Units) -> Units {
        Units(self.0.saturating_sub(other.0))
    }

    /// `self * factor / divisor`; rounded down.
    pub fn scale_down(self, factor: U256, divisor: U256) -> Option<Units> {
        self.0.checked_mul(factor)?.checked_div(divisor).map(Units)
    }

    /// `self * factor / divisor`; rounded up.
    pub fn scale_up(self, factor: U256, divisor: U256) -> Option<Units> {
        let product = self.0.checked_mul(factor)?;
        product.checked_add(divisor.checked_sub(U256::ONE)?)?.checked_div(divisor).map(Units)
    }
}

impl Money {
    pub fn new(asset: Asset, units: Units) -> Money {
        Money { asset, units }
    }

    /// As every answer and event writes it.
    pub fn to_decimal(self) -> String {
        self.units.to_decimal(self.asset.decimals)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(text: &str, decimals: u32, expected: Result<u128, Rule>) {
        assert_eq!(Units::parse(text, decimals), expected.map(Units::new), "{text:?} with {decimals} decimals");
    }

    #[test]
    fn an_amount_has_the_decimals_of_its_asset() {
        check("10.5", 6, Ok(10_500_000));
        check("10", 6, Ok(10_000_000));
        check("0.000001", 6, Ok(1));
        check("0.0000010000", 6, Ok(1));
        check("0.0000001", 6, Err(Rule::TooPrecise { decimals: 6 }));
        check("10", 18, Ok(10_000_000_000_000_000_000));
        check("1.0", 0, Ok(1));
        check("1.1", 0, Err(Rule::TooPrecise { decimals: 0 }));
        check("007", 2, Ok(700));
    }

    #[test]
    fn an_amount_is_digits_with_at_most_one_point() {
        for text in ["", ".", "1.", ".5", "1e3", "+1", "1,5", "1.2.3", "NaN", "0x1", " 1", "１", "Infinity"] {
            check(text, 6, Err(Rule::NotDecimal));
        }
        check("-1", 6, Err(Rule::NotAboveZero));
    }

    #[test]
    fn an_amount_has_a_limit() {
        check(&"9".repeat(38), 0, Ok(10u128.pow(38) - 1));
        check(&"9".repeat(39), 0, Err(Rule::TooLarge { digits_max: 38 }));
        check(&"9".repeat(33), 6, Err(Rule::TooLarge { digits_max: 38 }));
        check(&"0".repeat(65), 0, Err(Rule::TooLarge { digits_max: 38 }));
    }

    #[test]
    fn nothing_is_not_a_withdrawal() {
        for text in ["0", "0.0", "000", "-5"] {
            assert_eq!(Units::parse_positive(text, 6), Err(Rule::NotAboveZero), "{text:?}");
        }
        assert_eq!(Units::parse_positive("0.000001", 6), Ok(Units::new(1)));
    }

    #[test]
    fn an_amount_is_written_briefly() {
        for (units, decimals, text) in
            [(0, 6, "0"), (1, 6, "0.000001"), (10_500_000, 6, "10.5"), (7, 0, "7"), (100, 2, "1")]
        {
            assert_eq!(Units::new(units).to_decimal(decimals), text);
        }
    }

    #[test]
    fn amounts_of_different_decimals_are_compared_in_whole_units() {
        use crate::rules::{asset, blockchain::Blockchain::*};
        let usdc =
            |blockchain, units| Whole::of(Money::new(asset::find("USDC", blockchain).unwrap(), Units::new(units)));
        let ten = Whole::parse("10").unwrap();
        assert_eq!(usdc(Base, 10_000_000), ten);
        assert_eq!(usdc(Bsc, 10_000_000_000_000_000_000), ten);
        assert!(usdc(Base, 9_999_999) < ten && usdc(Bsc, 10_000_000) < ten);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_as_the_same(units in 0..10u128.pow(38), decimals in 0u32..=18) {
            let units = Units::new(units);
            prop_assert_eq!(Units::parse(&units.to_decimal(decimals), decimals), Ok(units));
        }

        #[test]
        fn no_text_breaks_the_parser(text in "[-+0-9.eE]{0,70}", decimals in 0u32..=18) {
            let _ = Units::parse(&text, decimals);
        }

        #[test]
        fn rounding_up_is_at_most_one_more(units in 0..10u128.pow(38), factor in 0u128..10_000, divisor in 1u128..10_000) {
            let (factor, divisor) = (U256::from(factor), U256::from(divisor));
            let down = Units::new(units).scale_down(factor, divisor).unwrap();
            let up = Units::new(units).scale_up(factor, divisor).unwrap();
            prop_assert!(up == down || up == down.checked_add(Units::new(1)).unwrap());
        }
    }
}
