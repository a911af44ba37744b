//! Folds a batch into the last state of each row.

use std::collections::HashSet;
use std::sync::Arc;

use indexmap::IndexMap;

use super::{AcceptedChanges, Balance, Batch};
use crate::changes::change_set::{ChangeSet, Key, NewRecord, RecordWrite, Version};
use crate::db::DbError;
use crate::db::model::Collection;
use crate::db::model::catalogue::{Catalogue, Table};

/// A folded batch: records by table name, and guards, accounts and balances by scope and name, in the order of their
/// first write.
pub(super) struct Folded<'a> {
    pub tables: IndexMap<&'a str, TableWrites<'a>>,
    pub guards: IndexMap<Row<'a>, Version>,
    pub accounts: IndexMap<Row<'a>, Version>,
    pub balances: IndexMap<(Row<'a>, &'a Arc<str>), (&'a Balance, Version)>,
}

/// Plugin, tenant, name. These are references to shared strings, so that binding them copies nothing.
pub(super) type Row<'a> = (&'a Arc<str>, &'a Arc<str>, &'a Arc<str>);

pub(super) struct TableWrites<'a> {
    pub table: Arc<Table>,
    /// Records by tenant and id.
    pub records: IndexMap<(&'a Arc<str>, &'a Arc<str>), RecordState<'a>>,
    /// The highest written data version. `lowest` is the lowest one.
    pub written: u32,
    lowest: Option<u32>,
}

pub(super) struct RecordState<'a> {
    pub version: Version,
    pub collection: &'a Collection,
    /// `None` if the record is deleted.
    pub after: Option<&'a NewRecord>,
    /// True if a change set that wrote this record may free a slot of a unique index.
    ///
    /// Another record of the batch may take the slot, so the old row is deleted before new rows are inserted.
    pub frees_slot: bool,
}

impl<'a> Folded<'a> {
    pub fn new(batch: &'a Batch, catalogue: &Catalogue) -> Result<Folded<'a>, DbError> {
        let mut folded = Folded {
            tables: IndexMap::new(),
            guards: IndexMap::new(),
            accounts: IndexMap::new(),
            balances: IndexMap::new(),
        };
        for accepted in &batch.changes {
            let frees_slot = frees_slot(&accepted.changes);
            for record in &accepted.changes.records {
                folded.add_record(accepted, record, frees_slot, catalogue)?;
            }
            folded.add_names(accepted);
        }
        Ok(folded)
    }

    fn add_record(
        &mut self,
        accepted: &'a AcceptedChanges,
        record: &'a RecordWrite,
        frees_slot: bool,
        catalogue: &Catalogue,
    ) -> Result<(), DbError> {
        let collection = accepted.model.collection(&record.collection).ok_or_else(|| unknown(&record.collection))?;
        let writes = match self.tables.entry(&*collection.table) {
            indexmap::map::Entry::Occupied(entry) => entry.into_mut(),
            indexmap::map::Entry::Vacant(entry) => {
                let table = catalogue.find(&collection.table).ok_or_else(|| unknown(&collection.table))?;
                entry.insert(TableWrites { table, records: IndexMap::new(), written: 0, lowest: None })
            }
        };
        let after = record.after.as_ref();
        writes.written = writes.written.max(after.map_or(0, |after| after.data_version));
        writes.lowest = writes.lowest.into_iter().chain(after.map(|after| after.data_version)).min();
        let key = (accepted.changes.scope.tenant(), &record.id);
        let frees_slot = frees_slot || writes.records.get(&key).is_some_and(|before| before.frees_slot);
        writes.records.insert(key, RecordState { version: accepted.version, collection, after, frees_slot });
        Ok(())
    }

    fn add_names(&mut self, accepted: &'a AcceptedChanges) {
        let scope = &accepted.changes.scope;
        let row = |name: &'a Arc<str>| (scope.plugin(), scope.tenant(), name);
        self.guards.extend(accepted.changes.guards.iter().map(|name| (row(name), accepted.version)));
        self.accounts.extend(accepted.changes.accounts_opened.iter().map(|name| (row(name), accepted.version)));
        self.balances.extend(
            accepted
                .balances
                .iter()
                .map(|balance| ((row(&balance.account), &balance.asset), (balance, accepted.version))),
        );
    }
}

/// Returns true if a slot of a unique index may pass from a record of this change set to another record.
fn frees_slot(changes: &ChangeSet) -> bool {
    if changes.uniques.is_empty() {
        return false;
    }
    let was_free: HashSet<&Key> = changes.reads.iter().filter(|read| read.seen == 0).map(|read| &read.key).collect();
    changes.uniques.iter().any(|unique| unique.owner.is_none() || !was_free.contains(&unique.key))
}

/// Returns the new catalogue entries of tables in which the batch writes a higher data version than before.
pub(super) fn newly_written(batch: &Batch, catalogue: &Catalogue) -> Vec<Table> {
    let Ok(folded) = Folded::new(batch, catalogue) else { return Vec::new() };
    folded.tables.values().filter_map(TableWrites::newly_written).collect()
}

impl TableWrites<'_> {
    /// Records the lowest written data version. Called within the transaction of the batch.
    pub fn record_written_versions(&self) {
        if let Some(lowest) = self.lowest {
            self.table.written_versions.lock().record(lowest);
        }
    }

    pub fn newly_written(&self) -> Option<Table> {
        (self.written > self.table.written).then(|| self.table.with(self.written, self.table.fields.clone()))
    }
}

fn unknown(what: &str) -> DbError {
    DbError::Corrupt(format!("{what} was not prepared"))
}
