//! /v1/clearing/partners: whom a platform sends payments to, and what it has agreed with them.
//!
//! Address and credentials of a partner are its `destination`, or the operator's one that is named like it.

use serde::Serialize;
use tenon_plugin::json::{self, Object};
use tenon_plugin::{Answer, Call, Outcome, Stop, time};

use super::form::Form;
use super::{destinations, listing};
use crate::records::{self, DestinationText, Partner};
use crate::rules::limits::{CLIENTS_MAX, IDENTIFICATION_CHARS_MAX, NAME_CHARS_MAX, TEXT_CHARS_MAX};
use crate::rules::scheme::Scheme;
use crate::settings::{self, Side};
use crate::{wire, words};

const LIST: &str = "partners";
/// An id of a record has at most 200 bytes.
const CLIENT_CHARS_MAX: usize = 190;

pub fn create(call: &Call) -> Outcome {
    check_staff(call)?;
    let body = wire::body(call)?;
    let mut form = Form::new(body.clone());
    let id = form.required_text("id", IDENTIFICATION_CHARS_MAX);
    if !is_name(&id) {
        form.refuse("id", "must consist of lower case letters, digits and hyphens");
    } else if records::load_partner(call, &id)?.is_some() {
        form.refuse("id", "must not be taken already");
    } else if records::has_any(call, &id) || records::has_accounts(call, &id) {
        // Its clients would find what is not theirs.
        form.refuse("id", "must not be that of a partner that was deleted and has left payments or accounts");
    }
    let partner = read(call, form, id, None)?;
    records::put_partner(call, &partner, None)?;
    set_destination(call, &body, &partner.id)?;
    Ok(Answer::created(text(call, &partner)?))
}

pub fn list(call: &Call) -> Outcome {
    check_staff(call)?;
    let (partners, next) = records::find_partners(call, &listing::page(call, LIST)?)?;
    let texts = partners.iter().map(|partner| text(call, partner)).collect::<Result<Vec<_>, _>>()?;
    listing::answer(call, LIST, &texts, next.as_deref())
}

pub fn show(call: &Call) -> Outcome {
    check_staff(call)?;
    Ok(Answer::ok(text(call, &load(call, call.parameter("id"))?)?))
}

/// Replaces the settings as a whole; destination and clients only where they are there.
pub fn update(call: &Call) -> Outcome {
    check_staff(call)?;
    let before = load(call, call.parameter("id"))?;
    let body = wire::body(call)?;
    let mut form = Form::new(body.clone());
    if form.text("id", IDENTIFICATION_CHARS_MAX).is_some_and(|id| id != before.id) {
        form.refuse("id", "must not change");
    }
    let partner = read(call, form, before.id.clone(), Some(&before))?;
    records::put_partner(call, &partner, Some(&before))?;
    set_destination(call, &body, &partner.id)?;
    Ok(Answer::ok(text(call, &partner)?))
}

/// Its transactions stay. Not while any of them is open: what is sent to it would go nowhere.
pub fn delete(call: &Call) -> Outcome {
    #[derive(Serialize)]
    struct Deleted<'a> {
        id: &'a str,
        deleted: bool,
    }
    check_staff(call)?;
    let partner = load(call, call.parameter("id"))?;
    records::guard_partner(call, &partner.id);
    if records::has_open(call, &partner.id) {
        return Err(words::unprocessable(vec!["Payments of this partner are not finished.".to_owned()]));
    }
    records::delete_partner(call, &partner)?;
    records::remove_destination(call, &partner.id);
    Ok(Answer::ok(json::to_text(&Deleted { id: &partner.id, deleted: true })?))
}

fn text(call: &Call, partner: &Partner) -> Result<String, Stop> {
    #[derive(Serialize)]
    struct Shown<'a> {
        #[serde(flatten)]
        partner: &'a Partner,
        /// Null where only the operator can have set it.
        destination: Option<DestinationText>,
    }
    json::to_text(&Shown { partner, destination: records::find_destination(call, &partner.id) })
}

/// Where its messages go: as it was where the body does not say, taken away where it says null.
fn set_destination(call: &Call, body: &Object, id: &str) -> Result<(), Stop> {
    let Some(given) = body.given("destination") else {
        if body.has("destination") {
            records::remove_destination(call, id);
        }
        return Ok(());
    };
    let object = Object::parse(given).map_err(|_| words::wrong("destination", "must be an object"))?;
    records::put_destination(call, &destinations::read(Form::at(object, "destination.".to_owned()), id)?)
}

/// Somebody of the platform: a client that speaks for a partner sees no other one.
pub fn check_staff(call: &Call) -> Result<settings::Settings, Stop> {
    let settings = settings::of_side(call, Side::Platform)?;
    if records::client_partner(call)?.is_some() { Err(words::forbidden()) } else { Ok(settings) }
}

pub fn load(call: &Call, id: &str) -> Result<Partner, Stop> {
    let found = if is_name(id) { records::load_partner(call, id)? } else { None };
    found.ok_or_else(words::not_found)
}

/// What a destination may be called.
pub fn is_name(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=IDENTIFICATION_CHARS_MAX).contains(&text.len()) && text.bytes().all(fits)
}

fn read(call: &Call, mut form: Form, id: String, before: Option<&Partner>) -> Result<Partner, Stop> {
    let now = time::to_text(call.now());
    if !form.has("payment_schemes") {
        form.refuse("payment_schemes", "is required");
    }
    let payment_schemes = form.texts("payment_schemes", (Scheme::ALL.len(), TEXT_CHARS_MAX)).unwrap_or_default();
    if payment_schemes.iter().any(|name| Scheme::of_name(name).is_err()) {
        form.refuse("payment_schemes", "must consist of ZA_RTC, ZA_RPP, ZA_EFT, CBPR+");
    }
    let partner = Partner {
        name: form.nullable_text("name", NAME_CHARS_MAX),
        payment_schemes,
        account_mirroring: form.boolean("account_mirroring"),
        proxy_management: form.boolean("proxy_management"),
        client_ids: form
            .texts("client_ids", (CLIENTS_MAX, CLIENT_CHARS_MAX))
            .or_else(|| before.map(|before| before.client_ids.clone()))
            .unwrap_or_default(),
        created_at: before.map_or_else(|| now.clone(), |before| before.created_at.clone()),
        updated_at: now,
        id,
    };
    if partner.client_ids.iter().any(|client| client.len() > CLIENT_CHARS_MAX) {
        form.refuse("client_ids", "must consist of ids of clients");
    }
    form.finish()?;
    Ok(partner)
}
