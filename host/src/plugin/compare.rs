//! Compares two manifests: the changes for callers and for the data if a new generation replaced the serving one.
//!
//! Pure. Finds all differences at once. `reload` decides whether a difference is allowed, by the options of the
//! operator. The database checks whether the stored data can be read.

use std::collections::BTreeMap;

use crate::manifest::{Manifest, Route};

/// Effect of a difference on the swap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Reported; does not prevent the swap.
    Note,
    /// Existing callers or scheduled tasks may fail, access widens, or stored data may be unreadable. Prevents the swap
    /// unless the operator allows it.
    Breaking,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    pub severity: Severity,
    pub text: String,
}

impl Difference {
    fn new(severity: Severity, text: String) -> Difference {
        Difference { severity, text }
    }
}

/// Returns all differences, the most severe first.
pub fn compare(old: &Manifest, new: &Manifest) -> Vec<Difference> {
    let mut differences = Vec::new();
    compare_versions(old, new, &mut differences);
    compare_routes(old, new, &mut differences);
    compare_authentication(old, new, &mut differences);
    compare_events(old, new, &mut differences);
    compare_tasks(old, new, &mut differences);
    compare_collections(old, new, &mut differences);
    differences.sort_by_key(|difference| std::cmp::Reverse(difference.severity));
    differences
}

fn compare_versions(old: &Manifest, new: &Manifest, differences: &mut Vec<Difference>) {
    let parsed = |manifest: &Manifest| semver::Version::parse(&manifest.version).ok();
    if let (Some(was), Some(is)) = (parsed(old), parsed(new))
        && is < was
    {
        differences
            .push(Difference::new(Severity::Breaking, format!("version {is} is lower than {was}, which serves")));
    }
    let reads_from = new.reads_data_from.unwrap_or(new.data_version);
    if old.data_version < reads_from || old.data_version > new.data_version {
        let (written, reads_to) = (old.data_version, new.data_version);
        let text = format!("data of version {written} may have been written, it reads {reads_from} to {reads_to}");
        differences.push(Difference::new(Severity::Breaking, text));
    } else if old.data_version < new.data_version {
        let text = format!("writes data version {} (was {})", new.data_version, old.data_version);
        differences.push(Difference::new(Severity::Note, text));
    }
}

fn compare_routes(old: &Manifest, new: &Manifest, differences: &mut Vec<Difference>) {
    let new_routes = by_operation(new);
    for (operation, was) in by_operation(old) {
        match new_routes.get(operation) {
            Some(is) => compare_route(was, is, differences),
            None => {
                let text = format!("operation {operation} ({} {}) is gone", was.method, was.path);
                differences.push(Difference::new(Severity::Breaking, text));
            }
        }
    }
    let old_routes = by_operation(old);
    for (operation, is) in new_routes {
        if !old_routes.contains_key(operation) {
            let text = format!("operation {operation} ({} {}) is new", is.method, is.path);
            differences.push(Difference::new(Severity::Note, text));
        }
    }
}

fn by_operation(manifest: &Manifest) -> BTreeMap<&str, &Route> {
    manifest.routes.iter().map(|route| (route.operation.as_str(), route)).collect()
}

fn compare_route(was: &Route, is: &Route, differences: &mut Vec<Difference>) {
    let operation = &is.operation;
    let mut add_breaking =
        |text: String| differences.push(Difference::new(Severity::Breaking, format!("operation {operation}: {text}")));
    if was.method != is.method {
        add_breaking(format!("method {} (was {})", is.method, was.method));
    }
    if was.path != is.path {
        add_breaking(format!("path {} (was {})", is.path, was.path));
    }
    match (was.open, is.open) {
        (true, false) => add_breaking("requires a key now".into()),
        (false, true) => add_breaking("is open to all callers now".into()),
        _ => {}
    }
    match (&was.key_parameter, &is.key_parameter) {
        (was, is) if was == is => {}
        (_, Some(name)) => add_breaking(format!("requires a token in the parameter \"{name}\" now")),
        (_, None) => add_breaking("accepts keys now, and no token in its path".into()),
    }
    for scope in is.scopes.iter().filter(|scope| !was.scopes.contains(scope)) {
        add_breaking(format!("requires scope \"{scope}\" now"));
    }
    for scope in was.scopes.iter().filter(|scope| !is.scopes.contains(scope)) {
        add_breaking(format!("no longer requires scope \"{scope}\""));
    }
}

