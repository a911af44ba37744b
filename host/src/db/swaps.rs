//! Rows of the operators' journal: what was deployed, by whom, and how it ended. What they mean is the plugin room's.

use sqlx::SqliteConnection;

use super::apply::rows::int;
use super::records::unsigned;
use super::{Database, DbError};
use crate::changes::change_set::Timestamp;
use crate::limits::SWAPS_LISTED_MAX;

/// One line. Hashes are those of components, in hex.
#[derive(Clone, Debug, PartialEq)]
pub struct SwapRow {
    pub at: Timestamp,
    pub who: String,
    pub plugin: String,
    pub action: String,
    pub from_hash: Option<String>,
    pub to_hash: Option<String>,
    pub file_hash: Option<String>,
    /// "published", …
    pub outcome: String,
    pub reasons: Vec<String>,
    /// Milliseconds of each step, in order.
    pub steps_ms: Vec<(String, f64)>,
}

impl SwapRow {
    /// A line about something that an operator did and that swapped nothing. `about`: the plugin ("*": the host as a whole)
    /// and what it is called.
    pub fn deed(at: Timestamp, who: &str, about: (&str, &str), what: String) -> SwapRow {
        SwapRow {
            at,
            who: who.to_owned(),
            plugin: about.0.to_owned(),
            action: about.1.to_owned(),
            from_hash: None,
            to_hash: None,
            file_hash: None,
            outcome: "done".to_owned(),
            reasons: vec![what],
            steps_ms: Vec::new(),
        }
    }
}

type Columns = (i64, String, String, String, Option<String>, Option<String>, Option<String>, String, String, String);

impl Database {
    /// Returns when the line is durable.
    pub async fn record_swap(&self, swap: &SwapRow) -> Result<(), DbError> {
        let swap = swap.clone();
        self.write(move |write| Box::pin(async move { insert(write.connection(), &swap).await })).await
    }

    /// Hashes of the components that the journal says are served.
    pub async fn list_served_components(&self) -> Result<Vec<String>, DbError> {
        let sql = "SELECT DISTINCT to_hash FROM swaps WHERE to_hash IS NOT NULL AND seq IN \
                   (SELECT max(seq) FROM swaps WHERE outcome = 'published' GROUP BY plugin)";
        Ok(sqlx::query_scalar(sql).fetch_all(&*self.readers()).await?)
    }

    /// The newest first; of all plugins where none is named. `limit` is cut to `SWAPS_LISTED_MAX`.
    pub async fn list_swaps(&self, plugin: Option<&str>, limit: u32) -> Result<Vec<SwapRow>, DbError> {
        self.find_swaps(plugin, None, limit).await
    }

    /// The lines of a plugin with the outcome "published", the newest first.
    pub async fn find_published_swaps(&self, plugin: &str, limit: u32) -> Result<Vec<SwapRow>, DbError> {
        self.find_swaps(Some(plugin), Some("published"), limit).await
    }

    /// What serves now, unless the line says that the plugin was taken out.
    pub async fn last_published(&self, plugin: &str) -> Result<Option<SwapRow>, DbError> {
        Ok(self.find_published_swaps(plugin, 1).await?.pop())
    }

    async fn find_swaps(
        &self,
        plugin: Option<&str>,
        outcome: Option<&str>,
        limit: u32,
    ) -> Result<Vec<SwapRow>, DbError> {
        let rows: Vec<Columns> = sqlx::query_as(
            "SELECT at, who, plugin, action, from_hash, to_hash, file_hash, outcome, reasons, steps_ms FROM swaps \
             WHERE plugin = coalesce(?1, plugin) AND outcome = coalesce(?2, outcome) ORDER BY seq DESC LIMIT ?3",
        )
        .bind(plugin)
        .bind(outcome)
        .bind(limit.min(SWAPS_LISTED_MAX))
        .fetch_all(&*self.readers())
        .await?;
        rows.into_iter().map(swap_of).collect()
    }
}

/// Inside of the caller's transaction, or in one of its own.
pub(super) async fn insert(connection: &mut SqliteConnection, swap: &SwapRow) -> Result<(), DbError> {
    let json = |value: Result<String, serde_json::Error>| value.map_err(|error| DbError::Corrupt(error.to_string()));
    sqlx::query(
        "INSERT INTO swaps (at, who, plugin, action, from_hash, to_hash, file_hash, outcome, reasons, steps_ms) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(int(swap.at))
    .bind(swap.who.as_str())
    .bind(swap.plugin.as_str())
    .bind(swap.action.as_str())
    .bind(swap.from_hash.as_deref())
    .bind(swap.to_hash.as_deref())
    .bind(swap.file_hash.as_deref())
    .bind(swap.outcome.as_str())
    .bind(json(serde_json::to_string(&swap.reasons))?)
    .bind(json(serde_json::to_string(&swap.steps_ms))?)
    .execute(connection)
    .await?;
    Ok(())
}

fn swap_of(row: Columns) -> Result<SwapRow, DbError> {
    let (at, who, plugin, action, from_hash, to_hash, file_hash, outcome, reasons, steps_ms) = row;
    let corrupt = |error: serde_json::Error| DbError::Corrupt(format!("swaps: {error}"));
    Ok(SwapRow {
        at: unsigned(at)?,
        who,
        plugin,
        action,
        from_hash,
        to_hash,
        file_hash,
        outcome,
        reasons: serde_json::from_str(&reasons).map_err(corrupt)?,
        steps_ms: serde_json::from_str(&steps_ms).map_err(corrupt)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::testing::TestFile;

    fn swap(at: u64, plugin: &str, outcome: &str) -> SwapRow {
        SwapRow {
            at,
            who: "somebody".into(),
            plugin: plugin.into(),
            action: "deploy".into(),
            from_hash: None,
            to_hash: Some("ab".into()),
            file_hash: None,
            outcome: outcome.into(),
            reasons: vec!["because".into()],
            steps_ms: vec![("compile".into(), 1.5)],
        }
    }

    #[tokio::test]
    async fn the_last_published_line_of_a_plugin_is_found_past_refused_ones() {
        let file = TestFile::open().await;
        let lines = [
            swap(1, "notes", "published"),
            swap(2, "notes", "published"),
            swap(3, "notes", "refused"),
            swap(4, "other", "published"),
        ];
        for line in &lines {
            file.db.record_swap(line).await.unwrap();
        }
        assert_eq!(file.db.last_published("notes").await.unwrap().as_ref(), Some(&lines[1]));
        assert_eq!(file.db.last_published("none").await.unwrap(), None);
        let all: Vec<u64> = file.db.list_swaps(None, 3).await.unwrap().iter().map(|line| line.at).collect();
        assert_eq!(all, [4, 3, 2]);
    }
}
