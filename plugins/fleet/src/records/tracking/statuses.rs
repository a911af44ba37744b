//! Tracking statuses as they are stored: what happened to what a tracking number names, and where.
//!
//! Never touches the number: whoever adds, changes or removes a status keeps it in step (`tracking::keep`).

use std::collections::BTreeMap;

use serde::Serialize;
use tenon_plugin::records::{Entry, RecordRefusal};
use tenon_plugin::{Call, Collection, Index, Stop, json, time};

use crate::api::errors;
use crate::records::{DRAWS_MAX, Point, is_public_id};
use crate::rules::tracking::{Report, status_code};

pub const STATUSES: &str = "tracking-statuses";

pub const STATUSES_COLLECTION: Collection = Collection::new(
    STATUSES,
    &[
        Index::on("by-created", &["@created-at"]),
        Index::on("by-number", &["tracking_number", "@created-at"]),
        Index::on("by-subject", &["subject", "@created-at"]),
    ],
);

/// Ids of one call of the host.
const IDS_MAX: usize = 1_000;

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

/// Draws its id; gives id and text. `number` is its id and its subject.
pub fn insert(call: &Call, number: (&str, &str), report: &Report) -> Result<(String, String), Stop> {
    for _ in 0..DRAWS_MAX {
        let id = call.public_id("status");
        let body = status_text(call, &id, number, report)?;
        match call.records(STATUSES).insert(&id, &body) {
            Ok(()) => return Ok((id, body)),
            Err(RecordRefusal::AlreadyExists) => {}
            Err(refusal) => return Err(refusal.into()),
        }
    }
    Err(Stop::fault("no free status id was drawn"))
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
    let entry = is_public_id("status", id).then(|| call.records(STATUSES).get(id)).flatten();
    entry.ok_or_else(errors::not_found)
}

/// `wanted`: pairs of a number's id and a status's id, in the order that they shall have.
pub fn load_of_numbers(call: &Call, wanted: &[(String, String)]) -> Result<BTreeMap<String, Vec<String>>, Stop> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for part in wanted.chunks(IDS_MAX) {
        let ids: Vec<String> = part.iter().map(|(_, status)| status.clone()).collect();
        let entries = call.records(STATUSES).get_many(&ids);
        for ((number, _), entry) in part.iter().zip(entries) {
            found.entry(number.clone()).or_default().extend(entry.map(|entry| entry.body));
        }
    }
    Ok(found)
}
