//! The envelope around the payload of an event: a JSON template from the manifest.
//!
//! Owns the placeholders "{event-id}", "{event-type}", "{subject}", "{time}", "{time-ms}", "{tenant}",
//! "{organization}", "{environment}", and "{payload}". A placeholder is a whole string of the template. Any other value
//! is copied unchanged. Members are in the order of their names. The payload is inserted byte for byte.

use serde_json::Value;

use crate::clock::Timestamp;

/// A compiled template. The default consists of the payload alone.
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

/// Values of one event for the placeholders, other than the payload.
pub struct EventFields<'a> {
    pub id: &'a str,
    pub event_type: &'a str,
    pub subject: &'a str,
    /// "acme/test"
    pub tenant: &'a str,
    pub at: Timestamp,
}

impl Envelope {
    /// Compiles a template.
    ///
    /// # Errors
    /// A sentence for the plugin's author if the template does not contain the payload exactly once, or contains an
    /// unknown placeholder.
    pub fn compile(template: &Value) -> Result<Envelope, String> {
        let mut envelope = Envelope::default();
        envelope.add(template)?;
        let payloads = envelope.pieces.iter().filter(|piece| **piece == Piece::Payload).count();
        if payloads != 1 {
            return Err(format!(
                "an envelope must contain \"{{payload}}\" exactly once, but it occurs {payloads} times"
            ));
        }
        Ok(envelope)
    }

    fn add(&mut self, value: &Value) -> Result<(), String> {
        match value {
            Value::Object(members) => {
                self.text("{");
                for (position, (name, member)) in members.iter().enumerate() {
                    let comma = if position > 0 { "," } else { "" };
                    self.text(&format!("{comma}{}:", Value::from(name.as_str())));
                    self.add(member)?;
                }
                self.text("}");
            }
            Value::Array(entries) => {
                self.text("[");
                for (position, entry) in entries.iter().enumerate() {
                    self.text(if position > 0 { "," } else { "" });
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

    /// Returns the JSON text of the event in its envelope. `payload` must be one JSON text.
    pub fn render(&self, event: &EventFields<'_>, payload: &str) -> String {
        if self.pieces.is_empty() {
            return payload.to_owned();
        }
        let mut out = String::with_capacity(payload.len() + 256);
        for piece in &self.pieces {
            let (organization, environment) = event.tenant.rsplit_once('/').unwrap_or((event.tenant, ""));
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Payload => out.push_str(payload),
                Piece::TimeMs => out.push_str(&event.at.to_string()),
                Piece::EventId => quote(&mut out, event.id),
                Piece::EventType => quote(&mut out, event.event_type),
                Piece::Subject => quote(&mut out, event.subject),
                Piece::Time => quote(&mut out, &rfc3339(event.at)),
                Piece::Tenant => quote(&mut out, event.tenant),
                Piece::Organization => quote(&mut out, organization),
                Piece::Environment => quote(&mut out, environment),
            }
        }
        out
    }
}

fn piece(placeholder: &str) -> Result<Piece, String> {
    Ok(match placeholder {
        "{event-id}" => Piece::EventId,
        "{event-type}" => Piece::EventType,
        "{subject}" => Piece::Subject,
        "{time}" => Piece::Time,
        "{time-ms}" => Piece::TimeMs,
        "{tenant}" => Piece::Tenant,
        "{organization}" => Piece::Organization,
        "{environment}" => Piece::Environment,
        "{payload}" => Piece::Payload,
        _ => return Err(format!("unknown placeholder {placeholder:.40} in an envelope")),
    })
}

/// Appends a JSON string. Most strings need no escapes.
fn quote(out: &mut String, text: &str) {
    if text.bytes().all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\') {
        ["\"", text, "\""].into_iter().for_each(|part| out.push_str(part));
    } else {
        out.push_str(&Value::from(text).to_string());
    }
}

/// Formats a time, such as "2026-05-07T08:30:00.000Z".
fn rfc3339(at: Timestamp) -> String {
    let at = i64::try_from(at).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    at.map(|at| format!("{at:.3}")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const FIELDS: EventFields<'_> = EventFields {
        id: "event_1",
        event_type: "note.made",
        subject: "note_\"1\"",
        tenant: "acme/test",
        at: 1_778_142_600_000,
    };

    #[test]
    fn envelope_contains_the_exact_bytes_of_the_payload() {
        let template = json!({"id": "{event-id}", "about": ["{subject}", "{environment}"], "v": 1, "at": "{time}", "data": "{payload}"});
        let body = Envelope::compile(&template).unwrap().render(&FIELDS, r#"{ "a": 1.0e2 }"#);
        assert_eq!(
            body,
            r#"{"about":["note_\"1\"","test"],"at":"2026-05-07T08:30:00.000Z","data":{ "a": 1.0e2 },"id":"event_1","v":1}"#
        );
    }

    #[test]
    fn default_envelope_is_the_payload_alone() {
        assert_eq!(Envelope::default().render(&FIELDS, " [1] "), " [1] ");
    }

    #[test]
    fn envelope_without_payload_or_with_unknown_placeholder_is_rejected() {
        assert!(Envelope::compile(&json!({"id": "{event-id}"})).unwrap_err().contains("0 times"));
        assert!(Envelope::compile(&json!(["{payload}", "{payload}"])).unwrap_err().contains("2 times"));
        assert!(Envelope::compile(&json!({"x": "{nonsense}", "d": "{payload}"})).unwrap_err().contains("nonsense"));
    }
}
