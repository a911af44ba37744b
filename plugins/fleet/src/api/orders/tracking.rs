//! What the tracking numbers of an order say: its own, those of its stops, and those of what it carries.
//!
//! Whoever waits for a parcel follows the parcel: on a tour it goes with the stop that it is for, otherwise with the
//! order. A stop that is done has heard its last; to the others the order's cancelation or failure is theirs too.

use tenon_plugin::json::Object;
use tenon_plugin::{Call, Stop};

use super::fields;
use super::moving::Moving;
use crate::records::orders::text;
use crate::records::{drivers, entities, tracking};
use crate::rules::flow::{CANCELED, FAILED, Flow, template, title_of};
use crate::rules::tracking::Report;

/// An activity of the order, or of one of its stops.
pub fn report(moving: &Moving, stop: Option<&str>, code: &str) -> Result<(), Stop> {
    let failure = match stop {
        Some(id) => moving.payload.route.find(id).and_then(|stop| stop.failure.clone()),
        None => text(&moving.order, "failure"),
    };
    let mut report = said(moving.call, &moving.order, &moving.flow, code);
    if let Some(reason) = failure.filter(|_| code == FAILED) {
        report.details = reason;
    }
    report.position = whereabouts(moving);
    for number in numbers(moving, stop, code) {
        tracking::add(moving.call, &number, &report)?;
    }
    Ok(())
}

/// In the words of the configuration.
pub fn said(call: &Call, order: &Object, flow: &Flow, code: &str) -> Report {
    let fields = fields::of(call, order);
    let (title, details) = match flow.find(code) {
        Some(activity) => (activity.status.clone(), activity.details.clone()),
        None if code == CANCELED => ("Order Canceled".to_owned(), "The order was canceled.".to_owned()),
        None if code == FAILED => ("Order Failed".to_owned(), "The order has failed.".to_owned()),
        None => (title_of(code), String::new()),
    };
    Report {
        code: code.to_owned(),
        title: template::resolve(&title, &fields),
        details: template::resolve(&details, &fields),
        complete: flow.completes(code),
        ..Report::default()
    }
}

/// Where the driver was last seen.
fn whereabouts(moving: &Moving) -> Option<crate::rules::location::Position> {
    let driver = text(&moving.order, "driver_assigned")?;
    let found = drivers::load_many(moving.call, std::slice::from_ref(&driver));
    drivers::position_of(found.get(&driver)?)
}

fn numbers(moving: &Moving, stop: Option<&str>, code: &str) -> Vec<String> {
    let route = &moving.payload.route;
    let stops = &moving.progress().stops;
    let is_end = stop.is_none() && (code == CANCELED || code == FAILED);
    let hears = |id: &str| match stop {
        Some(stop) => stop == id,
        None => is_end && stops.iter().any(|stop| stop.id == id && !stop.is_done(&moving.flow)),
    };
    let own = text(&moving.order, "tracking_number").filter(|_| stop.is_none());
    let of_stops = stops.iter().filter(|stop| hears(&stop.id));
    let of_stops = of_stops.filter_map(|stop| route.find(&stop.id)?.tracking_number.clone());
    let carried = entities::load_many(moving.call, &moving.payload.entities());
    let of_entities = carried.values().filter_map(|entity| {
        let entity = Object::parse(entity).ok()?;
        // `destination` is the id of a stop.
        let destination = text(&entity, "destination").filter(|id| route.has_tour() && route.find(id).is_some());
        let goes_along = destination.map_or(stop.is_none(), |id| hears(&id));
        text(&entity, "tracking_number").filter(|_| goes_along)
    });
    own.into_iter().chain(of_stops).chain(of_entities).collect()
}
