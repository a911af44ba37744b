//! The body of a request: its media type, size and timing.
//!
//! Invariants: nothing is read before the media type and the declared length are checked. Memory never holds more than
//! the limit. A body that arrives too slowly is rejected. Bodies of callers without a key that are still being read
//! never take the memory of callers with a key.
//!
//! This module never parses JSON. The SDK does, with the error bodies of the interface.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, StatusCode, Version, header, request};
use http_body_util::BodyExt;
use hyper::body::Body;
use tokio::time::{Instant, timeout_at};
use zeroize::Zeroizing;

use super::{
    activity::ProgressLimits,
    body_memory::{AnonymousBodies, BodyMemory},
    error::RequestError,
};
use crate::{
    budget::{Budget, Charge, Party},
    host_error::HostError,
    limits::{
        BODY_COPIES, BODY_MEMORY_WAIT_MS, BODY_STEP_BYTES, DISCARD_MS, DISCARDED_BYTES_MAX, HEADER_BYTES,
        HTTP2_SMALL_BODY_BYTES, HTTP2_SMALL_HEAD_BYTES, SMALL_BODY_BYTES,
    },
    plugin::exchange::Content,
};

/// Maximum number of bytes that `read_content` allocates because of a Content-Length alone.
const TRUSTED_LENGTH_BYTES: u64 = 64 << 10;

pub(super) struct BodyLimits<'r> {
    pub bytes_max: u64,
    pub until: Instant,
    /// Accepted media types besides JSON.
    pub media_types: &'r [String],
    /// Budget that the bytes are charged to.
    pub budget: &'r Budget,
    pub party: &'r Party,
    /// Minimum progress of the body.
    pub progress_limits: ProgressLimits,
    /// Limit that bodies of callers without a key share while they are read. `None` for other callers.
    pub anonymous: Option<&'r AnonymousBodies>,
}

/// Reads a body.
///
/// # Errors
/// 415 for the media type, charset or coding, 413 for the size, 408 if the body is too slow, 503 if there is no memory,
/// and 400 for two media types, a truncated body, or JSON that is not UTF-8.
pub(super) async fn read_content<B>(
    head: &request::Parts,
    body: B,
    limits: BodyLimits<'_>,
) -> Result<(Content, Option<Charge>), RequestError>
where
    B: Body<Data = Bytes> + Unpin,
{
    if body.is_end_stream() {
        return Ok((Content::Empty, None));
    }
    let mut bytes = Vec::new();
    let capacity = body.size_hint().lower().min(TRUSTED_LENGTH_BYTES);
    let (kind, charge) = read_bytes(head, body, &limits, &mut bytes, capacity).await?;
    let content = match kind {
        _ if bytes.is_empty() => Ok(Content::Empty),
        MediaType::Json => String::from_utf8(bytes)
            .map(Content::Json)
            .map_err(|_| RequestError::new(HostError::MalformedRequest, "the JSON must be UTF-8")),
        MediaType::Other(media_type) => Ok(Content::Other { media_type, bytes: Bytes::from(bytes) }),
    };
    content.map(|content| (content, charge))
}

/// Reads a form that may contain a secret. Its bytes are wiped when the last reader drops them, and on an error. JSON
/// is returned without its text.
pub(super) async fn read_secret_content<B>(
    head: &request::Parts,
    body: B,
    limits: BodyLimits<'_>,
) -> Result<(Content, Option<Charge>), RequestError>
where
    B: Body<Data = Bytes> + Unpin,
{
    if body.is_end_stream() {
        return Ok((Content::Empty, None));
    }
    // Reserved at once, because a growing buffer would leave copies behind.
    let capacity = body.size_hint().exact().unwrap_or(limits.bytes_max).min(limits.bytes_max);
    let mut bytes = Zeroizing::new(Vec::<u8>::new());
    let (kind, charge) = read_bytes(head, body, &limits, &mut bytes, capacity).await?;
    let content = match kind {
        _ if bytes.is_empty() => Content::Empty,
        MediaType::Json => Content::Json(String::new()),
        MediaType::Other(media_type) => Content::Other { media_type, bytes: Bytes::from_owner(bytes) },
    };
    Ok((content, charge))
}