fn compare_authentication(old: &Manifest, new: &Manifest, differences: &mut Vec<Difference>) {
    let (was, is) = (&old.authentication, &new.authentication);
    let credentials = [
        ("an API key", was.api_keys, is.api_keys),
        ("an OAuth token", was.oauth, is.oauth),
        ("a token that the plugin issued", was.tokens, is.tokens),
        ("a key as user name", was.basic_user, is.basic_user),
        ("a key in its former header", was.header.is_some(), was.header.is_none() || was.header == is.header),
        ("a key in its former query parameter", was.query.is_some(), was.query.is_none() || was.query == is.query),
    ];
    for (credential, accepted, accepts) in credentials {
        if accepted && !accepts {
            differences.push(Difference::new(Severity::Breaking, format!("{credential} is no longer accepted")));
        }
    }
    let new_places = [
        (is.basic_user && !was.basic_user).then(|| "as user name".to_owned()),
        is.header.as_ref().filter(|_| was.header != is.header).map(|name| format!("in the header {name}")),
        is.query.as_ref().filter(|_| was.query != is.query).map(|name| format!("in the query parameter {name}")),
    ];
    let accepted_credentials = [
        ("API keys", was.api_keys, is.api_keys),
        ("OAuth tokens", was.oauth, is.oauth),
        ("tokens that the plugin issued", was.tokens, is.tokens),
    ];
    for (credential, _, _) in accepted_credentials.into_iter().filter(|(_, accepted, accepts)| *accepts && !*accepted) {
        differences.push(Difference::new(Severity::Breaking, format!("{credential} are accepted now")));
    }
    for credential in new_places.into_iter().flatten() {
        differences.push(Difference::new(Severity::Breaking, format!("a key is accepted {credential} now")));
    }
}

fn compare_events(old: &Manifest, new: &Manifest, differences: &mut Vec<Difference>) {
    for event in &old.event_types {
        match new.event_types.iter().find(|other| other.name == event.name) {
            None => differences.push(Difference::new(Severity::Breaking, format!("event type {} is gone", event.name))),
            Some(other) if other.schema != event.schema => {
                differences
                    .push(Difference::new(Severity::Note, format!("event type {} has another schema", event.name)));
            }
            Some(_) => {}
        }
    }
}

fn compare_tasks(old: &Manifest, new: &Manifest, differences: &mut Vec<Difference>) {
    for task in old.tasks.iter().filter(|task| new.tasks.iter().all(|other| other.name != task.name)) {
        let text = format!("task {} is gone; scheduled ones would fail", task.name);
        differences.push(Difference::new(Severity::Breaking, text));
    }
}

