//! What became of the events of an endpoint: lists, and what may be done about them.

use serde::Serialize;
use tenon_plugin::subscriptions::{Attempt, Delivery};
use tenon_plugin::{Answer, Call, Outcome, Stop, json, time};

use super::{load, shown};
use crate::api::form::Form;
use crate::api::listing;
use crate::events::TEST_EVENT;
use crate::rules::limits::TEXT_CHARS_MAX;
use crate::{wire, words};

const LIST: &str = "deliveries";
const STATES: [&str; 4] = ["pending", "retrying", "delivered", "failed"];
/// What the host gives at once.
const PAGE_MAX: u32 = 100;

#[derive(Serialize)]
struct DeliveryText<'a> {
    /// Of the event.
    id: &'a str,
    event: &'a str,
    uetr: &'a str,
    status: &'a str,
    attempts: u32,
    next_attempt_at: Option<String>,
    created_at: String,
}

#[derive(Serialize)]
struct AttemptText<'a> {
    number: u32,
    outcome: &'a str,
    response_status: Option<u16>,
    response_body: &'a str,
    duration_ms: u32,
    created_at: String,
}

pub fn list(call: &Call) -> Outcome {
    let (id, limit, after) = (load(call)?.id, listing::limit(call)?.min(PAGE_MAX), listing::after(call, LIST)?);
    let status = call.query("status");
    if status.is_some_and(|status| !STATES.contains(&status)) {
        return Err(words::wrong("status", "must be one of: pending, retrying, delivered, failed"));
    }
    let page = call.subscriptions().deliveries(&id, status, after.as_deref(), limit);
    let page = page.ok_or_else(|| words::wrong("after", "must be where a page of this list ended"))?;
    let texts = page.deliveries.iter().map(|delivery| json::to_text(&delivery_text(delivery)));
    listing::answer(call, LIST, &texts.collect::<Result<Vec<_>, _>>()?, page.next.as_deref())
}

pub fn attempts(call: &Call) -> Outcome {
    let id = load(call)?.id;
    let found = call.subscriptions().attempts(&id, event_id(call)?).ok_or_else(words::not_found)?;
    let texts = found.iter().map(|attempt| json::to_text(&attempt_text(attempt)));
    listing::answer(call, "attempts", &texts.collect::<Result<Vec<_>, _>>()?, None)
}

/// Whatever became of it. An event from before the endpoint may be sent as well.
pub fn redeliver(call: &Call) -> Outcome {
    let endpoint = load(call)?;
    let is_known = call.subscriptions().redeliver(&endpoint.id, event_id(call)?);
    if is_known { shown(&endpoint) } else { Err(words::not_found()) }
}

/// Everything that was given up `since` a time.
pub fn recover(call: &Call) -> Outcome {
    let endpoint = load(call)?;
    let mut form = Form::new(wire::body(call)?);
    let since = form.required_text("since", TEXT_CHARS_MAX);
    form.finish()?;
    let since = time::parse(&since).ok_or_else(|| words::wrong("since", "must be a time"))?;
    call.subscriptions().recover(&endpoint.id, since);
    shown(&endpoint)
}

pub fn send_test(call: &Call) -> Outcome {
    #[derive(Serialize)]
    struct Payload<'a> {
        webhook_id: &'a str,
    }
    #[derive(Serialize)]
    struct Sent<'a> {
        id: &'a str,
        event: &'a str,
    }
    let endpoint = load(call)?;
    let payload = json::to_text(&Payload { webhook_id: &endpoint.id })?;
    let sent = call.subscriptions().send_test(&endpoint.id, TEST_EVENT, &payload).ok_or_else(words::not_found)?;
    Ok(Answer::ok(json::to_text(&Sent { id: &sent, event: TEST_EVENT })?))
}

/// Of the path. What cannot be one is not asked for.
fn event_id<'a>(call: &Call<'a>) -> Result<&'a str, Stop> {
    let id = call.parameter("event");
    let digits = id.strip_prefix("event_").unwrap_or_default();
    let is_one = digits.len() == 32 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_one { Ok(id) } else { Err(words::not_found()) }
}

fn delivery_text(delivery: &Delivery) -> DeliveryText<'_> {
    DeliveryText {
        id: &delivery.event,
        event: &delivery.event_type,
        uetr: &delivery.subject,
        status: &delivery.state,
        attempts: delivery.attempts,
        next_attempt_at: delivery.next_at.map(time::to_text),
        created_at: time::to_text(delivery.created_at),
    }
}

fn attempt_text(attempt: &Attempt) -> AttemptText<'_> {
    AttemptText {
        number: attempt.number,
        outcome: &attempt.outcome,
        response_status: attempt.status,
        response_body: &attempt.answer,
        duration_ms: attempt.duration,
        created_at: time::to_text(attempt.at),
    }
}
