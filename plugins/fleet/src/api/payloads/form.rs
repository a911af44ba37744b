//! What a body says of a payload: beside the fields of an order, in its `payload`, or by itself.

use serde_json::value::RawValue;
use tenon_plugin::json::Object;
use tenon_plugin::{Call, Stop};

use crate::api::errors;
use crate::api::form::Form;
use crate::api::places::mixed;
use crate::records::contacts::Made;
use crate::records::payloads::{Payload, Route, StoredStop};
use crate::records::{contacts, entities, places};
use crate::rules::change::Change;
use crate::rules::invalid::{Invalid, joined};
use crate::rules::order;
use crate::rules::payload::{self, Asked, Cod, Comes};
use crate::rules::place::DETAILS;
use crate::rules::waypoint::{self, Waypoint};

/// Where the fields stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stand {
    /// Beside those of an order: `type` and `meta` are the order's.
    InOrder,
    Alone,
}

/// What becomes of a payload. Its places are there already, its entities are not.
pub struct Draft {
    pub route: Route,
    pub settled: payload::Payload,
    /// `None`: they stay as they are.
    pub entities: Option<Listed>,
    /// A JSON text; `None`: it stays as it is.
    pub meta: Option<String>,
}

/// The items of a list as a body has them: JSON texts, and the path of the list.
pub struct Listed {
    pub path: String,
    pub values: Vec<String>,
}

impl Listed {
    /// Each with its own path.
    pub fn items(&self) -> impl Iterator<Item = (String, &str)> {
        let of = |at: usize| joined(&self.path, &at.to_string());
        self.values.iter().enumerate().map(move |(at, value)| (of(at), value.as_str()))
    }
}

const STOPS: [&str; 5] = ["pickup", "dropoff", "return", "waypoints", "entities"];
/// What a waypoint may have besides its place, as it is written and as it is shown.
const WAYPOINT: [&str; 15] = [
    "waypoint_id",
    "place",
    "customer",
    "notes",
    "pod_method",
    "pod_required",
    "time_window_start",
    "time_window_end",
    "service_time",
    "tracking",
    "tracking_number",
    "status",
    "status_code",
    "complete",
    "failure",
];
const MONEY: [&str; 4] = ["cod_amount", "cod_currency", "cod_payment_method", "payment_method"];

/// Whether a body says anything of where it goes and what it carries.
pub fn names_any(form: &Form) -> bool {
    // All of them are asked for, so that none counts as unknown.
    STOPS.iter().chain(&MONEY).filter(|field| form.has(field)).count() > 0
}

/// On top of the payload before where there is one. Faults go to the form, which is finished by its owner.
pub fn read(
    call: &Call,
    form: &mut Form,
    before: Option<&Payload>,
    comes: Comes,
    stand: Stand,
    made: &Made,
) -> Result<Option<Draft>, Stop> {
    look_into(form);
    let route = route(call, form, before.map(|before| before.route.clone()).unwrap_or_default(), made)?;
    let entities = list(form, "entities", "a list of entities")?;
    if let Some(entities) = &entities {
        payload::check_entities(entities.values.len()).map_err(|fault| form.fault(fault))?;
    }
    let known = || before.map_or(0, |before| before.entities().len());
    let count = entities.as_ref().map_or_else(known, |entities| entities.values.len());
    let asked = Asked {
        kind: if stand == Stand::Alone { form.text_change("type") } else { Change::Absent },
        cod_amount: form.written_change("cod_amount"),
        cod_currency: form.text_change("cod_currency"),
        cod_payment_method: form.text_change("cod_payment_method"),
        payment_method: form.text_change("payment_method"),
    };
    let meta = if stand == Stand::Alone && form.has("meta") {
        Some(form.object("meta").unwrap_or_else(|| "{}".to_owned()))
    } else {
        None
    };
    match payload::settle(before.map(settled), asked, comes, route.counts(), count) {
        Ok(settled) => Ok(Some(Draft { route, settled, entities, meta })),
        Err(faults) => {
            form.refuse_all(faults);
            Ok(None)
        }
    }
}

/// What stands in a stop or an entity and nobody reads is told as well.
fn look_into(form: &Form) {
    let place: [&[&str]; 3] = [&DETAILS, &mixed::POSITION_FIELDS, &mixed::OTHER_FIELDS];
    for field in ["pickup", "dropoff", "return"] {
        form.look_into(field, &place);
    }
    form.look_into("waypoints", &[&place.concat(), &WAYPOINT]);
    form.look_into("entities", &[&entities::FIELDS]);
}

/// The same payload on another way, which is judged as any other.
pub fn rerouted(payload: &Payload, route: Route) -> Result<Draft, Stop> {
    let count = payload.entities().len();
    let settled = payload::settle(Some(settled(payload)), Asked::default(), Comes::Alone, route.counts(), count);
    let settled = settled.map_err(|faults| errors::invalid(&faults))?;
    Ok(Draft { route, settled, entities: None, meta: None })
}

