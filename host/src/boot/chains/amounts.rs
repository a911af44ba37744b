//! Amounts as operators write them: whole units in decimal, "2.5". Inside they are base units.

use ethnum::U256;

/// `Err`: what is wrong with it.
pub fn base_units(text: &str, decimals: u8) -> Result<U256, String> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_number = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !is_number(whole) || !is_number(fraction) || text.ends_with('.') {
        return Err(format!("\"{text:.100}\" is no amount"));
    }
    let places = usize::from(decimals);
    if fraction.len() > places {
        return Err(format!("\"{text:.100}\" has more than {decimals} digits after the point"));
    }
    let digits = format!("{whole}{fraction:0<places$}");
    let amount = U256::from_str_radix(&digits, 10).map_err(|_| format!("\"{text:.100}\" is too much"))?;
    if amount == U256::ZERO { Err("the amount has to be above 0".to_owned()) } else { Ok(amount) }
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
    fn amounts_are_read_exactly_and_written_as_they_were_read() {
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
    fn what_is_no_amount_is_refused_with_what_is_wrong() {
        for (text, decimals, wrong) in [
            ("", 6, "no amount"),
            (".5", 6, "no amount"),
            ("5.", 6, "no amount"),
            ("-1", 6, "no amount"),
            ("+1", 6, "no amount"),
            ("1e3", 6, "no amount"),
            ("1_000", 6, "no amount"),
            ("1.2.3", 6, "no amount"),
            ("٣", 6, "no amount"),
            ("0.0000001", 6, "more than 6 digits"),
            ("0", 6, "above 0"),
            ("0.0", 6, "above 0"),
            (&"9".repeat(78), 0, "too much"),
            (&"9".repeat(60_000), 18, "too much"),
        ] {
            let said = base_units(text, decimals).unwrap_err();
            assert!(said.contains(wrong) && said.len() < 160, "{text:.20}: {said}");
        }
    }
}
