//! Errors of the operators' listener: a stable code, what happened, what to do.

use std::error::Error;

use axum::{
    Json,
    response::{IntoResponse, Response},
};
use http::{HeaderValue, StatusCode, header};

use super::{operations::Refusal, wire::Problem};
use crate::auth::guesses::Blocked;

/// An answer that is not a 2xx.
#[derive(Debug)]
pub struct Rejection {
    status: StatusCode,
    problem: Problem,
    retry_after_seconds: Option<u64>,
}

/// The explanation in an error response, for the layer that records refused and failed requests.
#[derive(Clone, Debug)]
pub struct Explained(pub String);

impl Rejection {
    pub fn new(status: StatusCode, error: &str, message: impl Into<String>, hint: impl Into<String>) -> Rejection {
        let problem =
            Problem { error: error.to_owned(), message: message.into(), hint: hint.into(), reasons: Vec::new() };
        Rejection { status, problem, retry_after_seconds: None }
    }

    pub fn retry_after(self, blocked: Blocked) -> Rejection {
        Rejection { retry_after_seconds: Some(blocked.retry_after_seconds), ..self }
    }

    pub fn invalid(message: impl Into<String>, hint: impl Into<String>) -> Rejection {
        Rejection::new(StatusCode::BAD_REQUEST, "invalid", message, hint)
    }

    /// A body that could not be read: 413 where it is too large.
    pub fn unread(status: StatusCode, hint: impl Into<String>) -> Rejection {
        if status == StatusCode::PAYLOAD_TOO_LARGE {
            return Rejection::new(status, "too-large", "The body is too large.", hint);
        }
        Rejection::new(status, "invalid", "The body ended before its end.", hint)
    }
}

/// The innermost cause: what lies around it speaks of the host's own inside.
pub fn cause(error: &dyn Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

impl From<Refusal> for Rejection {
    fn from(refusal: Refusal) -> Rejection {
        match refusal {
            Refusal::NotFound { message, hint } => Rejection::new(StatusCode::NOT_FOUND, "not-found", message, hint),
            Refusal::Invalid { message, hint } => Rejection::invalid(message, hint),
            Refusal::Refused { message, reasons, hint } => {
                let mut rejection = Rejection::new(StatusCode::CONFLICT, "refused", message, hint);
                rejection.problem.reasons = reasons;
                rejection
            }
            Refusal::Failed { message } => {
                let hint = "The log of the host says more.";
                Rejection::new(StatusCode::INTERNAL_SERVER_ERROR, "failed", message, hint)
            }
        }
    }
}

impl IntoResponse for Rejection {
    fn into_response(self) -> Response {
        let reasons = self.problem.reasons.iter().map(|reason| format!(" {reason}"));
        let why = Explained(format!("{}{}", self.problem.message, reasons.collect::<String>()));
        let mut response = (self.status, Json(self.problem)).into_response();
        response.extensions_mut().insert(why);
        if let Some(seconds) = self.retry_after_seconds {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}
