//! Error responses of the operators' listener: a stable code, a message and a hint.

use std::error::Error;

use axum::{
    Json,
    response::{IntoResponse, Response},
};
use http::{HeaderValue, StatusCode, header};

use super::{operations::AdminError, wire::ErrorBody};
use crate::auth::guess_limiter::Blocked;

/// A response whose status is not 2xx.
#[derive(Debug)]
pub struct HttpError {
    status: StatusCode,
    body: ErrorBody,
    retry_after_seconds: Option<u64>,
}

/// Extension of an error response with its message and reasons, for the middleware that records failed actions.
#[derive(Clone, Debug)]
pub struct ErrorMessage(pub String);

impl HttpError {
    pub fn new(status: StatusCode, error: &str, message: impl Into<String>, hint: impl Into<String>) -> HttpError {
        let body =
            ErrorBody { error: error.to_owned(), message: message.into(), hint: hint.into(), reasons: Vec::new() };
        HttpError { status, body, retry_after_seconds: None }
    }

    pub fn retry_after(self, blocked: Blocked) -> HttpError {
        HttpError { retry_after_seconds: Some(blocked.retry_after_seconds), ..self }
    }

    pub fn invalid(message: impl Into<String>, hint: impl Into<String>) -> HttpError {
        HttpError::new(StatusCode::BAD_REQUEST, "invalid", message, hint)
    }

    /// Returns the error for a body that was not received completely. A status of 413 means that it is too large.
    pub fn incomplete_body(status: StatusCode, hint: impl Into<String>) -> HttpError {
        if status == StatusCode::PAYLOAD_TOO_LARGE {
            return HttpError::new(status, "too-large", "The body is too large.", hint);
        }
        HttpError::new(status, "invalid", "The body is incomplete.", hint)
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

impl From<AdminError> for HttpError {
    fn from(error: AdminError) -> HttpError {
        match error {
            AdminError::NotFound { message, hint } => HttpError::new(StatusCode::NOT_FOUND, "not-found", message, hint),
            AdminError::Invalid { message, hint } => HttpError::invalid(message, hint),
            AdminError::Conflict { message, reasons, hint } => {
                let mut error = HttpError::new(StatusCode::CONFLICT, "refused", message, hint);
                error.body.reasons = reasons;
                error
            }
            AdminError::Failed { message } => {
                let hint = "See the log of the host.";
                HttpError::new(StatusCode::INTERNAL_SERVER_ERROR, "failed", message, hint)
            }
        }
    }
}

impl IntoResponse for HttpError {
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
