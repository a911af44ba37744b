//! Customers: contacts of that type (research/fleet 1.5).

use tenon_plugin::{Call, Stop};

use crate::records::contacts;

/// The contact's text.
pub fn find_or_create(call: &Call, value: &str) -> Result<String, Stop> {
    let id = contacts::find_or_create(call, value)?;
    contacts::load(call, &id).map(|entry| entry.body)
}
