//! What PUT and PATCH change: the fields that are there, and nothing else. Where it goes and what it carries changes
//! before the start; an order that has ended keeps all but the caller's own marks.

use tenon_plugin::json::Object;
use tenon_plugin::{Answer, Call, Outcome, Stop};

use super::moving::Moving;
use super::{form as fields, shown, way};
use crate::api::actor::manage;
use crate::api::form::Form;
use crate::api::payloads::{form as payload_form, making};
use crate::api::unknown::Unknown;
use crate::records::configurations;
use crate::records::contacts::Made;
use crate::records::orders::{self, text};
use crate::rules::change::Change;
use crate::rules::flow::CREATED;
use crate::rules::invalid::Invalid;
use crate::rules::order::TEXT_CHARS_MAX;
use crate::rules::payload::Comes;
use crate::rules::progress::Command;

/// What may be noted of an order that has ended.
const NOTES: [&str; 3] = ["internal_id", "notes", "meta"];

pub fn update(call: &Call) -> Outcome {
    manage(call)?;
    let mut form = Form::of(call)?;
    let mut moving = Moving::load(call, &orders::load(call, call.parameter("id"))?)?;
    moving.tell_changes();
    let before = moving.order.clone();
    let made = Made::default();
    fields::write_fields(call, &mut form, &mut moving.order, &made)?;
    if differs(&before, &moving.order) {
        moving.check_open()?;
    }
    change_configuration(call, &mut form, &mut moving)?;
    let asked = Asked::of(&form);
    let names_payload = asked != Asked::Nothing;
    let inner = change_payload(call, &mut form, &mut moving, (asked, &made))?;
    moving.refresh();
    let commands = commands(call, &mut form, &moving)?;
    let vehicle = fields::vehicle(call, &mut form)?;
    let unknown = form.finish()?.and(inner.within("payload"));
    for command in commands {
        moving.ask(command)?;
    }
    moving.change_vehicle(vehicle)?;
    let order = moving.finish()?;
    let shown = shown::one(call, &order)?;
    // What it refers to may have grown meanwhile, which is no fault of this change.
    if names_payload {
        fields::check_size(&shown)?;
    }
    Ok(unknown.tell(Answer::ok(shown)))
}

/// Whether more has changed than notes.
fn differs(before: &Object, after: &Object) -> bool {
    after.members().any(|(name, value)| !NOTES.contains(&name) && before.raw(name) != Some(value))
}

/// Another configuration has other activities: only an order that has taken none changes over.
fn change_configuration(call: &Call, form: &mut Form, moving: &mut Moving) -> Result<(), Stop> {
    let is_there = form.has("type") || form.has("order_config");
    let asked = fields::configuration(form);
    let field = form.called("order_config", &["type"]);
    let Some(asked) = asked else {
        if is_there {
            form.refuse(Invalid::Required(field));
        }
        return Ok(());
    };
    let (names, flow) = configurations::find(call, Some(&asked))?;
    if text(&moving.order, "order_config").as_deref() == Some(&names.id) {
        return Ok(());
    }
    if moving.progress().status != CREATED {
        form.refuse(Invalid::ReadOnly(field));
        return Ok(());
    }
    moving.order.set("order_config", &names.id)?;
    moving.order.set("type", &names.key)?;
    moving.flow = flow;
    Ok(())
}

/// What a body says of the payload. A payload that is null says nothing.
#[derive(PartialEq)]
enum Asked {
    Nothing,
    /// The JSON text of an id.
    Another(String),
    /// A JSON text.
    Within(String),
    /// Fields beside those of the order.
    Beside,
}

impl Asked {
    fn of(form: &Form) -> Asked {
        match form.given("payload") {
            Some(value) if value.starts_with('"') => Asked::Another(value.to_owned()),
            Some(value) => Asked::Within(value.to_owned()),
            // Beside a payload these are told as fields that nobody reads.
            None if payload_form::names_any(form) => Asked::Beside,
            None => Asked::Nothing,
        }
    }
}

fn change_payload(
    call: &Call,
    form: &mut Form,
    moving: &mut Moving,
    (asked, made): (Asked, &Made),
) -> Result<Unknown, Stop> {
    let comes = Comes::WithOrder { order_type: text(&moving.order, "type").unwrap_or_default() };
    let (draft, unknown) = match asked {
        Asked::Another(value) => {
            let is_same = serde_json::from_str::<String>(&value).is_ok_and(|id| id == moving.payload.id);
            if !is_same {
                moving.check_not_started()?;
                exchange_payload(call, moving, &value)?;
            }
            return Ok(Unknown::default());
        }
        Asked::Within(value) => {
            let object =
                Object::parse(&value).map_err(|_| Invalid::Not { field: "payload", kind: "an id or an object" })?;
            let mut inner = Form::within("payload", object);
            inner.pass_over(&["order", "current_waypoint", "updated_at", "created_at"]);
            if inner.text("id", TEXT_CHARS_MAX).is_some_and(|id| id != moving.payload.id) {
                inner.refuse(Invalid::Not { field: "id", kind: "that of the payload that the order has" });
            }
            let stand = payload_form::Stand::Alone;
            let draft = payload_form::read(call, &mut inner, Some(&moving.payload), comes, stand, made)?;
            (draft, inner.finish()?)
        }
        Asked::Beside => {
            let stand = payload_form::Stand::InOrder;
            (payload_form::read(call, form, Some(&moving.payload), comes, stand, made)?, Unknown::default())
        }
        Asked::Nothing => return Ok(Unknown::default()),
    };
    // What was wrong stands in the form, which is looked at before anything is stored.
    if let Some(draft) = draft {
        making::change_in_order(moving, draft)?;
    }
    Ok(unknown)
}

/// The payload that it had goes.
fn exchange_payload(call: &Call, moving: &mut Moving, value: &str) -> Result<(), Stop> {
    let mut other = super::creating::stored(call, value)?;
    making::remove(call, &moving.payload)?;
    other.body.set("order", &moving.id)?;
    moving.order.set("payload", &other.id)?;
    moving.payload = other;
    way::measure(moving)
}

/// What is asked of the rules, in this order: the driver, the time, the state.
fn commands(call: &Call, form: &mut Form, moving: &Moving) -> Result<Vec<Command>, Stop> {
    let mut commands = Vec::new();
    match fields::driver(call, form)? {
        Change::Absent => {}
        Change::Cleared => commands.push(Command::Assign(None)),
        Change::To(id) => commands.push(Command::Assign(Some(id))),
    }
    match form.date_change("scheduled_at") {
        Change::Absent => {}
        change => {
            let at_ms = change.over(None);
            // What is sent back as it was read is no change, whatever the state.
            if moving.progress().scheduled_at_ms != at_ms {
                commands.push(Command::Schedule { at_ms });
            }
        }
    }
    if form.boolean("dispatch") == Some(true) && !moving.progress().is_dispatched() {
        commands.push(Command::Dispatch);
    }
    match form.text("status", TEXT_CHARS_MAX) {
        Some(status) if !status.is_empty() => commands.push(Command::SetStatus(status)),
        _ => {}
    }
    Ok(commands)
}
