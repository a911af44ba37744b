//! The journal: a line for every message in and out, with the hash of its body and its trace. The host adds when, who and
//! which request.
//!
//! Invariant: no line holds an account number, a proxy or a name.

use serde::Serialize;
use sha2::{Digest, Sha256};
use tenon_plugin::{Call, Stop, json};

/// Of W3C Trace Context: version, trace, parent and flags, in lower case hex.
const TRACEPARENT_PARTS: [usize; 4] = [2, 32, 16, 2];

#[derive(Serialize)]
struct LineText<'a> {
    direction: &'a str,
    operation: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    uetr: Option<&'a str>,
    /// Of an incoming message: "accepted", "repeated" or the code of the refusal. Of a reply: its status, or why there is none.
    outcome: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    body_sha256: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    traceparent: Option<&'a str>,
}

/// A message that came in, and how it was taken.
pub fn note_incoming(call: &Call, operation: &str, uetr: Option<&str>, outcome: &str) -> Result<(), Stop> {
    note(
        call,
        &LineText {
            direction: "in",
            operation,
            uetr,
            outcome,
            body_sha256: Some(hash(call.bytes())),
            traceparent: traceparent(call),
        },
    )
}

/// A message that goes out.
pub fn note_outgoing(call: &Call, operation: &str, uetr: &str, body: &str, trace: Option<&str>) -> Result<(), Stop> {
    note(
        call,
        &LineText {
            direction: "out",
            operation,
            uetr: Some(uetr),
            outcome: "started",
            body_sha256: Some(hash(body.as_bytes())),
            traceparent: trace,
        },
    )
}

/// What came back for it.
pub fn note_reply(call: &Call, operation: &str, uetr: &str, outcome: &str, body: Option<&str>) -> Result<(), Stop> {
    let body_sha256 = body.map(|body| hash(body.as_bytes()));
    note(call, &LineText { direction: "reply", operation, uetr: Some(uetr), outcome, body_sha256, traceparent: None })
}

fn note(call: &Call, line: &LineText) -> Result<(), Stop> {
    call.journal(&json::to_text(line)?);
    Ok(())
}

/// SHA-256 in lower case hex.
pub fn hash(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from_digit(u32::from(half), 16).unwrap_or('0');
    Sha256::digest(bytes).iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// The header of the request, where it is one.
pub fn traceparent<'a>(call: &Call<'a>) -> Option<&'a str> {
    call.header("traceparent").filter(|text| is_traceparent(text))
}

/// Version "ff" and ids of zeros are none, by the standard.
fn is_traceparent(text: &str) -> bool {
    let is_hex = |part: &str| part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let lengths = text.split('-').map(|part| if is_hex(part) { part.len() } else { 0 });
    let is_zero = |part: &str| part.bytes().all(|byte| byte == b'0');
    lengths.eq(TRACEPARENT_PARTS) && !text.starts_with("ff") && !text.split('-').skip(1).take(2).any(is_zero)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_traceparent_is_passed_on() {
        assert!(is_traceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"));
        for text in [
            "",
            "00-4bf9-00f0-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "a\r\nb",
        ] {
            assert!(!is_traceparent(text), "{text:?}");
        }
    }

    #[test]
    fn a_hash_is_sha_256() {
        assert_eq!(hash(b""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    }
}
