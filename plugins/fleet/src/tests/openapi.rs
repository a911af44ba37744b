//! The OpenAPI document is joined from its parts: this test fails where it is stale, and writes it with `UPDATE_DOCS=1`.
//!
//! `openapi/*.json` are written by hand, one for each area; `openapi.json` is what the plugin carries. Invariant: what two
//! parts call by one name is the same in both.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

const PARTS: [&str; 5] = ["base", "orders", "drivers", "resources", "tracking"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// Members of both; what both have is joined in turn.
fn join(into: &mut Map<String, Value>, part: Map<String, Value>, place: &str) {
    for (name, value) in part {
        let place = format!("{place}/{name}");
        match (into.get_mut(&name), value) {
            (None, value) => {
                into.insert(name, value);
            }
            (Some(Value::Object(known)), Value::Object(more)) => join(known, more, &place),
            (Some(known), value) => assert_eq!(*known, value, "two parts disagree at {place}"),
        }
    }
}

fn joined() -> String {
    let mut whole = Map::new();
    for part in PARTS {
        let text = std::fs::read_to_string(folder().join(format!("openapi/{part}.json"))).expect(part);
        let part: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{part}: {error}"));
        join(&mut whole, part.as_object().expect("an object").clone(), "");
    }
    format!("{}\n", Value::Object(whole))
}

#[test]
fn the_document_is_joined_from_its_parts() {
    let (path, expected) = (folder().join("openapi.json"), joined());
    #[expect(clippy::disallowed_methods, reason = "says what the test does, not what the plugin does")]
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &expected).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == expected, "openapi.json is stale: run `UPDATE_DOCS=1 cargo test -p fleet --lib openapi::`");
}
