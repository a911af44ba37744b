//! Tracking numbers as they are stored: the number, its pictures, and how what it names is getting on (research/fleet 1.3).
//!
//! A number knows the ids of its statuses, so that a page of orders shows theirs in one more call of the host, what the
//! same call wrote included. Invariants: a number says what the last of its statuses says; its pictures are drawn once;
//! whatever changes here is told as an event, but for what comes and goes with its subject, which is told of.

pub mod statuses;
mod stored;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use tenon_plugin::json::{self, Object};
use tenon_plugin::records::{Entry, RecordRefusal, Search};
use tenon_plugin::{Call, Collection, Index, Stop, time};

use super::common::{self, BY_CREATED, BY_UPDATED, DRAWS_MAX};
use crate::api::{errors, events};
use crate::rules::place::Place;
use crate::rules::tracking::{NUMBERS_MAX, NewNumber, Report, STATUSES_MAX, is_number};

pub use statuses::STATUSES;
pub use stored::{belongs, shown, status_ids, subject_of};

pub const NUMBERS: &str = "tracking-numbers";
const PREFIX: &str = "track";
const BY_NUMBER: &str = "by-number";

pub const CREATED: &str = "tracking_number.created";
pub const UPDATED: &str = "tracking_number.updated";
pub const DELETED: &str = "tracking_number.deleted";

pub const COLLECTIONS: &[Collection] = &[
    Collection::new(
        NUMBERS,
        &[
            BY_CREATED,
            BY_UPDATED,
            Index::unique(BY_NUMBER, &["tracking_number"]),
            Index::on("by-subject", &["subject", "@created-at"]),
        ],
    ),
    statuses::COLLECTION,
];

/// A number that is new. The texts are as they are shown.
pub struct IssuedNumber {
    pub id: String,
    pub number: String,
    pub body: String,
    /// Its first status.
    pub status: String,
}

/// Whether a number came with its subject, which shows it, or was asked for besides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Issued {
    WithSubject,
    Besides,
}

/// For what is being made: an order, a stop, an entity. `place` is where it begins. Nothing is told by itself.
pub fn issue(call: &Call, owner: &str, place: &Place, first: &Report) -> Result<IssuedNumber, Stop> {
    insert(call, &NewNumber::at(owner, place), Issued::WithSubject, &first.clone().at(place))
}

/// Draws id and number.
pub fn insert(call: &Call, number: &NewNumber, issued: Issued, first: &Report) -> Result<IssuedNumber, Stop> {
    for _ in 0..DRAWS_MAX {
        let id = call.public_id(PREFIX);
        let random = call.random(8).into_iter().fold(0u64, |sum, byte| sum << 8 | u64::from(byte));
        let text = number.text(call.organization(), random);
        let body = stored::number_text(call, (&id, &text), number, issued)?;
        match call.records(NUMBERS).insert(&id, &body) {
            Ok(()) => {
                let (status, body) = append(call, &body, first)?;
                let made = IssuedNumber { id, number: text, body: shown(&body)?, status: status.1 };
                if issued == Issued::Besides {
                    events::emit(call, CREATED, &made.id, &made.body, &[])?;
                    events::emit(call, statuses::CREATED, &status.0, &made.status, &[])?;
                }
                return Ok(made);
            }
            Err(RecordRefusal::AlreadyExists | RecordRefusal::NotUnique(_)) => {}
            Err(refusal) => return Err(common::refused(refusal).into()),
        }
    }
    Err(Stop::fault("no free tracking number was drawn"))
}

/// Adds a status and gives it as it is shown. Of a number that has all that it may have, the oldest one goes: what
/// moves an order is never stopped by that.
pub fn add(call: &Call, number_id: &str, report: &Report) -> Result<String, Stop> {
    let ((id, status), body) = append(call, &load(call, number_id)?.body, report)?;
    events::emit(call, statuses::CREATED, &id, &status, &[])?;
    tell(call, UPDATED, number_id, &body)?;
    Ok(status)
}

/// Id and text of the status, and the text of the number.
fn append(call: &Call, number: &str, report: &Report) -> Result<((String, String), String), Stop> {
    let number: Object = json::from_text(number)?;
    let mut ids = status_ids(&number);
    while ids.len() >= STATUSES_MAX {
        statuses::delete(call, &ids.remove(0))?;
    }
    let status = statuses::insert(call, &number, report)?;
    ids.push(status.0.clone());
    Ok((status, write(call, number, &ids)?))
}

/// Takes note of what became of its statuses, of which it has these from now on.
pub fn follow(call: &Call, number: &Entry, ids: &[String]) -> Result<(), Stop> {
    let body = write(call, json::from_text(&number.body)?, ids)?;
    tell(call, UPDATED, &number.id, &body)
}

