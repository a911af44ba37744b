//! Who drives for several organizations: where he may go, and whether he is known there (research/fleet 1.2:
//! switch-organization).
//!
//! Always holds: he goes nowhere but where the operator has linked his own organization to, and nobody is known by nothing.

use super::Status;
use super::identity::{Identity, phone_key};
use crate::rules::refusal::Refusal;

/// So many organizations can be asked at once.
pub const LINKED_MAX: usize = 15;

/// What a driver is known by, spelled as it is looked up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Person {
    pub phone: Option<String>,
    pub email: Option<String>,
}

impl Person {
    /// What is no phone number or email is none; so is an empty text.
    pub fn read(phone: &str, email: &str) -> Person {
        let email = match Identity::read(email) {
            Some(Identity::Email(email)) => Some(email),
            _ => None,
        };
        Person { phone: phone_key(phone), email }
    }

    /// What to look him up by, the surer one first.
    pub fn identities(&self) -> Vec<Identity> {
        let phone = self.phone.clone().map(Identity::Phone);
        phone.into_iter().chain(self.email.clone().map(Identity::Email)).collect()
    }

    /// By all that both have, and at least by one thing.
    pub fn is(&self, other: &Person) -> bool {
        let same = |own: &Option<String>, other: &Option<String>| Some(own.as_ref()? == other.as_ref()?);
        match (same(&self.phone, &other.phone), same(&self.email, &other.email)) {
            (None, None) => false,
            (phone, email) => phone.unwrap_or(true) && email.unwrap_or(true),
        }
    }
}

/// Whether a driver who is found there is the one who is asked for, and drives for them now.
pub fn is_member(asked: &Person, found: &Person, status: Status) -> bool {
    status.drives() && asked.is(found)
}

/// Of those that the operator has named for `own`: each once, in his order, and never `own` itself.
pub fn linked<'a>(own: &str, named: &'a [String]) -> Vec<&'a str> {
    let mut linked: Vec<&str> = Vec::new();
    for name in named.iter().map(String::as_str) {
        if name != own && !linked.contains(&name) && linked.len() < LINKED_MAX {
            linked.push(name);
        }
    }
    linked
}

/// Where a driver of `own` goes. `next`: `None` is the name of no organization.
pub fn aim<'a>(own: &str, next: Option<&str>, named: &'a [String]) -> Result<&'a str, Refusal> {
    if next == Some(own) {
        return Err(Refusal::SameOrganization);
    }
    linked(own, named).into_iter().find(|name| Some(*name) == next).ok_or(Refusal::NotAMember)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn a_person_is_known_by_all_that_both_sides_have() {
        let (phone, email) = ("+65 9123-4567", "Ada@x.org");
        let ada = Person::read(phone, email);
        let table = [
            ((phone, email), true),
            (("6591234567", "ada@X.org"), true),
            ((phone, ""), true),
            (("", email), true),
            ((phone, "eve@x.org"), false),
            (("2", email), false),
            (("2", ""), false),
            (("", "eve@x.org"), false),
            (("", ""), false),
        ];
        for ((phone, email), expected) in table {
            let other = Person::read(phone, email);
            assert_eq!((ada.is(&other), other.is(&ada)), (expected, expected), "{phone} {email}");
        }
        let nobody = Person::read("call me", "nowhere");
        assert_eq!((&nobody, nobody.is(&nobody)), (&Person::default(), false));
    }

    #[test]
    fn a_person_is_not_known_by_what_only_one_side_has() {
        assert!(!Person::read("1", "").is(&Person::read("", "ada@x.org")));
    }

    #[test]
    fn a_phone_number_in_the_place_of_an_email_is_none() {
        assert_eq!(Person::read("", "+6591234567"), Person::default());
    }

    #[test]
    fn he_is_looked_up_by_what_he_has() {
        let identities = |phone, email| Person::read(phone, email).identities();
        let (phone, email) = (Identity::Phone("+1".to_owned()), Identity::Email("ada@x.org".to_owned()));
        assert_eq!(identities("1", "ada@x.org"), [phone.clone(), email.clone()]);
        assert_eq!((identities("1", ""), identities("", "ada@x.org")), (vec![phone], vec![email]));
        assert_eq!(identities("", ""), []);
    }

    #[test]
    fn who_is_inactive_is_no_member() {
        let ada = Person::read("1", "ada@x.org");
        let table = [(Status::Active, true), (Status::Available, true), (Status::Inactive, false)];
        for (status, expected) in table {
            assert_eq!(is_member(&ada, &ada, status), expected);
        }
        assert!(!is_member(&ada, &Person::read("2", ""), Status::Active));
    }

    #[test]
    fn a_driver_goes_only_where_the_operator_leads() {
        let named = names(&["globex", "acme", "globex", "umbra"]);
        assert_eq!(linked("acme", &named), ["globex", "umbra"]);
        assert_eq!(aim("acme", Some("umbra"), &named), Ok("umbra"));
        assert_eq!(aim("acme", Some("acme"), &named), Err(Refusal::SameOrganization));
        for nowhere in [Some("initech"), Some("Globex"), Some(""), None] {
            assert_eq!(aim("acme", nowhere, &named), Err(Refusal::NotAMember), "{nowhere:?}");
        }
        assert_eq!(aim("acme", Some("globex"), &[]), Err(Refusal::NotAMember));
    }

    #[test]
    fn more_than_can_be_asked_are_not_linked() {
        let named: Vec<String> = (0..LINKED_MAX + 5).map(|nth| nth.to_string()).collect();
        assert_eq!(linked("acme", &named).len(), LINKED_MAX);
        assert_eq!(aim("acme", Some("15"), &named), Err(Refusal::NotAMember));
    }
}
