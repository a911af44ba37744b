//! How far an order goes and how long that takes: estimated from where its stops are, and kept with the order, beside
//! what lists look for.

use serde::Serialize;
use tenon_plugin::json::{self, Object};
use tenon_plugin::{Answer, Call, Outcome, Stop, time};

use super::actions::find;
use super::moving::Moving;
use crate::records::payloads::{Payload, Route, StoredStop};
use crate::records::shapes::Number;
use crate::records::{orders, payloads, places};
use crate::rules::authority::Operation;
use crate::rules::location::Position;
use crate::rules::location::distance::estimate_tour;

#[derive(Serialize)]
struct Around {
    latitude: Number,
    longitude: Number,
}

#[derive(Serialize)]
struct Ends<'a> {
    pickup: Option<&'a str>,
    dropoff: Option<&'a str>,
    #[serde(rename = "return")]
    return_to: Option<&'a str>,
}

/// Measures it anew, and keeps it.
pub fn read(call: &Call) -> Outcome {
    let (id, mut order) = find(call, Operation::ReadOrder)?;
    let before = order.to_text();
    let payload = payloads::load(call, &orders::text(&order, "payload").unwrap_or_default())?;
    measure_order(call, &mut order, &payload)?;
    if order.to_text() != before {
        order.set("updated_at", &time::to_text(call.now()))?;
        orders::store(call, &id, &order)?;
    }
    let figure = |field: &str| order.raw(field).unwrap_or("null").to_owned();
    Ok(Answer::ok(["{\"distance\":", &figure("distance"), ",\"time\":", &figure("time"), "}"].concat()))
}

pub fn measure(moving: &mut Moving) -> Result<(), Stop> {
    measure_order(moving.call, &mut moving.order, &moving.payload)
}

pub fn measure_order(call: &Call, order: &mut Object<'static>, payload: &Payload) -> Result<(), Stop> {
    let positions = positions(call, &payload.route)?;
    let known: Vec<Position> = positions.iter().copied().flatten().collect();
    // A way with a hole in it is not known.
    let way = (known.len() == positions.len() && known.len() > 1).then(|| estimate_tour(&known));
    order.set("distance", &way.map(|way| Number(way.distance_m.round())))?;
    order.set("time", &way.map(|way| Number(way.duration_s.round())))?;
    let first = positions.first().copied().flatten();
    let around = first.map(|at| Around { latitude: Number(at.latitude()), longitude: Number(at.longitude()) });
    order.set("at", &around)?;
    let place = |stop: &'_ Option<StoredStop>| stop.as_ref().map(|stop| stop.place.clone());
    let (pickup, dropoff) = (place(&payload.route.pickup), place(&payload.route.dropoff));
    let ends =
        Ends { pickup: pickup.as_deref(), dropoff: dropoff.as_deref(), return_to: payload.route.return_to.as_deref() };
    order.set_raw("stops", json::to_text(&ends)?);
    order.set("entities", &payload.entities())
}

/// Of the stops, in their order; `None`: nobody has located it.
pub fn positions(call: &Call, route: &Route) -> Result<Vec<Option<Position>>, Stop> {
    let known = places::read_many(call, &route.places(), |text| Ok(places::position_of(text)))?;
    Ok(route.stops().map(|stop| known.get(&stop.place).copied().flatten()).collect())
}
