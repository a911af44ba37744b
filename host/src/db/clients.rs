//! Rows of OAuth clients, and of their used assertions. Contains only hashes of secrets.

use std::sync::Arc;

use sqlx::sqlite::SqliteRow;
use sqlx::{Row, SqliteConnection};

use super::apply::rows::int;
use super::database::WriteTransaction;
use super::records::unsigned;
use super::swaps::insert_optional_action;
use super::{Database, DbError};
use crate::changes::operator_action::OperatorAction;
use crate::clock::Timestamp;

/// A client as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredClient {
    pub id: Arc<str>,
    pub plugin: Arc<str>,
    pub organization: Arc<str>,
    /// "test" or "live".
    pub environment: Arc<str>,
    pub scopes: Vec<String>,
    /// SHA-256 of the secret. `None` if the client has a JWKS.
    pub secret: Option<[u8; 32]>,
    /// Hash of the previous secret, and the time until which it is valid.
    pub previous: Option<([u8; 32], Timestamp)>,
    pub jwks: Option<Arc<str>>,
    pub created_at: Timestamp,
    pub revoked_at: Option<Timestamp>,
}

const COLUMNS: &str = "id, plugin, organization, environment, scopes, secret, previous_secret, previous_until, jwks, \
                       created_at, revoked_at";

