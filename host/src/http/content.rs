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
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::{Instant, timeout_at},
};

use super::{activity::Patience, refused::Refused};
use crate::{
    budget::{Budget, Charge, Payer},
    failure::Failure,
    limits::{
        ANONYMOUS_BODIES_PERCENT, BODY_COPIES, BODY_MEMORY_WAIT_MS, BODY_STEP_BYTES, DISCARD_MS, DISCARDED_BYTES_MAX,
        HTTP2_SMALL_BODY_BYTES, SMALL_BODY_BYTES,
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
    /// How slowly it may come.
    pub patience: Patience,
    /// Limit that bodies of callers without a key share while they are read; `None` for other callers.
    pub anonymous: Option<&'r AnonymousBodies>,
}

/// The part of the memory for bodies that callers without a key may hold together while they send. After that their calls
/// run or are refused; before it, they alone decide how long it takes.
pub(super) struct AnonymousBodies {
    steps: Semaphore,
    total: u32,
}

/// Bytes of one permit of the semaphore.
const ANONYMOUS_STEP_BYTES: u64 = 1 << 10;

impl AnonymousBodies {
    /// `limit`: of all bodies.
    pub fn new(limit: u64) -> AnonymousBodies {
        let steps = limit / 100 * ANONYMOUS_BODIES_PERCENT / ANONYMOUS_STEP_BYTES;
        let total = u32::try_from(steps).unwrap_or(u32::MAX).clamp(1, Semaphore::MAX_PERMITS as u32);
        AnonymousBodies { steps: Semaphore::new(total as usize), total }
    }

    async fn admit(&self, bytes: u64, until: Instant) -> Result<SemaphorePermit<'_>, Refused> {
        let steps = u32::try_from(bytes.div_ceil(ANONYMOUS_STEP_BYTES)).unwrap_or(u32::MAX).min(self.total);
        let admitted = timeout_at(until, self.steps.acquire_many(steps)).await;
        admitted.ok().and_then(Result::ok).ok_or_else(no_memory)
    }
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
    let kind = Kind::of(head, limits.media_types)?;
    if body.size_hint().lower() > limits.bytes_max {
        return Err(too_large());
    }
    let (mut charge, admitted) = charge_body(head, &body, &limits).await?;
    let collected = collect(body, &limits, &mut charge);
    let bytes = timeout_at(limits.until, collected).await.map_err(|_| too_slow())??;
    drop(admitted);
    let content = match kind {
        _ if bytes.is_empty() => Ok(Content::Empty),
        Kind::Json => String::from_utf8(bytes)
            .map(Content::Json)
            .map_err(|_| Refused::new(Failure::MalformedRequest, "the JSON is not UTF-8")),
        Kind::Other(media_type) => Ok(Content::Other { media_type, bytes: Bytes::from(bytes) }),
    };
    content.map(|content| (content, charge))
}

