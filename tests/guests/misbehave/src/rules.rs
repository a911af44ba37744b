//! Invalid arguments of host functions. Each call traps with a message, with two exceptions: a huge body is refused,
//! and a counter may have any name.

use crate::{
    Outcome, Route, commit,
    tenon::plugin::{
        events, ids,
        records::{self, Comparison, Condition, Query, Sort, Value},
    },
};

pub const ROUTES: &[Route] = &[
    ("undeclared-event", |_| commit(format!("{:?}", events::emit("thing.exploded", "1", "{}")))),
    ("payload-not-json", |_| commit(format!("{:?}", events::emit("thing.changed", "1", "{not json")))),
    ("undeclared-collection", |_| commit(format!("{:?}", records::get("secrets", "1")))),
    ("collection-of-sql", |_| commit(format!("{:?}", records::get("things\"; DROP TABLE things; --", "1")))),
    ("body-not-json", |_| insert("1", "{not json")),
    ("body-two-texts", |_| insert("1", "{} {}")),
    ("body-deep", |_| insert("1", &nested(100_000))),
    ("body-huge", |_| insert("1", &format!(r#"{{"text":"{}"}}"#, "x".repeat(4 << 20)))),
    ("indexed-value-huge", |_| insert("1", &format!(r#"{{"colour":"{}"}}"#, "x".repeat(100_000)))),
    ("indexed-value-nul", |_| insert("1", r#"{"colour":"a\u0000b"}"#)),
    ("id-empty", |_| insert("", "{}")),
    ("id-nul", |_| insert("a\0b", "{}")),
    ("id-huge", |_| insert(&"x".repeat(1 << 20), "{}")),
    ("undeclared-sort", |_| find(Vec::new(), "weight")),
    ("undeclared-condition", |_| find(vec![equal("weight")], "@id")),
    ("field-of-sql", |_| find(vec![equal("colour') OR 1=1 --")], "@id")),
    ("counter-of-sql", |_| commit(ids::next("'; DROP TABLE counters; --").to_string())),
];

/// Returns JSON of nested arrays with this number of levels.
pub fn nested(levels: usize) -> String {
    let mut text = "[".repeat(levels);
    text.push_str(&"]".repeat(levels));
    text
}

fn insert(id: &str, body: &str) -> Outcome {
    let written = records::insert("things", id, body);
    commit(format!(r#"{{"written":{}}}"#, written.is_ok()))
}

fn equal(field: &str) -> Condition {
    Condition { field: field.to_owned(), comparison: Comparison::Equal(Value::Integer(1)) }
}

fn find(conditions: Vec<Condition>, sort: &str) -> Outcome {
    let sort = vec![Sort { field: sort.to_owned(), descending: false }];
    let page = records::find("things", &Query { conditions, sort, after: None, offset: 0, limit: 10 });
    commit(format!(r#"{{"found":{}}}"#, page.is_ok_and(|page| !page.entries.is_empty())))
}
