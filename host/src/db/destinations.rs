//! Destinations of tenants, as they are durable. What is in one is in `changes::destination`.

use sqlx::AssertSqlSafe;

use super::{Database, DbError};
use crate::changes::host_collections::DESTINATIONS;
use crate::changes::scope::Scope;

impl Database {
    /// The body of its record.
    pub async fn find_destination(&self, scope: &Scope, name: &str) -> Result<Option<String>, DbError> {
        let tables = self.catalogue().tables_of(DESTINATIONS);
        let Some((_, table)) = tables.into_iter().find(|(plugin, _)| plugin == scope.plugin()) else { return Ok(None) };
        let sql = format!("SELECT body FROM \"{table}\" WHERE tenant = ? AND id = ?");
        let query = sqlx::query_scalar(AssertSqlSafe(sql)).bind(scope.tenant().clone()).bind(name);
        Ok(query.fetch_optional(&*self.readers()).await?)
    }
}
