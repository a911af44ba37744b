//! GET /v1/clearing/stream: what happens to the tenant's payments, as it happens.

use tenon_plugin::{Answer, Call, Outcome};

use super::webhooks;
use crate::rules::uetr::Uetr;
use crate::{events, words};

/// Uetrs that one stream may name.
const SUBJECTS_MAX: usize = 100;

/// `events` and `uetrs` name what is shown, with commas between; absent: everything.
pub fn open(call: &Call) -> Outcome {
    webhooks::check_reader(call)?;
    let names = listed(call, "events");
    if !names.iter().all(|name| events::NAMES.contains(&name.as_str())) {
        return Err(words::wrong("events", &["must be of: ", &events::NAMES.join(", ")].concat()));
    }
    let uetrs = listed(call, "uetrs");
    if uetrs.len() > SUBJECTS_MAX {
        return Err(words::wrong("uetrs", "may have at most 100 members"));
    }
    let uetrs = uetrs.iter().map(|text| Uetr::parse(text).map(|uetr| uetr.as_str().to_owned()));
    let uetrs = uetrs.collect::<Result<Vec<String>, _>>();
    let uetrs = uetrs.map_err(|_| words::wrong("uetrs", "must be UUIDs with commas between"))?;
    Ok(Answer::stream(names, uetrs))
}

fn listed(call: &Call, name: &str) -> Vec<String> {
    let names = call.query(name).unwrap_or_default().split(',').map(str::trim);
    names.filter(|name| !name.is_empty()).map(str::to_owned).collect()
}
