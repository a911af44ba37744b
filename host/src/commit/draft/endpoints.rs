//! Webhook endpoints, and commands of a call about their deliveries.

use std::sync::Arc;

use super::{Draft, DraftError, Entry, RecordError, check_name, misuse};
use crate::changes::change_set::DeliveryCommand;
use crate::changes::endpoint::{Endpoint, EndpointId};
use crate::changes::host_collections::ENDPOINTS;
use crate::clock::Timestamp;
use crate::db::DbError;
use crate::db::deliveries::{DeliveryPage, DeliveryState, StoredAttempt};
use crate::limits::{CHANGE_ROW_BYTES, DELIVERY_COMMANDS_MAX, ENDPOINTS_BYTES_MAX, ENDPOINTS_MAX};

/// An endpoint in the view of the call, including its own writes.
#[derive(Clone, Debug)]
pub struct EndpointEntry {
    pub id: Arc<str>,
    pub endpoint: Endpoint,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// A collection of a tenant is full.
#[derive(Debug, PartialEq, Eq)]
pub enum TooMany {
    Entries,
    /// The total size of all entries would be too large.
    Bytes,
}

impl EndpointEntry {
    pub fn parse(entry: Entry) -> Result<EndpointEntry, DraftError> {
        let endpoint = Endpoint::parse(&entry.body)
            .map_err(|error| DbError::Corrupt(format!("the endpoint {} cannot be read: {error}", entry.id)))?;
        Ok(EndpointEntry { id: entry.id, endpoint, created_at: entry.created_at, updated_at: entry.updated_at })
    }
}

impl Draft {
    pub async fn find_endpoint(&mut self, id: &str) -> Result<Option<EndpointEntry>, DraftError> {
        let collection = self.host_collection(ENDPOINTS)?;
        self.get_in(collection, id).await?.map(EndpointEntry::parse).transpose()
    }

    /// Returns the stored endpoints in the order of their ids. They are not parsed, because that needs several times as
    /// much memory.
    pub async fn list_endpoints(&mut self) -> Result<Vec<Entry>, DraftError> {
        let collection = self.host_collection(ENDPOINTS)?;
        let entries = self.list_in(&collection, ENDPOINTS_MAX).await?;
        entries.ok_or_else(|| DraftError::Limit("the endpoints of a tenant are too large to be listed".to_owned()))
    }

    /// Creates the endpoint or replaces the one with this id. Two calls that add bytes at the same time conflict.
    pub async fn put_endpoint(&mut self, id: &str, endpoint: &Endpoint) -> Result<Result<(), TooMany>, DraftError> {
        let collection = self.host_collection(ENDPOINTS)?;
        let body = write(endpoint)?;
        let before = self.get_in(collection.clone(), id).await?.map(|entry| entry.body.len());
        if before.is_none_or(|before| body.len() > before) {
            self.guard("host.endpoints").await?;
            let Some(entries) = self.list_in(&collection, ENDPOINTS_MAX).await? else { return Ok(Err(TooMany::Bytes)) };
            let others: usize = entries.iter().filter(|entry| *entry.id != *id).map(|entry| entry.body.len()).sum();
            if before.is_none() && entries.len() >= ENDPOINTS_MAX as usize {
                return Ok(Err(TooMany::Entries));
            }
            if others + body.len() > ENDPOINTS_BYTES_MAX {
                return Ok(Err(TooMany::Bytes));
            }
        }
        let written = match before {
            Some(_) => self.replace_in(collection, id, body).await?,
            None => self.insert_in(collection, id, body).await?,
        };
        written.map_err(|error| cannot_be_stored(id, &error)).map(Ok)
    }

    /// Replaces the key of an endpoint. The few bytes that this adds do not count towards the limit.
    pub async fn rotate_endpoint_key(&mut self, id: &str, endpoint: &Endpoint) -> Result<(), DraftError> {
        let collection = self.host_collection(ENDPOINTS)?;
        let written = self.replace_in(collection, id, write(endpoint)?).await?;
        written.map_err(|error| cannot_be_stored(id, &error))
    }

    /// Deletes the endpoint. Returns true if it existed.
    pub async fn remove_endpoint(&mut self, id: &str) -> Result<bool, DraftError> {
        let collection = self.host_collection(ENDPOINTS)?;
        Ok(self.delete_in(collection, id).await?.is_ok())
    }

