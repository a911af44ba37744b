//! Messages that were stored instead of sent, for operators.

use super::apply::rows::int;
use super::records::unsigned;
use super::{Database, DbError};
use crate::changes::scope::Scope;
use crate::clock::Timestamp;
use crate::limits::OUTBOX_BODY_PREVIEW_BYTES;

/// A message that would have been sent.
#[derive(Clone, Debug)]
pub struct OutboxMessage<'a> {
    /// Id of the message, unless a message with the same key is already stored.
    pub id: &'a str,
    pub scope: &'a Scope,
    pub destination: &'a str,
    pub method: &'a str,
    pub path: &'a str,
    pub media_type: Option<&'a str>,
    pub body: &'a [u8],
    pub key: Option<&'a str>,
    pub at: Timestamp,
}

/// A stored message, with the beginning of its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutboxRow {
    pub id: String,
    pub plugin: String,
    pub tenant: String,
    pub destination: String,
    pub method: String,
    pub path: String,
    pub media_type: Option<String>,
    /// The first `OUTBOX_BODY_PREVIEW_BYTES` bytes.
    pub body: Vec<u8>,
    /// Size of the whole body in bytes.
    pub bytes: u64,
    pub key: Option<String>,
    pub at: Timestamp,
}

impl Database {
    /// Stores a message and returns its id.
    ///
    /// If a message with the same key is already stored for this scope and destination, stores nothing and returns the
    /// id of that message, whatever its content. A message without a key is always stored. The message is durable when
    /// this returns.
    pub async fn store_message(&self, message: &OutboxMessage<'_>) -> Result<String, DbError> {
        let store = sqlx::query_scalar(
            "INSERT INTO outbox (id, plugin, tenant, destination, method, path, media_type, body, key, at) \
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) \
             ON CONFLICT (plugin, tenant, destination, key) WHERE key IS NOT NULL DO UPDATE SET key = excluded.key \
             RETURNING id",
        )
        .bind(message.id.to_owned())
        .bind(message.scope.plugin().clone())
        .bind(message.scope.tenant().clone())
        .bind(message.destination.to_owned())
        .bind(message.method.to_owned())
        .bind(message.path.to_owned())
        .bind(message.media_type.map(str::to_owned))
        .bind(message.body.to_vec())
        .bind(message.key.map(str::to_owned))
        .bind(int(message.at));
        self.write(move |write| Box::pin(async move { Ok(store.fetch_one(write.connection()).await?) })).await
    }

    /// Returns messages, newest first, optionally of one plugin and of one tenant ("acme/test").
    pub async fn list_outbox(
        &self,
        plugin: Option<&str>,
        tenant: Option<&str>,
        limit: u32,
    ) -> Result<Vec<OutboxRow>, DbError> {
        type Row = (String, String, String, String, String, String, Option<String>, Vec<u8>, i64, Option<String>, i64);
        let rows: Vec<Row> = sqlx::query_as(
            "SELECT id, plugin, tenant, destination, method, path, media_type, substr(body, 1, ?4), length(body), key, at \
             FROM outbox WHERE (?1 IS NULL OR plugin = ?1) AND (?2 IS NULL OR tenant = ?2) ORDER BY seq DESC LIMIT ?3",
        )
        .bind(plugin)
        .bind(tenant)
        .bind(limit)
        .bind(OUTBOX_BODY_PREVIEW_BYTES)
        .fetch_all(&*self.readers())
        .await?;
        rows.into_iter()
            .map(|(id, plugin, tenant, destination, method, path, media_type, body, bytes, key, at)| {
                let (bytes, at) = (unsigned(bytes)?, unsigned(at)?);
                Ok(OutboxRow { id, plugin, tenant, destination, method, path, media_type, body, bytes, key, at })
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::testing::{TestFile, scope};

    fn message<'a>(id: &'a str, scope: &'a Scope, key: Option<&'a str>) -> OutboxMessage<'a> {
        let (destination, method, path, media_type) = ("sms", "POST", "/send", Some("text/plain"));
        OutboxMessage { id, scope, destination, method, path, media_type, body: b"hello", key, at: 1_000 }
    }

    #[tokio::test]
    async fn messages_with_the_same_key_are_stored_once_and_others_always() {
        let (file, acme, other) = (TestFile::open().await, scope("notes", "acme/test"), scope("notes", "other/test"));
        let store = async |message: OutboxMessage<'_>| file.db.store_message(&message).await.unwrap();
        assert_eq!(store(message("a", &acme, Some("k"))).await, "a");
        assert_eq!(store(message("b", &acme, Some("k"))).await, "a", "the first is kept");
        assert_eq!(store(message("c", &other, Some("k"))).await, "c", "another tenant's key is another key");
        assert_eq!(store(message("d", &acme, None)).await, "d");
        assert_eq!(store(message("e", &acme, None)).await, "e");
        let ids = |rows: Vec<OutboxRow>| rows.into_iter().map(|row| row.id).collect::<Vec<_>>().join("");
        assert_eq!(ids(file.db.list_outbox(None, None, 10).await.unwrap()), "edca", "the newest first");
        assert_eq!(ids(file.db.list_outbox(Some("notes"), Some("other/test"), 10).await.unwrap()), "c");
        assert_eq!(ids(file.db.list_outbox(Some("others"), None, 10).await.unwrap()), "");
        assert_eq!(ids(file.db.list_outbox(None, None, 2).await.unwrap()), "ed");
    }

    #[tokio::test]
    async fn long_body_is_listed_truncated() {
        let (file, acme) = (TestFile::open().await, scope("notes", "acme/test"));
        let body = vec![b'x'; OUTBOX_BODY_PREVIEW_BYTES as usize + 5];
        file.db.store_message(&OutboxMessage { body: &body, ..message("a", &acme, None) }).await.unwrap();
        let row = file.db.list_outbox(None, None, 1).await.unwrap().remove(0);
        assert_eq!((row.body.len(), row.bytes), (body.len() - 5, body.len() as u64));
    }
}
