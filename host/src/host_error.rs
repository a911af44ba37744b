//! Errors that the host reports instead of a plugin. Each interface defines their bodies in `failures` of its manifest.
//!
//! Owns the closed list and the default statuses. The bodies for callers are rendered by `plugin::error_bodies`.

use serde::{Deserialize, Serialize};

/// Why the host responded to a request instead of its plugin. `docs/errors.md` lists the variants, generated from
/// [`HostError::ALL`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HostError {
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

impl HostError {
    pub const ALL: [HostError; 16] = [
        HostError::Unauthenticated,
        HostError::Forbidden,
        HostError::NotFound,
        HostError::MethodNotAllowed,
        HostError::UnsupportedVersion,
        HostError::UnsupportedMediaType,
        HostError::MalformedRequest,
        HostError::BodyTooLarge,
        HostError::RateLimited,
        HostError::DeadlineExceeded,
        HostError::OutcomeUnknown,
        HostError::IdempotencyMismatch,
        HostError::IdempotencyInProgress,
        HostError::LoopDetected,
        HostError::PluginFailed,
        HostError::Unavailable,
    ];

    /// Returns the name in a manifest, in metrics and in logs.
    pub fn name(self) -> &'static str {
        match self {
            HostError::Unauthenticated => "unauthenticated",
            HostError::Forbidden => "forbidden",
            HostError::NotFound => "not-found",
            HostError::MethodNotAllowed => "method-not-allowed",
            HostError::UnsupportedVersion => "unsupported-version",
            HostError::UnsupportedMediaType => "unsupported-media-type",
            HostError::MalformedRequest => "malformed-request",
            HostError::BodyTooLarge => "body-too-large",
            HostError::RateLimited => "rate-limited",
            HostError::DeadlineExceeded => "deadline-exceeded",
            HostError::OutcomeUnknown => "outcome-unknown",
            HostError::IdempotencyMismatch => "idempotency-mismatch",
            HostError::IdempotencyInProgress => "idempotency-in-progress",
            HostError::LoopDetected => "loop-detected",
            HostError::PluginFailed => "plugin-failed",
            HostError::Unavailable => "unavailable",
        }
    }

    /// Returns the status that is used if the manifest gives none.
    pub fn default_status(self) -> u16 {
        match self {
            HostError::Unauthenticated => 401,
            HostError::Forbidden => 403,
            HostError::NotFound => 404,
            HostError::MethodNotAllowed => 405,
            HostError::UnsupportedVersion => 404,
            HostError::UnsupportedMediaType => 415,
            HostError::MalformedRequest => 400,
            HostError::BodyTooLarge => 413,
            HostError::RateLimited => 429,
            HostError::DeadlineExceeded => 504,
            HostError::OutcomeUnknown => 500,
            HostError::IdempotencyMismatch => 422,
            HostError::IdempotencyInProgress => 409,
            HostError::LoopDetected => 508,
            HostError::PluginFailed => 500,
            HostError::Unavailable => 503,
        }
    }

    /// Returns the description in `docs/errors.md`.
    pub fn meaning(self) -> &'static str {
        match self {
            HostError::Unauthenticated => {
                "The request has no key, two different keys, or a key that is invalid, expired, revoked or for another plugin."
            }
            HostError::Forbidden => {
                "The key is valid but lacks a scope that the operation requires, or it is a live key and was sent over plain HTTP to a host in production."
            }
            HostError::NotFound => "No operation has this path.",
            HostError::MethodNotAllowed => {
                "The path exists, but not with this method; `Allow` lists the allowed methods."
            }
            HostError::UnsupportedVersion => {
                "The version in the path is not served, but the rest of the path exists in another version."
            }
            HostError::UnsupportedMediaType => "The operation does not accept the media type of the body.",
            HostError::MalformedRequest => {
                "The request is malformed: no `Host` header or two, two media types, a transfer coding other than chunked (501), an `Expect` other than `100-continue` (417), a body or query that is not UTF-8, or an invalid idempotency key."
            }
            HostError::BodyTooLarge => "The body is larger than the operation accepts.",
            HostError::RateLimited => "The key has exceeded its rate limit; `Retry-After` gives the time to wait.",
            HostError::DeadlineExceeded => {
                "The call did not finish before its deadline, or it waited for a permit until too little time was left to run. Nothing was changed."
            }
            HostError::OutcomeUnknown => {
                "The change may or may not have been made. Repeat the request with the same idempotency key, or read the current state."
            }
            HostError::IdempotencyMismatch => "The idempotency key was used before for a different request.",
            HostError::IdempotencyInProgress => "The first request with this idempotency key is still running.",
            HostError::LoopDetected => {
                "The request is the result of too many deliveries and calls between hosts (`Tenon-Hops`), which call each other in a loop."
            }
            HostError::PluginFailed => {
                "The plugin failed. Nothing was changed; the host logs the cause with the request id."
            }
            HostError::Unavailable => {
                "The host cannot handle the request now: it is overloaded, out of disk space or stopping, or a plugin that the path may belong to does not serve (yet). Nothing was changed; try again."
            }
        }
    }
}
