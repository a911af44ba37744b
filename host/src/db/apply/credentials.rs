//! Writes the keys and tokens that plugins issue and revoke, in the transaction of their batch.

use std::sync::LazyLock;

use sqlx::SqliteConnection;

use super::Batch;
use super::rows::{ChunkedSql, Query, int, write_rows};
use super::script::Script;
use crate::changes::change_set::ChangeSet;
use crate::changes::credential::{Attribute, CredentialChange, NewCredential};
use crate::changes::scope::Scope;
use crate::clock::Timestamp;
use crate::db::DbError;

static KEYS: LazyLock<ChunkedSql> = LazyLock::new(|| {
    ChunkedSql::insert(
        "keys (id, hash, plugin, organization, environment, owner, scopes, attributes, created_at, expires_at, kind, \
         label, sealed, ends_at)",
        "(?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
        "",
    )
});

static ATTRIBUTES: LazyLock<ChunkedSql> = LazyLock::new(|| {
    ChunkedSql::insert("key_attributes (plugin, tenant, name, value, ends_at, key)", "(?,?,?,?,?,?)", "")
});

struct KeyRow<'a> {
    new: &'a NewCredential,
    scope: &'a Scope,
    organization: &'a str,
    environment: &'a str,
    scopes: String,
    attributes: String,
    now: Timestamp,
    ends_at: i64,
}

/// Issues all keys of the batch before it revokes any. An id is issued only once, so no key is issued after its
/// revocation.
pub(super) async fn write_credentials(script: &mut Script<'_>, batch: &Batch) -> Result<(), DbError> {
    let (mut issued, mut revoked) = (Vec::new(), Vec::new());
    for changes in batch.changes.iter().map(|accepted| &accepted.changes) {
        let mut ids = Vec::new();
        for change in &changes.credentials {
            match change {
                CredentialChange::Issue(new) => issued.push(key_row(changes, new)?),
                CredentialChange::Revoke(ended) => ids.push(&*ended.id),
            }
        }
        if !ids.is_empty() {
            revoked.push((ids, changes.now));
        }
    }
    if issued.is_empty() && revoked.is_empty() {
        return Ok(());
    }
    let connection = script.connection().await?;
    write_rows(connection, &KEYS, &issued, bind_key).await?;
    let attributes = issued.iter().flat_map(|row| row.new.attributes.iter().map(move |attribute| (row, attribute)));
    write_rows(connection, &ATTRIBUTES, &attributes.collect::<Vec<_>>(), bind_attribute).await?;
    for (ids, now) in revoked {
        revoke(connection, &ids, now).await?;
    }
    Ok(())
}

fn key_row<'a>(changes: &'a ChangeSet, new: &'a NewCredential) -> Result<KeyRow<'a>, DbError> {
    let scope = &changes.scope;
    let Some((organization, environment)) = scope.tenant().split_once('/') else {
        return Err(DbError::Corrupt(format!("{:?} is not a tenant", scope.tenant())));
    };
    let attributes: Vec<_> = new.attributes.iter().map(|attribute| (attribute.name(), attribute.value())).collect();
    let (scopes, attributes) = (json(&new.scopes)?, json(&attributes)?);
    // A key without expiry gets a time later than any clock.
    let ends_at = new.expires_at.map_or(i64::MAX, int);
    Ok(KeyRow { new, scope, organization, environment, scopes, attributes, now: changes.now, ends_at })
}

fn bind_key(query: Query, row: &KeyRow<'_>) -> Query {
    let new = row.new;
    query
        .bind(new.id.clone())
        .bind(new.hash.to_vec())
        .bind(row.scope.plugin().clone())
        .bind(row.organization.to_owned())
        .bind(row.environment.to_owned())
        .bind(new.owner.clone())
        .bind(row.scopes.clone())
        .bind(row.attributes.clone())
        .bind(int(row.now))
        .bind(new.expires_at.map(int))
        .bind(new.kind.name())
        .bind(new.label.clone())
        .bind(new.sealed.as_deref().map(<[u8]>::to_vec))
        .bind(row.ends_at)
}

fn bind_attribute(query: Query, (row, attribute): &(&KeyRow<'_>, &Attribute)) -> Query {
    query
        .bind(row.scope.plugin().clone())
        .bind(row.scope.tenant().clone())
        .bind(attribute.name().to_owned())
        .bind(attribute.value().to_owned())
        .bind(row.ends_at)
        .bind(row.new.id.clone())
}

async fn revoke(connection: &mut SqliteConnection, ids: &[&str], now: Timestamp) -> Result<(), DbError> {
    let sql = "UPDATE keys SET revoked_at = coalesce(revoked_at, ?1), ends_at = min(ends_at, ?1), sealed = NULL \
               WHERE id IN (SELECT value FROM json_each(?2)) AND label IS NOT NULL";
    sqlx::query(sql).bind(int(now)).bind(json(&ids)?).execute(&mut *connection).await?;
    detach(connection, ids).await
}

/// Removes the attributes of revoked keys, so that no search finds them.
pub(in crate::db) async fn detach(connection: &mut SqliteConnection, keys: &[&str]) -> Result<(), DbError> {
    let sql = "DELETE FROM key_attributes WHERE key IN (SELECT value FROM json_each(?))";
    sqlx::query(sql).bind(json(&keys)?).execute(connection).await?;
    Ok(())
}

fn json(value: &impl serde::Serialize) -> Result<String, DbError> {
    serde_json::to_string(value).map_err(|error| DbError::Corrupt(error.to_string()))
}
