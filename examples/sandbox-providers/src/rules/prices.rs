//! What everything is worth: a table, the same for ever. Rounding is always down.

use ethnum::U256;

use super::amount::Units;

/// Decimals of a rate: enough for a naira in bitcoin.
pub const RATE_DECIMALS: u32 = 12;
const MILLION: u64 = 1_000_000;

/// Fiat currencies: millionths of one that a US dollar buys.
const CURRENCIES: [(&str, u64); 11] = [
    ("USD", MILLION),
    ("EUR", 920_000),
    ("NGN", 1_510_250_000),
    ("KES", 129_500_000),
    ("TZS", 2_650_000_000),
    ("UGX", 3_700_000_000),
    ("BRL", 5_400_000),
    ("MWK", 1_735_000_000),
    ("IDR", 16_000_000_000),
    ("ZAR", 18_000_000),
    ("JPY", 150_000_000),
];

/// Stablecoins, each worth one of a currency.
const PEGGED: [(&str, &str); 11] = [
    ("USDT", "USD"),
    ("USDC", "USD"),
    ("DAI", "USD"),
    ("BUSD", "USD"),
    ("cUSD", "USD"),
    ("AlphaUSD", "USD"),
    ("EURC", "EUR"),
    ("cNGN", "NGN"),
    ("IDRX", "IDR"),
    ("ZARP", "ZAR"),
    ("JPYC", "JPY"),
];

/// Coins: millionths of a US dollar that one is worth.
const COINS: [(&str, u64); 10] = [
    ("BTC", 60_000 * MILLION),
    ("ETH", 3_000 * MILLION),
    ("BNB", 600 * MILLION),
    ("SOL", 150 * MILLION),
    ("AVAX", 25 * MILLION),
    ("CELO", 600_000),
    ("POL", 500_000),
    ("XPL", 400_000),
    ("TRX", 250_000),
    ("RWA", 50_000),
];

/// How many whole units of one thing a whole unit of another is worth. Above zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate(Units);

impl Rate {
    /// `None` where one of them is unknown.
    pub fn between(from: &str, to: &str) -> Option<Rate> {
        let ((from, from_divisor), (to, to_divisor)) = (worth(from)?, worth(to)?);
        let one = Units::new(U256::new(10).checked_pow(RATE_DECIMALS)?);
        let factor = U256::from(from).checked_mul(U256::from(to_divisor))?;
        let divisor = U256::from(from_divisor).checked_mul(U256::from(to))?;
        one.scale(factor, divisor).filter(|rate| *rate != Units::ZERO).map(Rate)
    }

    pub fn to_text(self) -> String {
        self.0.to_decimal(RATE_DECIMALS)
    }

    /// What `units` of something with `from` decimals come to, of something with `to` decimals.
    pub fn convert(self, units: Units, from: u32, to: u32) -> Option<Units> {
        let ten = U256::new(10);
        let rate = U256::from_str_radix(&self.0.to_digits(), 10).ok()?;
        let divisor = ten.checked_pow(from.checked_add(RATE_DECIMALS)?)?;
        units.scale(rate.checked_mul(ten.checked_pow(to)?)?, divisor)
    }
}

pub fn is_currency(code: &str) -> bool {
    CURRENCIES.iter().any(|(name, _)| *name == code)
}

/// Everything that has a price and is no currency.
pub fn assets() -> impl Iterator<Item = &'static str> {
    PEGGED.iter().map(|(symbol, _)| *symbol).chain(COINS.iter().map(|(symbol, _)| *symbol))
}

/// In US dollars: the first divided by the second.
fn worth(name: &str) -> Option<(u64, u64)> {
    let of_currency =
        |code: &str| CURRENCIES.iter().find(|(name, _)| *name == code).map(|(_, per_dollar)| (MILLION, *per_dollar));
    let coin = COINS.iter().find(|(symbol, _)| *symbol == name).map(|(_, price)| (*price, MILLION));
    let pegged = PEGGED.iter().find(|(symbol, _)| *symbol == name).and_then(|(_, currency)| of_currency(currency));
    coin.or(pegged).or_else(|| of_currency(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(from: &str, to: &str) -> Option<String> {
        Rate::between(from, to).map(Rate::to_text)
    }

    #[test]
    fn rates_follow_from_the_table() {
        assert_eq!(text("USDC", "NGN").as_deref(), Some("1510.25"));
        assert_eq!(text("ETH", "NGN").as_deref(), Some("4530750"));
        assert_eq!(text("cNGN", "NGN").as_deref(), Some("1"));
        assert_eq!(text("cNGN", "BTC").as_deref(), Some("0.000000011035"));
        assert_eq!(text("SHELLS", "NGN"), None);
    }

    #[test]
    fn everything_has_a_rate_in_everything() {
        for from in assets() {
            for to in assets().chain(CURRENCIES.iter().map(|(code, _)| *code)) {
                assert!(text(from, to).is_some(), "{from} in {to}");
            }
        }
    }

    #[test]
    fn amounts_are_converted_between_decimals_and_rounded_down() {
        let rate = Rate::between("USDC", "UGX").unwrap();
        let ten_cents = Units::parse("0.100001", 6).unwrap();
        assert_eq!(rate.convert(ten_cents, 6, 0).unwrap().to_digits(), "370");
    }
}