/// It says what the last of its statuses says. Gives its text.
fn write(call: &Call, mut number: Object, ids: &[String]) -> Result<String, Stop> {
    let last = ids.last().map(|last| statuses::load(call, last)).transpose()?;
    let last: Object = last.as_ref().map_or(Ok(Object::default()), |last| json::from_text(&last.body))?;
    number.set_raw("status", last.raw("status").unwrap_or("null").to_owned());
    number.set_raw("status_code", last.raw("code").unwrap_or("null").to_owned());
    number.set("updated_at", &time::to_text(call.now()))?;
    stored::set_status_ids(&mut number, ids)?;
    let body = number.to_text();
    common::replace(call, NUMBERS, &stored::text_of(&number, "id")?, &body)?;
    Ok(body)
}

fn tell(call: &Call, event_type: &'static str, id: &str, stored: &str) -> Result<(), Stop> {
    events::emit(call, event_type, id, &shown(stored)?, &[])
}

/// By its id.
pub fn load(call: &Call, id: &str) -> Result<Entry, Stop> {
    common::load(call, NUMBERS, PREFIX, id)
}

/// By its id or by the number itself.
pub fn find(call: &Call, named: &str) -> Result<Entry, Stop> {
    if is_number(named) { find_number(call, named)?.ok_or_else(errors::not_found) } else { load(call, named) }
}

/// By the number itself, which is one as far as its form goes.
pub fn find_number(call: &Call, number: &str) -> Result<Option<Entry>, Stop> {
    let page = common::find(call, NUMBERS, &Search::first(1).is("tracking_number", number))?;
    Ok(page.entries.into_iter().next())
}

/// As they are shown, by id; what does not exist is missing.
pub fn load_many(call: &Call, ids: &[String]) -> Result<BTreeMap<String, String>, Stop> {
    let found = common::load_many(call, NUMBERS, PREFIX, ids);
    found.into_iter().map(|(id, body)| Ok((id, shown(&body)?))).collect()
}

/// Numbers as they are shown, and the statuses of some of them, the oldest first: one look at each collection.
pub fn load_with_statuses(call: &Call, ids: &[String], followed: &[String]) -> Result<Followed, Stop> {
    let wanted: Vec<String> = ids.iter().chain(followed).cloned().collect();
    let (mut numbers, mut statuses) = (BTreeMap::new(), Vec::new());
    for (id, body) in common::load_many(call, NUMBERS, PREFIX, &wanted) {
        if followed.contains(&id) {
            let of_number = status_ids(&json::from_text(&body)?);
            statuses.extend(of_number.into_iter().map(|status| (id.clone(), status)));
        }
        numbers.insert(id, shown(&body)?);
    }
    Ok(Followed { numbers, statuses: statuses::of_numbers(call, statuses) })
}

/// JSON texts by the ids of numbers.
#[derive(Default)]
pub struct Followed {
    pub numbers: BTreeMap<String, String>,
    pub statuses: BTreeMap<String, Vec<String>>,
}

/// The number that an order or an entity came with.
pub fn find_of_subject(call: &Call, subject: &str) -> Result<Entry, Stop> {
    for entry in of_subject(call, subject)? {
        if belongs(&json::from_text(&entry.body)?) {
            return Ok(entry);
        }
    }
    Err(errors::not_found())
}

/// All numbers that name it, the oldest first.
pub fn of_subject(call: &Call, subject: &str) -> Result<Vec<Entry>, Stop> {
    let most = u32::try_from(NUMBERS_MAX).unwrap_or(u32::MAX);
    let search = Search::first(most).is("subject", subject).ascending("@created-at");
    let mut page = common::find(call, NUMBERS, &search)?;
    let mut entries = page.entries;
    // It may have more than is allowed today.
    while let Some(next) = page.next {
        page = common::find(call, NUMBERS, &search.clone().after(next))?;
        entries.append(&mut page.entries);
    }
    Ok(entries)
}

/// Numbers of one subject are added and deleted one call after the other, so that they can be counted.
pub fn guard(call: &Call, subject: &str) {
    call.guard(&["tracking-numbers ", subject].concat());
}

/// With its statuses, of which nothing is told by themselves.
pub fn delete(call: &Call, entry: &Entry) -> Result<(), Stop> {
    forget(call, entry)?;
    tell(call, DELETED, &entry.id, &entry.body)
}

/// Every number of an order, a stop or an entity that goes away, with their statuses; nothing is told by itself.
pub fn delete_of_subject(call: &Call, subject: &str) -> Result<(), Stop> {
    guard(call, subject);
    of_subject(call, subject)?.iter().try_for_each(|entry| forget(call, entry))
}

fn forget(call: &Call, entry: &Entry) -> Result<(), Stop> {
    for status in status_ids(&json::from_text(&entry.body)?) {
        statuses::forget(call, &status)?;
    }
    common::delete(call, NUMBERS, &entry.id)
}
