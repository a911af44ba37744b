//! Pages and counts: a look at what is durable, without this call's own writes. Where a unique index says it all: at what is accepted.

use std::sync::Arc;

use super::records::{stored_entry, stored_fields};
use super::{Draft, DraftError, Entry, misuse};
use crate::changes::change_set::{Key, Space};
use crate::changes::scope::Scope;
use crate::commit::overlay::{CollectionSearch, Content};
use crate::db::find::{Condition, FindError, Query, Slot, slot_of};
use crate::db::model::Collection;

/// `next` is the `after` of the query for the page that follows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FoundPage {
    pub entries: Vec<Entry>,
    pub next: Option<String>,
}

impl Draft {
    /// What it returns is noted as read; that more could be there later is not, but for the slot of a unique index.
    pub async fn find(&mut self, collection: &str, query: &Query) -> Result<FoundPage, DraftError> {
        let collection = self.collection(collection)?;
        let Some(scope) = self.call.scope.clone() else { return Ok(FoundPage::default()) };
        if let Some(entries) = self.find_in_slot(&scope, &collection, query).await? {
            return Ok(FoundPage { entries, next: None });
        }
        self.settle_and_note(&scope, &collection).await;
        let page = self.database().find_page(&scope, &collection, query).await?;
        let mut entries = Vec::with_capacity(page.entries.len());
        for (id, record) in page.entries {
            let key = Key { scope: scope.clone(), space: Space::Record(collection.name.clone()), name: id.clone() };
            let record = self.readable(&collection, &key, record)?;
            self.note(key, record.version, Content::Record(record.clone()))?;
            entries.push(stored_entry(&id, record));
        }
        Ok(FoundPage { entries, next: page.next })
    }

    /// Where a unique index says it all: the one record, or none, without waiting for the disk. Who takes the slot later
    /// conflicts. `None`: pages have to be looked through.
    async fn find_in_slot(
        &mut self,
        scope: &Scope,
        collection: &Arc<Collection>,
        query: &Query,
    ) -> Result<Option<Vec<Entry>>, DraftError> {
        let slot = slot_of(collection, query).filter(|slot| self.database().keeps_unique(collection, slot.index));
        let Some(Slot { index, fields, name }) = slot else { return Ok(None) };
        let space = Space::Unique(collection.name.clone(), index.id.clone());
        let key = Key { scope: scope.clone(), space, name: name.clone() };
        let Some(owner) = self.stored_owner(collection, (index, &fields), &key).await? else {
            return Ok(Some(Vec::new()));
        };
        let Some(record) = self.stored_in(scope, collection, &owner).await? else { return Ok(None) };
        // Between the two looks it may have left the slot.
        let holds = stored_fields(collection, &record.body)?;
        let is_it = collection.slot_name(index, &holds) == Some(name);
        Ok(is_it.then(|| vec![stored_entry(&owner, record)]))
    }

    /// To be awaited before the database searches the collection.
    async fn settle_and_note(&mut self, scope: &Scope, collection: &Collection) {
        let search = self.running.shared.settle_collection(scope, &collection.name).await;
        // The first search of a collection stands for later ones: it requires the most.
        let is_known = |known: &CollectionSearch| known.collection == search.collection;
        if !self.searches.iter().any(is_known) {
            self.searches.push(search);
        }
    }

    /// Returns all entries of a collection of the host, the call's own writes included, in the order of their ids. `None`: more
    /// than `limit` are durable, or more than `FIND_BYTES_MAX` bytes.
    pub(super) async fn list_in(
        &mut self,
        collection: &Arc<Collection>,
        limit: u32,
    ) -> Result<Option<Vec<Entry>>, DraftError> {
        let Some(scope) = self.call.scope.clone() else { return Ok(Some(Vec::new())) };
        self.settle_and_note(&scope, collection).await;
        let page = self.database().find_page(&scope, collection, &Query { limit, ..Query::default() }).await?;
        if page.next.is_some() {
            return Ok(None);
        }
        let space = Space::Record(collection.name.clone());
        let mut ids: Vec<Arc<str>> = Vec::new();
        for (id, record) in page.entries {
            let key = Key { scope: scope.clone(), space: space.clone(), name: id.clone() };
            self.note(key, record.version, Content::Record(record))?;
            ids.push(id);
        }
        ids.extend(self.records.keys().filter(|key| key.space == space).map(|key| key.name.clone()));
        ids.sort();
        ids.dedup();
        let mut entries = Vec::with_capacity(ids.len());
        for id in ids {
            entries.extend(self.get_in(collection.clone(), &id).await?);
        }
        Ok(Some(entries))
    }

    /// Stops counting at `limit`.
    pub async fn count(&mut self, collection: &str, conditions: &[Condition], limit: u32) -> Result<u32, DraftError> {
        let collection = self.collection(collection)?;
        let Some(scope) = self.call.scope.clone() else { return Ok(0) };
        self.settle_and_note(&scope, &collection).await;
        Ok(self.database().count_records(&scope, &collection, conditions, limit).await?)
    }
}

impl From<FindError> for DraftError {
    fn from(error: FindError) -> DraftError {
        match error {
            FindError::Misuse(sentence) => misuse(sentence),
            FindError::BadCursor(sentence) => DraftError::BadCursor(sentence),
            FindError::Database(error) => DraftError::Database(error),
        }
    }
}
