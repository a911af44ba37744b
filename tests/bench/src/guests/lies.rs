//! Manifests that must never be published, each with the word that its refusal has to name.
//!
//! Owns the list; a test writes each into `chameleon` and has it checked or deployed. Every one differs from a sound
//! manifest in a single point.

use serde_json::{Value, json};

use super::chameleon_manifest;

pub struct Lie {
    pub name: &'static str,
    /// For [`super::chameleon`].
    pub manifest: String,
    /// Stands in the reason, so that an author knows where to look.
    pub named: &'static str,
}

/// Name, pointer into the manifest (its last part may be new), value, word.
type Edit = (&'static str, &'static str, fn() -> Value, &'static str);

const EDITS: &[Edit] = &[
    ("unknown member", "/frobnicate", || json!(1), "frobnicate"),
    ("unknown member of a route", "/routes/0/cacheable", || json!(true), "cacheable"),
    ("another plugin's name", "/name", || json!("impostor"), "impostor"),
    ("another contract", "/contract", || json!("0.2"), "0.2"),
    ("version that is none", "/version", || json!("newest"), "newest"),
    ("method that no host serves", "/routes/0/method", || json!("FETCH"), "FETCH"),
    ("path without a slash", "/routes/0/path", || json!("v1/version"), "v1/version"),
    ("path with an open brace", "/routes/0/path", || json!("/v1/{version"), "/v1/{version"),
    ("page of the host", "/routes/0/path", || json!("/docs"), "/docs"),
    ("route that is there already", "/routes/0/path", || json!("/v1/slow"), "/v1/slow"),
    ("operation that is there already", "/routes/0/operation", || json!("slow"), "slow"),
    ("header with a credential", "/routes/0/headers", || json!(["authorization"]), "authorization"),
    ("context that no host knows", "/routes/0/context", || json!(["moon-phase"]), "moon-phase"),
    ("failure that no host knows", "/failures", || json!({ "bored": { "status": 400, "body": {} } }), "bored"),
    (
        "failure with a status that is none",
        "/failures",
        || json!({ "not-found": { "status": 42, "body": {} } }),
        "not-found",
    ),
    ("collection named for the database", "/collections", || json!([{ "name": "a\"; DROP" }]), "DROP"),
    (
        "collection that is there already",
        "/collections",
        || json!([{ "name": "things" }, { "name": "things" }]),
        "things",
    ),
    (
        "index without a field",
        "/collections",
        || json!([{ "name": "things", "indexes": [{ "name": "by-nothing", "fields": [] }] }]),
        "by-nothing",
    ),
    (
        "index over what is no path",
        "/collections",
        || json!([{ "name": "things", "indexes": [{ "name": "by-sql", "fields": ["a') --"] }] }]),
        "by-sql",
    ),
    ("event type that is there already", "/event-types", || json!([{ "name": "a" }, { "name": "a" }]), "a"),
    ("reads data that is newer than its own", "/reads-data-from", || json!(9), "9"),
];

/// Texts that make `describe` itself misbehave; there is nothing to name but that it did.
pub const MISDEEDS_IN_DESCRIBE: &[&str] =
    &["!panic", "!trap", "!loop", "!allocate", "!recurse", "!huge", "!import", "{not json", "null", "[]", ""];

pub fn lies() -> Vec<Lie> {
    let edited = |(name, pointer, value, named): &Edit| {
        let mut manifest = chameleon_manifest();
        put(&mut manifest, pointer, value());
        Lie { name, manifest: manifest.to_string(), named }
    };
    EDITS.iter().map(edited).collect()
}

/// The last part of the pointer is a member that may not be there yet.
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
    fn every_lie_differs_from_the_truth_and_names_where() {
        let truth = chameleon_manifest().to_string();
        for lie in lies() {
            assert_ne!(lie.manifest, truth, "{} changes nothing", lie.name);
            assert!(lie.manifest.contains(lie.named), "{} does not contain its word", lie.name);
        }
    }
}
