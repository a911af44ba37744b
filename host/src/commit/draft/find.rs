//! Pages and counts of durable records, without this call's own writes. A query that a unique index answers alone uses
//! accepted records. `list_in` adds the call's own writes.

use std::sync::Arc;

use super::records::{stored_entry, stored_fields};
use super::{Draft, DraftError, Entry, misuse};
use crate::changes::change_set::{Key, Space};
use crate::changes::scope::Scope;
use crate::commit::overlay::{CollectionSearch, Content};
use crate::db::find::{Condition, FindError, Query, Slot, slot_of};
use crate::db::model::Collection;

/// A page of records. `next` is the `after` of the query for the next page.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FoundPage {
    pub entries: Vec<Entry>,
    pub next: Option<String>,
}

impl Draft {
    /// Returns one page. The returned records are recorded as reads. A record that starts to match later causes no
    /// conflict, unless the page comes from the slot of a unique index. If a returned record has another version than
    /// the call read before, the call conflicts even if it changes nothing.
    pub async fn find(&mut self, collection: &str, query: &Query) -> Result<FoundPage, DraftError> {
        let collection = self.collection(collection)?;
        let Some(scope) = self.call.scope.clone() else { return Ok(FoundPage::default()) };
        if let Some(entries) = self.find_in_slot(&scope, &collection, query).await? {
            return Ok(FoundPage { entries, next: None });
        }
        self.begin_search(&scope, &collection).await;
        let page = self.database().find_page(&scope, &collection, query).await?;
        let mut entries = Vec::with_capacity(page.entries.len());
        for (id, record) in page.entries {
            let key = Key { scope: scope.clone(), space: Space::Record(collection.name.clone()), name: id.clone() };
            let record = self.readable(&collection, &key, record)?;
            self.read_two_versions |= self.seen.get(&key).is_some_and(|seen| seen.version != record.version);
            self.note(key, record.version, Content::Record(record.clone()))?;
            entries.push(stored_entry(&id, record));
        }
        Ok(FoundPage { entries, next: page.next })
    }

    /// Answers the query with a unique index, if that is possible: returns one record or none, without waiting until
    /// accepted writes are durable. The slot is recorded as a read, so this call conflicts if another call takes the
    /// slot before this call commits. `None`: the collection must be searched.
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
        // The record may have left the slot between the two reads.
        let fields = stored_fields(collection, &record.body)?;
        let is_in_slot = collection.slot_name(index, &fields) == Some(name);
        Ok(is_in_slot.then(|| vec![stored_entry(&owner, record)]))
    }

    /// Waits until accepted writes to the collection are durable, and records the search. Must precede a search of the
    /// database.
    async fn begin_search(&mut self, scope: &Scope, collection: &Collection) {
        let search = self.running.shared.settle_collection(scope, &collection.name).await;
        // Only the first search of a collection is recorded, because it has the strictest requirement.
        let is_known = |known: &CollectionSearch| known.collection == search.collection;
        if !self.searches.iter().any(is_known) {
            self.searches.push(search);
        }
    }

    /// Returns all entries of a host collection, including the call's own writes, in the order of their ids. `None`:
    /// more than `limit` records or `FIND_BYTES_MAX` bytes are durable.
    pub(super) async fn list_in(
        &mut self,
        collection: &Arc<Collection>,
        limit: u32,
    ) -> Result<Option<Vec<Entry>>, DraftError> {
        let Some(scope) = self.call.scope.clone() else { return Ok(Some(Vec::new())) };
        self.begin_search(&scope, collection).await;
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

    /// Returns the number of matching records, at most `limit`.
    pub async fn count(&mut self, collection: &str, conditions: &[Condition], limit: u32) -> Result<u32, DraftError> {
        let collection = self.collection(collection)?;
        let Some(scope) = self.call.scope.clone() else { return Ok(0) };
        self.begin_search(&scope, &collection).await;
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
