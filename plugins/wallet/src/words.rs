//! How this interface says no (spec/wallet: Errors; research/wallet 3). The one place that knows the body of an error.
//!
//! Invariant: an unknown id and a foreign one get the same bytes; no sentence repeats what a field holds.

use std::borrow::Cow;

use serde::Serialize;
use tenon_plugin::{ErrorTemplate, QueryError, Refusal, Stop};

use crate::rules::code::Code;
use crate::rules::invalid::Invalid;
use crate::rules::refusal::Refusal as Refused;

const AUTH_FAILED: &str = "SERVICE_AUTH_FAILED";
pub const VALIDATION_ERROR: &str = "SERVICE_VALIDATION_ERROR";
const NOT_FOUND: &str = "SERVICE_NOT_FOUND";
const SERVER_ERROR: &str = "SERVICE_SERVER_ERROR";

const UNKNOWN: ErrorTemplate = ErrorTemplate::new("not-found", 404, NOT_FOUND, "Resource not found");
const FORBIDDEN: ErrorTemplate =
    ErrorTemplate::new("forbidden", 403, AUTH_FAILED, "The API key does not allow this operation");
const PLUGIN_FAILED: ErrorTemplate = ErrorTemplate::new("plugin-failed", 500, SERVER_ERROR, "Internal server error");
const RETRY_SOON: &[(&str, &str)] = &[("retry-after", "1")];

/// The failures that only the host sees. What the specification's table does not name takes its nearest code, with a status of
/// its own.
pub const FAILURES: &[ErrorTemplate] = &[
    ErrorTemplate::new("unauthenticated", 401, AUTH_FAILED, "Unauthorized"),
    FORBIDDEN,
    UNKNOWN,
    ErrorTemplate::new("unsupported-version", 404, NOT_FOUND, "This version of the interface is not served"),
    ErrorTemplate::new("method-not-allowed", 405, VALIDATION_ERROR, "The resource does not support this method"),
    ErrorTemplate::new("unsupported-media-type", 415, VALIDATION_ERROR, "The body must be application/json"),
    ErrorTemplate::new("malformed-request", 400, VALIDATION_ERROR, "The request is not well-formed"),
    ErrorTemplate::new("body-too-large", 413, VALIDATION_ERROR, "The body is too large"),
    ErrorTemplate::new("rate-limited", 429, SERVER_ERROR, "Too many requests"),
    ErrorTemplate::new("deadline-exceeded", 504, SERVER_ERROR, "The request took too long; nothing was changed"),
    ErrorTemplate::new(
        "outcome-unknown",
        500,
        SERVER_ERROR,
        "It is not known whether the request was processed; repeat it",
    ),
    ErrorTemplate::new(
        "idempotency-mismatch",
        422,
        VALIDATION_ERROR,
        "The Idempotency-Key was used for another request",
    ),
    ErrorTemplate::new(
        "idempotency-in-progress",
        409,
        SERVER_ERROR,
        "The first request with this Idempotency-Key still runs",
    )
    .headers(RETRY_SOON),
    PLUGIN_FAILED,
    ErrorTemplate::new("unavailable", 503, SERVER_ERROR, "The service is temporarily unavailable").headers(RETRY_SOON),
];

/// Between the parts of a fault on its way through a refusal's sentences.
const SEPARATOR: char = '\u{1f}';

/// One thing that is wrong with a request.
pub struct Fault {
    pub field: String,
    pub rule: &'static str,
    pub message: String,
}

impl Fault {
    pub fn new(field: &str, rule: &'static str, must: &str) -> Fault {
        Fault { field: field.to_owned(), rule, message: [field, " ", must].concat() }
    }

    fn of(invalid: &Invalid) -> Fault {
        Fault { field: invalid.path(), rule: invalid.rule.name(), message: invalid.message() }
    }

    fn pack(&self) -> Cow<'static, str> {
        let separator = SEPARATOR.to_string();
        [self.field.as_str(), self.rule, &self.message].join(&separator).into()
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    status_code: u16,
    message: &'a str,
    error: &'a str,
    code: &'a str,
    retryable: bool,
    errors: Vec<FaultText<'a>>,
    request_id: &'a str,
}

#[derive(Serialize)]
struct FaultText<'a> {
    field: &'a str,
    rule: &'a str,
    message: &'a str,
}

