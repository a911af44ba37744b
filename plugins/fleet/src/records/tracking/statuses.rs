//! Tracking statuses as they are stored, which is as they are shown: what happened to what a tracking number names, and
//! where.
//!
//! Never touches the number: whoever adds, changes or removes a status keeps it in step (`tracking::follow`).

use std::collections::BTreeMap;

use serde::Serialize;
use tenon_plugin::json::{self, Object};
use tenon_plugin::records::Entry;
use tenon_plugin::{Call, Collection, Index, Stop, time};

use super::stored::text_of;
use crate::api::events;
use crate::records::common::{self, BY_CREATED, BY_UPDATED};
use crate::records::shapes::Point;
use crate::rules::tracking::{Report, status_code};

pub const STATUSES: &str = "tracking-statuses";
const PREFIX: &str = "status";

pub const CREATED: &str = "tracking_status.created";
pub const UPDATED: &str = "tracking_status.updated";
pub const DELETED: &str = "tracking_status.deleted";

pub const COLLECTION: Collection = Collection::new(
    STATUSES,
    &[
        BY_CREATED,
        BY_UPDATED,
        Index::on("by-number", &["tracking_number", "@created-at"]),
        Index::on("by-subject", &["subject", "@created-at"]),
    ],
);

#[derive(Serialize)]
struct StatusText<'a> {
    id: &'a str,
    status: &'a str,
    details: &'a str,
    code: &'a str,
    complete: bool,
    /// Its id.
    tracking_number: &'a str,
    /// The id of what the number names.
    subject: &'a str,
    city: Option<&'a str>,
    province: Option<&'a str>,
    postal_code: Option<&'a str>,
    country: Option<&'a str>,
    location: Point,
    updated_at: &'a str,
    created_at: &'a str,
}

/// Draws its id; gives id and text. Whoever adds it tells of it.
pub fn insert(call: &Call, number: &Object, report: &Report) -> Result<(String, String), Stop> {
    let (number, subject) = (text_of(number, "id")?, text_of(number, "subject")?);
    let text = |id: &str| status_text(call, id, (&number, &subject), report);
    Ok(common::insert_drawn(call, STATUSES, PREFIX, text)?)
}

fn status_text(call: &Call, id: &str, (number, subject): (&str, &str), report: &Report) -> Result<String, Stop> {
    let now = time::to_text(call.now());
    json::to_text(&StatusText {
        id,
        status: &report.title,
        details: &report.details,
        code: &status_code(&report.code),
        complete: report.complete,
        tracking_number: number,
        subject,
        city: report.detail("city"),
        province: report.detail("province"),
        postal_code: report.detail("postal_code"),
        country: report.detail("country"),
        location: Point::of(report.position),
        updated_at: &now,
        created_at: &now,
    })
}

pub fn load(call: &Call, id: &str) -> Result<Entry, Stop> {
    common::load(call, STATUSES, PREFIX, id)
}

/// `status` is its new text, but for when it was changed, which is now. Gives the text.
pub fn replace(call: &Call, id: &str, mut status: Object) -> Result<String, Stop> {
    status.set("updated_at", &time::to_text(call.now()))?;
    let body = status.to_text();
    common::replace(call, STATUSES, id, &body)?;
    events::emit(call, UPDATED, id, &body, &[])?;
    Ok(body)
}

pub fn delete(call: &Call, id: &str) -> Result<(), Stop> {
    let entry = load(call, id)?;
    forget(call, id)?;
    events::emit(call, DELETED, id, &entry.body, &[])
}

/// Deletes it without a word: its number goes as well.
pub fn forget(call: &Call, id: &str) -> Result<(), Stop> {
    common::delete(call, STATUSES, id)
}

/// Their texts, in the order of `ids`.
pub fn load_many(call: &Call, ids: &[String]) -> Vec<String> {
    let mut found = common::load_many(call, STATUSES, PREFIX, ids);
    ids.iter().filter_map(|id| found.remove(id)).collect()
}

/// `wanted`: pairs of a number's id and a status's id, in the order that the texts of a number shall have.
pub fn of_numbers(call: &Call, wanted: Vec<(String, String)>) -> BTreeMap<String, Vec<String>> {
    let ids: Vec<String> = wanted.iter().map(|(_, status)| status.clone()).collect();
    let mut found = common::load_many(call, STATUSES, PREFIX, &ids);
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (number, status) in wanted {
        texts.entry(number).or_default().extend(found.remove(&status));
    }
    texts
}
