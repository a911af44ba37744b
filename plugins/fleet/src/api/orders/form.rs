//! What a body says of an order: the same for creating and for changing one. Nothing is said of what is absent.

use tenon_plugin::json::Object;
use tenon_plugin::{Call, Stop, time};

use super::standing;
use crate::api::errors;
use crate::api::form::Form;
use crate::records::contacts::Made;
use crate::records::orders::flag;
use crate::records::shapes::Number;
use crate::records::{contacts, drivers, vehicles};
use crate::rules::change::Change;
use crate::rules::invalid::Invalid;
use crate::rules::order::terms::{self, Asked, DEFAULT_PRIORITY, Terms};
use crate::rules::order::{self, NOTES_CHARS_MAX, ProofMethod, TEXT_CHARS_MAX};
use crate::rules::waypoint::Window;

/// Of the real interface, and of nothing that there is here.
const NOT_SUPPORTED: [&str; 2] = ["service_quote", "purchase_rate"];
/// What clients send back as they have read it; only the server changes it.
const SHOWN: [&str; 19] = [
    "id",
    "driver_assigned",
    "vehicle_assigned",
    "tracking_number",
    "tracking_statuses",
    "files",
    "dispatched",
    "started",
    "distance",
    "time",
    "transaction_amount",
    "currency",
    "failure",
    "tracker_data",
    "eta",
    "dispatched_at",
    "started_at",
    "updated_at",
    "created_at",
];

/// Writes the plain fields that the body has.
pub fn write_fields(call: &Call, form: &mut Form, order: &mut Object<'static>, made: &Made) -> Result<(), Stop> {
    form.pass_over(&SHOWN);
    form.not_supported(&NOT_SUPPORTED);
    if form.has("internal_id") {
        let name = form.text("internal_id", TEXT_CHARS_MAX).filter(|name| !name.trim().is_empty());
        order.set("internal_id", &name)?;
    }
    if form.has("notes") {
        order.set("notes", &form.lines("notes", NOTES_CHARS_MAX))?;
    }
    if form.has("meta") {
        order.set_raw("meta", form.object("meta").unwrap_or_else(|| "{}".to_owned()));
    }
    for field in ["customer", "facilitator"] {
        form.look_into(field, &[&contacts::FIELDS]);
        match form.given(field).map(str::to_owned) {
            Some(value) => order.set(field, &contacts::find_or_create(call, field, &value, made)?)?,
            None if form.has(field) => order.set_raw(field, "null"),
            None => {}
        }
    }
    write_proof(form, order)?;
    write_terms(form, order)
}

fn write_proof(form: &mut Form, order: &mut Object) -> Result<(), Stop> {
    if form.has("pod_method") {
        let method = form.text("pod_method", TEXT_CHARS_MAX).and_then(|name| form.keep(ProofMethod::of_name(&name)));
        order.set("pod_method", &method.map(ProofMethod::name))?;
    }
    if form.has("pod_required") {
        order.set("pod_required", &form.boolean("pod_required").unwrap_or_default())?;
    }
    let demand = standing::demand(order);
    form.keep(order::check_proof(demand.wanted, demand.method));
    Ok(())
}

fn write_terms(form: &mut Form, order: &mut Object) -> Result<(), Stop> {
    let asked = Asked {
        adhoc: form.boolean("adhoc"),
        adhoc_distance_m: form.number_change("adhoc_distance"),
        window_start_ms: form.date_change("time_window_start"),
        window_end_ms: form.date_change("time_window_end"),
        required_skills: skills(form),
        priority: form.number_change("orchestrator_priority"),
    };
    let terms = match terms::settle(Some(terms_of(order)), asked) {
        Ok(terms) => terms,
        Err(faults) => {
            form.refuse_all(faults);
            return Ok(());
        }
    };
    order.set("adhoc", &terms.adhoc)?;
    order.set("adhoc_distance", &terms.adhoc_distance_m.map(Number))?;
    order.set("time_window_start", &terms.window.start_ms.map(time::to_text))?;
    order.set("time_window_end", &terms.window.end_ms.map(time::to_text))?;
    order.set("required_skills", &terms.required_skills)?;
    order.set("orchestrator_priority", &Number(terms.priority))
}

fn terms_of(order: &Object) -> Terms {
    let number = |field: &str| order.number(field).ok().flatten();
    Terms {
        adhoc: flag(order, "adhoc"),
        adhoc_distance_m: number("adhoc_distance"),
        window: Window {
            start_ms: standing::time_of(order, "time_window_start"),
            end_ms: standing::time_of(order, "time_window_end"),
        },
        required_skills: order.read("required_skills").ok().flatten().unwrap_or_default(),
        priority: number("orchestrator_priority").unwrap_or(DEFAULT_PRIORITY),
    }
}

fn skills(form: &mut Form) -> Change<Vec<String>> {
    let Some(value) = form.given("required_skills").map(str::to_owned) else {
        return if form.has("required_skills") { Change::Cleared } else { Change::Absent };
    };
    match serde_json::from_str(&value) {
        Ok(skills) => Change::To(skills),
        Err(_) => {
            form.refuse(Invalid::Not { field: "required_skills", kind: "a list of texts" });
            Change::Absent
        }
    }
}

/// The configuration that `type` or `order_config` names.
pub fn configuration(form: &mut Form) -> Option<String> {
    let names = [form.text("order_config", TEXT_CHARS_MAX), form.text("type", TEXT_CHARS_MAX)];
    names.into_iter().flatten().find(|name| !name.is_empty())
}

/// The id of a driver who is there. An empty text is nobody.
pub fn driver(call: &Call, form: &mut Form) -> Result<Change<String>, Stop> {
    let asked = named(form, "driver");
    if let Change::To(id) = &asked {
        drivers::load(call, id)?;
    }
    Ok(asked)
}

pub fn vehicle(call: &Call, form: &mut Form) -> Result<Change<String>, Stop> {
    let asked = named(form, "vehicle");
    if let Change::To(id) = &asked {
        vehicles::load(call, id)?;
    }
    Ok(asked)
}

fn named(form: &mut Form, field: &'static str) -> Change<String> {
    match form.reference(field) {
        Change::To(id) if id.is_empty() => Change::Cleared,
        other => other,
    }
}

/// An order is bounded as a whole: a page of them fits an answer.
pub fn check_size(shown: &str) -> Result<(), Stop> {
    order::check_size(shown.len()).map_err(|fault| errors::invalid(&[fault]))
}