/// Appends the body to `bytes`, whose content is unspecified after an error. `capacity`: bytes that are reserved once
/// the body is admitted and charged.
async fn read_bytes<B>(
    head: &request::Parts,
    body: B,
    limits: &BodyLimits<'_>,
    bytes: &mut Vec<u8>,
    capacity: u64,
) -> Result<(MediaType, Option<Charge>), RequestError>
where
    B: Body<Data = Bytes> + Unpin,
{
    let kind = MediaType::of(head, limits.media_types)?;
    if body.size_hint().lower() > limits.bytes_max {
        return Err(too_large());
    }
    let mut memory = charge_body(head, &body, limits).await?;
    bytes.reserve_exact(usize::try_from(capacity).unwrap_or(0));
    let collected = collect(body, limits, &mut memory, bytes);
    timeout_at(limits.until, collected).await.map_err(|_| too_slow())??;
    Ok((kind, memory.map(BodyMemory::into_charge)))
}

/// Marks an HTTP/2 request beyond `HTTP2_SMALL_REQUESTS` of its connection, which must be charged.
#[derive(Clone, Copy)]
pub(super) struct ChargeRequired;

/// Charges a body, unless it is small. A declared length is charged as a whole, so that a body that has begun can
/// always be completed.
///
/// Over HTTP/2, the head is charged as well, because each stream has one and it is held until the body has arrived. The
/// uncharged requests of a connection are a few times as large as one of HTTP/1.1.
async fn charge_body<B: Body>(
    head: &request::Parts,
    body: &B,
    limits: &BodyLimits<'_>,
) -> Result<Option<BodyMemory>, RequestError> {
    let declared = body.size_hint().exact();
    let (small, head_bytes) = match head.version < Version::HTTP_2 {
        true => (SMALL_BODY_BYTES, 0),
        false => (HTTP2_SMALL_BODY_BYTES, head_bytes(head)),
    };
    let is_small = declared.is_some_and(|bytes| bytes <= small) && head_bytes <= HTTP2_SMALL_HEAD_BYTES;
    if is_small && head.extensions.get::<ChargeRequired>().is_none() {
        return Ok(None);
    }
    let bytes = declared.unwrap_or(BODY_STEP_BYTES).min(limits.bytes_max).saturating_mul(BODY_COPIES);
    let bytes = bytes.saturating_add(head_bytes);
    let until = limits.until.min(Instant::now() + Duration::from_millis(BODY_MEMORY_WAIT_MS));
    let memory = BodyMemory::take(limits.budget, limits.anonymous, (limits.party, bytes), until).await;
    memory.map(Some).map_err(|_no_memory| no_memory())
}

/// Estimates the memory of a head. Empty headers cost memory as well.
fn head_bytes(head: &request::Parts) -> u64 {
    let uri = head.uri.path_and_query().map_or(0, |path| path.as_str().len());
    let fields = head.headers.iter().map(|(name, value)| name.as_str().len() + value.len() + HEADER_BYTES);
    (uri + fields.sum::<usize>()) as u64
}

fn too_slow() -> RequestError {
    RequestError::new(HostError::MalformedRequest, "the body took too long")
        .with_status(StatusCode::REQUEST_TIMEOUT)
        .closing()
}

fn no_memory() -> RequestError {
    RequestError::new(HostError::Unavailable, "no memory for the body").closing()
}

/// Discards the rest of a rejected body, within limits. Closing a connection with unread bytes resets it, so that a
/// caller that is still writing would never receive the response. After an admitted request nothing is left.
pub(super) async fn discard_rest<B>(head: &request::Parts, body: &mut B)
where
    B: Body<Data = Bytes> + Unpin,
{
    // HTTP/2 ends a single stream. A caller that waits for "100 Continue" has not sent the body.
    if body.is_end_stream() || head.version >= Version::HTTP_2 || head.headers.contains_key(header::EXPECT) {
        return;
    }
    let discard = async {
        let mut left = DISCARDED_BYTES_MAX;
        while let Some(Ok(frame)) = body.frame().await {
            let bytes = frame.data_ref().map_or(0, Bytes::len);
            let Some(remaining) = left.checked_sub(bytes) else { return };
            left = remaining;
        }
    };
    // A timeout ends the discarding like the byte limit does.
    let _ = tokio::time::timeout(Duration::from_millis(DISCARD_MS), discard).await;
}

