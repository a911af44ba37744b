//! Routes that keep to the rules, for tests of contention and of what is left after a misdeed.

use crate::{
    Misdeed, Outcome, Request, commit, number, refuse,
    tenon::plugin::{events, records},
};

const HOT: &str = "hot";

pub const ROUTES: &[Misdeed] = &[
    ("ok", |_| refuse(200, r#"{"ok":true}"#)),
    ("counter", |_| count(HOT, r#""colour":"green","#)),
    ("many", many),
    ("read", read),
    ("grab-label", grab_label),
];

/// Reads, adds one, writes, and emits the new count: a lost update would show.
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

/// Reads and writes `?count=500` records and the hot one: loses against short calls unless the host gives it its turn.
fn many(request: &Request) -> Outcome {
    for item in 0..number(request, "count", 500) {
        count(&format!("many-{item}"), "")?;
    }
    count(HOT, r#""colour":"green","#)
}

/// `?id=…`: the body of the record, or 404.
fn read(request: &Request) -> Outcome {
    let id = request.query.iter().find(|pair| pair.name == "id").map_or("", |pair| &pair.value);
    match records::get("things", id) {
        Some(entry) => refuse(200, entry.body),
        None => refuse(404, r#"{"error":"no such thing"}"#),
    }
}

/// Inserts a new record under the one label `?label=N`: of many such calls one wins, the others are told so.
fn grab_label(request: &Request) -> Outcome {
    let label = number(request, "label", 1);
    let body = format!(r#"{{"label":"label-{label}"}}"#);
    match records::insert("things", &format!("label-of-{}", request.id), &body) {
        Ok(()) => commit(body),
        Err(refusal) => refuse(409, format!(r#"{{"refusal":{:?}}}"#, format!("{refusal:?}"))),
    }
}
