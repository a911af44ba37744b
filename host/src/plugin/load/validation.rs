//! Validates a manifest on its own: names, versions, sizes, routes, collections, events, tasks, error templates. Checks
//! the plugin's settings against its schema. Finds all mistakes at once.
//!
//! Pure. `compare` compares the manifest with the serving generation, and the database checks it against the data.

mod routes;
mod settings;
pub mod sizes;

use std::collections::HashSet;

use crate::{
    changes::envelope::Envelope,
    config::PluginConfig,
    host_error::HostError,
    limits::{TASK_DELAY_MS_MAX, TASK_DELAYS_MAX, VERSION_BYTES_MAX},
    manifest::{Collection, ErrorTemplate, Index, Manifest},
    plugin::{error_bodies::is_origin_header, grants, load::HostFeatures, routes::ContextValue},
};

/// Returns all mistakes in the manifest of `plugin`, as sentences.
pub fn check(manifest: &Manifest, plugin: &str, config: &PluginConfig, features: &HostFeatures) -> Vec<String> {
    let mut problems = Vec::new();
    check_identity(manifest, plugin, &mut problems);
    sizes::check(manifest, &mut problems);
    let route_limits =
        routes::RouteLimits { body_bytes: features.body_bytes_max, deadline_ms: config.limits.deadline_ms };
    routes::check(manifest, &route_limits, &mut problems);
    if !features.link_base {
        check_links(manifest, &mut problems);
    }
    check_collections(&manifest.collections, &mut problems);
    check_events(manifest, &mut problems);
    check_tasks(manifest, config.limits.deadline_ms, &mut problems);
    for (failure, template) in &manifest.failures {
        check_error_template(failure, template, &mut problems);
        for name in
            template.headers.keys().filter(|name| is_origin_header(&name.to_ascii_lowercase(), &config.origin_headers))
        {
            problems.push(format!(
                "failure \"{failure}\": the header {name} acts on the whole origin, and origin-headers in plugins.toml does not \
                 list it"
            ));
        }
    }
    if let Some(schema) = &manifest.settings {
        settings::check(plugin, schema, &config.settings, &mut problems);
    }
    problems
}

fn check_identity(manifest: &Manifest, plugin: &str, problems: &mut Vec<String>) {
    if !grants::supports(&manifest.contract) {
        let (theirs, ours) = (&manifest.contract, grants::CONTRACT);
        problems.push(format!("its manifest was written for contract {theirs}, this host supports {ours}"));
    }
    if manifest.name != plugin {
        problems.push(format!("has the name \"{}\" in its manifest, but \"{plugin}\" in plugins.toml", manifest.name));
    }
    if manifest.version.len() > VERSION_BYTES_MAX {
        problems.push(format!("its version has {} bytes; {VERSION_BYTES_MAX} are allowed", manifest.version.len()));
    } else if let Err(error) = semver::Version::parse(&manifest.version) {
        problems.push(format!("version \"{}\" is no semantic version: {error}", manifest.version));
    }
    if manifest.data_version == 0 {
        problems.push("data-version counts from 1".into());
    }
    let reads_from = manifest.reads_data_from.unwrap_or(manifest.data_version);
    if reads_from > manifest.data_version {
        let written = manifest.data_version;
        problems.push(format!("reads data from version {reads_from} on, but writes version {written}"));
    }
    let accepted = &manifest.authentication;
    if !accepted.api_keys && !accepted.oauth {
        problems.push("accepts neither API keys nor tokens, so no caller could be authenticated".into());
    }
    let scopes = manifest.routes.iter().flat_map(|route| &route.scopes);
    let is_invalid = |scope: &&String| !scope.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"\\".contains(&byte));
    for scope in scopes.filter(|_| accepted.oauth).filter(is_invalid) {
        problems.push(format!("accepts tokens, but the scope {scope:?} contains characters that no token may contain"));
    }
    if !accepted.api_keys && (accepted.basic_user || accepted.header.is_some() || accepted.query.is_some()) {
        problems.push("declares where a request may carry an API key, but accepts no API keys".into());
    }
    if let Some(document) = &manifest.openapi {
        let version = document.get("openapi").and_then(|value| value.as_str()).unwrap_or("");
        if !version.starts_with("3.1") {
            problems.push("openapi is not an OpenAPI 3.1 document".into());
        }
    }
}

/// Reports the first route that makes absolute links, because `public-url` is not configured.
fn check_links(manifest: &Manifest, problems: &mut Vec<String>) {
    let name = ContextValue::BaseUrl.name();
    if let Some(route) = manifest.routes.iter().find(|route| route.context.iter().any(|requested| requested == name)) {
        let operation = &route.operation;
        problems.push(format!("makes absolute links (\"{operation}\" and others): set `public-url` in plugins.toml"));
    }
}