/// Collects the body in one growing buffer. A list of chunks would cost an entry for each byte of a body that is sent
/// byte by byte.
async fn collect<B>(
    mut body: B,
    limits: &BodyLimits<'_>,
    memory: &mut Option<BodyMemory>,
    buffer: &mut Vec<u8>,
) -> Result<(), RequestError>
where
    B: Body<Data = Bytes> + Unpin,
{
    let mut pace = Pace::new(limits.progress_limits);
    loop {
        let Ok(frame) = timeout_at(pace.until, body.frame()).await else {
            pace.check(buffer.len())?;
            continue;
        };
        let Some(frame) = frame else { return Ok(()) };
        let frame =
            frame.map_err(|_| RequestError::new(HostError::MalformedRequest, "the body ended early").closing())?;
        // Trailers are ignored.
        let Ok(data) = frame.into_data() else { continue };
        if buffer.len() as u64 + data.len() as u64 > limits.bytes_max {
            return Err(too_large());
        }
        let needed = ((buffer.len() + data.len()) as u64).saturating_mul(BODY_COPIES);
        if memory.as_mut().is_some_and(|memory| !memory.grow_for(needed)) {
            return Err(no_memory());
        }
        buffer.extend_from_slice(&data);
        if pace.until <= Instant::now() {
            pace.check(buffer.len())?;
        }
    }
}

/// Progress of a body since the last check.
struct Pace {
    progress_limits: ProgressLimits,
    until: Instant,
    before: usize,
}

impl Pace {
    fn new(progress_limits: ProgressLimits) -> Pace {
        Pace { progress_limits, until: Instant::now() + progress_limits.stall_timeout, before: 0 }
    }

    /// Checks the progress. `bytes`: all bytes received. The next check is due after another `stall_timeout`.
    fn check(&mut self, bytes: usize) -> Result<(), RequestError> {
        let needed =
            u128::from(self.progress_limits.bytes_per_second) * self.progress_limits.stall_timeout.as_millis() / 1_000;
        if ((bytes - self.before) as u128) < needed {
            return Err(too_slow());
        }
        (self.before, self.until) = (bytes, Instant::now() + self.progress_limits.stall_timeout);
        Ok(())
    }
}

fn too_large() -> RequestError {
    RequestError::new(HostError::BodyTooLarge, "the body is too large").closing()
}

enum MediaType {
    Json,
    Other(String),
}

impl MediaType {
    /// Determines the media type. A body without one is treated as JSON, which is all that most routes accept.
    fn of(head: &request::Parts, media_types: &[String]) -> Result<MediaType, RequestError> {
        let mut codings = head.headers.get_all(header::CONTENT_ENCODING).iter();
        if codings.any(|coding| !coding.as_bytes().eq_ignore_ascii_case(b"identity")) {
            return Err(unsupported("the body must not be compressed")
                .with_header(header::ACCEPT_ENCODING, HeaderValue::from_static("identity")));
        }
        let mut types = head.headers.get_all(header::CONTENT_TYPE).iter();
        let value = match (types.next(), types.next()) {
            (None, _) => return Ok(MediaType::Json),
            (Some(value), None) => value,
            _ => return Err(RequestError::new(HostError::MalformedRequest, "there must be one Content-Type").closing()),
        };
        let value = value.to_str().map_err(|_| unsupported("the media type must be ASCII"))?;
        let (essence, parameters) = value.split_once(';').unwrap_or((value, ""));
        let essence = essence.trim().to_ascii_lowercase();
        if media_types.iter().any(|accepted| accepted.eq_ignore_ascii_case(&essence)) {
            return Ok(MediaType::Other(value.to_owned()));
        }
        if essence != "application/json" && !(essence.starts_with("application/") && essence.ends_with("+json")) {
            return Err(
                unsupported("this media type is not accepted").with_header(header::ACCEPT, accepted(media_types))
            );
        }
        match charset(parameters) {
            Some(charset) if !["utf-8", "utf8"].contains(&charset.as_str()) => {
                Err(unsupported("the charset of JSON must be UTF-8"))
            }
            _ => Ok(MediaType::Json),
        }
    }
}

fn unsupported(reason: &'static str) -> RequestError {
    RequestError::new(HostError::UnsupportedMediaType, reason).closing()
}

/// Returns the `Accept` header: "application/json, text/csv".
fn accepted(media_types: &[String]) -> HeaderValue {
    let all: Vec<&str> = std::iter::once("application/json").chain(media_types.iter().map(String::as_str)).collect();
    HeaderValue::try_from(all.join(", ")).unwrap_or(HeaderValue::from_static("application/json"))
}

