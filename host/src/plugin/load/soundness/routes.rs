//! Whether the routes of one manifest make sense: methods, paths, unique operations, limits within the host's.

use std::collections::{HashMap, HashSet};

use super::{is_plain, sizes};
use crate::manifest::{Manifest, Route};

const METHODS: [&str; 5] = ["GET", "POST", "PUT", "PATCH", "DELETE"];
const CONTEXT: [&str; 3] = ["base-url", "client-address", "idempotency-key"];
const CREDENTIALS: [&str; 3] = ["authorization", "proxy-authorization", "cookie"];

/// What no route may exceed.
pub struct Ceilings {
    pub body_bytes: u64,
    pub deadline_ms: u64,
}

pub fn check(manifest: &Manifest, ceilings: &Ceilings, found: &mut Vec<String>) {
    if manifest.routes.is_empty() {
        found.push("has no routes".into());
    }
    let mut operations = HashSet::new();
    let mut shapes: HashMap<(&str, String), &str> = HashMap::new();
    for route in &manifest.routes {
        let operation = route.operation.as_str();
        if !operations.insert(operation) {
            found.push(format!("operation \"{operation}\" is declared twice"));
        }
        if let Some(other) = shapes.insert((&route.method, shape(&route.path)), operation) {
            found.push(format!(
                "operations \"{other}\" and \"{operation}\" have the same method and path: {} {}",
                route.method, route.path
            ));
        }
        let mut wrong = Vec::new();
        check_route(route, ceilings, &mut wrong);
        check_path(&route.path, &mut wrong);
        check_headers(route, manifest.authentication.header.as_deref(), &mut wrong);
        found.extend(wrong.into_iter().map(|reason| format!("operation \"{operation}\": {reason}")));
    }
}

fn check_route(route: &Route, ceilings: &Ceilings, wrong: &mut Vec<String>) {
    if !is_plain(&route.operation) {
        wrong.push("a name has lower case letters, digits and hyphens".into());
    }
    if !METHODS.contains(&route.method.as_str()) {
        wrong.push(format!("method \"{}\" is none of {}", route.method, METHODS.join(", ")));
    }
    if let Some(bytes) = route.body_bytes_max.filter(|bytes| *bytes > ceilings.body_bytes) {
        wrong.push(format!(
            "wants bodies of {bytes} bytes, the host takes {} (more where http.body-bytes-max says so)",
            ceilings.body_bytes
        ));
    }
    match route.deadline_ms {
        Some(0) => wrong.push("a deadline of 0 ms leaves no time".into()),
        Some(ms) if ms > ceilings.deadline_ms => {
            wrong.push(format!("wants {ms} ms, the plugin may have {} (limits.deadline-ms)", ceilings.deadline_ms));
        }
        _ => {}
    }
    if route.open && (route.on_fault.is_some() || route.on_deadline.is_some()) {
        wrong.push("is open to everybody: there is no tenant that a task could belong to".into());
    }
    if route.open && !route.scopes.is_empty() {
        wrong.push("is open to everybody and wants scopes".into());
    }
    for name in route.context.iter().filter(|name| !CONTEXT.contains(&name.as_str())) {
        wrong.push(format!("wants the context \"{name}\"; there are: {}", CONTEXT.join(", ")));
    }
    for media_type in route.media_types.iter().filter(|text| !is_media_type(text)) {
        wrong.push(format!("\"{media_type}\" is no media type"));
    }
}

fn check_path(path: &str, wrong: &mut Vec<String>) {
    if let Some(reason) = sizes::find_large_path(path) {
        wrong.push(reason);
        return;
    }
    let Some(rest) = path.strip_prefix('/') else {
        wrong.push(format!("path \"{path}\" does not begin with \"/\""));
        return;
    };
    let mut parameters = HashSet::new();
    for segment in rest.split('/') {
        match segment.strip_prefix('{').and_then(|inner| inner.strip_suffix('}')) {
            Some(name) if name.is_empty() || !name.chars().all(super::is_word) => {
                wrong.push(format!("path \"{path}\": \"{segment}\" is no parameter"));
            }
            Some(name) if !parameters.insert(name) => {
                wrong.push(format!("path \"{path}\" has the parameter {name} twice"));
            }
            Some(_) => {}
            None if segment.is_empty() || segment.starts_with('.') || !segment.chars().all(stands_in_a_path) => {
                wrong.push(format!("path \"{path}\": \"{segment}\" is no segment"));
            }
            None => {}
        }
    }
}

fn check_headers(route: &Route, key_header: Option<&str>, wrong: &mut Vec<String>) {
    for name in &route.headers {
        let lower = http::HeaderName::from_lowercase(name.as_bytes()).is_ok();
        if !lower {
            wrong.push(format!("\"{name}\" is no header name in lower case"));
        }
        if CREDENTIALS.contains(&name.as_str()) || key_header == Some(name) {
            wrong.push(format!("wants the header {name}: credentials never reach a plugin"));
        }
    }
}

/// Two paths of one shape match the same requests.
fn shape(path: &str) -> String {
    let segments = path.split('/').map(|segment| if segment.starts_with('{') { "{}" } else { segment });
    segments.collect::<Vec<_>>().join("/")
}

fn stands_in_a_path(c: char) -> bool {
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
    fn says(part: &str, member: &str, value: Value) {
        let mut manifest = guest::manifest("0.1.0");
        manifest["authentication"] = json!({"header": "x-api-key"});
        manifest["routes"][0][member] = value;
        let manifest: Manifest = serde_json::from_value(manifest).unwrap();
        let mut found = Vec::new();
        check(&manifest, &Ceilings { body_bytes: 1_000, deadline_ms: 500 }, &mut found);
        assert!(found.len() == 1 && found[0].contains(part), "{found:?}");
    }

    #[test]
    fn each_mistake_in_a_route_is_named() {
        says("is none of GET, POST", "method", json!("get"));
        says("does not begin with", "path", json!("v1/notes"));
        says("is no segment", "path", json!("/v1//notes"));
        says("is no segment", "path", json!("/v1/notes/"));
        says("is no segment", "path", json!("/v1/../notes"));
        says("is no parameter", "path", json!("/v1/{}"));
        says("parameter id twice", "path", json!("/{id}/{id}"));
        says("http.body-bytes-max", "body-bytes-max", json!(1_001));
        says("limits.deadline-ms", "deadline-ms", json!(501));
        says("leaves no time", "deadline-ms", json!(0));
        says("credentials never reach", "headers", json!(["authorization"]));
        says("credentials never reach", "headers", json!(["x-api-key"]));
        says("in lower case", "headers", json!(["X-Thing"]));
        says("wants the context", "context", json!(["weather"]));
        says("is no media type", "media-types", json!(["pdf"]));
    }

    #[test]
    fn operations_and_shapes_are_unique() {
        let mut manifest = guest::manifest("0.1.0");
        manifest["routes"] = json!([
            {"operation": "a", "method": "GET", "path": "/v1/{x}"},
            {"operation": "a", "method": "GET", "path": "/v1/{y}"},
        ]);
        let manifest: Manifest = serde_json::from_value(manifest).unwrap();
        let mut found = Vec::new();
        check(&manifest, &Ceilings { body_bytes: 1, deadline_ms: 1 }, &mut found);
        assert_eq!(found.len(), 2, "{found:?}");
    }
}
