//! A received request: its content, the check of its signature, and its text output.
//!
//! Invariant: the output contains no control characters except line feeds, and no bidirectional controls.

use http::{HeaderMap, StatusCode, request::Parts};
use serde::Serialize;
use serde_json::{Value, value::RawValue};

use crate::{
    admin::wire::TimestampText,
    cli::output,
    clock::Timestamp,
    delivery::signing::{SigningSecret, WEBHOOK_ID, verify},
};

/// Members in which interfaces name the event type. The first that is present and a string is printed.
const TYPE_NAMES: [&str; 4] = ["type", "event", "event_type", "eventType"];

/// Format and extent of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// A line, followed by the body.
    Whole,
    Head,
    /// A line of JSON that contains the body.
    Json,
    JsonHead,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SignatureCheck {
    /// No secret is configured, or the body is incomplete.
    Unchecked,
    Valid,
    /// The reason.
    Invalid(String),
}

#[derive(Debug)]
pub struct ReceivedRequest<'a> {
    pub signature: SignatureCheck,
    at: TimestampText,
    method: &'a str,
    path: &'a str,
    id: Option<String>,
    event_type: Option<String>,
    body: &'a [u8],
    json: Option<Value>,
    /// Status of the response if the body was not received completely.
    incomplete: Option<StatusCode>,
}

/// A line of the output of `--json`.
#[derive(Serialize)]
struct Line<'a> {
    at: TimestampText,
    method: &'a str,
    path: &'a str,
    id: Option<&'a str>,
    #[serde(rename = "type")]
    event_type: Option<&'a str>,
    bytes: usize,
    /// "good", "wrong" or "unchecked".
    signature: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answered: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<Box<RawValue>>,
}

impl<'a> ReceivedRequest<'a> {
    pub fn new(head: &'a Parts, body: &'a [u8], secrets: &[SigningSecret], now: Timestamp) -> ReceivedRequest<'a> {
        let json: Option<Value> = serde_json::from_slice(body).ok();
        let event_type = TYPE_NAMES.iter().find_map(|name| json.as_ref()?.get(name)?.as_str().map(str::to_owned));
        ReceivedRequest {
            signature: check_signature(&head.headers, body, secrets, now),
            at: TimestampText(now),
            method: head.method.as_str(),
            path: head.uri.path(),
            id: head.headers.get(WEBHOOK_ID).map(|id| String::from_utf8_lossy(id.as_bytes()).into_owned()),
            event_type,
            body,
            json,
            incomplete: None,
        }
    }

    /// Marks the body as incomplete, because it was too large, it took too long, or the connection broke. The signature
    /// of an incomplete body cannot be checked.
    pub fn set_incomplete(&mut self, status: StatusCode) {
        self.signature = SignatureCheck::Unchecked;
        self.incomplete = Some(status);
    }

    pub fn render(&self, layout: Layout) -> String {
        let text = match layout {
            Layout::Head => self.head(),
            Layout::Whole => format!("{}{}", self.head(), self.pretty_body()),
            Layout::Json | Layout::JsonHead => self.json_line(layout == Layout::Json),
        };
        escaped(&text, layout)
    }

    fn head(&self) -> String {
        let column = |text: &Option<String>| text.as_deref().map_or("-".to_owned(), one_line);
        let signature = match (&self.signature, self.incomplete) {
            (_, Some(status)) => format!("BODY INCOMPLETE, answered {}", status.as_u16()),
            (SignatureCheck::Unchecked, None) => "signature not checked".to_owned(),
            (SignatureCheck::Valid, None) => "signature valid".to_owned(),
            (SignatureCheck::Invalid(reason), None) => format!("SIGNATURE INVALID: {reason}"),
        };
        let (id, event_type, bytes) = (column(&self.id), column(&self.event_type), self.body.len());
        format!("{}  {} {}  {id}  {event_type}  {bytes} bytes  {signature}\n", self.at, self.method, self.path)
    }

    fn pretty_body(&self) -> String {
        let text = self.json.as_ref().and_then(|json| serde_json::to_string_pretty(json).ok());
        let text = text.unwrap_or_else(|| String::from_utf8_lossy(self.body).into_owned());
        if text.is_empty() { text } else { format!("{text}\n\n") }
    }

    fn json_line(&self, with_body: bool) -> String {
        let (signature, reason) = match &self.signature {
            SignatureCheck::Unchecked => ("unchecked", None),
            SignatureCheck::Valid => ("good", None),
            SignatureCheck::Invalid(reason) => ("wrong", Some(reason.as_str())),
        };
        let line = Line {
            at: self.at,
            method: self.method,
            path: self.path,
            id: self.id.as_deref(),
            event_type: self.event_type.as_deref(),
            bytes: self.body.len(),
            signature,
            reason,
            answered: self.incomplete.map(|status| status.as_u16()),
            body: with_body.then(|| self.body_as_json()).flatten(),
        };
        serde_json::to_string(&line).map_or_else(|error| format!("{error}\n"), |line| format!("{line}\n"))
    }

    /// Returns the body as JSON. A body that is not JSON becomes a string.
    fn body_as_json(&self) -> Option<Box<RawValue>> {
        let text = match &self.json {
            Some(json) => serde_json::to_string(json),
            None => serde_json::to_string(&String::from_utf8_lossy(self.body)),
        };
        text.ok().and_then(|text| RawValue::from_string(text).ok())
    }
}

