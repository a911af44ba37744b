//! Rows of sealed secrets. `crate::secrets` seals and opens them. Nothing in this module can open one.

use sqlx::{AssertSqlSafe, SqliteConnection};

use super::database::WriteTransaction;
use super::swaps::insert_optional_action;
use super::{Database, DbError};
use crate::changes::operator_action::OperatorAction;

#[derive(Clone, PartialEq, Eq)]
pub struct StoredSecret {
    pub name: String,
    pub sealed: Vec<u8>,
}

impl Database {
    /// Inserts a secret, or replaces the one with the same name. `action` is added to the operators' journal.
    pub async fn put_secret(&self, name: &str, sealed: &[u8], action: Option<OperatorAction>) -> Result<(), DbError> {
        let (name, sealed) = (name.to_owned(), sealed.to_vec());
        self.write(move |write| {
            Box::pin(async move {
                put(write.connection(), &name, &sealed).await?;
                insert_optional_action(write.connection(), action.as_ref()).await
            })
        })
        .await
    }

    /// Inserts a secret unless one with this name exists. Returns true if it was inserted.
    ///
    /// `action` is added to the operators' journal if the secret was inserted.
    pub async fn insert_secret(
        &self,
        name: &str,
        sealed: &[u8],
        action: Option<OperatorAction>,
    ) -> Result<bool, DbError> {
        let insert = sqlx::query("INSERT INTO secrets (name, sealed) VALUES (?, ?) ON CONFLICT DO NOTHING");
        let insert = insert.bind(name.to_owned()).bind(sealed.to_vec());
        let insert = async move |write: &mut WriteTransaction| {
            let is_new = insert.execute(write.connection()).await?.rows_affected() > 0;
            insert_optional_action(write.connection(), action.as_ref().filter(|_| is_new)).await?;
            Ok(is_new)
        };
        self.write(move |write| Box::pin(insert(write))).await
    }

    /// Replaces a secret if it is still equal to `before`. Returns true if it was replaced. Used to seal secrets under
    /// another key.
    pub async fn replace_secret(&self, before: &StoredSecret, sealed: &[u8]) -> Result<bool, DbError> {
        let update = sqlx::query("UPDATE secrets SET sealed = ? WHERE name = ? AND sealed = ?");
        let update = update.bind(sealed.to_vec()).bind(before.name.clone()).bind(before.sealed.clone());
        Ok(self.execute(update).await? > 0)
    }

    pub async fn find_secret(&self, name: &str) -> Result<Option<StoredSecret>, DbError> {
        let sealed: Option<Vec<u8>> = sqlx::query_scalar("SELECT sealed FROM secrets WHERE name = ?")
            .bind(name)
            .fetch_optional(&*self.readers())
            .await?;
        Ok(sealed.map(|sealed| StoredSecret { name: name.to_owned(), sealed }))
    }

    /// Returns all secrets, sorted by name.
    pub async fn list_secrets(&self) -> Result<Vec<StoredSecret>, DbError> {
        let rows: Vec<(String, Vec<u8>)> =
            sqlx::query_as("SELECT name, sealed FROM secrets ORDER BY name").fetch_all(&*self.readers()).await?;
        Ok(rows.into_iter().map(|(name, sealed)| StoredSecret { name, sealed }).collect())
    }
}

/// Returns true if the database contains data sealed under a master key, or under a root that a master key sealed.
///
/// The schema may be older.
pub(super) async fn has_sealed_rows(connection: &mut SqliteConnection) -> Result<bool, DbError> {
    let columns = "SELECT m.name FROM sqlite_schema m, pragma_table_info(m.name) c \
                   WHERE m.type = 'table' AND m.name IN ('secrets', 'answers', 'keys') AND c.name = 'sealed'";
    let tables: Vec<String> = sqlx::query_scalar(columns).fetch_all(&mut *connection).await?;
    for table in tables {
        let sql = format!("SELECT EXISTS (SELECT 1 FROM {table} WHERE sealed IS NOT NULL)");
        if sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(&mut *connection).await? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Inserts or replaces a secret within a transaction of the caller.
pub(super) async fn put(connection: &mut SqliteConnection, name: &str, sealed: &[u8]) -> Result<(), DbError> {
    sqlx::query("INSERT INTO secrets (name, sealed) VALUES (?, ?) ON CONFLICT DO UPDATE SET sealed = excluded.sealed")
        .bind(name)
        .bind(sealed)
        .execute(connection)
        .await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::db::testing::TestFile;

    #[tokio::test]
    async fn secret_changed_meanwhile_is_not_replaced() {
        let file = TestFile::open().await;
        file.db.put_secret("hook", b"one", None).await.unwrap();
        let before = file.db.find_secret("hook").await.unwrap().unwrap();
        file.db.put_secret("hook", b"two", None).await.unwrap();
        assert!(!file.db.replace_secret(&before, b"one again").await.unwrap());
        let now = file.db.list_secrets().await.unwrap().remove(0);
        assert_eq!(now.sealed, b"two");
        assert!(file.db.replace_secret(&now, b"three").await.unwrap());
        assert!(file.db.find_secret("none").await.unwrap().is_none());
    }

    #[tokio::test]
    async fn existing_secret_is_not_overwritten() {
        let file = TestFile::open().await;
        assert!(file.db.insert_secret("seed", b"one", None).await.unwrap());
        assert!(!file.db.insert_secret("seed", b"two", None).await.unwrap());
        assert_eq!(file.db.find_secret("seed").await.unwrap().unwrap().sealed, b"one");
    }
}
