//! Why a request was rejected: the error kind, and the status and headers that RFC 9110 requires besides the error
//! body.

use http::{HeaderName, HeaderValue, StatusCode};

use crate::{auth::CredentialError, host_error::HostError};

/// A request that the host rejects before it calls a plugin.
#[derive(Debug)]
pub(super) struct RequestError {
    pub kind: HostError,
    /// Overrides the status of the kind, for statuses that no kind has (408, 417, 501).
    pub status: Option<StatusCode>,
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// Reason for the log. Never contains anything that the caller sent.
    pub reason: &'static str,
    /// True if the connection must close because the rest of the request was not read.
    pub close: bool,
}

impl RequestError {
    pub fn new(kind: HostError, reason: &'static str) -> RequestError {
        RequestError { kind, status: None, headers: Vec::new(), reason, close: false }
    }

    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> RequestError {
        self.headers.push((name, value));
        self
    }

    pub fn with_status(mut self, status: StatusCode) -> RequestError {
        self.status = Some(status);
        self
    }

    pub fn closing(mut self) -> RequestError {
        self.close = true;
        self
    }
}

impl From<CredentialError> for RequestError {
    fn from(error: CredentialError) -> RequestError {
        match error {
            CredentialError::Store(error) => {
                tracing::warn!(%error, "failed to look up a key");
                RequestError::new(HostError::Unavailable, "key lookup failed")
            }
            CredentialError::Missing => RequestError::new(HostError::Unauthenticated, "no credential"),
            CredentialError::Malformed => RequestError::new(HostError::Unauthenticated, "malformed key"),
            CredentialError::Ambiguous => RequestError::new(HostError::Unauthenticated, "two different credentials"),
            CredentialError::Unknown => RequestError::new(HostError::Unauthenticated, "unknown key"),
            CredentialError::Expired => RequestError::new(HostError::Unauthenticated, "the key has expired"),
            CredentialError::Revoked => RequestError::new(HostError::Unauthenticated, "the key was revoked"),
            CredentialError::Token(reason) => RequestError::new(HostError::Unauthenticated, reason),
            CredentialError::OtherPlugin => {
                RequestError::new(HostError::Unauthenticated, "the key is for another plugin")
            }
        }
    }
}
