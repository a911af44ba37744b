//! What surrounds the payload of an event in the bytes that leave the host, as the manifest says.
//!
//! Owns the words that stand for a value: "{event-id}", "{event-type}", "{subject}", "{time}", "{time-ms}", "{tenant}",
//! "{organization}", "{environment}", "{payload}". Each is a whole string of the template; anything else is taken as it
//! stands. Members are in the order of their names. The payload goes in byte for byte.

use serde_json::Value;

use crate::clock::Timestamp;

/// A template, ready to be filled. The default: the payload alone.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Envelope {
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq)]
enum Piece {
    Text(String),
    EventId,
    EventType,
    Subject,
    Time,
    TimeMs,
    Tenant,
    Organization,
    Environment,
    Payload,
}

/// The event that is put into it.
pub struct About<'a> {
    pub id: &'a str,
    pub event_type: &'a str,
    pub subject: &'a str,
    /// "acme/test"
    pub tenant: &'a str,
    pub at: Timestamp,
}

impl Envelope {
    /// A sentence for the plugin's author where the template does not hold the payload exactly once, or has a word in
    /// braces that stands for nothing.
    pub fn compile(template: &Value) -> Result<Envelope, String> {
        let mut envelope = Envelope::default();
        envelope.add(template)?;
        let payloads = envelope.pieces.iter().filter(|piece| **piece == Piece::Payload).count();
        if payloads != 1 {
            return Err(format!("an envelope holds \"{{payload}}\" exactly once, this one {payloads} times"));
        }
        Ok(envelope)
    }

    fn add(&mut self, value: &Value) -> Result<(), String> {
        match value {
            Value::Object(members) => {
                self.text("{");
                for (place, (name, member)) in members.iter().enumerate() {
                    let comma = if place > 0 { "," } else { "" };
                    self.text(&format!("{comma}{}:", Value::from(name.as_str())));
                    self.add(member)?;
                }
                self.text("}");
            }
            Value::Array(entries) => {
                self.text("[");
                for (place, entry) in entries.iter().enumerate() {
                    self.text(if place > 0 { "," } else { "" });
                    self.add(entry)?;
                }
                self.text("]");
            }
            Value::String(word) if word.starts_with('{') && word.ends_with('}') => self.pieces.push(piece(word)?),
            other => self.text(&other.to_string()),
        }
        Ok(())
    }

    fn text(&mut self, more: &str) {
        match self.pieces.last_mut() {
            Some(Piece::Text(text)) => text.push_str(more),
            _ => self.pieces.push(Piece::Text(more.to_owned())),
        }
    }

    /// `payload` is one JSON text; so is what comes back.
    pub fn surround(&self, about: &About<'_>, payload: &str) -> String {
        if self.pieces.is_empty() {
            return payload.to_owned();
        }
        let mut out = String::with_capacity(payload.len() + 256);
        for piece in &self.pieces {
            let (organization, environment) = about.tenant.rsplit_once('/').unwrap_or((about.tenant, ""));
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Payload => out.push_str(payload),
                Piece::TimeMs => out.push_str(&about.at.to_string()),
                Piece::EventId => quote(&mut out, about.id),
                Piece::EventType => quote(&mut out, about.event_type),
                Piece::Subject => quote(&mut out, about.subject),
                Piece::Time => quote(&mut out, &rfc3339(about.at)),
                Piece::Tenant => quote(&mut out, about.tenant),
                Piece::Organization => quote(&mut out, organization),
                Piece::Environment => quote(&mut out, environment),
            }
        }
        out
    }
}

fn piece(word: &str) -> Result<Piece, String> {
    Ok(match word {
        "{event-id}" => Piece::EventId,
        "{event-type}" => Piece::EventType,
        "{subject}" => Piece::Subject,
        "{time}" => Piece::Time,
        "{time-ms}" => Piece::TimeMs,
        "{tenant}" => Piece::Tenant,
        "{organization}" => Piece::Organization,
        "{environment}" => Piece::Environment,
        "{payload}" => Piece::Payload,
        _ => return Err(format!("an envelope knows no {word:.40}")),
    })
}

/// Adds a string of JSON. Most texts need no escapes.
fn quote(out: &mut String, text: &str) {
    if text.bytes().all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\') {
        ["\"", text, "\""].into_iter().for_each(|part| out.push_str(part));
    } else {
        out.push_str(&Value::from(text).to_string());
    }
}

/// "2026-05-07T08:30:00.000Z"
fn rfc3339(at: Timestamp) -> String {
    let at = i64::try_from(at).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    at.map(|at| format!("{at:.3}")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const ABOUT: About<'_> = About {
        id: "event_1",
        event_type: "note.made",
        subject: "note_\"1\"",
        tenant: "acme/test",
        at: 1_778_142_600_000,
    };

    #[test]
    fn an_envelope_puts_its_words_around_the_very_bytes_of_the_payload() {
        let template = json!({"id": "{event-id}", "about": ["{subject}", "{environment}"], "v": 1, "at": "{time}", "data": "{payload}"});
        let body = Envelope::compile(&template).unwrap().surround(&ABOUT, r#"{ "a": 1.0e2 }"#);
        assert_eq!(
            body,
            r#"{"about":["note_\"1\"","test"],"at":"2026-05-07T08:30:00.000Z","data":{ "a": 1.0e2 },"id":"event_1","v":1}"#
        );
    }

    #[test]
    fn without_an_envelope_the_payload_goes_out_as_it_is() {
        assert_eq!(Envelope::default().surround(&ABOUT, " [1] "), " [1] ");
    }

    #[test]
    fn an_envelope_without_its_payload_or_with_an_unknown_word_is_refused() {
        assert!(Envelope::compile(&json!({"id": "{event-id}"})).unwrap_err().contains("0 times"));
        assert!(Envelope::compile(&json!(["{payload}", "{payload}"])).unwrap_err().contains("2 times"));
        assert!(Envelope::compile(&json!({"x": "{nonsense}", "d": "{payload}"})).unwrap_err().contains("nonsense"));
    }
}
