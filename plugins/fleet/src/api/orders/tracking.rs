//! What the tracking numbers of an order say: its own, those of its stops, and those of what it carries. What is carried
//! is told of besides.
//!
//! Whoever waits for a parcel follows the parcel: on a tour it goes with the stop that it is for, otherwise with the
//! order. A stop that is done has heard its last; to the others the order's cancelation or failure is theirs too.

use tenon_plugin::json::{self, Object};
use tenon_plugin::{Call, Stop};

use super::fields;
use super::moving::Moving;
use super::telling::carried;
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
    let hears = |id: &str| hears(moving, stop, code, id);
    for number in numbers(moving, stop, hears) {
        tracking::add(moving.call, &number, &report)?;
    }
    for (id, entity) in entities::load_many(moving.call, &moving.payload.entities()) {
        let stored: Object = json::from_text(&entity)?;
        if !goes_along(moving, &stored, stop, hears) {
            continue;
        }
        if let Some(number) = text(&stored, "tracking_number") {
            tracking::add(moving.call, &number, &report)?;
        }
        carried::tell_activity(moving, (&id, &entity), &report)?;
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
    drivers::position_of(&drivers::find_one(moving.call, &driver)?)
}

/// Whether a stop does, by its id: what happens to it, and how its order ends while it is not done.
fn hears(moving: &Moving, stop: Option<&str>, code: &str, id: &str) -> bool {
    let is_end = code == CANCELED || code == FAILED;
    match stop {
        Some(stop) => stop == id,
        None => is_end && moving.progress().stops.iter().any(|stop| stop.id == id && !stop.is_done(&moving.flow)),
    }
}

/// The order's own, where it is the order that moves, and those of its stops.
fn numbers(moving: &Moving, stop: Option<&str>, hears: impl Fn(&str) -> bool) -> Vec<String> {
    let own = text(&moving.order, "tracking_number").filter(|_| stop.is_none());
    let of_stops = moving.payload.route.stops().filter(|stop| hears(&stop.id));
    own.into_iter().chain(of_stops.filter_map(|stop| stop.tracking_number.clone())).collect()
}

/// On a tour with the stop that it goes to (`destination` is the id of one), otherwise with the order.
fn goes_along(moving: &Moving, entity: &Object, stop: Option<&str>, hears: impl Fn(&str) -> bool) -> bool {
    let route = &moving.payload.route;
    let destination = text(entity, "destination").filter(|id| route.has_tour() && route.find(id).is_some());
    destination.map_or(stop.is_none(), |id| hears(&id))
}
