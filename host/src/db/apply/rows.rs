//! Many rows in few statements. Statements come in fixed sizes, so that the prepared ones are used again.

use std::sync::Arc;

use sqlx::sqlite::{Sqlite, SqliteArguments};
use sqlx::{AssertSqlSafe, SqliteConnection};

use crate::changes::change_set::Field;

/// A statement under construction.
pub(in crate::db) type Query = sqlx::query::Query<'static, Sqlite, SqliteArguments>;

/// Rows of one statement, the largest first. The last is 1, so that every number of rows can be made up.
const SIZES: [usize; 4] = [64, 16, 4, 1];

/// One statement in all its sizes.
pub(in crate::db) struct ChunkedSql([Arc<str>; SIZES.len()]);

impl ChunkedSql {
    /// `row` is repeated, with commas between.
    pub fn new(before: &str, row: &str, after: &str) -> ChunkedSql {
        ChunkedSql(SIZES.map(|size| format!("{before}{}{after}", vec![row; size].join(",")).into()))
    }
}

/// Writes all rows; `bind` binds the values of one.
pub(in crate::db) async fn write_rows<T>(
    connection: &mut SqliteConnection,
    sql: &ChunkedSql,
    rows: &[T],
    bind: impl Fn(Query, &T) -> Query,
) -> Result<(), sqlx::Error> {
    let mut rest = rows;
    for (size, sql) in SIZES.into_iter().zip(&sql.0) {
        while let Some((chunk, after)) = rest.split_at_checked(size) {
            let query: Query = sqlx::query(AssertSqlSafe(sql.clone()));
            chunk.iter().fold(query, &bind).execute(&mut *connection).await?;
            rest = after;
        }
    }
    Ok(())
}

pub(in crate::db) fn bind_field(query: Query, field: &Field) -> Query {
    match field {
        Field::Null => query.bind(None::<i64>),
        Field::Integer(value) => query.bind(*value),
        Field::Real(value) => query.bind(*value),
        Field::Text(value) => query.bind(value.clone()),
    }
}

/// Versions, times and numbers are far below 2^63; what is not is a fault that the database then refuses.
pub(in crate::db) fn int(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(-1)
}
