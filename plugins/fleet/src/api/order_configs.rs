//! Order configurations: create, list, read, update, delete (research/fleet 1.5, 3), by id, key or namespace. The built-in
//! one comes first in every list that it fits.

#[cfg(test)]
mod tests;

use tenon_plugin::{Answer, Call, Outcome, Stop};

use super::form::Form;
use super::lists::{self, Listing};
use super::{actor, deleted, events};
use crate::records::configurations::{self, COLLECTION, read_flow, transport_names, transport_text};
use crate::rules::configuration::{self, Asked};
use crate::rules::flow::Flow;
use crate::rules::invalid::Invalid;
use crate::rules::order::TEXT_CHARS_MAX;
use crate::rules::text;

pub const CREATED_EVENT: &str = "order_config.created";
pub const UPDATED_EVENT: &str = "order_config.updated";
pub const DELETED_EVENT: &str = "order_config.deleted";

/// Clients send back what they have read.
const SHOWN: [&str; 4] = ["id", "status", "updated_at", "created_at"];

/// What the built-in one is looked at by as well.
const NAMES: [&str; 3] = ["key", "namespace", "name"];

const LISTING: Listing = Listing { collection: COLLECTION, filters: &[], sorts: &[("name", "name")], own: &NAMES };

pub fn create(call: &Call) -> Outcome {
    actor::manage(call)?;
    let mut form = Form::of(call)?;
    let asked = read_names(&mut form);
    let flow = flow_change(&mut form);
    if !form.has("flow") {
        form.refuse(Invalid::Required("flow"));
    }
    let meta = form.object("meta");
    let (names, unknown) = form.settle(configuration::settle(None, asked, call.organization()))?;
    let flow = flow.ok_or_else(|| Stop::fault("a flow that was neither read nor refused"))?;
    let (id, shown) = configurations::insert(call, &names, &flow, meta.as_deref())?;
    events::emit(call, CREATED_EVENT, &id, &shown, &[])?;
    Ok(unknown.tell(Answer::created(shown)))
}

pub fn list(call: &Call) -> Outcome {
    actor::manage(call)?;
    let mut asked = lists::Asked::of(call, &LISTING)?;
    let transport = transport_names();
    let mut fits = true;
    for (name, built_in) in NAMES.into_iter().zip([&transport.key, &transport.namespace, &transport.name]) {
        if let Some(value) = lists::single(call, name)? {
            text::check_line(name, value, TEXT_CHARS_MAX)?;
            asked.narrow_to(name, value);
            fits &= value == built_in;
        }
    }
    asked.lead(u32::from(fits));
    let found = asked.find(call)?;
    let mut shown = if found.leading > 0 { vec![transport_text()?] } else { Vec::new() };
    shown.extend(found.entries.iter().map(|entry| entry.body.clone()));
    found.answer(call, &shown)
}

pub fn read(call: &Call) -> Outcome {
    actor::manage(call)?;
    Ok(Answer::ok(configurations::load(call, call.parameter("id"))?))
}

/// Orders that are under way go on along the new flow.
pub fn update(call: &Call) -> Outcome {
    actor::manage(call)?;
    let mut form = Form::of(call)?;
    let entry = load_own(call)?;
    let asked = read_names(&mut form);
    let flow = flow_change(&mut form);
    let meta = form.object_change("meta");
    let before = configurations::names_of(&entry.body)?;
    let (names, unknown) = form.settle(configuration::settle(Some(before), asked, call.organization()))?;
    let shown = configurations::replace(call, &entry, &names, flow.as_ref(), meta)?;
    events::emit(call, UPDATED_EVENT, &entry.id, &shown, &[])?;
    Ok(unknown.tell(Answer::ok(shown)))
}

/// Orders that were made with it go on along its flow; new ones cannot be made with it.
pub fn delete(call: &Call) -> Outcome {
    actor::manage(call)?;
    let entry = load_own(call)?;
    configurations::delete(call, &entry)?;
    events::emit(call, DELETED_EVENT, &entry.id, &entry.body, &[])?;
    deleted::answer(call, &entry.id, "order_config")
}

fn load_own(call: &Call) -> Result<tenon_plugin::records::Entry, Stop> {
    let id = call.parameter("id");
    if configurations::is_transport(id) {
        return Err(configuration::refuse_built_in().into());
    }
    configurations::load_stored(call, id)
}

fn read_names(form: &mut Form) -> Asked {
    form.pass_over(&SHOWN);
    Asked {
        name: form.text_change("name"),
        key: form.text_change("key"),
        namespace: form.text_change("namespace"),
        description: form.text_change("description"),
        version: form.text_change("version"),
    }
}

/// The flow where the body has one; what is wrong with it is noted.
fn flow_change(form: &mut Form) -> Option<Flow> {
    if !form.has("flow") {
        return None;
    }
    match read_flow(form.given("flow").unwrap_or("null")) {
        Ok(flow) => Some(flow),
        Err(faults) => {
            form.refuse_all(faults);
            None
        }
    }
}
