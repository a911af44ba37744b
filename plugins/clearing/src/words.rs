//! How this interface says no (spec/clearing: Errors). The one place that knows codes, statuses and the ErrorDetail body.
//!
//! Invariant: an unknown, a malformed and a foreign uetr get the same bytes; no sentence repeats what a field holds.

use std::borrow::Cow;

use serde::Serialize;
use tenon_plugin::{ErrorTemplate, QueryError, Refusal, Stop};

use crate::rules::invalid::{Field, Invalid, Rule};
use crate::rules::refusal::Refusal as Refused;

pub const BAD_REQUEST: &str = "INBOUND_BAD_REQUEST";
const UNAUTHORIZED: &str = "INBOUND_UNAUTHORIZED";
const FORBIDDEN: &str = "INBOUND_FORBIDDEN";
const NOT_FOUND: &str = "INBOUND_NOT_FOUND";
pub const UNPROCESSABLE: &str = "INBOUND_UNPROCESSABLE";
const RATE_LIMITED: &str = "INBOUND_RATE_LIMITED";
const SERVER_ERROR: &str = "INBOUND_SERVER_ERROR";
const SERVICE_UNAVAILABLE: &str = "INBOUND_SERVICE_UNAVAILABLE";
const TIMEOUT: &str = "INBOUND_TIMEOUT";

const UNKNOWN: ErrorTemplate = ErrorTemplate::new("not-found", 404, NOT_FOUND, "No such transaction or resource");
const FORBIDDEN_HERE: ErrorTemplate =
    ErrorTemplate::new("forbidden", 403, FORBIDDEN, "The credentials do not allow this operation")
        .headers(&[("www-authenticate", "Bearer error=\"insufficient_scope\"")]);

/// The failures that only the host sees. What the specification's table does not name (405, 413, 415) takes its nearest code.
pub const FAILURES: &[ErrorTemplate] = &[
    ErrorTemplate::new("unauthenticated", 401, UNAUTHORIZED, "The credentials are missing or not valid")
        .headers(&[("www-authenticate", "Bearer error=\"invalid_token\"")]),
    FORBIDDEN_HERE,
    UNKNOWN,
    ErrorTemplate::new("unsupported-version", 404, NOT_FOUND, "This version of the interface is not served"),
    ErrorTemplate::new("method-not-allowed", 405, BAD_REQUEST, "The resource does not support this method"),
    ErrorTemplate::new("unsupported-media-type", 415, BAD_REQUEST, "The body must be application/json"),
    ErrorTemplate::new("malformed-request", 400, BAD_REQUEST, "The request is not well-formed"),
    ErrorTemplate::new("body-too-large", 413, BAD_REQUEST, "The body is too large"),
    ErrorTemplate::new("rate-limited", 429, RATE_LIMITED, "Too many requests"),
    ErrorTemplate::new(
        "deadline-exceeded",
        429,
        TIMEOUT,
        "The request was not acknowledged in time; nothing was changed",
    )
    .headers(&[("retry-after", "1")]),
    ErrorTemplate::new(
        "outcome-unknown",
        500,
        SERVER_ERROR,
        "It is not known whether the request was processed; repeat it",
    ),
    ErrorTemplate::new("idempotency-mismatch", 422, UNPROCESSABLE, "The Idempotency-Key was used for another request"),
    // The same message is under way already, and is not acknowledged yet: come again, as after any missed acknowledgement.
    ErrorTemplate::new(
        "idempotency-in-progress",
        429,
        TIMEOUT,
        "The first request with this Idempotency-Key still runs",
    )
    .headers(&[("retry-after", "1")]),
    ErrorTemplate::new("plugin-failed", 500, SERVER_ERROR, "The request could not be processed"),
    ErrorTemplate::new("unavailable", 500, SERVICE_UNAVAILABLE, "The service is temporarily unavailable")
        .headers(&[("retry-after", "1")]),
];

/// ErrorDetail of the specification, with its code beside it.
#[derive(Serialize)]
struct ErrorDetail<'a> {
    code: &'a str,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
}

/// The first sentence is the message, the others are its detail.
pub fn words(refusal: &Refusal, _request_id: &str) -> String {
    let more: Vec<&str> = refusal.messages.iter().skip(1).map(Cow::as_ref).collect();
    let detail = (!more.is_empty()).then(|| more.join(" "));
    let body = ErrorDetail { code: refusal.code, message: refusal.message(), detail };
    // Texts only: it cannot fail.
    serde_json::to_string(&body).unwrap_or_default()
}

