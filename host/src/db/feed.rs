//! The events of one tenant, in the order of their commits: for streams that go on where they ended, and readers that pull.

use futures_util::TryStreamExt;

use super::apply::{EventSeq, StoredEvent};
use super::records::unsigned;
use super::{Database, DbError};
use crate::changes::scope::Scope;

/// What was read, and how far.
#[derive(Debug, Default)]
pub struct FeedPage {
    pub events: Vec<StoredEvent>,
    /// The number of the last one that was read; the next page begins after it.
    pub reached: EventSeq,
    /// There was more than fits.
    pub more: bool,
}

impl Database {
    /// After an event, the oldest first; test events are none of it. A page holds one event at least where there is one.
    pub async fn find_feed(
        &self,
        scope: &Scope,
        after: EventSeq,
        rows_max: usize,
        bytes_max: usize,
    ) -> Result<FeedPage, DbError> {
        type Row = (EventSeq, String, String, String, String, i64);
        let readers = self.readers();
        let mut rows = sqlx::query_as::<_, Row>(
            "SELECT seq, id, type, subject, body, at FROM events \
             WHERE plugin = ? AND tenant = ? AND seq > ? AND only IS NULL ORDER BY seq",
        )
        .bind(scope.plugin().clone())
        .bind(scope.tenant().clone())
        .bind(after)
        .fetch(&*readers);
        let (mut page, mut bytes) = (FeedPage { reached: after, ..FeedPage::default() }, 0_usize);
        while let Some((seq, id, event_type, subject, body, at)) = rows.try_next().await? {
            bytes = bytes.saturating_add(body.len());
            if page.events.len() >= rows_max || (bytes > bytes_max && !page.events.is_empty()) {
                page.more = true;
                break;
            }
            page.reached = seq;
            page.events.push(StoredEvent {
                seq,
                id: id.into(),
                scope: scope.clone(),
                event_type: event_type.into(),
                subject: subject.into(),
                body: body.into(),
                at: unsigned(at)?,
                lanes: Vec::new(),
                is_test: false,
            });
        }
        Ok(page)
    }

    /// The number of the newest event of all tenants; 0 where there never was one.
    pub async fn newest_event(&self) -> Result<EventSeq, DbError> {
        let seq: Option<EventSeq> = sqlx::query_scalar("SELECT seq FROM sqlite_sequence WHERE name = 'events'")
            .fetch_optional(&*self.readers())
            .await?;
        Ok(seq.unwrap_or(0))
    }
}
