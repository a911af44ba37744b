//! Entities as they are stored: the things that orders carry (research/fleet 1.1.1, 1.5).

use std::collections::BTreeMap;

use tenon_plugin::json::{self, Object};
use tenon_plugin::records::Entry;
use tenon_plugin::{Call, Collection, Index, Stop, time};

use super::common::{self, BY_CREATED, BY_UPDATED};
use super::shapes::Number;
use super::{places, tracking};
use crate::api::form::Form;
use crate::rules::change::{Change, find_text};
use crate::rules::entity::{Asked, Destination, Entity, Sizes, TEXTS};
use crate::rules::flow::CREATED;
use crate::rules::place::Place;
use crate::rules::tracking::Report;

pub const COLLECTION: &str = "entities";
const PREFIX: &str = "entity";

pub const COLLECTIONS: &[Collection] = &[Collection::new(
    COLLECTION,
    &[
        BY_CREATED,
        BY_UPDATED,
        Index::on("by-name", &["name"]),
        Index::on("by-payload", &["payload", "@created-at"]),
        Index::on("by-type", &["type", "@created-at"]),
        Index::on("by-sku", &["sku", "@created-at"]),
        Index::on("by-customer", &["customer", "@created-at"]),
        Index::on("by-internal-id", &["internal_id", "@created-at"]),
    ],
)];

/// Where an entity belongs: a payload, and its stops as ids of the stop and of its place, waypoints first and in the order
/// of the tour.
#[derive(Clone, Copy, Debug, Default)]
pub struct Home<'a> {
    pub payload: Option<&'a str>,
    pub stops: &'a [(String, String)],
}

pub fn load(call: &Call, id: &str) -> Result<Entry, Stop> {
    common::load(call, COLLECTION, PREFIX, id)
}

pub fn load_many(call: &Call, ids: &[String]) -> BTreeMap<String, String> {
    common::load_many(call, COLLECTION, PREFIX, ids)
}

/// What an object that stands for an entity may have.
pub const FIELDS: [&str; 28] = [
    "id",
    "public_id",
    "uuid",
    "name",
    "type",
    "description",
    "internal_id",
    "sku",
    "supplier",
    "customer",
    "photo",
    "destination",
    "weight",
    "weight_unit",
    "length",
    "width",
    "height",
    "dimensions_unit",
    "price",
    "sale_price",
    "declared_value",
    "currency",
    "payload",
    "tracking_number",
    "meta",
    "order",
    "updated_at",
    "created_at",
];

/// What a body says of an entity.
pub fn read(form: &mut Form) -> Asked {
    let texts = TEXTS.map(|(name, _)| (name, form.text_change(name))).into();
    Asked {
        name: form.text_change("name"),
        kind: form.text_change("type"),
        description: form.text_change("description"),
        texts,
        destination: destination(form),
        weight: form.number_change("weight"),
        weight_unit: form.text_change("weight_unit"),
        length: form.number_change("length"),
        width: form.number_change("width"),
        height: form.number_change("height"),
        dimensions_unit: form.text_change("dimensions_unit"),
        price: form.written_change("price"),
        sale_price: form.written_change("sale_price"),
        declared_value: form.written_change("declared_value"),
        currency: form.text_change("currency"),
    }
}

/// An index into the waypoints, or the id of a stop.
fn destination(form: &mut Form) -> Change<Destination> {
    let Some(value) = form.given("destination").map(str::to_owned) else {
        return if form.has("destination") { Change::Cleared } else { Change::Absent };
    };
    if let Ok(index) = serde_json::from_str::<usize>(value.trim_matches('"')) {
        return Change::To(Destination::Index(index));
    }
    match form.text_change("destination") {
        Change::To(id) => Change::To(Destination::Place(id)),
        _ => Change::Absent,
    }
}

/// With a tracking number of its own. `meta` is a JSON text. Gives the id and the text.
pub fn insert(call: &Call, entity: &Entity, home: Home, meta: Option<&str>) -> Result<(String, String), Stop> {
    let now = time::to_text(call.now());
    let destination = stop_of(entity, home)?;
    let (id, body) = common::insert_drawn(call, COLLECTION, PREFIX, |id| {
        let mut text = Object::default();
        text.set("id", id)?;
        write(&mut text, entity)?;
        text.set("destination", &destination)?;
        text.set("payload", &home.payload)?;
        text.set_raw("meta", meta.unwrap_or("{}"));
        text.set("updated_at", &now)?;
        text.set("created_at", &now)?;
        Ok(text.to_text())
    })?;
    // What came of an id that was taken after all would be numbered twice.
    let number = tracking::issue(call, &id, &region(call, destination.as_deref(), home)?, &first_report())?;
    let mut text: Object = json::from_text(&body)?;
    text.set("tracking_number", &number.id)?;
    let text = text.to_text();
    common::replace(call, COLLECTION, &id, &text)?;
    Ok((id, text))
}

