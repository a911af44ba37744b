//! The organizations of a driver. He belongs to the one that made him: a token opens one organization's data and no other's,
//! so that there is none to switch to.

use tenon_plugin::{Answer, Call, Outcome, Stop, json};

use crate::api::actor::allow;
use crate::api::form::Form;
use crate::api::organizations as companies;
use crate::records::drivers;
use crate::rules::authority::{Operation, Subject};
use crate::rules::driver::TEXT_CHARS_MAX;
use crate::rules::driver::device::refuse_switch;
use crate::rules::invalid::Invalid;

pub fn list(call: &Call) -> Outcome {
    check(call)?;
    Ok(Answer::ok(json::array([companies::text(call)?.as_str()].into_iter())))
}

pub fn current(call: &Call) -> Outcome {
    check(call)?;
    Ok(Answer::ok(companies::text(call)?))
}

pub fn switch(call: &Call) -> Outcome {
    check(call)?;
    let mut form = Form::of(call)?;
    let next = form.text("next", TEXT_CHARS_MAX).unwrap_or_default();
    if next.is_empty() {
        form.refuse(Invalid::Required("next"));
    }
    let _unknown = form.finish()?;
    Err(refuse_switch(&companies::id(call), &next).into())
}

fn check(call: &Call) -> Result<(), Stop> {
    let id = call.parameter("id");
    allow(call, Operation::UseOrganizations, Subject::Driver(id))?;
    drivers::load(call, id).map(|_| ())
}
