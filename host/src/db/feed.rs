//! The feed: the events of one tenant in the order of their commits, for streams that resume and for clients that poll.

use std::sync::Arc;

use futures_util::TryStreamExt;

use super::apply::{EventSeq, StoredEvent};
use super::records::unsigned;
use super::{Database, DbError};
use crate::changes::scope::Scope;

/// Selects events of a feed.
#[derive(Clone, Debug, Default)]
pub struct FeedFilter {
    /// Event types. Empty selects all.
    pub event_types: Vec<String>,
    /// Subjects. Empty selects all subjects of the tenant.
    pub subjects: Vec<String>,
}

impl FeedFilter {
    pub fn matches(&self, event_type: &str, subject: &str) -> bool {
        let has = |list: &[String], name: &str| list.is_empty() || list.iter().any(|entry| entry == name);
        has(&self.event_types, event_type) && has(&self.subjects, subject)
    }
}

/// The limits of a page.
#[derive(Clone, Copy, Debug)]
pub struct FeedBounds {
    /// Maximum number of events in the page.
    pub rows: usize,
    /// Maximum number of examined events, whether they match the filter or not.
    pub examined: usize,
    /// Maximum total size of the examined bodies.
    pub bytes: usize,
}

/// A page of a feed, and the position after it.
#[derive(Debug, Default)]
pub struct FeedPage {
    pub events: Vec<StoredEvent>,
    /// The number of the last examined event. The next page begins after it.
    pub last_seq: EventSeq,
    /// The id of the last examined event, if any was examined.
    pub last_id: Option<Arc<str>>,
    /// True if the page ended at a limit.
    pub has_more: bool,
}

impl Database {
    /// Returns the events after an event, the oldest first, without test events. Examines at least one event if there
    /// is one. In the returned events, `queues` is empty and `hops` is 0.
    pub async fn find_feed(
        &self,
        scope: &Scope,
        after: EventSeq,
        filter: &FeedFilter,
        bounds: FeedBounds,
    ) -> Result<FeedPage, DbError> {
        type Row = (EventSeq, String, String, String, String, i64);
        let mut search = self.begin_search(scope).await?;
        let mut rows = sqlx::query_as::<_, Row>(
            "SELECT seq, id, type, subject, body, at FROM events \
             WHERE plugin = ? AND tenant = ? AND seq > ? AND only IS NULL ORDER BY seq",
        )
        .bind(scope.plugin().clone())
        .bind(scope.tenant().clone())
        .bind(after)
        .fetch(search.connection()?);
        let (mut page, mut bytes, mut examined) =
            (FeedPage { last_seq: after, ..FeedPage::default() }, 0_usize, 0_usize);
        while let Some((seq, id, event_type, subject, body, at)) =
            self.observe(rows.try_next().await.map_err(DbError::from))?
        {
            bytes = bytes.saturating_add(body.len());
            let is_full = page.events.len() >= bounds.rows || examined >= bounds.examined;
            if is_full || (bytes > bounds.bytes && examined > 0) {
                page.has_more = true;
                break;
            }
            examined += 1;
            let id: Arc<str> = id.into();
            (page.last_seq, page.last_id) = (seq, Some(id.clone()));
            if !filter.matches(&event_type, &subject) {
                continue;
            }
            page.events.push(StoredEvent {
                seq,
                id,
                scope: scope.clone(),
                event_type: event_type.into(),
                subject: subject.into(),
                body: body.into(),
                at: unsigned(at)?,
                queues: Vec::new(),
                is_test: false,
                hops: 0,
            });
        }
        drop(rows);
        search.finish();
        Ok(page)
    }

    /// Returns the number of the newest event of all tenants, or 0 if there never was one.
    pub async fn newest_event(&self) -> Result<EventSeq, DbError> {
        let seq: Option<EventSeq> = sqlx::query_scalar("SELECT seq FROM sqlite_sequence WHERE name = 'events'")
            .fetch_optional(&*self.readers())
            .await?;
        Ok(seq.unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::testing::{TestFile, batch, change, model, scope};

    const BOUNDS: FeedBounds = FeedBounds { rows: 10, examined: 100, bytes: 1_000 };

    /// Creates events 1 to 30 of acme with different subjects, and one event of another tenant in between.
    async fn feed() -> TestFile {
        let model = model(vec![]);
        let file = TestFile::with(&model).await;
        let acme = |n: u64| {
            let event = change(&model, n, "acme/test").event(&format!("event_{n}"));
            event.edit(|changes| changes.events[0].subject = format!("thing_{n}").into())
        };
        let mut changes: Vec<_> = (1..=30).map(acme).collect();
        changes.insert(5, change(&model, 31, "rival/test").event("event_of_rival"));
        file.db.writer().apply(&batch("b1", changes)).await.unwrap();
        file
    }

    async fn pages(file: &TestFile, filter: &FeedFilter, bounds: FeedBounds) -> Vec<Vec<String>> {
        let (scope, mut at, mut pages) = (scope("notes", "acme/test"), 0, Vec::new());
        loop {
            let page = file.db.find_feed(&scope, at, filter, bounds).await.unwrap();
            assert!(page.has_more || page.last_seq >= at);
            pages.push(page.events.iter().map(|event| event.id.to_string()).collect());
            at = page.last_seq;
            if !page.has_more {
                return pages;
            }
        }
    }

    #[tokio::test]
    async fn pages_contain_every_event_of_the_tenant_once_in_the_order_of_commits() {
        let file = feed().await;
        let all: Vec<String> = (1..=30).map(|n| format!("event_{n}")).collect();
        for bounds in [BOUNDS, FeedBounds { examined: 1, ..BOUNDS }, FeedBounds { bytes: 1, ..BOUNDS }] {
            assert_eq!(pages(&file, &FeedFilter::default(), bounds).await.concat(), all, "{bounds:?}");
        }
    }

    #[tokio::test]
    async fn events_that_do_not_match_are_examined_within_the_limits_and_skipped() {
        let file = feed().await;
        let subjects = vec!["thing_29".to_owned(), "thing".to_owned()];
        let filter = FeedFilter { subjects, event_types: vec!["thing.changed".to_owned()] };
        let found = pages(&file, &filter, FeedBounds { examined: 8, ..BOUNDS }).await;
        assert_eq!((found.len(), found.concat()), (4, vec!["event_29".to_owned()]));
        let page = file.db.find_feed(&scope("notes", "acme/test"), 0, &filter, BOUNDS).await.unwrap();
        assert_eq!((page.last_id.as_deref(), page.has_more), (Some("event_30"), false));
    }
}
