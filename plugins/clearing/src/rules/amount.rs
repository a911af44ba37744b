//! Money (spec/clearing: bank_settlement_amount_value and _currency): whole minor units of a currency, never a float.
//!
//! Invariant: at least zero, at most [`AMOUNT_DIGITS_MAX`] digits in minor units. What was sent is kept, to be echoed.

use super::currency::Currency;
use super::invalid::{Field, Invalid, Rule};
use super::limits::{AMOUNT_CHARS_MAX, AMOUNT_DIGITS_MAX};

/// bank_settlement_amount_value and _currency together (spec/clearing: Resources).
#[derive(Clone, Debug)]
pub struct Amount {
    minor: u64,
    currency: Currency,
    sent: String,
}

impl Amount {
    /// `text` as it stands in the message: "100", "100.50". Zeros behind the currency's last decimal are harmless
    /// ("10.0" JPY), other digits there are not.
    pub fn parse(text: &str, currency: Currency) -> Result<Amount, Invalid> {
        let breaks = |rule| Err(Field::BankSettlementAmountValue.breaks(rule));
        if text.starts_with('-') {
            return breaks(Rule::BelowZero);
        }
        let (whole, fraction) = text.split_once('.').map_or((text, None), |(whole, rest)| (whole, Some(rest)));
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if !digits(whole) || !fraction.is_none_or(digits) {
            return breaks(Rule::NotDecimal);
        }
        if text.len() > AMOUNT_CHARS_MAX {
            return breaks(Rule::TooLarge { digits_max: AMOUNT_DIGITS_MAX });
        }
        let decimals = currency.decimals();
        let fraction = fraction.unwrap_or_default().trim_end_matches('0');
        let missing = (decimals as usize).checked_sub(fraction.len());
        let Some(missing) = missing else { return breaks(Rule::TooPrecise { decimals }) };
        let minor = [whole, fraction, &"0".repeat(missing)].concat();
        let minor = minor.trim_start_matches('0');
        if minor.len() > AMOUNT_DIGITS_MAX {
            return breaks(Rule::TooLarge { digits_max: AMOUNT_DIGITS_MAX });
        }
        // Eighteen digits always fit; nothing is left of a zero.
        let minor = minor.parse().unwrap_or(0);
        Ok(Amount { minor, currency, sent: text.to_owned() })
    }

    /// In the smallest unit of the currency.
    pub fn minor(&self) -> u64 {
        self.minor
    }

    pub fn currency(&self) -> Currency {
        self.currency
    }

    /// As it was sent.
    pub fn as_str(&self) -> &str {
        &self.sent
    }

    pub fn is_zero(&self) -> bool {
        self.minor == 0
    }
}

/// "100.5" and "100.50" are the same money.
impl PartialEq for Amount {
    fn eq(&self, other: &Amount) -> bool {
        (self.minor, self.currency) == (other.minor, other.currency)
    }
}

impl Eq for Amount {}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(text: &str, currency: &str, expected: Result<u64, Rule>) {
        let judged = Amount::parse(text, Currency::parse(currency).unwrap());
        let judged = judged.map(|amount| amount.minor()).map_err(|invalid| invalid.rule);
        assert_eq!(judged, expected, "{text:?} {currency}");
    }

    #[test]
    fn an_amount_has_the_decimals_of_its_currency() {
        check("100", "ZAR", Ok(10_000));
        check("100.5", "ZAR", Ok(10_050));
        check("100.50", "ZAR", Ok(10_050));
        check("0", "ZAR", Ok(0));
        check("0.00", "ZAR", Ok(0));
        check("10.0", "JPY", Ok(10));
        check("10.1", "JPY", Err(Rule::TooPrecise { decimals: 0 }));
        check("10.001", "USD", Err(Rule::TooPrecise { decimals: 2 }));
        check("10.001", "KWD", Ok(10_001));
    }

    #[test]
    fn an_amount_is_digits_with_at_most_one_point() {
        for text in ["", ".", "1.", ".5", "1e3", "1E400", "+1", "1,5", "1.2.3", "NaN", "0x1", "１"] {
            check(text, "ZAR", Err(Rule::NotDecimal));
        }
        check("-1", "ZAR", Err(Rule::BelowZero));
    }

    #[test]
    fn an_amount_has_a_limit() {
        check("9999999999999999.99", "ZAR", Ok(999_999_999_999_999_999));
        check("10000000000000000.00", "ZAR", Err(Rule::TooLarge { digits_max: 18 }));
        check(&"0".repeat(33), "ZAR", Err(Rule::TooLarge { digits_max: 18 }));
    }

    #[test]
    fn what_was_sent_is_echoed_and_the_same_money_is_equal() {
        let short = Amount::parse("100.5", super::super::currency::ZAR).unwrap();
        let long = Amount::parse("0100.50", super::super::currency::ZAR).unwrap();
        assert_eq!(short, long);
        assert_eq!((short.as_str(), long.as_str()), ("100.5", "0100.50"));
    }

    proptest! {
        #[test]
        fn minor_units_are_exact(whole in 0u64..10_000_000_000, cents in 0u64..100) {
            let amount = Amount::parse(&format!("{whole}.{cents:02}"), super::super::currency::ZAR).unwrap();
            prop_assert_eq!(amount.minor(), whole * 100 + cents);
        }

        #[test]
        fn no_text_breaks_the_parser(text in "[-+0-9.eE]{0,50}") {
            let _ = Amount::parse(&text, super::super::currency::ZAR);
        }
    }
}