fn check_collections(collections: &[Collection], problems: &mut Vec<String>) {
    let mut names = HashSet::new();
    for collection in collections {
        let name = &collection.name;
        if !is_plain(name) {
            problems.push(format!("collection \"{name}\": a name has lower case letters, digits and hyphens"));
        }
        if !names.insert(name) {
            problems.push(format!("collection \"{name}\" is declared twice"));
        }
        let mut indexes = HashSet::new();
        for index in &collection.indexes {
            if !indexes.insert(&index.name) {
                problems.push(format!("collection \"{name}\": index \"{}\" is declared twice", index.name));
            }
            check_index(name, index, problems);
        }
    }
}

fn check_index(collection: &str, index: &Index, problems: &mut Vec<String>) {
    let name = &index.name;
    if !is_plain(name) {
        problems.push(format!(
            "collection \"{collection}\", index \"{name}\": a name has lower case letters, digits and hyphens"
        ));
    }
    if index.fields.is_empty() {
        problems.push(format!("collection \"{collection}\", index \"{name}\" has no fields"));
    }
    for field in &index.fields {
        let is_built_in = matches!(field.as_str(), "@id" | "@created-at" | "@updated-at");
        let is_path = field.split('.').all(|part| !part.is_empty() && part.chars().all(is_word));
        if !is_built_in && !is_path {
            problems.push(format!(
                "collection \"{collection}\", index \"{name}\": \"{field}\" is no path like \"customer.id\""
            ));
        }
    }
}

fn check_events(manifest: &Manifest, problems: &mut Vec<String>) {
    let mut names = HashSet::new();
    let envelopes = manifest.event_types.iter().map(|event| &event.envelope);
    for envelope in envelopes.chain([&manifest.envelope]).flatten() {
        if let Err(reason) = Envelope::compile(envelope) {
            problems.push(reason);
        }
    }
    for event in &manifest.event_types {
        let name = &event.name;
        if name.is_empty() || !name.chars().all(|c| is_word(c) || c == '.') {
            problems.push(format!("event type \"{name}\": a name has letters, digits, '.', '_' and '-'"));
        }
        if !names.insert(name) {
            problems.push(format!("event type \"{name}\" is declared twice"));
        }
    }
}

fn check_tasks(manifest: &Manifest, deadline_ms_max: u64, problems: &mut Vec<String>) {
    let mut names = HashSet::new();
    for task in &manifest.tasks {
        let name = &task.name;
        if !is_plain(name) {
            problems.push(format!("task \"{name}\": a name has lower case letters, digits and hyphens"));
        }
        if !names.insert(name) {
            problems.push(format!("task \"{name}\" is declared twice"));
        }
        match task.deadline_ms {
            Some(0) => problems.push(format!("task \"{name}\": a deadline of 0 ms leaves no time")),
            Some(ms) if ms > deadline_ms_max => {
                let most = format!("the plugin may have {deadline_ms_max} (limits.deadline-ms)");
                problems.push(format!("task \"{name}\": requires {ms} ms, {most}"));
            }
            _ => {}
        }
        let delays = task.delays_ms.as_deref().unwrap_or_default();
        if delays.len() > TASK_DELAYS_MAX || delays.iter().any(|delay| *delay > TASK_DELAY_MS_MAX) {
            let sentence = format!("at most {TASK_DELAYS_MAX} delays from 0 to {TASK_DELAY_MS_MAX} ms");
            problems.push(format!("task \"{name}\": has {sentence}"));
        }
    }
    for route in &manifest.routes {
        for name in [&route.on_fault, &route.on_deadline].into_iter().flatten().filter(|name| !names.contains(name)) {
            problems.push(format!("operation \"{}\": there is no task \"{name}\"", route.operation));
        }
    }
}

fn check_error_template(failure: &str, template: &ErrorTemplate, problems: &mut Vec<String>) {
    if !HostError::ALL.iter().any(|known| known.name() == failure) {
        problems.push(format!("has an error template for the failure \"{failure}\", which does not exist"));
    }
    if !(400..=599).contains(&template.status) {
        problems.push(format!("failure \"{failure}\": {} is not an error status", template.status));
    }
    for (name, value) in &template.headers {
        let valid = http::HeaderName::try_from(name).is_ok() && http::HeaderValue::try_from(value).is_ok();
        if !valid {
            problems.push(format!("failure \"{failure}\": \"{name}: {value}\" is not a valid header"));
        }
    }
}

