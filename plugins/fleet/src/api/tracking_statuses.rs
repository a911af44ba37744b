//! Tracking statuses: create, list, read, update, delete (research/fleet 1.3). Only an organization manages them; those of an
//! order's progress come by themselves.

#[cfg(test)]
mod tests;

use tenon_plugin::json::{self, Object};
use tenon_plugin::records::Entry;
use tenon_plugin::{Answer, Call, Outcome, Route, Stop, delete, get, patch, post, put};

use super::form::Form;
use super::lists::{self, Asked, Filter, Listing, single};
use super::orders::saying;
use super::places::mixed;
use super::{actor, deleted};
use crate::records::common::is_public_id;
use crate::records::orders;
use crate::records::shapes::Point;
use crate::records::tracking::{self, STATUSES, status_ids, statuses};
use crate::rules::invalid::Invalid;
use crate::rules::location::Position;
use crate::rules::tracking::{
    AskedStatus, NewStatus, Repeats, Report, STATUSES_MAX, TEXT_CHARS_MAX, Tracked, check_repeat, is_number,
    judge_status,
};

pub const ROUTES: &[Route] = &[
    post("/v1/tracking-statuses", "create-tracking-status", create).headers(lists::HEADERS),
    get("/v1/tracking-statuses", "list-tracking-statuses", list).headers(lists::HEADERS),
    get("/v1/tracking-statuses/{id}", "read-tracking-status", read),
    put("/v1/tracking-statuses/{id}", "update-tracking-status", update).headers(lists::HEADERS),
    patch("/v1/tracking-statuses/{id}", "patch-tracking-status", update).headers(lists::HEADERS),
    delete("/v1/tracking-statuses/{id}", "delete-tracking-status", remove),
];

const LISTING: Listing = Listing {
    collection: STATUSES,
    filters: &[
        Filter::word("order", "subject"),
        Filter::word("entity", "subject"),
        Filter::word("subject", "subject"),
        Filter::text("status", "status"),
        Filter::word("code", "code"),
        Filter::boolean("complete", "complete"),
        Filter::text("city", "city"),
        Filter::text("province", "province"),
        Filter::word("postal_code", "postal_code"),
        Filter::word("country", "country"),
    ],
    sorts: &[],
    own: &[NUMBER],
};

const NUMBER: &str = "tracking_number";
/// Texts of where it happened that nobody judges but as texts.
const ADDRESS: [&str; 3] = ["city", "province", "postal_code"];

pub fn create(call: &Call) -> Outcome {
    actor::manage(call)?;
    let mut form = Form::of(call)?;
    let asked = asked(&mut form, &Object::default())?;
    let address = ADDRESS.map(|name| (name, form.text(name, TEXT_CHARS_MAX)));
    let repeats = repeats(&mut form);
    let (status, unknown) = form.settle(judge_status(asked))?;
    let number = number_of(call, &status.of)?;
    let ids = status_ids(&json::from_text(&number.body)?);
    check_repeat(titles(call, &ids)?.iter().map(String::as_str), &status.status, repeats)?;
    if ids.len() >= STATUSES_MAX {
        let why = ["it has ", &STATUSES_MAX.to_string(), " statuses already"].concat();
        return Err(Invalid::NotAccepted { field: NUMBER, why }.into());
    }
    let address = address.into_iter().chain([("country", status.country)]);
    let report = Report {
        code: status.code,
        title: status.status,
        details: status.details,
        complete: false,
        position: Some(status.position),
        address: address.filter_map(|(name, text)| Some((name, text.filter(|text| !text.is_empty())?))).collect(),
    };
    let body = tracking::add(call, &number.id, &report)?;
    saying::note(call, &number)?;
    Ok(unknown.tell(Answer::created(body)))
}

/// What is not said is as it was.
fn asked(form: &mut Form, before: &Object) -> Result<AskedStatus, Stop> {
    let was = |field: &str| before.text(field).ok().flatten();
    let position = match (location(form)?, before.given("location")) {
        (None, Some(location)) => Some(mixed::position("location", location)?),
        (said, _) => said,
    };
    Ok(AskedStatus {
        tracking_number: form.text(NUMBER, TEXT_CHARS_MAX).or_else(|| was(NUMBER)),
        order: form.text("order", TEXT_CHARS_MAX),
        status: form.text_change("status").over(was("status")),
        code: form.text_change("code").over(was("code")),
        details: form.text_change("details").over(was("details")),
        position,
        country: form.text_change("country").over(was("country")).filter(|country| !country.is_empty()),
    })
}

