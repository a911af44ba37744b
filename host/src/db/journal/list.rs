//! Lines of the journal for people, the newest first, page by page.

use futures_util::TryStreamExt;
use sqlx::{AssertSqlSafe, Row};

use super::{Form, StoredLine};
use crate::clock::Timestamp;
use crate::db::{Database, DbError};

/// `None`: whatever it is.
#[derive(Clone, Debug, Default)]
pub struct LineFilter {
    pub plugin: Option<String>,
    pub tenant: Option<String>,
    pub operation: Option<String>,
    pub subject: Option<String>,
    pub request_id: Option<String>,
    /// From then on.
    pub since: Option<Timestamp>,
    /// Before then.
    pub until: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug)]
pub struct LineBounds {
    pub lines: usize,
    /// Lines that may be looked at for them.
    pub looked_at: usize,
    pub bytes: usize,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinePage {
    pub lines: Vec<StoredLine>,
    /// `before` of the next page. There may be one where this one is empty.
    pub next: Option<i64>,
}

impl LineFilter {
    fn shows(&self, stored: &StoredLine) -> bool {
        let is = |wanted: &Option<String>, found: &str| wanted.as_deref().is_none_or(|wanted| wanted == found);
        is(&self.plugin, &stored.plugin)
            && is(&self.tenant, &stored.tenant)
            && is(&self.operation, &stored.line.operation)
            && is(&self.subject, &stored.line.subject)
            && is(&self.request_id, &stored.line.request_id)
            && self.since.is_none_or(|since| stored.at >= since)
            && self.until.is_none_or(|until| stored.at < until)
    }

    /// Plugin and tenant, where it names one chain: its lines are in an index.
    fn chain(&self) -> Option<(&str, &str)> {
        self.plugin.as_deref().zip(self.tenant.as_deref())
    }
}

impl Database {
    /// `before`: `next` of the page before, of the same filter. With plugin and tenant it is the number of a line.
    pub async fn list_lines(
        &self,
        filter: &LineFilter,
        before: Option<i64>,
        bounds: LineBounds,
    ) -> Result<LinePage, DbError> {
        let mut survey = self.begin_survey().await?;
        let connection = survey.connection()?;
        let columns = Form::of(connection).await?.columns();
        let sql = match filter.chain() {
            Some(_) => format!(
                "SELECT seq AS place, {columns} FROM journal WHERE seq < ? AND plugin = ? AND tenant = ? ORDER BY seq DESC"
            ),
            None => {
                format!("SELECT rowid AS place, {columns} FROM journal WHERE rowid < ? ORDER BY rowid DESC")
            }
        };
        let mut query = sqlx::query(AssertSqlSafe(sql)).bind(before.unwrap_or(i64::MAX));
        if let Some((plugin, tenant)) = filter.chain() {
            query = query.bind(plugin).bind(tenant);
        }
        let mut rows = query.fetch(connection);
        let (mut page, mut looked_at, mut bytes, mut reached) = (LinePage::default(), 0, 0, None);
        while let Some(row) = rows.try_next().await? {
            let broken = || DbError::Corrupt("a line of the journal cannot be read: see `tenon audit verify`".into());
            let stored = StoredLine::read(&row).ok_or_else(broken)?;
            bytes += stored.bytes();
            let is_full = page.lines.len() >= bounds.lines || looked_at >= bounds.looked_at;
            if is_full || (bytes > bounds.bytes && looked_at > 0) {
                page.next = reached;
                break;
            }
            looked_at += 1;
            reached = Some(row.try_get("place")?);
            if filter.shows(&stored) {
                page.lines.push(stored);
            }
        }
        drop(rows);
        survey.finish();
        Ok(page)
    }
}
