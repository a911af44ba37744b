//! Validates the routes of a manifest: methods, paths, unique operations, limits within those of the host.

use std::collections::{HashMap, HashSet};

use super::{is_plain, sizes};
use crate::manifest::{Manifest, Route};

const METHODS: [&str; 5] = ["GET", "POST", "PUT", "PATCH", "DELETE"];
const CONTEXT: [&str; 3] = ["base-url", "client-address", "idempotency-key"];
const CREDENTIALS: [&str; 3] = ["authorization", "proxy-authorization", "cookie"];

/// Limits that no route may exceed.
pub struct RouteLimits {
    pub body_bytes: u64,
    pub deadline_ms: u64,
}

pub fn check(manifest: &Manifest, limits: &RouteLimits, problems: &mut Vec<String>) {
    if manifest.routes.is_empty() {
        problems.push("has no routes".into());
    }
    let mut operations = HashSet::new();
    let mut by_path: HashMap<(&str, String), &str> = HashMap::new();
    for route in &manifest.routes {
        let operation = route.operation.as_str();
        if !operations.insert(operation) {
            problems.push(format!("operation \"{operation}\" is declared twice"));
        }
        if let Some(other) = by_path.insert((&route.method, normalized_path(&route.path)), operation) {
            problems.push(format!(
                "operations \"{other}\" and \"{operation}\" have the same method and path: {} {}",
                route.method, route.path
            ));
        }
        let mut route_problems = Vec::new();
        check_route(route, limits, &mut route_problems);
        check_path(&route.path, &mut route_problems);
        check_headers(route, manifest.authentication.header.as_deref(), &mut route_problems);
        problems.extend(route_problems.into_iter().map(|reason| format!("operation \"{operation}\": {reason}")));
    }
}

fn check_route(route: &Route, limits: &RouteLimits, route_problems: &mut Vec<String>) {
    if !is_plain(&route.operation) {
        route_problems.push("a name has lower case letters, digits and hyphens".into());
    }
    if !METHODS.contains(&route.method.as_str()) {
        route_problems.push(format!("method \"{}\" is none of {}", route.method, METHODS.join(", ")));
    }
    if let Some(bytes) = route.body_bytes_max.filter(|bytes| *bytes > limits.body_bytes) {
        route_problems.push(format!(
            "requires bodies of {bytes} bytes, the host accepts {} (raise http.body-bytes-max)",
            limits.body_bytes
        ));
    }
    match route.deadline_ms {
        Some(0) => route_problems.push("a deadline of 0 ms leaves no time".into()),
        Some(ms) if ms > limits.deadline_ms => {
            route_problems
                .push(format!("requires {ms} ms, the plugin may have {} (limits.deadline-ms)", limits.deadline_ms));
        }
        _ => {}
    }
    if route.open && (route.on_fault.is_some() || route.on_deadline.is_some()) {
        route_problems.push("is open and has no tenant, so it cannot declare on-fault or on-deadline".into());
    }
    if route.open && !route.scopes.is_empty() {
        route_problems.push("is open, so it cannot require scopes".into());
    }
    for name in route.context.iter().filter(|name| !CONTEXT.contains(&name.as_str())) {
        route_problems
            .push(format!("requests the unknown context value \"{name}\"; known values: {}", CONTEXT.join(", ")));
    }
    for media_type in route.media_types.iter().filter(|text| !is_media_type(text)) {
        route_problems.push(format!("\"{media_type}\" is not a media type"));
    }
}