/// As the rules know it.
fn settled(payload: &Payload) -> payload::Payload {
    let text = |field: &str| payload.body.text(field).ok().flatten();
    payload::Payload {
        kind: text("type").unwrap_or_else(|| payload::DEFAULT_TYPE.to_owned()),
        cod: text("cod_amount").zip(text("cod_currency")).map(|(amount, currency)| Cod { amount, currency }),
        cod_payment_method: text("cod_payment_method"),
        payment_method: text("payment_method"),
    }
}

fn route(call: &Call, form: &mut Form, before: Route, made: &Made) -> Result<Route, Stop> {
    let waypoints = match list(form, "waypoints", "a list of places")? {
        Some(listed) => {
            order::check_waypoints(listed.values.len()).map_err(|fault| form.fault(fault))?;
            let mut known = before.waypoints;
            listed.items().map(|item| waypoint(call, item, &mut known, made)).collect::<Result<_, _>>()?
        }
        None if form.has("waypoints") => Vec::new(),
        None => before.waypoints,
    };
    let return_to = match form.given("return") {
        Some(value) => Some(places::take(call, &form.path_of("return"), value)?),
        None => before.return_to.filter(|_| !form.has("return")),
    };
    Ok(Route {
        pickup: end(call, form, "pickup", before.pickup)?,
        waypoints,
        dropoff: end(call, form, "dropoff", before.dropoff)?,
        return_to,
    })
}

/// A pickup or a dropoff; at the place where it was before it stays the same stop.
fn end(call: &Call, form: &Form, field: &'static str, before: Option<StoredStop>) -> Result<Option<StoredStop>, Stop> {
    let Some(value) = form.given(field) else { return Ok(before.filter(|_| !form.has(field))) };
    let place = places::take(call, &form.path_of(field), value)?;
    if let Some(stop) = before.filter(|stop| stop.place == place) {
        return Ok(Some(stop));
    }
    let settled = Waypoint { kind: field.to_owned(), ..Waypoint::default() };
    Ok(Some(StoredStop::at(call, place, &settled)))
}

/// The id of a stop, a place in any form, or an object that has one in `place`. One that is known by its `waypoint_id`, or
/// by its place, stays the same stop.
fn waypoint(
    call: &Call,
    (path, value): (String, &str),
    known: &mut Vec<StoredStop>,
    made: &Made,
) -> Result<StoredStop, Stop> {
    let as_id: Option<String> = serde_json::from_str(value).ok();
    if let Some(at) = known.iter().position(|stop| Some(&stop.id) == as_id.as_ref()) {
        return Ok(known.remove(at));
    }
    let object = Object::parse(value).unwrap_or_default();
    let place = match object.given("place") {
        Some(place) => places::take(call, &joined(&path, "place"), place)?,
        None => places::take(call, &path, value)?,
    };
    let mut form = Form::within(&path, object);
    let id = form.text("waypoint_id", order::TEXT_CHARS_MAX);
    let named = known.iter().position(|stop| Some(&stop.id) == id.as_ref());
    let before = named.or_else(|| known.iter().position(|stop| stop.place == place)).map(|at| known.remove(at));
    let asked = asked(call, &mut form, made)?;
    let (settled, _) = form.settle(waypoint::settle(before.as_ref().map(StoredStop::settled), asked))?;
    Ok(match before {
        Some(stop) => StoredStop { place, ..stop }.with(&settled),
        None => StoredStop::at(call, place, &settled),
    })
}

/// What a body says of a stop besides its place. The `type` of a GeoJSON point is its own.
pub fn asked(call: &Call, form: &mut Form, made: &Made) -> Result<waypoint::Asked, Stop> {
    let is_geometry = form.has("coordinates") || form.has("geometry");
    Ok(waypoint::Asked {
        kind: if is_geometry { Change::Absent } else { form.text_change("type") },
        pod_required: form.boolean("pod_required"),
        pod_method: form.text_change("pod_method"),
        notes: form.text_change("notes"),
        customer: customer(call, form, made)?,
        window_start_ms: form.date_change("time_window_start"),
        window_end_ms: form.date_change("time_window_end"),
        service_time_s: form.number_change("service_time"),
    })
}

/// An id, or an object that finds a contact or makes one.
fn customer(call: &Call, form: &Form, made: &Made) -> Result<Change<String>, Stop> {
    form.look_into("customer", &[&contacts::FIELDS]);
    match form.given("customer") {
        Some(value) => Ok(Change::To(contacts::find_or_create(call, &form.path_of("customer"), value, made)?)),
        None if form.has("customer") => Ok(Change::Cleared),
        None => Ok(Change::Absent),
    }
}

/// `None`: absent, or null.
fn list(form: &Form, field: &'static str, kind: &'static str) -> Result<Option<Listed>, Invalid> {
    let Some(value) = form.given(field) else { return Ok(None) };
    let values: Vec<&RawValue> = serde_json::from_str(value).map_err(|_| form.fault(Invalid::Not { field, kind }))?;
    let values = values.into_iter().map(|value| value.get().to_owned()).collect();
    Ok(Some(Listed { path: form.path_of(field), values }))
}
