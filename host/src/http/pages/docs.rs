//! HTML of the host's pages, made from manifests and their OpenAPI documents.
//!
//! Invariant: every text from outside passes through `escape`.

use std::fmt::Write;

use serde_json::{Map, Value};

use super::{RouteTable, base_of, escape, openapi_path};
use crate::plugin::{manifest::Manifest, routes::Mounted};

const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

/// What is served, for people.
pub(super) fn index<G>(table: &RouteTable<G>) -> String {
    let mut rows = String::new();
    for mounted in table.mounted() {
        let document =
            openapi_path(mounted).map(|path| format!("<a href=\"{0}\">{0}</a>", escape(&path))).unwrap_or_default();
        let _ = write!(
            rows,
            "<tr><td><a href=\"/docs#{0}\">{0}</a></td><td>{1}</td><td>{2}</td><td>{3}</td><td>{document}</td></tr>",
            escape(&mounted.plugin),
            escape(&mounted.manifest.title),
            escape(&mounted.manifest.version),
            escape(&table.served_versions(&mounted.plugin).join(", ")),
        );
    }
    format!(
        "<h1>Tenon</h1><p>Interfaces served here. <a href=\"/docs\">Read them</a>.</p><table><tr><th>Plugin</th>\
         <th>Interface</th><th>Version</th><th>API</th><th>OpenAPI</th></tr>{rows}</table>"
    )
}

/// Every operation of every interface.
pub(super) fn operations<G>(table: &RouteTable<G>, base_url: &str) -> String {
    let mut page =
        String::from("<h1>Interfaces</h1><p>The examples take the key from the shell: <code>KEY=tk_test_…</code></p>");
    for mounted in table.mounted() {
        page.push_str(&interface(mounted, &base_of(mounted, base_url)));
    }
    page
}

fn interface<G>(mounted: &Mounted<G>, base_url: &str) -> String {
    let manifest = &mounted.manifest;
    let title = if manifest.title.is_empty() { &*mounted.plugin } else { manifest.title.as_str() };
    let mut section = format!(
        "<h2 id=\"{}\">{} <small>{}</small></h2>",
        escape(&mounted.plugin),
        escape(title),
        escape(&manifest.version)
    );
    if let Some(path) = openapi_path(mounted) {
        let _ = write!(section, "<p><a href=\"{0}\">{0}</a></p>", escape(&path));
    }
    let document = manifest.openapi.as_ref().map(|root| Document { root, base_url });
    match document.and_then(|document| Some((document, document.root.get("paths")?.as_object()?))) {
        Some((document, paths)) => paths.iter().for_each(|(path, item)| path_item(&mut section, document, path, item)),
        None => plain_routes(&mut section, manifest),
    }
    section
}

/// The OpenAPI document of one interface, and where it is served.
#[derive(Clone, Copy)]
struct Document<'d> {
    root: &'d Value,
    base_url: &'d str,
}

impl<'d> Document<'d> {
    /// What a `$ref` within the document stands for; anything else is itself.
    fn resolve(self, value: &'d Value) -> &'d Value {
        let reference = value.get("$ref").and_then(Value::as_str).and_then(|text| text.strip_prefix('#'));
        reference.and_then(|pointer| self.root.pointer(pointer)).unwrap_or(value)
    }
}

/// Without a document the manifest still says what there is.
fn plain_routes(section: &mut String, manifest: &Manifest) {
    for route in &manifest.routes {
        heading(section, &route.method, &route.path);
        let _ = write!(section, "<p>{}</p></article>", escape(&route.operation));
    }
}

fn path_item<'d>(section: &mut String, document: Document<'d>, path: &str, item: &'d Value) {
    for method in METHODS {
        let Some(operation) = item.get(method).and_then(Value::as_object) else { continue };
        heading(section, &method.to_ascii_uppercase(), path);
        for member in ["summary", "description"] {
            if let Some(text) = operation.get(member).and_then(Value::as_str) {
                let _ = write!(section, "<p>{}</p>", escape(text));
            }
        }
        parameters(section, document, operation);
        let _ = write!(section, "<pre>{}</pre>", escape(&curl(document, method, path, operation)));
        responses(section, document, operation);
        section.push_str("</article>");
    }
}

fn heading(section: &mut String, method: &str, path: &str) {
    let (method, path) = (escape(method), escape(path));
    let _ = write!(section, "<article><h3><span class=\"method\">{method}</span>{path}</h3>");
}

fn parameters<'d>(section: &mut String, document: Document<'d>, operation: &'d Map<String, Value>) {
    let Some(parameters) = operation.get("parameters").and_then(Value::as_array).filter(|all| !all.is_empty()) else {
        return;
    };
    section.push_str("<table>");
    for parameter in parameters.iter().map(|parameter| document.resolve(parameter)) {
        let text = |member: &str| escape(parameter.get(member).and_then(Value::as_str).unwrap_or(""));
        let (name, place, description) = (text("name"), text("in"), text("description"));
        let _ = write!(section, "<tr><td><code>{name}</code></td><td>{place}</td><td>{description}</td></tr>");
    }
    section.push_str("</table>");
}

fn responses<'d>(section: &mut String, document: Document<'d>, operation: &'d Map<String, Value>) {
    let Some(responses) = operation.get("responses").and_then(Value::as_object) else { return };
    section.push_str("<table>");
    for (status, response) in responses {
        let description = document.resolve(response).get("description").and_then(Value::as_str).unwrap_or("");
        let _ = write!(section, "<tr><td><code>{}</code></td><td>{}</td></tr>", escape(status), escape(description));
    }
    section.push_str("</table>");
}

/// A line that works when pasted, but for the parameters in braces: `-g` keeps curl from reading those as a pattern.
fn curl<'d>(document: Document<'d>, method: &str, path: &str, operation: &'d Map<String, Value>) -> String {
    let url = format!("{}{path}", document.base_url);
    let mut line = String::from(if path.contains('{') { "curl -g" } else { "curl" });
    if method != "get" {
        let _ = write!(line, " -X {}", method.to_ascii_uppercase());
    }
    let _ = write!(line, " {} -H \"Authorization: Bearer $KEY\"", quote(&url));
    let body = operation.get("requestBody").map(|body| document.resolve(body));
    let json = body.and_then(|body| body.pointer("/content/application~1json"));
    if let Some(json) = json {
        let first_of_many = || document.resolve(json.get("examples")?.as_object()?.values().next()?).get("value");
        let example = json.get("example").or_else(first_of_many).map_or("{}".to_owned(), Value::to_string);
        let _ = write!(line, " \\\n  -H 'Content-Type: application/json' -d {}", quote(&example));
    }
    line
}

fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}
