//! Account numbers and proxies (spec/clearing: creditor_account_number, debtor_account_number, creditor_account_proxy).
//! The specification calls both texts; they may be longer than nothing and shorter than their limit.
//!
//! Both keep what was sent and are compared by a `key` in which spelling does not count. Invariant: what is printed of
//! them for a log is masked.

use std::fmt;

use super::invalid::{Field, Invalid, Rule};
use super::limits::{ACCOUNT_CHARS_MAX, PROXY_CHARS_MAX};
use super::text::check_text;

/// What a log may show of an account.
const SHOWN_CHARS: usize = 4;

/// IBANs and plain numbers alike.
#[derive(Clone)]
pub struct AccountNumber {
    sent: String,
    key: String,
}

impl AccountNumber {
    /// At most [`ACCOUNT_CHARS_MAX`] characters, of which some are more than grouping. `field`: whose account it is.
    pub fn parse(field: Field, text: &str) -> Result<AccountNumber, Invalid> {
        let sent = check_text(field, text, ACCOUNT_CHARS_MAX)?;
        let grouping = |character: char| character.is_whitespace() || character == '-';
        let key = sent.replace(grouping, "").to_ascii_uppercase();
        // "..": a path that ends in it leads elsewhere.
        if key.chars().all(|character| character == '.') {
            return Err(field.breaks(Rule::Blank));
        }
        Ok(AccountNumber { sent, key })
    }

    /// As it was sent, and is told to others.
    pub fn as_str(&self) -> &str {
        &self.sent
    }

    /// What accounts are found by: upper case, without the spaces and dashes that group it.
    pub fn key(&self) -> &str {
        &self.key
    }
}

impl fmt::Debug for AccountNumber {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        text.write_str(&masked(&self.key))
    }
}

impl PartialEq for AccountNumber {
    fn eq(&self, other: &AccountNumber) -> bool {
        self.key == other.key
    }
}

impl Eq for AccountNumber {}

/// A mobile number or a name, with or without "@domain".
#[derive(Clone)]
pub struct Proxy {
    sent: String,
    key: String,
}

impl Proxy {
    /// At most [`PROXY_CHARS_MAX`] characters.
    pub fn parse(text: &str) -> Result<Proxy, Invalid> {
        let sent = check_text(Field::CreditorAccountProxy, text, PROXY_CHARS_MAX)?;
        let key = sent.trim().to_lowercase();
        Ok(Proxy { sent, key })
    }

    /// As it was sent.
    pub fn as_str(&self) -> &str {
        &self.sent
    }

    /// What proxies are found by: lower case, trimmed.
    pub fn key(&self) -> &str {
        &self.key
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        text.write_str(&masked(&self.key))
    }
}

impl PartialEq for Proxy {
    fn eq(&self, other: &Proxy) -> bool {
        self.key == other.key
    }
}

impl Eq for Proxy {}

/// The last four characters, where there are more than twice as many.
fn masked(key: &str) -> String {
    let length = key.chars().count();
    let shown: String = key.chars().skip(length.saturating_sub(SHOWN_CHARS)).collect();
    if length > 2 * SHOWN_CHARS { ["…", &shown].concat() } else { "…".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NUMBER: Field = Field::DebtorAccountNumber;

    #[test]
    fn grouping_and_case_do_not_make_another_account() {
        let plain = AccountNumber::parse(NUMBER, "GB33BUKB20201555555555").unwrap();
        let grouped = AccountNumber::parse(NUMBER, "gb33 BUKB 2020 1555 5555 55").unwrap();
        assert_eq!(plain, grouped);
        assert_eq!(grouped.as_str(), "gb33 BUKB 2020 1555 5555 55");
    }

    #[test]
    fn an_account_number_is_a_short_text() {
        for (text, rule) in [
            ("", Rule::Blank),
            (" - ", Rule::Blank),
            ("..", Rule::Blank),
            ("12\0", Rule::ControlCharacters),
            (&"1".repeat(41), Rule::TooLong { characters_max: 40 }),
        ] {
            assert_eq!(AccountNumber::parse(NUMBER, text), Err(NUMBER.breaks(rule)), "{text:?}");
        }
        for text in ["62001234567", "ACC_1", "12/34.5", &"1".repeat(40)] {
            assert_eq!(AccountNumber::parse(NUMBER, text).unwrap().as_str(), text);
        }
    }

    #[test]
    fn a_log_shows_no_account() {
        let printed = |text: &str| format!("{:?}", AccountNumber::parse(NUMBER, text).unwrap());
        assert_eq!(printed("62001234567"), "…4567");
        assert_eq!(printed("6200 1234"), "…");
        assert_eq!(format!("{:?}", Proxy::parse("+27-821234567").unwrap()), "…4567");
    }

    #[test]
    fn a_proxy_is_a_number_or_a_name() {
        for text in ["+27-821234567", "0821234567", "ada@bank", "0821234567@bank", " Ada@Bank "] {
            assert_eq!(Proxy::parse(text).unwrap().as_str(), text);
        }
        assert_eq!(Proxy::parse(" Ada@Bank ").unwrap(), Proxy::parse("ada@bank").unwrap());
        assert_eq!(Proxy::parse("  "), Err(Field::CreditorAccountProxy.breaks(Rule::Blank)));
        assert!(Proxy::parse("a\0").is_err() && Proxy::parse(&"x".repeat(129)).is_err());
    }
}