/// Returns true for valid names of collections, indexes, tasks and operations.
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

    fn problems(change: impl FnOnce(&mut Value)) -> Vec<String> {
        let mut manifest = guest::manifest("0.1.0");
        change(&mut manifest);
        let manifest: Manifest = serde_json::from_value(manifest).unwrap();
        check(&manifest, "notes", &guest::config(&[]), &HostFeatures { body_bytes_max: 1_000, link_base: true })
    }

    #[track_caller]
    fn assert_problem(part: &str, change: impl FnOnce(&mut Value)) {
        let problems = problems(change);
        assert!(problems.len() == 1 && problems[0].contains(part), "{problems:?}");
    }

    #[test]
    fn small_manifest_is_valid() {
        assert_eq!(problems(|_| ()), Vec::<String>::new());
    }

    #[test]
    fn plugin_that_makes_links_requires_an_address_to_begin_them_with() {
        let mut manifest = guest::manifest("0.1.0");
        let features = HostFeatures { body_bytes_max: 1_000, link_base: false };
        let parse = |manifest: &Value| serde_json::from_value::<Manifest>(manifest.clone()).unwrap();
        assert_eq!(check(&parse(&manifest), "notes", &guest::config(&[]), &features), Vec::<String>::new());
        manifest["routes"][0]["context"] = json!(["base-url"]);
        let problems = check(&parse(&manifest), "notes", &guest::config(&[]), &features);
        assert!(problems.len() == 1 && problems[0].contains("set `public-url` in plugins.toml"), "{problems:?}");
    }

    #[test]
    fn identity_is_validated() {
        assert_problem("has the name \"other\"", |m| m["name"] = json!("other"));
        assert_problem("written for contract 0.2", |m| m["contract"] = json!("0.2"));
        assert_problem("no semantic version", |m| m["version"] = json!("one"));
        assert_problem("128 are allowed", |m| m["version"] = json!(format!("1.0.0-{}", "x".repeat(200))));
        assert_problem("reads data from version 3", |m| m["reads-data-from"] = json!(3));
        assert_problem("not an OpenAPI 3.1", |m| m["openapi"] = json!({"openapi": "3.0.1"}));
    }

    #[test]
    fn plugin_must_accept_credentials() {
        assert_problem("no caller could be authenticated", |m| m["authentication"] = json!({"api-keys": false}));
        assert_problem("but accepts no API keys", |m| {
            m["authentication"] = json!({"oauth": true, "api-keys": false, "query": "key"})
        });
        assert_problem("that no token may contain", |m| {
            m["authentication"] = json!({"oauth": true});
            m["routes"][0]["scopes"] = json!(["a\"b"]);
        });
    }

    #[test]
    fn names_of_data_and_events_are_validated() {
        assert_problem("lower case", |m| m["collections"] = json!([{"name": "Notes"}]));
        assert_problem("declared twice", |m| m["collections"] = json!([{"name": "a"}, {"name": "a"}]));
        assert_problem("has no fields", |m| {
            m["collections"] = json!([{"name": "a", "indexes": [{"name": "i", "fields": []}]}])
        });
        assert_problem("no path", |m| {
            m["collections"] = json!([{"name": "a", "indexes": [{"name": "i", "fields": ["a..b"]}]}])
        });
        assert_problem("declared twice", |m| m["event-types"] = json!([{"name": "a.b"}, {"name": "a.b"}]));
    }

    #[test]
    fn tasks_are_validated() {
        assert_problem("lower case", |m| m["tasks"] = json!([{"name": "Ring"}]));
        assert_problem("declared twice", |m| m["tasks"] = json!([{"name": "ring"}, {"name": "ring"}]));
        assert_problem("leaves no time", |m| m["tasks"] = json!([{"name": "ring", "deadline-ms": 0}]));
        assert_problem("limits.deadline-ms", |m| m["tasks"] = json!([{"name": "ring", "deadline-ms": 10_001}]));
        assert_problem("at most 32 delays", |m| m["tasks"] = json!([{"name": "ring", "delays-ms": vec![1; 33]}]));
        assert_problem("604800000 ms", |m| m["tasks"] = json!([{"name": "ring", "delays-ms": [604_800_001]}]));
        assert_problem("there is no task \"settle\"", |m| m["routes"][0]["on-fault"] = json!("settle"));
    }

    #[test]
    fn error_templates_are_validated() {
        assert_problem("does not exist", |m| m["failures"] = json!({"bored": {"status": 500, "body": {}}}));
        assert_problem("is not an error status", |m| m["failures"] = json!({"forbidden": {"status": 200, "body": {}}}));
        assert_problem("acts on the whole origin", |m| {
            m["failures"] = json!({"forbidden": {"status": 403, "body": {}, "headers": {"Set-Cookie": "a=b"}}})
        });
        assert_problem("is not a valid header", |m| {
            m["failures"] = json!({"forbidden": {"status": 403, "body": {}, "headers": {"a b": "c"}}})
        });
    }
}