/// A declared length is charged as a whole, so that bodies that were begun can always be finished. Those of all streams of a
/// connection that are not charged are as large as one of HTTP/1.1, a few times over.
async fn charge_body<'r, B: Body>(
    head: &request::Parts,
    body: &B,
    limits: &BodyLimits<'r>,
) -> Result<(Option<Charge>, Option<SemaphorePermit<'r>>), Refused> {
    let declared = body.size_hint().exact();
    let small = if head.version < Version::HTTP_2 { SMALL_BODY_BYTES } else { HTTP2_SMALL_BODY_BYTES };
    if declared.is_some_and(|bytes| bytes <= small) {
        return Ok((None, None));
    }
    let bytes = declared.unwrap_or(BODY_STEP_BYTES).min(limits.bytes_max).saturating_mul(BODY_COPIES);
    let until = limits.until.min(Instant::now() + Duration::from_millis(BODY_MEMORY_WAIT_MS));
    let admitted = match limits.anonymous {
        Some(anonymous) => Some(anonymous.admit(bytes, until).await?),
        None => None,
    };
    match limits.budget.charge_body(limits.payer, bytes, until).await {
        Ok(charge) => Ok((Some(charge), admitted)),
        Err(_no_memory) => Err(no_memory()),
    }
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
async fn collect<B>(mut body: B, limits: &BodyLimits<'_>, charge: &mut Option<Charge>) -> Result<Vec<u8>, Refused>
where
    B: Body<Data = Bytes> + Unpin,
{
    let expected = body.size_hint().lower().min(TRUSTED_LENGTH_BYTES);
    let mut whole = Vec::with_capacity(usize::try_from(expected).unwrap_or(0));
    let mut pace = Pace::new(limits.patience);
    loop {
        let Ok(frame) = timeout_at(pace.until, body.frame()).await else {
            pace.check(whole.len())?;
            continue;
        };
        let Some(frame) = frame else { return Ok(whole) };
        let frame = frame.map_err(|_| Refused::new(Failure::MalformedRequest, "the body ended early").closing())?;
        // Trailers are read past: nothing here knows any.
        let Ok(data) = frame.into_data() else { continue };
        if whole.len() as u64 + data.len() as u64 > limits.bytes_max {
            return Err(too_large());
        }
        grow_charge(charge, (whole.len() + data.len()) as u64)?;
        whole.extend_from_slice(&data);
        if pace.until <= Instant::now() {
            pace.check(whole.len())?;
        }
    }
}

/// How much of a body has come since when.
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

/// A body that declares no length doubles its charge as it grows, or takes what it needs where that is all there is.
fn grow_charge(charge: &mut Option<Charge>, bytes: u64) -> Result<(), Refused> {
    let needed = bytes.saturating_mul(BODY_COPIES);
    let Some(charge) = charge.as_mut().filter(|charge| charge.bytes() < needed) else { return Ok(()) };
    let doubled = needed.max(charge.bytes().saturating_mul(2));
    if charge.grow_to(doubled) || charge.grow_to(needed) { Ok(()) } else { Err(no_memory()) }
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
    use super::*;
    use crate::config::MemoryConfig;
    use http_body_util::Full;

    async fn read(headers: &[(&'static str, &'static str)], body: &'static [u8]) -> Result<Content, u16> {
        let mut head = http::Request::new(()).into_parts().0;
        for (name, value) in headers {
            head.headers.append(*name, value.parse().unwrap());
        }
        let limits = BodyLimits {
            bytes_max: 8,
            until: Instant::now() + Duration::from_secs(60),
            media_types: &["text/csv".to_owned()],
            budget: &Budget::new(&MemoryConfig { budget_bytes: 1 << 30, tenant_percent: 50 }),
            payer: &"acme/test".into(),
            patience: Patience { stall: Duration::from_secs(60), bytes_per_second: 0 },
            anonymous: None,
        };
        let content = read_content(&head, Full::new(Bytes::from_static(body)), limits).await;
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
    async fn body_that_fits_is_read_where_there_is_no_room_to_double_its_charge() {
        let budget = Budget::new(&MemoryConfig { budget_bytes: 1 << 20, tenant_percent: 100 });
        let limit = budget.readings()[3].limit;
        let until = Instant::now() + Duration::from_secs(60);
        let mut charge = Some(budget.charge_body(&"acme/test".into(), limit / 2 + 10, until).await.unwrap());
        grow_charge(&mut charge, limit / 2 - 10).ok().unwrap();
        assert_eq!(charge.unwrap().bytes(), BODY_COPIES * (limit / 2 - 10));
    }

    #[tokio::test(start_paused = true)]
    async fn bodies_of_callers_without_a_key_wait_for_each_other() {
        let anonymous = AnonymousBodies::new(200 << 10);
        let soon = || Instant::now() + Duration::from_secs(1);
        let held = anonymous.admit(100 << 10, soon()).await.ok().unwrap();
        assert!(anonymous.admit(1, soon()).await.is_err());
        drop(held);
        assert!(anonymous.admit(1, soon()).await.is_ok());
    }

    #[tokio::test]
    async fn size_and_encoding_are_checked() {
        assert_eq!(read(&[], b"12345678").await, Ok(Content::Json("12345678".to_owned())));
        assert_eq!(read(&[], b"123456789").await, Err(413));
        assert_eq!(read(&[], b"\"\xff\"").await, Err(400));
    }
}
