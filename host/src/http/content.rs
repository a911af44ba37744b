//! The body of a request: its type, its size, its time.
//!
//! Invariant: nothing is read before the type and the declared length are found to be allowed, and never more than the
//! limit is held in memory. Never parses JSON: the SDK does, in the interface's own words.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, StatusCode, Version, header, request};
use http_body_util::BodyExt;
use hyper::body::Body;
use tokio::time::Instant;

use super::refused::Refused;
use crate::{
    budget::{Budget, Charge, Payer},
    failure::Failure,
    limits::{BODY_COPIES, BODY_MEMORY_WAIT_MS, BODY_STEP_BYTES, DISCARD_MS, DISCARDED_BYTES_MAX, SMALL_BODY_BYTES},
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
    let mut charge = charge_body(head, &body, &limits).await?;
    let collected = collect(body, limits.bytes_max, &mut charge);
    let bytes = tokio::time::timeout_at(limits.until, collected).await.map_err(|_| {
        Refused::new(Failure::MalformedRequest, "the body took too long")
            .with_status(StatusCode::REQUEST_TIMEOUT)
            .closing()
    })??;
    let content = match kind {
        _ if bytes.is_empty() => Ok(Content::Empty),
        Kind::Json => String::from_utf8(bytes)
            .map(Content::Json)
            .map_err(|_| Refused::new(Failure::MalformedRequest, "the JSON is not UTF-8")),
        Kind::Other(media_type) => Ok(Content::Other { media_type, bytes: Bytes::from(bytes) }),
    };
    content.map(|content| (content, charge))
}

/// A declared length is charged as a whole, so that bodies that were begun can always be finished.
async fn charge_body<B: Body>(
    head: &request::Parts,
    body: &B,
    limits: &BodyLimits<'_>,
) -> Result<Option<Charge>, Refused> {
    let declared = body.size_hint().exact();
    if declared.is_some_and(|bytes| bytes <= SMALL_BODY_BYTES) && head.version < Version::HTTP_2 {
        return Ok(None);
    }
    let bytes = declared.unwrap_or(BODY_STEP_BYTES).min(limits.bytes_max).saturating_mul(BODY_COPIES);
    let until = limits.until.min(Instant::now() + Duration::from_millis(BODY_MEMORY_WAIT_MS));
    let charge = limits.budget.charge_body(limits.payer, bytes, until).await;
    charge.map(Some).map_err(|_no_memory| no_memory())
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
async fn collect<B>(mut body: B, bytes_max: u64, charge: &mut Option<Charge>) -> Result<Vec<u8>, Refused>
where
    B: Body<Data = Bytes> + Unpin,
{
    let expected = body.size_hint().lower().min(TRUSTED_LENGTH_BYTES);
    let mut whole = Vec::with_capacity(usize::try_from(expected).unwrap_or(0));
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Refused::new(Failure::MalformedRequest, "the body ended early").closing())?;
        // Trailers are read past: nothing here knows any.
        let Ok(data) = frame.into_data() else { continue };
        if whole.len() as u64 + data.len() as u64 > bytes_max {
            return Err(too_large());
        }
        grow_charge(charge, (whole.len() + data.len()) as u64)?;
        whole.extend_from_slice(&data);
    }
    Ok(whole)
}

/// A body that declares no length doubles its charge as it grows.
fn grow_charge(charge: &mut Option<Charge>, bytes: u64) -> Result<(), Refused> {
    let needed = bytes.saturating_mul(BODY_COPIES);
    let Some(charge) = charge.as_mut().filter(|charge| charge.bytes() < needed) else { return Ok(()) };
    let doubled = needed.max(charge.bytes().saturating_mul(2));
    if charge.grow_to(doubled) { Ok(()) } else { Err(no_memory()) }
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
    async fn size_and_encoding_are_checked() {
        assert_eq!(read(&[], b"12345678").await, Ok(Content::Json("12345678".to_owned())));
        assert_eq!(read(&[], b"123456789").await, Err(413));
        assert_eq!(read(&[], b"\"\xff\"").await, Err(400));
    }
}
