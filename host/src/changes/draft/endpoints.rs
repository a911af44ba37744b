//! Endpoints of webhooks, and what a call wants done with their deliveries.

use std::sync::Arc;

use super::{Draft, DraftError, Entry, check_name, misuse};
use crate::changes::change_set::{DeliveryCommand, Timestamp};
use crate::changes::endpoint::Endpoint;
use crate::db::DbError;
use crate::db::deliveries::{DeliveryPage, DeliveryState, StoredAttempt};
use crate::db::model::ENDPOINTS;
use crate::limits::{CHANGE_ROW_BYTES, DELIVERY_COMMANDS_MAX, ENDPOINTS_MAX};

/// An endpoint as the call sees it, its own writes included.
#[derive(Clone, Debug)]
pub struct EndpointEntry {
    pub id: Arc<str>,
    pub endpoint: Endpoint,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// A tenant has as many endpoints as it may.
#[derive(Debug, PartialEq, Eq)]
pub struct TooMany;

impl Draft {
    pub async fn find_endpoint(&mut self, id: &str) -> Result<Option<EndpointEntry>, DraftError> {
        let collection = self.host_collection(ENDPOINTS)?;
        self.get_in(collection, id).await?.map(endpoint_entry).transpose()
    }

    /// In the order of their ids.
    pub async fn list_endpoints(&mut self) -> Result<Vec<EndpointEntry>, DraftError> {
        let collection = self.host_collection(ENDPOINTS)?;
        self.list_in(&collection, ENDPOINTS_MAX).await?.into_iter().map(endpoint_entry).collect()
    }

    /// Makes it, or takes the place of the one with this id. Of two calls that add one at the same time, one sees the other.
    pub async fn put_endpoint(&mut self, id: &str, endpoint: &Endpoint) -> Result<Result<(), TooMany>, DraftError> {
        let collection = self.host_collection(ENDPOINTS)?;
        let body = serde_json::to_string(endpoint).map_err(|error| DbError::Corrupt(error.to_string()))?;
        let refused = if self.get_in(collection.clone(), id).await?.is_some() {
            self.replace_in(collection, id, body).await?.err()
        } else {
            self.guard("host.endpoints").await?;
            if self.list_endpoints().await?.len() >= ENDPOINTS_MAX as usize {
                return Ok(Err(TooMany));
            }
            self.insert_in(collection, id, body).await?.err()
        };
        match refused {
            None => Ok(Ok(())),
            Some(refusal) => Err(misuse(format!("endpoint {id:.80} cannot be stored: {refusal:?}"))),
        }
    }

    /// Whether there was one.
    pub async fn remove_endpoint(&mut self, id: &str) -> Result<bool, DraftError> {
        let collection = self.host_collection(ENDPOINTS)?;
        Ok(self.delete_in(collection, id).await?.is_ok())
    }

    /// The newest first. A look at what is durable: the call's own orders do not show. `None`: there is no such endpoint.
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
            Some(text) => {
                Some(text.parse().map_err(|_| DraftError::BadCursor("the cursor is none of this list".to_owned()))?)
            }
        };
        Ok(Some(self.database().find_deliveries(&scope, endpoint, state, before, limit).await?))
    }

    /// `None`: there is no such delivery.
    pub async fn find_attempts(
        &mut self,
        endpoint: &str,
        event: &str,
    ) -> Result<Option<Vec<StoredAttempt>>, DraftError> {
        let Some(scope) = self.call.scope.clone() else { return Ok(None) };
        let found = self.database().find_attempts(&scope, endpoint, event).await?;
        let known = !found.is_empty() || self.database().delivery_exists(&scope, endpoint, event).await?;
        Ok(known.then_some(found))
    }

    /// Whether there are such an endpoint and such an event.
    pub async fn redeliver(&mut self, endpoint: &str, event: &str) -> Result<bool, DraftError> {
        let scope = self.scope()?;
        check_name("the id of an event", event)?;
        if self.find_endpoint(endpoint).await?.is_none() || self.database().find_event(&scope, event).await?.is_none() {
            return Ok(false);
        }
        self.command(DeliveryCommand::Redeliver { endpoint: endpoint.into(), event: event.into() })?;
        Ok(true)
    }

    /// Whether there is such an endpoint.
    pub async fn recover(&mut self, endpoint: &str, since: Timestamp) -> Result<bool, DraftError> {
        if self.find_endpoint(endpoint).await?.is_none() {
            return Ok(false);
        }
        let earlier = self.deliveries.iter_mut().find_map(|command| match command {
            DeliveryCommand::Recover { endpoint: other, since } if **other == *endpoint => Some(since),
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
            return Err(misuse(format!("a call sends at most {DELIVERY_COMMANDS_MAX} deliveries again")));
        }
        self.collect(CHANGE_ROW_BYTES)?;
        self.deliveries.push(command);
        Ok(())
    }
}

fn endpoint_entry(entry: Entry) -> Result<EndpointEntry, DraftError> {
    let endpoint = Endpoint::parse(&entry.body)
        .map_err(|error| DbError::Corrupt(format!("the endpoint {} cannot be read: {error}", entry.id)))?;
    Ok(EndpointEntry { id: entry.id, endpoint, created_at: entry.created_at, updated_at: entry.updated_at })
}
