//! Records by id, unique slots, guards.

use std::sync::Arc;

use super::{Draft, DraftError, check_name, misuse};
use crate::changes::change_set::{Field, Key, NewRecord, Record, Space, Version};
use crate::changes::scope::Scope;
use crate::clock::Timestamp;
use crate::commit::overlay::Content;
use crate::db::DbError;
use crate::db::model::{Collection, HOST_DATA_VERSION, Index, Owner};
use crate::limits::{GET_MANY_BYTES_MAX, RECORD_BYTES_MAX};

/// A record in the view of the call, including its own writes.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub id: Arc<str>,
    /// Version before this call. 0 if the record was absent, or if this call wrote it without reading it.
    pub version: Version,
    pub body: Arc<str>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// An expected error of a write, which the plugin can handle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordError {
    NotFound,
    AlreadyExists,
    /// Names the index.
    NotUnique(Arc<str>),
    TooLarge,
}

/// The record of a write.
struct Target {
    scope: Scope,
    collection: Arc<Collection>,
    key: Key,
}

/// The state of a record before a write.
struct Current {
    version: Version,
    body: Arc<str>,
    created_at: Timestamp,
    updated_at: Timestamp,
    /// Known for a record that this call wrote itself.
    fields: Option<Vec<Field>>,
}

/// The fields of unique indexes before and after a write.
struct View {
    collection: Arc<Collection>,
    /// Indexes of this collection are excluded, because another view has them.
    besides: Option<Arc<Collection>>,
    before: Option<Vec<Field>>,
    after: Option<Vec<Field>>,
}

impl View {
    fn uniques(&self) -> impl Iterator<Item = &Index> {
        let is_new = |index: &&Index| self.besides.as_ref().is_none_or(|own| !own.declares(index));
        self.collection.unique_indexes().filter(is_new)
    }
}

impl Draft {
    pub async fn get(&mut self, collection: &str, id: &str) -> Result<Option<Entry>, DraftError> {
        self.get_in(self.collection(collection)?, id).await
    }

    pub(super) async fn get_in(&mut self, collection: Arc<Collection>, id: &str) -> Result<Option<Entry>, DraftError> {
        check_name("the id of a record", id)?;
        let Some(scope) = self.call.scope.clone() else { return Ok(None) };
        let target = target(scope, collection, id);
        Ok(self.current(&target).await?.map(|current| entry(&target.key.name, current)))
    }

    /// Returns the records in the order of `ids`.
    pub async fn get_many(&mut self, collection: &str, ids: &[String]) -> Result<Vec<Option<Entry>>, DraftError> {
        self.load_missing(collection, ids).await?;
        let mut entries = Vec::with_capacity(ids.len());
        for id in ids {
            entries.push(self.get(collection, id).await?);
        }
        Ok(entries)
    }

    pub async fn insert(
        &mut self,
        collection: &str,
        id: &str,
        body: String,
    ) -> Result<Result<(), RecordError>, DraftError> {
        self.insert_in(self.collection(collection)?, id, body).await
    }

    pub(super) async fn insert_in(
        &mut self,
        collection: Arc<Collection>,
        id: &str,
        body: String,
    ) -> Result<Result<(), RecordError>, DraftError> {
        let target = self.target(collection, id)?;
        if body.len() > RECORD_BYTES_MAX {
            return Ok(Err(RecordError::TooLarge));
        }
        let fields = extract(&target.collection, &body)?;
        if self.current(&target).await?.is_some() {
            return Ok(Err(RecordError::AlreadyExists));
        }
        if let Err(error) = self.move_slots(&target, None, Some((&body, &fields))).await? {
            return Ok(Err(error));
        }
        let created_at = self.call.now;
        self.write(target, Some((body, created_at, fields)))?;
        Ok(Ok(()))
    }

    pub async fn replace(
        &mut self,
        collection: &str,
        id: &str,
        body: String,
    ) -> Result<Result<(), RecordError>, DraftError> {
        self.replace_in(self.collection(collection)?, id, body).await
    }