fn check_path(path: &str, route_problems: &mut Vec<String>) {
    if let Some(reason) = sizes::find_large_path(path) {
        route_problems.push(reason);
        return;
    }
    let Some(rest) = path.strip_prefix('/') else {
        route_problems.push(format!("path \"{path}\" does not begin with \"/\""));
        return;
    };
    let mut parameters = HashSet::new();
    for segment in rest.split('/') {
        match segment.strip_prefix('{').and_then(|inner| inner.strip_suffix('}')) {
            Some(name) if name.is_empty() || !name.chars().all(super::is_word) => {
                route_problems.push(format!("path \"{path}\": \"{segment}\" is not a parameter"));
            }
            Some(name) if !parameters.insert(name) => {
                route_problems.push(format!("path \"{path}\" has the parameter {name} twice"));
            }
            Some(_) => {}
            None if segment.is_empty() || segment.starts_with('.') || !segment.chars().all(is_path_char) => {
                route_problems.push(format!("path \"{path}\": \"{segment}\" is not a segment"));
            }
            None => {}
        }
    }
}

fn check_headers(route: &Route, key_header: Option<&str>, route_problems: &mut Vec<String>) {
    for name in &route.headers {
        let lower = http::HeaderName::from_lowercase(name.as_bytes()).is_ok();
        if !lower {
            route_problems.push(format!("\"{name}\" is not a header name in lower case"));
        }
        if CREDENTIALS.contains(&name.as_str()) || key_header == Some(name) {
            route_problems.push(format!("requests the header {name}: credentials never reach a plugin"));
        }
    }
}

/// Returns the path without the names of its parameters. Paths with equal results match the same requests.
fn normalized_path(path: &str) -> String {
    let segments = path.split('/').map(|segment| if segment.starts_with('{') { "{}" } else { segment });
    segments.collect::<Vec<_>>().join("/")
}

fn is_path_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-._~!$&'()+,;=:@".contains(c)
}

fn is_media_type(text: &str) -> bool {
    let token =
        |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || "!#$&^_.+-*".contains(c));
    text.split_once('/').is_some_and(|(kind, subtype)| token(kind) && token(subtype))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::plugin::guest;

    #[track_caller]
    fn assert_problem(part: &str, member: &str, value: Value) {
        let mut manifest = guest::manifest("0.1.0");
        manifest["authentication"] = json!({"header": "x-api-key"});
        manifest["routes"][0][member] = value;
        let manifest: Manifest = serde_json::from_value(manifest).unwrap();
        let mut problems = Vec::new();
        check(&manifest, &RouteLimits { body_bytes: 1_000, deadline_ms: 500 }, &mut problems);
        assert!(problems.len() == 1 && problems[0].contains(part), "{problems:?}");
    }

    #[test]
    fn each_mistake_in_a_route_is_reported() {
        assert_problem("is none of GET, POST", "method", json!("get"));
        assert_problem("does not begin with", "path", json!("v1/notes"));
        assert_problem("is not a segment", "path", json!("/v1//notes"));
        assert_problem("is not a segment", "path", json!("/v1/notes/"));
        assert_problem("is not a segment", "path", json!("/v1/../notes"));
        assert_problem("is not a parameter", "path", json!("/v1/{}"));
        assert_problem("parameter id twice", "path", json!("/{id}/{id}"));
        assert_problem("http.body-bytes-max", "body-bytes-max", json!(1_001));
        assert_problem("limits.deadline-ms", "deadline-ms", json!(501));
        assert_problem("leaves no time", "deadline-ms", json!(0));
        assert_problem("credentials never reach", "headers", json!(["authorization"]));
        assert_problem("credentials never reach", "headers", json!(["x-api-key"]));
        assert_problem("in lower case", "headers", json!(["X-Thing"]));
        assert_problem("unknown context value", "context", json!(["weather"]));
        assert_problem("is not a media type", "media-types", json!(["pdf"]));
    }

    #[test]
    fn operations_and_paths_are_unique() {
        let mut manifest = guest::manifest("0.1.0");
        manifest["routes"] = json!([
            {"operation": "a", "method": "GET", "path": "/v1/{x}"},
            {"operation": "a", "method": "GET", "path": "/v1/{y}"},
        ]);
        let manifest: Manifest = serde_json::from_value(manifest).unwrap();
        let mut problems = Vec::new();
        check(&manifest, &RouteLimits { body_bytes: 1, deadline_ms: 1 }, &mut problems);
        assert_eq!(problems.len(), 2, "{problems:?}");
    }
}
