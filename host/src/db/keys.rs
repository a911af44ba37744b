//! Rows of API keys, those created by operators and those issued by plugins.
//!
//! Stores the hash of each key, and a sealed copy of each signing key. Nothing in this module can open the copy.

use std::sync::Arc;

use sqlx::sqlite::SqliteRow;
use sqlx::{Row, SqliteConnection};

use super::apply::{credentials::detach, rows::int};
use super::database::WriteTransaction;
use super::records::unsigned;
use super::secrets::{self, StoredSecret};
use super::swaps::{insert_action, insert_optional_action};
use super::{Database, DbError};
use crate::changes::{
    credential::CredentialKind,
    operator_action::{OperatorAction, REVOKE_KEY},
};
use crate::clock::Timestamp;
use crate::limits::ISSUED_LISTED_MAX;

/// A stored key.
#[derive(Clone, PartialEq, Eq)]
pub struct StoredKey {
    pub id: Arc<str>,
    /// SHA-256 of the key.
    pub hash: [u8; 32],
    /// "*" grants access to every plugin.
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
    /// Whether the key can sign. If it can, a sealed copy of it is stored.
    pub signs: bool,
    pub kind: CredentialKind,
    /// Label given by the plugin that issued the key. `None` if an operator created it.
    pub label: Option<String>,
}

/// Selects signing keys.
#[derive(Clone, Copy, Debug)]
pub struct SigningKeyQuery<'a> {
    pub plugin: &'a str,
    pub organization: &'a str,
    pub environment: &'a str,
}

/// Sealed copy of a key.
pub struct SealedKey {
    pub id: String,
    pub sealed: Vec<u8>,
}

const COLUMNS: &str = "id, hash, plugin, organization, environment, owner, scopes, attributes, created_at, expires_at, \
                       last_used_at, revoked_at, secret IS NOT NULL OR sealed IS NOT NULL, kind, label";

impl Database {
    /// Inserts a key created by an operator.
    ///
    /// `copy` is the sealed copy of a signing key, under its own name. `action` is added to the operators' journal.
    pub async fn insert_key(
        &self,
        key: &StoredKey,
        copy: Option<&StoredSecret>,
        action: Option<OperatorAction>,
    ) -> Result<(), DbError> {
        let optional = |time: Option<Timestamp>| time.map(int);
        let sql = "INSERT INTO keys (id, hash, plugin, organization, environment, owner, scopes, attributes, created_at, \
                   expires_at, last_used_at, revoked_at, secret) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
        let insert = sqlx::query(sql)
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
            .bind(copy.map(|copy| copy.name.clone()));
        let copy = copy.cloned();
        let insert = async move |write: &mut WriteTransaction| {
            insert.execute(write.connection()).await?;
            if let Some(copy) = copy {
                secrets::put(write.connection(), &copy.name, &copy.sealed).await?;
            }
            insert_optional_action(write.connection(), action.as_ref()).await
        };
        self.write(move |write| Box::pin(insert(write))).await
    }

    pub async fn find_key_by_hash(&self, hash: &[u8; 32]) -> Result<Option<StoredKey>, DbError> {
        let sql = format!("SELECT {COLUMNS} FROM keys WHERE hash = ?");
        let row = sqlx::query(sqlx::AssertSqlSafe(sql)).bind(hash.to_vec()).fetch_optional(&*self.readers()).await?;
        row.as_ref().map(key_of).transpose()
    }

