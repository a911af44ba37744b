//! Contacts: create, list, read, update, delete (research/fleet 1.5).

#[cfg(test)]
mod tests;

use tenon_plugin::records::Entry;
use tenon_plugin::{Answer, Call, Outcome, Stop};

use super::form::Form;
use super::lists::{self, Filter, Listing};
use super::unknown::Unknown;
use super::{actor, deleted, events};
use crate::records::contacts::{self, COLLECTION};
use crate::rules::change::Change;
use crate::rules::contact::{self, Contact};

pub const CREATED_EVENT: &str = "contact.created";
pub const UPDATED_EVENT: &str = "contact.updated";
pub const DELETED_EVENT: &str = "contact.deleted";

/// Clients send back what they have read.
const SHOWN: [&str; 5] = ["id", "customer_id", "contact_id", "updated_at", "created_at"];

pub const LISTING: Listing = Listing {
    collection: COLLECTION,
    filters: &[
        Filter::text("name", "name"),
        Filter::text("title", "title"),
        Filter::text("email", "email"),
        Filter::text("phone", "phone"),
        Filter::word("type", "type"),
        Filter::text("internal_id", "internal_id"),
    ],
    sorts: &[("name", "name")],
    own: &[],
};

pub fn create(call: &Call) -> Outcome {
    actor::manage(call)?;
    let (_, shown, unknown) = create_as(call, Asked::AsWritten)?;
    Ok(unknown.tell(Answer::created(shown)))
}

pub fn list(call: &Call) -> Outcome {
    actor::manage(call)?;
    lists::list(call, &LISTING)
}

pub fn read(call: &Call) -> Outcome {
    actor::manage(call)?;
    Ok(Answer::ok(contacts::load(call, call.parameter("id"))?.body))
}

pub fn update(call: &Call) -> Outcome {
    actor::manage(call)?;
    let entry = contacts::load(call, call.parameter("id"))?;
    let (shown, unknown) = change(call, &entry, Asked::AsWritten)?;
    Ok(unknown.tell(Answer::ok(shown)))
}

pub fn delete(call: &Call) -> Outcome {
    actor::manage(call)?;
    let entry = contacts::load(call, call.parameter("id"))?;
    remove(call, &entry)?;
    deleted::answer(call, &entry.id, "contact")
}

/// What a contact's type is taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    AsWritten,
    /// It is a customer and stays one.
    AsCustomer,
}

/// Id, text, and what nobody read of the body.
pub fn create_as(call: &Call, asked: Asked) -> Result<(String, String, Unknown), Stop> {
    let mut form = Form::of(call)?;
    let meta = form.object("meta");
    let (contact, unknown) = settled(form, None, asked)?;
    let (id, shown) = contacts::insert(call, &contact, meta.as_deref())?;
    events::emit(call, CREATED_EVENT, &id, &shown, &[])?;
    Ok((id, shown, unknown))
}

pub fn change(call: &Call, entry: &Entry, asked: Asked) -> Result<(String, Unknown), Stop> {
    let mut form = Form::of(call)?;
    let meta = form.object_change("meta");
    let (contact, unknown) = settled(form, Some(contacts::contact_of(&entry.body)?), asked)?;
    let shown = contacts::replace(call, entry, &contact, meta)?;
    events::emit(call, UPDATED_EVENT, &entry.id, &shown, &[])?;
    Ok((shown, unknown))
}

pub fn remove(call: &Call, entry: &Entry) -> Result<(), Stop> {
    contacts::delete(call, &entry.id)?;
    events::emit(call, DELETED_EVENT, &entry.id, &entry.body, &[])
}

fn settled(mut form: Form, before: Option<Contact>, asked: Asked) -> Result<(Contact, Unknown), Stop> {
    form.pass_over(&SHOWN);
    let mut read = contacts::read(&mut form);
    if asked == Asked::AsCustomer {
        read.kind = Change::To(contact::CUSTOMER.to_owned());
    }
    form.settle(contact::settle(before, read))
}
