//! Amounts: decimal text of whole units at the border, integers of base units inside. Never a float; every step is checked.

use ethnum::U256;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::limits::{AMOUNT_CHARS_MAX, AMOUNT_DIGITS_MAX};

/// Base units of some asset or currency. Stored as its digits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Units(U256);

impl Units {
    pub const ZERO: Units = Units(U256::ZERO);

    pub const fn new(units: U256) -> Units {
        Units(units)
    }

    /// "10.5" of something with so many decimals, above zero. Zeros behind the last decimal are harmless.
    pub fn parse(text: &str, decimals: u32) -> Option<Units> {
        let (whole, fraction) = match text.split_once('.') {
            Some((_, "")) => return None,
            Some((whole, fraction)) => (whole, fraction.trim_end_matches('0')),
            None => (text, ""),
        };
        let all_digits = [whole, text.get(whole.len()..).unwrap_or_default().trim_start_matches('.')].concat();
        let is_decimal = !whole.is_empty() && all_digits.bytes().all(|byte| byte.is_ascii_digit());
        if !is_decimal || text.len() > AMOUNT_CHARS_MAX {
            return None;
        }
        let missing = (decimals as usize).checked_sub(fraction.len())?;
        let digits = [whole, fraction, &"0".repeat(missing)].concat();
        let units = Units::of_digits(digits.trim_start_matches('0'))?;
        (units != Units::ZERO).then_some(units)
    }

    /// As blockchains and the ledger write it.
    pub fn of_digits(digits: &str) -> Option<Units> {
        if digits.is_empty() {
            return Some(Units::ZERO);
        }
        let is_number = digits.len() <= AMOUNT_DIGITS_MAX && digits.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| U256::from_str_radix(digits, 10).ok().map(Units))?
    }

    pub fn to_digits(self) -> String {
        self.0.to_string()
    }

    /// Whole units, as briefly as they can be written.
    pub fn to_decimal(self, decimals: u32) -> String {
        let (digits, width) = (self.0.to_string(), decimals as usize);
        let padded = ["0".repeat((width + 1).saturating_sub(digits.len())), digits].concat();
        let (whole, fraction) = padded.split_at(padded.len() - width);
        match fraction.trim_end_matches('0') {
            "" => whole.to_owned(),
            fraction => [whole, ".", fraction].concat(),
        }
    }

    pub fn checked_add(self, other: Units) -> Option<Units> {
        self.0.checked_add(other.0).map(Units)
    }

    pub fn checked_sub(self, other: Units) -> Option<Units> {
        self.0.checked_sub(other.0).map(Units)
    }

    /// `self * factor / divisor`, rounded down.
    pub fn scale(self, factor: U256, divisor: U256) -> Option<Units> {
        self.0.checked_mul(factor)?.checked_div(divisor).map(Units)
    }

    /// `self * factor / divisor`, rounded up.
    pub fn scale_up(self, factor: U256, divisor: U256) -> Option<Units> {
        let product = self.0.checked_mul(factor)?;
        product.checked_add(divisor.checked_sub(U256::ONE)?)?.checked_div(divisor).map(Units)
    }
}

impl Serialize for Units {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_digits())
    }
}

impl<'de> Deserialize<'de> for Units {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Units, D::Error> {
        let digits = String::deserialize(deserializer)?;
        Units::of_digits(&digits).ok_or_else(|| serde::de::Error::custom("not an amount"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_decimal_text_above_zero_is_an_amount() {
        for text in ["10.5", "0.000001", "010", "1.500000000"] {
            assert!(Units::parse(text, 6).is_some(), "{text}");
        }
        let too_long = "1".repeat(39);
        for text in ["", ".", "1.", ".5", "-1", "+1", "1e3", "0", "0.0", "1.0000001", "1,5", "１", "1.2.3", &too_long]
        {
            assert_eq!(Units::parse(text, 6), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(units in 1..u128::MAX >> 3, decimals in 0..=18u32) {
            let units = Units::new(U256::new(units));
            prop_assert_eq!(Units::parse(&units.to_decimal(decimals), decimals), Some(units));
            prop_assert_eq!(Units::of_digits(&units.to_digits()), Some(units));
        }

        #[test]
        fn no_text_ends_a_test(text in ".{0,80}") {
            let _ = Units::parse(&text, 18);
        }
    }
}
