//! What would change for callers and for the data if a new generation took over from the one that serves.
//!
//! Pure: two manifests in, sentences out. Finds everything at once; whether a difference may pass is decided in
//! `reload`, by what the operator said. Whether what was really written can be read is the database's question.

use std::collections::BTreeMap;

use crate::manifest::{Manifest, Route};

/// What a difference means for the swap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// Worth a line; passes.
    Note,
    /// Callers of today may fail: passes only when the operator says so.
    Breaking,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    pub weight: Weight,
    pub text: String,
}

impl Difference {
    fn new(weight: Weight, text: String) -> Difference {
        Difference { weight, text }
    }
}

/// Every difference, the heaviest first.
pub fn compare(old: &Manifest, new: &Manifest) -> Vec<Difference> {
    let mut found = Vec::new();
    compare_versions(old, new, &mut found);
    compare_routes(old, new, &mut found);
    compare_authentication(old, new, &mut found);
    compare_events(old, new, &mut found);
    compare_tasks(old, new, &mut found);
    compare_collections(old, new, &mut found);
    found.sort_by_key(|difference| std::cmp::Reverse(difference.weight));
    found
}

fn compare_versions(old: &Manifest, new: &Manifest, found: &mut Vec<Difference>) {
    let parsed = |manifest: &Manifest| semver::Version::parse(&manifest.version).ok();
    if let (Some(was), Some(is)) = (parsed(old), parsed(new))
        && is < was
    {
        found.push(Difference::new(Weight::Breaking, format!("version {is} is lower than {was}, which serves")));
    }
    let reads_from = new.reads_data_from.unwrap_or(new.data_version);
    if old.data_version < reads_from || old.data_version > new.data_version {
        let (written, reads_to) = (old.data_version, new.data_version);
        let text = format!("data of version {written} may have been written, it reads {reads_from} to {reads_to}");
        found.push(Difference::new(Weight::Breaking, text));
    } else if old.data_version < new.data_version {
        let text = format!("writes data version {} (was {})", new.data_version, old.data_version);
        found.push(Difference::new(Weight::Note, text));
    }
}

fn compare_routes(old: &Manifest, new: &Manifest, found: &mut Vec<Difference>) {
    let serves = by_operation(new);
    for (operation, was) in by_operation(old) {
        match serves.get(operation) {
            Some(is) => compare_route(was, is, found),
            None => {
                let text = format!("operation {operation} ({} {}) is gone", was.method, was.path);
                found.push(Difference::new(Weight::Breaking, text));
            }
        }
    }
    let served = by_operation(old);
    for (operation, is) in serves {
        if !served.contains_key(operation) {
            let text = format!("operation {operation} ({} {}) is new", is.method, is.path);
            found.push(Difference::new(Weight::Note, text));
        }
    }
}

fn by_operation(manifest: &Manifest) -> BTreeMap<&str, &Route> {
    manifest.routes.iter().map(|route| (route.operation.as_str(), route)).collect()
}

fn compare_route(was: &Route, is: &Route, found: &mut Vec<Difference>) {
    let operation = &is.operation;
    let mut breaks =
        |text: String| found.push(Difference::new(Weight::Breaking, format!("operation {operation}: {text}")));
    if was.method != is.method {
        breaks(format!("method {} (was {})", is.method, was.method));
    }
    if was.path != is.path {
        breaks(format!("path {} (was {})", is.path, was.path));
    }
    match (was.open, is.open) {
        (true, false) => breaks("wants a key now".into()),
        (false, true) => breaks("is open to everybody now".into()),
        _ => {}
    }
    match (&was.key_parameter, &is.key_parameter) {
        (was, is) if was == is => {}
        (_, Some(name)) => breaks(format!("wants a token in the parameter \"{name}\" now")),
        (_, None) => breaks("takes keys now, and no token in its path any longer".into()),
    }
    for scope in is.scopes.iter().filter(|scope| !was.scopes.contains(scope)) {
        breaks(format!("wants scope \"{scope}\" now"));
    }
    for scope in was.scopes.iter().filter(|scope| !is.scopes.contains(scope)) {
        breaks(format!("wants scope \"{scope}\" no longer"));
    }
}

fn compare_authentication(old: &Manifest, new: &Manifest, found: &mut Vec<Difference>) {
    let (was, is) = (&old.authentication, &new.authentication);
    let places = [
        ("an API key", was.api_keys, is.api_keys),
        ("a token of OAuth", was.oauth, is.oauth),
        ("a token of the plugin", was.tokens, is.tokens),
        ("a key as user name", was.basic_user, is.basic_user),
        ("a key in its former header", was.header.is_some(), was.header.is_none() || was.header == is.header),
        ("a key in its former query parameter", was.query.is_some(), was.query.is_none() || was.query == is.query),
    ];
    for (place, accepted, accepts) in places {
        if accepted && !accepts {
            found.push(Difference::new(Weight::Breaking, format!("{place} is no longer accepted")));
        }
    }
    let looser = [
        (is.basic_user && !was.basic_user).then(|| "as user name".to_owned()),
        is.header.as_ref().filter(|_| was.header != is.header).map(|name| format!("in the header {name}")),
        is.query.as_ref().filter(|_| was.query != is.query).map(|name| format!("in the query parameter {name}")),
    ];
    let ways = [
        ("API keys open", was.api_keys, is.api_keys),
        ("tokens of OAuth open", was.oauth, is.oauth),
        ("tokens of the plugin open", was.tokens, is.tokens),
    ];
    for (way, _, _) in ways.into_iter().filter(|(_, accepted, accepts)| *accepts && !*accepted) {
        found.push(Difference::new(Weight::Breaking, format!("{way} it now")));
    }
    for place in looser.into_iter().flatten() {
        found.push(Difference::new(Weight::Breaking, format!("a key may stand {place} now")));
    }
}

