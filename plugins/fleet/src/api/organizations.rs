//! The organization whose key calls (research/fleet 1.5): what clients ask for first. And those that the operator has linked
//! to it: the setting `organizations`, by the name of the tenant ("acme/live") or of the organization ("acme").

use std::collections::BTreeMap;

use tenon_plugin::{Answer, Call, Outcome, Stop, json};

use super::actor;
use crate::rules::authority::{Operation, Subject};
use crate::settings::LINKS;

const PREFIX: &str = "company_";

/// Of the key, or of a driver's token.
pub fn current(call: &Call) -> Outcome {
    actor::allow(call, Operation::UseOrganizations, Subject::Organization)?;
    Ok(Answer::ok(text(call)?))
}

pub fn id(call: &Call) -> String {
    id_of(call.organization())
}

pub fn id_of(name: &str) -> String {
    [PREFIX, name].concat()
}

/// `None`: this is the id of none.
pub fn name_of(id: &str) -> Option<&str> {
    id.strip_prefix(PREFIX)
}

pub fn text(call: &Call) -> Result<String, Stop> {
    text_of(call.organization())
}

pub fn text_of(name: &str) -> Result<String, Stop> {
    #[derive(serde::Serialize)]
    struct Organization<'a> {
        id: &'a str,
        name: &'a str,
    }
    json::to_text(&Organization { id: &id_of(name), name })
}

/// Names of those that drivers of this tenant may switch to, as the operator wrote them.
pub fn named(call: &Call) -> Result<Vec<String>, Stop> {
    let mut links: BTreeMap<String, Vec<String>> = call.config(LINKS)?.unwrap_or_default();
    let of_tenant = links.remove(&call.principal().tenant);
    Ok(of_tenant.or_else(|| links.remove(call.organization())).unwrap_or_default())
}
