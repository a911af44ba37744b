//! The events of one tenant, in the order of their commits: for streams that go on where they ended, and readers that pull.

use std::sync::Arc;

use futures_util::TryStreamExt;

use super::apply::{EventSeq, StoredEvent};
use super::records::unsigned;
use super::{Database, DbError};
use crate::changes::scope::Scope;

/// What somebody wants to see of it.
#[derive(Clone, Debug, Default)]
pub struct FeedFilter {
    /// Empty: all types.
    pub event_types: Vec<String>,
    /// Empty: all subjects of the tenant.
    pub subjects: Vec<String>,
}

impl FeedFilter {
    pub fn shows(&self, event_type: &str, subject: &str) -> bool {
        let has = |list: &[String], name: &str| list.is_empty() || list.iter().any(|entry| entry == name);
        has(&self.event_types, event_type) && has(&self.subjects, subject)
    }
}

/// Where a page ends at the latest.
#[derive(Clone, Copy, Debug)]
pub struct FeedBounds {
    /// Events in it.
    pub rows: usize,
    /// Events that are looked at, whether they are shown or not.
    pub looked_at: usize,
    /// Their bodies.
    pub bytes: usize,
}

/// What was read, and how far.
#[derive(Debug, Default)]
pub struct FeedPage {
    pub events: Vec<StoredEvent>,
    /// The number of the last one that was looked at; the next page begins after it.
    pub reached: EventSeq,
    /// Its id, where any was.
    pub reached_id: Option<Arc<str>>,
    /// There was more than fits.
    pub more: bool,
}

impl Database {
    /// After an event, the oldest first; test events are none of it. At least one is looked at where there is one.
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
        let (mut page, mut bytes, mut looked_at) =
            (FeedPage { reached: after, ..FeedPage::default() }, 0_usize, 0_usize);
        while let Some((seq, id, event_type, subject, body, at)) =
            self.observe(rows.try_next().await.map_err(DbError::from))?
        {
            bytes = bytes.saturating_add(body.len());
            let is_full = page.events.len() >= bounds.rows || looked_at >= bounds.looked_at;
            if is_full || (bytes > bounds.bytes && looked_at > 0) {
                page.more = true;
                break;
            }
            looked_at += 1;
            let id: Arc<str> = id.into();
            (page.reached, page.reached_id) = (seq, Some(id.clone()));
            if !filter.shows(&event_type, &subject) {
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
                lanes: Vec::new(),
                is_test: false,
                hops: 0,
            });
        }
        drop(rows);
        search.finish();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::testing::{TestFile, batch, change, model, scope};

    const BOUNDS: FeedBounds = FeedBounds { rows: 10, looked_at: 100, bytes: 1_000 };

    /// Events 1 to 30 of acme, each with a subject of its own, and one of somebody else in between.
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
            assert!(page.more || page.reached >= at);
            pages.push(page.events.iter().map(|event| event.id.to_string()).collect());
            at = page.reached;
            if !page.more {
                return pages;
            }
        }
    }

    #[tokio::test]
    async fn pages_hold_every_event_of_the_tenant_once_in_the_order_of_commits() {
        let file = feed().await;
        let all: Vec<String> = (1..=30).map(|n| format!("event_{n}")).collect();
        for bounds in [BOUNDS, FeedBounds { looked_at: 1, ..BOUNDS }, FeedBounds { bytes: 1, ..BOUNDS }] {
            assert_eq!(pages(&file, &FeedFilter::default(), bounds).await.concat(), all, "{bounds:?}");
        }
    }

    #[tokio::test]
    async fn what_is_left_out_is_looked_at_within_bounds_and_gone_past() {
        let file = feed().await;
        let subjects = vec!["thing_29".to_owned(), "thing".to_owned()];
        let filter = FeedFilter { subjects, event_types: vec!["thing.changed".to_owned()] };
        let found = pages(&file, &filter, FeedBounds { looked_at: 8, ..BOUNDS }).await;
        assert_eq!((found.len(), found.concat()), (4, vec!["event_29".to_owned()]));
        let page = file.db.find_feed(&scope("notes", "acme/test"), 0, &filter, BOUNDS).await.unwrap();
        assert_eq!((page.reached_id.as_deref(), page.more), (Some("event_30"), false));
    }
}
