//! Payloads as they are stored: ids of places and entities, and the stops with where each of them stands.
//!
//! Never judges a payload (`rules::payload`, `rules::waypoint`) and never joins one (`api::payloads::shown`). Invariants:
//! every stop has an id of its own, whatever place it is at; members of a newer version survive a change.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tenon_plugin::json::{self, Object};
use tenon_plugin::{Call, Collection, Stop, time};

use super::common::{self, BY_CREATED, BY_UPDATED};
use crate::rules::order::{ProofMethod, ProofWanted, Stops};
use crate::rules::progress::{self, StopKind};
use crate::rules::proof::Demand;
use crate::rules::waypoint::{Waypoint, Window};

pub const COLLECTION: &str = "payloads";
const PREFIX: &str = "payload";

pub const COLLECTIONS: &[Collection] = &[Collection::new(COLLECTION, &[BY_CREATED, BY_UPDATED])];

/// What a payload keeps for itself: nobody is shown it.
pub const HIDDEN: [&str; 2] = ["ends", "current_stop"];

/// A pickup, a waypoint or a dropoff.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StoredStop {
    pub id: String,
    /// The id of the place.
    pub place: String,
    #[serde(rename = "type")]
    pub kind: String,
    /// The code of its last activity.
    pub activity: Option<String>,
    pub complete: bool,
    pub failure: Option<String>,
    pub pod_required: bool,
    pub pod_method: Option<String>,
    pub notes: Option<String>,
    /// The id of a contact.
    pub customer: Option<String>,
    pub time_window_start: Option<String>,
    pub time_window_end: Option<String>,
    /// Seconds.
    pub service_time: Option<u32>,
    /// The id of its tracking number; only stops of a tour have one.
    pub tracking_number: Option<String>,
    #[serde(flatten)]
    /// Of a newer version.
    pub other: Map<String, Value>,
}

/// Where it goes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Route {
    pub pickup: Option<StoredStop>,
    pub waypoints: Vec<StoredStop>,
    pub dropoff: Option<StoredStop>,
    /// The id of a place: nothing happens there that anybody follows.
    pub return_to: Option<String>,
}

#[derive(Clone, Debug)]
pub struct Payload {
    pub id: String,
    /// Its plain fields; what `route` holds is written over them.
    pub body: Object<'static>,
    pub route: Route,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct Ends {
    pickup: Option<StoredStop>,
    dropoff: Option<StoredStop>,
}

impl StoredStop {
    /// A stop that nothing is known of but where it is.
    pub fn at(call: &Call, place: String, settled: &Waypoint) -> StoredStop {
        StoredStop { id: call.public_id("waypoint"), place, ..StoredStop::default() }.with(settled)
    }

    pub fn with(self, settled: &Waypoint) -> StoredStop {
        StoredStop {
            kind: settled.kind.clone(),
            pod_required: settled.demand.wanted == ProofWanted::Required,
            pod_method: settled.demand.method.map(|method| method.name().to_owned()),
            notes: settled.notes.clone(),
            customer: settled.customer.clone(),
            time_window_start: settled.window.start_ms.map(time::to_text),
            time_window_end: settled.window.end_ms.map(time::to_text),
            // Settled ones are whole, and at most a day.
            service_time: settled.service_time_s.map(|seconds| seconds as u32),
            ..self
        }
    }

    pub fn settled(&self) -> Waypoint {
        let parsed = |text: &Option<String>| text.as_deref().and_then(time::parse);
        Waypoint {
            kind: self.kind.clone(),
            demand: self.demand(),
            notes: self.notes.clone(),
            customer: self.customer.clone(),
            window: Window { start_ms: parsed(&self.time_window_start), end_ms: parsed(&self.time_window_end) },
            service_time_s: self.service_time.map(f64::from),
        }
    }

    fn demand(&self) -> Demand {
        let method = self.pod_method.as_deref().and_then(|name| ProofMethod::of_name(name).ok());
        Demand { wanted: self.pod_required.into(), method }
    }

    fn as_rule(&self, kind: StopKind) -> progress::Stop {
        progress::Stop {
            id: self.id.clone(),
            place: self.place.clone(),
            kind,
            demand: self.demand(),
            activity: self.activity.clone(),
            failure: self.failure.clone(),
        }
    }
}

impl Route {
    /// In the order of the tour.
    pub fn stops(&self) -> impl Iterator<Item = &StoredStop> {
        self.pickup.iter().chain(&self.waypoints).chain(&self.dropoff)
    }

