//! The body of a request: its type, its size, its time.
//!
//! Invariant: nothing is read before the type and the declared length are found to be allowed, and never more than the
//! limit is held in memory; a body that comes too slowly is given up; bodies of callers without a key that are still being read
//! never take the memory of those with one. Never parses JSON: the SDK does, in the interface's own words.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, StatusCode, Version, header, request};
use http_body_util::BodyExt;
use hyper::body::Body;
use tokio::time::{Instant, timeout_at};
use zeroize::Zeroizing;

use super::{
    activity::Patience,
    body_memory::{AnonymousBodies, BodyMemory},
    refused::Refused,
};
use crate::{
    budget::{Budget, Charge, Payer},
    failure::Failure,
    limits::{
        BODY_COPIES, BODY_MEMORY_WAIT_MS, BODY_STEP_BYTES, DISCARD_MS, DISCARDED_BYTES_MAX, HEADER_BYTES,
        HTTP2_SMALL_BODY_BYTES, HTTP2_SMALL_HEAD_BYTES, SMALL_BODY_BYTES,
    },
    plugin::exchange::Content,
};

/// A vector of this size at most is set aside on the word of a Content-Length alone.
const TRUSTED_LENGTH_BYTES: u64 = 64 << 10;

pub(super) struct BodyLimits<'r> {
    pub bytes_max: u64,
    pub until: Instant,
    /// Besides JSON.
    pub media_types: &'r [String],
    /// Budget that its bytes are charged to.
    pub budget: &'r Budget,
    pub payer: &'r Payer,
    /// Minimum rate of the body.
    pub patience: Patience,
    /// Limit that bodies of callers without a key share while they are read; `None` for other callers.
    pub anonymous: Option<&'r AnonymousBodies>,
}

/// # Errors
/// 415 (type, charset or coding), 413, 408, 503 where there is no memory for it, or 400 for two types, a body that ends
/// early or JSON that is not UTF-8.
pub(super) async fn read_content<B>(
    head: &request::Parts,
    body: B,
    limits: BodyLimits<'_>,
) -> Result<(Content, Option<Charge>), Refused>
where
    B: Body<Data = Bytes> + Unpin,
{
    if body.is_end_stream() {
        return Ok((Content::Empty, None));
    }
    let mut bytes = Vec::new();
    let room = body.size_hint().lower().min(TRUSTED_LENGTH_BYTES);
    let (kind, charge) = read_bytes(head, body, &limits, &mut bytes, room).await?;
    let content = match kind {
        _ if bytes.is_empty() => Ok(Content::Empty),
        Kind::Json => String::from_utf8(bytes)
            .map(Content::Json)
            .map_err(|_| Refused::new(Failure::MalformedRequest, "the JSON is not UTF-8")),
        Kind::Other(media_type) => Ok(Content::Other { media_type, bytes: Bytes::from(bytes) }),
    };
    content.map(|content| (content, charge))
}

/// The same for a form that may hold a secret: its bytes are wiped when the last reader drops them, and when it is refused. JSON is
/// returned without its text.
pub(super) async fn read_secret_content<B>(
    head: &request::Parts,
    body: B,
    limits: BodyLimits<'_>,
) -> Result<(Content, Option<Charge>), Refused>
where
    B: Body<Data = Bytes> + Unpin,
{
    if body.is_end_stream() {
        return Ok((Content::Empty, None));
    }
    // Bytes that grow would leave copies behind.
    let room = body.size_hint().exact().unwrap_or(limits.bytes_max).min(limits.bytes_max);
    let mut bytes = Zeroizing::new(Vec::<u8>::new());
    let (kind, charge) = read_bytes(head, body, &limits, &mut bytes, room).await?;
    let content = match kind {
        _ if bytes.is_empty() => Content::Empty,
        Kind::Json => Content::Json(String::new()),
        Kind::Other(media_type) => Content::Other { media_type, bytes: Bytes::from_owner(bytes) },
    };
    Ok((content, charge))
}

