//! Whether a manifest makes sense on its own: names, versions, collections, events, wording. All mistakes at once.
//!
//! Pure. Whether it fits the plugin that serves now is `compare`'s question; whether it fits the data is the database's.

mod routes;
mod settings;
pub mod sizes;

use std::collections::HashSet;

use crate::manifest::{Collection, FailureWording, Index, Manifest};
use crate::{
    changes::envelope::Envelope,
    config::PluginConfig,
    failure::Failure,
    limits::{TASK_DELAY_MS_MAX, TASK_DELAYS_MAX, VERSION_BYTES_MAX},
    plugin::{grants, load::Offers, routes::ContextValue, wording::is_origin_header},
};

/// Everything that is wrong with the manifest of `plugin`, as sentences.
pub fn check(manifest: &Manifest, plugin: &str, config: &PluginConfig, offers: &Offers) -> Vec<String> {
    let mut found = Vec::new();
    check_identity(manifest, plugin, &mut found);
    sizes::check(manifest, &mut found);
    let ceilings = routes::Ceilings { body_bytes: offers.body_bytes_max, deadline_ms: config.limits.deadline_ms };
    routes::check(manifest, &ceilings, &mut found);
    if !offers.link_base {
        check_links(manifest, &mut found);
    }
    check_collections(&manifest.collections, &mut found);
    check_events(manifest, &mut found);
    check_tasks(manifest, config.limits.deadline_ms, &mut found);
    for (failure, wording) in &manifest.failures {
        check_wording(failure, wording, &mut found);
        for name in
            wording.headers.keys().filter(|name| is_origin_header(&name.to_ascii_lowercase(), &config.origin_headers))
        {
            found.push(format!(
                "failure \"{failure}\": the header {name} acts on the whole origin, and origin-headers in plugins.toml does not \
                 list it"
            ));
        }
    }
    if let Some(schema) = &manifest.settings {
        settings::check(plugin, schema, &config.settings, &mut found);
    }
    found
}

fn check_identity(manifest: &Manifest, plugin: &str, found: &mut Vec<String>) {
    if !grants::speaks(&manifest.contract) {
        let (theirs, ours) = (&manifest.contract, grants::CONTRACT);
        found.push(format!("its manifest was written for contract {theirs}, this host speaks {ours}"));
    }
    if manifest.name != plugin {
        found.push(format!("calls itself \"{}\", but stands in plugins.toml as \"{plugin}\"", manifest.name));
    }
    if manifest.version.len() > VERSION_BYTES_MAX {
        found.push(format!("its version has {} bytes; {VERSION_BYTES_MAX} are allowed", manifest.version.len()));
    } else if let Err(error) = semver::Version::parse(&manifest.version) {
        found.push(format!("version \"{}\" is no semantic version: {error}", manifest.version));
    }
    if manifest.data_version == 0 {
        found.push("data-version counts from 1".into());
    }
    let reads_from = manifest.reads_data_from.unwrap_or(manifest.data_version);
    if reads_from > manifest.data_version {
        let written = manifest.data_version;
        found.push(format!("reads data from version {reads_from} on, but writes version {written}"));
    }
    let takes = &manifest.authentication;
    if !takes.api_keys && !takes.oauth {
        found.push("takes neither API keys nor tokens: nobody could call it".into());
    }
    let scopes = manifest.routes.iter().flat_map(|route| &route.scopes);
    let cannot_be_said =
        |scope: &&String| !scope.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"\\".contains(&byte));
    for scope in scopes.filter(|_| takes.oauth).filter(cannot_be_said) {
        found.push(format!("takes tokens, and the scope {scope:?} cannot stand in one"));
    }
    if !takes.api_keys && (takes.basic_user || takes.header.is_some() || takes.query.is_some()) {
        found.push("says where an API key may stand, but takes none".into());
    }
    if let Some(document) = &manifest.openapi {
        let version = document.get("openapi").and_then(|value| value.as_str()).unwrap_or("");
        if !version.starts_with("3.1") {
            found.push("openapi is no OpenAPI 3.1 document".into());
        }
    }
}

/// A link without a host in front would lead nowhere.
fn check_links(manifest: &Manifest, found: &mut Vec<String>) {
    let name = ContextValue::BaseUrl.name();
    if let Some(route) = manifest.routes.iter().find(|route| route.context.iter().any(|wanted| wanted == name)) {
        let operation = &route.operation;
        found.push(format!("makes absolute links (\"{operation}\" and others): set `public-url` in plugins.toml"));
    }
}