    /// Returns all keys created by operators and the newest keys issued by plugins, oldest first.
    pub async fn list_keys(&self) -> Result<Vec<StoredKey>, DbError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM keys WHERE label IS NULL OR id IN (SELECT id FROM keys WHERE label IS NOT NULL \
             ORDER BY created_at DESC, id DESC LIMIT {ISSUED_LISTED_MAX}) ORDER BY created_at, id"
        );
        let mut search = self.begin_operator_search().await?;
        let rows = sqlx::query(sqlx::AssertSqlSafe(sql)).fetch_all(search.connection()?).await?;
        search.finish();
        rows.iter().map(key_of).collect()
    }

    /// Returns the sealed copy of the oldest matching key that is neither revoked nor expired. Only keys created by
    /// operators match.
    pub async fn find_signing_key(
        &self,
        query: SigningKeyQuery<'_>,
        now: Timestamp,
    ) -> Result<Option<SealedKey>, DbError> {
        let sql = "SELECT keys.id, secrets.sealed FROM keys JOIN secrets ON secrets.name = keys.secret \
                   WHERE keys.secret IS NOT NULL AND organization = ? AND environment = ? AND plugin IN (?, '*') \
                   AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?) ORDER BY created_at, id LIMIT 1";
        let row: Option<(String, Vec<u8>)> = sqlx::query_as(sql)
            .bind(query.organization)
            .bind(query.environment)
            .bind(query.plugin)
            .bind(int(now))
            .fetch_optional(&*self.readers())
            .await?;
        Ok(row.map(|(id, sealed)| SealedKey { id, sealed }))
    }

    /// Revokes a key, if it is not revoked yet, and deletes its sealed copy and its searchable attributes. Returns the
    /// revoked key, or `None` if it does not exist.
    ///
    /// `operator` is recorded in the operators' journal, unless the key was revoked already.
    pub async fn revoke_key(
        &self,
        id: &str,
        now: Timestamp,
        operator: Option<&str>,
    ) -> Result<Option<StoredKey>, DbError> {
        let (id, operator) = (id.to_owned(), operator.map(str::to_owned));
        let revoke = async move |write: &mut WriteTransaction| {
            let was_revoked = is_revoked(write.connection(), &id).await?;
            let key = revoke(write.connection(), &id, now).await?;
            if let (Some(key), Some(operator), false) = (&key, operator, was_revoked) {
                let target = format!("{id} of {}/{}", key.organization, key.environment);
                let action = OperatorAction::done(now, &operator, (&key.plugin, REVOKE_KEY), target);
                insert_action(write.connection(), &action).await?;
            }
            Ok(key)
        };
        self.write(move |write| Box::pin(revoke(write))).await
    }

    /// Sets the last use of each key id, but never to an earlier time.
    pub async fn touch_keys(&self, uses: &[(Arc<str>, Timestamp)]) -> Result<(), DbError> {
        if uses.is_empty() {
            return Ok(());
        }
        let uses = uses.to_vec();
        self.write(move |write| Box::pin(async move { touch_all(write, &uses).await })).await
    }
}

async fn is_revoked(connection: &mut SqliteConnection, id: &str) -> Result<bool, DbError> {
    let sql = "SELECT EXISTS (SELECT 1 FROM keys WHERE id = ? AND revoked_at IS NOT NULL)";
    Ok(sqlx::query_scalar(sql).bind(id).fetch_one(connection).await?)
}

/// Implements `Database::revoke_key`.
async fn revoke(connection: &mut SqliteConnection, id: &str, now: Timestamp) -> Result<Option<StoredKey>, DbError> {
    sqlx::query("DELETE FROM secrets WHERE name = (SELECT secret FROM keys WHERE id = ?)")
        .bind(id)
        .execute(&mut *connection)
        .await?;
    detach(connection, &[id]).await?;
    let sql = format!(
        "UPDATE keys SET revoked_at = coalesce(revoked_at, ?1), secret = NULL, sealed = NULL, \
         ends_at = min(ends_at, ?1) WHERE id = ?2 RETURNING {COLUMNS}"
    );
    let row = sqlx::query(sqlx::AssertSqlSafe(sql)).bind(int(now)).bind(id).fetch_optional(connection).await?;
    row.as_ref().map(key_of).transpose()
}

