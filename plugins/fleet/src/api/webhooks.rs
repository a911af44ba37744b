//! Endpoints of webhooks: create, list, read, update, delete, enable, disable, rotate (research/fleet 1.4).

mod deliveries;
#[cfg(test)]
mod tests;

use tenon_plugin::{Answer, Call, Outcome, Stop, json};

use super::actor::manage;
use super::deleted;
use super::form::Form;
use super::lists::{LIMIT_DEFAULT, Limit, whole};
use super::unknown::Unknown;
use crate::records::{self, StoredEndpoint, endpoint_text};
use crate::rules::invalid::Invalid;
use crate::rules::webhook::{self, Asked, DESCRIPTION_CHARS_MAX, Status, Subscription, URL_CHARS_MAX};

pub use deliveries::{attempts, list as list_deliveries, recover, redeliver, send_test};

/// Only for an endpoint that asks for one: nobody takes it for something that happened.
pub const TEST_EVENT: &str = "webhook.test";
/// An organization has a thousand endpoints at most.
const OFFSET_MAX: u32 = 1_000;
/// What is shown and cannot be changed: clients send it back.
const SHOWN: [&str; 5] = ["id", "is_listening_on_all_events", "disabled_reason", "updated_at", "created_at"];

/// The only answer, with that of `rotate`, that holds the secret.
pub fn create(call: &Call) -> Outcome {
    manage(call)?;
    let (subscription, unknown) = settled(call, None)?;
    let endpoint = records::insert_endpoint(call, &subscription)?;
    let secret = call.subscriptions().secret(&endpoint.id);
    Ok(unknown.tell(Answer::created(endpoint_text(call, &endpoint, secret.as_deref())?)))
}

pub fn list(call: &Call) -> Outcome {
    manage(call)?;
    let limit = Limit::of(call, LIMIT_DEFAULT)?;
    let offset = whole(call, "offset", (0, OFFSET_MAX))?.unwrap_or(0) as usize;
    let all = records::list_endpoints(call)?;
    let texts: Vec<String> = all
        .iter()
        .skip(offset)
        .take(limit.entries as usize)
        .map(|endpoint| endpoint_text(call, endpoint, None))
        .collect::<Result<_, _>>()?;
    Ok(limit.tell(Answer::ok(json::array(texts.iter().map(String::as_str)))))
}

pub fn read(call: &Call) -> Outcome {
    shown(call, &load(call)?)
}

pub fn update(call: &Call) -> Outcome {
    let StoredEndpoint { id, subscription, disabled_reason, .. } = load(call)?;
    let (subscription, unknown) = settled(call, Some(subscription))?;
    let answer = shown(call, &records::put_endpoint(call, &id, &subscription, disabled_reason)?)?;
    Ok(unknown.tell(answer))
}

pub fn delete(call: &Call) -> Outcome {
    let id = load(call)?.id;
    call.subscriptions().remove(&id);
    deleted::answer(call, &id, "webhook_endpoint")
}

/// What the host had disabled is tried again.
pub fn enable(call: &Call) -> Outcome {
    switch(call, Status::Enabled)
}

/// It keeps what is to be delivered until it is enabled again.
pub fn disable(call: &Call) -> Outcome {
    switch(call, Status::Disabled)
}

pub fn rotate(call: &Call) -> Outcome {
    let id = load(call)?.id;
    let secret = call.subscriptions().rotate_secret(&id);
    Ok(Answer::ok(endpoint_text(call, &load(call)?, secret.as_deref())?))
}

fn switch(call: &Call, status: Status) -> Outcome {
    let StoredEndpoint { id, mut subscription, disabled_reason, .. } = load(call)?;
    subscription.status = status;
    shown(call, &records::put_endpoint(call, &id, &subscription, disabled_reason)?)
}

fn load(call: &Call) -> Result<StoredEndpoint, Stop> {
    manage(call)?;
    records::load_endpoint(call, call.parameter("id"))
}

fn shown(call: &Call, endpoint: &StoredEndpoint) -> Outcome {
    Ok(Answer::ok(endpoint_text(call, endpoint, None)?))
}

fn settled(call: &Call, before: Option<Subscription>) -> Result<(Subscription, Unknown), Stop> {
    let mut form = Form::of(call)?;
    form.not_supported(&["api_credential"]);
    let asked = Asked {
        url: form.text("url", URL_CHARS_MAX),
        description: form.has("description").then(|| form.text("description", DESCRIPTION_CHARS_MAX)),
        events: events(&mut form),
        status: form.text("status", DESCRIPTION_CHARS_MAX),
        mode: form.text("mode", DESCRIPTION_CHARS_MAX),
        version: form.text("version", DESCRIPTION_CHARS_MAX),
    };
    form.pass_over(&SHOWN);
    form.settle(webhook::settle(before, asked, &call.principal().environment))
}

fn events(form: &mut Form) -> Option<Vec<String>> {
    let names = serde_json::from_str(form.given("events")?);
    form.keep(names.map_err(|_| Invalid::Not { field: "events", kind: "a list of names of events" }))
}
