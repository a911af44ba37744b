//! Lists lines of the journals, newest first, page by page.

use futures_util::TryStreamExt;
use sqlx::{AssertSqlSafe, Row};

use super::{JournalSchema, StoredLine};
use crate::clock::Timestamp;
use crate::db::{Database, DbError};

/// Selects lines. `None` matches all values.
#[derive(Clone, Debug, Default)]
pub struct LineFilter {
    pub plugin: Option<String>,
    pub tenant: Option<String>,
    pub operation: Option<String>,
    pub subject: Option<String>,
    pub request_id: Option<String>,
    /// Earliest time, inclusive.
    pub since: Option<Timestamp>,
    /// Latest time, exclusive.
    pub until: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug)]
pub struct LineBounds {
    pub lines: usize,
    /// Maximum number of lines that are read, matching or not.
    pub examined: usize,
    pub bytes: usize,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinePage {
    pub lines: Vec<StoredLine>,
    /// `before` of the next page. An empty page may have one.
    pub next: Option<i64>,
}

impl LineFilter {
    fn matches(&self, stored: &StoredLine) -> bool {
        let is = |expected: &Option<String>, found: &str| expected.as_deref().is_none_or(|expected| expected == found);
        is(&self.plugin, &stored.plugin)
            && is(&self.tenant, &stored.tenant)
            && is(&self.operation, &stored.line.operation)
            && is(&self.subject, &stored.line.subject)
            && is(&self.request_id, &stored.line.request_id)
            && self.since.is_none_or(|since| stored.at >= since)
            && self.until.is_none_or(|until| stored.at < until)
    }

    /// Returns plugin and tenant if the filter selects a single chain. The lines of a chain are indexed.
    fn chain(&self) -> Option<(&str, &str)> {
        self.plugin.as_deref().zip(self.tenant.as_deref())
    }
}

impl Database {
    /// Returns a page of lines. `before` is `next` of the previous page with the same filter.
    ///
    /// If the filter has plugin and tenant, `before` is the number of a line. Otherwise, it is a rowid.
    pub async fn list_lines(
        &self,
        filter: &LineFilter,
        before: Option<i64>,
        bounds: LineBounds,
    ) -> Result<LinePage, DbError> {
        let mut search = self.begin_operator_search().await?;
        let connection = search.connection()?;
        let columns = JournalSchema::of(connection).await?.columns();
        let sql = match filter.chain() {
            Some(_) => format!(
                "SELECT seq AS position, {columns} FROM journal WHERE seq < ? AND plugin = ? AND tenant = ? ORDER BY seq DESC"
            ),
            None => {
                format!("SELECT rowid AS position, {columns} FROM journal WHERE rowid < ? ORDER BY rowid DESC")
            }
        };
        let mut query = sqlx::query(AssertSqlSafe(sql)).bind(before.unwrap_or(i64::MAX));
        if let Some((plugin, tenant)) = filter.chain() {
            query = query.bind(plugin).bind(tenant);
        }
        let mut rows = query.fetch(connection);
        let (mut page, mut examined, mut bytes, mut reached) = (LinePage::default(), 0, 0, None);
        while let Some(row) = rows.try_next().await? {
            let broken = || DbError::Corrupt("a line of the journal cannot be read: see `tenon audit verify`".into());
            let stored = StoredLine::read(&row).ok_or_else(broken)?;
            bytes += stored.bytes();
            let is_full = page.lines.len() >= bounds.lines || examined >= bounds.examined;
            if is_full || (bytes > bounds.bytes && examined > 0) {
                page.next = reached;
                break;
            }
            examined += 1;
            reached = Some(row.try_get("position")?);
            if filter.matches(&stored) {
                page.lines.push(stored);
            }
        }
        drop(rows);
        search.finish();
        Ok(page)
    }
}
