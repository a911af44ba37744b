//! Tracking numbers as they are stored: the number, its pictures, and how what it names is getting on (research/fleet 1.3).
//!
//! A number knows the ids of its statuses, so that a page of orders shows theirs in one more call of the host, what the
//! same call wrote included. Invariants: a number says what the last of its statuses says; its pictures are drawn once.

pub mod statuses;

use std::collections::BTreeMap;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde::Serialize;
use tenon_plugin::json::{self, Object};
use tenon_plugin::records::{Entry, RecordRefusal, Search};
use tenon_plugin::{Call, Collection, Index, Stop, time};

use super::{DRAWS_MAX, is_public_id};
use crate::api::errors;
use crate::rules::place::Place;
use crate::rules::tracking::{NUMBERS_MAX, NewNumber, Report, STATUSES_MAX, images, is_number};

pub use statuses::STATUSES;

pub const NUMBERS: &str = "tracking-numbers";
const BY_NUMBER: &str = "by-number";

pub const NUMBERS_COLLECTION: Collection = Collection::new(
    NUMBERS,
    &[
        Index::unique(BY_NUMBER, &["tracking_number"]),
        Index::on("by-created", &["@created-at"]),
        Index::on("by-subject", &["subject", "@created-at"]),
    ],
);

/// Stored, and not shown: the ids of its statuses, the oldest first.
const STATUS_IDS: &str = "statuses";
/// Stored, and not shown: whether its subject was given it when it was made, and shows it.
const BELONGS: &str = "belongs";

/// A number that is new. The texts are as they are shown.
pub struct IssuedNumber {
    pub id: String,
    pub number: String,
    pub body: String,
    /// Its first status.
    pub status: String,
}

/// Whether a number came with its subject, or was asked for besides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Issued {
    WithSubject,
    Besides,
}

#[derive(Serialize)]
struct NumberText<'a> {
    id: &'a str,
    tracking_number: &'a str,
    subject: &'a str,
    region: &'a str,
    status: Option<&'a str>,
    status_code: Option<&'a str>,
    qr_code: String,
    barcode: String,
    /// A page for everybody would need a name that nobody guesses; a number can be guessed.
    url: Option<&'a str>,
    #[serde(rename = "type")]
    kind: &'a str,
    updated_at: &'a str,
    created_at: &'a str,
    statuses: [&'a str; 0],
    belongs: bool,
}

/// For what is being made: an order, a stop, an entity. `place` is where it begins.
pub fn issue(call: &Call, owner: &str, place: &Place, first: &Report) -> Result<IssuedNumber, Stop> {
    insert(call, &NewNumber::at(owner, place), Issued::WithSubject, &first.clone().at(place))
}

/// Draws id and number.
pub fn insert(call: &Call, number: &NewNumber, issued: Issued, first: &Report) -> Result<IssuedNumber, Stop> {
    for _ in 0..DRAWS_MAX {
        let id = call.public_id("track");
        let random = call.random(8).into_iter().fold(0u64, |sum, byte| sum << 8 | u64::from(byte));
        let text = number.text(call.organization(), random);
        match call.records(NUMBERS).insert(&id, &number_text(call, (&id, &text), number, issued)?) {
            Ok(()) => {
                let status = add(call, &id, first)?;
                let body = shown(&load(call, &id)?.body)?;
                return Ok(IssuedNumber { id, number: text, body, status });
            }
            Err(RecordRefusal::AlreadyExists | RecordRefusal::NotUnique(_)) => {}
            Err(refusal) => return Err(refusal.into()),
        }
    }
    Err(Stop::fault("no free tracking number was drawn"))
}

fn number_text(call: &Call, (id, text): (&str, &str), number: &NewNumber, issued: Issued) -> Result<String, Stop> {
    let now = time::to_text(call.now());
    json::to_text(&NumberText {
        id,
        tracking_number: text,
        subject: &number.owner,
        region: &number.region,
        status: None,
        status_code: None,
        qr_code: as_base64(images::qr_code(text))?,
        barcode: as_base64(images::barcode(text))?,
        url: None,
        kind: number.kind,
        updated_at: &now,
        created_at: &now,
        statuses: [],
        belongs: issued == Issued::WithSubject,
    })
}

fn as_base64(picture: Option<images::Picture>) -> Result<String, Stop> {
    let file = picture.and_then(|picture| picture.to_png()).ok_or_else(|| Stop::fault("a number was not drawn"))?;
    Ok(BASE64_STANDARD.encode(file))
}

