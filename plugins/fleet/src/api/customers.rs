//! Customers: contacts of that type, under their other name (research/fleet 1.5). Who is a contact and no customer is not
//! found here.

#[cfg(test)]
mod tests;

use tenon_plugin::json::{self, Object};
use tenon_plugin::records::{Comparison, Entry, Value};
use tenon_plugin::{Answer, Call, Outcome, Stop};

use super::contacts::{self as api, Asked, LISTING};
use super::{actor, deleted, errors, lists};
use crate::records::contacts;
use crate::rules::contact::CUSTOMER;

pub fn create(call: &Call) -> Outcome {
    actor::manage(call)?;
    let (_, shown, unknown) = api::create_as(call, Asked::AsCustomer)?;
    Ok(unknown.tell(Answer::created(as_customer(&shown)?)))
}

pub fn list(call: &Call) -> Outcome {
    actor::manage(call)?;
    let mut asked = lists::Asked::of(call, &LISTING)?;
    asked.narrow("type", Comparison::Equal(Value::Text(CUSTOMER.to_owned())));
    let found = asked.find(call)?;
    let shown: Vec<String> = found.entries.iter().map(|entry| as_customer(&entry.body)).collect::<Result<_, _>>()?;
    found.answer(call, &shown)
}

pub fn read(call: &Call) -> Outcome {
    actor::manage(call)?;
    Ok(Answer::ok(as_customer(&load(call)?.body)?))
}

pub fn update(call: &Call) -> Outcome {
    actor::manage(call)?;
    let (shown, unknown) = api::change(call, &load(call)?, Asked::AsCustomer)?;
    Ok(unknown.tell(Answer::ok(as_customer(&shown)?)))
}

pub fn delete(call: &Call) -> Outcome {
    actor::manage(call)?;
    let entry = load(call)?;
    api::remove(call, &entry)?;
    deleted::answer(call, &contacts::alias_of(&entry.id), "customer")
}

fn load(call: &Call) -> Result<Entry, Stop> {
    let entry = contacts::load(call, call.parameter("id"))?;
    if contacts::contact_of(&entry.body)?.is_customer() { Ok(entry) } else { Err(errors::not_found()) }
}

/// The contact's text with the customer's id for its own, which stays as `contact_id`.
pub fn as_customer(contact: &str) -> Result<String, Stop> {
    let mut shown: Object = json::from_text(contact)?;
    let id = shown.text("id").ok().flatten().ok_or_else(|| Stop::fault("a contact without an id"))?;
    shown.set("id", &contacts::alias_of(&id))?;
    shown.set("contact_id", &id)?;
    Ok(shown.to_text())
}