fn compare_collections(old: &Manifest, new: &Manifest, differences: &mut Vec<Difference>) {
    for collection in &new.collections {
        let name = &collection.name;
        let Some(was) = old.collections.iter().find(|other| other.name == *name) else {
            differences.push(Difference::new(Severity::Note, format!("collection {name} is new")));
            continue;
        };
        for index in collection.indexes.iter().filter(|index| !was.indexes.contains(index)) {
            let kind = if index.unique { "unique index" } else { "index" };
            let text = format!("{kind} {} of {name} has to be built over what is stored", index.name);
            differences.push(Difference::new(Severity::Note, text));
        }
    }
    for was in old.collections.iter().filter(|was| new.collections.iter().all(|is| is.name != was.name)) {
        let text = format!("collection {} is no longer declared; its records stay", was.name);
        differences.push(Difference::new(Severity::Note, text));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::plugin::guest;

    fn rich() -> Value {
        let mut manifest = guest::manifest("1.2.0");
        manifest["data-version"] = json!(2);
        manifest["routes"][0]["scopes"] = json!(["read"]);
        manifest["authentication"] = json!({"basic-user": true, "header": "x-api-key"});
        manifest["event-types"] = json!([{"name": "note.made"}]);
        manifest["tasks"] = json!([{"name": "ring"}]);
        manifest["collections"] = json!([{"name": "notes", "indexes": [{"name": "by-day", "fields": ["day"]}]}]);
        manifest
    }

    fn differences(change: impl FnOnce(&mut Value)) -> Vec<Difference> {
        let mut new = rich();
        change(&mut new);
        let parse = |value| serde_json::from_value::<Manifest>(value).unwrap();
        compare(&parse(rich()), &parse(new))
    }

    #[track_caller]
    fn assert_difference(severity: Severity, part: &str, change: impl FnOnce(&mut Value)) {
        let differences = differences(change);
        assert!(
            differences.len() == 1 && differences[0].severity == severity && differences[0].text.contains(part),
            "{differences:?}"
        );
    }

    #[test]
    fn equal_manifests_have_no_differences() {
        assert_eq!(differences(|_| ()), []);
    }

    #[test]
    fn loss_for_callers_is_breaking() {
        assert_difference(Severity::Breaking, "lower than 1.2.0", |m| m["version"] = json!("1.1.9"));
        assert_difference(Severity::Breaking, "method POST (was GET)", |m| m["routes"][0]["method"] = json!("POST"));
        assert_difference(Severity::Breaking, "path /v2/notes", |m| m["routes"][0]["path"] = json!("/v2/notes"));
        assert_difference(Severity::Breaking, "event type note.made is gone", |m| m["event-types"] = json!([]));
        assert_difference(Severity::Breaking, "task ring is gone", |m| m["tasks"] = json!([]));
        assert_difference(Severity::Breaking, "user name is no longer", |m| {
            m["authentication"]["basic-user"] = json!(false)
        });
    }

    #[test]
    fn changes_of_authentication_are_breaking_in_both_directions() {
        assert_difference(Severity::Breaking, "requires scope \"write\" now", |m| {
            m["routes"][0]["scopes"] = json!(["read", "write"])
        });
        assert_difference(Severity::Breaking, "no longer requires scope \"read\"", |m| {
            m["routes"][0]["scopes"] = json!([])
        });
        assert_difference(Severity::Breaking, "open to all callers now", |m| m["routes"][0]["open"] = json!(true));
        assert_difference(Severity::Breaking, "requires a token in the parameter \"id\" now", |m| {
            m["routes"][0]["key-parameter"] = json!("id");
        });
        assert_difference(Severity::Breaking, "OAuth tokens are accepted now", |m| {
            m["authentication"]["oauth"] = json!(true)
        });
        assert_difference(Severity::Breaking, "an API key is no longer", |m| {
            m["authentication"]["api-keys"] = json!(false)
        });
        assert_difference(Severity::Breaking, "query parameter key now", |m| {
            m["authentication"]["query"] = json!("key")
        });
    }

    #[test]
    fn renamed_operation_is_a_removed_and_a_new_one_with_the_removal_first() {
        let differences = differences(|m| m["routes"][0]["operation"] = json!("show-notes"));
        assert_eq!(differences.iter().map(|d| d.severity).collect::<Vec<_>>(), [Severity::Breaking, Severity::Note]);
    }

    #[test]
    fn data_version_that_may_be_unreadable_is_breaking() {
        assert_difference(Severity::Breaking, "it reads 3 to 3", |m| m["data-version"] = json!(3));
        assert_difference(Severity::Breaking, "it reads 1 to 1", |m| m["data-version"] = json!(1));
    }

    #[test]
    fn new_index_and_newer_readable_data_version_are_notes() {
        assert_difference(Severity::Note, "writes data version 3", |m| {
            m["data-version"] = json!(3);
            m["reads-data-from"] = json!(2);
        });
        assert_difference(Severity::Note, "has to be built", |m| {
            m["collections"][0]["indexes"] =
                json!([{"name": "by-day", "fields": ["day"]}, {"name": "by-id", "fields": ["@id"], "unique": true}]);
        });
    }
}