    pub(super) async fn replace_in(
        &mut self,
        collection: Arc<Collection>,
        id: &str,
        body: String,
    ) -> Result<Result<(), RecordError>, DraftError> {
        let target = self.target(collection, id)?;
        if body.len() > RECORD_BYTES_MAX {
            return Ok(Err(RecordError::TooLarge));
        }
        let fields = extract(&target.collection, &body)?;
        let Some(current) = self.current(&target).await? else { return Ok(Err(RecordError::NotFound)) };
        if let Err(error) = self.move_slots(&target, Some(&current), Some((&body, &fields))).await? {
            return Ok(Err(error));
        }
        self.write(target, Some((body, current.created_at, fields)))?;
        Ok(Ok(()))
    }

    /// Writes a record of a host collection without reading the stored one. The collection must have no unique index.
    pub(super) fn put_unread(&mut self, collection: Arc<Collection>, id: &str, body: String) -> Result<(), DraftError> {
        let target = self.target(collection, id)?;
        if body.len() > RECORD_BYTES_MAX {
            return Err(misuse(format!("{id:.80} has more than {RECORD_BYTES_MAX} bytes")));
        }
        self.check_keys()?;
        let fields = extract(&target.collection, &body)?;
        let created_at = self.call.now;
        self.write(target, Some((body, created_at, fields)))
    }

    pub async fn delete(&mut self, collection: &str, id: &str) -> Result<Result<(), RecordError>, DraftError> {
        self.delete_in(self.collection(collection)?, id).await
    }

    pub(super) async fn delete_in(
        &mut self,
        collection: Arc<Collection>,
        id: &str,
    ) -> Result<Result<(), RecordError>, DraftError> {
        let target = self.target(collection, id)?;
        let Some(current) = self.current(&target).await? else { return Ok(Err(RecordError::NotFound)) };
        if let Err(error) = self.move_slots(&target, Some(&current), None).await? {
            return Ok(Err(error));
        }
        self.write(target, None)?;
        Ok(Ok(()))
    }

    /// Serialises the calls that name the same guard: each of them reads the changes of the previous one.
    pub async fn guard(&mut self, name: &str) -> Result<(), DraftError> {
        let scope = self.scope()?;
        check_name("the name of a guard", name)?;
        let key = Key { scope, space: Space::Guard, name: Arc::from(name) };
        if self.guards.contains(&key.name) {
            return Ok(());
        }
        self.guards.insert(key.name.clone());
        self.read_guard(name).await.map(|_version| ())
    }

    /// Returns the version of the last bump of the guard, or 0 if there was none. Recorded as a read.
    pub(super) async fn read_guard(&mut self, name: &str) -> Result<Version, DraftError> {
        let key = Key { scope: self.scope()?, space: Space::Guard, name: Arc::from(name) };
        if self.find_cached(&key)?.is_none() {
            let found = self.database().find_guard(&key.scope, name).await?;
            self.cache(key.clone(), found.map(|version| (version, Content::Mark)))?;
        }
        Ok(self.seen.get(&key).map_or(0, |seen| seen.version))
    }

    pub(super) fn collection(&self, name: &str) -> Result<Arc<Collection>, DraftError> {
        let unknown = || misuse(format!("the manifest does not declare the collection {name:.80}"));
        let collection = self.call.model.collection(name).filter(|collection| collection.owner == Owner::Plugin);
        collection.cloned().ok_or_else(unknown)
    }

    /// Returns a host collection (`host_collections::ENDPOINTS`, …). Every model has all host collections.
    pub(super) fn host_collection(&self, name: &str) -> Result<Arc<Collection>, DraftError> {
        let missing = || DbError::Corrupt(format!("the model has no collection {name}"));
        Ok(self.call.model.collection(name).cloned().ok_or_else(missing)?)
    }

    fn target(&self, collection: Arc<Collection>, id: &str) -> Result<Target, DraftError> {
        check_name("the id of a record", id)?;
        Ok(target(self.scope()?, collection, id))
    }

    async fn current(&mut self, target: &Target) -> Result<Option<Current>, DraftError> {
        let version = match self.records.get(&target.key) {
            Some(None) => return Ok(None),
            Some(Some(_)) => self.seen.get(&target.key).map_or(0, |seen| seen.version),
            None => return Ok(self.stored(target).await?.map(stored_now)),
        };
        Ok(self.records.get(&target.key).and_then(Option::as_ref).map(|own| written_now(own, version)))
    }

