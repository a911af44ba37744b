//! Builds responses from plugin answers. A plugin can never set the framing or the headers that the host owns.

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Response, StatusCode, Version, header};
use hyper::body::Body as _;
use tokio::sync::mpsc;

use super::Body;
use crate::{
    budget::Charge,
    plugin::{
        error_bodies::{is_host_header, is_origin_header},
        exchange::Answer,
    },
};

/// How a response is sent.
pub(super) struct SendOptions {
    /// Memory charge for the headers and body, held until they are sent.
    pub charge: Option<Charge>,
    pub version: Version,
}

/// Converts a plugin's answer into a response.
///
/// `origin_headers` lists the headers that apply to the whole origin and that the plugin may set. `on_dropped` is
/// called with the name of each removed header.
///
/// # Errors
/// Returns the reason if the answer cannot be sent, which is a fault of the plugin.
pub(super) fn build_response(
    answer: Answer,
    options: SendOptions,
    origin_headers: &[String],
    on_dropped: impl Fn(&HeaderName),
) -> Result<Response<Body>, &'static str> {
    let status = StatusCode::from_u16(answer.status)
        .ok()
        .filter(|status| (200..600).contains(&status.as_u16()))
        .ok_or("the status must be 200 to 599")?;
    let mut response = Response::new(Body::default());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    for (name, value) in answer.headers {
        let name = HeaderName::try_from(name).map_err(|_| "a header name is invalid")?;
        if is_host_header(name.as_str()) || is_origin_header(name.as_str(), origin_headers) {
            on_dropped(&name);
            continue;
        }
        let value = HeaderValue::try_from(value).map_err(|_| "a header value is invalid")?;
        headers.try_append(name, value).map_err(|_| "there are too many headers")?;
    }
    let bodiless = matches!(status, StatusCode::NO_CONTENT | StatusCode::RESET_CONTENT | StatusCode::NOT_MODIFIED);
    let (mut body, mut charge) = (answer.body, options.charge);
    if bodiless {
        let bytes = std::mem::take(&mut body).len() as u64;
        charge = charge.map(|charge| charge.without(bytes));
    }
    if !body.is_empty() {
        let media_type = match answer.media_type {
            Some(media_type) => HeaderValue::try_from(media_type).map_err(|_| "the media type is invalid")?,
            None => HeaderValue::from_static("application/octet-stream"),
        };
        headers.insert(header::CONTENT_TYPE, media_type);
    }
    *response.body_mut() = Body::charged(body, charge, options.version);
    Ok(response)
}

/// Builds the response of an event stream. Its headers keep caches from storing it and proxies from buffering it.
pub(super) fn event_stream(chunks: mpsc::Receiver<Bytes>) -> Response<Body> {
    let mut response = Response::new(Body::stream(chunks));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response
}

/// Removes the body of a response to HEAD and keeps its length.
pub(super) fn strip_body(response: &mut Response<Body>) {
    let body = std::mem::take(response.body_mut());
    // An empty body adds no length, because 204 and 304 declare none.
    if let Some(length) = body.size_hint().exact().filter(|length| *length > 0) {
        response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    }
    *response.body_mut() = body.into_headers();
}

/// Builds a response from JSON text.
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

    impl SendOptions {
        fn uncharged() -> SendOptions {
            SendOptions { charge: None, version: Version::HTTP_11 }
        }
    }

    fn build(answer: Answer) -> Result<Response<Body>, &'static str> {
        build_response(answer, SendOptions::uncharged(), &[], |_| ())
    }

    #[test]
    fn origin_wide_headers_are_dropped_unless_configured() {
        let dropped = std::cell::RefCell::new(Vec::new());
        let headers = [
            ("Set-Cookie", "a=b"),
            ("strict-transport-security", "max-age=1"),
            ("alt-svc", "h3=\":443\""),
            ("clear-site-data", "\"*\""),
            ("etag", "\"1\""),
        ];
        let record = |name: &HeaderName| dropped.borrow_mut().push(name.to_string());
        let response =
            build_response(answer(200, &headers, "{}"), SendOptions::uncharged(), &["set-cookie".to_owned()], record)
                .unwrap();
        assert_eq!(response.headers()["set-cookie"], "a=b");
        assert_eq!(response.headers()["etag"], "\"1\"");
        assert_eq!(response.headers().len(), 3, "the media type is the third");
        assert_eq!(dropped.into_inner(), ["strict-transport-security", "alt-svc", "clear-site-data"]);
    }

    #[test]
    fn host_and_connection_headers_are_dropped() {
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
    fn answer_that_cannot_be_sent_is_a_fault() {
        assert!(build(answer(200, &[("a b", "x")], "")).is_err());
        assert!(build(answer(200, &[("a", "x\r\ny: z")], "")).is_err());
        for status in [0, 100, 101, 199, 600, 999, 1000] {
            assert!(build(answer(status, &[], "")).is_err(), "{status}");
        }
    }

    #[test]
    fn no_content_has_no_body_and_no_media_type() {
        let response = build(answer(204, &[], "{}")).unwrap();
        assert!(response.headers().is_empty());
        assert_eq!(hyper::body::Body::size_hint(response.body()).exact(), Some(0));
    }

    #[test]
    fn head_response_keeps_only_the_length() {
        let mut response = build(answer(200, &[], "{\"a\":1}")).unwrap();
        strip_body(&mut response);
        assert_eq!(response.headers()["content-length"], "7");
        assert_eq!(hyper::body::Body::size_hint(response.body()).exact(), Some(0));
    }
}
