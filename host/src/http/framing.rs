//! Checks that RFC 9112 requires of the head of any request: one Host, and no transfer coding but chunked. It also refuses
//! an expectation that the host does not meet (RFC 9110, 10.1.1).
//!
//! Never looks at what a request is about. What passes here means one and the same to every proxy on its way.

use http::{HeaderValue, StatusCode, Version, header, request, uri::Authority};

use super::refused::Refused;
use crate::failure::Failure;

/// # Errors
/// 400 for a Host that is missing, twice there, or no host; 501 for a transfer coding; 417 for an expectation. The connection
/// ends with each.
pub(super) fn check_framing(head: &request::Parts) -> Result<(), Refused> {
    let mut hosts = head.headers.get_all(header::HOST).iter();
    match (hosts.next(), hosts.next()) {
        // HTTP/2 has `:authority`, HTTP/1.0 knew no hosts.
        (None, _) if head.version != Version::HTTP_11 => {}
        (Some(host), None) if is_host(host) => {}
        _ => return Err(malformed("there is not exactly one sound Host header")),
    }
    let mut codings = head.headers.get_all(header::TRANSFER_ENCODING).iter();
    match (codings.next(), codings.next()) {
        (None, _) => {}
        (Some(coding), None) if coding.as_bytes().trim_ascii().eq_ignore_ascii_case(b"chunked") => {}
        _ => return Err(malformed("a transfer coding that is not chunked").with_status(StatusCode::NOT_IMPLEMENTED)),
    }
    let expectations = head.headers.get_all(header::EXPECT).iter();
    let mut members = expectations.flat_map(|value| value.as_bytes().split(|byte| *byte == b','));
    match members.all(|member| member.trim_ascii().eq_ignore_ascii_case(b"100-continue")) {
        true => Ok(()),
        false => Err(malformed("an expectation that is not 100-continue").with_status(StatusCode::EXPECTATION_FAILED)),
    }
}

fn malformed(why: &'static str) -> Refused {
    Refused::new(Failure::MalformedRequest, why).closing()
}

/// Empty is a host, too (RFC 9110, 7.2); user information is none.
fn is_host(value: &HeaderValue) -> bool {
    let Ok(text) = value.to_str() else { return false };
    text.is_empty() || (!text.contains('@') && text.parse::<Authority>().is_ok())
}
