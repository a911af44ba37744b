//! A driver as he is shown: his vehicle in place of its id, and the address of a photo that is a file.

use std::collections::BTreeMap;

use tenon_plugin::json::{self, Object};
use tenon_plugin::records::Entry;
use tenon_plugin::{Call, Stop};

use crate::records::{drivers, vehicles};

pub fn one(call: &Call, body: &str) -> Result<String, Stop> {
    let driver: Object = json::from_text(body)?;
    shown(call, driver, |id| vehicles::load_many(call, &[id.to_owned()]).remove(id))
}

/// The same, with a token that is seen this once.
pub fn with_token(call: &Call, body: &str, token: &str) -> Result<String, Stop> {
    let shown = one(call, body)?;
    let mut driver: Object = json::from_text(&shown)?;
    driver.set("token", token)?;
    Ok(driver.to_text())
}

/// Their vehicles in one look.
pub fn all(call: &Call, entries: &[Entry]) -> Result<Vec<String>, Stop> {
    let drivers: Vec<Object> = entries.iter().map(|entry| json::from_text(&entry.body)).collect::<Result<_, _>>()?;
    let ids: Vec<String> = drivers.iter().filter_map(|driver| driver.text("vehicle").ok().flatten()).collect();
    let found = if ids.is_empty() { BTreeMap::new() } else { vehicles::load_many(call, &ids) };
    drivers.into_iter().map(|driver| shown(call, driver, |id| found.get(id).cloned())).collect()
}

/// A vehicle that is not there any more is none.
fn shown(call: &Call, mut driver: Object, find: impl FnOnce(&str) -> Option<String>) -> Result<String, Stop> {
    drivers::show_photo(call, &mut driver)?;
    if let Some(id) = driver.text("vehicle").ok().flatten() {
        driver.set_raw("vehicle", find(&id).unwrap_or_else(|| "null".to_owned()));
    }
    Ok(driver.to_text())
}
