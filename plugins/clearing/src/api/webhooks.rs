//! /v1/clearing/webhook-endpoints: where the events of a tenant are delivered to, signed.

mod deliveries;

use serde::Serialize;
use tenon_plugin::{Answer, Call, Outcome, Stop, json};

use super::form::Form;
use super::listing;
use crate::events::NAMES;
use crate::records::{self, StoredEndpoint, endpoint_text};
use crate::rules::limits::TEXT_CHARS_MAX;
use crate::settings::{self, Side};
use crate::{wire, words};

pub use deliveries::{attempts, list as list_deliveries, recover, redeliver, send_test};

const URL_CHARS_MAX: usize = 2_048;

/// Events are about everybody's payments: not for a client that speaks for one partner.
pub fn check_reader(call: &Call) -> Result<(), Stop> {
    let side = settings::load(call)?.side;
    let is_partner = side == Side::Platform && records::client_partner(call)?.is_some();
    if is_partner { Err(words::forbidden()) } else { Ok(()) }
}

/// The only answer, with that of `rotate`, that holds the secret.
pub fn create(call: &Call) -> Outcome {
    check_reader(call)?;
    let endpoint = records::insert_endpoint(call, read(call, None)?)?;
    let secret = call.subscriptions().secret(&endpoint.id);
    Ok(Answer::created(endpoint_text(&endpoint, secret.as_deref())?))
}

/// The newest ones; `limit` of them.
pub fn list(call: &Call) -> Outcome {
    check_reader(call)?;
    let limit = listing::limit(call)? as usize;
    let all = records::list_endpoints(call)?;
    let texts: Vec<String> =
        all.iter().take(limit).map(|endpoint| endpoint_text(endpoint, None)).collect::<Result<_, _>>()?;
    listing::answer(call, "webhook_endpoints", &texts, None)
}

pub fn show(call: &Call) -> Outcome {
    shown(&load(call)?)
}

/// What is absent stays as it is.
pub fn update(call: &Call) -> Outcome {
    let before = load(call)?;
    shown(&records::put_endpoint(call, read(call, Some(before))?)?)
}

pub fn delete(call: &Call) -> Outcome {
    #[derive(Serialize)]
    struct Deleted<'a> {
        id: &'a str,
        deleted: bool,
    }
    let id = load(call)?.id;
    call.subscriptions().remove(&id);
    Ok(Answer::ok(json::to_text(&Deleted { id: &id, deleted: true })?))
}

/// What the host had disabled is tried again.
pub fn enable(call: &Call) -> Outcome {
    let endpoint = StoredEndpoint { enabled: true, ..load(call)? };
    shown(&records::put_endpoint(call, endpoint)?)
}

/// It keeps what is to be delivered until it is enabled again.
pub fn disable(call: &Call) -> Outcome {
    let endpoint = StoredEndpoint { enabled: false, ..load(call)? };
    shown(&records::put_endpoint(call, endpoint)?)
}

pub fn rotate(call: &Call) -> Outcome {
    let id = load(call)?.id;
    let secret = call.subscriptions().rotate_secret(&id);
    Ok(Answer::ok(endpoint_text(&load(call)?, secret.as_deref())?))
}

fn load(call: &Call) -> Result<StoredEndpoint, Stop> {
    check_reader(call)?;
    records::load_endpoint(call, call.parameter("id"))
}

fn shown(endpoint: &StoredEndpoint) -> Outcome {
    Ok(Answer::ok(endpoint_text(endpoint, None)?))
}

fn read(call: &Call, before: Option<StoredEndpoint>) -> Result<StoredEndpoint, Stop> {
    let mut form = Form::new(wire::body(call)?);
    let mut endpoint = before.unwrap_or_else(|| StoredEndpoint {
        id: String::new(),
        url: String::new(),
        description: None,
        events: Vec::new(),
        enabled: true,
        disabled_reason: None,
        created_at: call.now(),
        updated_at: call.now(),
    });
    if endpoint.url.is_empty() || form.has("url") {
        endpoint.url = form.required_text("url", URL_CHARS_MAX);
    }
    if form.has("description") {
        endpoint.description = form.nullable_text("description", TEXT_CHARS_MAX);
    }
    if form.has("events") {
        endpoint.events = form.texts("events", (NAMES.len(), TEXT_CHARS_MAX)).unwrap_or_default();
    }
    if !endpoint.events.iter().all(|name| NAMES.contains(&name.as_str())) {
        form.refuse("events", &["must be of: ", &NAMES.join(", ")].concat());
    }
    form.finish()?;
    Ok(endpoint)
}
