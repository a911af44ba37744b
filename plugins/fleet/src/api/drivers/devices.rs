//! Where pushes to a driver go. Nothing is pushed from here: the organization reads it from its own push service.

use serde::Serialize;
use tenon_plugin::{Answer, Call, Outcome, json};

use crate::api::actor::{actor, allow};
use crate::api::form::Form;
use crate::records::{devices, drivers};
use crate::rules::authority::{Actor, Operation, Subject};
use crate::rules::driver::TEXT_CHARS_MAX;
use crate::rules::driver::device;
use crate::rules::invalid::Invalid;

#[derive(Serialize)]
struct Registered<'a> {
    device: &'a str,
}

/// Of the driver of the path; without one, of him whose token it is, or whom `driver` names.
pub fn register(call: &Call) -> Outcome {
    let mut form = Form::of(call)?;
    let named = match (call.parameter("id"), actor(call)) {
        ("", Actor::Driver(me)) => me.to_owned(),
        ("", Actor::Organization) => form.text("driver", TEXT_CHARS_MAX).unwrap_or_default(),
        (id, _) => id.to_owned(),
    };
    allow(call, Operation::RegisterDevice, Subject::Driver(&named))?;
    if named.is_empty() {
        form.refuse(Invalid::Required("driver"));
    }
    let token = form.text_change("token").over(None);
    let platform = platform(&mut form);
    let (device, unknown) = form.settle(device::register(token.as_deref(), platform.as_deref()))?;
    let driver = drivers::load(call, &named)?;
    let id = devices::register(call, &driver.id, &device)?;
    Ok(unknown.tell(Answer::ok(json::to_text(&Registered { device: &id })?)))
}

fn platform(form: &mut Form) -> Option<String> {
    let field = form.called("platform", &["os"]);
    form.text_change(field).over(None)
}
