//! Where an address is: asked of the operator's destination `geocoder` after the commit (docs/fleet/geocoder.md). Without the
//! setting `geocoder` nobody is asked, and an address stays a text.
//!
//! Never overwrites a position that somebody gave meanwhile, and never says anything of an address that was changed: what
//! it said of one is marked, and goes with it (`rules::place`).

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use tenon_plugin::effects::{Effect, OutgoingCall, Response};
use tenon_plugin::tasks::{FiredTask, Outcome, TaskOutcome, Verdict};
use tenon_plugin::{Call, Content, Level, Stop, Task, json, task};

use super::UPDATED_EVENT;
use crate::api::events;
use crate::records::places;
use crate::rules::location::Position;
use crate::rules::place::Place;
use crate::settings::GEOCODER;

const LOCATED: &str = "place-located";
pub const TASKS: &[Task] = &[task(LOCATED, locate)];

const PATH: &str = "/geocode";
const TIMEOUT_MS: u32 = 10_000;
const DELAYS_MS: [u32; 4] = [2_000, 10_000, 60_000, 600_000];

#[derive(Serialize, Deserialize)]
struct Asked {
    address: String,
}

#[derive(Deserialize)]
struct Found {
    latitude: f64,
    longitude: f64,
}

/// Asks where a place is that has an address and no position.
pub fn ask(call: &Call, id: &str, place: &Place) -> Result<(), Stop> {
    let (None, Some(address)) = (place.position, place.address()) else { return Ok(()) };
    if !call.config::<bool>(GEOCODER)?.unwrap_or_default() {
        return Ok(());
    }
    let asked = json::to_text(&Asked { address })?;
    let outgoing = OutgoingCall::new(GEOCODER, "POST", PATH).json(asked.clone()).timeout_ms(TIMEOUT_MS);
    // Two questions of one place at one time would be about one address.
    let key = [id, "-", &call.now().to_string()].concat();
    call.effects().start(&Effect::new(outgoing, LOCATED, &key, asked).delays_ms(&DELAYS_MS));
    Ok(())
}

/// What came of a question.
fn locate(call: &Call, task: &FiredTask) -> TaskOutcome {
    let Some(position) = position_of(call, task) else { return Ok(Verdict::Done) };
    let id = task.key.rsplit_once('-').map_or(task.key.as_str(), |(id, _)| id);
    let asked: Asked = call.json()?;
    // It may be gone by now.
    let Ok(entry) = places::load(call, id) else { return Ok(Verdict::Done) };
    let place = places::place_of(&entry.body)?;
    if place.position.is_none() && place.address().as_deref() == Some(&asked.address) {
        let place = Place { position: Some(position), is_located: true, ..place };
        let shown = places::replace(call, &entry, &place, None)?;
        events::emit(call, UPDATED_EVENT, id, &shown, &[])?;
    }
    Ok(Verdict::Done)
}

/// `None`: nobody knows, or nobody answered.
fn position_of(call: &Call, task: &FiredTask) -> Option<Position> {
    let why = match &task.outcome {
        Some(Outcome::Answered(response)) if response.status == 200 => {
            let found = read(response);
            if found.is_some() {
                return found;
            }
            "an answer that is no position".to_owned()
        }
        // It has looked, and knows of no such place.
        Some(Outcome::Answered(response)) if [204, 404].contains(&response.status) => return None,
        Some(Outcome::Answered(response)) => ["answered with ", &response.status.to_string()].concat(),
        Some(Outcome::NotSent(why)) => ["not sent: ", why.as_str()].concat(),
        Some(Outcome::Unknown(why)) => ["outcome unknown: ", why.as_str()].concat(),
        None => "without an outcome".to_owned(),
    };
    call.log(Level::Warn, "an address was not located", &[("place", &task.key), ("why", &why)]);
    None
}

fn read(response: &Response) -> Option<Position> {
    let Content::Json(text) = &response.content else { return None };
    let found: Found = serde_json::from_str(text).ok()?;
    Position::new(found.latitude, found.longitude).ok()
}
