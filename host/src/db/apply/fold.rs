//! What remains of a batch when only the last state of each row counts.

use std::collections::HashSet;
use std::sync::Arc;

use indexmap::IndexMap;

use super::{AcceptedChanges, Balance, Batch};
use crate::changes::change_set::{ChangeSet, Key, NewRecord, RecordWrite, Version};
use crate::db::DbError;
use crate::db::model::Collection;
use crate::db::model::catalogue::{Catalogue, Table};

/// By name of the table; guards, accounts and balances by scope and name, in the order of their first write.
pub(super) struct Folded<'a> {
    pub tables: IndexMap<&'a str, TableWrites<'a>>,
    pub guards: IndexMap<Row<'a>, Version>,
    pub accounts: IndexMap<Row<'a>, Version>,
    pub balances: IndexMap<(Row<'a>, &'a Arc<str>), (&'a Balance, Version)>,
}

/// Plugin, tenant, name. The references lead to shared texts, so that binding one copies nothing.
pub(super) type Row<'a> = (&'a Arc<str>, &'a Arc<str>, &'a Arc<str>);

pub(super) struct TableWrites<'a> {
    pub table: Arc<Table>,
    /// By tenant and id.
    pub records: IndexMap<(&'a Arc<str>, &'a Arc<str>), RecordState<'a>>,
    /// The highest data version that is written, and the lowest.
    pub written: u32,
    lowest: Option<u32>,
}

pub(super) struct RecordState<'a> {
    pub version: Version,
    pub collection: &'a Collection,
    /// `None`: deleted.
    pub after: Option<&'a NewRecord>,
    /// A change set in the batch that wrote this record gave up a slot of a unique index: another record of the batch may
    /// have taken it, so the old row goes before the new ones come.
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

/// Whether a slot of a unique index may pass from a record of this change set to another one.
fn frees_slot(changes: &ChangeSet) -> bool {
    if changes.uniques.is_empty() {
        return false;
    }
    let was_free: HashSet<&Key> = changes.reads.iter().filter(|read| read.seen == 0).map(|read| &read.key).collect();
    changes.uniques.iter().any(|unique| unique.owner.is_none() || !was_free.contains(&unique.key))
}

/// The tables as they are once the batch is durable, where it wrote a higher data version than was there.
pub(super) fn newly_written(batch: &Batch, catalogue: &Catalogue) -> Vec<Table> {
    let Ok(folded) = Folded::new(batch, catalogue) else { return Vec::new() };
    folded.tables.values().filter_map(TableWrites::newly_written).collect()
}

impl TableWrites<'_> {
    /// Within the transaction of the batch.
    pub fn note_ages(&self) {
        if let Some(lowest) = self.lowest {
            self.table.ages.lock().note(lowest);
        }
    }

    pub fn newly_written(&self) -> Option<Table> {
        (self.written > self.table.written).then(|| self.table.with(self.written, self.table.fields.clone()))
    }
}

fn unknown(what: &str) -> DbError {
    DbError::Corrupt(format!("{what} is not prepared"))
}
