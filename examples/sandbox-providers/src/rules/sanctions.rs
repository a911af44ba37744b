//! How addresses of sanctions lists are compared, and what may be called a list or a version.

use super::limits::{ADDRESS_CHARS_MAX, LIST_NAME_CHARS_MAX, TEXT_CHARS_MAX};

/// Lists say a coin and not a blockchain, so an address is found by its form: EVM in any case, all others as they are.
pub fn key(address: &str) -> String {
    let address = address.trim();
    let is_evm = address.get(..2).is_some_and(|start| start.eq_ignore_ascii_case("0x"));
    if is_evm { address.to_ascii_lowercase() } else { address.to_owned() }
}

/// Something that can be compared: no blanks, no control characters.
pub fn is_address(text: &str) -> bool {
    (1..=ADDRESS_CHARS_MAX).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
}

pub fn is_list_name(text: &str) -> bool {
    (1..=LIST_NAME_CHARS_MAX).contains(&text.len()) && is_plain(text)
}

pub fn is_version(text: &str) -> bool {
    (1..=TEXT_CHARS_MAX).contains(&text.len()) && is_plain(text)
}

fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evm_addresses_are_the_same_in_any_case_and_others_are_not() {
        assert_eq!(key("0XAB"), key("0xab"));
        assert_eq!(key(" TAb "), "TAb");
        assert_ne!(key("TAb"), key("TaB"));
    }
}