fn compare_events(old: &Manifest, new: &Manifest, found: &mut Vec<Difference>) {
    for event in &old.event_types {
        match new.event_types.iter().find(|other| other.name == event.name) {
            None => found.push(Difference::new(Weight::Breaking, format!("event type {} is gone", event.name))),
            Some(other) if other.schema != event.schema => {
                found.push(Difference::new(Weight::Note, format!("event type {} has another schema", event.name)));
            }
            Some(_) => {}
        }
    }
}

fn compare_tasks(old: &Manifest, new: &Manifest, found: &mut Vec<Difference>) {
    for task in old.tasks.iter().filter(|task| new.tasks.iter().all(|other| other.name != task.name)) {
        let text = format!("task {} is gone; those that wait would fail", task.name);
        found.push(Difference::new(Weight::Breaking, text));
    }
}

fn compare_collections(old: &Manifest, new: &Manifest, found: &mut Vec<Difference>) {
    for collection in &new.collections {
        let name = &collection.name;
        let Some(was) = old.collections.iter().find(|other| other.name == *name) else {
            found.push(Difference::new(Weight::Note, format!("collection {name} is new")));
            continue;
        };
        for index in collection.indexes.iter().filter(|index| !was.indexes.contains(index)) {
            let kind = if index.unique { "unique index" } else { "index" };
            let text = format!("{kind} {} of {name} has to be built over what is stored", index.name);
            found.push(Difference::new(Weight::Note, text));
        }
    }
    for was in old.collections.iter().filter(|was| new.collections.iter().all(|is| is.name != was.name)) {
        let text = format!("collection {} is no longer declared; its records stay", was.name);
        found.push(Difference::new(Weight::Note, text));
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
    fn says(weight: Weight, part: &str, change: impl FnOnce(&mut Value)) {
        let found = differences(change);
        assert!(found.len() == 1 && found[0].weight == weight && found[0].text.contains(part), "{found:?}");
    }

    #[test]
    fn nothing_changed_is_no_difference() {
        assert_eq!(differences(|_| ()), []);
    }

    #[test]
    fn what_callers_lose_is_breaking() {
        says(Weight::Breaking, "lower than 1.2.0", |m| m["version"] = json!("1.1.9"));
        says(Weight::Breaking, "method POST (was GET)", |m| m["routes"][0]["method"] = json!("POST"));
        says(Weight::Breaking, "path /v2/notes", |m| m["routes"][0]["path"] = json!("/v2/notes"));
        says(Weight::Breaking, "event type note.made is gone", |m| m["event-types"] = json!([]));
        says(Weight::Breaking, "task ring is gone", |m| m["tasks"] = json!([]));
        says(Weight::Breaking, "user name is no longer", |m| m["authentication"]["basic-user"] = json!(false));
    }

    #[test]
    fn authentication_may_become_neither_tighter_nor_looser_unnoticed() {
        says(Weight::Breaking, "wants scope \"write\" now", |m| m["routes"][0]["scopes"] = json!(["read", "write"]));
        says(Weight::Breaking, "wants scope \"read\" no longer", |m| m["routes"][0]["scopes"] = json!([]));
        says(Weight::Breaking, "open to everybody now", |m| m["routes"][0]["open"] = json!(true));
        says(Weight::Breaking, "wants a token in the parameter \"id\" now", |m| {
            m["routes"][0]["key-parameter"] = json!("id");
        });
        says(Weight::Breaking, "tokens of OAuth open it now", |m| m["authentication"]["oauth"] = json!(true));
        says(Weight::Breaking, "an API key is no longer", |m| m["authentication"]["api-keys"] = json!(false));
        says(Weight::Breaking, "query parameter key now", |m| m["authentication"]["query"] = json!("key"));
    }

    #[test]
    fn a_renamed_operation_is_one_gone_and_one_new_with_the_loss_first() {
        let found = differences(|m| m["routes"][0]["operation"] = json!("show-notes"));
        assert_eq!(found.iter().map(|d| d.weight).collect::<Vec<_>>(), [Weight::Breaking, Weight::Note]);
    }

    #[test]
    fn what_might_not_read_the_data_is_breaking() {
        says(Weight::Breaking, "it reads 3 to 3", |m| m["data-version"] = json!(3));
        says(Weight::Breaking, "it reads 1 to 1", |m| m["data-version"] = json!(1));
    }

    #[test]
    fn a_new_index_and_a_newer_readable_data_version_are_notes() {
        says(Weight::Note, "writes data version 3", |m| {
            m["data-version"] = json!(3);
            m["reads-data-from"] = json!(2);
        });
        says(Weight::Note, "has to be built", |m| {
            m["collections"][0]["indexes"] =
                json!([{"name": "by-day", "fields": ["day"]}, {"name": "by-id", "fields": ["@id"], "unique": true}]);
        });
    }
}
