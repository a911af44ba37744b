//! An order goes with all that is its own: payload, entities, tracking numbers and statuses, proofs, comments. Places,
//! contacts, driver and vehicle stay; a driver who was on the way with it is free.

use tenon_plugin::json::{self, Object};
use tenon_plugin::{Call, Outcome};

use super::telling;
use crate::api::actor::manage;
use crate::api::deleted;
use crate::api::payloads::making;
use crate::records::orders::{self, flag, text};
use crate::records::{comments, drivers, payloads, proofs, tracking};

pub fn delete(call: &Call) -> Outcome {
    manage(call)?;
    let entry = orders::load(call, call.parameter("id"))?;
    let order: Object = json::from_text(&entry.body)?;
    let payload = payloads::load(call, &text(&order, "payload").unwrap_or_default())?;
    making::remove(call, &payload)?;
    tracking::delete_of_subject(call, &entry.id)?;
    proofs::delete_of_order(call, &entry.id)?;
    comments::delete_of_order(call, &entry.id)?;
    if let Some(driver) = text(&order, "driver_assigned").filter(|_| flag(&order, "started")) {
        drivers::free(call, &driver, &entry.id)?;
    }
    orders::delete(call, &entry.id)?;
    telling::tell_of(call, telling::DELETED, &entry.id, (&entry.id, &order), &[])?;
    deleted::answer(call, &entry.id, "order")
}
