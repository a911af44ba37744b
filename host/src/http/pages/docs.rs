//! HTML of the host's pages, rendered from manifests and their OpenAPI documents.
//!
//! A document comes from a plugin and may contain anything, and any client may request the page. Invariants: every
//! string from outside passes through `escape`. The size of a page and the time to render it are bounded
//! (`limits::pages`).
//!
//! - `document`: references and strings of a document. `fields`: the fields of a schema, one row each. `keys`: the
//!   credentials of an operation. `command`: example commands.
//! - `section`: the HTML of one interface.

use std::fmt::Write;

use super::{RouteTable, base_url_of, escape, openapi_path};
use crate::manifest::Manifest;
use crate::plugin::routes::Mounted;

use document::{Document, members_of, render_name};
use section::Section;

mod command;
mod document;
mod fields;
mod keys;
mod section;

/// Renders the index of the served interfaces.
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

/// Renders all operations of all interfaces.
pub(super) fn operations<G>(table: &RouteTable<G>, base_url: &str) -> String {
    let mut page = String::from(
        "<h1>Interfaces</h1><p>The examples take the key from the shell: <code>KEY=tk_test_…</code>, \
         or a token of OAuth: <code>TOKEN=…</code></p>",
    );
    for mounted in table.mounted() {
        page.push_str(&interface(mounted, &base_url_of(mounted, base_url)));
    }
    page
}

fn interface<G>(mounted: &Mounted<G>, base_url: &str) -> String {
    let manifest = &mounted.manifest;
    let title = if manifest.title.is_empty() { &*mounted.plugin } else { manifest.title.as_str() };
    let mut html = format!(
        "<h2 id=\"{}\">{} <small>{}</small></h2>",
        escape(&mounted.plugin),
        render_name(title),
        render_name(&manifest.version)
    );
    if let Some(path) = openapi_path(mounted) {
        let _ = write!(html, "<p><a href=\"{0}\">{0}</a></p>", escape(&path));
    }
    match manifest.openapi.as_ref().filter(|root| members_of(root, "paths").is_some()) {
        Some(root) => {
            let document = Document { root, base_url, plugin: &mounted.plugin };
            html.push_str(&keys::describe_schemes(document));
            html.push_str(&Section::new(document).write());
        }
        None => plain_routes(&mut html, manifest),
    }
    html
}

/// Renders the routes of a manifest without an OpenAPI document.
fn plain_routes(html: &mut String, manifest: &Manifest) {
    for route in &manifest.routes {
        html.push_str("<article>");
        html.push_str(&section::heading(&route.method, &route.path));
        let _ = write!(html, "<p>{}</p></article>", escape(&route.operation));
    }
}

#[cfg(test)]
mod tests;
