//! HTML of the host's pages, made from manifests and their OpenAPI documents.
//!
//! A document is a plugin's: anything may stand in it, and anybody may ask for the page. Invariants: every text from outside passes
//! through `escape`; a page is finite, and so is the time that it takes (`limits::pages`).
//!
//! - `document`: references and texts. `fields`: what a schema has, row by row. `keys`: who may ask. `command`: how to ask.
//! - `section`: the HTML of one interface.

use std::fmt::Write;

use super::{RouteTable, base_of, escape, openapi_path};
use crate::manifest::Manifest;
use crate::plugin::routes::Mounted;

use document::{Document, members_of, shown_name};
use section::Section;

mod command;
mod document;
mod fields;
mod keys;
mod section;

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
    let mut page = String::from(
        "<h1>Interfaces</h1><p>The examples take the key from the shell: <code>KEY=tk_test_…</code>, \
         or a token of OAuth: <code>TOKEN=…</code></p>",
    );
    for mounted in table.mounted() {
        page.push_str(&interface(mounted, &base_of(mounted, base_url)));
    }
    page
}

fn interface<G>(mounted: &Mounted<G>, base_url: &str) -> String {
    let manifest = &mounted.manifest;
    let title = if manifest.title.is_empty() { &*mounted.plugin } else { manifest.title.as_str() };
    let mut html = format!(
        "<h2 id=\"{}\">{} <small>{}</small></h2>",
        escape(&mounted.plugin),
        shown_name(title),
        shown_name(&manifest.version)
    );
    if let Some(path) = openapi_path(mounted) {
        let _ = write!(html, "<p><a href=\"{0}\">{0}</a></p>", escape(&path));
    }
    match manifest.openapi.as_ref().filter(|root| members_of(root, "paths").is_some()) {
        Some(root) => {
            let document = Document { root, base_url, plugin: &mounted.plugin };
            html.push_str(&keys::described(document));
            html.push_str(&Section::new(document).write());
        }
        None => plain_routes(&mut html, manifest),
    }
    html
}

/// Without a document the manifest still says what there is.
fn plain_routes(html: &mut String, manifest: &Manifest) {
    for route in &manifest.routes {
        html.push_str("<article>");
        html.push_str(&section::heading(&route.method, &route.path));
        let _ = write!(html, "<p>{}</p></article>", escape(&route.operation));
    }
}

#[cfg(test)]
mod tests;
