//! Tracking numbers: create, list, read, delete, and what a scanned code names (research/fleet 1.3).
//!
//! `{id}` is the id of a number or the number itself. An organization manages them; a driver learns from a code what it
//! names, where he may see that.

mod scanned;
#[cfg(test)]
mod tests;

use tenon_plugin::json::{self, Object};
use tenon_plugin::{Answer, Call, EventType, Outcome, Route, Stop, delete, get, post};

use super::form::Form;
use super::lists::{self, Filter, Listing};
use super::{actor, deleted};
use crate::records::common::is_public_id;
use crate::records::files::ADDRESS;
use crate::records::tracking::{self, Issued, NUMBERS, statuses};
use crate::records::{entities, orders};
use crate::rules::invalid::Invalid;
use crate::rules::refusal::Refusal;
use crate::rules::tracking::{AskedNumber, NUMBERS_MAX, NewNumber, Report, TEXT_CHARS_MAX, judge_number, status_code};

pub const ROUTES: &[Route] = &[
    post("/v1/tracking-numbers", "create-tracking-number", create).headers(lists::HEADERS),
    get("/v1/tracking-numbers", "list-tracking-numbers", list).headers(lists::HEADERS),
    post("/v1/tracking-numbers/from-qr", "find-by-qr", scanned::find).headers(lists::HEADERS).context(ADDRESS),
    get("/v1/tracking-numbers/{id}", "read-tracking-number", read),
    delete("/v1/tracking-numbers/{id}", "delete-tracking-number", remove),
];

const NUMBER: &str = r#"{"type":"object","required":["id","tracking_number","subject","status","status_code"],"properties":{"id":{"type":"string"},"tracking_number":{"type":"string"},"subject":{"type":"string"},"region":{"type":"string"},"status":{"type":["string","null"]},"status_code":{"type":["string","null"]},"qr_code":{"type":"string"},"barcode":{"type":"string"},"url":{"type":["string","null"]},"type":{"type":"string"},"updated_at":{"type":"string"},"created_at":{"type":"string"}}}"#;
const STATUS: &str = r#"{"type":"object","required":["id","status","code","tracking_number","subject"],"properties":{"id":{"type":"string"},"status":{"type":"string"},"details":{"type":"string"},"code":{"type":"string"},"complete":{"type":"boolean"},"tracking_number":{"type":"string"},"subject":{"type":"string"},"city":{"type":["string","null"]},"province":{"type":["string","null"]},"postal_code":{"type":["string","null"]},"country":{"type":["string","null"]},"location":{"type":"object"},"updated_at":{"type":"string"},"created_at":{"type":"string"}}}"#;

pub const EVENT_TYPES: &[EventType] = &[
    EventType::new(
        tracking::CREATED,
        "An order or an entity got one more tracking number, besides the one that it came with.",
        NUMBER,
    ),
    EventType::new(tracking::UPDATED, "What a tracking number names got on: it has another status.", NUMBER),
    EventType::new(tracking::DELETED, "A tracking number was deleted by itself, with its statuses.", NUMBER),
    EventType::new(statuses::CREATED, "A tracking number got a status, of an order's progress or of a caller.", STATUS),
    EventType::new(statuses::UPDATED, "A tracking status was changed.", STATUS),
    EventType::new(statuses::DELETED, "A tracking status was deleted by itself.", STATUS),
];

const LISTING: Listing = Listing {
    collection: NUMBERS,
    filters: &[
        Filter::word("tracking_number", "tracking_number"),
        Filter::word("owner", "subject"),
        Filter::word("subject", "subject"),
        Filter::word("region", "region"),
        Filter::word("type", "type"),
        Filter::text("status", "status"),
        Filter::word("status_code", "status_code"),
    ],
    sorts: &[],
    own: &[],
};

pub fn create(call: &Call) -> Outcome {
    actor::manage(call)?;
    let mut form = Form::of(call)?;
    let asked = AskedNumber {
        region: form.text("region", TEXT_CHARS_MAX),
        owner: form.text("owner", TEXT_CHARS_MAX),
        kind: form.text("type", TEXT_CHARS_MAX),
    };
    let status = form.text("status", TEXT_CHARS_MAX).filter(|status| !status.trim().is_empty());
    let (number, unknown) = form.settle(judge_number(asked))?;
    let owner = owner(call, &number.owner)?;
    tracking::guard(call, &owner);
    if tracking::of_subject(call, &owner)?.len() >= NUMBERS_MAX {
        let why = ["it has ", &NUMBERS_MAX.to_string(), " tracking numbers already"].concat();
        return Err(Invalid::NotAccepted { field: "owner", why }.into());
    }
    let issued = tracking::insert(call, &NewNumber { owner, ..number }, Issued::Besides, &first(status))?;
    Ok(unknown.tell(Answer::created(issued.body)))
}

/// The id of an order, which may be asked for by the caller's own id of it, or of an entity.
fn owner(call: &Call, named: &str) -> Result<String, Stop> {
    let entry = if is_public_id("entity", named) { entities::load(call, named) } else { orders::load(call, named) };
    Ok(entry?.id)
}

fn first(status: Option<String>) -> Report {
    let title = status.unwrap_or_else(|| "Created".to_owned());
    Report {
        code: status_code(&title),
        title: crate::rules::flow::title_of(&title),
        details: "The tracking number was created.".to_owned(),
        ..Report::default()
    }
}

pub fn list(call: &Call) -> Outcome {
    actor::manage(call)?;
    lists::list_as(call, &LISTING, |entry| tracking::shown(&entry.body))
}

pub fn read(call: &Call) -> Outcome {
    actor::manage(call)?;
    let entry = tracking::find(call, call.parameter("id"))?;
    Ok(Answer::ok(tracking::shown(&entry.body)?))
}

/// What its subject shows stays as long as the subject.
pub fn remove(call: &Call) -> Outcome {
    actor::manage(call)?;
    let entry = tracking::find(call, call.parameter("id"))?;
    let number: Object = json::from_text(&entry.body)?;
    if tracking::belongs(&number) {
        return Err(Refusal::NumberBelongs.into());
    }
    tracking::guard(call, &tracking::subject_of(&entry.body)?);
    tracking::delete(call, &entry)?;
    deleted::answer(call, &entry.id, "tracking_number")
}
