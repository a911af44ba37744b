//! Messages to drivers, by way of the operator's destinations `sms` and `email` (docs/fleet/messages.md). They are sent
//! after the commit and tried again; one that is not taken is told the operator, without its text.

use serde::Serialize;
use tenon_plugin::effects::{Effect, OutgoingCall};
use tenon_plugin::tasks::{FiredTask, Outcome, TaskOutcome, Verdict};
use tenon_plugin::{Call, Level, Stop, Task, json, task};

use crate::rules::driver::code::Purpose;
use crate::rules::driver::identity::Identity;

const SENT: &str = "message-sent";
pub const TASKS: &[Task] = &[task(SENT, note)];

const SMS: &str = "sms";
const EMAIL: &str = "email";
const PATH: &str = "/messages";
const DELAYS_MS: [u32; 5] = [2_000, 10_000, 30_000, 60_000, 120_000];
/// Later nobody waits for it any more.
const USEFUL_MS: u64 = 10 * 60 * 1_000;

#[derive(Serialize)]
struct Message<'a> {
    to: &'a str,
    /// Of an email only.
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<&'a str>,
    text: &'a str,
}

/// "sms" or "email", as the answer to a login names it.
pub fn method(identity: &Identity) -> &'static str {
    match identity {
        Identity::Email(_) => EMAIL,
        Identity::Phone(_) => SMS,
    }
}

pub fn send_code(
    call: &Call,
    (driver, identity): (&str, &Identity),
    purpose: Purpose,
    digits: &str,
) -> Result<(), Stop> {
    let what = match purpose {
        Purpose::ResetPassword => "code for a new password",
        Purpose::Login | Purpose::CreateDriver => "code to log in",
    };
    let text = ["Your ", what, ": ", digits, ". It is good for one hour; give it to nobody."].concat();
    let subject = matches!(identity, Identity::Email(_)).then_some("Your verification code");
    let body = json::to_text(&Message { to: identity.key(), subject, text: &text })?;
    // A code is sent every 30 seconds at most, so that the time tells two of one driver apart.
    let key = [driver, "-", &call.now().to_string()].concat();
    let outgoing = OutgoingCall::new(method(identity), "POST", PATH).json(body);
    let context = json::to_text(&[("driver", driver), ("by", method(identity))])?;
    let effect = Effect::new(outgoing, SENT, &key, context).delays_ms(&DELAYS_MS).give_up_at(call.now() + USEFUL_MS);
    call.effects().start(&effect);
    Ok(())
}

/// What became of a message.
fn note(call: &Call, task: &FiredTask) -> TaskOutcome {
    let why = match &task.outcome {
        Some(Outcome::Answered(response)) if (200..300).contains(&response.status) => return Ok(Verdict::Done),
        Some(Outcome::Answered(response)) => ["answered with ", &response.status.to_string()].concat(),
        Some(Outcome::NotSent(why)) => ["not sent: ", why.as_str()].concat(),
        Some(Outcome::Unknown(why)) => ["outcome unknown: ", why.as_str()].concat(),
        None => "without an outcome".to_owned(),
    };
    call.log(Level::Warn, "a message was not taken", &[("message", &task.key), ("why", &why)]);
    Ok(Verdict::Done)
}