/// Appends the body to `bytes`, which are of no use after an error. `room`: bytes that are reserved once the body is admitted and
/// charged.
async fn read_bytes<B>(
    head: &request::Parts,
    body: B,
    limits: &BodyLimits<'_>,
    bytes: &mut Vec<u8>,
    room: u64,
) -> Result<(Kind, Option<Charge>), Refused>
where
    B: Body<Data = Bytes> + Unpin,
{
    let kind = Kind::of(head, limits.media_types)?;
    if body.size_hint().lower() > limits.bytes_max {
        return Err(too_large());
    }
    let mut memory = charge_body(head, &body, limits).await?;
    bytes.reserve_exact(usize::try_from(room).unwrap_or(0));
    let collected = collect(body, limits, &mut memory, bytes);
    timeout_at(limits.until, collected).await.map_err(|_| too_slow())??;
    Ok((kind, memory.map(BodyMemory::into_charge)))
}

/// Marks a request of HTTP/2 that runs beside many others of its connection.
#[derive(Clone, Copy)]
pub(super) struct Crowded;

/// A declared length is charged as a whole, so that bodies that were begun can always be finished. Of HTTP/2, heads are
/// charged as well: there is one for each stream, and it is held until the body has come. The requests of a connection
/// that are not charged are as large as one of HTTP/1.1, a few times over.
async fn charge_body<B: Body>(
    head: &request::Parts,
    body: &B,
    limits: &BodyLimits<'_>,
) -> Result<Option<BodyMemory>, Refused> {
    let declared = body.size_hint().exact();
    let (small, head_bytes) = match head.version < Version::HTTP_2 {
        true => (SMALL_BODY_BYTES, 0),
        false => (HTTP2_SMALL_BODY_BYTES, head_bytes(head)),
    };
    let is_small = declared.is_some_and(|bytes| bytes <= small) && head_bytes <= HTTP2_SMALL_HEAD_BYTES;
    if is_small && head.extensions.get::<Crowded>().is_none() {
        return Ok(None);
    }
    let bytes = declared.unwrap_or(BODY_STEP_BYTES).min(limits.bytes_max).saturating_mul(BODY_COPIES);
    let bytes = bytes.saturating_add(head_bytes);
    let until = limits.until.min(Instant::now() + Duration::from_millis(BODY_MEMORY_WAIT_MS));
    let memory = BodyMemory::take(limits.budget, limits.anonymous, (limits.payer, bytes), until).await;
    memory.map(Some).map_err(|_no_memory| no_memory())
}

/// Estimates the memory of a head. Empty headers cost as well.
fn head_bytes(head: &request::Parts) -> u64 {
    let uri = head.uri.path_and_query().map_or(0, |path| path.as_str().len());
    let fields = head.headers.iter().map(|(name, value)| name.as_str().len() + value.len() + HEADER_BYTES);
    (uri + fields.sum::<usize>()) as u64
}

fn too_slow() -> Refused {
    Refused::new(Failure::MalformedRequest, "the body took too long").with_status(StatusCode::REQUEST_TIMEOUT).closing()
}

fn no_memory() -> Refused {
    Refused::new(Failure::Unavailable, "there is no memory for the body").closing()
}

/// Reads what is left of a body that was refused, within limits: a connection that is closed on unread bytes is reset,
/// and the caller, still writing, would never see the answer. Nothing is left after a request that was let in.
pub(super) async fn discard_rest<B>(head: &request::Parts, body: &mut B)
where
    B: Body<Data = Bytes> + Unpin,
{
    // HTTP/2 ends a single stream; and who waits for "100 Continue" has sent nothing that could be left.
    if body.is_end_stream() || head.version >= Version::HTTP_2 || head.headers.contains_key(header::EXPECT) {
        return;
    }
    let discard = async {
        let mut left = DISCARDED_BYTES_MAX;
        while let Some(Ok(frame)) = body.frame().await {
            let bytes = frame.data_ref().map_or(0, Bytes::len);
            let Some(still_left) = left.checked_sub(bytes) else { return };
            left = still_left;
        }
    };
    // Running out of time is as good as running out of bytes.
    let _ = tokio::time::timeout(Duration::from_millis(DISCARD_MS), discard).await;
}

