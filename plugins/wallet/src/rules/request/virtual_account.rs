//! A virtual account: who it is for. Whether there may be one, `rules::virtual_account` says.

use super::reader::Reader;
use crate::rules::invalid::{Field, Rule};
use crate::rules::limits::NAME_CHARS_MAX;
use crate::rules::refusal::Refusal;

const EMAIL: Field = Field("email");
const PHONE: Field = Field("phone");
/// Digits of a number of E.164.
const PHONE_DIGITS: std::ops::RangeInclusive<usize> = 8..=15;

/// As it was sent.
#[derive(Clone, Debug, Default)]
pub struct Raw {
    pub firstname: Option<String>,
    pub lastname: Option<String>,
    pub email: Option<String>,
    pub phone: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Owner {
    pub firstname: String,
    pub lastname: String,
    pub email: String,
    pub phone: String,
}

pub fn read(raw: &Raw) -> Result<Owner, Refusal> {
    let mut reader = Reader::default();
    let firstname = reader.required_text(Field("firstname"), &raw.firstname, NAME_CHARS_MAX);
    let lastname = reader.required_text(Field("lastname"), &raw.lastname, NAME_CHARS_MAX);
    let email = reader.required_text(EMAIL, &raw.email, NAME_CHARS_MAX);
    if email.as_deref().is_some_and(|email| !is_email(email)) {
        reader.breaks(EMAIL, Rule::NotEmail);
    }
    let phone = reader.required_text(PHONE, &raw.phone, NAME_CHARS_MAX);
    if phone.as_deref().is_some_and(|phone| !is_phone(phone)) {
        reader.breaks(PHONE, Rule::NotPhone);
    }
    let made = firstname.zip(lastname).zip(email.zip(phone));
    reader.finish(made.map(|((firstname, lastname), (email, phone))| Owner { firstname, lastname, email, phone }))
}

/// Only the mail can tell; this finds what is none at first sight.
fn is_email(text: &str) -> bool {
    let Some((mailbox, domain)) = text.rsplit_once('@') else { return false };
    let has_dot = domain.split_once('.').is_some_and(|(left, right)| !left.is_empty() && !right.is_empty());
    !mailbox.is_empty() && has_dot && !text.contains(char::is_whitespace)
}

fn is_phone(text: &str) -> bool {
    let digits = text.strip_prefix('+').unwrap_or_default();
    PHONE_DIGITS.contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::super::samples::{some, wrong};
    use super::*;

    #[test]
    fn an_owner_can_be_reached() {
        let check = |email: &str, phone: &str, expected: &str| {
            let raw = Raw { firstname: some("Ada"), lastname: some("Obi"), email: some(email), phone: some(phone) };
            assert_eq!(wrong(read(&raw)), expected, "{email} {phone}");
        };
        check("ada@example.com", "+2348012345678", "");
        check("ada@example", "08012345678", "email email, phone phone");
        check("@example.com", "+1", "email email, phone phone");
        check("a da@example.com", "+234801234567890123", "email email, phone phone");
        assert_eq!(
            wrong(read(&Raw::default())),
            "firstname required, lastname required, email required, phone required"
        );
    }
}
