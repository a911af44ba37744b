//! Error responses of the host in the format of an interface.
//!
//! Compiles the `failures` of a manifest to response templates, and provides a generic body (RFC 9457) for the others.
//! A body contains nothing about the cause but its code. Invariant: a compiled response can always be sent.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};

use crate::manifest::{ErrorTemplate, Manifest};
use crate::{config::ORIGIN_HEADER_NAMES, host_error::HostError};

/// Placeholder for the id of the request in a string of a body.
pub const REQUEST_ID: &str = "{request-id}";

/// Header names that a plugin may not set, in its error templates or its answers. They belong to the connection or the
/// host.
const HOST_HEADERS: [&str; 14] = [
    "connection",
    "content-length",
    "content-type",
    "date",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "server",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "x-request-id",
];

/// Rules for headers of answers, for authors.
pub const HEADERS_RULE: &str = "headers of answers that are dropped: access-control-*, content-type, x-request-id and those \
     of the connection always; headers that act on the whole origin (set-cookie, strict-transport-security, alt-svc, \
     clear-site-data, …) unless origin-headers in plugins.toml lists them";

/// Returns true if the header acts on the whole origin, hence on every plugin of the host, and `allowed` does not list
/// it.
pub fn is_origin_header(name: &str, allowed: &[String]) -> bool {
    ORIGIN_HEADER_NAMES.contains(&name) && !allowed.iter().any(|allowed| allowed == name)
}

/// Returns true if the host owns the header: it concerns the connection or the framing, or the host adds it to every
/// answer.
pub fn is_host_header(name: &str) -> bool {
    HOST_HEADERS.contains(&name) || name.starts_with("access-control-")
}

/// Error responses of one interface, for each error of the host.
#[derive(Debug)]
pub struct ErrorBodies {
    templates: Vec<(HostError, CompiledTemplate)>,
}

#[derive(Debug)]
struct CompiledTemplate {
    status: StatusCode,
    headers: HeaderMap,
    /// The body, split at the placeholders for the id of the request.
    pieces: Vec<Box<str>>,
}

impl ErrorBodies {
    /// Compiles the error templates of a manifest.
    ///
    /// # Errors
    ///
    /// The manifest names an unknown failure, a status outside of 400 to 599, or a header that is reserved or cannot be
    /// sent.
    pub fn compile(manifest: &Manifest) -> Result<ErrorBodies, String> {
        check_names(&manifest.failures)?;
        let compile = |failure: HostError| {
            let template = match manifest.failures.get(failure.name()) {
                Some(source) => {
                    CompiledTemplate::compile(source).map_err(|why| format!("failure \"{}\": {why}", failure.name()))
                }
                None => Ok(CompiledTemplate::generic(failure)),
            };
            template.map(|template| (failure, template.with_defaults(failure)))
        };
        Ok(ErrorBodies { templates: HostError::ALL.into_iter().map(compile).collect::<Result<_, _>>()? })
    }

    /// Returns the generic error bodies, for paths that belong to no plugin.
    pub fn generic() -> ErrorBodies {
        let render = |failure| (failure, CompiledTemplate::generic(failure).with_defaults(failure));
        ErrorBodies { templates: HostError::ALL.into_iter().map(render).collect() }
    }

    /// Returns the response for an error. The caller adds headers of the single request (Allow, Retry-After, …).
    pub fn render(&self, failure: HostError, request_id: &str) -> Response<Bytes> {
        let mut response = Response::new(Bytes::new());
        *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
        if let Some((_, template)) = self.templates.iter().find(|(known, _)| *known == failure) {
            *response.status_mut() = template.status;
            response.headers_mut().clone_from(&template.headers);
            *response.body_mut() = Bytes::from(template.pieces.join(request_id));
        }
        response
    }
}

fn check_names(failures: &BTreeMap<String, ErrorTemplate>) -> Result<(), String> {
    match failures.keys().find(|name| !HostError::ALL.iter().any(|failure| failure.name() == name.as_str())) {
        Some(name) => Err(format!("the host has no failure \"{name}\"")),
        None => Ok(()),
    }
}

