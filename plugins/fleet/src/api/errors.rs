//! How this interface says no (spec/fleet: Errors; research/fleet 3.1). The one place that knows codes and the error body.
//!
//! Invariant: an unknown, a malformed and a foreign id get the same bytes but for the request id.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::Serialize;
use tenon_plugin::{Answer, Call, ErrorTemplate, Refusal, Stop};

use crate::rules::invalid::Invalid;
use crate::rules::refusal;

pub const VALIDATION_FAILED: &str = "VALIDATION_FAILED";
/// Of one refusal; what is beyond them is counted.
const SENTENCES_MAX: usize = 50;
const NOT_FOUND: ErrorTemplate =
    ErrorTemplate::new("not-found", 404, "RESOURCE_NOT_FOUND", "The requested resource was not found");
const FORBIDDEN: ErrorTemplate =
    ErrorTemplate::new("forbidden", 403, "API_FORBIDDEN", "The API key does not allow this request");
const MALFORMED: ErrorTemplate =
    ErrorTemplate::new("malformed-request", 400, "MALFORMED_REQUEST", "The request is not well-formed");

const UNAVAILABLE: ErrorTemplate =
    ErrorTemplate::new("unavailable", 503, "SERVICE_UNAVAILABLE", "The service is busy; try again shortly");

/// The failures that only the host sees, but for those above.
pub const FAILURES: &[ErrorTemplate] = &[
    ErrorTemplate::new("unauthenticated", 401, "API_UNAUTHENTICATED", "Invalid or missing API credentials")
        .headers(&[("www-authenticate", "Bearer")]),
    FORBIDDEN,
    NOT_FOUND,
    ErrorTemplate::new("method-not-allowed", 405, "METHOD_NOT_ALLOWED", "The resource does not support this method"),
    ErrorTemplate::new(
        "unsupported-version",
        400,
        "API_VERSION_NOT_SUPPORTED",
        "The requested API version is not supported",
    ),
    ErrorTemplate::new("unsupported-media-type", 415, "UNSUPPORTED_MEDIA_TYPE", "The body must be application/json"),
    MALFORMED,
    ErrorTemplate::new("body-too-large", 413, "PAYLOAD_TOO_LARGE", "The body is too large"),
    ErrorTemplate::new("rate-limited", 429, "RATE_LIMITED", "Too many requests."),
    ErrorTemplate::new("deadline-exceeded", 504, "DEADLINE_EXCEEDED", "The request took too long; nothing was changed"),
    ErrorTemplate::new(
        "outcome-unknown",
        500,
        "OUTCOME_UNKNOWN",
        "The outcome of the request is not known; read before you repeat it",
    ),
    ErrorTemplate::new(
        "idempotency-mismatch",
        422,
        "IDEMPOTENCY_MISMATCH",
        "The Idempotency-Key was used for another request",
    ),
    ErrorTemplate::new(
        "idempotency-in-progress",
        409,
        "IDEMPOTENCY_IN_PROGRESS",
        "The first request with this Idempotency-Key still runs",
    ),
    ErrorTemplate::new("plugin-failed", 500, "SERVER_ERROR", "Server Error"),
    UNAVAILABLE,
];

#[derive(Serialize)]
struct Body<'a> {
    error: &'a str,
    errors: &'a [Cow<'static, str>],
    code: &'a str,
    request_id: &'a str,
}

/// A superset of what the clients of this interface read: `error`, `errors`, and a code that programs compare.
pub fn words(refusal: &Refusal, request_id: &str) -> String {
    let body = Body { error: refusal.message(), errors: &refusal.messages, code: refusal.code, request_id };
    // Texts only: it cannot fail.
    serde_json::to_string(&body).unwrap_or_default()
}

/// Unknown, malformed, or of another organization: nobody can tell which.
pub fn not_found() -> Stop {
    NOT_FOUND.refusal().into()
}

/// A body that is not what its media type says.
pub fn malformed() -> Stop {
    MALFORMED.refusal().into()
}

/// What no driver may do, whatever it is done to.
pub fn forbidden() -> Stop {
    FORBIDDEN.refusal().into()
}

/// Somebody whose word is needed does not answer: nothing was changed.
pub fn unavailable() -> Stop {
    UNAVAILABLE.refusal().into()
}

/// Of another organization, from before a restore, or older than what is kept: a reader that pulls events begins anew.
pub fn not_kept() -> Stop {
    let message = "The event that `after` names is not known, or not kept any more. Begin without `after`.";
    Refusal::new(410, "EVENT_NOT_KEPT", message).into()
}

/// 422 with a sentence for each fault.
pub fn invalid(faults: &[Invalid]) -> Stop {
    let sentences = bounded(faults.iter().map(Invalid::sentence));
    Refusal::with_messages(422, VALIDATION_FAILED, sentences).into()
}

/// Each sentence once, and not more of them than somebody reads.
fn bounded(sentences: impl Iterator<Item = Cow<'static, str>>) -> Vec<Cow<'static, str>> {
    let mut told = BTreeSet::new();
    let mut distinct: Vec<Cow<'static, str>> = sentences.filter(|sentence| told.insert(sentence.clone())).collect();
    let more = distinct.len().saturating_sub(SENTENCES_MAX);
    if more > 0 {
        distinct.truncate(SENTENCES_MAX);
        distinct.push(Cow::Owned(["And ", &more.to_string(), " more."].concat()));
    }
    distinct
}

/// No field is wrong by itself, but the host keeps no record of that size.
pub fn too_large() -> Stop {
    Refusal::new(422, VALIDATION_FAILED, "The resource would be too large to be stored.").into()
}

impl From<Invalid> for Stop {
    fn from(fault: Invalid) -> Stop {
        invalid(&[fault])
    }
}

/// A rule's "no", in its own words.
impl From<refusal::Refusal> for Stop {
    fn from(refused: refusal::Refusal) -> Stop {
        worded(&refused).into()
    }
}

/// A "no" of which something is kept: what the call changed is applied, as with any answer.
pub fn answer(call: &Call, refused: &refusal::Refusal) -> Answer {
    let answer = Answer::new(refused.status(), words(&worded(refused), &call.request().id));
    match refused.retry_after_s() {
        Some(seconds) => answer.header("retry-after", seconds.to_string()),
        None => answer,
    }
}

fn worded(refused: &refusal::Refusal) -> Refusal {
    let sentences = bounded(refused.sentences().into_iter().map(Into::into));
    let worded = Refusal::with_messages(refused.status(), refused.code(), sentences);
    refused.retry_after_s().into_iter().fold(worded, Refusal::retry_after)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentences(count: usize) -> impl Iterator<Item = Cow<'static, str>> {
        (0..count).map(|nth| Cow::Owned(format!("The {nth} field is required.")))
    }

    #[test]
    fn what_is_wrong_twice_is_told_once() {
        assert_eq!(bounded(sentences(2).chain(sentences(3))), sentences(3).collect::<Vec<_>>());
    }

    #[test]
    fn what_nobody_reads_to_its_end_is_counted() {
        assert_eq!(bounded(sentences(SENTENCES_MAX)).len(), SENTENCES_MAX);
        let many = bounded(sentences(SENTENCES_MAX + 23));
        assert_eq!((many.len(), many.last().unwrap().as_ref()), (SENTENCES_MAX + 1, "And 23 more."));
    }
}
