//! The text of a driver: how it begins, what changes in it. Members that a later version adds survive.

use tenon_plugin::json::{self, Object};
use tenon_plugin::{Call, Stop, time};

use crate::records::files;
use crate::records::shapes::{Number, Point};
use crate::rules::change::{Change, find_text};
use crate::rules::driver::profile::{Photo, Profile, TEXTS};
use crate::rules::driver::{Driver, Status};
use crate::rules::location::{Position, Told};

/// Every member, in the order in which it is shown. `vehicle_avatar`: vehicles have no pictures here.
const BLANK: &str = r#"{"id":null,"user":null,"internal_id":null,"company":null,"company_name":null,"name":null,"email":null,"phone":null,"drivers_license_number":null,"license_expiry":null,"photo_url":null,"avatar_url":null,"vehicle_avatar":null,"vehicle":null,"current_job":null,"vendor":null,"location":{"type":"Point","coordinates":[0,0]},"latitude":null,"longitude":null,"heading":null,"altitude":null,"speed":null,"location_recorded_at":null,"country":null,"currency":null,"city":null,"timezone":null,"online":false,"status":null,"token":null,"meta":{},"updated_at":null,"created_at":null}"#;

/// What a caller says of a driver that no rule looks at. `meta` is the JSON text of an object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Extras {
    pub meta: Change<String>,
    pub position: Option<Position>,
    pub online: Option<bool>,
    /// The id of an order.
    pub job: Change<String>,
}

pub fn new_text(call: &Call, (id, company): (&str, &str), profile: &Profile, extras: &Extras) -> Result<String, Stop> {
    let mut driver: Object = json::from_text(BLANK)?;
    driver.set("id", id)?;
    driver.set("user", &user_id(id))?;
    driver.set("company", company)?;
    driver.set("company_name", call.organization())?;
    driver.set("created_at", &time::to_text(call.now()))?;
    apply(call, &mut driver, profile, extras)?;
    Ok(driver.to_text())
}

/// Who logs in as a driver is that driver and nobody else, so that the id of the one is that of the other.
fn user_id(driver: &str) -> String {
    ["user_", driver.split_once('_').map_or(driver, |(_, suffix)| suffix)].concat()
}

pub fn apply(call: &Call, driver: &mut Object, profile: &Profile, extras: &Extras) -> Result<(), Stop> {
    driver.set("name", &profile.driver.name)?;
    driver.set("email", &profile.driver.email)?;
    driver.set("phone", &profile.driver.phone)?;
    driver.set("status", profile.driver.status.name())?;
    for (field, _) in TEXTS {
        driver.set(field, &find_text(&profile.texts, field))?;
    }
    driver.set("photo_url", &profile.photo.as_ref().map(|(Photo::File(text) | Photo::Address(text))| text))?;
    driver.set("license_expiry", &profile.license_expiry_ms.map(date_text))?;
    driver.set("vehicle", &profile.vehicle)?;
    match &extras.meta {
        Change::Absent => {}
        Change::Cleared => driver.set_raw("meta", "{}"),
        Change::To(meta) => driver.set_raw("meta", meta.clone()),
    }
    if let Some(position) = extras.position {
        set_position(driver, position, call.now())?;
    }
    if let Some(online) = extras.online {
        driver.set("online", &online)?;
    }
    match &extras.job {
        Change::Absent => {}
        Change::Cleared => driver.set_raw("current_job", "null"),
        Change::To(order) => driver.set("current_job", order)?,
    }
    driver.set("updated_at", &time::to_text(call.now()))
}

/// Of a stored driver.
pub fn status_of(text: &str) -> Result<Status, Stop> {
    Ok(status(&json::from_text(text)?))
}

fn status(driver: &Object) -> Status {
    let name = driver.text("status").ok().flatten();
    name.and_then(|name| Status::of_name(&name).ok()).unwrap_or_default()
}

/// What the rules know of a stored driver.
pub fn profile_of(driver: &Object) -> Profile {
    let text = |name: &str| driver.text(name).ok().flatten();
    let texts = TEXTS.iter().filter_map(|(field, _)| Some((*field, text(field)?)));
    Profile {
        driver: Driver {
            name: text("name").unwrap_or_default(),
            email: text("email").unwrap_or_default(),
            phone: text("phone").unwrap_or_default(),
            status: status(driver),
        },
        texts: texts.collect(),
        photo: text("photo_url").map(photo),
        license_expiry_ms: text("license_expiry").and_then(|date| time::parse(&date)),
        vehicle: text("vehicle"),
    }
}

/// The driver where his device says. In whole numbers, as clients of this interface read them; the event tells what the
/// device did.
pub fn moved(call: &Call, driver: &mut Object, told: Told) -> Result<(), Stop> {
    set_position(driver, told.fix.position, told.at_ms)?;
    driver.set("heading", &told.fix.heading.map(whole))?;
    driver.set("altitude", &told.fix.altitude.map(whole))?;
    driver.set("speed", &told.fix.speed.map(whole))?;
    driver.set("updated_at", &time::to_text(call.now()))
}

fn whole(number: f64) -> Number {
    Number(number.round())
}

fn set_position(driver: &mut Object, position: Position, at_ms: u64) -> Result<(), Stop> {
    driver.set("location", &Point::at(position))?;
    driver.set("latitude", &Number(position.latitude()))?;
    driver.set("longitude", &Number(position.longitude()))?;
    driver.set("location_recorded_at", &time::to_text(at_ms))
}

/// An address of a file's bytes means the file: earlier versions stored it.
pub fn photo(text: String) -> Photo {
    match files::named(&text) {
        Some(id) => Photo::File(id.to_owned()),
        None => Photo::Address(text),
    }
}

/// Whether he may have a photo, by his text alone: most have none.
pub fn may_have_photo(text: &str) -> bool {
    text.contains(r#""photo_url":""#)
}

/// The id of the file that is his photo.
pub fn photo_file(driver: &Object) -> Option<String> {
    files::named(&driver.text("photo_url").ok()??).map(str::to_owned)
}

/// A file gets the address at which this caller reaches it.
pub fn show_photo(call: &Call, driver: &mut Object) -> Result<(), Stop> {
    match photo_file(driver) {
        Some(id) => driver.set("photo_url", &files::url(call, &id)),
        None => Ok(()),
    }
}

/// "2030-01-31"
fn date_text(milliseconds: u64) -> String {
    time::to_text(milliseconds).chars().take(10).collect()
}
