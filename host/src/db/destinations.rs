//! Stored destinations of tenants. `changes::destination` defines their content.

use sqlx::AssertSqlSafe;

use super::{Database, DbError};
use crate::changes::host_collections::DESTINATIONS;
use crate::changes::scope::Scope;

impl Database {
    /// Returns the JSON body of a destination's record.
    pub async fn find_destination(&self, scope: &Scope, name: &str) -> Result<Option<String>, DbError> {
        let tables = self.catalogue().tables_of(DESTINATIONS);
        let Some((_, table)) = tables.into_iter().find(|(plugin, _)| plugin == scope.plugin()) else { return Ok(None) };
        let sql = format!("SELECT body FROM \"{table}\" WHERE tenant = ? AND id = ?");
        let query = sqlx::query_scalar(AssertSqlSafe(sql)).bind(scope.tenant().clone()).bind(name);
        Ok(query.fetch_optional(&*self.readers()).await?)
    }
}