fn check_signature(headers: &HeaderMap, body: &[u8], secrets: &[SigningSecret], now: Timestamp) -> SignatureCheck {
    if secrets.is_empty() {
        return SignatureCheck::Unchecked;
    }
    match verify(headers, body, secrets, now / 1_000) {
        Ok(()) => SignatureCheck::Valid,
        Err(mismatch) => SignatureCheck::Invalid(mismatch.to_string()),
    }
}

/// Escapes line feeds in received text that is printed within a line.
fn one_line(text: &str) -> String {
    text.replace('\n', "\\n")
}

/// Escapes all invisible characters except line feeds. In JSON they occur only in strings.
fn escaped(text: &str, layout: Layout) -> String {
    let is_json = matches!(layout, Layout::Json | Layout::JsonHead);
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => out.push(c),
            c if output::is_visible(c) => out.push(c),
            c if is_json => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.extend(c.escape_unicode()),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delivery::signing::{Message, sign};

    const NOW: Timestamp = 1_767_322_986_070;

    fn secret(byte: u8) -> SigningSecret {
        SigningSecret::from_bytes(&[byte; 32]).unwrap()
    }

    fn head(id: &str, body: &[u8], signed_at: u64) -> Parts {
        let (mut head, ()) = http::Request::post("/hook").body(()).unwrap().into_parts();
        head.headers.extend(sign(&Message { id, timestamp: signed_at / 1_000, body }, &[secret(1)]).unwrap());
        head
    }

    fn signature_of(head: &Parts, body: &[u8], secrets: &[SigningSecret]) -> SignatureCheck {
        ReceivedRequest::new(head, body, secrets, NOW).signature
    }

    #[test]
    fn valid_signature_is_reported() {
        let body = br#"{"type":"thing.changed","data":{"n":1}}"#;
        let head = head("event_1", body, NOW);
        let text = ReceivedRequest::new(&head, body, &[secret(2), secret(1)], NOW).render(Layout::Whole);
        let first = "2026-01-02T03:03:06.070Z  POST /hook  event_1  thing.changed  39 bytes  signature valid\n";
        assert_eq!(
            text,
            format!("{first}{{\n  \"data\": {{\n    \"n\": 1\n  }},\n  \"type\": \"thing.changed\"\n}}\n\n")
        );
        assert_eq!(ReceivedRequest::new(&head, body, &[secret(1)], NOW).render(Layout::Head), first);
    }

    #[test]
    fn invalid_signature_is_reported_with_the_reason() {
        let body = br#"{"n":1}"#;
        let signed = head("event_1", body, NOW);
        let mut unsigned = head("event_1", body, NOW);
        unsigned.headers.remove("webhook-signature");
        for (head, body, secrets, expected) in [
            (&signed, &b"{\"n\":2}"[..], vec![secret(1)], "no signature matches this message"),
            (&signed, body, vec![secret(2)], "no signature matches this message"),
            (&head("event_1", body, NOW - 301_000), body, vec![secret(1)], "301 seconds old"),
            (&head("event_1", body, NOW + 302_000), body, vec![secret(1)], "seconds in the future"),
            (&unsigned, body, vec![secret(1)], "webhook-signature is missing"),
        ] {
            let SignatureCheck::Invalid(reason) = signature_of(head, body, &secrets) else {
                panic!("{expected} was not detected")
            };
            assert!(reason.contains(expected), "{reason}");
        }
        assert_eq!(signature_of(&signed, body, &[]), SignatureCheck::Unchecked);
    }

    #[test]
    fn json_output_is_one_parseable_line() {
        let body = b"{\n\"type\":\"a\",\"text\":\"x\xc2\x9by\"}";
        let head = head("event_1", body, NOW);
        let text = ReceivedRequest::new(&head, body, &[secret(2)], NOW).render(Layout::Json);
        assert_eq!(text.matches('\n').count(), 1, "{text}");
        let line: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&line["signature"], &line["id"], &line["type"]), (&"wrong".into(), &"event_1".into(), &"a".into()));
        assert_eq!(line["body"]["text"], "x\u{9b}y");
        assert!(
            ReceivedRequest::new(&head, body, &[], NOW)
                .render(Layout::JsonHead)
                .contains("\"signature\":\"unchecked\"}")
        );
    }

    proptest::proptest! {
        #[test]
        fn received_text_cannot_control_the_terminal(body: Vec<u8>, id in "[ -~]{0,20}", path in "/[!-;=@-~]{0,20}") {
            let Ok(request) = http::Request::post(path.as_str()).header("webhook-id", id.as_str()).body(()) else {
                return Ok(());
            };
            let (head, ()) = request.into_parts();
            for layout in [Layout::Whole, Layout::Head, Layout::Json, Layout::JsonHead] {
                let text = ReceivedRequest::new(&head, &body, &[secret(1)], NOW).render(layout);
                proptest::prop_assert!(text.chars().all(|c| c == '\n' || output::is_visible(c)), "{text:?}");
            }
        }
    }

    #[test]
    fn body_that_is_not_json_is_printed_with_escaped_control_characters() {
        let body = b"\x1b[2J\xffhello\xe2\x80\xae\r";
        let head = head("event_1", body, NOW);
        let text = ReceivedRequest::new(&head, body, &[], NOW).render(Layout::Whole);
        assert!(text.ends_with("\\u{1b}[2J\u{fffd}hello\\u{202e}\\u{d}\n\n"), "{text}");
    }
}
