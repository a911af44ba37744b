//! CORS: allows browser pages of the configured origins, or of all with "*". Disabled if no origin is configured.
//!
//! Credentials are keys in headers, never cookies, so the host never sends `Access-Control-Allow-Credentials`.

use http::{HeaderMap, HeaderValue, header, request};

use crate::limits::CORS_PREFLIGHT_SECONDS;

pub(super) struct Cors {
    origins: Vec<String>,
}

impl Cors {
    pub(super) fn new(origins: Vec<String>) -> Cors {
        Cors { origins }
    }

    /// Adds the CORS response headers. Responses differ by origin, which `Vary` declares to caches.
    pub(super) fn add_headers(&self, head: &request::Parts, headers: &mut HeaderMap) {
        if self.origins.is_empty() {
            return;
        }
        let any = self.origins.iter().any(|origin| origin == "*");
        if !any {
            headers.append(header::VARY, HeaderValue::from_static("origin"));
        }
        let Some(origin) = head.headers.get(header::ORIGIN) else { return };
        if any {
            headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
        } else if self.origins.iter().any(|allowed| allowed.as_bytes() == origin.as_bytes()) {
            headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        } else {
            return;
        }
        // "*" exposes the headers of the response, including those that a plugin sets. Browsers accept it because the
        // request has no credentials in the sense of CORS.
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("*"));
        if is_preflight(head) {
            add_preflight(head, headers);
        }
    }
}

fn is_preflight(head: &request::Parts) -> bool {
    head.method == http::Method::OPTIONS && head.headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

/// Allows all headers that the page requests. Headers that the route does not use have no effect.
fn add_preflight(head: &request::Parts, headers: &mut HeaderMap) {
    if let Some(allow) = headers.get(header::ALLOW).cloned() {
        headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, allow);
    }
    if let Some(requested) = head.headers.get(header::ACCESS_CONTROL_REQUEST_HEADERS) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, requested.clone());
    }
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from(CORS_PREFLIGHT_SECONDS));
}