    pub fn stops_mut(&mut self) -> impl Iterator<Item = &mut StoredStop> {
        self.pickup.iter_mut().chain(&mut self.waypoints).chain(&mut self.dropoff)
    }

    pub fn find(&self, id: &str) -> Option<&StoredStop> {
        self.stops().find(|stop| stop.id == id)
    }

    /// As far as it decides whether an order can go there at all.
    pub fn counts(&self) -> Stops {
        Stops { pickup: self.pickup.is_some(), dropoff: self.dropoff.is_some(), waypoints: self.waypoints.len() }
    }

    pub fn has_tour(&self) -> bool {
        !self.waypoints.is_empty()
    }

    /// As the rules follow them.
    pub fn as_rules(&self) -> Vec<progress::Stop> {
        let pickup = self.pickup.iter().map(|stop| stop.as_rule(StopKind::Pickup));
        let waypoints = self.waypoints.iter().map(|stop| stop.as_rule(StopKind::Waypoint));
        let dropoff = self.dropoff.iter().map(|stop| stop.as_rule(StopKind::Dropoff));
        pickup.chain(waypoints).chain(dropoff).collect()
    }

    /// Ids of the stops and of their places, as entities name where they go: waypoints first, each in the order of the tour.
    pub fn destinations(&self) -> Vec<(String, String)> {
        let stops = self.waypoints.iter().chain(&self.pickup).chain(&self.dropoff);
        stops.map(|stop| (stop.id.clone(), stop.place.clone())).collect()
    }

    /// Ids of places, those of the stops in the order of the tour.
    pub fn places(&self) -> Vec<String> {
        self.stops().map(|stop| stop.place.clone()).chain(self.return_to.clone()).collect()
    }
}

impl Payload {
    pub fn parse(id: &str, text: &str) -> Result<Payload, Stop> {
        let body: Object = json::from_text(text)?;
        let ends: Ends = json::from_text(body.given("ends").unwrap_or("{}"))?;
        let waypoints = json::from_text(body.given("waypoints").unwrap_or("[]"))?;
        let return_to = body.text("return").ok().flatten();
        let route = Route { pickup: ends.pickup, waypoints, dropoff: ends.dropoff, return_to };
        Ok(Payload { id: id.to_owned(), body: body.into_owned(), route })
    }

    pub fn to_text(&self) -> Result<String, Stop> {
        let mut body = self.body.clone();
        let place = |stop: &Option<StoredStop>| stop.as_ref().map(|stop| stop.place.clone());
        body.set("pickup", &place(&self.route.pickup))?;
        body.set("dropoff", &place(&self.route.dropoff))?;
        body.set("return", &self.route.return_to)?;
        body.set("waypoints", &self.route.waypoints)?;
        body.set("ends", &Ends { pickup: self.route.pickup.clone(), dropoff: self.route.dropoff.clone() })?;
        Ok(body.to_text())
    }

    pub fn entities(&self) -> Vec<String> {
        self.body.read("entities").ok().flatten().unwrap_or_default()
    }

    /// The id of its order.
    pub fn order(&self) -> Option<String> {
        self.body.text("order").ok().flatten()
    }
}

pub fn load(call: &Call, id: &str) -> Result<Payload, Stop> {
    let entry = common::load(call, COLLECTION, PREFIX, id)?;
    Payload::parse(&entry.id, &entry.body)
}

/// `None`: there is none of this id.
pub fn find(call: &Call, id: &str) -> Result<Option<Payload>, Stop> {
    let mut found = load_many(call, &[id.to_owned()]);
    found.remove(id).map(|text| Payload::parse(id, &text)).transpose()
}

/// Texts by id; an id that is not known has none.
pub fn load_many(call: &Call, ids: &[String]) -> BTreeMap<String, String> {
    common::load_many(call, COLLECTION, PREFIX, ids)
}

/// Takes an id; what is stored under it comes with [`store`].
pub fn draw(call: &Call) -> Result<String, Stop> {
    let (id, _) = common::insert_drawn(call, COLLECTION, PREFIX, |id| json::to_text(&BTreeMap::from([("id", id)])))?;
    Ok(id)
}

pub fn store(call: &Call, payload: &Payload) -> Result<(), Stop> {
    Ok(common::replace(call, COLLECTION, &payload.id, &payload.to_text()?)?)
}

pub fn delete(call: &Call, id: &str) -> Result<(), Stop> {
    common::delete(call, COLLECTION, id)
}
