//! Places as they are stored (research/fleet 1.1.2).
//!
//! A record holds, besides what is shown, the member "find": name and street as searches compare them, and whether its
//! position is a geocoder's. Invariant: nobody is shown it.

use std::collections::BTreeMap;

use tenon_plugin::json::{self, Object};
use tenon_plugin::records::{Entry, Search};
use tenon_plugin::{Call, Collection, Index, Stop, time};

use super::common::{self, BY_CREATED, BY_UPDATED, LOOK_IDS_MAX};
use super::shapes::{Point, object_of};
use crate::api::places::geocoding;
use crate::api::places::mixed::{self, Mixed};
use crate::rules::location::Position;
use crate::rules::place::{DETAILS, Place};

pub const COLLECTION: &str = "places";
const PREFIX: &str = "place";

const KEYS: &str = "find";
/// Fields that searches compare.
pub const NAME_KEY: &str = "find.name";
pub const STREET_KEY: &str = "find.street";
/// In "find": the position is a geocoder's.
const LOCATED: &str = "located";
/// Places of one address that are looked at: older ones of the same are not found by it.
const ALIKE_MAX: u32 = 5;

pub const COLLECTIONS: &[Collection] = &[Collection::new(
    COLLECTION,
    &[
        BY_CREATED,
        BY_UPDATED,
        Index::on("by-name", &[NAME_KEY, "@created-at"]),
        Index::on("by-street", &[STREET_KEY, "@created-at"]),
        Index::on("by-owner", &["owner", "@created-at"]),
    ],
)];

/// A place, and what its organization notes about it: `meta` is a JSON text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NewPlace {
    pub place: Place,
    pub meta: Option<String>,
}

/// As it is shown.
pub fn load(call: &Call, id: &str) -> Result<Entry, Stop> {
    let entry = load_stored(call, id)?;
    Ok(Entry { body: shown(&entry.body)?, ..entry })
}

/// With what nobody is shown, for whoever changes it.
pub fn load_stored(call: &Call, id: &str) -> Result<Entry, Stop> {
    common::load(call, COLLECTION, PREFIX, id)
}

/// As they are shown, by their ids.
pub fn load_many(call: &Call, ids: &[String]) -> BTreeMap<String, String> {
    let stored = common::load_many(call, COLLECTION, PREFIX, ids);
    // What is stored was written here and can be read.
    stored.into_iter().filter_map(|(id, body)| Some((id, shown(&body).ok()?))).collect()
}

/// What `read` makes of each of them, as it is shown, by their ids: few are held at a time, however large they are.
pub fn read_many<T>(
    call: &Call,
    ids: &[String],
    read: impl Fn(&str) -> Result<T, Stop>,
) -> Result<BTreeMap<String, T>, Stop> {
    let texts = ids.chunks(LOOK_IDS_MAX).flat_map(|ids| load_many(call, ids));
    texts.map(|(id, text)| Ok((id, read(&text)?))).collect()
}

/// A place in any form that callers write (`value` is the JSON text at this path): the id of one that is known by its id or
/// its address, or of a new one. Whoever makes one along with an order tells of the order alone.
pub fn take(call: &Call, path: &str, value: &str) -> Result<String, Stop> {
    match mixed::read(path, value)? {
        Mixed::Known(id) => common::load(call, COLLECTION, PREFIX, &id).map(|entry| entry.id),
        Mixed::AtDriver(id) => {
            let driver = super::drivers::load(call, &id)?;
            let place = Place { position: position_of(&driver.body), ..Place::default() };
            insert(call, &NewPlace { place, meta: None }).map(|(id, _)| id)
        }
        Mixed::Address(text) => match find_by_address(call, &text)? {
            Some(id) => Ok(id),
            None => insert(call, &NewPlace { place: Place::of_address(&text), meta: None }).map(|(id, _)| id),
        },
        Mixed::New(new) => insert(call, &new).map(|(id, _)| id),
    }
}

/// Of a place, a driver or a vehicle as it is shown; `None`: nobody has located it.
pub fn position_of(text: &str) -> Option<Position> {
    let object = Object::parse(text).ok()?;
    let point = Object::parse(object.given("location")?).ok()?;
    let [longitude, latitude] = point.read::<[f64; 2]>("coordinates").ok()??;
    Position::new(latitude, longitude).ok().filter(|at| *at != Position::NOWHERE)
}

