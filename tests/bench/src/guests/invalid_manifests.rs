//! Manifests that must never be published, each with the text that its error has to contain.
//!
//! Owns the list. A test writes each manifest into `chameleon`, which is then checked or deployed. Each differs
//! from a valid manifest in a single point.

use serde_json::{Value, json};

use super::chameleon_manifest;

pub struct InvalidManifest {
    pub name: &'static str,
    /// Argument of [`super::chameleon`].
    pub manifest: String,
    /// Text that the reason has to contain, so that an author finds the mistake.
    pub expected: &'static str,
}

/// Name, pointer into the manifest (its last part may be new), value, expected text.
type Edit = (&'static str, &'static str, fn() -> Value, &'static str);

const EDITS: &[Edit] = &[
    ("unknown member", "/frobnicate", || json!(1), "frobnicate"),
    ("unknown member of a route", "/routes/0/cacheable", || json!(true), "cacheable"),
    ("another plugin's name", "/name", || json!("impostor"), "impostor"),
    ("another contract", "/contract", || json!("0.2"), "0.2"),
    ("invalid version", "/version", || json!("newest"), "newest"),
    ("unsupported method", "/routes/0/method", || json!("FETCH"), "FETCH"),
    ("path without a slash", "/routes/0/path", || json!("v1/version"), "v1/version"),
    ("path with an open brace", "/routes/0/path", || json!("/v1/{version"), "/v1/{version"),
    ("reserved path of the host", "/routes/0/path", || json!("/docs"), "/docs"),
    ("duplicate route", "/routes/0/path", || json!("/v1/slow"), "/v1/slow"),
    ("duplicate operation", "/routes/0/operation", || json!("slow"), "slow"),
    ("header with a credential", "/routes/0/headers", || json!(["authorization"]), "authorization"),
    ("unknown context", "/routes/0/context", || json!(["moon-phase"]), "moon-phase"),
    ("unknown failure", "/failures", || json!({ "bored": { "status": 400, "body": {} } }), "bored"),
    (
        "failure with an invalid status",
        "/failures",
        || json!({ "not-found": { "status": 42, "body": {} } }),
        "not-found",
    ),
    ("collection name with SQL", "/collections", || json!([{ "name": "a\"; DROP" }]), "DROP"),
    ("duplicate collection", "/collections", || json!([{ "name": "things" }, { "name": "things" }]), "things"),
    (
        "index without a field",
        "/collections",
        || json!([{ "name": "things", "indexes": [{ "name": "by-nothing", "fields": [] }] }]),
        "by-nothing",
    ),
    (
        "index over an invalid path",
        "/collections",
        || json!([{ "name": "things", "indexes": [{ "name": "by-sql", "fields": ["a') --"] }] }]),
        "by-sql",
    ),
    ("duplicate event type", "/event-types", || json!([{ "name": "a" }, { "name": "a" }]), "a"),
    ("reads data newer than its own version", "/reads-data-from", || json!(9), "9"),
];

/// Arguments of [`super::chameleon`] that make `describe` fail or return no manifest. The error can only name
/// `describe` or the manifest.
pub const DESCRIBE_FAULTS: &[&str] =
    &["!panic", "!trap", "!loop", "!allocate", "!recurse", "!huge", "!import", "{not json", "null", "[]", ""];

pub fn all() -> Vec<InvalidManifest> {
    let edited = |(name, pointer, value, expected): &Edit| {
        let mut manifest = chameleon_manifest();
        put(&mut manifest, pointer, value());
        InvalidManifest { name, manifest: manifest.to_string(), expected }
    };
    EDITS.iter().map(edited).collect()
}

/// Sets a value. The last part of the pointer is a member that may be absent.
fn put(manifest: &mut Value, pointer: &str, value: Value) {
    let (parent, member) = pointer.rsplit_once('/').unwrap_or(("", pointer));
    if let Some(members) = manifest.pointer_mut(parent).and_then(Value::as_object_mut) {
        members.insert(member.to_owned(), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_invalid_manifest_differs_from_the_valid_one_and_contains_its_expected_text() {
        let valid = chameleon_manifest().to_string();
        for invalid in all() {
            assert_ne!(invalid.manifest, valid, "{} changes nothing", invalid.name);
            assert!(invalid.manifest.contains(invalid.expected), "{} does not contain its text", invalid.name);
        }
    }
}
