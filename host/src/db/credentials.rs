//! Keys and tokens issued by plugins: found by their attributes, and deleted some time after they expire or are
//! revoked.
//!
//! `apply::credentials` writes them as part of a batch. Contains only hashes and sealed copies.

use std::sync::Arc;

use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::apply::rows::int;
use super::database::WriteTransaction;
use super::keys::SealedKey;
use super::records::unsigned;
use super::retention::ContinueCheck;
use super::{Database, DbError};
use crate::changes::credential::{Attribute, CredentialKind};
use crate::changes::scope::Scope;
use crate::clock::Timestamp;
use crate::limits::{CREDENTIALS_LIVE_MAX, PRUNE_ROWS};

/// A key or token issued by a plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IssuedCredential {
    pub id: Arc<str>,
    pub kind: CredentialKind,
    pub hash: [u8; 32],
    pub label: String,
    pub attributes: Vec<Attribute>,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    pub last_used_at: Option<Timestamp>,
}

const COLUMNS: &str = "keys.id, keys.kind, keys.hash, keys.label, keys.attributes, keys.created_at, keys.expires_at, \
                       keys.last_used_at";
/// Selects valid credentials by the index of attributes.
const CARRYING: &str = "FROM key_attributes CROSS JOIN keys ON keys.id = key_attributes.key WHERE key_attributes.plugin = ? \
                        AND key_attributes.tenant = ? AND key_attributes.name = ? AND key_attributes.value = ? \
                        AND key_attributes.ends_at > ?";

impl Database {
    /// Returns the valid credentials with the attribute, oldest first, at most twice `CREDENTIALS_LIVE_MAX`.
    pub async fn find_credentials(
        &self,
        scope: &Scope,
        attribute: &Attribute,
        now: Timestamp,
    ) -> Result<Vec<IssuedCredential>, DbError> {
        let sql = format!(
            "SELECT {COLUMNS} {CARRYING} ORDER BY keys.created_at, keys.id LIMIT {}",
            CREDENTIALS_LIVE_MAX.saturating_mul(2)
        );
        let rows = sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(scope.plugin().clone())
            .bind(scope.tenant().clone())
            .bind(attribute.name())
            .bind(attribute.value())
            .bind(int(now))
            .fetch_all(&*self.readers())
            .await?;
        rows.iter().map(credential_of).collect()
    }

    /// Returns the number of valid credentials with the attribute.
    pub async fn count_credentials(
        &self,
        scope: &Scope,
        attribute: &Attribute,
        now: Timestamp,
    ) -> Result<usize, DbError> {
        let sql = "SELECT count(*) FROM key_attributes WHERE plugin = ? AND tenant = ? AND name = ? AND value = ? \
                   AND ends_at > ?";
        let count: i64 = sqlx::query_scalar(sql)
            .bind(scope.plugin().clone())
            .bind(scope.tenant().clone())
            .bind(attribute.name())
            .bind(attribute.value())
            .bind(int(now))
            .fetch_one(&*self.readers())
            .await?;
        Ok(usize::try_from(count).unwrap_or_default())
    }

