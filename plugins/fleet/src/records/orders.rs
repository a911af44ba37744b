//! Orders as they are stored: their own fields, and ids of all that they refer to.
//!
//! Never moves an order (`rules::progress`) and never joins one (`api::orders::shown`). Invariant: members of a newer
//! version survive a change.

use std::collections::BTreeMap;

use tenon_plugin::json::{self, Object};
use tenon_plugin::records::{Entry, Page, Search};
use tenon_plugin::{Call, Collection, Index, Stop, time};

use super::common::{self, BY_CREATED, BY_UPDATED};
use crate::api::errors;
use crate::rules::authority::Held;
use crate::rules::order::TEXT_CHARS_MAX;

pub const COLLECTION: &str = "orders";
const PREFIX: &str = "order";

pub const COLLECTIONS: &[Collection] = &[Collection::new(
    COLLECTION,
    &[
        BY_CREATED,
        BY_UPDATED,
        Index::on("by-status", &["status", "@created-at"]),
        Index::on("by-internal-id", &["internal_id", "@created-at"]),
        Index::on("by-customer", &["customer", "@created-at"]),
        Index::on("by-driver", &["driver_assigned", "@created-at"]),
        Index::on("by-seen", &["seen_by", "@created-at"]),
        Index::on("by-number", &["number", "@created-at"]),
        Index::on("by-payload", &["payload", "@created-at"]),
        Index::on("by-latitude", &["at.latitude"]),
    ],
)];

/// What an order keeps for itself: nobody is shown it. `number`: the text of its tracking number. `seen_by`: whose
/// driver's list it is in. `open`: it has not ended. `days`: on which it was created and is scheduled. `stops`: ids of its
/// places; `entities`: of what it carries, and what their numbers say; `at`: where its pickup was when it was last changed.
pub const HIDDEN: [&str; 8] = ["number", "seen_by", "open", "days", "stops", "entities", ENTITY_STATUSES, "at"];

/// The codes of what its entities' numbers say.
pub const ENTITY_STATUSES: &str = "entity_statuses";

/// In `seen_by`: every driver's.
pub const OFFERED: &str = "adhoc";

/// `id` is the public id or the caller's own `internal_id`; of several orders with the latter the newest. What has the form of
/// a public id is one: whoever repeats a deletion must not delete another order that is called so.
pub fn load(call: &Call, id: &str) -> Result<Entry, Stop> {
    if common::is_public_id(PREFIX, id) {
        return call.records(COLLECTION).get(id).ok_or_else(errors::not_found);
    }
    if id.is_empty() || id.contains('\0') || id.chars().nth(TEXT_CHARS_MAX).is_some() {
        return Err(errors::not_found());
    }
    let newest = find(call, &Search::first(1).is("internal_id", id).descending("@created-at"))?;
    newest.entries.into_iter().next().ok_or_else(errors::not_found)
}

/// The id of the payload of an order, by the order's id.
pub fn find_payload(call: &Call, id: &str) -> Result<Option<String>, Stop> {
    let entry = common::is_public_id(PREFIX, id).then(|| call.records(COLLECTION).get(id)).flatten();
    let order = entry.as_ref().map(|entry| json::from_text::<Object>(&entry.body)).transpose()?;
    Ok(order.and_then(|order| text(&order, "payload")))
}

pub fn find(call: &Call, search: &Search) -> Result<Page, Stop> {
    common::find(call, COLLECTION, search)
}

/// Takes an id; what is stored under it comes with [`store`].
pub fn draw(call: &Call) -> Result<String, Stop> {
    let (id, _) = common::insert_drawn(call, COLLECTION, PREFIX, |id| json::to_text(&BTreeMap::from([("id", id)])))?;
    Ok(id)
}

pub fn store(call: &Call, id: &str, order: &Object) -> Result<(), Stop> {
    Ok(common::replace(call, COLLECTION, id, &order.to_text())?)
}

/// The pictures of proofs are the order's as well, by their ids.
pub fn add_files(call: &Call, id: &str, added: Vec<String>) -> Result<(), Stop> {
    if added.is_empty() {
        return Ok(());
    }
    let entry = common::load(call, COLLECTION, PREFIX, id)?;
    let mut order: Object = json::from_text(&entry.body)?;
    let mut files = files(&order);
    files.extend(added);
    order.set("files", &files)?;
    order.set("updated_at", &time::to_text(call.now()))?;
    store(call, id, &order)
}

/// The ids of its pictures, the oldest first.
pub fn files(order: &Object) -> Vec<String> {
    order.read("files").ok().flatten().unwrap_or_default()
}

pub fn delete(call: &Call, id: &str) -> Result<(), Stop> {
    common::delete(call, COLLECTION, id)
}

/// A text of a stored order; `None`: absent, or null.
pub fn text(order: &Object, field: &str) -> Option<String> {
    order.text(field).ok().flatten()
}

/// Whether a flag of a stored order is set.
pub fn flag(order: &Object, field: &str) -> bool {
    order.given(field) == Some("true")
}

/// Whose it is, and whether it is offered.
pub struct Holder {
    driver: Option<String>,
    offered: bool,
}

impl Holder {
    pub fn of(order: &Object) -> Holder {
        let offered = ["adhoc", "dispatched", "open"].iter().all(|name| flag(order, name));
        Holder { driver: text(order, "driver_assigned"), offered }
    }

    pub fn held(&self) -> Held<'_> {
        Held { driver: self.driver.as_deref(), offered: self.offered }
    }
}
