//! Devices to which a driver's pushes go. One token is one device: whoever registers it last has it.

use serde::{Deserialize, Serialize};
use tenon_plugin::records::Search;
use tenon_plugin::{Call, Collection, Index, Stop, json, time};

use super::common;
use crate::rules::driver::device::{DEVICES_MAX, Device};

const DEVICES: &str = "devices";

pub const COLLECTIONS: &[Collection] = &[Collection::new(
    DEVICES,
    &[Index::unique("by-token", &["token"]), Index::on("by-driver", &["driver", "@created-at"])],
)];

#[derive(Serialize, Deserialize)]
struct Stored {
    id: String,
    driver: String,
    token: String,
    platform: String,
    updated_at: String,
    created_at: String,
}

/// Gives the id of the device. Where the driver has too many, those that were registered first make room.
pub fn register(call: &Call, driver: &str, device: &Device) -> Result<String, Stop> {
    let now = time::to_text(call.now());
    let known = common::find(call, DEVICES, &Search::first(1).is("token", &device.token))?;
    if let Some(entry) = known.entries.into_iter().next() {
        let mut stored: Stored = json::from_text(&entry.body)?;
        if stored.driver != driver {
            make_room(call, driver)?;
        }
        stored.driver = driver.to_owned();
        stored.platform = device.platform.to_owned();
        stored.updated_at = now;
        common::replace(call, DEVICES, &entry.id, &json::to_text(&stored)?)?;
        return Ok(entry.id);
    }
    make_room(call, driver)?;
    let inserted = common::insert_drawn(call, DEVICES, "user_device", |id| {
        json::to_text(&Stored {
            id: id.to_owned(),
            driver: driver.to_owned(),
            token: device.token.clone(),
            platform: device.platform.to_owned(),
            updated_at: now.clone(),
            created_at: now.clone(),
        })
    });
    Ok(inserted?.0)
}

/// All of the driver's.
pub fn forget(call: &Call, driver: &str) -> Result<(), Stop> {
    for id in of_driver(call, driver)? {
        common::delete(call, DEVICES, &id)?;
    }
    Ok(())
}

fn make_room(call: &Call, driver: &str) -> Result<(), Stop> {
    let known = of_driver(call, driver)?;
    for id in known.iter().take((known.len() + 1).saturating_sub(DEVICES_MAX)) {
        common::delete(call, DEVICES, id)?;
    }
    Ok(())
}

/// Ids, the oldest first.
fn of_driver(call: &Call, driver: &str) -> Result<Vec<String>, Stop> {
    let search = Search::first(100).is("driver", driver).ascending("@created-at");
    Ok(common::find(call, DEVICES, &search)?.entries.into_iter().map(|entry| entry.id).collect())
}
