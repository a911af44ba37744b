//! The failures that only the host sees: each interface words them itself, in the `failures` of its manifest.
//!
//! Owns the closed list and the status that stands where an interface gives none. Never words anything for a caller:
//! that is `http::wording`.

use serde::{Deserialize, Serialize};

/// Why the host could not let a plugin answer (`docs/errors.md` lists them, generated from [`Failure::ALL`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Failure {
    Unauthenticated,
    Forbidden,
    NotFound,
    MethodNotAllowed,
    UnsupportedVersion,
    UnsupportedMediaType,
    MalformedRequest,
    BodyTooLarge,
    RateLimited,
    DeadlineExceeded,
    OutcomeUnknown,
    IdempotencyMismatch,
    IdempotencyInProgress,
    PluginFailed,
    Unavailable,
}

impl Failure {
    pub const ALL: [Failure; 15] = [
        Failure::Unauthenticated,
        Failure::Forbidden,
        Failure::NotFound,
        Failure::MethodNotAllowed,
        Failure::UnsupportedVersion,
        Failure::UnsupportedMediaType,
        Failure::MalformedRequest,
        Failure::BodyTooLarge,
        Failure::RateLimited,
        Failure::DeadlineExceeded,
        Failure::OutcomeUnknown,
        Failure::IdempotencyMismatch,
        Failure::IdempotencyInProgress,
        Failure::PluginFailed,
        Failure::Unavailable,
    ];

    /// The name in a manifest, in metrics and in logs.
    pub fn name(self) -> &'static str {
        match self {
            Failure::Unauthenticated => "unauthenticated",
            Failure::Forbidden => "forbidden",
            Failure::NotFound => "not-found",
            Failure::MethodNotAllowed => "method-not-allowed",
            Failure::UnsupportedVersion => "unsupported-version",
            Failure::UnsupportedMediaType => "unsupported-media-type",
            Failure::MalformedRequest => "malformed-request",
            Failure::BodyTooLarge => "body-too-large",
            Failure::RateLimited => "rate-limited",
            Failure::DeadlineExceeded => "deadline-exceeded",
            Failure::OutcomeUnknown => "outcome-unknown",
            Failure::IdempotencyMismatch => "idempotency-mismatch",
            Failure::IdempotencyInProgress => "idempotency-in-progress",
            Failure::PluginFailed => "plugin-failed",
            Failure::Unavailable => "unavailable",
        }
    }

    /// The status where the manifest gives none.
    pub fn default_status(self) -> u16 {
        match self {
            Failure::Unauthenticated => 401,
            Failure::Forbidden => 403,
            Failure::NotFound => 404,
            Failure::MethodNotAllowed => 405,
            Failure::UnsupportedVersion => 404,
            Failure::UnsupportedMediaType => 415,
            Failure::MalformedRequest => 400,
            Failure::BodyTooLarge => 413,
            Failure::RateLimited => 429,
            Failure::DeadlineExceeded => 504,
            Failure::OutcomeUnknown => 500,
            Failure::IdempotencyMismatch => 422,
            Failure::IdempotencyInProgress => 409,
            Failure::PluginFailed => 500,
            Failure::Unavailable => 503,
        }
    }
}