async fn touch_all(write: &mut WriteTransaction, uses: &[(Arc<str>, Timestamp)]) -> Result<(), DbError> {
    for (id, at) in uses {
        touch(write.connection(), id, *at).await?;
    }
    Ok(())
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
    let time =
        |column| -> Result<Option<u64>, DbError> { row.try_get::<Option<i64>, _>(column)?.map(unsigned).transpose() };
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
        signs: row.try_get(12)?,
        kind: CredentialKind::parse(row.try_get(13)?).ok_or_else(|| corrupt("kind"))?,
        label: row.try_get(14)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::swaps::SwapFilter;
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
            signs: false,
            kind: CredentialKind::ApiKey,
            label: None,
        }
    }

    #[tokio::test]
    async fn key_is_found_only_by_its_hash() {
        let file = TestFile::open().await;
        file.db.insert_key(&key("key_a", 1), None, None).await.unwrap();
        assert!(file.db.find_key_by_hash(&[1; 32]).await.unwrap() == Some(key("key_a", 1)));
        assert!(file.db.find_key_by_hash(&[2; 32]).await.unwrap().is_none());
    }

    #[tokio::test]
    async fn first_revocation_and_latest_use_are_kept() {
        let file = TestFile::open().await;
        file.db.insert_key(&key("key_a", 1), None, None).await.unwrap();
        file.db.touch_keys(&[("key_a".into(), 50), ("key_a".into(), 40)]).await.unwrap();
        file.db.revoke_key("key_a", 60, None).await.unwrap();
        let revoked = file.db.revoke_key("key_a", 70, None).await.unwrap().unwrap();
        assert_eq!((revoked.last_used_at, revoked.revoked_at), (Some(50), Some(60)));
        assert!(file.db.revoke_key("key_b", 70, None).await.unwrap().is_none());
        assert_eq!(file.db.list_keys().await.unwrap().len(), 1);
    }

    #[tokio::test]
    async fn repeated_revocation_is_recorded_once_in_the_operators_journal() {
        let file = TestFile::open().await;
        file.db.insert_key(&key("key_a", 1), None, None).await.unwrap();
        for now in [60, 60, 70] {
            file.db.revoke_key("key_a", now, Some("ada")).await.unwrap();
        }
        let lines = file.db.list_swaps(&SwapFilter::default(), 10).await.unwrap();
        assert_eq!(lines.iter().map(|line| line.at).collect::<Vec<_>>(), [60]);
    }

    /// Inserts a signing key. A larger hash means a later creation time.
    async fn sign_with(file: &TestFile, id: &str, hash: u8, edit: impl FnOnce(&mut StoredKey)) {
        let mut key = StoredKey { created_at: u64::from(hash), expires_at: None, signs: true, ..key(id, hash) };
        edit(&mut key);
        let copy = StoredSecret { name: format!("copy of {id}"), sealed: vec![hash] };
        file.db.insert_key(&key, Some(&copy), None).await.unwrap();
    }

    async fn signing(file: &TestFile, plugin: &str, environment: &str, now: Timestamp) -> Option<String> {
        let query = SigningKeyQuery { plugin, organization: "acme", environment };
        file.db.find_signing_key(query, now).await.unwrap().map(|found| found.id)
    }

    #[tokio::test]
    async fn oldest_valid_signing_key_of_the_plugin_and_tenant_signs() {
        let file = TestFile::open().await;
        file.db.insert_key(&key("key_mute", 1), None, None).await.unwrap();
        assert_eq!(signing(&file, "notes", "test", 10).await, None);
        sign_with(&file, "key_ends", 2, |key| key.expires_at = Some(20)).await;
        sign_with(&file, "key_notes", 3, |key| key.plugin = "notes".into()).await;
        sign_with(&file, "key_all", 4, |_| ()).await;
        sign_with(&file, "key_other", 5, |key| key.organization = "other".into()).await;
        assert_eq!(signing(&file, "notes", "test", 19).await.as_deref(), Some("key_ends"));
        assert_eq!(signing(&file, "notes", "test", 20).await.as_deref(), Some("key_notes"));
        assert_eq!(signing(&file, "things", "test", 20).await.as_deref(), Some("key_all"));
        assert_eq!(signing(&file, "notes", "live", 20).await, None);
    }

    #[tokio::test]
    async fn revoked_key_no_longer_signs_and_its_copy_is_deleted() {
        let file = TestFile::open().await;
        sign_with(&file, "key_a", 1, |_| ()).await;
        sign_with(&file, "key_b", 2, |_| ()).await;
        assert!(file.db.list_keys().await.unwrap().iter().all(|key| key.signs));
        let revoked = file.db.revoke_key("key_a", 60, None).await.unwrap().unwrap();
        assert!(!revoked.signs);
        assert_eq!(signing(&file, "notes", "test", 60).await.as_deref(), Some("key_b"));
        let left: Vec<String> = file.db.list_secrets().await.unwrap().into_iter().map(|secret| secret.name).collect();
        assert_eq!(left, ["copy of key_b"]);
    }
}
