//! `events`: events that are delivered after the commit, and the list of committed events. New events are only
//! collected here.

use tenon_bindings::tenon::plugin::events::{self as wit, Host};

use super::{CallState, trap};
use crate::commit::draft::{FeedFilter, FeedPage};

impl Host for CallState {
    async fn emit(&mut self, event_type: String, subject: String, payload: String) -> wasmtime::Result<String> {
        self.count(event_type.len() + subject.len() + payload.len())?;
        self.emit((&event_type, &subject), &payload, None)
    }

    async fn list(
        &mut self,
        filter: wit::FeedFilter,
        after: Option<String>,
        limit: u32,
    ) -> wasmtime::Result<Option<wit::Page>> {
        let names = filter.event_types.iter().chain(&filter.subjects);
        let wait_started = self.meter(names.map(|name| name.len() + 8).sum())?;
        let filter = FeedFilter { event_types: filter.event_types, subjects: filter.subjects };
        let page = self.draft().list_events(&filter, after.as_deref(), limit).await.map_err(trap)?;
        self.end_wait(wait_started).await;
        let Some(page) = page else { return Ok(None) };
        let page = wire_page(page, after);
        self.meter_result(page.events.iter().map(|event| event.body.len() + event.subject.len() + 100).sum())?;
        Ok(Some(page))
    }
}

fn wire_page(page: FeedPage, after: Option<String>) -> wit::Page {
    let events = page.events.into_iter().map(|event| wit::EventEntry {
        id: event.id.to_string(),
        event_type: event.event_type.to_string(),
        subject: event.subject.to_string(),
        at: event.at,
        body: event.body.to_string(),
    });
    wit::Page { events: events.collect(), next: page.last_id.map(|id| id.to_string()).or(after), more: page.has_more }
}
