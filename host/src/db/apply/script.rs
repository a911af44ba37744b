//! Sends the statements of one batch to the connection's thread in as few round trips as possible.
//!
//! A round trip costs two wake-ups and the wait for a free core, which is more than most statements take. Therefore
//! rows are collected, and one SQL text with one statement for each table writes them all.
//!
//! Invariants:
//! - Statements run in the order in which they were added. `connection` runs the collected statements before it
//!   returns.
//! - The caller runs the remaining statements with `run` before the transaction ends.
//! - At most `BATCH_TEXTS_MAX` SQL texts of several statements are kept prepared. One more text replaces all of them.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use sqlx::{AssertSqlSafe, Connection, SqliteConnection};

use super::rows::{ChunkedSql, Query, ROWS_MAX, write_ranges};
use crate::limits::{BATCH_PARTS_MAX, BATCH_TEXTS_MAX};

/// The prepared SQL texts of several statements. Kept across batches.
#[derive(Default)]
pub(super) struct Texts(HashSet<Arc<str>>);

pub(super) struct Script<'b> {
    connection: &'b mut SqliteConnection,
    texts: &'b mut Texts,
    parts: Vec<Part<'b>>,
}

/// Rows of one table.
struct Part<'b> {
    sql: ChunkedSql,
    rows: usize,
    /// Binds the values of the rows in the range.
    bind: Box<dyn Fn(Query, Range<usize>) -> Query + Send + Sync + 'b>,
}

impl<'b> Script<'b> {
    pub fn new(connection: &'b mut SqliteConnection, texts: &'b mut Texts) -> Script<'b> {
        Script { connection, texts, parts: Vec::new() }
    }

    /// Adds a statement that writes `rows`, if there are any. `bind` binds the values of one row.
    pub fn add<T: Send + Sync + 'b>(
        &mut self,
        sql: &ChunkedSql,
        rows: Vec<T>,
        bind: impl Fn(Query, &T) -> Query + Send + Sync + 'b,
    ) {
        if rows.is_empty() {
            return;
        }
        let count = rows.len();
        let bind = move |query, range: Range<usize>| rows.get(range).unwrap_or_default().iter().fold(query, &bind);
        self.parts.push(Part { sql: sql.clone(), rows: count, bind: Box::new(bind) });
    }

    /// Runs the collected statements and returns the connection, for statements with a result.
    pub async fn connection(&mut self) -> Result<&mut SqliteConnection, sqlx::Error> {
        self.run().await?;
        Ok(self.connection)
    }

    pub async fn run(&mut self) -> Result<(), sqlx::Error> {
        let parts = std::mem::take(&mut self.parts);
        match common_text(&parts) {
            Some((text, size)) => {
                self.keep(&text).await?;
                let query: Query = sqlx::query(AssertSqlSafe(text));
                parts
                    .iter()
                    .fold(query, |query, part| part.bind_all(query, size))
                    .execute(&mut *self.connection)
                    .await?;
            }
            None => {
                for part in &parts {
                    write_ranges(self.connection, &part.sql, part.rows, &part.bind).await?;
                }
            }
        }
        Ok(())
    }

    /// Adds a text to the prepared ones, and drops all others if there are too many.
    async fn keep(&mut self, text: &Arc<str>) -> Result<(), sqlx::Error> {
        if self.texts.0.len() >= BATCH_TEXTS_MAX && !self.texts.0.contains(text) {
            self.texts.0.clear();
            self.connection.clear_cached_statements().await?;
        }
        self.texts.0.insert(Arc::clone(text));
        Ok(())
    }
}

