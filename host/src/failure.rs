//! The failures that only the host sees: each interface words them itself, in the `failures` of its manifest.
//!
//! Owns the closed list and the status that stands where an interface gives none. Never words anything for a caller:
//! that is `plugin::wording`.

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
    LoopDetected,
    PluginFailed,
    Unavailable,
}

impl Failure {
    pub const ALL: [Failure; 16] = [
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
        Failure::LoopDetected,
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
            Failure::LoopDetected => "loop-detected",
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
            Failure::LoopDetected => 508,
            Failure::PluginFailed => 500,
            Failure::Unavailable => 503,
        }
    }

    /// What happened, for the reader of `docs/errors.md`.
    pub fn meaning(self) -> &'static str {
        match self {
            Failure::Unauthenticated => {
                "The request carries no key, two different ones, or one that is wrong, expired, revoked or for another plugin."
            }
            Failure::Forbidden => {
                "The key is valid but lacks a scope that the operation asks for, or it is a live one and came over plain HTTP to a host in production."
            }
            Failure::NotFound => "No operation has this path.",
            Failure::MethodNotAllowed => {
                "The path exists, but not with this method; `Allow` names those that there are."
            }
            Failure::UnsupportedVersion => {
                "The version in the path is not served, but the rest of the path exists in another one."
            }
            Failure::UnsupportedMediaType => "The body is of a media type that the operation does not take.",
            Failure::MalformedRequest => {
                "The request cannot be read: no Host or two, two media types, a transfer coding other than chunked (501), an `Expect` other than `100-continue` (417), a body or query that is not UTF-8, a bad idempotency key."
            }
            Failure::BodyTooLarge => "The body is larger than the operation takes.",
            Failure::RateLimited => "The key has sent more requests than it may; `Retry-After` says when to come back.",
            Failure::DeadlineExceeded => "No answer in time. Nothing was changed.",
            Failure::OutcomeUnknown => {
                "The change may or may not have been made. Repeat it with the same idempotency key, or look."
            }
            Failure::IdempotencyMismatch => "The idempotency key was used before for a different request.",
            Failure::IdempotencyInProgress => "The first request with this idempotency key is still running.",
            Failure::LoopDetected => {
                "The request follows from too many deliveries and calls between hosts (`Tenon-Hops`): they call each other in a loop."
            }
            Failure::PluginFailed => {
                "The plugin broke. Nothing was changed; the log of the host has the cause under the request id."
            }
            Failure::Unavailable => {
                "The host cannot do it now: too much at once, no disk, stopping, or a plugin to which the path may belong does not serve (yet). Nothing was changed; try again."
            }
        }
    }
}
