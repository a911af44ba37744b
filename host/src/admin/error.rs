//! The errors of operator requests: a status, a stable code, a message and a hint.

use std::{error::Error, fmt::Display};

use axum::{
    Json,
    response::{IntoResponse, Response},
};
use http::{HeaderValue, StatusCode, header};

use super::wire::ErrorBody;
use crate::auth::guess_limiter::Blocked;

/// Reason why an operator request failed. The messages are for operators: they may name files and causes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", body.message)]
pub struct AdminError {
    status: StatusCode,
    body: ErrorBody,
    retry_after_seconds: Option<u64>,
}

/// Extension of an error response with its message and reasons, for the middleware that records failed actions.
#[derive(Clone, Debug)]
pub struct ErrorMessage(pub String);

impl AdminError {
    pub fn new(status: StatusCode, error: &str, message: impl Into<String>, hint: impl Into<String>) -> AdminError {
        let body =
            ErrorBody { error: error.to_owned(), message: message.into(), hint: hint.into(), reasons: Vec::new() };
        AdminError { status, body, retry_after_seconds: None }
    }

    /// Returns the error for a path, or for an item that the request names, if it does not exist.
    pub fn not_found(message: impl Into<String>, hint: impl Into<String>) -> AdminError {
        AdminError::new(StatusCode::NOT_FOUND, "not-found", message, hint)
    }

    /// Returns the error for an invalid request.
    pub fn invalid(message: impl Into<String>, hint: impl Into<String>) -> AdminError {
        AdminError::new(StatusCode::BAD_REQUEST, "invalid", message, hint)
    }

    /// Returns the error for a request that the current state of the host does not allow. `reasons` may be empty.
    pub fn conflict(message: impl Into<String>, reasons: Vec<String>, hint: impl Into<String>) -> AdminError {
        let mut error = AdminError::new(StatusCode::CONFLICT, "refused", message, hint);
        error.body.reasons = reasons;
        error
    }

    /// Returns the error for a failure of the host or its database.
    pub fn failed(cause: impl Display) -> AdminError {
        AdminError::new(StatusCode::INTERNAL_SERVER_ERROR, "failed", cause.to_string(), "See the log of the host.")
    }

    /// Returns the error for a body that was not received completely. A status of 413 means that it is too large.
    pub fn incomplete_body(status: StatusCode, hint: impl Into<String>) -> AdminError {
        if status == StatusCode::PAYLOAD_TOO_LARGE {
            return AdminError::new(status, "too-large", "The body is too large.", hint);
        }
        AdminError::new(status, "invalid", "The body is incomplete.", hint)
    }

    pub fn retry_after(self, blocked: Blocked) -> AdminError {
        AdminError { retry_after_seconds: Some(blocked.retry_after_seconds), ..self }
    }

    /// Returns the JSON body of the response.
    pub fn body(&self) -> &ErrorBody {
        &self.body
    }
}

/// Returns the innermost cause. The outer errors describe internals of the host.
pub fn cause(error: &dyn Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

impl IntoResponse for AdminError {
    fn into_response(self) -> Response {
        let reasons = self.body.reasons.iter().map(|reason| format!(" {reason}"));
        let message = ErrorMessage(format!("{}{}", self.body.message, reasons.collect::<String>()));
        let mut response = (self.status, Json(self.body)).into_response();
        response.extensions_mut().insert(message);
        if let Some(seconds) = self.retry_after_seconds {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}