    /// Returns the record with this id before this call.
    pub(super) async fn stored_in(
        &mut self,
        scope: &Scope,
        collection: &Arc<Collection>,
        id: &str,
    ) -> Result<Option<Record>, DraftError> {
        self.stored(&target(scope.clone(), collection.clone(), id)).await
    }

    /// Returns the record before this call.
    async fn stored(&mut self, target: &Target) -> Result<Option<Record>, DraftError> {
        let content = match self.find_cached(&target.key)? {
            Some(content) => content,
            None => {
                let Target { scope, collection, key } = target;
                let found = self.database().find_record(scope, collection, &key.name).await?;
                self.cache(key.clone(), found.map(|record| (record.version, Content::Record(record))))?
            }
        };
        match content {
            Content::Record(record) => self.readable(&target.collection, &target.key, record).map(Some),
            _ => Ok(None),
        }
    }

    pub(super) fn readable(&self, collection: &Collection, key: &Key, record: Record) -> Result<Record, DraftError> {
        if collection.is_readable(&self.call.model, record.data_version) {
            return Ok(record);
        }
        let (id, found) = (key.name.clone(), record.data_version);
        Err(DraftError::Unreadable { collection: collection.name.clone(), id, found })
    }

    /// Loads all records that are not known yet in one query.
    async fn load_missing(&mut self, collection: &str, ids: &[String]) -> Result<(), DraftError> {
        let collection = self.collection(collection)?;
        let Some(scope) = self.call.scope.clone() else { return Ok(()) };
        let mut missing = Vec::new();
        for id in ids {
            check_name("the id of a record", id)?;
            let key = target(scope.clone(), collection.clone(), id).key;
            if !self.records.contains_key(&key) && self.find_cached(&key)?.is_none() {
                missing.push(key);
            }
        }
        if missing.is_empty() {
            return Ok(());
        }
        let names: Vec<_> = missing.iter().map(|key| key.name.clone()).collect();
        let found = match self.database().find_records(&scope, &collection, &names, GET_MANY_BYTES_MAX).await {
            Err(DbError::TooLarge(bytes)) => {
                return Err(misuse(format!("get-many loads at most {bytes} bytes; request fewer records at once")));
            }
            found => found?,
        };
        for (key, record) in missing.into_iter().zip(found) {
            self.cache(key, record.map(|record| (record.version, Content::Record(record))))?;
        }
        Ok(())
    }

    /// Frees the slots of unique indexes that the record leaves and takes those that it enters. Changes all slots or
    /// none.
    async fn move_slots(
        &mut self,
        target: &Target,
        before: Option<&Current>,
        after: Option<(&str, &[Field])>,
    ) -> Result<Result<(), RecordError>, DraftError> {
        let mut moves = Vec::new();
        for view in self.views(target, before, after)? {
            for index in view.uniques() {
                let old = view.before.as_deref().and_then(|fields| view.collection.slot_name(index, fields));
                let new = view.after.as_deref().and_then(|fields| view.collection.slot_name(index, fields));
                if old == new {
                    continue;
                }
                let (old, new) = (old.map(|name| slot(target, index, name)), new.map(|name| slot(target, index, name)));
                if let Some(key) = &new {
                    let owner = self.slot_owner(&view, index, key).await?;
                    if owner.is_some_and(|owner| owner != target.key.name) {
                        return Ok(Err(RecordError::NotUnique(index.name.clone())));
                    }
                }
                moves.extend(old.map(|key| (key, None)));
                moves.extend(new.map(|key| (key, Some(target.key.name.clone()))));
            }
        }
        self.uniques.extend(moves);
        Ok(Ok(()))
    }

    /// Returns a view for the unique indexes of this generation, and one for those of other generations, which the
    /// table has as well.
    fn views(
        &self,
        target: &Target,
        before: Option<&Current>,
        after: Option<(&str, &[Field])>,
    ) -> Result<Vec<View>, DraftError> {
        let mut views = Vec::new();
        let own = &target.collection;
        if own.unique_indexes().next().is_some() {
            let before = before.map(|current| fields_of(own, current)).transpose()?;
            let after = after.map(|(_, fields)| fields.to_vec());
            views.push(View { collection: own.clone(), besides: None, before, after });
        }
        if let Some(collection) = self.database().other_uniques(own) {
            let before = before.map(|current| stored_fields(&collection, &current.body)).transpose()?;
            let after = after.map(|(body, _)| stored_fields(&collection, body)).transpose()?;
            views.push(View { collection, besides: Some(own.clone()), before, after });
        }
        Ok(views)
    }