/// Adds a status and gives it as it is shown. Of a number that has all that it may have, the oldest one goes: what
/// moves an order is never stopped by that.
pub fn add(call: &Call, number_id: &str, report: &Report) -> Result<String, Stop> {
    let entry = load(call, number_id)?;
    let number: Object = json::from_text(&entry.body)?;
    let mut ids = status_ids(&number);
    while ids.len() >= STATUSES_MAX {
        call.records(STATUSES).delete(&ids.remove(0))?;
    }
    let (id, status) = statuses::insert(call, (number_id, &subject_of(&entry)?), report)?;
    ids.push(id);
    keep(call, (number_id, number), &ids)?;
    Ok(status)
}

/// Writes the number with these statuses: it says what the last of them says.
pub fn keep(call: &Call, (id, mut number): (&str, Object), ids: &[String]) -> Result<(), Stop> {
    let last = ids.last().and_then(|last| call.records(STATUSES).get(last));
    let last: Object = last.as_ref().map_or(Ok(Object::default()), |last| json::from_text(&last.body))?;
    number.set_raw("status", last.raw("status").unwrap_or("null").to_owned());
    number.set_raw("status_code", last.raw("code").unwrap_or("null").to_owned());
    number.set("updated_at", &time::to_text(call.now()))?;
    number.set(STATUS_IDS, ids)?;
    Ok(call.records(NUMBERS).replace(id, &number.to_text())?)
}

/// By its id.
pub fn load(call: &Call, id: &str) -> Result<Entry, Stop> {
    let entry = is_public_id("track", id).then(|| call.records(NUMBERS).get(id)).flatten();
    entry.ok_or_else(errors::not_found)
}

/// By its id or by the number itself.
pub fn find(call: &Call, named: &str) -> Result<Entry, Stop> {
    if !is_number(named) {
        return load(call, named);
    }
    let page = call.records(NUMBERS).find(&Search::first(1).is("tracking_number", named))?;
    page.entries.into_iter().next().ok_or_else(errors::not_found)
}

/// As they are shown, by id; what does not exist is missing.
pub fn load_many(call: &Call, ids: &[String]) -> Result<BTreeMap<String, String>, Stop> {
    let entries = call.records(NUMBERS).get_many(ids);
    entries.into_iter().flatten().map(|entry| Ok((entry.id, shown(&entry.body)?))).collect()
}

/// The statuses of several numbers as they are shown, by the number's id, the oldest first.
pub fn statuses_of(call: &Call, numbers: &[String]) -> Result<BTreeMap<String, Vec<String>>, Stop> {
    let mut wanted = Vec::new();
    for entry in call.records(NUMBERS).get_many(numbers).into_iter().flatten() {
        let number: Object = json::from_text(&entry.body)?;
        wanted.extend(status_ids(&number).into_iter().map(|status| (entry.id.clone(), status)));
    }
    statuses::load_of_numbers(call, &wanted)
}

/// The number as a caller sees it.
pub fn shown(body: &str) -> Result<String, Stop> {
    let mut number: Object = json::from_text(body)?;
    number.remove(STATUS_IDS);
    number.remove(BELONGS);
    Ok(number.to_text())
}

/// The ids of its statuses, the oldest first.
pub fn status_ids(number: &Object) -> Vec<String> {
    number.read(STATUS_IDS).ok().flatten().unwrap_or_default()
}

/// Whether its subject shows it.
pub fn belongs(number: &Object) -> bool {
    number.boolean(BELONGS) == Ok(Some(true))
}

/// The id of what the number names.
pub fn subject_of(entry: &Entry) -> Result<String, Stop> {
    let number: Object = json::from_text(&entry.body)?;
    number.text("subject").ok().flatten().ok_or_else(|| Stop::fault("a tracking number names nothing"))
}

/// How many numbers name it, up to one more than there may be. Whoever else asks waits for the commit.
pub fn count_of_subject(call: &Call, subject: &str) -> Result<usize, Stop> {
    Ok(of_subject(call, subject)?.len())
}

/// With its statuses.
pub fn delete(call: &Call, entry: &Entry) -> Result<(), Stop> {
    let number: Object = json::from_text(&entry.body)?;
    for status in status_ids(&number) {
        call.records(STATUSES).delete(&status)?;
    }
    Ok(call.records(NUMBERS).delete(&entry.id)?)
}

/// Every number of an order, a stop or an entity that goes away, with their statuses.
pub fn delete_of_subject(call: &Call, subject: &str) -> Result<(), Stop> {
    of_subject(call, subject)?.iter().try_for_each(|entry| delete(call, entry))
}

fn of_subject(call: &Call, subject: &str) -> Result<Vec<Entry>, Stop> {
    call.guard(&["tracking-numbers ", subject].concat());
    let most = u32::try_from(NUMBERS_MAX + 1).unwrap_or(u32::MAX);
    let search = Search::first(most).is("subject", subject).ascending("@created-at");
    Ok(call.records(NUMBERS).find(&search)?.entries)
}
