//! Rows of the operators' journal: swaps, which `plugin::reload` interprets, and all other actions of operators.
//!
//! An action that changes this database and its row are written in the same transaction.

use sqlx::{AssertSqlSafe, SqliteConnection};

use super::apply::rows::int;
use super::records::unsigned;
use super::{Database, DbError};
use crate::changes::operator_action::OperatorAction;
use crate::clock::Timestamp;
use crate::limits::SWAPS_LISTED_MAX;

/// A line of the operators' journal. `from_hash` and `to_hash` are hex hashes of components, and `file_hash` is the
/// hex hash of the plugin's file.
#[derive(Clone, Debug, PartialEq)]
pub struct SwapRow {
    pub at: Timestamp,
    pub operator: String,
    pub plugin: String,
    pub action: String,
    pub from_hash: Option<String>,
    pub to_hash: Option<String>,
    /// Version of the component of `to_hash`, if it was published.
    pub version: Option<String>,
    pub file_hash: Option<String>,
    /// "published", …
    pub outcome: String,
    pub reasons: Vec<String>,
    /// Name and duration in milliseconds of each step, in order.
    pub steps_ms: Vec<(String, f64)>,
}

impl From<&OperatorAction> for SwapRow {
    fn from(action: &OperatorAction) -> SwapRow {
        SwapRow {
            at: action.at,
            operator: action.operator.clone(),
            plugin: action.plugin.clone(),
            action: action.action.to_owned(),
            from_hash: None,
            to_hash: None,
            version: None,
            file_hash: None,
            outcome: action.outcome.name().to_owned(),
            reasons: vec![action.target.clone()],
            steps_ms: Vec::new(),
        }
    }
}

/// Selects lines of the operators' journal. `None` matches all values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SwapFilter {
    pub plugin: Option<String>,
    pub operator: Option<String>,
    pub action: Option<String>,
    pub outcome: Option<&'static str>,
    /// Earliest time, inclusive.
    pub since: Option<Timestamp>,
}

type Columns = (
    i64,
    String,
    String,
    String,
    Option<String>,
    Option<String>,
    Option<String>,
    Option<String>,
    String,
    String,
    String,
);

impl Database {
    /// Writes a line, which is durable when this returns.
    pub async fn record_swap(&self, swap: &SwapRow) -> Result<(), DbError> {
        self.record_swaps(vec![swap.clone()]).await
    }

    /// Writes several lines in one transaction, which is durable when this returns.
    pub async fn record_swaps(&self, swaps: Vec<SwapRow>) -> Result<(), DbError> {
        self.write(move |write| {
            Box::pin(async move {
                for swap in &swaps {
                    insert(write.connection(), swap).await?;
                }
                Ok(())
            })
        })
        .await
    }

    /// Returns the hashes of the components that serve according to the journal.
    pub async fn list_served_components(&self) -> Result<Vec<String>, DbError> {
        let sql = "SELECT DISTINCT to_hash FROM swaps WHERE to_hash IS NOT NULL AND seq IN \
                   (SELECT max(seq) FROM swaps WHERE outcome = 'published' GROUP BY plugin)";
        Ok(sqlx::query_scalar(sql).fetch_all(&*self.readers()).await?)
    }

    /// Returns the hash of the component that serves according to the journal. The database may have an older schema.
    pub async fn find_served_component(&self, plugin: &str) -> Result<Option<String>, DbError> {
        let sql = "SELECT to_hash FROM swaps WHERE plugin = ? AND outcome = 'published' ORDER BY seq DESC LIMIT 1";
        let hash: Option<Option<String>> =
            sqlx::query_scalar(sql).bind(plugin).fetch_optional(&*self.readers()).await?;
        Ok(hash.flatten())
    }

    /// Writes the line of an action that changes nothing else in this database.
    pub async fn record_action(&self, action: &OperatorAction) -> Result<(), DbError> {
        self.record_swap(&SwapRow::from(action)).await
    }

