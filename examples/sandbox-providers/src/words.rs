//! How the providers say no (docs/wallet/providers.md: In common). The one place that knows codes and statuses.
//!
//! Invariant: no sentence repeats what a field holds.

use serde::Serialize;
use tenon_plugin::{ErrorTemplate, Refusal, Stop};

pub const INVALID: &str = "INVALID_REQUEST";
const MALFORMED: &str = "MALFORMED_REQUEST";
const NOT_FOUND: &str = "NOT_FOUND";
const RATE_LIMITED: &str = "RATE_LIMITED";
const SERVER_ERROR: &str = "SERVER_ERROR";
const UNAVAILABLE: &str = "PROVIDER_UNAVAILABLE";

const UNKNOWN: ErrorTemplate = ErrorTemplate::new("not-found", 404, NOT_FOUND, "There is no such thing.");

/// The failures that only the host sees.
pub const FAILURES: &[ErrorTemplate] = &[
    ErrorTemplate::new("unauthenticated", 401, "UNAUTHENTICATED", "The API key is missing or not valid."),
    ErrorTemplate::new("forbidden", 403, "FORBIDDEN", "The API key does not allow this."),
    UNKNOWN,
    ErrorTemplate::new("unsupported-version", 404, NOT_FOUND, "This version is not served."),
    ErrorTemplate::new("method-not-allowed", 405, "METHOD_NOT_ALLOWED", "The resource does not support this method."),
    ErrorTemplate::new("unsupported-media-type", 415, "UNSUPPORTED_MEDIA_TYPE", "The body must be application/json."),
    ErrorTemplate::new("malformed-request", 400, MALFORMED, "The body must be a JSON object."),
    ErrorTemplate::new("body-too-large", 413, "BODY_TOO_LARGE", "The body is too large."),
    ErrorTemplate::new("rate-limited", 429, RATE_LIMITED, "Too many requests."),
    ErrorTemplate::new("deadline-exceeded", 503, UNAVAILABLE, "That took too long; nothing was changed."),
    ErrorTemplate::new(
        "outcome-unknown",
        500,
        SERVER_ERROR,
        "It is not known whether this was done; read it by its id.",
    ),
    ErrorTemplate::new("idempotency-mismatch", 409, "CONFLICT", "The Idempotency-Key was used for another request."),
    ErrorTemplate::new(
        "idempotency-in-progress",
        503,
        UNAVAILABLE,
        "The first request with this Idempotency-Key still runs.",
    )
    .headers(&[("retry-after", "1")]),
    ErrorTemplate::new("plugin-failed", 500, SERVER_ERROR, "That could not be done."),
    ErrorTemplate::new("unavailable", 503, UNAVAILABLE, "Temporarily unavailable.").headers(&[("retry-after", "1")]),
];

/// Codes after which the same call may do better.
const RETRYABLE: [&str; 3] = [RATE_LIMITED, SERVER_ERROR, UNAVAILABLE];

#[derive(Serialize)]
struct Body<'a> {
    code: &'a str,
    message: &'a str,
    retryable: bool,
}

pub fn words(refusal: &Refusal, _request_id: &str) -> String {
    let body = Body { code: refusal.code, message: refusal.message(), retryable: RETRYABLE.contains(&refusal.code) };
    // Texts only: it cannot fail.
    serde_json::to_string(&body).unwrap_or_default()
}

/// A business "no".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum No {
    Conflict,
    QuoteUsed,
    NotPossible,
    Currency,
    Institution,
    Account,
    Blocked,
    Route,
    QuoteNotFound,
    QuoteExpired,
    Balance,
    Silent,
}

impl From<No> for Stop {
    fn from(no: No) -> Stop {
        let (status, code, message) = match no {
            No::Conflict => (409, "CONFLICT", "This id is known with another content."),
            No::QuoteUsed => (409, "QUOTE_USED", "The quote was taken with another id."),
            No::NotPossible => (409, "NOT_POSSIBLE", "This is not possible in the state that it is in."),
            No::Currency => (422, "CURRENCY_NOT_SUPPORTED", "This currency is not supported."),
            No::Institution => (422, "INSTITUTION_NOT_FOUND", "There is no such institution in this currency."),
            No::Account => (422, "ACCOUNT_NOT_FOUND", "The institution has no such account."),
            No::Blocked => (422, "ACCOUNT_BLOCKED", "This account may not be paid."),
            No::Route => (422, "ROUTE_NOT_SUPPORTED", "This asset, or this pair of assets, is not supported."),
            No::QuoteNotFound => (422, "QUOTE_NOT_FOUND", "There is no such quote; ask for another one."),
            No::QuoteExpired => (422, "QUOTE_EXPIRED", "The quote is not valid any more; ask for another one."),
            No::Balance => (422, "INSUFFICIENT_BALANCE", "The gateway's balance is less than that."),
            No::Silent => (503, UNAVAILABLE, "The other side does not answer."),
        };
        Refusal::new(status, code, message).into()
    }
}

pub fn not_found() -> Stop {
    UNKNOWN.refusal().into()
}

/// "FIELD must be …."
pub fn wrong(field: &str, must: &str) -> Stop {
    Refusal::new(422, INVALID, [field, " ", must, "."].concat()).into()
}

/// `at_least`: whole units of what is limited.
pub fn too_small(at_least: &str) -> Stop {
    Refusal::new(422, "AMOUNT_TOO_SMALL", ["The least is ", at_least, "."].concat()).into()
}

pub fn too_large(at_most: &str) -> Stop {
    Refusal::new(422, "AMOUNT_TOO_LARGE", ["The most is ", at_most, "."].concat()).into()
}
