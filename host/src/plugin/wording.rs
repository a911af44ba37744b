//! Failures of the host in the interface's own words.
//!
//! Owns turning a manifest's `failures` into ready responses, and the general words (RFC 9457) where a plugin has none.
//! Never says why something failed beyond its code. Invariant: what is compiled can always be sent.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};

use crate::manifest::{FailureWording, Manifest};
use crate::{config::ORIGIN_HEADER_NAMES, failure::Failure};

/// Stands for the id of the request within a text of a body.
pub const REQUEST_ID: &str = "{request-id}";

/// Header names that a plugin may not set, in its wording or its answers: they belong to the connection or the host.
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

/// Returns true if the header acts on the whole origin, hence on every plugin of the host, and `allowed` does not list it.
pub fn is_origin_header(name: &str, allowed: &[String]) -> bool {
    ORIGIN_HEADER_NAMES.contains(&name) && !allowed.iter().any(|allowed| allowed == name)
}

/// Whether this header is the host's: about the connection, the framing, or what the host adds to every answer.
pub fn is_host_header(name: &str) -> bool {
    HOST_HEADERS.contains(&name) || name.starts_with("access-control-")
}

/// Ready words for every failure.
#[derive(Debug)]
pub struct Wording {
    words: Vec<(Failure, Words)>,
}

#[derive(Debug)]
struct Words {
    status: StatusCode,
    headers: HeaderMap,
    /// The body, cut where the id of the request goes in.
    pieces: Vec<Box<str>>,
}

impl Wording {
    /// # Errors
    /// A sentence: a failure that does not exist, a status that is none of 400 to 599, a header that cannot be sent.
    pub fn compile(manifest: &Manifest) -> Result<Wording, String> {
        check_names(&manifest.failures)?;
        let compile = |failure: Failure| {
            let words = match manifest.failures.get(failure.name()) {
                Some(wording) => {
                    Words::compile(wording).map_err(|why| format!("failure \"{}\": {why}", failure.name()))
                }
                None => Ok(Words::general(failure)),
            };
            words.map(|words| (failure, words.with_defaults(failure)))
        };
        Ok(Wording { words: Failure::ALL.into_iter().map(compile).collect::<Result<_, _>>()? })
    }

    /// The host's own words, for addresses that belong to no plugin.
    pub fn general() -> Wording {
        let word = |failure| (failure, Words::general(failure).with_defaults(failure));
        Wording { words: Failure::ALL.into_iter().map(word).collect() }
    }

    /// The response for this failure; the caller adds what belongs to this one request (Allow, Retry-After, …).
    pub fn word(&self, failure: Failure, request_id: &str) -> Response<Bytes> {
        let mut response = Response::new(Bytes::new());
        *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
        if let Some((_, words)) = self.words.iter().find(|(known, _)| *known == failure) {
            *response.status_mut() = words.status;
            response.headers_mut().clone_from(&words.headers);
            *response.body_mut() = Bytes::from(words.pieces.join(request_id));
        }
        response
    }
}

fn check_names(failures: &BTreeMap<String, FailureWording>) -> Result<(), String> {
    match failures.keys().find(|name| !Failure::ALL.iter().any(|failure| failure.name() == name.as_str())) {
        Some(name) => Err(format!("the host knows no failure \"{name}\"")),
        None => Ok(()),
    }
}

impl Words {
    fn compile(wording: &FailureWording) -> Result<Words, String> {
        let status = StatusCode::from_u16(wording.status)
            .ok()
            .filter(|status| status.is_client_error() || status.is_server_error())
            .ok_or_else(|| format!("the status {} is none of 400 to 599", wording.status))?;
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        for (name, value) in &wording.headers {
            let lower = name.to_ascii_lowercase();
            // The content type is the interface's here: some word failures as application/problem+json.
            if is_host_header(&lower) && lower != "content-type" {
                return Err(format!("the header \"{name}\" is the host's"));
            }
            let parsed =
                HeaderName::from_bytes(lower.as_bytes()).map_err(|_| format!("\"{name}\" is no header name"))?;
            let value =
                HeaderValue::from_str(value).map_err(|_| format!("the header \"{name}\" cannot have that value"))?;
            headers.insert(parsed, value);
        }
        Ok(Words { status, headers, pieces: cut(&wording.body.to_string()) })
    }

    /// RFC 9457, with a stable `code`.
    fn general(failure: Failure) -> Words {
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
        Words { status, headers, pieces: cut(&body.to_string()) }
    }

    /// Headers that RFC 9110 wants with a status.
    fn with_defaults(mut self, failure: Failure) -> Words {
        if self.status == StatusCode::UNAUTHORIZED && failure == Failure::Unauthenticated {
            self.headers.entry(header::WWW_AUTHENTICATE).or_insert(HeaderValue::from_static("Bearer"));
        }
        if failure == Failure::Unavailable {
            self.headers.entry(header::RETRY_AFTER).or_insert(HeaderValue::from_static("1"));
        }
        self
    }
}

fn cut(body: &str) -> Vec<Box<str>> {
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
    fn an_interface_words_a_failure_with_the_id_of_the_request() {
        let wording = Wording::compile(&manifest(serde_json::json!({
            "not-found": { "status": 410, "headers": { "X-Note": "gone" }, "body": { "error": "gone ({request-id})" } },
        })))
        .unwrap();
        let response = wording.word(Failure::NotFound, "req_1");
        assert_eq!(response.status(), 410);
        assert_eq!(response.headers()["content-type"], "application/json");
        assert_eq!(response.headers()["x-note"], "gone");
        assert_eq!(body(response), r#"{"error":"gone (req_1)"}"#);
    }

    #[test]
    fn without_words_of_its_own_a_problem_with_a_stable_code_is_sent() {
        let wording = Wording::compile(&manifest(serde_json::json!({}))).unwrap();
        for failure in Failure::ALL {
            let response = wording.word(failure, "req_2");
            assert_eq!(response.status(), failure.default_status());
            assert_eq!(response.headers()["content-type"], "application/problem+json");
            let problem: serde_json::Value = serde_json::from_str(&body(response)).unwrap();
            assert_eq!(problem["code"], failure.name());
            assert_eq!(problem["request_id"], "req_2");
        }
        assert_eq!(wording.word(Failure::Unauthenticated, "r").headers()["www-authenticate"], "Bearer");
        assert_eq!(wording.word(Failure::Unavailable, "r").headers()["retry-after"], "1");
    }

    #[test]
    fn words_that_cannot_be_sent_are_refused() {
        let refused = [
            serde_json::json!({ "no-such-failure": { "status": 400, "body": {} } }),
            serde_json::json!({ "not-found": { "status": 200, "body": {} } }),
            serde_json::json!({ "not-found": { "status": 404, "headers": { "a b": "x" }, "body": {} } }),
            serde_json::json!({ "not-found": { "status": 404, "headers": { "x": "a\nb" }, "body": {} } }),
            serde_json::json!({ "not-found": { "status": 404, "headers": { "Content-Length": "1" }, "body": {} } }),
        ];
        for failures in refused {
            assert!(Wording::compile(&manifest(failures.clone())).is_err(), "{failures}");
        }
    }
}
