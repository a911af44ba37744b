//! Converts a plugin's call into an HTTP request without its destination. Pure.
//!
//! Invariant: the request has no authentication and no connection headers, whatever the plugin wrote.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, header};

use super::DestinationCallError;
use crate::{
    changes::outgoing::{OutgoingCall, OutgoingContent},
    limits::{OUTGOING_HEADER_BYTES_MAX, OUTGOING_HEADERS_MAX},
    outbound::{HOPS_HEADER, next_hops},
};

pub(super) struct Request {
    pub method: Method,
    /// Path as the plugin wrote it. `outbound::join` appends it to the base URL.
    pub path: String,
    pub headers: HeaderMap,
    pub body: Bytes,
    pub media_type: Option<String>,
    /// Idempotency key. The outbox stores one message for each key.
    pub key: Option<String>,
}

pub(super) const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Allowed methods. CONNECT would open a tunnel and TRACE would return the credentials.
const METHODS: [Method; 7] =
    [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::PATCH, Method::DELETE, Method::OPTIONS];

/// Headers that only the host sets: authentication, connection and content.
const RESERVED_HEADERS: [&str; 15] = [
    "authorization",
    "connection",
    "content-length",
    "content-type",
    "cookie",
    "expect",
    "host",
    "http2-settings",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

pub(super) fn prepare(call: &OutgoingCall, key: Option<&str>) -> Result<Request, DestinationCallError> {
    let method = METHODS.into_iter().find(|method| method.as_str() == call.method);
    let method = method.ok_or_else(|| malformed(format!("the method {:.20?} is not allowed", call.method)))?;
    let mut headers = read_headers(&call.headers)?;
    // Replaces any value of the plugin, which could otherwise reset the count of a loop.
    headers.insert(HOPS_HEADER, next_hops(call.hops));
    if let Some(key) = key {
        let value =
            HeaderValue::from_str(key).map_err(|_| malformed("the idempotency key is not a valid header value"))?;
        headers.insert(IDEMPOTENCY_KEY, value);
    }
    let (media_type, body) = match &call.content {
        OutgoingContent::Empty => (None, Bytes::new()),
        OutgoingContent::Json(text) => (Some("application/json"), Bytes::copy_from_slice(text.as_bytes())),
        OutgoingContent::Other { media_type, bytes } => (Some(media_type.as_str()), Bytes::copy_from_slice(bytes)),
    };
    if let Some(media_type) = media_type {
        let value =
            HeaderValue::from_str(media_type).map_err(|_| malformed("the media type is not a valid header value"))?;
        headers.insert(header::CONTENT_TYPE, value);
    }
    let key = headers.get(IDEMPOTENCY_KEY).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    Ok(Request { method, path: call.path.clone(), headers, body, media_type: media_type.map(str::to_owned), key })
}

fn read_headers(pairs: &[(String, String)]) -> Result<HeaderMap, DestinationCallError> {
    let bytes: usize = pairs.iter().map(|(name, value)| name.len() + value.len()).sum();
    if pairs.len() > OUTGOING_HEADERS_MAX || bytes > OUTGOING_HEADER_BYTES_MAX {
        let message = format!("a call has at most {OUTGOING_HEADERS_MAX} headers of {OUTGOING_HEADER_BYTES_MAX} bytes");
        return Err(malformed(message));
    }
    let mut headers = HeaderMap::with_capacity(pairs.len());
    for (name, value) in pairs {
        let invalid = |reason: &str| malformed(format!("the header {name:.80?} {reason}"));
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| invalid("has an invalid name"))?;
        if RESERVED_HEADERS.contains(&name.as_str()) {
            return Err(invalid("is reserved for the host"));
        }
        headers.append(name, HeaderValue::from_str(value).map_err(|_| invalid("has an invalid value"))?);
    }
    Ok(headers)
}

fn malformed(message: impl Into<String>) -> DestinationCallError {
    DestinationCallError::not_sent("malformed-call", message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call() -> OutgoingCall {
        OutgoingCall {
            destination: "bank".into(),
            method: "POST".into(),
            path: "/things".into(),
            headers: vec![("X-Own".into(), "a".into()), ("idempotency-key".into(), "mine".into())],
            content: OutgoingContent::Json("{}".into()),
            timeout_ms: 0,
            hops: 0,
        }
    }

    fn with_header(name: &str, value: &str) -> OutgoingCall {
        OutgoingCall { headers: vec![(name.into(), value.into())], ..call() }
    }

    #[test]
    fn host_idempotency_key_replaces_that_of_the_call() {
        let own = prepare(&call(), None).unwrap();
        assert_eq!((own.headers["x-own"].as_bytes(), own.key.as_deref()), (&b"a"[..], Some("mine")));
        let with_key = prepare(&call(), Some("effect_1")).unwrap();
        assert_eq!(with_key.headers.get_all(IDEMPOTENCY_KEY).iter().collect::<Vec<_>>(), ["effect_1"]);
        assert_eq!(with_key.headers[header::CONTENT_TYPE], "application/json");
    }

    #[test]
    fn hops_are_counted_regardless_of_the_plugins_header() {
        let reset = OutgoingCall { hops: 4, ..with_header("Tenon-Hops", "0") };
        let sent = prepare(&reset, None).unwrap();
        assert_eq!(sent.headers.get_all(HOPS_HEADER).iter().collect::<Vec<_>>(), ["5"]);
    }

    #[test]
    fn reserved_header_is_rejected() {
        for name in RESERVED_HEADERS.into_iter().chain(["Authorization", "HOST"]) {
            let error = prepare(&with_header(name, "x"), None).err().unwrap();
            assert_eq!((error.class, error.certainty), ("malformed-call", super::super::Certainty::NotSent), "{name}");
        }
    }

    #[test]
    fn invalid_call_is_rejected_without_quoting_header_values() {
        let long = "x".repeat(OUTGOING_HEADER_BYTES_MAX);
        let many = OutgoingCall { headers: vec![("x".into(), "y".into()); OUTGOING_HEADERS_MAX + 1], ..call() };
        let content = OutgoingContent::Other { media_type: "a\nb".into(), bytes: Vec::new() };
        for wrong in [
            OutgoingCall { method: "CONNECT".into(), ..call() },
            OutgoingCall { method: "post".into(), ..call() },
            OutgoingCall { content, ..call() },
            with_header("x y", "z"),
            with_header("x", "hunter2\r\nhost: y"),
            with_header("x", &long),
            many,
        ] {
            let error = prepare(&wrong, None).err().unwrap();
            assert_eq!(error.class, "malformed-call", "{error}");
            assert!(!error.message.contains("hunter2"));
        }
        assert_eq!(prepare(&call(), Some("a\nb")).err().unwrap().class, "malformed-call");
    }
}