    async fn slot_owner(&mut self, view: &View, index: &Index, key: &Key) -> Result<Option<Arc<str>>, DraftError> {
        if let Some(owner) = self.uniques.get(key) {
            return Ok(owner.clone());
        }
        let fields = view.after.as_deref().unwrap_or_default();
        self.stored_owner(&view.collection, (index, fields), key).await
    }

    /// Returns the id of the record that had the slot before this call.
    pub(super) async fn stored_owner(
        &mut self,
        collection: &Collection,
        (index, fields): (&Index, &[Field]),
        key: &Key,
    ) -> Result<Option<Arc<str>>, DraftError> {
        let content = match self.find_cached(key)? {
            Some(content) => content,
            None => {
                let found = self.database().find_slot(&key.scope, collection, index, fields).await?;
                self.cache(key.clone(), found.map(|(owner, version)| (version, Content::Slot(owner))))?
            }
        };
        match content {
            Content::Slot(owner) => Ok(Some(owner)),
            _ => Ok(None),
        }
    }

    fn write(&mut self, target: Target, after: Option<(String, Timestamp, Vec<Field>)>) -> Result<(), DraftError> {
        self.collect(after.as_ref().map_or(0, |(body, ..)| body.len()))?;
        let updated_at = self.call.now;
        let data_version = match target.collection.owner {
            Owner::Plugin => self.call.model.data_version(),
            Owner::Host => HOST_DATA_VERSION,
        };
        let is_checked = target.collection.owner == Owner::Plugin && after.is_some();
        if is_checked && !self.database().admits(self.call.model.plugin(), data_version) {
            return Err(DraftError::Superseded(data_version));
        }
        let after = after.map(|(body, created_at, fields)| NewRecord {
            body: body.into(),
            data_version,
            created_at,
            updated_at,
            fields,
        });
        self.records.insert(target.key, after);
        Ok(())
    }
}

fn target(scope: Scope, collection: Arc<Collection>, id: &str) -> Target {
    let key = Key { scope: scope.clone(), space: Space::Record(collection.name.clone()), name: Arc::from(id) };
    Target { scope, collection, key }
}

fn slot(target: &Target, index: &Index, name: Arc<str>) -> Key {
    let space = Space::Unique(target.collection.name.clone(), index.id.clone());
    Key { scope: target.scope.clone(), space, name }
}

fn extract(collection: &Collection, body: &str) -> Result<Vec<Field>, DraftError> {
    collection.extract(body).map_err(|error| misuse(format!("a record of {}: {error}", collection.name)))
}

fn fields_of(collection: &Collection, current: &Current) -> Result<Vec<Field>, DraftError> {
    match &current.fields {
        Some(fields) => Ok(fields.clone()),
        None => stored_fields(collection, &current.body),
    }
}

pub(super) fn stored_fields(collection: &Collection, body: &str) -> Result<Vec<Field>, DraftError> {
    let corrupt = |error| DbError::Corrupt(format!("a stored record of {}: {error}", collection.name)).into();
    collection.extract_stored(body).map_err(corrupt)
}

pub(super) fn stored_entry(id: &Arc<str>, record: Record) -> Entry {
    entry(id, stored_now(record))
}

fn entry(id: &Arc<str>, current: Current) -> Entry {
    let Current { version, body, created_at, updated_at, .. } = current;
    Entry { id: id.clone(), version, body, created_at, updated_at }
}

fn stored_now(record: Record) -> Current {
    let Record { version, body, created_at, updated_at, .. } = record;
    Current { version, body, created_at, updated_at, fields: None }
}

fn written_now(own: &NewRecord, version: Version) -> Current {
    Current {
        version,
        body: own.body.clone(),
        created_at: own.created_at,
        updated_at: own.updated_at,
        fields: Some(own.fields.clone()),
    }
}