fn check_collections(collections: &[Collection], found: &mut Vec<String>) {
    let mut names = HashSet::new();
    for collection in collections {
        let name = &collection.name;
        if !is_plain(name) {
            found.push(format!("collection \"{name}\": a name has lower case letters, digits and hyphens"));
        }
        if !names.insert(name) {
            found.push(format!("collection \"{name}\" is declared twice"));
        }
        let mut indexes = HashSet::new();
        for index in &collection.indexes {
            if !indexes.insert(&index.name) {
                found.push(format!("collection \"{name}\": index \"{}\" is declared twice", index.name));
            }
            check_index(name, index, found);
        }
    }
}

fn check_index(collection: &str, index: &Index, found: &mut Vec<String>) {
    let name = &index.name;
    if !is_plain(name) {
        found.push(format!(
            "collection \"{collection}\", index \"{name}\": a name has lower case letters, digits and hyphens"
        ));
    }
    if index.fields.is_empty() {
        found.push(format!("collection \"{collection}\", index \"{name}\" has no fields"));
    }
    for field in &index.fields {
        let of_the_host = matches!(field.as_str(), "@id" | "@created-at" | "@updated-at");
        let is_path = field.split('.').all(|part| !part.is_empty() && part.chars().all(is_word));
        if !of_the_host && !is_path {
            found.push(format!(
                "collection \"{collection}\", index \"{name}\": \"{field}\" is no path like \"customer.id\""
            ));
        }
    }
}

fn check_events(manifest: &Manifest, found: &mut Vec<String>) {
    let mut names = HashSet::new();
    let envelopes = manifest.event_types.iter().map(|event| &event.envelope);
    for envelope in envelopes.chain([&manifest.envelope]).flatten() {
        if let Err(reason) = Envelope::compile(envelope) {
            found.push(reason);
        }
    }
    for event in &manifest.event_types {
        let name = &event.name;
        if name.is_empty() || !name.chars().all(|c| is_word(c) || c == '.') {
            found.push(format!("event type \"{name}\": a name has letters, digits, '.', '_' and '-'"));
        }
        if !names.insert(name) {
            found.push(format!("event type \"{name}\" is declared twice"));
        }
    }
}

fn check_tasks(manifest: &Manifest, deadline_ms_max: u64, found: &mut Vec<String>) {
    let mut names = HashSet::new();
    for task in &manifest.tasks {
        let name = &task.name;
        if !is_plain(name) {
            found.push(format!("task \"{name}\": a name has lower case letters, digits and hyphens"));
        }
        if !names.insert(name) {
            found.push(format!("task \"{name}\" is declared twice"));
        }
        match task.deadline_ms {
            Some(0) => found.push(format!("task \"{name}\": a deadline of 0 ms leaves no time")),
            Some(ms) if ms > deadline_ms_max => {
                let most = format!("the plugin may have {deadline_ms_max} (limits.deadline-ms)");
                found.push(format!("task \"{name}\": wants {ms} ms, {most}"));
            }
            _ => {}
        }
        let delays = task.delays_ms.as_deref().unwrap_or_default();
        if delays.len() > TASK_DELAYS_MAX || delays.iter().any(|delay| *delay > TASK_DELAY_MS_MAX) {
            let sentence = format!("at most {TASK_DELAYS_MAX} delays from 0 to {TASK_DELAY_MS_MAX} ms");
            found.push(format!("task \"{name}\": has {sentence}"));
        }
    }
    for route in &manifest.routes {
        for name in [&route.on_fault, &route.on_deadline].into_iter().flatten().filter(|name| !names.contains(name)) {
            found.push(format!("operation \"{}\": there is no task \"{name}\"", route.operation));
        }
    }
}

fn check_wording(failure: &str, wording: &FailureWording, found: &mut Vec<String>) {
    if !Failure::ALL.iter().any(|known| known.name() == failure) {
        found.push(format!("words the failure \"{failure}\", which does not exist"));
    }
    if !(400..=599).contains(&wording.status) {
        found.push(format!("failure \"{failure}\": {} is no status of a failure", wording.status));
    }
    for (name, value) in &wording.headers {
        let sound = http::HeaderName::try_from(name).is_ok() && http::HeaderValue::try_from(value).is_ok();
        if !sound {
            found.push(format!("failure \"{failure}\": \"{name}: {value}\" is no header"));
        }
    }
}

