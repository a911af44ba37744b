//! What a payout comes to.

use ethnum::U256;

use super::amount::Units;
use super::banks::Currency;
use super::prices::Rate;

/// In hundredths of a percent of what the coins are worth.
const FEE: u64 = 50;
const WHOLE: u64 = 10_000;

/// In base units of the currency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quote {
    pub rate: Rate,
    pub fee: Units,
    pub payout: Units,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    NoRoute,
    TooSmall,
    TooLarge,
}

/// For so many `units` of an asset.
pub fn quote(asset: &str, decimals: u32, units: Units, currency: &Currency) -> Result<Quote, Refused> {
    let rate = Rate::between(asset, currency.code).ok_or(Refused::NoRoute)?;
    let worth = rate.convert(units, decimals, currency.decimals).ok_or(Refused::TooLarge)?;
    let fee = worth.scale_up(U256::from(FEE), U256::from(WHOLE)).ok_or(Refused::TooLarge)?;
    let payout = worth.checked_sub(fee).ok_or(Refused::TooSmall)?;
    let limit = |text: &str| Units::parse(text, currency.decimals).unwrap_or_default();
    if payout < limit(currency.minimum) {
        Err(Refused::TooSmall)
    } else if payout > limit(currency.maximum) {
        Err(Refused::TooLarge)
    } else {
        Ok(Quote { rate, fee, payout })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::banks::find_currency;

    fn of(amount: &str, currency: &str) -> Result<(String, String), Refused> {
        let currency = find_currency(currency).unwrap();
        let quote = quote("USDC", 6, Units::parse(amount, 6).unwrap(), currency)?;
        Ok((quote.fee.to_decimal(currency.decimals), quote.payout.to_decimal(currency.decimals)))
    }

    #[test]
    fn the_fee_is_rounded_up_and_the_rest_is_paid() {
        assert_eq!(of("100", "NGN"), Ok(("755.13".to_owned(), "150269.87".to_owned())));
        assert_eq!(of("1", "UGX"), Ok(("19".to_owned(), "3681".to_owned())));
    }

    #[test]
    fn limits_are_of_what_is_paid_out() {
        assert_eq!(of("0.01", "NGN"), Err(Refused::TooSmall));
        assert_eq!(of("1000000", "NGN"), Err(Refused::TooLarge));
        assert_eq!(of("99999999999999999999999999999999", "NGN"), Err(Refused::TooLarge));
    }
}
