//! What became of the events of an endpoint: lists, and what may be done about them.

use serde::Serialize;
use tenon_plugin::subscriptions::{Attempt, Delivery};
use tenon_plugin::{Answer, Call, Outcome, Stop, json, time};

use super::{LIMIT_DEFAULT, TEST_EVENT, load, shown};
use crate::api::errors;
use crate::api::form::Form;
use crate::api::lists::{Limit, single};
use crate::rules::invalid::Invalid;

const STATES: [&str; 4] = ["pending", "retrying", "delivered", "failed"];

#[derive(Serialize)]
struct DeliveryText<'a> {
    /// Of the event.
    id: &'a str,
    event: &'a str,
    subject: &'a str,
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

/// Pages go on at `after`, which the Link header of a page holds: while one reads, new ones come in front.
pub fn list(call: &Call) -> Outcome {
    let id = load(call)?.id;
    let limit = Limit::of(call, LIMIT_DEFAULT)?;
    let status = single(call, "status")?;
    if status.is_some_and(|status| !STATES.contains(&status)) {
        let allowed = "pending, retrying, delivered, failed";
        return Err(Invalid::NotOneOf { field: "status", allowed }.into());
    }
    let page = call.subscriptions().deliveries(&id, status, single(call, "after")?, limit.entries);
    let page = page.ok_or(Invalid::Not { field: "after", kind: "where a page ended" })?;
    let texts: Vec<DeliveryText> = page.deliveries.iter().map(delivery_text).collect();
    let answer = limit.tell(Answer::ok(json::to_text(&texts)?));
    let Some(next) = page.next else { return Ok(answer) };
    let status = status.map(|status| ["&status=", status].concat()).unwrap_or_default();
    let path =
        ["/v1/webhook-endpoints/", &id, "/deliveries?after=", &next, "&limit=", &limit.entries.to_string()].concat();
    Ok(answer.header("link", ["<", &path, &status, ">; rel=\"next\""].concat()))
}

pub fn attempts(call: &Call) -> Outcome {
    let id = load(call)?.id;
    let found = call.subscriptions().attempts(&id, event_id(call)?).ok_or_else(errors::not_found)?;
    let texts: Vec<AttemptText> = found.iter().map(attempt_text).collect();
    Ok(Answer::ok(json::to_text(&texts)?))
}

/// Whatever became of it. An event from before the endpoint may be sent as well.
pub fn redeliver(call: &Call) -> Outcome {
    let endpoint = load(call)?;
    if call.subscriptions().redeliver(&endpoint.id, event_id(call)?) {
        shown(call, &endpoint)
    } else {
        Err(errors::not_found())
    }
}

/// Everything that was given up since a time.
pub fn recover(call: &Call) -> Outcome {
    let endpoint = load(call)?;
    let mut form = Form::of(call)?;
    let since = form.date("since");
    if form.given("since").is_none() {
        form.refuse(Invalid::Required("since"));
    }
    let unknown = form.finish()?;
    call.subscriptions().recover(&endpoint.id, since.unwrap_or(call.now()));
    Ok(unknown.tell(shown(call, &endpoint)?))
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
    let sent = call.subscriptions().send_test(&endpoint.id, TEST_EVENT, &payload).ok_or_else(errors::not_found)?;
    Ok(Answer::ok(json::to_text(&Sent { id: &sent, event: TEST_EVENT })?))
}

/// Of the path. What cannot be one is not asked for.
fn event_id<'a>(call: &Call<'a>) -> Result<&'a str, Stop> {
    let id = call.parameter("event");
    let digits = id.strip_prefix("event_").unwrap_or_default();
    let is_one = digits.len() == 32 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_one { Ok(id) } else { Err(errors::not_found()) }
}

fn delivery_text(delivery: &Delivery) -> DeliveryText<'_> {
    DeliveryText {
        id: &delivery.event,
        event: &delivery.event_type,
        subject: &delivery.subject,
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