/// Names of collections, indexes and operations.
fn is_plain(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 64
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::plugin::guest;

    fn found(change: impl FnOnce(&mut Value)) -> Vec<String> {
        let mut manifest = guest::manifest("0.1.0");
        change(&mut manifest);
        let manifest: Manifest = serde_json::from_value(manifest).unwrap();
        check(&manifest, "notes", &guest::config(&[]), &Offers { body_bytes_max: 1_000, link_base: true })
    }

    #[track_caller]
    fn says(part: &str, change: impl FnOnce(&mut Value)) {
        let found = found(change);
        assert!(found.len() == 1 && found[0].contains(part), "{found:?}");
    }

    #[test]
    fn a_small_manifest_is_sound() {
        assert_eq!(found(|_| ()), Vec::<String>::new());
    }

    #[test]
    fn plugin_that_makes_links_requires_an_address_to_begin_them_with() {
        let mut manifest = guest::manifest("0.1.0");
        let offers = Offers { body_bytes_max: 1_000, link_base: false };
        let parse = |manifest: &Value| serde_json::from_value::<Manifest>(manifest.clone()).unwrap();
        assert_eq!(check(&parse(&manifest), "notes", &guest::config(&[]), &offers), Vec::<String>::new());
        manifest["routes"][0]["context"] = json!(["base-url"]);
        let found = check(&parse(&manifest), "notes", &guest::config(&[]), &offers);
        assert!(found.len() == 1 && found[0].contains("set `public-url` in plugins.toml"), "{found:?}");
    }

    #[test]
    fn who_it_is_must_be_true() {
        says("calls itself \"other\"", |m| m["name"] = json!("other"));
        says("written for contract 0.2", |m| m["contract"] = json!("0.2"));
        says("no semantic version", |m| m["version"] = json!("one"));
        says("128 are allowed", |m| m["version"] = json!(format!("1.0.0-{}", "x".repeat(200))));
        says("reads data from version 3", |m| m["reads-data-from"] = json!(3));
        says("no OpenAPI 3.1", |m| m["openapi"] = json!({"openapi": "3.0.1"}));
    }

    #[test]
    fn somebody_must_be_able_to_call_it() {
        says("nobody could call it", |m| m["authentication"] = json!({"api-keys": false}));
        says("but takes none", |m| m["authentication"] = json!({"oauth": true, "api-keys": false, "query": "key"}));
        says("cannot stand in one", |m| {
            m["authentication"] = json!({"oauth": true});
            m["routes"][0]["scopes"] = json!(["a\"b"]);
        });
    }

    #[test]
    fn data_and_events_have_sound_names() {
        says("lower case", |m| m["collections"] = json!([{"name": "Notes"}]));
        says("declared twice", |m| m["collections"] = json!([{"name": "a"}, {"name": "a"}]));
        says("has no fields", |m| m["collections"] = json!([{"name": "a", "indexes": [{"name": "i", "fields": []}]}]));
        says("no path", |m| m["collections"] = json!([{"name": "a", "indexes": [{"name": "i", "fields": ["a..b"]}]}]));
        says("declared twice", |m| m["event-types"] = json!([{"name": "a.b"}, {"name": "a.b"}]));
    }

    #[test]
    fn tasks_are_declared_once_and_before_they_are_named() {
        says("lower case", |m| m["tasks"] = json!([{"name": "Ring"}]));
        says("declared twice", |m| m["tasks"] = json!([{"name": "ring"}, {"name": "ring"}]));
        says("leaves no time", |m| m["tasks"] = json!([{"name": "ring", "deadline-ms": 0}]));
        says("limits.deadline-ms", |m| m["tasks"] = json!([{"name": "ring", "deadline-ms": 10_001}]));
        says("at most 32 delays", |m| m["tasks"] = json!([{"name": "ring", "delays-ms": vec![1; 33]}]));
        says("604800000 ms", |m| m["tasks"] = json!([{"name": "ring", "delays-ms": [604_800_001]}]));
        says("there is no task \"settle\"", |m| m["routes"][0]["on-fault"] = json!("settle"));
    }

    #[test]
    fn only_failures_of_the_host_are_worded() {
        says("does not exist", |m| m["failures"] = json!({"bored": {"status": 500, "body": {}}}));
        says("no status of a failure", |m| m["failures"] = json!({"forbidden": {"status": 200, "body": {}}}));
        says("acts on the whole origin", |m| {
            m["failures"] = json!({"forbidden": {"status": 403, "body": {}, "headers": {"Set-Cookie": "a=b"}}})
        });
        says("is no header", |m| {
            m["failures"] = json!({"forbidden": {"status": 403, "body": {}, "headers": {"a b": "c"}}})
        });
    }
}
