//! A new order, with all that comes with it, in one commit (research/fleet 1.1.1). `dispatch: true` is part of it: the
//! answer is dispatched already.

use tenon_plugin::json::Object;
use tenon_plugin::{Answer, Call, Outcome, Stop, time};

use super::moving::Moving;
use super::{form as fields, shown, tracking as said, way};
use crate::api::actor::manage;
use crate::api::form::Form;
use crate::api::payloads::{self as payload_api, form as payload_form, making};
use crate::api::unknown::Unknown;
use crate::records::contacts::Made;
use crate::records::orders::{self, text};
use crate::records::payloads::{self, Payload};
use crate::records::{configurations, drivers, places, tracking};
use crate::rules::change::Change;
use crate::rules::flow::{CREATED, DISPATCHED, Flow};
use crate::rules::invalid::Invalid;
use crate::rules::order::TEXT_CHARS_MAX;
use crate::rules::payload::Comes;
use crate::rules::refusal::Refusal;

/// Where an order goes and what it carries: a payload that is there already, or what makes one.
enum Source {
    Stored(Box<Payload>),
    New(Box<payload_form::Draft>),
}

pub fn create(call: &Call) -> Outcome {
    manage(call)?;
    let mut form = Form::of(call)?;
    let asked = fields::configuration(&mut form);
    let (names, flow) = configurations::find(call, asked.as_deref())?;
    let mut order = blank(call)?;
    order.set("order_config", &names.id)?;
    order.set("type", &names.key)?;
    let made = Made::default();
    let (source, inner) = source(call, &mut form, &names.key, &made)?;
    fields::write_fields(call, &mut form, &mut order, &made)?;
    order.set("scheduled_at", &form.date("scheduled_at").map(time::to_text))?;
    write_carriers(call, &mut form, &mut order)?;
    let dispatched = is_dispatched(&mut form);
    let unknown = form.finish()?.and(inner.within("payload"));
    let source = source.ok_or_else(payload_api::nothing)?;
    let (id, payload) = place(call, source)?;
    order.set("id", &id)?;
    order.set("payload", &payload.id)?;
    way::measure_order(call, &mut order, &payload)?;
    number(call, (&id, &mut order), &payload, &flow)?;
    let order = Moving::create(call, (id, order), payload, flow, dispatched)?.finish()?;
    let shown = shown::one(call, &order)?;
    fields::check_size(&shown)?;
    Ok(unknown.tell(Answer::created(shown)))
}

/// Every member that an order has, in the order in which it is shown.
fn blank(call: &Call) -> Result<Object<'static>, Stop> {
    const MEMBERS: [(&str, &str); 37] = [
        ("id", "null"),
        ("internal_id", "null"),
        ("order_config", "null"),
        ("customer", "null"),
        ("payload", "null"),
        ("facilitator", "null"),
        ("driver_assigned", "null"),
        ("vehicle_assigned", "null"),
        ("tracking_number", "null"),
        ("files", "[]"),
        ("purchase_rate", "null"),
        ("notes", "null"),
        ("type", "null"),
        ("status", "null"),
        ("failure", "null"),
        ("pod_method", "null"),
        ("pod_required", "false"),
        ("dispatched", "false"),
        ("started", "false"),
        ("adhoc", "false"),
        ("adhoc_distance", "null"),
        ("time_window_start", "null"),
        ("time_window_end", "null"),
        ("required_skills", "[]"),
        ("orchestrator_priority", "50"),
        ("distance", "null"),
        ("time", "null"),
        ("transaction_amount", "null"),
        ("currency", "null"),
        ("meta", "{}"),
        ("dispatched_at", "null"),
        ("started_at", "null"),
        ("scheduled_at", "null"),
        ("updated_at", "null"),
        ("created_at", "null"),
        ("number", "null"),
        ("seen_by", "null"),
    ];
    let mut order = Object::default();
    for (name, value) in MEMBERS {
        order.set_raw(name, value);
    }
    order.set("created_at", &time::to_text(call.now()))?;
    Ok(order)
}