/// One growing buffer, not a list of pieces: a body sent a byte at a time must not cost a piece for each.
async fn collect<B>(
    mut body: B,
    limits: &BodyLimits<'_>,
    memory: &mut Option<BodyMemory>,
    whole: &mut Vec<u8>,
) -> Result<(), Refused>
where
    B: Body<Data = Bytes> + Unpin,
{
    let mut pace = Pace::new(limits.patience);
    loop {
        let Ok(frame) = timeout_at(pace.until, body.frame()).await else {
            pace.check(whole.len())?;
            continue;
        };
        let Some(frame) = frame else { return Ok(()) };
        let frame = frame.map_err(|_| Refused::new(Failure::MalformedRequest, "the body ended early").closing())?;
        // Trailers are read past: nothing here knows any.
        let Ok(data) = frame.into_data() else { continue };
        if whole.len() as u64 + data.len() as u64 > limits.bytes_max {
            return Err(too_large());
        }
        let needed = ((whole.len() + data.len()) as u64).saturating_mul(BODY_COPIES);
        if memory.as_mut().is_some_and(|memory| !memory.grow_for(needed)) {
            return Err(no_memory());
        }
        whole.extend_from_slice(&data);
        if pace.until <= Instant::now() {
            pace.check(whole.len())?;
        }
    }
}

/// Progress of a body since the last check.
struct Pace {
    patience: Patience,
    until: Instant,
    before: usize,
}

impl Pace {
    fn new(patience: Patience) -> Pace {
        Pace { patience, until: Instant::now() + patience.stall, before: 0 }
    }

    /// `bytes`: all that have come. The next check is as much later.
    fn check(&mut self, bytes: usize) -> Result<(), Refused> {
        let needed = u128::from(self.patience.bytes_per_second) * self.patience.stall.as_millis() / 1_000;
        if ((bytes - self.before) as u128) < needed {
            return Err(too_slow());
        }
        (self.before, self.until) = (bytes, Instant::now() + self.patience.stall);
        Ok(())
    }
}

fn too_large() -> Refused {
    Refused::new(Failure::BodyTooLarge, "the body is too large").closing()
}

enum Kind {
    Json,
    Other(String),
}

impl Kind {
    /// A body without a type is taken for JSON, which is all that most routes accept.
    fn of(head: &request::Parts, media_types: &[String]) -> Result<Kind, Refused> {
        let mut codings = head.headers.get_all(header::CONTENT_ENCODING).iter();
        if codings.any(|coding| !coding.as_bytes().eq_ignore_ascii_case(b"identity")) {
            return Err(unsupported("the body is compressed")
                .with_header(header::ACCEPT_ENCODING, HeaderValue::from_static("identity")));
        }
        let mut types = head.headers.get_all(header::CONTENT_TYPE).iter();
        let value = match (types.next(), types.next()) {
            (None, _) => return Ok(Kind::Json),
            (Some(value), None) => value,
            _ => return Err(Refused::new(Failure::MalformedRequest, "two media types").closing()),
        };
        let value = value.to_str().map_err(|_| unsupported("the media type is not text"))?;
        let (essence, parameters) = value.split_once(';').unwrap_or((value, ""));
        let essence = essence.trim().to_ascii_lowercase();
        if media_types.iter().any(|accepted| accepted.eq_ignore_ascii_case(&essence)) {
            return Ok(Kind::Other(value.to_owned()));
        }
        if essence != "application/json" && !(essence.starts_with("application/") && essence.ends_with("+json")) {
            return Err(
                unsupported("this media type is not accepted").with_header(header::ACCEPT, accepted(media_types))
            );
        }
        match charset(parameters) {
            Some(charset) if !["utf-8", "utf8"].contains(&charset.as_str()) => Err(unsupported("JSON is UTF-8")),
            _ => Ok(Kind::Json),
        }
    }
}

