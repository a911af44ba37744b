//! Fills new columns of old rows in chunks, while other writes continue.
//!
//! Invariant: every write fills a column from the moment that it is in the catalogue, so one pass over the rows is
//! enough. An interrupted pass is repeated from the start.

use sqlx::AssertSqlSafe;
use sqlx::sqlite::SqliteRow;
use sqlx::{Row, SqliteConnection};

use super::catalogue::{Table, TableField};
use super::declare::column_sql;
use crate::changes::change_set::Field;
use crate::db::apply::rows::{ChunkedSql, bind_field, write_rows};
use crate::db::database::WriteTransaction;
use crate::db::{Database, DbError};
use crate::limits::{BACKFILL_ROWS, BACKFILL_STATEMENTS};

impl Database {
    /// Fills all columns of the table in every row, and marks them as filled.
    pub(super) async fn backfill(&self, table: &str) -> Result<(), DbError> {
        let mut next = Some(i64::MIN);
        while let Some(after) = next {
            let (database, table) = (self.clone(), table.to_owned());
            next = self
                .write(move |write| Box::pin(async move { fill_chunk(&database, write, &table, after).await }))
                .await?;
        }
        Ok(())
    }
}

/// Fills a chunk of the rows after `after`. Returns the last row of the chunk, or `None` once the table is marked as
/// filled.
async fn fill_chunk(
    database: &Database,
    write: &mut WriteTransaction,
    table: &str,
    mut after: i64,
) -> Result<Option<i64>, DbError> {
    let Some(table) = database.catalogue().find(table) else { return Ok(None) };
    for _ in 0..BACKFILL_STATEMENTS {
        match fill_rows(write.connection(), &table, after).await? {
            Some(last) => after = last,
            None => {
                let fields = table.fields.iter().map(|field| TableField { filled: true, ..field.clone() });
                let table = table.with(table.written, fields.collect());
                table.save(write.connection()).await?;
                let database = database.clone();
                write.on_commit(move || database.catalogue().put(table));
                return Ok(None);
            }
        }
    }
    Ok(Some(after))
}

/// Fills up to `BACKFILL_ROWS` rows after `after`. Returns the last filled row, or `None` if there is no row after
/// `after`.
async fn fill_rows(connection: &mut SqliteConnection, table: &Table, after: i64) -> Result<Option<i64>, DbError> {
    let sql = format!("SELECT rowid, body FROM \"{}\" WHERE rowid > ? ORDER BY rowid LIMIT ?", table.name);
    let rows = sqlx::query(AssertSqlSafe(sql)).bind(after).bind(BACKFILL_ROWS).fetch_all(&mut *connection).await?;
    let read = |row: &SqliteRow| -> Result<(i64, Vec<Field>), DbError> {
        let fields = table.extract(row.try_get(1)?).map_err(|error| DbError::Corrupt(error.to_string()))?;
        Ok((row.try_get(0)?, fields))
    };
    let rows: Vec<(i64, Vec<Field>)> = rows.iter().map(read).collect::<Result<_, _>>()?;
    write_rows(connection, &update_sql(table), &rows, |query, (rowid, fields)| {
        fields.iter().fold(query.bind(*rowid), bind_field)
    })
    .await?;
    Ok(rows.last().map(|(rowid, _)| *rowid))
}

fn update_sql(table: &Table) -> ChunkedSql {
    let set: Vec<String> = (2..)
        .zip(&table.fields)
        .map(|(number, field)| format!("{} = filled.column{number}", column_sql(&field.path)))
        .collect();
    let row = format!("(?{})", ",?".repeat(table.fields.len()));
    ChunkedSql::new(
        "WITH filled AS (VALUES ",
        &row,
        &format!(
            ") UPDATE \"{0}\" SET {1} FROM filled WHERE \"{0}\".rowid = filled.column1",
            table.name,
            set.join(", ")
        ),
    )
}
