//! The universal end-to-end transaction reference: the idempotency key of every payment (spec/clearing: Resources).

use super::invalid::{Field, Invalid, Rule};

/// Where the dashes of a UUID stand.
const DASHES: [usize; 4] = [8, 13, 18, 23];
const LENGTH: usize = 36;

/// A UUID in lower case, so that a repeat in other case is still the same payment. Any version: the specification asks for
/// a token. Never all zeros, which is what an unset field looks like.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uetr(String);

impl Uetr {
    /// 8-4-4-4-12 hexadecimal digits in any case.
    pub fn parse(text: &str) -> Result<Uetr, Invalid> {
        let fits = |(place, byte): (usize, u8)| {
            if DASHES.contains(&place) { byte == b'-' } else { byte.is_ascii_hexdigit() }
        };
        let is_uuid = text.len() == LENGTH && text.bytes().enumerate().all(fits);
        if !is_uuid || text.bytes().all(|byte| matches!(byte, b'0' | b'-')) {
            return Err(Field::Uetr.breaks(Rule::NotUuid));
        }
        Ok(Uetr(text.to_ascii_lowercase()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn two_spellings_are_one_payment() {
        let lower = Uetr::parse("97ed4827-7b6f-4491-a06f-b548d5a7512d").unwrap();
        assert_eq!(Uetr::parse("97ED4827-7B6F-4491-A06F-B548D5A7512D").unwrap(), lower);
        assert_eq!(lower.as_str(), "97ed4827-7b6f-4491-a06f-b548d5a7512d");
    }

    #[test]
    fn what_is_no_uuid_is_refused() {
        for text in [
            "",
            "uetr-1",
            "97ed48277b6f4491a06fb548d5a7512d",
            "97ed4827-7b6f-4491-a06f-b548d5a7512",
            "97ed4827-7b6f-4491-a06f-b548d5a7512g",
            "97ed4827-7b6f-4491-a06f-b548d5a7512d ",
            "{97ed4827-7b6f-4491-a06f-b548d5a7512}",
            "00000000-0000-0000-0000-000000000000",
        ] {
            assert_eq!(Uetr::parse(text), Err(Field::Uetr.breaks(Rule::NotUuid)), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn nothing_hostile_gets_through(text in "\\PC{0,40}") {
            if let Ok(uetr) = Uetr::parse(&text) {
                prop_assert!(uetr.as_str().bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-'));
            }
        }
    }
}
