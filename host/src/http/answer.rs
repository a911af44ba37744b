//! What a plugin answered, as a response. Never lets a plugin touch the framing or the host's own headers.

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Response, StatusCode, Version, header};
use hyper::body::Body as _;
use tokio::sync::mpsc;

use super::Body;
use crate::{
    budget::Charge,
    plugin::{
        exchange::Answer,
        wording::{is_host_header, is_origin_header},
    },
};

/// Form in which an answer leaves the host.
pub(super) struct Outlet {
    /// Charge of its headers and of its body until they are sent.
    pub charge: Option<Charge>,
    pub version: Version,
}

/// `origin_headers`: headers for the whole origin that the plugin may set. `on_dropped` is called with the name of each
/// header that is left out.
///
/// # Errors
/// What about it cannot be sent: a fault of the plugin.
pub(super) fn build_response(
    answer: Answer,
    outlet: Outlet,
    origin_headers: &[String],
    on_dropped: impl Fn(&HeaderName),
) -> Result<Response<Body>, &'static str> {
    let status = StatusCode::from_u16(answer.status)
        .ok()
        .filter(|status| (200..600).contains(&status.as_u16()))
        .ok_or("its status is none of 200 to 599")?;
    let mut response = Response::new(Body::default());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    for (name, value) in answer.headers {
        let name = HeaderName::try_from(name).map_err(|_| "one of its headers has no sound name")?;
        if is_host_header(name.as_str()) || is_origin_header(name.as_str(), origin_headers) {
            on_dropped(&name);
            continue;
        }
        let value = HeaderValue::try_from(value).map_err(|_| "one of its headers has a value that cannot be sent")?;
        headers.try_append(name, value).map_err(|_| "it has too many headers")?;
    }
    let bodiless = matches!(status, StatusCode::NO_CONTENT | StatusCode::RESET_CONTENT | StatusCode::NOT_MODIFIED);
    let (mut body, mut charge) = (answer.body, outlet.charge);
    if bodiless {
        let bytes = std::mem::take(&mut body).len() as u64;
        charge = charge.map(|charge| charge.without(bytes));
    }
    if !body.is_empty() {
        let media_type = match answer.media_type {
            Some(media_type) => HeaderValue::try_from(media_type).map_err(|_| "its media type cannot be sent")?,
            None => HeaderValue::from_static("application/octet-stream"),
        };
        headers.insert(header::CONTENT_TYPE, media_type);
    }
    *response.body_mut() = Body::charged(body, charge, outlet.version);
    Ok(response)
}

/// A stream of events. Caches must not keep it, proxies not hold it back.
pub(super) fn stream(chunks: mpsc::Receiver<Bytes>) -> Response<Body> {
    let mut response = Response::new(Body::live(chunks));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response
}

/// A HEAD is answered like a GET, length and all, but without the body.
pub(super) fn take_body_away(response: &mut Response<Body>) {
    let body = std::mem::take(response.body_mut());
    // 204 and 304 say no length; what has none to say is left as it is.
    if let Some(length) = body.size_hint().exact().filter(|length| *length > 0) {
        response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    }
    *response.body_mut() = body.into_headers();
}

/// A JSON text as a response.
pub(super) fn json(text: impl Into<Bytes>) -> Response<Body> {
    let mut response = Response::new(Body::from(text.into()));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, headers: &[(&str, &str)], body: &'static str) -> Answer {
        Answer {
            status,
            headers: headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            media_type: Some("application/json".to_owned()),
            body: Bytes::from_static(body.as_bytes()),
        }
    }

    impl Outlet {
        fn uncharged() -> Outlet {
            Outlet { charge: None, version: Version::HTTP_11 }
        }
    }

    fn build(answer: Answer) -> Result<Response<Body>, &'static str> {
        build_response(answer, Outlet::uncharged(), &[], |_| ())
    }

    #[test]
    fn origin_wide_headers_are_dropped_unless_the_operator_lists_them() {
        let dropped = std::cell::RefCell::new(Vec::new());
        let headers = [
            ("Set-Cookie", "a=b"),
            ("strict-transport-security", "max-age=1"),
            ("alt-svc", "h3=\":443\""),
            ("clear-site-data", "\"*\""),
            ("etag", "\"1\""),
        ];
        let note = |name: &HeaderName| dropped.borrow_mut().push(name.to_string());
        let response =
            build_response(answer(200, &headers, "{}"), Outlet::uncharged(), &["set-cookie".to_owned()], note).unwrap();
        assert_eq!(response.headers()["set-cookie"], "a=b");
        assert_eq!(response.headers()["etag"], "\"1\"");
        assert_eq!(response.headers().len(), 3, "and the media type");
        assert_eq!(dropped.into_inner(), ["strict-transport-security", "alt-svc", "clear-site-data"]);
    }

    #[test]
    fn headers_of_the_host_and_the_connection_are_dropped() {
        let dropped = [
            ("Connection", "close"),
            ("content-length", "999"),
            ("Transfer-Encoding", "chunked"),
            ("x-request-id", "mine"),
            ("access-control-allow-origin", "*"),
            ("content-type", "text/html"),
        ];
        let response = build(answer(200, &[dropped.as_slice(), &[("ETag", "\"1\"")]].concat(), "{}")).unwrap();
        assert_eq!(response.headers().len(), 2);
        assert_eq!(response.headers()["content-type"], "application/json");
        assert_eq!(response.headers()["etag"], "\"1\"");
    }

    #[test]
    fn what_cannot_be_sent_is_a_fault() {
        assert!(build(answer(200, &[("a b", "x")], "")).is_err());
        assert!(build(answer(200, &[("a", "x\r\ny: z")], "")).is_err());
        for status in [0, 100, 101, 199, 600, 999, 1000] {
            assert!(build(answer(status, &[], "")).is_err(), "{status}");
        }
    }

    #[test]
    fn no_content_has_neither_body_nor_type() {
        let response = build(answer(204, &[], "{}")).unwrap();
        assert!(response.headers().is_empty());
        assert_eq!(hyper::body::Body::size_hint(response.body()).exact(), Some(0));
    }

    #[test]
    fn a_head_keeps_the_length_alone() {
        let mut response = build(answer(200, &[], "{\"a\":1}")).unwrap();
        take_body_away(&mut response);
        assert_eq!(response.headers()["content-length"], "7");
        assert_eq!(hyper::body::Body::size_hint(response.body()).exact(), Some(0));
    }
}
