//! /v1/clearing/partners: whom a platform sends payments to, and what it has agreed with them.
//!
//! Address and credentials of a partner are the destination of its id, which the operator sets.

use serde::Serialize;
use tenon_plugin::{Answer, Call, Outcome, Stop, json, time};

use super::form::Form;
use super::listing;
use crate::records::{self, Partner};
use crate::rules::limits::{CLIENTS_MAX, IDENTIFICATION_CHARS_MAX, NAME_CHARS_MAX, TEXT_CHARS_MAX};
use crate::rules::scheme::Scheme;
use crate::settings::{self, Side};
use crate::words;

/// An id of a record has at most 200 bytes.
const CLIENT_CHARS_MAX: usize = 190;

pub fn create(call: &Call) -> Outcome {
    check_staff(call)?;
    let mut form = Form::new(call.object()?);
    let id = form.required_text("id", IDENTIFICATION_CHARS_MAX);
    if !is_name(&id) {
        form.refuse("id", "must consist of lower case letters, digits and hyphens");
    }
    if is_name(&id) && records::load_partner(call, &id)?.is_some() {
        form.refuse("id", "must not be taken already");
    }
    let partner = read(call, form, id, None)?;
    Ok(Answer::created(records::put_partner(call, &partner, None)?))
}

pub fn list(call: &Call) -> Outcome {
    check_staff(call)?;
    let (texts, next) = records::find_partners(call, &listing::page(call)?)?;
    listing::answer("partners", &texts, next.as_deref())
}

pub fn show(call: &Call) -> Outcome {
    check_staff(call)?;
    Ok(Answer::ok(json::to_text(&load(call, call.parameter("id"))?)?))
}

/// Replaces the settings as a whole.
pub fn update(call: &Call) -> Outcome {
    check_staff(call)?;
    let before = load(call, call.parameter("id"))?;
    let mut form = Form::new(call.object()?);
    if form.text("id", IDENTIFICATION_CHARS_MAX).is_some_and(|id| id != before.id) {
        form.refuse("id", "must not change");
    }
    let partner = read(call, form, before.id.clone(), Some(&before))?;
    Ok(Answer::ok(records::put_partner(call, &partner, Some(&before))?))
}

/// Its transactions stay.
pub fn delete(call: &Call) -> Outcome {
    #[derive(Serialize)]
    struct Deleted<'a> {
        id: &'a str,
        deleted: bool,
    }
    check_staff(call)?;
    let partner = load(call, call.parameter("id"))?;
    records::delete_partner(call, &partner)?;
    Ok(Answer::ok(json::to_text(&Deleted { id: &partner.id, deleted: true })?))
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
        name: form.text("name", NAME_CHARS_MAX),
        payment_schemes,
        account_mirroring: form.boolean("account_mirroring"),
        proxy_management: form.boolean("proxy_management"),
        client_ids: form.texts("client_ids", (CLIENTS_MAX, CLIENT_CHARS_MAX)).unwrap_or_default(),
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
