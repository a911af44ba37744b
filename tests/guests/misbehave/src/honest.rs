//! Routes that follow the rules, for tests of contention and of the state after a violation.

use crate::{
    Outcome, Request, Route, commit, number, refuse,
    tenon::plugin::{events, records},
};

const HOT: &str = "hot";

pub const ROUTES: &[Route] = &[
    ("ok", |_| refuse(200, r#"{"ok":true}"#)),
    ("counter", |_| count(HOT, r#""colour":"green","#)),
    ("many", many),
    ("read", read),
    ("grab-label", grab_label),
];

/// Reads, adds one, writes, and emits the new count, so that a test detects a lost update.
fn count(id: &str, extra: &str) -> Outcome {
    let before = records::get("things", id);
    let count = before.as_ref().map_or(0, |entry| count_of(&entry.body)) + 1;
    let body = format!(r#"{{{extra}"count":{count}}}"#);
    let written = match before {
        Some(_) => records::replace("things", id, &body),
        None => records::insert("things", id, &body),
    };
    match written {
        Ok(()) => {
            events::emit("thing.changed", id, &format!(r#"{{"count":{count}}}"#));
            commit(body)
        }
        Err(refusal) => refuse(409, format!(r#"{{"refusal":{:?}}}"#, format!("{refusal:?}"))),
    }
}

fn count_of(body: &str) -> u64 {
    let digits = body.split_once("\"count\":").map_or("", |(_, rest)| rest);
    digits.trim_end_matches('}').parse().unwrap_or(0)
}

/// Reads and writes `?count=500` records and the hot one. It conflicts with short calls until the host reserves a
/// commit for it.
fn many(request: &Request) -> Outcome {
    for item in 0..number(request, "count", 500) {
        count(&format!("many-{item}"), "")?;
    }
    count(HOT, r#""colour":"green","#)
}

/// Answers with the body of the record `?id=…`, or 404.
fn read(request: &Request) -> Outcome {
    let id = request.query.iter().find(|pair| pair.name == "id").map_or("", |pair| &pair.value);
    match records::get("things", id) {
        Some(entry) => refuse(200, entry.body),
        None => refuse(404, r#"{"error":"no such thing"}"#),
    }
}

/// Inserts a new record with the unique label `?label=N`. Of concurrent calls with the same label, one commits and the
/// others are refused.
fn grab_label(request: &Request) -> Outcome {
    let label = number(request, "label", 1);
    let body = format!(r#"{{"label":"label-{label}"}}"#);
    match records::insert("things", &format!("label-of-{}", request.id), &body) {
        Ok(()) => commit(body),
        Err(refusal) => refuse(409, format!(r#"{{"refusal":{:?}}}"#, format!("{refusal:?}"))),
    }
}