/// Returns one SQL text for all parts, and the number of rows in each of its statements.
///
/// Returns `None` if the parts must run one by one.
fn common_text(parts: &[Part<'_>]) -> Option<(Arc<str>, usize)> {
    let most = parts.iter().map(|part| part.rows).max()?;
    if parts.len() == 1 || parts.len() > BATCH_PARTS_MAX || most > ROWS_MAX {
        return None;
    }
    let size = parts.first()?.sql.fitting(most).1;
    let texts: Vec<&str> = parts.iter().map(|part| &**part.sql.fitting(most).0).collect();
    Some((texts.join(";").into(), size))
}

impl Part<'_> {
    /// Binds all rows, and NULL for the remaining rows of a statement with `size` rows.
    fn bind_all(&self, query: Query, size: usize) -> Query {
        let missing = size.saturating_sub(self.rows).saturating_mul(self.sql.cells());
        (0..missing).fold((self.bind)(query, 0..self.rows), |query, _| query.bind(None::<i64>))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates two tables and returns a statement for each.
    async fn open() -> (SqliteConnection, [ChunkedSql; 2]) {
        let mut connection = SqliteConnection::connect("sqlite::memory:").await.unwrap();
        let tables = "CREATE TABLE one (n INTEGER NOT NULL, name TEXT); CREATE TABLE two (n INTEGER NOT NULL)";
        sqlx::raw_sql(tables).execute(&mut connection).await.unwrap();
        (connection, [ChunkedSql::insert("one (n, name)", "(?,?)", ""), ChunkedSql::insert("two (n)", "(?)", "")])
    }

    async fn numbers(connection: &mut SqliteConnection, sql: &'static str) -> Vec<i64> {
        sqlx::query_scalar(sql).fetch_all(connection).await.unwrap()
    }

    #[tokio::test]
    async fn tables_with_different_numbers_of_rows_are_written_completely_and_in_order() {
        for (few, many) in [(1, 1), (1, 2), (3, 33), (0, 5), (2, 64), (2, 65), (130, 7)] {
            let (mut connection, [one, two]) = open().await;
            let mut texts = Texts::default();
            let mut script = Script::new(&mut connection, &mut texts);
            script.add(&one, (0..few).collect(), |query, n: &i64| query.bind(*n).bind("name"));
            script.add(&two, (0..many).collect(), |query, n: &i64| query.bind(*n));
            script.run().await.unwrap();
            drop(script);
            let in_one = numbers(&mut connection, "SELECT n FROM one WHERE name = 'name' ORDER BY rowid").await;
            assert_eq!(in_one, (0..few).collect::<Vec<_>>(), "{few} and {many}");
            let in_two = numbers(&mut connection, "SELECT n FROM two ORDER BY rowid").await;
            assert_eq!(in_two, (0..many).collect::<Vec<_>>(), "{few} and {many}");
        }
    }

    #[tokio::test]
    async fn statement_on_the_connection_sees_the_rows_added_before_it() {
        let (mut connection, [one, two]) = open().await;
        let mut texts = Texts::default();
        let mut script = Script::new(&mut connection, &mut texts);
        script.add(&one, vec![1], |query, n: &i64| query.bind(*n).bind("name"));
        script.add(&two, vec![1], |query, n: &i64| query.bind(*n));
        assert_eq!(numbers(script.connection().await.unwrap(), "SELECT n FROM one").await, [1]);
    }

    #[tokio::test]
    async fn prepared_texts_are_bounded_and_every_batch_is_written() {
        let (mut connection, [one, two]) = open().await;
        let mut texts = Texts::default();
        let mut batches = 0;
        for parts in 2..=BATCH_PARTS_MAX + 1 {
            for rows in [1, 2, 4, 8] {
                let mut script = Script::new(&mut connection, &mut texts);
                for _ in 1..parts {
                    script.add(&one, (0..rows).collect(), |query, n: &i64| query.bind(*n).bind("name"));
                }
                script.add(&two, vec![1], |query, n: &i64| query.bind(*n));
                script.run().await.unwrap();
                drop(script);
                batches += 1;
            }
        }
        assert!(batches > BATCH_TEXTS_MAX && texts.0.len() <= BATCH_TEXTS_MAX, "{} texts", texts.0.len());
        let written = numbers(&mut connection, "SELECT count(*) FROM two").await;
        assert_eq!(written, [i64::try_from(batches).unwrap()]);
    }
}