/// The newest whose street or name is this text, whatever the case.
fn find_by_address(call: &Call, text: &str) -> Result<Option<String>, Stop> {
    let wanted = text.to_lowercase();
    for (key, field) in [(STREET_KEY, "street1"), (NAME_KEY, "name")] {
        let search = Search::first(ALIKE_MAX).is(key, &key_of(text)).descending("@created-at");
        for entry in common::find(call, COLLECTION, &search)?.entries {
            let place: Object = json::from_text(&entry.body)?;
            let known = place.text(field).ok().flatten().unwrap_or_default();
            if known.to_lowercase() == wanted {
                return Ok(Some(entry.id));
            }
        }
    }
    Ok(None)
}

/// Gives the id, and the text as it is shown. 404 where its owner is unknown.
pub fn insert(call: &Call, new: &NewPlace) -> Result<(String, String), Stop> {
    check_owner(call, &new.place)?;
    let now = time::to_text(call.now());
    let (id, body) = common::insert_drawn(call, COLLECTION, PREFIX, |id| {
        let mut text = Object::default();
        text.set("id", id)?;
        write(&mut text, &new.place)?;
        text.set_raw("meta", new.meta.as_deref().unwrap_or("{}"));
        text.set("updated_at", &now)?;
        text.set("created_at", &now)?;
        Ok(text.to_text())
    })?;
    geocoding::ask(call, &id, &new.place)?;
    Ok((id, shown(&body)?))
}

/// `meta`: a JSON text, where it changes. Gives the text as it is shown.
pub fn replace(call: &Call, entry: &Entry, place: &Place, meta: Option<String>) -> Result<String, Stop> {
    check_owner(call, place)?;
    let mut text: Object = json::from_text(&entry.body)?;
    let known = text.text("address").ok().flatten();
    write(&mut text, place)?;
    let text = common::replace_changed(call, COLLECTION, &entry.id, text, meta)?;
    if place.address() != known {
        geocoding::ask(call, &entry.id, place)?;
    }
    shown(&text)
}

/// A contact.
fn check_owner(call: &Call, place: &Place) -> Result<(), Stop> {
    match place.detail("owner") {
        Some(owner) => super::contacts::load(call, owner).map(|_| ()),
        None => Ok(()),
    }
}

pub fn delete(call: &Call, id: &str) -> Result<(), Stop> {
    common::delete(call, COLLECTION, id)
}

/// The place as the rules know it. Of one as it is shown nobody knows who located it.
pub fn place_of(text: &str) -> Result<Place, Stop> {
    let stored: Object = json::from_text(text)?;
    let mut details = Vec::new();
    for name in DETAILS {
        let detail = stored.text(name).map_err(|_| Stop::fault("a place with a field that is no text"))?;
        details.extend(detail.map(|detail| (name, detail)));
    }
    let keys: Object = stored.given(KEYS).map_or(Ok(Object::default()), json::from_text)?;
    let is_located = keys.boolean(LOCATED).ok().flatten().unwrap_or_default();
    Ok(Place { details, position: position_of(text), is_located })
}

fn write(text: &mut Object, place: &Place) -> Result<(), Stop> {
    text.set("name", &place.detail("name"))?;
    text.set("location", &Point::of(place.position))?;
    text.set("address", &place.address())?;
    for name in DETAILS.into_iter().filter(|name| *name != "name") {
        text.set(name, &place.detail(name))?;
    }
    let key = |name: &str| place.detail(name).map(key_of);
    let mut keys = Object::default();
    keys.set("name", &key("name"))?;
    keys.set("street", &key("street1"))?;
    keys.set(LOCATED, &place.is_located)?;
    text.set_raw(KEYS, keys.to_text());
    Ok(())
}

/// As texts are compared in a search: an indexed text has few bytes.
pub fn key_of(text: &str) -> String {
    let lower = text.to_lowercase();
    lower.chars().filter(|letter| !letter.is_control()).take(KEY_CHARS_MAX).collect()
}

/// Four bytes each, they fit an indexed field (512 bytes).
const KEY_CHARS_MAX: usize = 128;

/// As the interface shows it.
pub fn shown(stored: &str) -> Result<String, Stop> {
    let stored: Object = json::from_text(stored)?;
    object_of(stored.members().filter(|(name, _)| *name != KEYS))
}
