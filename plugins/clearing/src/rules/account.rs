//! Account numbers and proxies (spec/clearing: creditor_account_number, debtor_account_number, creditor_account_proxy).
//!
//! Both keep what was sent and are compared by a `key` in which spelling does not count.

use super::invalid::{Field, Invalid, Rule};
use super::limits::{ACCOUNT_CHARS_MAX, PROXY_CHARS_MAX};

/// Letters and digits; spaces, dashes, slashes and points may group them. IBANs and plain numbers alike.
#[derive(Clone, Debug)]
pub struct AccountNumber {
    sent: String,
    key: String,
}

impl AccountNumber {
    pub fn parse(field: Field, text: &str) -> Result<AccountNumber, Invalid> {
        if text.chars().count() > ACCOUNT_CHARS_MAX {
            return Err(field.breaks(Rule::TooLong { characters_max: ACCOUNT_CHARS_MAX }));
        }
        let groups = |byte: u8| matches!(byte, b' ' | b'-' | b'/' | b'.');
        let key: String = text.chars().filter(char::is_ascii_alphanumeric).collect();
        if key.is_empty() || !text.bytes().all(|byte| byte.is_ascii_alphanumeric() || groups(byte)) {
            return Err(field.breaks(Rule::NotAccountNumber));
        }
        Ok(AccountNumber { sent: text.to_owned(), key: key.to_ascii_uppercase() })
    }

    /// As it was sent, and is told to others.
    pub fn as_str(&self) -> &str {
        &self.sent
    }

    /// What accounts are found by.
    pub fn key(&self) -> &str {
        &self.key
    }
}

impl PartialEq for AccountNumber {
    fn eq(&self, other: &AccountNumber) -> bool {
        self.key == other.key
    }
}

impl Eq for AccountNumber {}

/// A mobile number or a name, with or without "@domain".
#[derive(Clone, Debug)]
pub struct Proxy {
    sent: String,
    key: String,
}

impl Proxy {
    pub fn parse(text: &str) -> Result<Proxy, Invalid> {
        let field = Field::CreditorAccountProxy;
        let trimmed = text.trim();
        if trimmed.is_empty() {
            return Err(field.breaks(Rule::Blank));
        }
        if text.chars().count() > PROXY_CHARS_MAX {
            return Err(field.breaks(Rule::TooLong { characters_max: PROXY_CHARS_MAX }));
        }
        if trimmed.contains(|character: char| character.is_whitespace() || character.is_control()) {
            return Err(field.breaks(Rule::NotProxy));
        }
        Ok(Proxy { sent: text.to_owned(), key: trimmed.to_lowercase() })
    }

    /// As it was sent.
    pub fn as_str(&self) -> &str {
        &self.sent
    }

    /// What proxies are found by.
    pub fn key(&self) -> &str {
        &self.key
    }
}

impl PartialEq for Proxy {
    fn eq(&self, other: &Proxy) -> bool {
        self.key == other.key
    }
}

impl Eq for Proxy {}

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
    fn an_account_number_is_letters_and_digits() {
        for text in ["", "  ", "--", "12\0", "12;34", "１２３", "12\n"] {
            assert_eq!(AccountNumber::parse(NUMBER, text), Err(NUMBER.breaks(Rule::NotAccountNumber)), "{text:?}");
        }
        let long = AccountNumber::parse(NUMBER, &"1".repeat(41));
        assert_eq!(long, Err(NUMBER.breaks(Rule::TooLong { characters_max: 40 })));
        assert!(AccountNumber::parse(NUMBER, &"1".repeat(40)).is_ok());
    }

    #[test]
    fn a_proxy_is_a_number_or_a_name() {
        for text in ["+27-821234567", "0821234567", "ada@bank", "0821234567@bank"] {
            assert_eq!(Proxy::parse(text).unwrap().as_str(), text);
        }
        assert_eq!(Proxy::parse(" Ada@Bank ").unwrap(), Proxy::parse("ada@bank").unwrap());
        assert_eq!(Proxy::parse("  "), Err(Field::CreditorAccountProxy.breaks(Rule::Blank)));
        assert!(
            Proxy::parse("a b").is_err() && Proxy::parse("a\0").is_err() && Proxy::parse(&"x".repeat(129)).is_err()
        );
    }
}