/// The first sentence is the message, the others are what is wrong.
pub fn words(refusal: &Refusal, request_id: &str) -> String {
    let faults = refusal.messages.iter().skip(1).filter_map(|packed| {
        let mut parts = packed.splitn(3, SEPARATOR);
        Some(FaultText { field: parts.next()?, rule: parts.next()?, message: parts.next()? })
    });
    let body = Body {
        status_code: refusal.status,
        message: refusal.message(),
        error: reason(refusal.status),
        code: refusal.code,
        retryable: Code::of_name(refusal.code).is_some_and(Code::retryable),
        errors: faults.collect(),
        request_id,
    };
    // Texts, numbers and lists of them: it cannot fail.
    serde_json::to_string(&body).unwrap_or_default()
}

fn reason(status: u16) -> &'static str {
    match status {
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        409 => "Conflict",
        413 => "Payload Too Large",
        415 => "Unsupported Media Type",
        422 => "Unprocessable Entity",
        429 => "Too Many Requests",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => "Internal Server Error",
    }
}

/// Unknown, malformed, or of another wallet: nobody can tell which.
pub fn not_found() -> Stop {
    UNKNOWN.refusal().into()
}

/// A body that says the same thing twice.
pub fn ambiguous() -> Stop {
    Refusal::new(400, VALIDATION_ERROR, "The body must not have a member twice").into()
}

/// What only the account's key may do.
pub fn forbidden() -> Stop {
    FORBIDDEN.refusal().into()
}

/// Production never shows one; elsewhere the operator decides.
pub fn private_key_hidden() -> Stop {
    Refusal::new(403, VALIDATION_ERROR, "The operator does not allow private keys to be shown").into()
}

/// Somebody else had to be asked, and has not answered.
pub fn unanswered(what: &'static str) -> Stop {
    Refusal::new(503, SERVER_ERROR, what).into()
}

/// Not in the state that it is in.
pub fn conflict(message: &'static str) -> Stop {
    Refusal::new(409, VALIDATION_ERROR, message).into()
}

/// A code of the table with its own status.
pub fn failed(code: Code, message: &'static str) -> Stop {
    Refusal::new(code.status(), code.name(), message).into()
}

/// 400 with all that is wrong.
pub fn invalid(faults: &[Fault]) -> Stop {
    let first = faults.first().map_or_else(|| "The request is not valid".into(), |fault| fault.message.clone().into());
    let sentences = std::iter::once(first).chain(faults.iter().map(Fault::pack)).collect();
    Refusal::with_messages(400, VALIDATION_ERROR, sentences).into()
}

/// One field: "FIELD must be …".
pub fn wrong(field: &str, rule: &'static str, must: &str) -> Stop {
    invalid(&[Fault::new(field, rule, must)])
}

/// A query with a parameter that the operation does not take, or with one that is given twice: no value of the two goes before
/// the other.
pub fn refuse_query(fault: &QueryError) -> Stop {
    let rule = match fault {
        QueryError::Unknown { .. } => "unknown",
        QueryError::Repeated { .. } => "once",
    };
    wrong(fault.name(), rule, &fault.requirement())
}

/// A rule's "no".
pub fn refused(refusal: &Refused) -> Stop {
    let faults: Vec<Fault> = match refusal {
        Refused::Invalid(all) => all.iter().map(Fault::of).collect(),
        Refused::ReferenceTaken => vec![Fault::new("reference", "unique", "has been used for another request")],
        Refused::WalletExists => vec![Fault::new("blockchain", "unique", "has a master wallet already")],
        Refused::QuoteExpired => vec![Fault::new("quote_id", "expired", "has expired")],
        Refused::QuoteNotAccepted => vec![Fault::new("quote_id", "accepted", "has not been accepted")],
        Refused::QuoteUsed => vec![Fault::new("quote_id", "unused", "has been used")],
        Refused::QuoteDiffers => vec![Fault::new("quote_id", "same_request", "was given for another request")],
        Refused::AccountNotVerified => vec![Fault::new("account_identifier", "verified", "has not been verified")],
        Refused::Sanctioned { field } => vec![Fault::new(field, "sanctioned", "is sanctioned")],
        _ => Vec::new(),
    };
    let first = Cow::Owned(refusal.message());
    let sentences = std::iter::once(first).chain(faults.iter().map(Fault::pack)).collect();
    Refusal::with_messages(refusal.status(), refusal.code().name(), sentences).into()
}
