//! Rows of API keys. Knows no key text, only its hash.

use std::sync::Arc;

use sqlx::sqlite::SqliteRow;
use sqlx::{Row, SqliteConnection};

use super::apply::rows::int;
use super::records::unsigned;
use super::{Database, DbError};
use crate::changes::change_set::Timestamp;

/// A key as it is stored.
#[derive(Clone, PartialEq, Eq)]
pub struct StoredKey {
    pub id: Arc<str>,
    /// SHA-256 of the text.
    pub hash: [u8; 32],
    /// "*" opens every plugin.
    pub plugin: Arc<str>,
    pub organization: Arc<str>,
    /// "test" or "live".
    pub environment: Arc<str>,
    pub owner: Arc<str>,
    pub scopes: Vec<String>,
    pub attributes: Vec<(String, String)>,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    pub last_used_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
}

const COLUMNS: &str = "id, hash, plugin, organization, environment, owner, scopes, attributes, created_at, expires_at, \
                       last_used_at, revoked_at";

impl Database {
    pub async fn insert_key(&self, key: &StoredKey) -> Result<(), DbError> {
        let optional = |time: Option<Timestamp>| time.map(int);
        let mut write = self.begin_write().await?;
        let sql = format!("INSERT INTO keys ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
        sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(key.id.clone())
            .bind(key.hash.to_vec())
            .bind(key.plugin.clone())
            .bind(key.organization.clone())
            .bind(key.environment.clone())
            .bind(key.owner.clone())
            .bind(json(&key.scopes)?)
            .bind(json(&key.attributes)?)
            .bind(int(key.created_at))
            .bind(optional(key.expires_at))
            .bind(optional(key.last_used_at))
            .bind(optional(key.revoked_at))
            .execute(write.connection())
            .await?;
        write.commit().await
    }

    pub async fn find_key_by_hash(&self, hash: &[u8; 32]) -> Result<Option<StoredKey>, DbError> {
        let sql = format!("SELECT {COLUMNS} FROM keys WHERE hash = ?");
        let row = sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(hash.to_vec())
            .fetch_optional(&*self.readers())
            .await?;
        row.as_ref().map(key_of).transpose()
    }

    /// All of them, oldest first.
    pub async fn list_keys(&self) -> Result<Vec<StoredKey>, DbError> {
        let sql = format!("SELECT {COLUMNS} FROM keys ORDER BY created_at, id");
        let rows = sqlx::query(sqlx::AssertSqlSafe(sql)).fetch_all(&*self.readers()).await?;
        rows.iter().map(key_of).collect()
    }

    /// Sets the time of revocation where there is none. `None` if there is no such key; else the key as it now stands.
    pub async fn revoke_key(&self, id: &str, now: Timestamp) -> Result<Option<StoredKey>, DbError> {
        let mut write = self.begin_write().await?;
        let sql = format!("UPDATE keys SET revoked_at = coalesce(revoked_at, ?) WHERE id = ? RETURNING {COLUMNS}");
        let row =
            sqlx::query(sqlx::AssertSqlSafe(sql)).bind(int(now)).bind(id).fetch_optional(write.connection()).await?;
        let key = row.as_ref().map(key_of).transpose()?;
        write.commit().await?;
        Ok(key)
    }

    /// Sets the last use of each key (by id), never to an earlier time.
    pub async fn touch_keys(&self, uses: &[(Arc<str>, Timestamp)]) -> Result<(), DbError> {
        if uses.is_empty() {
            return Ok(());
        }
        let mut write = self.begin_write().await?;
        for (id, at) in uses {
            touch(write.connection(), id, *at).await?;
        }
        write.commit().await
    }
}

async fn touch(connection: &mut SqliteConnection, id: &Arc<str>, at: Timestamp) -> Result<(), DbError> {
    sqlx::query("UPDATE keys SET last_used_at = max(coalesce(last_used_at, 0), ?) WHERE id = ?")
        .bind(int(at))
        .bind(id.clone())
        .execute(connection)
        .await?;
    Ok(())
}

fn json(value: &impl serde::Serialize) -> Result<String, DbError> {
    serde_json::to_string(value).map_err(|error| DbError::Corrupt(error.to_string()))
}

fn key_of(row: &SqliteRow) -> Result<StoredKey, DbError> {
    let text = |column| -> Result<Arc<str>, DbError> { Ok(row.try_get::<&str, _>(column)?.into()) };
    let time = |column| -> Result<Option<u64>, DbError> { row.try_get::<Option<i64>, _>(column)?.map(unsigned).transpose() };
    let corrupt = |what: &str| DbError::Corrupt(format!("keys: unreadable {what}"));
    Ok(StoredKey {
        id: text(0)?,
        hash: row.try_get::<Vec<u8>, _>(1)?.try_into().map_err(|_| corrupt("hash"))?,
        plugin: text(2)?,
        organization: text(3)?,
        environment: text(4)?,
        owner: text(5)?,
        scopes: serde_json::from_str(row.try_get(6)?).map_err(|_| corrupt("scopes"))?,
        attributes: serde_json::from_str(row.try_get(7)?).map_err(|_| corrupt("attributes"))?,
        created_at: unsigned(row.try_get(8)?)?,
        expires_at: time(9)?,
        last_used_at: time(10)?,
        revoked_at: time(11)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::testing::TestFile;

    fn key(id: &str, hash: u8) -> StoredKey {
        StoredKey {
            id: id.into(),
            hash: [hash; 32],
            plugin: "*".into(),
            organization: "acme".into(),
            environment: "test".into(),
            owner: "owner_1".into(),
            scopes: vec!["read".into()],
            attributes: vec![("room".into(), "7".into())],
            created_at: 1,
            expires_at: Some(9),
            last_used_at: None,
            revoked_at: None,
        }
    }

    #[tokio::test]
    async fn a_key_is_found_by_its_hash_alone() {
        let file = TestFile::open().await;
        file.db.insert_key(&key("key_a", 1)).await.unwrap();
        assert!(file.db.find_key_by_hash(&[1; 32]).await.unwrap() == Some(key("key_a", 1)));
        assert!(file.db.find_key_by_hash(&[2; 32]).await.unwrap().is_none());
    }

    #[tokio::test]
    async fn the_first_revocation_and_the_latest_use_count() {
        let file = TestFile::open().await;
        file.db.insert_key(&key("key_a", 1)).await.unwrap();
        file.db.touch_keys(&[("key_a".into(), 50), ("key_a".into(), 40)]).await.unwrap();
        file.db.revoke_key("key_a", 60).await.unwrap();
        let revoked = file.db.revoke_key("key_a", 70).await.unwrap().unwrap();
        assert_eq!((revoked.last_used_at, revoked.revoked_at), (Some(50), Some(60)));
        assert!(file.db.revoke_key("key_b", 70).await.unwrap().is_none());
        assert_eq!(file.db.list_keys().await.unwrap().len(), 1);
    }
}
