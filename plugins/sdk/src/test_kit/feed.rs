//! Event feed of a tenant in memory. Bodies are payloads without an envelope.

use super::memory::EmittedEvent;
use crate::host::{EventEntry, FeedFilter, FeedPage};

const PAGE_MAX: u32 = 100;

/// Returns the events of the tenant after `after` that pass the filter, or `None` if `after` is not an event of the
/// tenant.
pub fn list(
    events: &[EmittedEvent],
    tenant: &str,
    filter: &FeedFilter,
    after: Option<&str>,
    limit: u32,
) -> Option<FeedPage> {
    let own: Vec<&EmittedEvent> = events.iter().filter(|event| event.tenant == tenant).collect();
    let begin = match after {
        None => 0,
        Some(id) => own.iter().position(|event| event.id == id)? + 1,
    };
    let selects = |list: &[String], name: &str| list.is_empty() || list.iter().any(|entry| entry == name);
    let limit = limit.clamp(1, PAGE_MAX) as usize;
    let mut page = FeedPage { events: Vec::new(), next: after.map(str::to_owned), more: false };
    for event in own.into_iter().skip(begin) {
        if page.events.len() == limit {
            page.more = true;
            break;
        }
        page.next = Some(event.id.clone());
        if selects(&filter.event_types, &event.event_type) && selects(&filter.subjects, &event.subject) {
            page.events.push(entry(event));
        }
    }
    Some(page)
}

fn entry(event: &EmittedEvent) -> EventEntry {
    EventEntry {
        id: event.id.clone(),
        event_type: event.event_type.clone(),
        subject: event.subject.clone(),
        at: event.at,
        body: event.payload.to_string(),
    }
}
