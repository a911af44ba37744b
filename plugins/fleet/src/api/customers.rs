//! Customers: contacts of that type (research/fleet 1.5).

use tenon_plugin::json::Object;
use tenon_plugin::{Call, Stop};

use super::errors;
use crate::records::contacts;

/// The contact's text.
pub fn find_or_create(call: &Call, value: &str) -> Result<String, Stop> {
    let id = contacts::find_or_create(call, value)?;
    contacts::load(call, &id).map(|entry| entry.body)
}

/// The id of a contact, from its JSON text.
pub fn id_of(contact: &str) -> Result<Option<String>, Stop> {
    let object = Object::parse(contact).map_err(|_| errors::not_found())?;
    object.text("id").map_err(|_| Stop::fault("a contact without an id"))
}