    /// Returns a valid credential by its id.
    pub async fn find_credential(
        &self,
        scope: &Scope,
        id: &str,
        now: Timestamp,
    ) -> Result<Option<IssuedCredential>, DbError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM keys WHERE id = ? AND label IS NOT NULL AND plugin = ? \
             AND organization || '/' || environment = ? AND ends_at > ?"
        );
        let row = sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(id)
            .bind(scope.plugin().clone())
            .bind(scope.tenant().clone())
            .bind(int(now))
            .fetch_optional(&*self.readers())
            .await?;
        row.as_ref().map(credential_of).transpose()
    }

    /// Returns the sealed copy of the newest valid signing key with the attribute.
    pub async fn find_issued_signer(
        &self,
        scope: &Scope,
        attribute: &Attribute,
        now: Timestamp,
    ) -> Result<Option<SealedKey>, DbError> {
        let sql = format!(
            "SELECT keys.id, keys.sealed {CARRYING} AND keys.sealed IS NOT NULL \
             ORDER BY keys.created_at DESC, keys.id DESC LIMIT 1"
        );
        let row: Option<(String, Vec<u8>)> = sqlx::query_as(sqlx::AssertSqlSafe(sql))
            .bind(scope.plugin().clone())
            .bind(scope.tenant().clone())
            .bind(attribute.name())
            .bind(attribute.value())
            .bind(int(now))
            .fetch_optional(&*self.readers())
            .await?;
        Ok(row.map(|(id, sealed)| SealedKey { id, sealed }))
    }

    /// Deletes credentials that expired or were revoked before `before`, in chunks. Returns the number of deleted
    /// credentials.
    ///
    /// Also deletes the guard of an attribute that no credential has any more. A call that has not read the guard yet
    /// finds no credential in either case.
    pub async fn prune_credentials(
        &self,
        before: Timestamp,
        should_continue: ContinueCheck<'_>,
    ) -> Result<u64, DbError> {
        let mut deleted = 0;
        while should_continue() {
            let chunk = self.prune_credentials_chunk(before).await?;
            deleted += chunk;
            if chunk < u64::from(PRUNE_ROWS) {
                break;
            }
        }
        Ok(deleted)
    }

    async fn prune_credentials_chunk(&self, before: Timestamp) -> Result<u64, DbError> {
        self.write(move |write| Box::pin(async move { delete_ended(write, before).await })).await
    }
}

/// Deletes one chunk for `prune_credentials`. Returns the number of deleted credentials.
async fn delete_ended(write: &mut WriteTransaction, before: Timestamp) -> Result<u64, DbError> {
    let sql = "DELETE FROM keys WHERE id IN (SELECT id FROM keys WHERE label IS NOT NULL AND ends_at < ? \
                   ORDER BY ends_at LIMIT ?) RETURNING id, plugin, organization || '/' || environment, attributes";
    let deleted: Vec<(String, String, String, String)> =
        sqlx::query_as(sql).bind(int(before)).bind(PRUNE_ROWS).fetch_all(write.connection()).await?;
    for (id, plugin, tenant, attributes) in &deleted {
        sqlx::query("DELETE FROM key_attributes WHERE key = ?").bind(id).execute(write.connection()).await?;
        for attribute in parse_attributes(attributes)? {
            let sql = "DELETE FROM guards WHERE plugin = ?1 AND tenant = ?2 AND name = ?3 AND NOT EXISTS (SELECT 1 \
                           FROM key_attributes WHERE plugin = ?1 AND tenant = ?2 AND name = ?4 AND value = ?5)";
            sqlx::query(sql)
                .bind(plugin)
                .bind(tenant)
                .bind(attribute.guard())
                .bind(attribute.name())
                .bind(attribute.value())
                .execute(write.connection())
                .await?;
        }
    }
    Ok(deleted.len() as u64)
}

fn parse_attributes(text: &str) -> Result<Vec<Attribute>, DbError> {
    let corrupt = |what: String| DbError::Corrupt(format!("keys: unreadable attributes: {what}"));
    let pairs: Vec<(String, String)> = serde_json::from_str(text).map_err(|error| corrupt(error.to_string()))?;
    pairs.into_iter().map(|(name, value)| Attribute::new(name, value).map_err(corrupt)).collect()
}

fn credential_of(row: &SqliteRow) -> Result<IssuedCredential, DbError> {
    let time =
        |column| -> Result<Option<u64>, DbError> { row.try_get::<Option<i64>, _>(column)?.map(unsigned).transpose() };
    let corrupt = |what: &str| DbError::Corrupt(format!("keys: unreadable {what}"));
    Ok(IssuedCredential {
        id: row.try_get::<&str, _>(0)?.into(),
        kind: CredentialKind::parse(row.try_get(1)?).ok_or_else(|| corrupt("kind"))?,
        hash: row.try_get::<Vec<u8>, _>(2)?.try_into().map_err(|_| corrupt("hash"))?,
        label: row.try_get(3)?,
        attributes: parse_attributes(row.try_get(4)?)?,
        created_at: unsigned(row.try_get(5)?)?,
        expires_at: time(6)?,
        last_used_at: time(7)?,
    })
}

#[cfg(test)]
mod tests;