/// In `payload`, by its id or as an object; or beside the other fields. Unknown names of the object come back.
fn source(call: &Call, form: &mut Form, order_type: &str, made: &Made) -> Result<(Option<Source>, Unknown), Stop> {
    let comes = Comes::WithOrder { order_type: order_type.to_owned() };
    let given = form.given("payload").map(str::to_owned);
    let Some(value) = given else {
        let draft = payload_form::read(call, form, None, comes, payload_form::Stand::InOrder, made)?;
        return Ok((draft.map(|draft| Source::New(Box::new(draft))), Unknown::default()));
    };
    if value.starts_with('"') {
        return Ok((Some(Source::Stored(Box::new(stored(call, &value)?))), Unknown::default()));
    }
    let object = Object::parse(&value).map_err(|_| Invalid::Not { field: "payload", kind: "an id or an object" })?;
    let mut inner = Form::within("payload", object);
    let draft = payload_form::read(call, &mut inner, None, comes, payload_form::Stand::Alone, made)?;
    let unknown = inner.finish()?;
    Ok((draft.map(|draft| Source::New(Box::new(draft))), unknown))
}

/// A payload that no order has yet.
pub fn stored(call: &Call, value: &str) -> Result<Payload, Stop> {
    let id: String =
        serde_json::from_str(value).map_err(|_| Invalid::Not { field: "payload", kind: "an id or an object" })?;
    let found = payloads::find(call, &id)?.filter(|payload| payload.order().is_none());
    found.ok_or_else(|| Refusal::InvalidPayload.into())
}

/// A driver comes with his vehicle, unless another one is named.
fn write_carriers(call: &Call, form: &mut Form, order: &mut Object) -> Result<(), Stop> {
    if let Change::To(id) = fields::driver(call, form)? {
        let driver = drivers::load(call, &id)?;
        let driver = Object::parse(&driver.body).map_err(|error| Stop::fault(error.to_string()))?;
        order.set("vehicle_assigned", &text(&driver, "vehicle"))?;
        order.set("driver_assigned", &id)?;
    }
    if let Change::To(id) = fields::vehicle(call, form)? {
        order.set("vehicle_assigned", &id)?;
    }
    Ok(())
}

/// A new order is created, or dispatched with it.
fn is_dispatched(form: &mut Form) -> bool {
    let dispatched = form.boolean("dispatch").unwrap_or_default();
    match form.text("status", TEXT_CHARS_MAX).as_deref() {
        None | Some("" | CREATED) => dispatched,
        Some(DISPATCHED) => true,
        Some(_) => {
            form.refuse(Invalid::NotOneOf { field: "status", allowed: "created, dispatched" });
            false
        }
    }
}

/// The order's id, and its payload.
fn place(call: &Call, source: Source) -> Result<(String, Payload), Stop> {
    let id = orders::draw(call)?;
    let payload = match source {
        Source::New(draft) => making::make(call, *draft, Some(&id))?,
        Source::Stored(mut payload) => {
            payload.body.set("order", &id)?;
            *payload
        }
    };
    Ok((id, payload))
}

/// It is followed from where it begins.
fn number(call: &Call, (id, order): (&str, &mut Object<'static>), payload: &Payload, flow: &Flow) -> Result<(), Stop> {
    let first = payload.route.stops().next().map(|stop| stop.place.clone()).unwrap_or_default();
    let found = places::load_many(call, std::slice::from_ref(&first));
    let place = found.get(&first).map(|text| places::place_of(text)).transpose()?.unwrap_or_default();
    let report = said::said(call, order, flow, CREATED);
    let issued = tracking::issue(call, id, &place, &report)?;
    order.set("tracking_number", &issued.id)?;
    order.set("number", &issued.number)
}
