//! The host's own pages: `/` (served plugins), `/openapi/{plugin}.json`, `/docs` (readable documentation), and the
//! documents for OAuth clients.
//!
//! No route can take their paths (`plugin::routes` rejects it). They need no key, contain nothing but data of
//! manifests, mounts and URLs of the host, load nothing from elsewhere and run no script. Each page is rendered once
//! for a route table, because requests for it need no key and have no rate limit.

use std::sync::{Arc, LazyLock};

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Response, header, request};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{Body, response};
use crate::plugin::routes::{Mounted, RouteTable};

mod docs;

const STYLE: &str = include_str!("pages/style.css");

/// The content security policy: nothing may be loaded, framed or submitted, and only this one style sheet is allowed.
static POLICY: LazyLock<String> = LazyLock::new(|| {
    let style = STANDARD.encode(Sha256::digest(STYLE.as_bytes()));
    format!(
        "default-src 'none'; style-src 'sha256-{style}'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
    )
});

pub(super) enum Page<G> {
    Index,
    Docs,
    OpenApi(Arc<Mounted<G>>),
    /// An OAuth document of the host as an authorization server.
    Document(Bytes),
}

impl<G> Page<G> {
    pub(super) fn of(table: &RouteTable<G>, path: &str) -> Option<Page<G>> {
        match path {
            "/" => Some(Page::Index),
            "/docs" => Some(Page::Docs),
            _ => {
                let plugin = path.strip_prefix("/openapi/")?.strip_suffix(".json")?;
                let is_match =
                    |mounted: &&Arc<Mounted<G>>| &*mounted.plugin == plugin && mounted.manifest.openapi.is_some();
                table.mounted().iter().find(is_match).map(|mounted| Page::OpenApi(Arc::clone(mounted)))
            }
        }
    }

    pub(super) fn render(&self, table: &RouteTable<G>, head: &request::Parts, base_url: &str) -> Response<Body> {
        let rendered = &table.rendered;
        let mut response = match self {
            Page::Index if accepts_html(head) => html(rendered.get("/ html", || page("Tenon", &docs::index(table)))),
            Page::Index => response::json(rendered.get("/", || index(table).to_string())),
            Page::Docs => html(rendered.get("/docs", || page("Interfaces", &docs::operations(table, base_url)))),
            Page::Document(document) => response::json(document.clone()),
            Page::OpenApi(mounted) => {
                let name = format!("/openapi/{}", mounted.plugin);
                response::json(rendered.get(&name, || openapi(mounted, base_url).to_string()))
            }
        };
        let headers = response.headers_mut();
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        headers.insert(header::VARY, HeaderValue::from_static("accept"));
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        response
    }
}

fn accepts_html(head: &request::Parts) -> bool {
    let accept = head.headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
    accept.is_some_and(|accept| accept.contains("text/html"))
}

fn index<G>(table: &RouteTable<G>) -> Value {
    let plugin = |mounted: &Arc<Mounted<G>>| {
        json!({
            "name": &*mounted.plugin,
            "title": mounted.manifest.title,
            "version": mounted.manifest.version,
            "mount": mounted.config.mount,
            "versions": table.served_versions(&mounted.plugin),
            "openapi": openapi_path(mounted),
        })
    };
    json!({ "plugins": table.mounted().iter().map(plugin).collect::<Vec<_>>(), "docs": "/docs" })
}

fn openapi_path<G>(mounted: &Mounted<G>) -> Option<String> {
    mounted.manifest.openapi.as_ref().map(|_| format!("/openapi/{}.json", mounted.plugin))
}

/// Returns the base URL of an interface. It is relative if the host has no configured address.
fn base_url_of<G>(mounted: &Mounted<G>, base_url: &str) -> String {
    format!("{base_url}{}", mounted.config.mount.trim_end_matches('/'))
}

/// Returns the server URL of an interface. Never empty: OpenAPI interprets "/" as the host that served the document.
fn server_url<G>(mounted: &Mounted<G>, base_url: &str) -> String {
    Some(base_url_of(mounted, base_url)).filter(|url| !url.is_empty()).unwrap_or_else(|| "/".to_owned())
}

/// Returns the document of the manifest with the server URL of the host.
fn openapi<G>(mounted: &Mounted<G>, base_url: &str) -> Value {
    let mut document = mounted.manifest.openapi.clone().unwrap_or(Value::Null);
    if let Some(members) = document.as_object_mut() {
        members.insert("servers".to_owned(), json!([{ "url": server_url(mounted, base_url) }]));
    }
    document
}

fn page(title: &str, body: &str) -> String {
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\
         <meta name=\"viewport\" content=\"width=device-width\"><style>{STYLE}</style></head>\
         <body><main>{body}</main></body></html>"
    )
}

fn html(page: Bytes) -> Response<Body> {
    let mut response = Response::new(Body::from(page));
    let headers: [(HeaderName, &str); 2] =
        [(header::CONTENT_TYPE, "text/html; charset=utf-8"), (header::CONTENT_SECURITY_POLICY, &POLICY)];
    for (name, value) in headers {
        if let Ok(value) = HeaderValue::from_str(value) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

/// Escapes text of a manifest or a caller for HTML, attributes included.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}
