//! Server-sent events: the bytes of one event, of a heartbeat, of a word of the host.

use std::borrow::Borrow;

use bytes::Bytes;

use crate::{db::apply::StoredEvent, limits::STREAM_RETRY_MS};

/// First of all: how long a browser waits before it connects again.
pub fn hello() -> Bytes {
    Bytes::from(format!("retry: {STREAM_RETRY_MS}\n\n"))
}

/// Several as one chunk.
pub fn events(events: &[impl Borrow<StoredEvent>]) -> Bytes {
    let mut text = String::with_capacity(size_of_all(events));
    events.iter().for_each(|event| write(event.borrow(), &mut text));
    Bytes::from(text)
}

/// The bytes of `event`.
pub fn size(event: &StoredEvent) -> usize {
    let lines: usize = event.body.lines().map(|line| "\ndata: ".len() + line.len()).sum();
    "id: \nevent: \n\n".len() + event.id.len() + event.event_type.len() + lines
}

/// The bytes of `events`.
pub fn size_of_all(events: &[impl Borrow<StoredEvent>]) -> usize {
    events.iter().map(|event| size(event.borrow())).sum()
}

/// Type and id are of letters, digits and few signs; the body is one JSON text, whose line breaks begin new data lines.
fn write(event: &StoredEvent, text: &mut String) {
    text.push_str("id: ");
    text.push_str(&event.id);
    text.push_str("\nevent: ");
    text.push_str(&event.event_type);
    for line in event.body.lines() {
        text.push_str("\ndata: ");
        text.push_str(line);
    }
    text.push_str("\n\n");
}

pub fn heartbeat() -> Bytes {
    Bytes::from_static(b":\n\n")
}

/// The event that a reader wants to go on from is not known any more: it begins with what comes now.
pub fn reset() -> Bytes {
    Bytes::from_static(b"event: tenon.reset\ndata: {\"reason\":\"the last event is not kept any more\"}\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::changes::scope::Scope;

    #[test]
    fn a_body_of_several_lines_stays_one_event() {
        let stored = StoredEvent {
            seq: 1,
            id: "event_1".into(),
            scope: Scope::new("notes".into(), "acme/test".into()).unwrap(),
            event_type: "note.made".into(),
            subject: "note_1".into(),
            body: "{\n\"a\": 1\r\n}".into(),
            at: 0,
            lanes: Vec::new(),
            is_test: false,
            hops: 0,
        };
        let chunk = events(&[&stored]);
        assert_eq!(chunk.len(), size(&stored));
        assert_eq!(chunk, "id: event_1\nevent: note.made\ndata: {\ndata: \"a\": 1\ndata: }\n\n");
    }
}
