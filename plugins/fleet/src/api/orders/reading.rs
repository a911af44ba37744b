//! One order, by its id or the caller's own `internal_id`.

use serde::Serialize;
use tenon_plugin::json::{self, Object};
use tenon_plugin::{Answer, Call, Outcome};

use super::actions::find_entry;
use super::following::Followed;
use super::shown::{self, Without};
use crate::api::actor::{actor, allow};
use crate::api::lists::words;
use crate::records::orders::{self, Holder};
use crate::rules::authority::{Actor, Operation, Subject};

/// Read more often than anything else: one look for the order, one for its payload, one for each collection that they
/// name.
pub fn read(call: &Call) -> Outcome {
    let entry = orders::load(call, call.parameter("id"))?;
    let order: Object = json::from_text(&entry.body)?;
    allow(call, Operation::ReadOrder, Subject::Order(Holder::of(&order).held()))?;
    let mut text = shown::one_without(call, &order, &Without::of(call))?;
    let (tracker, eta) = (asks(call, "tracker_data"), asks(call, "eta") || asks(call, "route_eta"));
    if tracker || eta {
        let followed = Followed::look(call, &entry)?;
        text.pop();
        if tracker {
            text.push_str(&[",\"tracker_data\":", &followed.tracker()?].concat());
        }
        if eta {
            text.push_str(&[",\"eta\":", &followed.eta()?].concat());
        }
        text.push('}');
    }
    Ok(Answer::ok(text))
}

/// `with_eta=true`, or `with=eta`.
fn asks(call: &Call, what: &str) -> bool {
    let named = words(call, "with").any(|name| name == what);
    let flag = ["with_", what].concat();
    named || call.query(&flag).is_some_and(|value| matches!(value, "" | "1" | "true"))
}

/// What the caller may change of what an order carries: a driver nothing.
pub fn editable_entity_fields(call: &Call) -> Outcome {
    const FIELDS: [&str; 14] = [
        "name",
        "type",
        "description",
        "sku",
        "internal_id",
        "weight",
        "weight_unit",
        "length",
        "width",
        "height",
        "dimensions_unit",
        "price",
        "declared_value",
        "currency",
    ];
    #[derive(Serialize)]
    struct Editable<'a> {
        is_editing_entities_enabled: bool,
        editable_entity_fields: &'a [&'a str],
    }
    find_entry(call, Operation::ReadOrder)?;
    let enabled = actor(call) == Actor::Organization;
    let fields: &[&str] = if enabled { &FIELDS } else { &[] };
    Ok(Answer::ok(json::to_text(&Editable { is_editing_entities_enabled: enabled, editable_entity_fields: fields })?))
}
