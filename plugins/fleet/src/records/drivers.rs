//! Drivers as they are stored, which is as they are shown but for what is joined: `vehicle` and `current_job` are ids, and so
//! is a `photo_url` that is a file, whose address is made for whoever reads it.
//! What nobody may see (password, codes) lies with `logins`.
//!
//! Invariant: `latitude` and `longitude` stand beside `location` and say the same, so that an index finds who is near;
//! both are null where nobody knows.

mod near;
#[cfg(test)]
mod tests;
mod text;

use std::collections::BTreeMap;

use tenon_plugin::json::{self, Object};
use tenon_plugin::records::{Entry, Page, Search};
use tenon_plugin::{Call, Collection, Index, Stop, time};

use super::common;

pub use near::{MEASURED_AT_ONCE, around, online_near, position_of};
pub use text::{Extras, apply, may_have_photo, moved, new_text, photo, photo_file, profile_of, show_photo, status_of};

pub const COLLECTION: &str = "drivers";
const PREFIX: &str = "driver";

/// Few indexes: each is written anew whenever a driver moves.
pub const COLLECTIONS: &[Collection] =
    &[Collection::new(COLLECTION, &[common::BY_CREATED, common::BY_UPDATED, Index::on("by-latitude", &["latitude"])])];

/// 404 where there is none.
pub fn load(call: &Call, id: &str) -> Result<Entry, Stop> {
    common::load(call, COLLECTION, PREFIX, id)
}

/// Texts by id as they are shown, in one question; what is not there is left out.
pub fn load_shown(call: &Call, ids: &[String]) -> BTreeMap<String, String> {
    let mut found = common::load_many(call, COLLECTION, PREFIX, ids);
    for text in found.values_mut().filter(|text| may_have_photo(text)) {
        let shown = Object::parse(text).ok().and_then(|mut driver| {
            text::show_photo(call, &mut driver).ok()?;
            Some(driver.to_text())
        });
        *text = shown.unwrap_or_else(|| std::mem::take(text));
    }
    found
}

/// The stored text, unless there is none.
pub fn find_one(call: &Call, id: &str) -> Option<String> {
    common::load_many(call, COLLECTION, PREFIX, &[id.to_owned()]).remove(id)
}

pub fn find(call: &Call, search: &Search) -> Result<Page, Stop> {
    common::find(call, COLLECTION, search)
}

/// Gives id and text.
pub fn insert(call: &Call, text_of: impl FnMut(&str) -> Result<String, Stop>) -> Result<(String, String), Stop> {
    Ok(common::insert_drawn(call, COLLECTION, PREFIX, text_of)?)
}

pub fn replace(call: &Call, id: &str, body: &str) -> Result<(), Stop> {
    Ok(common::replace(call, COLLECTION, id, body)?)
}

pub fn delete(call: &Call, id: &str) -> Result<(), Stop> {
    common::delete(call, COLLECTION, id)
}

/// The id of the vehicle that he drives.
pub fn vehicle_of(driver: &Object) -> Option<String> {
    driver.text("vehicle").ok().flatten()
}

/// The id of the file that is the photo of this driver.
pub fn photo_of(call: &Call, driver: &str) -> Option<String> {
    photo_file(&Object::parse(&find_one(call, driver)?).ok()?)
}

/// He drives this one from now on, or none. Gives the text.
pub fn put_vehicle(call: &Call, id: &str, driver: &mut Object, vehicle: Option<&str>) -> Result<String, Stop> {
    driver.set("vehicle", &vehicle)?;
    driver.set("updated_at", &time::to_text(call.now()))?;
    let text = driver.to_text();
    replace(call, id, &text)?;
    Ok(text)
}

/// The order becomes what the driver is at.
pub fn take_job(call: &Call, driver_id: &str, order_id: &str) -> Result<(), Stop> {
    let entry = load(call, driver_id)?;
    let mut driver: Object = json::from_text(&entry.body)?;
    driver.set("current_job", order_id)?;
    driver.set("updated_at", &time::to_text(call.now()))?;
    replace(call, driver_id, &driver.to_text())
}

/// The driver is done with this order; nothing changes where he is at another one, or is not there any more.
pub fn free(call: &Call, driver_id: &str, order_id: &str) -> Result<(), Stop> {
    let Some(body) = find_one(call, driver_id) else { return Ok(()) };
    let mut driver: Object = json::from_text(&body)?;
    if driver.text("current_job").ok().flatten().as_deref() != Some(order_id) {
        return Ok(());
    }
    driver.set_raw("current_job", "null");
    driver.set("updated_at", &time::to_text(call.now()))?;
    replace(call, driver_id, &driver.to_text())
}
