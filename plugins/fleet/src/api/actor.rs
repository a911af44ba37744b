//! Who calls, and whether he may (rules: `authority`). Every handler asks before it does anything: what a driver may never
//! do is refused before anything is looked up, so that a driver's token learns nothing from it.

use tenon_plugin::{Call, Stop};

use super::errors;
use crate::rules::authority::{self, Actor, Operation, Subject, Verdict};

/// What a driver's token carries: his id.
pub const ATTRIBUTE: &str = "driver";

pub fn actor<'a>(call: &Call<'a>) -> Actor<'a> {
    call.attribute(ATTRIBUTE).map_or(Actor::Organization, Actor::Driver)
}

/// 404 for what belongs to another driver, 403 for what no driver may.
pub fn allow(call: &Call, operation: Operation, subject: Subject<'_>) -> Result<(), Stop> {
    match authority::may(actor(call), operation, subject) {
        Verdict::Allowed => Ok(()),
        Verdict::Hidden => Err(errors::not_found()),
        Verdict::Forbidden => Err(errors::forbidden()),
    }
}

/// What only an organization does: the default of every route.
pub fn manage(call: &Call) -> Result<(), Stop> {
    allow(call, Operation::Manage, Subject::Organization)
}
