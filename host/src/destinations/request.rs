//! A plugin's call as HTTP, before it is known where it goes. Pure.
//!
//! Invariant: nothing here says who the host is or how the connection is used, whatever the plugin wrote.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, header};

use super::CallFailure;
use crate::{
    changes::outgoing::{OutgoingCall, OutgoingContent},
    limits::{OUTGOING_HEADER_BYTES_MAX, OUTGOING_HEADERS_MAX},
    outbound::{HOPS_HEADER, next_hops},
};

pub(super) struct Request {
    pub method: Method,
    /// As the plugin wrote it; put below an address by `outbound::join`.
    pub path: String,
    pub headers: HeaderMap,
    pub body: Bytes,
    pub media_type: Option<String>,
    /// One message for each, where it is stored.
    pub key: Option<String>,
}

pub(super) const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Another method would make a tunnel, or give back what was sent.
const METHODS: [Method; 7] =
    [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::PATCH, Method::DELETE, Method::OPTIONS];

/// They are the host's: who it is there, how the connection is used, and what the content is.
const OF_THE_HOST: [&str; 15] = [
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

pub(super) fn prepare(call: &OutgoingCall, key: Option<&str>) -> Result<Request, CallFailure> {
    let method = METHODS.into_iter().find(|method| method.as_str() == call.method);
    let method = method.ok_or_else(|| malformed(format!("there is no method {:.20?} for a call", call.method)))?;
    let mut headers = read_headers(&call.headers)?;
    // Replaces any value of the plugin: a plugin cannot restart the count of a loop.
    headers.insert(HOPS_HEADER, next_hops(call.hops));
    if let Some(key) = key {
        let value = HeaderValue::from_str(key).map_err(|_| malformed("the idempotency key fits into no header"))?;
        headers.insert(IDEMPOTENCY_KEY, value);
    }
    let (media_type, body) = match &call.content {
        OutgoingContent::Empty => (None, Bytes::new()),
        OutgoingContent::Json(text) => (Some("application/json"), Bytes::copy_from_slice(text.as_bytes())),
        OutgoingContent::Other { media_type, bytes } => (Some(media_type.as_str()), Bytes::copy_from_slice(bytes)),
    };
    if let Some(media_type) = media_type {
        let value = HeaderValue::from_str(media_type).map_err(|_| malformed("the media type fits into no header"))?;
        headers.insert(header::CONTENT_TYPE, value);
    }
    let key = headers.get(IDEMPOTENCY_KEY).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    Ok(Request { method, path: call.path.clone(), headers, body, media_type: media_type.map(str::to_owned), key })
}

fn read_headers(given: &[(String, String)]) -> Result<HeaderMap, CallFailure> {
    let bytes: usize = given.iter().map(|(name, value)| name.len() + value.len()).sum();
    if given.len() > OUTGOING_HEADERS_MAX || bytes > OUTGOING_HEADER_BYTES_MAX {
        let most = format!("a call has at most {OUTGOING_HEADERS_MAX} headers of {OUTGOING_HEADER_BYTES_MAX} bytes");
        return Err(malformed(most));
    }
    let mut headers = HeaderMap::with_capacity(given.len());
    for (name, value) in given {
        let wrong = |what: &str| malformed(format!("the header {name:.80?} {what}"));
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong("has no name of a header"))?;
        if OF_THE_HOST.contains(&name.as_str()) {
            return Err(wrong("is the host's"));
        }
        headers.append(name, HeaderValue::from_str(value).map_err(|_| wrong("has a value that no header can carry"))?);
    }
    Ok(headers)
}

fn malformed(words: impl Into<String>) -> CallFailure {
    CallFailure::not_sent("malformed-call", words)
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
    fn the_key_of_the_host_overrules_that_of_the_call() {
        let own = prepare(&call(), None).unwrap();
        assert_eq!((own.headers["x-own"].as_bytes(), own.key.as_deref()), (&b"a"[..], Some("mine")));
        let given = prepare(&call(), Some("effect_1")).unwrap();
        assert_eq!(given.headers.get_all(IDEMPOTENCY_KEY).iter().collect::<Vec<_>>(), ["effect_1"]);
        assert_eq!(given.headers[header::CONTENT_TYPE], "application/json");
    }

    #[test]
    fn hops_are_counted_regardless_of_the_plugins_header() {
        let reset = OutgoingCall { hops: 4, ..with_header("Tenon-Hops", "0") };
        let sent = prepare(&reset, None).unwrap();
        assert_eq!(sent.headers.get_all(HOPS_HEADER).iter().collect::<Vec<_>>(), ["5"]);
    }

    #[test]
    fn no_header_of_the_host_can_be_set() {
        for name in OF_THE_HOST.into_iter().chain(["Authorization", "HOST"]) {
            let refused = prepare(&with_header(name, "x"), None).err().unwrap();
            assert_eq!(
                (refused.class, refused.certainty),
                ("malformed-call", super::super::Certainty::NotSent),
                "{name}"
            );
        }
    }

    #[test]
    fn what_no_request_can_carry_is_refused_without_its_value() {
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
            let refused = prepare(&wrong, None).err().unwrap();
            assert_eq!(refused.class, "malformed-call", "{refused}");
            assert!(!refused.words.contains("hunter2"));
        }
        assert_eq!(prepare(&call(), Some("a\nb")).err().unwrap().class, "malformed-call");
    }
}
