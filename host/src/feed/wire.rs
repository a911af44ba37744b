//! Server-sent events: the bytes of an event, of a heartbeat, and of the host's own messages.

use std::borrow::Borrow;

use bytes::Bytes;

use crate::{db::apply::StoredEvent, limits::STREAM_RETRY_MS};

/// Returns the first chunk of a stream, which sets the time after which a browser reconnects.
pub fn preamble() -> Bytes {
    Bytes::from(format!("retry: {STREAM_RETRY_MS}\n\n"))
}

/// Returns several events as one chunk.
pub fn events(events: &[impl Borrow<StoredEvent>]) -> Bytes {
    let mut text = String::with_capacity(size_of_all(events));
    events.iter().for_each(|event| write(event.borrow(), &mut text));
    Bytes::from(text)
}

/// Returns the size of `event` in bytes.
pub fn size(event: &StoredEvent) -> usize {
    let lines: usize = event.body.lines().map(|line| "\ndata: ".len() + line.len()).sum();
    "id: \nevent: \n\n".len() + event.id.len() + event.event_type.len() + lines
}

/// Returns the size of `events` in bytes.
pub fn size_of_all(events: &[impl Borrow<StoredEvent>]) -> usize {
    events.iter().map(|event| size(event.borrow())).sum()
}

/// Writes an event. Type and id contain only letters, digits and a few symbols. The body is JSON. Each of its lines
/// becomes a `data` line.
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

/// Returns the message for a reader whose last event is no longer stored. The stream continues with new events.
pub fn reset() -> Bytes {
    Bytes::from_static(b"event: tenon.reset\ndata: {\"reason\":\"the last event is not kept any more\"}\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::changes::scope::Scope;

    #[test]
    fn body_of_several_lines_is_one_event() {
        let stored = StoredEvent {
            seq: 1,
            id: "event_1".into(),
            scope: Scope::new("notes".into(), "acme/test".into()).unwrap(),
            event_type: "note.made".into(),
            subject: "note_1".into(),
            body: "{\n\"a\": 1\r\n}".into(),
            at: 0,
            queues: Vec::new(),
            is_test: false,
            hops: 0,
        };
        let chunk = events(&[&stored]);
        assert_eq!(chunk.len(), size(&stored));
        assert_eq!(chunk, "id: event_1\nevent: note.made\ndata: {\ndata: \"a\": 1\ndata: }\n\n");
    }
}
