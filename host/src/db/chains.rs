//! Blockchain data of the host: chain notes of every plugin and tenant, and the read position of each network.

use std::sync::Arc;

use sqlx::AssertSqlSafe;

use super::apply::rows::int;
use super::records::unsigned;
use super::{Database, DbError};
use crate::changes::host_collections::CHAIN_NOTES;
use crate::changes::scope::Scope;

/// Height and hash of the last block of a network that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainCursor {
    pub height: u64,
    pub hash: String,
}

impl Database {
    /// Returns the bodies of all notes with their scopes.
    pub async fn list_chain_notes(&self) -> Result<Vec<(Scope, Arc<str>)>, DbError> {
        let mut found = Vec::new();
        for (plugin, table) in self.catalogue().tables_of(CHAIN_NOTES) {
            let sql = format!("SELECT tenant, body FROM \"{table}\"");
            let mut search = self.begin_operator_search().await?;
            let rows: Vec<(String, String)> =
                sqlx::query_as(AssertSqlSafe(sql)).fetch_all(search.connection()?).await?;
            search.finish();
            let scoped = rows
                .into_iter()
                .filter_map(|(tenant, body)| Some((Scope::new(plugin.clone(), tenant.into())?, Arc::from(body))));
            found.extend(scoped);
        }
        Ok(found)
    }

    /// Returns the cursor of a network, for example "simulated-test/base".
    pub async fn find_chain_cursor(&self, network: &str) -> Result<Option<ChainCursor>, DbError> {
        let sql = "SELECT height, hash FROM chain_cursors WHERE network = ?";
        let row: Option<(i64, String)> = sqlx::query_as(sql).bind(network).fetch_optional(&*self.readers()).await?;
        row.map(|(height, hash)| Ok(ChainCursor { height: unsigned(height)?, hash })).transpose()
    }

    pub async fn put_chain_cursor(&self, network: &str, cursor: &ChainCursor) -> Result<(), DbError> {
        let sql = "INSERT INTO chain_cursors (network, height, hash) VALUES (?, ?, ?) \
                   ON CONFLICT DO UPDATE SET height = excluded.height, hash = excluded.hash";
        let put = sqlx::query(sql).bind(network.to_owned()).bind(int(cursor.height)).bind(cursor.hash.clone());
        self.execute(put).await.map(|_rows| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::testing::TestFile;

    #[tokio::test]
    async fn cursor_is_returned_as_it_was_last_stored() {
        let file = TestFile::open().await;
        let cursor = |height| ChainCursor { height, hash: format!("0x{height}") };
        assert_eq!(file.db.find_chain_cursor("simulated-test/base").await.unwrap(), None);
        for height in [7, 5] {
            file.db.put_chain_cursor("simulated-test/base", &cursor(height)).await.unwrap();
            assert_eq!(file.db.find_chain_cursor("simulated-test/base").await.unwrap(), Some(cursor(height)));
        }
        assert_eq!(file.db.find_chain_cursor("simulated-main/base").await.unwrap(), None);
    }
}
