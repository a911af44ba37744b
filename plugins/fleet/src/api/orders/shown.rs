//! Orders as callers see them (research/fleet 1.1.2): what is stored, with what it refers to in the place of ids.

use std::collections::BTreeMap;

use serde::Serialize;
use tenon_plugin::json::{self, Object};
use tenon_plugin::{Call, Stop};

use super::joined::{Joined, Wanted, named, payloads_of};
use super::standing;
use crate::api::lists::words;
use crate::api::payloads::shown as payload_shown;
use crate::records::files;
use crate::records::orders::{self, HIDDEN, text};
use crate::records::payloads::Payload;

/// References that stay ids where a caller does without them (`without=payload,customer`).
#[derive(Default)]
pub struct Without(Vec<String>);

/// The references of an order, by the names of their fields.
pub const REFERENCES: [&str; 7] = [
    "payload",
    "customer",
    "facilitator",
    "driver_assigned",
    "vehicle_assigned",
    "tracking_number",
    "tracking_statuses",
];

impl Without {
    /// As the query of the call says; its words are looked at by who reads the query.
    pub fn of(call: &Call) -> Without {
        Without(words(call, "without").map(str::to_owned).collect())
    }

    fn names(&self, field: &str) -> bool {
        self.0.iter().any(|name| name == field)
    }
}

pub fn one(call: &Call, order: &Object) -> Result<String, Stop> {
    one_without(call, order, &Without::default())
}

pub fn one_without(call: &Call, order: &Object, without: &Without) -> Result<String, Stop> {
    let shown = many(call, std::slice::from_ref(order), without)?;
    shown.into_iter().next().ok_or_else(|| Stop::fault("an order was shown as nothing"))
}

/// A page of orders.
pub fn many(call: &Call, orders: &[Object], without: &Without) -> Result<Vec<String>, Stop> {
    let mut payloads = match without.names("payload") {
        true => BTreeMap::new(),
        false => {
            let ids: Vec<String> = orders.iter().filter_map(|order| text(order, "payload")).collect();
            payloads_of(call, &ids)?
        }
    };
    let mut wanted = Wanted::default();
    for order in orders {
        add_references(&mut wanted, order, without);
        if let Some(payload) = text(order, "payload").and_then(|id| payloads.get_mut(&id)) {
            standing::point(order, payload)?;
        }
    }
    payloads.values().for_each(|payload| wanted.add_payload(payload));
    let joined = wanted.load(call, orders.len())?;
    orders.iter().map(|order| order_text(call, order, (&payloads, &joined), without)).collect()
}

fn add_references(wanted: &mut Wanted, order: &Object, without: &Without) {
    let reference = |field: &str| text(order, field).filter(|_| !without.names(field));
    wanted.contacts.extend(reference("customer").into_iter().chain(reference("facilitator")));
    wanted.drivers.extend(reference("driver_assigned"));
    wanted.vehicles.extend(reference("vehicle_assigned"));
    wanted.numbers.extend(reference("tracking_number"));
    wanted.statuses.extend(text(order, "tracking_number").filter(|_| !without.names("tracking_statuses")));
}

fn order_text(
    call: &Call,
    order: &Object,
    (payloads, joined): (&BTreeMap<String, Payload>, &Joined),
    without: &Without,
) -> Result<String, Stop> {
    let mut shown = Shown::default();
    for (name, value) in order.members().filter(|(name, _)| !HIDDEN.contains(name)) {
        let id = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        match name {
            "tracking_number" => {
                shown.put(name, if without.names(name) { value } else { named(&joined.numbers, id) });
                if !without.names("tracking_statuses") {
                    let statuses = id.and_then(|id| joined.statuses.get(id)).map(Vec::as_slice).unwrap_or_default();
                    shown.put("tracking_statuses", &json::array(statuses.iter().map(String::as_str)));
                }
            }
            _ if without.names(name) => shown.put(name, value),
            "files" => shown.put(name, &files_text(call, order)?),
            "customer" | "facilitator" => shown.put(name, named(&joined.contacts, id)),
            "driver_assigned" => shown.put(name, named(&joined.drivers, id)),
            "vehicle_assigned" => shown.put(name, named(&joined.vehicles, id)),
            "payload" => match id.and_then(|id| payloads.get(id)) {
                Some(payload) => shown.put(name, &payload_shown::text_of(payload, joined)),
                None => shown.put(name, "null"),
            },
            _ => shown.put(name, value),
        }
    }
    Ok(shown.into_text())
}

/// What is in the pictures is asked of the files.
fn files_text(call: &Call, order: &Object) -> Result<String, Stop> {
    let files: Vec<File> = orders::files(order).into_iter().map(|id| File { url: files::url(call, &id), id }).collect();
    json::to_text(&files)
}

#[derive(Serialize)]
struct File {
    id: String,
    url: String,
}

/// A JSON object that is written member by member. Names are plain words.
#[derive(Default)]
pub struct Shown(String);

impl Shown {
    /// `value` is one JSON text.
    pub fn put(&mut self, name: &str, value: &str) {
        self.0.push_str(if self.0.is_empty() { "{\"" } else { ",\"" });
        self.0.push_str(name);
        self.0.push_str("\":");
        self.0.push_str(value);
    }

    pub fn into_text(mut self) -> String {
        self.0.push_str(if self.0.is_empty() { "{}" } else { "}" });
        self.0
    }
}