/// `location` in any form, or `latitude` and `longitude`.
fn location(form: &mut Form) -> Result<Option<Position>, Stop> {
    let (latitude, longitude) = (form.number("latitude"), form.number("longitude"));
    if let Some(value) = form.given("location") {
        return mixed::position("location", value).map(Some);
    }
    let (field, with) = match (latitude, longitude) {
        (Some(latitude), Some(longitude)) => return Ok(Some(Position::new(latitude, longitude)?)),
        (None, None) => return Ok(None),
        (Some(_), None) => ("longitude", "latitude"),
        (None, Some(_)) => ("latitude", "longitude"),
    };
    Err(Invalid::RequiredWith { field, with }.into())
}

fn repeats(form: &mut Form) -> Repeats {
    if form.boolean("duplicate") == Some(true) { Repeats::Allowed } else { Repeats::Refused }
}

/// The number that the status is of: of an order the one that the order shows.
fn number_of(call: &Call, tracked: &Tracked) -> Result<Entry, Stop> {
    match tracked {
        Tracked::Number(named) => tracking::find(call, named),
        Tracked::Order(named) => tracking::find_of_subject(call, &orders::load(call, named)?.id),
    }
}

/// What the statuses say.
fn titles(call: &Call, ids: &[String]) -> Result<Vec<String>, Stop> {
    let title = |text: &String| {
        let status: Object = json::from_text(text)?;
        Ok(status.text("status").ok().flatten().unwrap_or_default())
    };
    statuses::load_many(call, ids).iter().map(title).collect()
}

/// `tracking_number` is one's id or the number itself.
pub fn list(call: &Call) -> Outcome {
    actor::manage(call)?;
    let mut asked = Asked::of(call, &LISTING)?;
    if let Some(named) = single(call, NUMBER)? {
        let id = match is_number(named) {
            true => tracking::find_number(call, named)?.map(|entry| entry.id),
            false => is_public_id("track", named).then(|| named.to_owned()),
        };
        // No status is of a number without an id.
        asked.narrow_to(NUMBER, &id.unwrap_or_default());
    }
    let found = asked.find(call)?;
    let shown: Vec<String> = found.entries.iter().map(|entry| entry.body.clone()).collect();
    found.answer(call, &shown)
}

pub fn read(call: &Call) -> Outcome {
    actor::manage(call)?;
    Ok(Answer::ok(statuses::load(call, call.parameter("id"))?.body))
}

pub fn update(call: &Call) -> Outcome {
    actor::manage(call)?;
    let entry = statuses::load(call, call.parameter("id"))?;
    let mut stored: Object = json::from_text(&entry.body)?;
    let mut form = Form::of(call)?;
    form.pass_over(&["id", "subject", "complete", "created_at", "updated_at"]);
    let asked = asked(&mut form, &stored)?;
    if asked.order.is_some() || asked.tracking_number != stored.text(NUMBER).ok().flatten() {
        form.refuse(Invalid::ReadOnly(if asked.order.is_some() { "order" } else { NUMBER }));
    }
    let address = ADDRESS.map(|name| (name, form.has(name), form.text(name, TEXT_CHARS_MAX)));
    let said = (form.has("status"), repeats(&mut form));
    let (status, unknown) = form.settle(judge_status(asked))?;
    let number = number_of(call, &status.of)?;
    let ids = status_ids(&json::from_text(&number.body)?);
    if let (true, repeats) = said {
        let others: Vec<String> = ids.iter().filter(|id| **id != entry.id).cloned().collect();
        check_repeat(titles(call, &others)?.iter().map(String::as_str), &status.status, repeats)?;
        stored.set("status", &status.status)?;
    }
    for (name, _, text) in address.into_iter().filter(|(_, is_said, _)| *is_said) {
        stored.set(name, &text.filter(|text| !text.is_empty()))?;
    }
    write(&mut stored, &status)?;
    let body = statuses::replace(call, &entry.id, stored)?;
    if ids.last() == Some(&entry.id) {
        tracking::follow(call, &number, &ids)?;
        saying::note(call, &number)?;
    }
    Ok(unknown.tell(Answer::ok(body)))
}

/// But for its title, which stays as it is written unless there is another one.
fn write(stored: &mut Object, status: &NewStatus) -> Result<(), Stop> {
    stored.set("code", &status.code)?;
    stored.set("details", &status.details)?;
    stored.set("country", &status.country)?;
    stored.set("location", &Point::at(status.position))
}

/// The number says what the one before it says.
pub fn remove(call: &Call) -> Outcome {
    actor::manage(call)?;
    let entry = statuses::load(call, call.parameter("id"))?;
    let stored: Object = json::from_text(&entry.body)?;
    let number = tracking::load(call, &stored.text(NUMBER).ok().flatten().unwrap_or_default())?;
    let mut ids = status_ids(&json::from_text(&number.body)?);
    ids.retain(|id| *id != entry.id);
    statuses::delete(call, &entry.id)?;
    tracking::follow(call, &number, &ids)?;
    saying::note(call, &number)?;
    deleted::answer(call, &entry.id, "tracking_status")
}
