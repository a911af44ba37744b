//! Destinations of the calling tenant.

use super::{Draft, DraftError, TooMany, misuse};
use crate::changes::destination::Destination;
use crate::changes::host_collections::DESTINATIONS;
use crate::db::DbError;
use crate::limits::DESTINATIONS_MAX;

impl Draft {
    /// Returns the destination in the view of the call, including its own writes.
    pub async fn find_destination(&mut self, name: &str) -> Result<Option<Destination>, DraftError> {
        let collection = self.host_collection(DESTINATIONS)?;
        let Some(entry) = self.get_in(collection, name).await? else { return Ok(None) };
        // The parser's message is not used, because it would quote the record.
        let unreadable = |_| DbError::Corrupt(format!("the destination {name:.80} cannot be read"));
        Ok(Some(Destination::parse(&entry.body).map_err(unreadable)?))
    }

    /// Creates the destination or replaces the one with this name. Two calls that add a destination at the same time
    /// conflict.
    pub async fn put_destination(
        &mut self,
        name: &str,
        destination: &Destination,
    ) -> Result<Result<(), TooMany>, DraftError> {
        let collection = self.host_collection(DESTINATIONS)?;
        let body = serde_json::to_string(destination).map_err(|error| DbError::Corrupt(error.to_string()))?;
        let error = if self.get_in(collection.clone(), name).await?.is_some() {
            self.replace_in(collection, name, body).await?.err()
        } else {
            self.guard("host.destinations").await?;
            let entries = self.list_in(&collection, DESTINATIONS_MAX).await?;
            if entries.is_none_or(|entries| entries.len() >= DESTINATIONS_MAX as usize) {
                return Ok(Err(TooMany::Entries));
            }
            self.insert_in(collection, name, body).await?.err()
        };
        match error {
            None => Ok(Ok(())),
            Some(error) => Err(misuse(format!("destination {name:.80} cannot be stored: {error:?}"))),
        }
    }

    /// Deletes the destination. Returns true if it existed.
    pub async fn remove_destination(&mut self, name: &str) -> Result<bool, DraftError> {
        let collection = self.host_collection(DESTINATIONS)?;
        Ok(self.delete_in(collection, name).await?.is_ok())
    }
}
