//! One request that arrived: what it is, whether its signature is good, and how that is printed.
//!
//! Invariant: what comes out holds no control character but line feeds of our own, nor one that turns the direction of text.

use http::{HeaderMap, StatusCode, request::Parts};
use serde::Serialize;
use serde_json::{Value, value::RawValue};

use crate::clock::Timestamp;
use crate::{
    admin::wire::Moment,
    cli::show,
    delivery::signing::{SigningSecret, WEBHOOK_ID, verify},
};

/// Members in which interfaces say what kind of event it is; the first that is there and a text.
const TYPE_NAMES: [&str; 4] = ["type", "event", "event_type", "eventType"];

/// How much of it is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// A line, and the body below it.
    Whole,
    Head,
    /// A line of JSON with the body in it.
    Json,
    JsonHead,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// There is no secret to check with.
    Unchecked,
    Good,
    /// Which check failed.
    Wrong(String),
}

#[derive(Debug)]
pub struct Arrival<'a> {
    pub verdict: Verdict,
    at: Moment,
    method: &'a str,
    path: &'a str,
    id: Option<String>,
    event_type: Option<String>,
    body: &'a [u8],
    json: Option<Value>,
    /// Why there is no body, where it was not read to its end.
    unread: Option<StatusCode>,
}

/// A line of `--json`.
#[derive(Serialize)]
struct Line<'a> {
    at: Moment,
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

impl<'a> Arrival<'a> {
    pub fn new(head: &'a Parts, body: &'a [u8], secrets: &[SigningSecret], now: Timestamp) -> Arrival<'a> {
        let json: Option<Value> = serde_json::from_slice(body).ok();
        let event_type = TYPE_NAMES.iter().find_map(|name| json.as_ref()?.get(name)?.as_str().map(str::to_owned));
        Arrival {
            verdict: judge(&head.headers, body, secrets, now),
            at: Moment(now),
            method: head.method.as_str(),
            path: head.uri.path(),
            id: head.headers.get(WEBHOOK_ID).map(|id| String::from_utf8_lossy(id.as_bytes()).into_owned()),
            event_type,
            body,
            json,
            unread: None,
        }
    }

    /// The body was too large or broke off: nothing can be said about its signature.
    pub fn unread(&mut self, status: StatusCode) {
        self.verdict = Verdict::Unchecked;
        self.unread = Some(status);
    }

    pub fn words(&self, layout: Layout) -> String {
        let text = match layout {
            Layout::Head => self.head(),
            Layout::Whole => format!("{}{}", self.head(), self.pretty()),
            Layout::Json | Layout::JsonHead => self.line(layout == Layout::Json),
        };
        escaped(&text, layout)
    }

    fn head(&self) -> String {
        let of = |text: &Option<String>| text.as_deref().map_or("-".to_owned(), one_line);
        let verdict = match (&self.verdict, self.unread) {
            (_, Some(status)) => format!("BODY NOT READ, answered {}", status.as_u16()),
            (Verdict::Unchecked, None) => "signature not checked".to_owned(),
            (Verdict::Good, None) => "signature good".to_owned(),
            (Verdict::Wrong(reason), None) => format!("SIGNATURE WRONG: {reason}"),
        };
        let (id, event_type, bytes) = (of(&self.id), of(&self.event_type), self.body.len());
        format!("{}  {} {}  {id}  {event_type}  {bytes} bytes  {verdict}\n", self.at, self.method, self.path)
    }

    fn pretty(&self) -> String {
        let text = self.json.as_ref().and_then(|json| serde_json::to_string_pretty(json).ok());
        let text = text.unwrap_or_else(|| String::from_utf8_lossy(self.body).into_owned());
        if text.is_empty() { text } else { format!("{text}\n\n") }
    }

    fn line(&self, with_body: bool) -> String {
        let (signature, reason) = match &self.verdict {
            Verdict::Unchecked => ("unchecked", None),
            Verdict::Good => ("good", None),
            Verdict::Wrong(reason) => ("wrong", Some(reason.as_str())),
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
            answered: self.unread.map(|status| status.as_u16()),
            body: with_body.then(|| self.body_as_json()).flatten(),
        };
        serde_json::to_string(&line).map_or_else(|error| format!("{error}\n"), |line| format!("{line}\n"))
    }

    /// What is no JSON becomes a text.
    fn body_as_json(&self) -> Option<Box<RawValue>> {
        let text = match &self.json {
            Some(json) => serde_json::to_string(json),
            None => serde_json::to_string(&String::from_utf8_lossy(self.body)),
        };
        text.ok().and_then(|text| RawValue::from_string(text).ok())
    }
}