fn charset(parameters: &str) -> Option<String> {
    parameters.split(';').find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches('"').to_ascii_lowercase())
    })
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures_util::{FutureExt, StreamExt, stream};
    use http_body_util::{Full, StreamBody};
    use hyper::body::Frame;

    use super::*;
    use crate::budget::MemoryConfig;

    fn head(headers: &[(&'static str, &'static str)]) -> request::Parts {
        let mut head = http::Request::new(()).into_parts().0;
        for (name, value) in headers {
            head.headers.append(*name, value.parse().unwrap());
        }
        head
    }

    async fn read(headers: &[(&'static str, &'static str)], body: &'static [u8]) -> Result<Content, u16> {
        let limits = BodyLimits {
            bytes_max: 8,
            until: Instant::now() + Duration::from_secs(60),
            media_types: &["text/csv".to_owned()],
            budget: &Budget::new(&MemoryConfig { budget_bytes: 1 << 30, tenant_percent: 50 }),
            party: &"acme/test".into(),
            progress_limits: ProgressLimits { stall_timeout: Duration::from_secs(60), bytes_per_second: 0 },
            anonymous: None,
        };
        let content = read_content(&head(headers), Full::new(Bytes::from_static(body)), limits).await;
        content.map(|(content, _)| content).map_err(|error| error.kind.default_status())
    }

    #[tokio::test]
    async fn json_and_media_types_of_the_route_are_accepted() {
        let json = Ok(Content::Json("{}".to_owned()));
        assert_eq!(read(&[("content-type", "application/json")], b"{}").await, json);
        assert_eq!(read(&[("content-type", "Application/JSON; charset=\"UTF-8\"")], b"{}").await, json);
        assert_eq!(read(&[("content-type", "application/merge-patch+json")], b"{}").await, json);
        assert_eq!(read(&[], b"{}").await, json);
        assert_eq!(read(&[("content-type", "text/plain")], b"").await, Ok(Content::Empty));
        let csv = Content::Other { media_type: "text/csv".to_owned(), bytes: Bytes::from_static(b"a,b") };
        assert_eq!(read(&[("content-type", "text/csv")], b"a,b").await, Ok(csv));
    }

    #[tokio::test]
    async fn other_types_charsets_and_codings_are_unsupported() {
        for header in [
            ("content-type", "text/plain"),
            ("content-type", "application/x-www-form-urlencoded"),
            ("content-type", "application/json; charset=iso-8859-1"),
            ("content-encoding", "gzip"),
        ] {
            assert_eq!(read(&[header], b"{}").await, Err(415), "{header:?}");
        }
    }

    #[tokio::test]
    async fn second_content_type_or_coding_is_rejected() {
        let json = ("content-type", "application/json");
        assert_eq!(read(&[json, ("content-type", "text/csv")], b"{}").await, Err(400));
        assert_eq!(read(&[json, json], b"{}").await, Err(400));
        assert_eq!(read(&[("content-encoding", "identity"), ("content-encoding", "gzip")], b"{}").await, Err(415));
    }

    #[tokio::test]
    async fn secret_form_is_read_and_json_text_is_not_returned() {
        let (budget, anonymous, party) = (budget(), AnonymousBodies::new(1 << 20, 100), "ip:10.0.0.1".into());
        let media_types = ["application/x-www-form-urlencoded".to_owned()];
        let read = async |media_type: &'static str, body: &'static str| {
            let limits = BodyLimits { media_types: &media_types, ..limits(&budget, &anonymous, &party) };
            let parts =
                body.as_bytes().chunks(3).map(|part| Ok::<_, Infallible>(Frame::data(Bytes::from_static(part))));
            let body = StreamBody::new(stream::iter(parts));
            let read = read_secret_content(&head(&[("content-type", media_type)]), body, limits).await;
            read.map(|(content, _)| content).map_err(|error| error.kind)
        };
        let media_type = "application/x-www-form-urlencoded";
        let form = Content::Other { media_type: media_type.to_owned(), bytes: Bytes::from_static(b"client_secret=a") };
        assert_eq!(read(media_type, "client_secret=a").await, Ok(form));
        assert_eq!(read("application/json", "{\"client_secret\":\"a\"}").await, Ok(Content::Json(String::new())));
        assert_eq!(read("text/plain", "client_secret=a").await, Err(HostError::UnsupportedMediaType));
    }

    #[tokio::test(start_paused = true)]
    async fn memory_is_reserved_only_for_admitted_and_charged_bodies() {
        let (budget, anonymous, party) = (budget(), AnonymousBodies::new(1 << 20, 100), "ip:10.0.0.1".into());
        let reserved = async |media_type: &'static str, bytes: usize| {
            let (head, body) = (head(&[("content-type", media_type)]), Full::from(vec![b' '; bytes]));
            let mut buffer = Vec::new();
            let read = read_bytes(&head, body, &limits(&budget, &anonymous, &party), &mut buffer, 32 << 10).await;
            (read.map(drop).map_err(|error| error.kind), buffer.capacity())
        };
        assert_eq!(reserved("application/json", 20 << 10).await, (Ok(()), 32 << 10));
        assert_eq!(reserved("text/plain", 20 << 10).await, (Err(HostError::UnsupportedMediaType), 0));
        let until = Instant::now() + Duration::from_secs(10);
        let _others = budget.charge_body(&"others/test".into(), u64::MAX, until).await.unwrap();
        assert_eq!(reserved("application/json", 20 << 10).await, (Err(HostError::Unavailable), 0));
    }

    /// Returns a budget with 4 MiB for bodies.
    fn budget() -> std::sync::Arc<Budget> {
        Budget::new(&MemoryConfig { budget_bytes: 16 << 20, tenant_percent: 100 })
    }

    /// Returns a body of unknown length that sends this many bytes and does not end.
    fn unfinished(bytes: usize) -> impl Body<Data = Bytes, Error = Infallible> + Unpin {
        let first = Frame::data(Bytes::from(vec![b' '; bytes]));
        StreamBody::new(stream::iter([Ok(first)]).chain(stream::pending()))
    }

    fn limits<'r>(budget: &'r Budget, anonymous: &'r AnonymousBodies, party: &'r Party) -> BodyLimits<'r> {
        BodyLimits {
            bytes_max: 1 << 20,
            until: Instant::now() + Duration::from_secs(60),
            media_types: &[],
            budget,
            party,
            progress_limits: ProgressLimits { stall_timeout: Duration::from_secs(60), bytes_per_second: 0 },
            anonymous: Some(anonymous),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn body_of_unknown_length_counts_toward_the_anonymous_limit() {
        let (budget, anonymous) = (budget(), AnonymousBodies::new(1 << 20, 100));
        let (one, other) = ("ip:10.0.0.1".into(), "ip:10.0.0.2".into());
        let head = http::Request::new(()).into_parts().0;
        let declared = || Full::from(vec![b' '; 100 << 10]);
        let mut first = Box::pin(read_content(&head, unfinished(200 << 10), limits(&budget, &anonymous, &one)));
        assert!((&mut first).now_or_never().is_none());
        let second = read_content(&head, declared(), limits(&budget, &anonymous, &other)).await;
        assert_eq!(second.map(drop).map_err(|error| error.kind), Err(HostError::Unavailable));
        drop(first);
        assert!(read_content(&head, declared(), limits(&budget, &anonymous, &other)).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn body_of_unknown_length_over_the_anonymous_limit_is_rejected() {
        let (budget, anonymous) = (budget(), AnonymousBodies::new(1 << 20, 100));
        let head = http::Request::new(()).into_parts().0;
        let party = "ip:10.0.0.1".into();
        let read = read_content(&head, unfinished(300 << 10), limits(&budget, &anonymous, &party)).await;
        assert_eq!(read.map(drop).map_err(|error| error.kind), Err(HostError::Unavailable));
    }

    #[tokio::test]
    async fn large_heads_and_heads_beyond_the_free_requests_are_charged() {
        let (budget, anonymous, party) = (budget(), AnonymousBodies::new(1 << 20, 100), "ip:10.0.0.1".into());
        let request = |version, headers: usize, is_marked| {
            let mut head = http::Request::new(()).into_parts().0;
            head.version = version;
            for at in 0..headers {
                let name = http::HeaderName::try_from(format!("x-{at}")).unwrap();
                head.headers.insert(name, HeaderValue::from_static(""));
            }
            if is_marked {
                head.extensions.insert(ChargeRequired);
            }
            head
        };
        for (head, is_charged) in [
            (request(Version::HTTP_2, 20, false), false),
            (request(Version::HTTP_2, 0, true), true),
            (request(Version::HTTP_2, 400, false), true),
            (request(Version::HTTP_11, 400, false), false),
        ] {
            let (body, limits) = (Full::new(Bytes::from_static(b"{}")), limits(&budget, &anonymous, &party));
            let memory = charge_body(&head, &body, &limits).await.ok().unwrap();
            let charge = memory.map(BodyMemory::into_charge);
            let expected = is_charged.then(|| 2 * BODY_COPIES + head_bytes(&head));
            assert_eq!(charge.map(|charge| charge.bytes()), expected, "{:?}, {}", head.version, head.headers.len());
        }
    }

    #[tokio::test]
    async fn body_size_and_encoding_are_checked() {
        assert_eq!(read(&[], b"12345678").await, Ok(Content::Json("12345678".to_owned())));
        assert_eq!(read(&[], b"123456789").await, Err(413));
        assert_eq!(read(&[], b"\"\xff\"").await, Err(400));
    }
}