fn unsupported(why: &'static str) -> Refused {
    Refused::new(Failure::UnsupportedMediaType, why).closing()
}

/// "application/json, text/csv".
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
            payer: &"acme/test".into(),
            patience: Patience { stall: Duration::from_secs(60), bytes_per_second: 0 },
            anonymous: None,
        };
        let content = read_content(&head(headers), Full::new(Bytes::from_static(body)), limits).await;
        content.map(|(content, _)| content).map_err(|refused| refused.failure.default_status())
    }

    #[tokio::test]
    async fn json_and_what_the_route_names_are_accepted() {
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
    async fn a_second_type_or_coding_is_not_overlooked() {
        let json = ("content-type", "application/json");
        assert_eq!(read(&[json, ("content-type", "text/csv")], b"{}").await, Err(400));
        assert_eq!(read(&[json, json], b"{}").await, Err(400));
        assert_eq!(read(&[("content-encoding", "identity"), ("content-encoding", "gzip")], b"{}").await, Err(415));
    }

    #[tokio::test]
    async fn form_with_a_secret_is_read_and_the_text_of_json_is_not_returned() {
        let (budget, anonymous, payer) = (budget(), AnonymousBodies::new(1 << 20, 100), "ip:10.0.0.1".into());
        let media_types = ["application/x-www-form-urlencoded".to_owned()];
        let read = async |media_type: &'static str, body: &'static str| {
            let limits = BodyLimits { media_types: &media_types, ..limits(&budget, &anonymous, &payer) };
            let parts =
                body.as_bytes().chunks(3).map(|part| Ok::<_, Infallible>(Frame::data(Bytes::from_static(part))));
            let body = StreamBody::new(stream::iter(parts));
            let read = read_secret_content(&head(&[("content-type", media_type)]), body, limits).await;
            read.map(|(content, _)| content).map_err(|refused| refused.failure)
        };
        let media_type = "application/x-www-form-urlencoded";
        let form = Content::Other { media_type: media_type.to_owned(), bytes: Bytes::from_static(b"client_secret=a") };
        assert_eq!(read(media_type, "client_secret=a").await, Ok(form));
        assert_eq!(read("application/json", "{\"client_secret\":\"a\"}").await, Ok(Content::Json(String::new())));
        assert_eq!(read("text/plain", "client_secret=a").await, Err(Failure::UnsupportedMediaType));
    }

    #[tokio::test(start_paused = true)]
    async fn memory_is_reserved_only_for_bodies_that_are_admitted_and_charged() {
        let (budget, anonymous, payer) = (budget(), AnonymousBodies::new(1 << 20, 100), "ip:10.0.0.1".into());
        let reserved = async |media_type: &'static str, bytes: usize| {
            let (head, body) = (head(&[("content-type", media_type)]), Full::from(vec![b' '; bytes]));
            let mut whole = Vec::new();
            let read = read_bytes(&head, body, &limits(&budget, &anonymous, &payer), &mut whole, 32 << 10).await;
            (read.map(drop).map_err(|refused| refused.failure), whole.capacity())
        };
        assert_eq!(reserved("application/json", 20 << 10).await, (Ok(()), 32 << 10));
        assert_eq!(reserved("text/plain", 20 << 10).await, (Err(Failure::UnsupportedMediaType), 0));
        let until = Instant::now() + Duration::from_secs(10);
        let _others = budget.charge_body(&"others/test".into(), u64::MAX, until).await.unwrap();
        assert_eq!(reserved("application/json", 20 << 10).await, (Err(Failure::Unavailable), 0));
    }

    /// Bodies may have 4 MiB.
    fn budget() -> std::sync::Arc<Budget> {
        Budget::new(&MemoryConfig { budget_bytes: 16 << 20, tenant_percent: 100 })
    }

    /// A body of unknown length that sends this many bytes and does not end.
    fn unfinished(bytes: usize) -> impl Body<Data = Bytes, Error = Infallible> + Unpin {
        let first = Frame::data(Bytes::from(vec![b' '; bytes]));
        StreamBody::new(stream::iter([Ok(first)]).chain(stream::pending()))
    }

    fn limits<'r>(budget: &'r Budget, anonymous: &'r AnonymousBodies, payer: &'r Payer) -> BodyLimits<'r> {
        BodyLimits {
            bytes_max: 1 << 20,
            until: Instant::now() + Duration::from_secs(60),
            media_types: &[],
            budget,
            payer,
            patience: Patience { stall: Duration::from_secs(60), bytes_per_second: 0 },
            anonymous: Some(anonymous),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn body_of_unknown_length_takes_what_it_holds_from_the_limit_of_callers_without_a_key() {
        let (budget, anonymous) = (budget(), AnonymousBodies::new(1 << 20, 100));
        let (one, other) = ("ip:10.0.0.1".into(), "ip:10.0.0.2".into());
        let head = http::Request::new(()).into_parts().0;
        let declared = || Full::from(vec![b' '; 100 << 10]);
        let mut first = Box::pin(read_content(&head, unfinished(200 << 10), limits(&budget, &anonymous, &one)));
        assert!((&mut first).now_or_never().is_none());
        let second = read_content(&head, declared(), limits(&budget, &anonymous, &other)).await;
        assert_eq!(second.map(drop).map_err(|refused| refused.failure), Err(Failure::Unavailable));
        drop(first);
        assert!(read_content(&head, declared(), limits(&budget, &anonymous, &other)).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn body_of_unknown_length_that_outgrows_the_limit_of_callers_without_a_key_is_refused() {
        let (budget, anonymous) = (budget(), AnonymousBodies::new(1 << 20, 100));
        let head = http::Request::new(()).into_parts().0;
        let payer = "ip:10.0.0.1".into();
        let read = read_content(&head, unfinished(300 << 10), limits(&budget, &anonymous, &payer)).await;
        assert_eq!(read.map(drop).map_err(|refused| refused.failure), Err(Failure::Unavailable));
    }

    #[tokio::test]
    async fn heads_of_a_crowded_connection_and_large_ones_are_charged_with_their_bodies() {
        let (budget, anonymous, payer) = (budget(), AnonymousBodies::new(1 << 20, 100), "ip:10.0.0.1".into());
        let request = |version, headers: usize, is_crowded| {
            let mut head = http::Request::new(()).into_parts().0;
            head.version = version;
            for at in 0..headers {
                let name = http::HeaderName::try_from(format!("x-{at}")).unwrap();
                head.headers.insert(name, HeaderValue::from_static(""));
            }
            if is_crowded {
                head.extensions.insert(Crowded);
            }
            head
        };
        for (head, is_charged) in [
            (request(Version::HTTP_2, 20, false), false),
            (request(Version::HTTP_2, 0, true), true),
            (request(Version::HTTP_2, 400, false), true),
            (request(Version::HTTP_11, 400, false), false),
        ] {
            let (body, limits) = (Full::new(Bytes::from_static(b"{}")), limits(&budget, &anonymous, &payer));
            let memory = charge_body(&head, &body, &limits).await.ok().unwrap();
            let charge = memory.map(BodyMemory::into_charge);
            let expected = is_charged.then(|| 2 * BODY_COPIES + head_bytes(&head));
            assert_eq!(charge.map(|charge| charge.bytes()), expected, "{:?}, {}", head.version, head.headers.len());
        }
    }

    #[tokio::test]
    async fn size_and_encoding_are_checked() {
        assert_eq!(read(&[], b"12345678").await, Ok(Content::Json("12345678".to_owned())));
        assert_eq!(read(&[], b"123456789").await, Err(413));
        assert_eq!(read(&[], b"\"\xff\"").await, Err(400));
    }
}
