//! Idempotency records: stored responses of requests with an idempotency key.

use std::sync::Arc;

use super::records::unsigned;
use super::{Database, DbError};
use crate::changes::change_set::Version;
use crate::changes::scope::Scope;

/// A stored idempotency record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredIdempotencyRecord {
    pub fingerprint: [u8; 32],
    pub sealed: Arc<[u8]>,
    pub version: Version,
}

impl Database {
    /// Returns an idempotency record, or `None` if it is absent. `name` is the hex SHA-256 of owner and key, as in
    /// `IdempotencyRecord`.
    pub async fn find_idempotency_record(
        &self,
        scope: &Scope,
        name: &str,
    ) -> Result<Option<StoredIdempotencyRecord>, DbError> {
        let row: Option<(Vec<u8>, Vec<u8>, i64)> = sqlx::query_as(
            "SELECT fingerprint, sealed, version FROM answers WHERE plugin = ? AND tenant = ? AND name = ?",
        )
        .bind(scope.plugin().clone())
        .bind(scope.tenant().clone())
        .bind(name)
        .fetch_optional(&*self.readers())
        .await?;
        let Some((fingerprint, sealed, version)) = row else { return Ok(None) };
        let fingerprint =
            fingerprint.try_into().map_err(|_| DbError::Corrupt("answers: a fingerprint must have 32 bytes".into()))?;
        Ok(Some(StoredIdempotencyRecord { fingerprint, sealed: sealed.into(), version: unsigned(version)? }))
    }
}
