//! Whom an order is for: the id of a contact, or an object that finds a contact by its email or makes one.

use tenon_plugin::json::Object;
use tenon_plugin::{Call, Stop};

use super::errors;
use super::form::Form;
use crate::records::{self, Contact};
use crate::rules::invalid::Invalid;
use crate::rules::order::TEXT_CHARS_MAX;

const NOT_A_CUSTOMER: Invalid = Invalid::Not { field: "customer", kind: "an id or an object" };

/// `value` is the field's JSON text; the answer is the contact's.
pub fn find_or_create(call: &Call, value: &str) -> Result<String, Stop> {
    if value.starts_with('"') {
        let id: String = serde_json::from_str(value).map_err(|_| NOT_A_CUSTOMER)?;
        return records::load_contact(call, &id);
    }
    let object = Object::parse(value).map_err(|_| NOT_A_CUSTOMER)?;
    if let Some(id) = object.text("id").map_err(|_| Invalid::Not { field: "customer.id", kind: "a text" })? {
        return records::load_contact(call, &id);
    }
    let mut form = Form::new(object);
    let contact = Contact {
        internal_id: form.text("internal_id", TEXT_CHARS_MAX),
        name: form.text("name", TEXT_CHARS_MAX),
        title: form.text("title", TEXT_CHARS_MAX),
        email: form
            .text("email", TEXT_CHARS_MAX)
            .map(|email| email.trim().to_ascii_lowercase())
            .filter(|email| !email.is_empty()),
        phone: form.text("phone", TEXT_CHARS_MAX),
        meta: form.object("meta"),
    };
    if contact.name.is_none() && contact.email.is_none() && contact.phone.is_none() {
        form.refuse(Invalid::Required("customer.name"));
    }
    form.finish()?;
    let known = match &contact.email {
        Some(email) => records::find_contact(call, email)?,
        None => None,
    };
    known.map_or_else(|| records::insert_contact(call, &contact), Ok)
}

/// The id of a contact, from its JSON text.
pub fn id_of(contact: &str) -> Result<Option<String>, Stop> {
    let object = Object::parse(contact).map_err(|_| errors::not_found())?;
    object.text("id").map_err(|_| Stop::fault("a contact without an id"))
}