/// Unknown, malformed, of another client, or an operation of the other side: nobody can tell which.
pub fn not_found() -> Stop {
    UNKNOWN.refusal().into()
}

pub fn forbidden() -> Stop {
    FORBIDDEN_HERE.refusal().into()
}

/// 400 for a body in which an object has a member twice.
pub fn ambiguous() -> Stop {
    let sentences = ["The request is not well-formed", "A member of the body is given twice."];
    Refusal::with_messages(400, BAD_REQUEST, sentences.map(Cow::Borrowed).to_vec()).into()
}

/// 422 with a sentence for each fault.
pub fn unprocessable(faults: Vec<String>) -> Stop {
    let first = Cow::Borrowed("The request cannot be processed");
    let sentences = std::iter::once(first).chain(faults.into_iter().map(Cow::Owned)).collect();
    Refusal::with_messages(422, UNPROCESSABLE, sentences).into()
}

/// One fault: "FIELD must be …".
pub fn wrong(field: &str, must: &str) -> Stop {
    unprocessable(vec![sentence(field, must)])
}

/// A query with a parameter that the operation does not take, or with one that is given twice: no value of the two goes before
/// the other.
pub fn refuse_query(fault: &QueryError) -> Stop {
    wrong(fault.name(), &fault.requirement())
}

/// A bank has no partners: it would find everything, whatever partner is named.
pub fn no_partners() -> Stop {
    wrong("partner", "is a filter of platforms only")
}

pub fn sentence(field: &str, must: &str) -> String {
    [field, " ", must, "."].concat()
}

/// A rule's "no" to what the other side, or an operator, has asked for.
pub fn refused(refusal: &Refused) -> Stop {
    let faults = match refusal {
        Refused::Differs { fields } => fields.iter().map(|field| differs(*field)).collect(),
        Refused::UetrTaken { by } => {
            vec![sentence("uetr", &["is known from another operation: ", by.operation().name()].concat())]
        }
        Refused::WrongOperation => vec![sentence("uetr", "names a payment that this operation does not belong to")],
        Refused::AlreadyDecided => {
            vec![sentence("transaction_status", "is the opposite of what was said before, which stands")]
        }
        Refused::TooLate => vec!["The time of the scheme is over.".to_owned()],
        Refused::NotPossible { state } => {
            vec![["This is not possible for a payment that is ", state.name(), "."].concat()]
        }
        Refused::SchemeNotAgreed { .. } => vec![sentence("payment_scheme", "is not agreed with this partner")],
    };
    unprocessable(faults)
}

fn differs(field: Field) -> String {
    sentence(field.name(), "is not what it was in the first message with this uetr, which stands")
}

/// Names what is wrong, never what stands there.
pub fn explain(invalid: &Invalid) -> String {
    let must = match invalid.rule {
        Rule::Required => "is required".to_owned(),
        Rule::RequiredWithRejected => "is required with transaction_status REJECTED".to_owned(),
        Rule::Blank => "must not be blank".to_owned(),
        Rule::TooLong { characters_max } => ["may have at most ", &characters_max.to_string(), " characters"].concat(),
        Rule::ControlCharacters => "must not contain control characters".to_owned(),
        Rule::NotOneOf(names) => ["must be one of: ", &names.join(", ")].concat(),
        Rule::NotUuid => "must be a UUID (8-4-4-4-12 hexadecimal digits, not all of them zero)".to_owned(),
        Rule::NotDecimal => "must be a number without sign and exponent".to_owned(),
        Rule::BelowZero => "must be zero or greater".to_owned(),
        Rule::NotAboveZero => "must be greater than zero".to_owned(),
        Rule::TooPrecise { decimals } => {
            ["may have at most ", &decimals.to_string(), " decimals in this currency"].concat()
        }
        Rule::TooLarge { digits_max } => {
            ["may have at most ", &digits_max.to_string(), " digits in minor units"].concat()
        }
        Rule::NotCurrency => "must be a currency of ISO 4217".to_owned(),
        Rule::NotDate => "must be a date like 2026-05-07".to_owned(),
        Rule::NotDateTime => "must be a time with its offset, like 2026-05-07T08:30:00Z".to_owned(),
        Rule::SchemeNotServed(names) => ["must be one of: ", &names.join(", "), " for this operation"].concat(),
    };
    sentence(invalid.field.name(), &must)
}
