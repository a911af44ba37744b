//! Which browser pages may call: exact origins from the configuration, or "*". Off where none is named.
//!
//! Credentials here are keys in headers, never cookies, so `Access-Control-Allow-Credentials` is never sent.

use http::{HeaderMap, HeaderValue, header, request};

use crate::limits::CORS_PREFLIGHT_SECONDS;

/// What a page may read beside the plain answer.
const EXPOSED: &str = "x-request-id, retry-after, location, etag, ratelimit, ratelimit-policy, x-ratelimit-limit, \
                       x-ratelimit-remaining, x-ratelimit-reset";

pub(super) struct Cors {
    origins: Vec<String>,
}

impl Cors {
    pub(super) fn new(origins: Vec<String>) -> Cors {
        Cors { origins }
    }

    /// Adds what the browser needs to hand the answer to the page. Answers differ by origin, which caches must know.
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
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED));
        if is_preflight(head) {
            add_preflight(head, headers);
        }
    }
}

fn is_preflight(head: &request::Parts) -> bool {
    head.method == http::Method::OPTIONS && head.headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

/// The page's wish list of headers is granted: which of them mean something is decided by the request itself.
fn add_preflight(head: &request::Parts, headers: &mut HeaderMap) {
    if let Some(allow) = headers.get(header::ALLOW).cloned() {
        headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, allow);
    }
    if let Some(wanted) = head.headers.get(header::ACCESS_CONTROL_REQUEST_HEADERS) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, wanted.clone());
    }
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from(CORS_PREFLIGHT_SECONDS));
}
