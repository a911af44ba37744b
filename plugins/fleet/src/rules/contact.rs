//! Contacts: people outside the organization, customers among them (research/fleet 1.5). `customer_…` is another name
//! of the id of one whose type is "customer".

use super::change::{Change, Faults, TextField};
use super::driver::{self, TEXT_CHARS_MAX, identity::phone_key};
use super::invalid::Invalid;

pub const CUSTOMER: &str = "customer";
/// A type is a word that the organization chooses.
const TYPE: TextField = ("type", 64);

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Contact {
    pub name: String,
    /// Lower case.
    pub kind: String,
    pub title: Option<String>,
    /// Lower case.
    pub email: Option<String>,
    /// As it was written.
    pub phone: Option<String>,
    pub internal_id: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Asked {
    pub name: Change<String>,
    pub kind: Change<String>,
    pub title: Change<String>,
    pub email: Change<String>,
    pub phone: Change<String>,
    pub internal_id: Change<String>,
}

/// What was asked for, on top of the contact before where there is one. Every fault at once.
pub fn settle(before: Option<Contact>, asked: Asked) -> Result<Contact, Vec<Invalid>> {
    let before = before.map(|before| (Some(before.name.clone()), Some(before.kind.clone()), before));
    let (name, kind, before) = before.unwrap_or_default();
    let mut faults = Faults::default();
    let contact = Contact {
        name: faults.required(("name", TEXT_CHARS_MAX), asked.name, name),
        kind: faults.required(TYPE, asked.kind, kind).to_lowercase(),
        title: faults.line(("title", TEXT_CHARS_MAX), asked.title, before.title),
        email: faults.line(("email", TEXT_CHARS_MAX), asked.email, before.email).map(|text| text.to_ascii_lowercase()),
        phone: faults.line(("phone", TEXT_CHARS_MAX), asked.phone, before.phone),
        internal_id: faults.line(("internal_id", TEXT_CHARS_MAX), asked.internal_id, before.internal_id),
    };
    if contact.email.as_deref().is_some_and(|email| !driver::is_email(email)) {
        faults.note(Invalid::Not { field: "email", kind: "a valid email address" });
    }
    if contact.phone.as_deref().is_some_and(|phone| phone_key(phone).is_none()) {
        faults.note(Invalid::Not { field: "phone", kind: "a phone number" });
    }
    faults.finish(contact)
}

impl Contact {
    pub fn is_customer(&self) -> bool {
        self.kind == CUSTOMER
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to(text: &str) -> Change<String> {
        Change::To(text.to_owned())
    }

    fn asked() -> Asked {
        Asked {
            name: to(" Ada "),
            kind: to("Customer"),
            email: to("Ada@B.com"),
            phone: to("+65 9123 4567"),
            ..Asked::default()
        }
    }

    #[test]
    fn a_contact_has_a_name_and_a_type() {
        let contact = settle(None, asked()).unwrap();
        assert_eq!((contact.name.as_str(), contact.email.as_deref()), ("Ada", Some("ada@b.com")));
        assert_eq!((contact.phone.as_deref(), contact.is_customer()), (Some("+65 9123 4567"), true));
        assert_eq!(settle(None, Asked::default()).unwrap_err(), ["name", "type"].map(Invalid::Required));
    }

    #[test]
    fn what_is_absent_stays_and_what_is_null_goes() {
        let before = settle(None, asked()).unwrap();
        assert_eq!(settle(Some(before.clone()), Asked::default()), Ok(before.clone()));
        let changed = Asked { kind: to("agent"), email: Change::Cleared, ..Asked::default() };
        let changed = settle(Some(before.clone()), changed).unwrap();
        assert_eq!((changed.kind.as_str(), changed.is_customer(), changed.email), ("agent", false, None));
        let nameless = Asked { name: Change::Cleared, ..Asked::default() };
        assert_eq!(settle(Some(before), nameless).unwrap_err(), [Invalid::Required("name")]);
    }

    #[test]
    fn every_fault_is_told_at_once() {
        let wrong = Asked { email: to("ada"), phone: to("call me"), title: to("a\nb"), ..asked() };
        assert_eq!(settle(None, wrong).unwrap_err().len(), 3);
    }
}