    /// Returns durable deliveries of the endpoint, the newest first. Does not include commands of this call. `None`:
    /// the endpoint does not exist.
    pub async fn find_deliveries(
        &mut self,
        endpoint: &str,
        state: Option<DeliveryState>,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Option<DeliveryPage>, DraftError> {
        let Some(scope) = self.call.scope.clone() else { return Ok(None) };
        if self.find_endpoint(endpoint).await?.is_none() {
            return Ok(None);
        }
        let before = match after {
            None => None,
            Some(text) => Some(
                text.parse()
                    .map_err(|_| DraftError::BadCursor("the cursor does not belong to this list".to_owned()))?,
            ),
        };
        Ok(Some(self.database().find_deliveries(&scope, &endpoint.into(), state, before, limit).await?))
    }

    /// Returns the attempts of a delivery. `None`: the delivery does not exist.
    pub async fn find_attempts(
        &mut self,
        endpoint: &str,
        event: &str,
    ) -> Result<Option<Vec<StoredAttempt>>, DraftError> {
        let Some(scope) = self.call.scope.clone() else { return Ok(None) };
        let endpoint = EndpointId::from(endpoint);
        let found = self.database().find_attempts(&scope, &endpoint, event).await?;
        let known = !found.is_empty() || self.database().delivery_exists(&scope, &endpoint, event).await?;
        Ok(known.then_some(found))
    }

    /// Delivers the event to the endpoint again. Returns false if the endpoint or the event does not exist.
    pub async fn redeliver(&mut self, endpoint: &str, event: &str) -> Result<bool, DraftError> {
        let scope = self.scope()?;
        check_name("the id of an event", event)?;
        if self.find_endpoint(endpoint).await?.is_none() || self.database().find_event(&scope, event).await?.is_none() {
            return Ok(false);
        }
        self.command(DeliveryCommand::Redeliver { endpoint: endpoint.into(), event: event.into() })?;
        Ok(true)
    }

    /// Repeats the deliveries to the endpoint that were given up since that time. Returns false if the endpoint does
    /// not exist.
    pub async fn recover(&mut self, endpoint: &str, since: Timestamp) -> Result<bool, DraftError> {
        if self.find_endpoint(endpoint).await?.is_none() {
            return Ok(false);
        }
        let earlier = self.deliveries.iter_mut().find_map(|command| match command {
            DeliveryCommand::Recover { endpoint: other, since } if other.as_str() == endpoint => Some(since),
            _ => None,
        });
        match earlier {
            Some(earlier) => *earlier = since.min(*earlier),
            None => self.command(DeliveryCommand::Recover { endpoint: endpoint.into(), since })?,
        }
        Ok(true)
    }

    fn command(&mut self, command: DeliveryCommand) -> Result<(), DraftError> {
        if self.deliveries.len() >= DELIVERY_COMMANDS_MAX {
            return Err(misuse(format!("a call may repeat at most {DELIVERY_COMMANDS_MAX} deliveries")));
        }
        self.collect(CHANGE_ROW_BYTES)?;
        self.deliveries.push(command);
        Ok(())
    }
}

fn cannot_be_stored(id: &str, error: &RecordError) -> DraftError {
    misuse(format!("endpoint {id:.80} cannot be stored: {error:?}"))
}

fn write(endpoint: &Endpoint) -> Result<String, DbError> {
    serde_json::to_string(endpoint).map_err(|error| DbError::Corrupt(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::changes::endpoint::SigningKey;
    use crate::commit::testing::{Bench, endpoint};

    async fn filled(count: usize, bytes: usize) -> Bench {
        let bench = Bench::open().await;
        for number in 0..count {
            let put = bench.run(async |draft| {
                assert_eq!(draft.put_endpoint(&format!("ep-{number}"), &endpoint(bytes)).await?, Ok(()));
                Ok(())
            });
            put.await.unwrap();
        }
        bench
    }

    #[tokio::test]
    async fn endpoints_of_a_tenant_are_bounded_in_bytes() {
        let eighth = ENDPOINTS_BYTES_MAX / 8;
        let bench = filled(7, eighth).await;
        let mut draft = bench.begin();
        assert_eq!(draft.put_endpoint("ep-7", &endpoint(eighth)).await.unwrap(), Err(TooMany::Bytes));
        assert_eq!(draft.put_endpoint("ep-6", &endpoint(2 * eighth)).await.unwrap(), Err(TooMany::Bytes));
        assert_eq!(draft.put_endpoint("ep-6", &endpoint(eighth / 2)).await.unwrap(), Ok(()));
        assert_eq!(draft.put_endpoint("ep-7", &endpoint(eighth)).await.unwrap(), Ok(()));
        assert_eq!(draft.list_endpoints().await.unwrap().len(), 8);
    }

    #[tokio::test]
    async fn endpoint_key_is_replaced_even_if_the_limit_is_reached() {
        let bytes = ENDPOINTS_BYTES_MAX / 8 - 300;
        let bench = filled(8, bytes).await;
        let mut rotated = endpoint(bytes);
        rotated.key = SigningKey { nonce: "0".repeat(4_000), number: 2, previous_until: Some(1) };
        let mut draft = bench.begin();
        assert_eq!(draft.put_endpoint("ep-0", &rotated).await.unwrap(), Err(TooMany::Bytes));
        draft.rotate_endpoint_key("ep-0", &rotated).await.unwrap();
        assert_eq!(draft.find_endpoint("ep-0").await.unwrap().unwrap().endpoint.key.number, 2);
    }
}
