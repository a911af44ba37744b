//! The answer to a deletion: the same for every resource (research/fleet 5).

use serde::Serialize;
use tenon_plugin::{Answer, Call, Outcome, json, time};

#[derive(Serialize)]
struct Deleted<'a> {
    id: &'a str,
    object: &'a str,
    time: String,
    deleted: bool,
}

pub fn answer(call: &Call, id: &str, object: &str) -> Outcome {
    Ok(Answer::ok(json::to_text(&Deleted { id, object, time: time::to_text(call.now()), deleted: true })?))
}
