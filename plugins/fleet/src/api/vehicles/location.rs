//! Where a vehicle is: told by its own device, or by that of the driver who drives it. Either way a fix that is older than
//! the one that is known moves nothing and is not told, and one that moves it is told by one event of one form.

use tenon_plugin::json::{self, Object};
use tenon_plugin::records::Entry;
use tenon_plugin::{Call, Stop};

use crate::api::fixes::Moved;
use crate::records::{shapes, vehicles};
use crate::rules::location::Told;

pub const LOCATION_EVENT: &str = "vehicle.location_changed";

/// Gives the vehicle as it then is. Two calls of the host where it moves: drivers' tracks come here, which are many.
pub fn take(call: &Call, entry: &Entry, told: Told) -> Result<String, Stop> {
    let mut vehicle: Object = json::from_text(&entry.body)?;
    if !told.moves(shapes::recorded_at_ms(&vehicle)) {
        return Ok(entry.body.clone());
    }
    let text = vehicles::move_to(call, &entry.id, &mut vehicle, told)?;
    let besides = &[("internal_id", "null"), ("name", "null"), ("plate_number", "null"), ("driver", "null")];
    let (id, fix, stored) = (&entry.id, &told.fix, &vehicle);
    Moved { event: LOCATION_EVENT, named: "vehicle_id", id, fix, stored, besides }.tell(call)?;
    Ok(text)
}