impl CompiledTemplate {
    fn compile(source: &ErrorTemplate) -> Result<CompiledTemplate, String> {
        let status = StatusCode::from_u16(source.status)
            .ok()
            .filter(|status| status.is_client_error() || status.is_server_error())
            .ok_or_else(|| format!("the status {} is none of 400 to 599", source.status))?;
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        for (name, value) in &source.headers {
            let lower = name.to_ascii_lowercase();
            // An interface may set the content type of its error bodies, for example to application/problem+json.
            if is_host_header(&lower) && lower != "content-type" {
                return Err(format!("the header \"{name}\" is reserved for the host"));
            }
            let parsed =
                HeaderName::from_bytes(lower.as_bytes()).map_err(|_| format!("\"{name}\" is no header name"))?;
            let value =
                HeaderValue::from_str(value).map_err(|_| format!("the header \"{name}\" cannot have that value"))?;
            headers.insert(parsed, value);
        }
        Ok(CompiledTemplate { status, headers, pieces: split(&source.body.to_string()) })
    }

    /// Returns a template with a body in the format of RFC 9457 and a stable `code`.
    fn generic(failure: HostError) -> CompiledTemplate {
        let status = StatusCode::from_u16(failure.default_status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = serde_json::json!({
            "type": "about:blank",
            "title": status.canonical_reason().unwrap_or("Error"),
            "status": status.as_u16(),
            "code": failure.name(),
            "request_id": REQUEST_ID,
        });
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        CompiledTemplate { status, headers, pieces: split(&body.to_string()) }
    }

    /// Adds missing headers: `WWW-Authenticate` for `Unauthenticated` if its status is 401, as RFC 9110 requires, and
    /// `Retry-After` for `Unavailable`.
    fn with_defaults(mut self, failure: HostError) -> CompiledTemplate {
        if self.status == StatusCode::UNAUTHORIZED && failure == HostError::Unauthenticated {
            self.headers.entry(header::WWW_AUTHENTICATE).or_insert(HeaderValue::from_static("Bearer"));
        }
        if failure == HostError::Unavailable {
            self.headers.entry(header::RETRY_AFTER).or_insert(HeaderValue::from_static("1"));
        }
        self
    }
}

fn split(body: &str) -> Vec<Box<str>> {
    body.split(REQUEST_ID).map(Box::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(failures: serde_json::Value) -> Manifest {
        serde_json::from_value(serde_json::json!({
            "contract": "0.1", "name": "notes", "version": "1.0.0", "routes": [], "failures": failures,
        }))
        .unwrap()
    }

    fn body(response: Response<Bytes>) -> String {
        String::from_utf8(response.into_body().to_vec()).unwrap()
    }

    #[test]
    fn error_body_of_an_interface_contains_the_request_id() {
        let error_bodies = ErrorBodies::compile(&manifest(serde_json::json!({
            "not-found": { "status": 410, "headers": { "X-Note": "gone" }, "body": { "error": "gone ({request-id})" } },
        })))
        .unwrap();
        let response = error_bodies.render(HostError::NotFound, "req_1");
        assert_eq!(response.status(), 410);
        assert_eq!(response.headers()["content-type"], "application/json");
        assert_eq!(response.headers()["x-note"], "gone");
        assert_eq!(body(response), r#"{"error":"gone (req_1)"}"#);
    }

    #[test]
    fn error_without_a_template_is_a_problem_with_a_stable_code() {
        let error_bodies = ErrorBodies::compile(&manifest(serde_json::json!({}))).unwrap();
        for failure in HostError::ALL {
            let response = error_bodies.render(failure, "req_2");
            assert_eq!(response.status(), failure.default_status());
            assert_eq!(response.headers()["content-type"], "application/problem+json");
            let problem: serde_json::Value = serde_json::from_str(&body(response)).unwrap();
            assert_eq!(problem["code"], failure.name());
            assert_eq!(problem["request_id"], "req_2");
        }
        assert_eq!(error_bodies.render(HostError::Unauthenticated, "r").headers()["www-authenticate"], "Bearer");
        assert_eq!(error_bodies.render(HostError::Unavailable, "r").headers()["retry-after"], "1");
    }

    #[test]
    fn templates_that_cannot_be_sent_are_rejected() {
        let rejected = [
            serde_json::json!({ "no-such-failure": { "status": 400, "body": {} } }),
            serde_json::json!({ "not-found": { "status": 200, "body": {} } }),
            serde_json::json!({ "not-found": { "status": 404, "headers": { "a b": "x" }, "body": {} } }),
            serde_json::json!({ "not-found": { "status": 404, "headers": { "x": "a\nb" }, "body": {} } }),
            serde_json::json!({ "not-found": { "status": 404, "headers": { "Content-Length": "1" }, "body": {} } }),
        ];
        for failures in rejected {
            assert!(ErrorBodies::compile(&manifest(failures.clone())).is_err(), "{failures}");
        }
    }
}
