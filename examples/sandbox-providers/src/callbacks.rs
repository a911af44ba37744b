//! Telling the customer what has changed: a signed call to the destination "wallet" for each change, signed anew for each attempt.
//!
//! Without the setting `webhook-secret` nobody is told: the customer polls.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tenon_plugin::effects::{Effect, OutgoingCall};
use tenon_plugin::tasks::{FiredTask, Outcome, TaskOutcome, Verdict};
use tenon_plugin::{Call, Stop, json, time};

use crate::rules::limits::CALLBACK_PAUSES_MS;
use crate::rules::order::{Kind, Order};
use crate::rules::signature;
use crate::{api, settings, tasks};

/// The operator names it, or the customer (`PUT /v1/webhook`).
pub const DESTINATION: &str = "wallet";
const PATH: &str = "/callbacks";

/// What is repeated until it is taken.
#[derive(Serialize, Deserialize)]
struct Telling {
    body: String,
    attempt: usize,
}

#[derive(Serialize)]
struct Body<'a> {
    id: &'a str,
    #[serde(rename = "type")]
    event_type: &'a str,
    created_at: String,
    data: &'a RawValue,
}

pub fn tell_order(call: &Call, order: &Order) -> Result<(), Stop> {
    let event_type = match order.kind {
        Kind::Payout => "payout.updated",
        Kind::Swap => "swap.updated",
        Kind::GatewayDeposit => "gateway.deposit.updated",
        Kind::GatewayWithdrawal => "gateway.withdrawal.updated",
        Kind::Payment => "virtual_account.payment",
    };
    tell(call, event_type, &api::shown::order(order)?)
}

/// `data`: one JSON text.
pub fn tell(call: &Call, event_type: &str, data: &str) -> Result<(), Stop> {
    let id = call.public_id("evt");
    let data: &RawValue = json::from_text(data)?;
    let body = Body { id: &id, event_type, created_at: time::to_text(call.now()), data };
    start(call, &id, Telling { body: json::to_text(&body)?, attempt: 0 }, call.now())
}

pub fn told(call: &Call, task: &FiredTask) -> TaskOutcome {
    let telling: Telling = json::from_text(&task.payload)?;
    let is_over = match &task.outcome {
        Some(Outcome::Answered(answer)) => (200..300).contains(&answer.status),
        Some(Outcome::NotSent(why)) => why == "no-such-destination",
        Some(Outcome::Unknown(_)) | None => false,
    };
    if let Some(pause) = CALLBACK_PAUSES_MS.get(telling.attempt).filter(|_| !is_over) {
        let again = Telling { body: telling.body, attempt: telling.attempt.saturating_add(1) };
        start(call, &task.key, again, call.now().saturating_add(*pause))?;
    }
    Ok(Verdict::Done)
}

/// The time that is signed is that of the attempt.
fn start(call: &Call, id: &str, telling: Telling, at_ms: u64) -> Result<(), Stop> {
    let Some(secret) = call.config::<String>(settings::WEBHOOK_SECRET)? else { return Ok(()) };
    let at_s = at_ms / 1_000;
    let outgoing = OutgoingCall::new(DESTINATION, "POST", PATH)
        .header("x-provider-timestamp", &at_s.to_string())
        .header("x-provider-signature", &signature::sign(&secret, at_s, &telling.body))
        .json(telling.body.clone());
    let effect = Effect::new(outgoing, tasks::CALLBACK_TOLD, id, json::to_text(&telling)?).start_at(at_ms);
    call.effects().start(&effect);
    Ok(())
}
