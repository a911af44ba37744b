//! Who logs in: an email or a phone number, in the one spelling under which it is looked up (research/fleet 1.2).

use super::is_email;

/// E.164 has at most 15 digits; those of a house's own telephones are short.
const PHONE_DIGITS: std::ops::RangeInclusive<usize> = 1..=15;
const EMAIL_CHARS_MAX: usize = super::TEXT_CHARS_MAX;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identity {
    /// Lower case.
    Email(String),
    /// "+" and digits.
    Phone(String),
}

impl Identity {
    /// `None`: nobody has such an identity, which is said as for a wrong password.
    pub fn read(text: &str) -> Option<Identity> {
        let text = text.trim();
        if !text.contains('@') {
            return phone_key(text).map(Identity::Phone);
        }
        let email = text.to_ascii_lowercase();
        (is_email(&email) && email.chars().nth(EMAIL_CHARS_MAX).is_none()).then_some(Identity::Email(email))
    }

    pub fn key(&self) -> &str {
        match self {
            Identity::Email(key) | Identity::Phone(key) => key,
        }
    }
}

/// A phone number without what people put between its digits; a leading "+" is added where it is missing. Two spellings
/// of a number are one driver.
pub fn phone_key(text: &str) -> Option<String> {
    let text = text.trim();
    let text = text.strip_prefix('+').unwrap_or(text);
    let digits: String = text.chars().filter(|letter| !" -.()/".contains(*letter)).collect();
    let is_phone = digits.bytes().all(|byte| byte.is_ascii_digit()) && PHONE_DIGITS.contains(&digits.len());
    is_phone.then(|| ["+", &digits].concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_phone_number_has_one_spelling() {
        for text in ["+6591234567", "6591234567", " +65 9123-4567 ", "(65) 9123.4567"] {
            assert_eq!(phone_key(text).as_deref(), Some("+6591234567"), "{text}");
        }
        for text in ["", "+", "-", "1234567890123456", "+65 CALL ME", "++6591234567", "65+91234567"] {
            assert_eq!(phone_key(text), None, "{text}");
        }
    }

    #[test]
    fn an_identity_is_an_email_or_a_phone_number() {
        assert_eq!(Identity::read(" Ada@Example.com"), Some(Identity::Email("ada@example.com".to_owned())));
        assert_eq!(Identity::read("65 91234567").unwrap().key(), "+6591234567");
        let long = ["a".repeat(EMAIL_CHARS_MAX), "@b".to_owned()].concat();
        for nobody in ["", "ada", "a@b@c", "@", long.as_str()] {
            assert_eq!(Identity::read(nobody), None, "{nobody}");
        }
    }

    proptest! {
        #[test]
        fn what_is_looked_up_is_spelled_once(text in "\\PC{0,20}") {
            if let Some(identity) = Identity::read(&text) {
                prop_assert_eq!(Identity::read(identity.key()), Some(identity.clone()));
            }
        }
    }
}
