//! Conversion between decimal whole units ("2.5"), which operators use, and base units, which the host uses.

use ethnum::U256;

/// Parses whole units. The error is a clause.
pub fn base_units(text: &str, decimals: u8) -> Result<U256, String> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_number = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !is_number(whole) || !is_number(fraction) || text.ends_with('.') {
        return Err(format!("\"{text:.100}\" is not an amount"));
    }
    let places = usize::from(decimals);
    if fraction.len() > places {
        return Err(format!("\"{text:.100}\" has more than {decimals} digits after the point"));
    }
    let digits = format!("{whole}{fraction:0<places$}");
    let amount = U256::from_str_radix(&digits, 10).map_err(|_| format!("\"{text:.100}\" is too large"))?;
    if amount == U256::ZERO { Err("the amount must be greater than 0".to_owned()) } else { Ok(amount) }
}

pub fn whole_units(amount: U256, decimals: u8) -> String {
    let places = usize::from(decimals);
    let digits = format!("{amount:0>width$}", width = places + 1);
    let (whole, fraction) = digits.split_at_checked(digits.len().saturating_sub(places)).unwrap_or((&digits, ""));
    match fraction.trim_end_matches('0') {
        "" => whole.to_owned(),
        fraction => format!("{whole}.{fraction}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_round_trip_exactly() {
        for (text, decimals, base) in [
            ("1", 0, "1"),
            ("1", 6, "1000000"),
            ("0.000001", 6, "1"),
            ("12.5", 18, "12500000000000000000"),
            (
                "115792089237316195423570985008687907853269984665640564039457.584007913129639935",
                18,
                &U256::MAX.to_string(),
            ),
        ] {
            let amount = base_units(text, decimals).unwrap();
            assert_eq!((amount.to_string(), whole_units(amount, decimals)), (base.to_owned(), text.to_owned()));
        }
        assert_eq!(base_units("007.500", 6).map(|amount| whole_units(amount, 6)), Ok("7.5".to_owned()));
        assert_eq!(whole_units(U256::ZERO, 18), "0");
    }

    #[test]
    fn invalid_amounts_are_rejected_with_the_reason() {
        for (text, decimals, expected) in [
            ("", 6, "not an amount"),
            (".5", 6, "not an amount"),
            ("5.", 6, "not an amount"),
            ("-1", 6, "not an amount"),
            ("+1", 6, "not an amount"),
            ("1e3", 6, "not an amount"),
            ("1_000", 6, "not an amount"),
            ("1.2.3", 6, "not an amount"),
            ("٣", 6, "not an amount"),
            ("0.0000001", 6, "more than 6 digits"),
            ("0", 6, "greater than 0"),
            ("0.0", 6, "greater than 0"),
            (&"9".repeat(78), 0, "too large"),
            (&"9".repeat(60_000), 18, "too large"),
        ] {
            let error = base_units(text, decimals).unwrap_err();
            assert!(error.contains(expected) && error.len() < 160, "{text:.20}: {error}");
        }
    }
}
