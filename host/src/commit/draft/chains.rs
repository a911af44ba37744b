//! Watched addresses and followed transactions of blockchains, as changed by calls and by the host.

use super::{Draft, DraftError, Stored, misuse};
use crate::changes::chain::ChainNote;
use crate::changes::host_collections::CHAIN_NOTES;
use crate::limits::{CHAIN_NAME_BYTES_MAX, TASK_PAYLOAD_BYTES_MAX};

impl Draft {
    /// Creates the record or replaces the one with its id.
    pub async fn put_chain_note(&mut self, note: &ChainNote) -> Result<(), DraftError> {
        let id = note.id();
        check(&id, note)?;
        self.put_host_record(CHAIN_NOTES, &id, note).await
    }

    pub async fn find_chain_note(&mut self, id: &str) -> Result<Option<Stored<ChainNote>>, DraftError> {
        if id.len() > CHAIN_NAME_BYTES_MAX {
            return Ok(None);
        }
        self.find_host_record(CHAIN_NOTES, id, ChainNote::parse).await
    }

    /// Deletes the record. Returns true if it existed.
    pub async fn remove_chain_note(&mut self, id: &str) -> Result<bool, DraftError> {
        if id.len() > CHAIN_NAME_BYTES_MAX {
            return Ok(false);
        }
        self.remove_host_record(CHAIN_NOTES, id).await
    }
}

fn check(id: &str, note: &ChainNote) -> Result<(), DraftError> {
    let context = match note {
        ChainNote::Watch(watch) => &watch.context,
        ChainNote::Following(following) => &following.context,
        ChainNote::Sighting(sighting) => &sighting.context,
    };
    if id.len() > CHAIN_NAME_BYTES_MAX {
        return Err(misuse(format!("an address or hash of {} bytes belongs to no blockchain", id.len())));
    }
    if context.len() > TASK_PAYLOAD_BYTES_MAX {
        return Err(misuse(format!("a context must have at most {TASK_PAYLOAD_BYTES_MAX} bytes")));
    }
    super::raw("a context", context.clone()).map(|_| ())
}
