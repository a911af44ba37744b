//! Where an order is on its way, and when it will be where (research/fleet 1.1.3): tracker and eta. The figures are the
//! rules' (`rules::tracker`), estimated along straight lines; `provider` and the like in the query change nothing.

mod text;

use tenon_plugin::json::{self, Object};
use tenon_plugin::records::Entry;
use tenon_plugin::{Answer, Call, Outcome, Stop, time};

use super::actions::find_entry;
use super::moving::flow_of;
use super::{standing, way};
use crate::records::drivers;
use crate::records::orders::{flag, text};
use crate::records::payloads::{self, Payload};
use crate::rules::authority::Operation;
use crate::rules::flow::Flow;
use crate::rules::location::Position;
use crate::rules::progress::Progress;
use crate::rules::tracker::{self, DriverFix, Known, Tracker};

pub fn tracker(call: &Call) -> Outcome {
    let entry = find_entry(call, Operation::ReadOrder)?;
    Ok(Answer::ok(Followed::look(call, &entry)?.tracker()?))
}

pub fn eta(call: &Call) -> Outcome {
    let entry = find_entry(call, Operation::ReadOrder)?;
    Ok(Answer::ok(Followed::look(call, &entry)?.eta()?))
}

/// An order with all that its figures are made of.
pub struct Followed {
    progress: Progress,
    payload: Payload,
    flow: Flow,
    /// Of the stops, in their order.
    positions: Vec<Option<Position>>,
    driver: Option<DriverFix>,
    online: Option<bool>,
    figures: Tracker,
    now_ms: u64,
}

impl Followed {
    pub fn look(call: &Call, entry: &Entry) -> Result<Followed, Stop> {
        let order: Object = json::from_text(&entry.body)?;
        let payload = payloads::load(call, &text(&order, "payload").unwrap_or_default())?;
        let progress = standing::read(&order, &payload, Vec::new());
        let flow = flow_of(call, &order)?;
        let positions = way::positions(call, &payload.route)?;
        let driver = progress.driver.as_deref().and_then(|id| drivers::find_one(call, id));
        let fix = driver.as_deref().and_then(fix_of);
        let online = driver.as_deref().map(is_online);
        let known = Known { places: &positions, driver: fix, now_ms: call.now() };
        let figures = tracker::track(&progress, &flow, known);
        Ok(Followed { progress, payload, flow, positions, driver: fix, online, figures, now_ms: call.now() })
    }
}

/// Where and when the driver was seen last.
fn fix_of(driver: &str) -> Option<DriverFix> {
    let position = drivers::position_of(driver)?;
    let driver = Object::parse(driver).ok()?;
    let seen = text(&driver, "location_recorded_at").or_else(|| text(&driver, "updated_at"))?;
    Some(DriverFix { position, at_ms: time::parse(&seen)?, online: flag(&driver, "online") })
}

fn is_online(driver: &str) -> bool {
    Object::parse(driver).is_ok_and(|driver| flag(&driver, "online"))
}
