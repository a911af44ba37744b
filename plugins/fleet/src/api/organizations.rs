//! The organization whose key calls (research/fleet 1.5): what clients ask for first.

use tenon_plugin::{Answer, Call, Outcome, Stop, json};

use super::actor;
use crate::rules::authority::{Operation, Subject};

/// Of the key, or of a driver's token.
pub fn current(call: &Call) -> Outcome {
    actor::allow(call, Operation::UseOrganizations, Subject::Organization)?;
    Ok(Answer::ok(text(call)?))
}

pub fn id(call: &Call) -> String {
    ["company_", call.organization()].concat()
}

pub fn text(call: &Call) -> Result<String, Stop> {
    #[derive(serde::Serialize)]
    struct Organization<'a> {
        id: &'a str,
        name: &'a str,
    }
    json::to_text(&Organization { id: &id(call), name: call.organization() })
}
