//! Keys and tokens that plugins issue and revoke, in the transaction of the calls that do.

use sqlx::SqliteConnection;

use super::Batch;
use super::rows::int;
use crate::changes::change_set::{ChangeSet, Timestamp};
use crate::changes::credential::{Attribute, CredentialChange, EndedCredential, NewCredential};
use crate::changes::scope::Scope;
use crate::db::DbError;

pub(super) async fn write_credentials(connection: &mut SqliteConnection, batch: &Batch) -> Result<(), DbError> {
    for changes in batch.changes.iter().map(|accepted| &accepted.changes) {
        for change in &changes.credentials {
            match change {
                CredentialChange::Issue(new) => issue(connection, changes, new).await?,
                CredentialChange::Revoke(ended) => revoke(connection, ended, changes.now).await?,
            }
        }
    }
    Ok(())
}

async fn issue(connection: &mut SqliteConnection, changes: &ChangeSet, new: &NewCredential) -> Result<(), DbError> {
    let scope = &changes.scope;
    let Some((organization, environment)) = scope.tenant().split_once('/') else {
        return Err(DbError::Corrupt(format!("{:?} is no tenant", scope.tenant())));
    };
    // Later than any clock.
    let ends_at = new.expires_at.map_or(i64::MAX, int);
    let sql = "INSERT INTO keys (id, hash, plugin, organization, environment, owner, scopes, attributes, created_at, \
               expires_at, kind, label, sealed, ends_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
    sqlx::query(sql)
        .bind(new.id.clone())
        .bind(new.hash.to_vec())
        .bind(scope.plugin().clone())
        .bind(organization)
        .bind(environment)
        .bind(new.owner.clone())
        .bind(json(&new.scopes)?)
        .bind(json(&new.attributes.iter().map(|attribute| (attribute.name(), attribute.value())).collect::<Vec<_>>())?)
        .bind(int(changes.now))
        .bind(new.expires_at.map(int))
        .bind(new.kind.name())
        .bind(new.label.as_str())
        .bind(new.sealed.as_deref())
        .bind(ends_at)
        .execute(&mut *connection)
        .await?;
    for attribute in &new.attributes {
        attach(connection, scope, attribute, (ends_at, &new.id)).await?;
    }
    Ok(())
}

async fn attach(
    connection: &mut SqliteConnection,
    scope: &Scope,
    attribute: &Attribute,
    (ends_at, key): (i64, &str),
) -> Result<(), DbError> {
    let sql = "INSERT INTO key_attributes (plugin, tenant, name, value, ends_at, key) VALUES (?, ?, ?, ?, ?, ?)";
    sqlx::query(sql)
        .bind(scope.plugin().clone())
        .bind(scope.tenant().clone())
        .bind(attribute.name())
        .bind(attribute.value())
        .bind(ends_at)
        .bind(key)
        .execute(connection)
        .await?;
    Ok(())
}

async fn revoke(connection: &mut SqliteConnection, ended: &EndedCredential, now: Timestamp) -> Result<(), DbError> {
    let sql = "UPDATE keys SET revoked_at = coalesce(revoked_at, ?), ends_at = min(ends_at, ?), sealed = NULL \
               WHERE id = ? AND label IS NOT NULL";
    sqlx::query(sql).bind(int(now)).bind(int(now)).bind(ended.id.clone()).execute(&mut *connection).await?;
    detach(connection, &ended.id).await
}

/// What is revoked is found no more.
pub(in crate::db) async fn detach(connection: &mut SqliteConnection, key: &str) -> Result<(), DbError> {
    sqlx::query("DELETE FROM key_attributes WHERE key = ?").bind(key).execute(connection).await?;
    Ok(())
}

fn json(value: &impl serde::Serialize) -> Result<String, DbError> {
    serde_json::to_string(value).map_err(|error| DbError::Corrupt(error.to_string()))
}