fn first_report() -> Report {
    Report {
        code: CREATED.to_owned(),
        title: "Entity Created".to_owned(),
        details: "The entity was created.".to_owned(),
        ..Report::default()
    }
}

/// Where its number is from: its destination, or else the first stop.
fn region(call: &Call, destination: Option<&str>, home: Home) -> Result<Place, Stop> {
    let wanted = home.stops.iter().find(|(stop, _)| Some(stop.as_str()) == destination).or(home.stops.first());
    let Some((_, place)) = wanted else { return Ok(Place::default()) };
    let found = places::load_many(call, std::slice::from_ref(place));
    found.get(place).map_or(Ok(Place::default()), |text| places::place_of(text))
}

/// `meta`: a JSON text, where it changes. Gives the text.
pub fn replace(call: &Call, entry: &Entry, entity: &Entity, home: Home, meta: Option<String>) -> Result<String, Stop> {
    let mut text: Object = json::from_text(&entry.body)?;
    write(&mut text, entity)?;
    text.set("destination", &stop_of(entity, home)?)?;
    text.set("payload", &home.payload)?;
    Ok(common::replace_changed(call, COLLECTION, &entry.id, text, meta)?)
}

/// Its payload lists it until it has left; its tracking numbers stay.
pub fn delete(call: &Call, id: &str) -> Result<(), Stop> {
    common::delete(call, COLLECTION, id)
}

/// The id of its payload.
pub fn payload_of(text: &str) -> Result<Option<String>, Stop> {
    let stored: Object = json::from_text(text)?;
    stored.text("payload").map_err(|_| Stop::fault("an entity with a payload that is no id"))
}

/// As they are shown, with their tracking numbers.
pub fn shown(call: &Call, entities: &[&str]) -> Result<Vec<String>, Stop> {
    let mut parsed: Vec<Object> = entities.iter().map(|text| json::from_text(text)).collect::<Result<_, _>>()?;
    let ids: Vec<String> = parsed.iter().filter_map(|entity| entity.text("tracking_number").ok().flatten()).collect();
    let numbers = if ids.is_empty() { BTreeMap::new() } else { tracking::load_many(call, &ids)? };
    for entity in &mut parsed {
        let number = entity.text("tracking_number").ok().flatten().and_then(|id| numbers.get(&id));
        entity.set_raw("tracking_number", number.map_or("null", String::as_str).to_owned());
    }
    Ok(parsed.iter().map(Object::to_text).collect())
}

pub fn shown_one(call: &Call, entity: &str) -> Result<String, Stop> {
    shown(call, &[entity])?.pop().ok_or_else(|| Stop::fault("an entity that was not shown"))
}

fn stop_of(entity: &Entity, home: Home) -> Result<Option<String>, Stop> {
    let Some(destination) = &entity.destination else { return Ok(None) };
    Ok(Some(destination.find_stop(home.stops)?.to_owned()))
}

/// The entity as the rules know it.
pub fn entity_of(text: &str) -> Result<Entity, Stop> {
    let stored: Object = json::from_text(text)?;
    let wrong = |_| Stop::fault("an entity with a field of another type");
    let member = |name: &str| stored.text(name).map_err(wrong);
    let number = |name: &str| stored.number(name).map_err(wrong);
    let mut texts = Vec::new();
    for (name, _) in TEXTS {
        texts.extend(member(name)?.map(|text| (name, text)));
    }
    Ok(Entity {
        name: member("name")?.unwrap_or_default(),
        kind: member("type")?.unwrap_or_default(),
        description: member("description")?,
        texts,
        destination: member("destination")?.map(Destination::Place),
        weight: number("weight")?,
        weight_unit: member("weight_unit")?,
        sizes: Sizes { length: number("length")?, width: number("width")?, height: number("height")? },
        dimensions_unit: member("dimensions_unit")?,
        price: member("price")?,
        sale_price: member("sale_price")?,
        declared_value: member("declared_value")?,
        currency: member("currency")?,
    })
}

fn write(text: &mut Object, entity: &Entity) -> Result<(), Stop> {
    text.set("name", &entity.name)?;
    text.set("type", &entity.kind)?;
    text.set("description", &entity.description)?;
    for (name, _) in TEXTS {
        text.set(name, &find_text(&entity.texts, name))?;
    }
    text.set("weight", &entity.weight.map(Number))?;
    text.set("weight_unit", &entity.weight_unit)?;
    text.set("length", &entity.sizes.length.map(Number))?;
    text.set("width", &entity.sizes.width.map(Number))?;
    text.set("height", &entity.sizes.height.map(Number))?;
    text.set("dimensions_unit", &entity.dimensions_unit)?;
    text.set("price", &entity.price)?;
    text.set("sale_price", &entity.sale_price)?;
    text.set("declared_value", &entity.declared_value)?;
    text.set("currency", &entity.currency)
}
