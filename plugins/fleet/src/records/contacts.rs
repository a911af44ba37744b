//! Contacts as they are stored: people outside the organization (research/fleet 1.5). "customer_…" is another name of the
//! id of one whose type is "customer".

use std::cell::RefCell;
use std::collections::BTreeMap;

use tenon_plugin::json::{self, Object};
use tenon_plugin::records::{Entry, Search};
use tenon_plugin::{Call, Collection, Index, Stop, time};

use super::common::{self, BY_CREATED, BY_UPDATED, Refused};
use crate::api::form::{Form, object_at};
use crate::rules::change::Change;
use crate::rules::contact::{self, Asked, CUSTOMER, Contact};
use crate::rules::invalid::Invalid;

pub const COLLECTION: &str = "contacts";
const PREFIX: &str = "contact";
const ALIAS: &str = "customer_";
const BY_EMAIL: &str = "by-email";

pub const COLLECTIONS: &[Collection] = &[Collection::new(
    COLLECTION,
    &[
        Index::unique(BY_EMAIL, &["email"]),
        BY_CREATED,
        BY_UPDATED,
        Index::on("by-name", &["name"]),
        Index::on("by-type", &["type", "@created-at"]),
        Index::on("by-internal-id", &["internal_id", "@created-at"]),
    ],
)];

/// What an object that stands for a contact may have.
pub const FIELDS: [&str; 12] = [
    "id",
    "customer_id",
    "contact_id",
    "name",
    "type",
    "title",
    "email",
    "phone",
    "internal_id",
    "meta",
    "updated_at",
    "created_at",
];

const KIND: &str = "an id or an object";

/// By either of its names.
pub fn load(call: &Call, id: &str) -> Result<Entry, Stop> {
    common::load(call, COLLECTION, PREFIX, &own_id(id))
}

/// By their own ids, not by aliases.
pub fn load_many(call: &Call, ids: &[String]) -> BTreeMap<String, String> {
    common::load_many(call, COLLECTION, PREFIX, ids)
}

/// "contact_…" of either name.
pub fn own_id(id: &str) -> String {
    id.strip_prefix(ALIAS).map_or_else(|| id.to_owned(), |suffix| [PREFIX, "_", suffix].concat())
}

/// "customer_…" of a contact's id.
pub fn alias_of(id: &str) -> String {
    [ALIAS, id.strip_prefix(PREFIX).and_then(|rest| rest.strip_prefix('_')).unwrap_or(id)].concat()
}

/// Ids of the contacts that a call has made, by their emails: what a call wrote itself no search finds.
#[derive(Default)]
pub struct Made(RefCell<BTreeMap<String, String>>);

/// `value` is the JSON text, at this path of the body, of an id, or of an object, which finds a contact by its email or makes
/// a customer. Gives the contact's id. Whoever makes one along with an order tells of the order alone.
pub fn find_or_create(call: &Call, path: &str, value: &str, made: &Made) -> Result<String, Stop> {
    if value.starts_with('"') {
        let id: String =
            serde_json::from_str(value).map_err(|_| Invalid::Not { field: "", kind: KIND }.within(path))?;
        return load(call, &id).map(|entry| entry.id);
    }
    let object = object_at(path, value, KIND)?;
    let id = object.text("id").map_err(|_| Invalid::Not { field: "id", kind: "a text" }.within(path))?;
    if let Some(id) = id {
        return load(call, &id).map(|entry| entry.id);
    }
    let mut form = Form::within(path, object);
    let mut asked = read(&mut form);
    asked.kind = Change::To(CUSTOMER.to_owned());
    if !matches!(asked.name, Change::To(_)) {
        // Who is known by an address alone is called by it.
        let known = [&asked.email, &asked.phone].into_iter().find(|text| matches!(text, Change::To(_)));
        asked.name = known.cloned().unwrap_or_default();
    }
    let meta = form.object("meta");
    let (contact, _) = form.settle(contact::settle(None, asked))?;
    let known = contact.email.as_deref().map(|email| find_by_email(call, email)).transpose()?.flatten();
    let known = known.map(|entry| entry.id);
    if let Some(id) = known.or_else(|| made.0.borrow().get(contact.email.as_deref()?).cloned()) {
        return Ok(id);
    }
    let (id, _) = insert(call, &contact, meta.as_deref())?;
    made.0.borrow_mut().extend(contact.email.map(|email| (email, id.clone())));
    Ok(id)
}

/// What a body says of a contact.
pub fn read(form: &mut Form) -> Asked {
    Asked {
        name: form.text_change("name"),
        kind: form.text_change("type"),
        title: form.text_change("title"),
        email: form.text_change("email"),
        phone: form.text_change("phone"),
        internal_id: form.text_change("internal_id"),
    }
}

fn find_by_email(call: &Call, email: &str) -> Result<Option<Entry>, Stop> {
    let page = common::find(call, COLLECTION, &Search::first(1).is("email", email))?;
    Ok(page.entries.into_iter().next())
}

/// `meta` is a JSON text. Gives the id and the text. When two calls make the contact of one email at once, the unique
/// index lets one through; the other runs again and finds it.
pub fn insert(call: &Call, contact: &Contact, meta: Option<&str>) -> Result<(String, String), Stop> {
    let now = time::to_text(call.now());
    let inserted = common::insert_drawn(call, COLLECTION, PREFIX, |id| {
        let mut text = Object::default();
        text.set("id", id)?;
        write(&mut text, id, contact)?;
        text.set_raw("meta", meta.unwrap_or("{}"));
        text.set("updated_at", &now)?;
        text.set("created_at", &now)?;
        Ok(text.to_text())
    });
    inserted.map_err(taken)
}

/// `meta`: a JSON text, where it changes. Gives the text.
pub fn replace(call: &Call, entry: &Entry, contact: &Contact, meta: Option<String>) -> Result<String, Stop> {
    let mut text: Object = json::from_text(&entry.body)?;
    write(&mut text, &entry.id, contact)?;
    common::replace_changed(call, COLLECTION, &entry.id, text, meta).map_err(taken)
}

pub fn delete(call: &Call, id: &str) -> Result<(), Stop> {
    common::delete(call, COLLECTION, id)
}

/// The contact as the rules know it.
pub fn contact_of(text: &str) -> Result<Contact, Stop> {
    let stored: Object = json::from_text(text)?;
    let member = |name: &str| stored.text(name).map_err(|_| Stop::fault("a contact with a field that is no text"));
    Ok(Contact {
        name: member("name")?.unwrap_or_default(),
        kind: member("type")?.unwrap_or_default(),
        title: member("title")?,
        email: member("email")?,
        phone: member("phone")?,
        internal_id: member("internal_id")?,
    })
}

fn write(text: &mut Object, id: &str, contact: &Contact) -> Result<(), Stop> {
    text.set("customer_id", &contact.is_customer().then(|| alias_of(id)))?;
    text.set("internal_id", &contact.internal_id)?;
    text.set("name", &contact.name)?;
    text.set("title", &contact.title)?;
    text.set("email", &contact.email)?;
    text.set("phone", &contact.phone)?;
    text.set("type", &contact.kind)
}

fn taken(refused: Refused) -> Stop {
    refused.taken(&[(BY_EMAIL, "email")])
}
