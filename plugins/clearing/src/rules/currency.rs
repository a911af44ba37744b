//! Currencies of ISO 4217 and how many decimals each has. Metals, test codes and units of account are not among them:
//! nobody is paid in them.

use super::invalid::{Field, Invalid, Rule};

/// Three upper-case letters of the list below.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Currency {
    code: &'static str,
    decimals: u32,
}

/// What an EFT message means that begins a payment and names none.
pub const ZAR: Currency = Currency { code: "ZAR", decimals: 2 };

const NO_DECIMALS: &[&str] =
    &["BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "VND", "VUV", "XAF", "XOF", "XPF"];

const TWO_DECIMALS: &[&str] = &[
    "AED", "AFN", "ALL", "AMD", "AOA", "ARS", "AUD", "AWG", "AZN", "BAM", "BBD", "BDT", "BMD", "BND", "BOB", "BRL",
    "BSD", "BTN", "BWP", "BYN", "BZD", "CAD", "CDF", "CHF", "CNY", "COP", "CRC", "CUP", "CVE", "CZK", "DKK", "DOP",
    "DZD", "EGP", "ERN", "ETB", "EUR", "FJD", "FKP", "GBP", "GEL", "GHS", "GIP", "GMD", "GTQ", "GYD", "HKD", "HNL",
    "HTG", "HUF", "IDR", "ILS", "INR", "IRR", "JMD", "KES", "KGS", "KHR", "KPW", "KYD", "KZT", "LAK", "LBP", "LKR",
    "LRD", "LSL", "MAD", "MDL", "MGA", "MKD", "MMK", "MNT", "MOP", "MRU", "MUR", "MVR", "MWK", "MXN", "MYR", "MZN",
    "NAD", "NGN", "NIO", "NOK", "NPR", "NZD", "PAB", "PEN", "PGK", "PHP", "PKR", "PLN", "QAR", "RON", "RSD", "RUB",
    "SAR", "SBD", "SCR", "SDG", "SEK", "SGD", "SHP", "SLE", "SOS", "SRD", "SSP", "STN", "SVC", "SYP", "SZL", "THB",
    "TJS", "TMT", "TOP", "TRY", "TTD", "TWD", "TZS", "UAH", "USD", "UYU", "UZS", "VED", "VES", "WST", "XCD", "XCG",
    "YER", "ZAR", "ZMW", "ZWG",
];

const THREE_DECIMALS: &[&str] = &["BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"];

impl Currency {
    /// Three upper-case letters of ISO 4217 (spec/clearing: Resources).
    pub fn parse(text: &str) -> Result<Currency, Invalid> {
        let lists = [(NO_DECIMALS, 0), (TWO_DECIMALS, 2), (THREE_DECIMALS, 3)];
        let found = lists.into_iter().find_map(|(codes, decimals)| {
            codes.iter().find(|code| **code == text).map(|code| Currency { code, decimals })
        });
        found.ok_or(Field::BankSettlementAmountCurrency.breaks(Rule::NotCurrency))
    }

    pub fn code(self) -> &'static str {
        self.code
    }

    /// How many decimals its minor unit stands for.
    pub fn decimals(self) -> u32 {
        self.decimals
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_currency_is_a_code_of_the_standard() {
        for (text, decimals) in [("ZAR", 2), ("JPY", 0), ("KWD", 3), ("EUR", 2)] {
            assert_eq!(Currency::parse(text).map(Currency::decimals), Ok(decimals), "{text}");
        }
        assert_eq!(Currency::parse("ZAR"), Ok(ZAR));
        for text in ["", "zar", "ZA", "ZARX", "ABC", "XAU", "XXX", "R"] {
            assert_eq!(
                Currency::parse(text),
                Err(Field::BankSettlementAmountCurrency.breaks(Rule::NotCurrency)),
                "{text:?}"
            );
        }
    }

    #[test]
    fn no_code_stands_in_two_lists() {
        let all: Vec<&str> = [NO_DECIMALS, TWO_DECIMALS, THREE_DECIMALS].concat();
        let distinct: std::collections::BTreeSet<&&str> = all.iter().collect();
        assert_eq!(distinct.len(), all.len());
        assert!(all.iter().all(|code| code.len() == 3 && code.bytes().all(|byte| byte.is_ascii_uppercase())));
    }
}
