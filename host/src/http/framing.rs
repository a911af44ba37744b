//! Checks that RFC 9112 requires of every request head: exactly one Host, and no transfer coding other than chunked.
//! Also rejects expectations that the host does not support (RFC 9110, 10.1.1).
//!
//! The checks are independent of the route. Every proxy interprets a request that passes them in the same way.

use http::{HeaderValue, StatusCode, Version, header, request, uri::Authority};

use super::error::RequestError;
use crate::host_error::HostError;

/// Checks the framing of a request.
///
/// # Errors
/// 400 for a missing, duplicate or invalid Host, 501 for a transfer coding, 417 for an expectation. Each closes the
/// connection.
pub(super) fn check_framing(head: &request::Parts) -> Result<(), RequestError> {
    let mut hosts = head.headers.get_all(header::HOST).iter();
    match (hosts.next(), hosts.next()) {
        // HTTP/2 uses `:authority`, and HTTP/1.0 does not require a Host.
        (None, _) if head.version != Version::HTTP_11 => {}
        (Some(host), None) if is_host(host) => {}
        _ => return Err(malformed("there must be exactly one valid Host header")),
    }
    let mut codings = head.headers.get_all(header::TRANSFER_ENCODING).iter();
    match (codings.next(), codings.next()) {
        (None, _) => {}
        (Some(coding), None) if coding.as_bytes().trim_ascii().eq_ignore_ascii_case(b"chunked") => {}
        _ => return Err(malformed("the transfer coding must be chunked").with_status(StatusCode::NOT_IMPLEMENTED)),
    }
    let expectations = head.headers.get_all(header::EXPECT).iter();
    let mut members = expectations.flat_map(|value| value.as_bytes().split(|byte| *byte == b','));
    match members.all(|member| member.trim_ascii().eq_ignore_ascii_case(b"100-continue")) {
        true => Ok(()),
        false => {
            Err(malformed("the only supported expectation is 100-continue").with_status(StatusCode::EXPECTATION_FAILED))
        }
    }
}

fn malformed(reason: &'static str) -> RequestError {
    RequestError::new(HostError::MalformedRequest, reason).closing()
}

/// Returns true if the value is a valid host. It may be empty (RFC 9110, 7.2), and must not contain user information.
fn is_host(value: &HeaderValue) -> bool {
    let Ok(text) = value.to_str() else { return false };
    text.is_empty() || (!text.contains('@') && text.parse::<Authority>().is_ok())
}