fn judge(headers: &HeaderMap, body: &[u8], secrets: &[SigningSecret], now: Timestamp) -> Verdict {
    if secrets.is_empty() {
        return Verdict::Unchecked;
    }
    match verify(headers, body, secrets, now / 1_000) {
        Ok(()) => Verdict::Good,
        Err(mismatch) => Verdict::Wrong(mismatch.to_string()),
    }
}

/// A text of others in the middle of a line.
fn one_line(text: &str) -> String {
    text.replace('\n', "\\n")
}

/// Control characters, and those that turn the direction of text, as their numbers. In JSON they can only stand in texts.
fn escaped(text: &str, layout: Layout) -> String {
    let is_json = matches!(layout, Layout::Json | Layout::JsonHead);
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => out.push(c),
            c if show::is_visible(c) => out.push(c),
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

    fn verdict(head: &Parts, body: &[u8], secrets: &[SigningSecret]) -> Verdict {
        Arrival::new(head, body, secrets, NOW).verdict
    }

    #[test]
    fn a_good_signature_is_said_to_be_good() {
        let body = br#"{"type":"thing.changed","data":{"n":1}}"#;
        let head = head("event_1", body, NOW);
        let text = Arrival::new(&head, body, &[secret(2), secret(1)], NOW).words(Layout::Whole);
        let first = "2026-01-02T03:03:06.070Z  POST /hook  event_1  thing.changed  39 bytes  signature good\n";
        assert_eq!(
            text,
            format!("{first}{{\n  \"data\": {{\n    \"n\": 1\n  }},\n  \"type\": \"thing.changed\"\n}}\n\n")
        );
        assert_eq!(Arrival::new(&head, body, &[secret(1)], NOW).words(Layout::Head), first);
    }

    #[test]
    fn the_check_that_failed_is_named() {
        let body = br#"{"n":1}"#;
        let good = head("event_1", body, NOW);
        let mut unsigned = head("event_1", body, NOW);
        unsigned.headers.remove("webhook-signature");
        for (head, body, secrets, expected) in [
            (&good, &b"{\"n\":2}"[..], vec![secret(1)], "no signature is that of this message"),
            (&good, body, vec![secret(2)], "no signature is that of this message"),
            (&head("event_1", body, NOW - 301_000), body, vec![secret(1)], "301 seconds ago"),
            (&head("event_1", body, NOW + 302_000), body, vec![secret(1)], "too far ahead"),
            (&unsigned, body, vec![secret(1)], "webhook-signature is missing"),
        ] {
            let Verdict::Wrong(reason) = verdict(head, body, &secrets) else { panic!("{expected} was not noticed") };
            assert!(reason.contains(expected), "{reason}");
        }
        assert_eq!(verdict(&good, body, &[]), Verdict::Unchecked);
    }

    #[test]
    fn a_line_of_json_is_one_line_that_a_program_can_read() {
        let body = b"{\n\"type\":\"a\",\"text\":\"x\xc2\x9by\"}";
        let head = head("event_1", body, NOW);
        let text = Arrival::new(&head, body, &[secret(2)], NOW).words(Layout::Json);
        assert_eq!(text.matches('\n').count(), 1, "{text}");
        let line: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&line["signature"], &line["id"], &line["type"]), (&"wrong".into(), &"event_1".into(), &"a".into()));
        assert_eq!(line["body"]["text"], "x\u{9b}y");
        assert!(Arrival::new(&head, body, &[], NOW).words(Layout::JsonHead).contains("\"signature\":\"unchecked\"}"));
    }

    proptest::proptest! {
        #[test]
        fn nothing_that_arrives_commands_the_terminal(body: Vec<u8>, id in "[ -~]{0,20}", path in "/[!-;=@-~]{0,20}") {
            let Ok(request) = http::Request::post(path.as_str()).header("webhook-id", id.as_str()).body(()) else {
                return Ok(());
            };
            let (head, ()) = request.into_parts();
            for layout in [Layout::Whole, Layout::Head, Layout::Json, Layout::JsonHead] {
                let text = Arrival::new(&head, &body, &[secret(1)], NOW).words(layout);
                proptest::prop_assert!(text.chars().all(|c| c == '\n' || show::is_visible(c)), "{text:?}");
            }
        }
    }

    #[test]
    fn a_body_that_is_no_json_is_shown_without_its_escapes() {
        let body = b"\x1b[2J\xffhello\xe2\x80\xae\r";
        let head = head("event_1", body, NOW);
        let text = Arrival::new(&head, body, &[], NOW).words(Layout::Whole);
        assert!(text.ends_with("\\u{1b}[2J\u{fffd}hello\\u{202e}\\u{d}\n\n"), "{text}");
    }
}