impl Database {
    /// Inserts a client, or replaces the one with the same id. `action` is added to the operators' journal, unless
    /// the stored client was revoked already: it can only be revoked again.
    pub async fn put_client(&self, client: &StoredClient, action: Option<OperatorAction>) -> Result<(), DbError> {
        let scopes = serde_json::to_string(&client.scopes).map_err(|error| DbError::Corrupt(error.to_string()))?;
        let sql = format!("INSERT OR REPLACE INTO clients ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
        let put = sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(client.id.clone())
            .bind(client.plugin.clone())
            .bind(client.organization.clone())
            .bind(client.environment.clone())
            .bind(scopes)
            .bind(client.secret.map(|hash| hash.to_vec()))
            .bind(client.previous.map(|(hash, _)| hash.to_vec()))
            .bind(client.previous.map(|(_, until)| int(until)))
            .bind(client.jwks.clone())
            .bind(int(client.created_at))
            .bind(client.revoked_at.map(int));
        let id = client.id.clone();
        let write_row = async move |write: &mut WriteTransaction| {
            let was_revoked = is_revoked(write.connection(), &id).await?;
            put.execute(write.connection()).await?;
            let action = action.filter(|_| !was_revoked);
            insert_optional_action(write.connection(), action.as_ref()).await
        };
        self.write(move |write| Box::pin(write_row(write))).await
    }

    /// Returns all clients, oldest first.
    pub async fn list_clients(&self) -> Result<Vec<StoredClient>, DbError> {
        let sql = format!("SELECT {COLUMNS} FROM clients ORDER BY created_at, id");
        let rows = sqlx::query(sqlx::AssertSqlSafe(sql)).fetch_all(&*self.readers()).await?;
        rows.iter().map(client_of).collect()
    }

    /// Records the use of an assertion. Returns true if the assertion was not used before. Deletes expired assertions.
    pub async fn record_assertion(&self, id: &[u8; 32], ends_at: Timestamp, now: Timestamp) -> Result<bool, DbError> {
        let delete = sqlx::query("DELETE FROM assertions WHERE ends_at <= ?").bind(int(now));
        let insert = sqlx::query("INSERT OR IGNORE INTO assertions (id, ends_at) VALUES (?, ?)");
        let insert = insert.bind(id.to_vec()).bind(int(ends_at));
        let record = async move |write: &mut WriteTransaction| {
            delete.execute(write.connection()).await?;
            Ok(insert.execute(write.connection()).await?.rows_affected() > 0)
        };
        self.write(move |write| Box::pin(record(write))).await
    }
}

async fn is_revoked(connection: &mut SqliteConnection, id: &str) -> Result<bool, DbError> {
    let sql = "SELECT EXISTS (SELECT 1 FROM clients WHERE id = ? AND revoked_at IS NOT NULL)";
    Ok(sqlx::query_scalar(sql).bind(id).fetch_one(connection).await?)
}

fn client_of(row: &SqliteRow) -> Result<StoredClient, DbError> {
    let text = |column| -> Result<Arc<str>, DbError> { Ok(row.try_get::<&str, _>(column)?.into()) };
    let corrupt = |what: &str| DbError::Corrupt(format!("clients: unreadable {what}"));
    let hash = |column| -> Result<Option<[u8; 32]>, DbError> {
        let bytes = row.try_get::<Option<Vec<u8>>, _>(column)?;
        bytes.map(|bytes| bytes.try_into().map_err(|_| corrupt("hash"))).transpose()
    };
    let time =
        |column| -> Result<Option<u64>, DbError> { row.try_get::<Option<i64>, _>(column)?.map(unsigned).transpose() };
    Ok(StoredClient {
        id: text(0)?,
        plugin: text(1)?,
        organization: text(2)?,
        environment: text(3)?,
        scopes: serde_json::from_str(row.try_get(4)?).map_err(|_| corrupt("scopes"))?,
        secret: hash(5)?,
        previous: hash(6)?.zip(time(7)?),
        jwks: row.try_get::<Option<&str>, _>(8)?.map(Arc::from),
        created_at: unsigned(row.try_get(9)?)?,
        revoked_at: time(10)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::changes::operator_action::REVOKE_CLIENT;
    use crate::db::swaps::SwapFilter;
    use crate::db::testing::TestFile;

    fn client(id: &str, created_at: Timestamp) -> StoredClient {
        StoredClient {
            id: id.into(),
            plugin: "notes".into(),
            organization: "acme".into(),
            environment: "test".into(),
            scopes: vec!["read".into()],
            secret: Some([1; 32]),
            previous: Some(([2; 32], 9)),
            jwks: None,
            created_at,
            revoked_at: None,
        }
    }

    #[tokio::test]
    async fn client_is_returned_as_it_was_last_stored() {
        let file = TestFile::open().await;
        file.db.put_client(&client("client_b", 2), None).await.unwrap();
        file.db.put_client(&client("client_a", 1), None).await.unwrap();
        let with_keys = StoredClient {
            secret: None,
            previous: None,
            jwks: Some("{}".into()),
            revoked_at: Some(5),
            ..client("client_b", 2)
        };
        file.db.put_client(&with_keys, None).await.unwrap();
        assert_eq!(file.db.list_clients().await.unwrap(), [client("client_a", 1), with_keys]);
    }

    #[tokio::test]
    async fn repeated_revocation_is_recorded_once_in_the_operators_journal() {
        let file = TestFile::open().await;
        file.db.put_client(&client("client_a", 1), None).await.unwrap();
        for now in [60, 70] {
            let revoked = StoredClient { revoked_at: Some(60), ..client("client_a", 1) };
            let action = OperatorAction::done(now, "ada", ("notes", REVOKE_CLIENT), "client_a".to_owned());
            file.db.put_client(&revoked, Some(action)).await.unwrap();
        }
        let lines = file.db.list_swaps(&SwapFilter::default(), 10).await.unwrap();
        assert_eq!(lines.iter().map(|line| line.at).collect::<Vec<_>>(), [60]);
    }

    #[tokio::test]
    async fn assertion_can_be_used_once_until_it_expires() {
        let file = TestFile::open().await;
        assert!(file.db.record_assertion(&[1; 32], 10, 5).await.unwrap());
        assert!(!file.db.record_assertion(&[1; 32], 10, 9).await.unwrap());
        assert!(file.db.record_assertion(&[2; 32], 10, 9).await.unwrap());
        assert!(file.db.record_assertion(&[1; 32], 20, 10).await.unwrap());
    }
}