    /// Returns the plugins that serve according to the journal, each with the hashes of the components before and after
    /// its last published change.
    pub async fn list_needed_components(&self) -> Result<Vec<(String, String)>, DbError> {
        let sql = "WITH last AS (SELECT * FROM swaps WHERE to_hash IS NOT NULL AND seq IN \
                   (SELECT max(seq) FROM swaps WHERE outcome = 'published' GROUP BY plugin)) \
                   SELECT plugin, to_hash FROM last UNION SELECT plugin, from_hash FROM last WHERE from_hash IS NOT NULL";
        Ok(sqlx::query_as(sql).fetch_all(&*self.readers()).await?)
    }

    /// Returns matching lines, newest first. `limit` is capped at `SWAPS_LISTED_MAX`.
    pub async fn list_swaps(&self, filter: &SwapFilter, limit: u32) -> Result<Vec<SwapRow>, DbError> {
        let rows: Vec<Columns> = sqlx::query_as(
            "SELECT at, who, plugin, action, from_hash, to_hash, version, file_hash, outcome, reasons, steps_ms FROM swaps \
             WHERE plugin = coalesce(?1, plugin) AND who = coalesce(?2, who) AND action = coalesce(?3, action) \
             AND outcome = coalesce(?4, outcome) AND at >= coalesce(?5, at) ORDER BY seq DESC LIMIT ?6",
        )
        .bind(filter.plugin.as_deref())
        .bind(filter.operator.as_deref())
        .bind(filter.action.as_deref())
        .bind(filter.outcome)
        .bind(filter.since.map(int))
        .bind(limit.min(SWAPS_LISTED_MAX))
        .fetch_all(&*self.readers())
        .await?;
        rows.into_iter().map(swap_of).collect()
    }

    /// Returns the lines of a plugin with the outcome "published", newest first. A line that publishes the same
    /// component again, as after a change of settings, is returned only if it is the newest of these lines.
    pub async fn find_published_swaps(&self, plugin: &str, limit: u32) -> Result<Vec<SwapRow>, DbError> {
        let rows: Vec<Columns> = sqlx::query_as(
            "SELECT at, who, plugin, action, from_hash, to_hash, version, file_hash, outcome, reasons, steps_ms \
             FROM swaps WHERE plugin = ?1 AND outcome = 'published' AND (from_hash IS NOT to_hash OR seq = \
             (SELECT max(seq) FROM swaps WHERE plugin = ?1 AND outcome = 'published')) ORDER BY seq DESC LIMIT ?2",
        )
        .bind(plugin)
        .bind(limit.min(SWAPS_LISTED_MAX))
        .fetch_all(&*self.readers())
        .await?;
        rows.into_iter().map(swap_of).collect()
    }
}

/// Writes the line of an action, if there is one. Actions of the host itself have no line.
pub(super) async fn insert_optional_action(
    connection: &mut SqliteConnection,
    action: Option<&OperatorAction>,
) -> Result<(), DbError> {
    match action {
        Some(action) => insert_action(connection, action).await,
        None => Ok(()),
    }
}

/// Writes the line of an action within its transaction.
pub(super) async fn insert_action(connection: &mut SqliteConnection, action: &OperatorAction) -> Result<(), DbError> {
    insert(connection, &SwapRow::from(action)).await
}

/// Inserts a line, within the caller's transaction if there is one. The database may have an older schema, which has no
/// column `version`, if the line has no version.
pub(super) async fn insert(connection: &mut SqliteConnection, swap: &SwapRow) -> Result<(), DbError> {
    let json = |value: Result<String, serde_json::Error>| value.map_err(|error| DbError::Corrupt(error.to_string()));
    let (column, parameter) = if swap.version.is_some() { (", version", ", ?") } else { ("", "") };
    let sql = format!(
        "INSERT INTO swaps (at, who, plugin, action, from_hash, to_hash, file_hash, outcome, reasons, steps_ms{column}) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?{parameter})"
    );
    let query = sqlx::query(AssertSqlSafe(sql))
        .bind(int(swap.at))
        .bind(swap.operator.as_str())
        .bind(swap.plugin.as_str())
        .bind(swap.action.as_str())
        .bind(swap.from_hash.as_deref())
        .bind(swap.to_hash.as_deref())
        .bind(swap.file_hash.as_deref())
        .bind(swap.outcome.as_str())
        .bind(json(serde_json::to_string(&swap.reasons))?)
        .bind(json(serde_json::to_string(&swap.steps_ms))?);
    let query = match &swap.version {
        Some(version) => query.bind(version.as_str()),
        None => query,
    };
    query.execute(connection).await?;
    Ok(())
}

fn swap_of(row: Columns) -> Result<SwapRow, DbError> {
    let (at, operator, plugin, action, from_hash, to_hash, version, file_hash, outcome, reasons, steps_ms) = row;
    let corrupt = |error: serde_json::Error| DbError::Corrupt(format!("swaps: {error}"));
    Ok(SwapRow {
        at: unsigned(at)?,
        operator,
        plugin,
        action,
        from_hash,
        to_hash,
        version,
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
            operator: "ada".into(),
            plugin: plugin.into(),
            action: "deploy".into(),
            from_hash: None,
            to_hash: Some("ab".into()),
            version: Some("0.1.0".into()),
            file_hash: None,
            outcome: outcome.into(),
            reasons: vec!["because".into()],
            steps_ms: vec![("compile".into(), 1.5)],
        }
    }

    #[tokio::test]
    async fn lines_are_found_by_operator_action_and_time() {
        let file = TestFile::open().await;
        for (at, operator, action) in [(1, "ada", "create-key"), (2, "bob", "create-key"), (3, "ada", "revoke-key")] {
            let action = OperatorAction::done(at, operator, ("notes", action), "key_1".to_owned());
            file.db.record_action(&action).await.unwrap();
        }
        let found = async |filter: SwapFilter| {
            file.db.list_swaps(&filter, 10).await.unwrap().into_iter().map(|line| line.at).collect::<Vec<_>>()
        };
        let operator = Some("ada".to_owned());
        assert_eq!(found(SwapFilter { operator: operator.clone(), ..SwapFilter::default() }).await, [3, 1]);
        let action = Some("create-key".to_owned());
        assert_eq!(found(SwapFilter { operator, action, ..SwapFilter::default() }).await, [1]);
        assert_eq!(found(SwapFilter { since: Some(2), ..SwapFilter::default() }).await, [3, 2]);
    }

    #[tokio::test]
    async fn last_published_line_of_a_plugin_is_found_behind_refused_ones() {
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
        assert_eq!(file.db.find_published_swaps("notes", 1).await.unwrap(), [lines[1].clone()]);
        assert_eq!(file.db.find_published_swaps("none", 1).await.unwrap(), []);
        let all: Vec<u64> =
            file.db.list_swaps(&SwapFilter::default(), 3).await.unwrap().iter().map(|line| line.at).collect();
        assert_eq!(all, [4, 3, 2]);
    }

    #[tokio::test]
    async fn changes_of_settings_do_not_displace_versions_from_the_published_lines() {
        let file = TestFile::open().await;
        let change = |at, from: Option<&str>, to: &str| SwapRow {
            from_hash: from.map(str::to_owned),
            to_hash: Some(to.to_owned()),
            ..swap(at, "notes", "published")
        };
        let mut lines = vec![change(1, None, "a"), change(2, Some("a"), "b")];
        lines.extend((3..=20).map(|at| change(at, Some("b"), "b")));
        file.db.record_swaps(lines).await.unwrap();
        let found = file.db.find_published_swaps("notes", 3).await.unwrap();
        assert_eq!(found.iter().map(|line| line.at).collect::<Vec<_>>(), [20, 2, 1]);
        assert_eq!(file.db.find_served_component("notes").await.unwrap().as_deref(), Some("b"));
    }
}
