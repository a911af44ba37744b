//! Checks which data versions and unique indexes of the catalogue a generation must accept.
//!
//! The highest data version is stored with a table. The lowest is not: finding it requires a search of the whole table.
//! Invariant: no search runs while the write lock is held. `WrittenVersions` tracks later writes, so the result of a
//! search stays usable.

use std::sync::Arc;

use sqlx::AssertSqlSafe;

use super::catalogue::Table;
use super::{Collection, DataModel, Index, ModelError, Owner};
use crate::db::Database;
use crate::db::database::WriteTransaction;
use crate::limits::ADMIT_SEARCHES_MAX;

/// Returns true if the model reads all data versions, so that no search is needed.
fn reads_all(model: &DataModel, collection: &Collection) -> bool {
    collection.owner == Owner::Host || model.reads_from <= 1
}

fn cannot_read(model: &DataModel, collection: &Collection, written: u32) -> ModelError {
    ModelError::CannotRead {
        collection: collection.name.to_string(),
        written,
        reads_from: model.reads_from,
        reads_to: model.data_version,
    }
}

/// Checks that the model can read the newest records of the table.
pub(super) fn check_newest(model: &DataModel, collection: &Collection, table: &Table) -> Result<(), ModelError> {
    let reads = collection.owner == Owner::Host || table.written <= model.data_version;
    if reads { Ok(()) } else { Err(cannot_read(model, collection, table.written)) }
}

impl Database {
    /// Checks that the model can read the oldest records of the table. Searches once and stores the result in
    /// `WrittenVersions`.
    pub(super) async fn check_oldest(
        &self,
        model: &DataModel,
        collection: &Collection,
        table: &Table,
    ) -> Result<(), ModelError> {
        if reads_all(model, collection) || table.written_versions.lock().is_searched(model.reads_from) {
            return Ok(());
        }
        // No batch is in progress while the number is read, so the search sees the writes of all counted batches.
        let batches = self.between_transactions(|| table.written_versions.lock().batches).await;
        let sql = format!("SELECT data_version FROM \"{}\" WHERE data_version < ? LIMIT 1", collection.table);
        let mut search = self.begin_operator_search().await?;
        let query = sqlx::query_scalar(AssertSqlSafe(sql)).bind(model.reads_from);
        let older: Option<u32> = query.fetch_optional(search.connection()?).await?;
        search.finish();
        if let Some(written) = older {
            return Err(cannot_read(model, collection, written));
        }
        table.written_versions.lock().searched = Some((model.reads_from, batches));
        Ok(())
    }

    /// Prepares the publication of a generation with this model: checks that it can read all records, and from then on
    /// rejects writes of data versions that it cannot read.
    ///
    /// Returns true if a previously accepted data version is no longer accepted. In that case, accepted change sets are
    /// decided again.
    pub async fn admit_model(&self, model: &DataModel) -> Result<bool, ModelError> {
        for _ in 0..ADMIT_SEARCHES_MAX {
            self.search_oldest(model).await?;
            let (database, owned) = (self.clone(), model.clone());
            // The transaction writes nothing. It only excludes other writers meanwhile.
            let admitted =
                self.write(move |write| Box::pin(async move { Ok(database.admit(write, &owned)) })).await??;
            if let Some(narrower) = admitted {
                return Ok(narrower);
            }
        }
        Err(ModelError::Changing)
    }

    /// Returns true if a previously accepted data version is no longer accepted.
    ///
    /// Returns `None`, without any effect, if records of older versions were written since the search.
    fn admit(&self, write: &mut WriteTransaction, model: &DataModel) -> Result<Option<bool>, ModelError> {
        if !self.is_readable(model)? {
            return Ok(None);
        }
        let narrower = self.catalogue().admit(model);
        if narrower {
            write.supersede_decisions();
        }
        Ok(Some(narrower))
    }

    /// Returns true if the model can read all records, and false if a table must be searched first. Reads no table.
    fn is_readable(&self, model: &DataModel) -> Result<bool, ModelError> {
        for collection in model.collections() {
            let Some(table) = self.catalogue().find(&collection.table) else { continue };
            check_newest(model, collection, &table)?;
            if !reads_all(model, collection) && !table.written_versions.lock().is_searched(model.reads_from) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Searches the tables whose lowest data version is not known yet, outside of the write lock.
    async fn search_oldest(&self, model: &DataModel) -> Result<(), ModelError> {
        for collection in model.collections() {
            let Some(table) = self.catalogue().find(&collection.table) else { continue };
            self.check_oldest(model, collection, &table).await?;
        }
        Ok(())
    }
}

impl Database {
    /// Returns the unique indexes of the collection's table if the generation of `collection` does not declare all of
    /// them.
    pub fn other_uniques(&self, collection: &Collection) -> Option<Arc<Collection>> {
        let uniques = self.catalogue().find(&collection.table)?.uniques.clone();
        uniques.indexes.iter().any(|index| !collection.declares(index)).then_some(uniques)
    }

    /// Returns true if the table has this unique index. A newer generation may have dropped it.
    pub fn keeps_unique(&self, collection: &Collection, index: &Index) -> bool {
        self.catalogue().find(&collection.table).is_some_and(|table| table.uniques.declares(index))
    }

    /// Returns true if the serving generation can read records of this data version, or if no generation was admitted.
    pub fn admits(&self, plugin: &str, data_version: u32) -> bool {
        self.catalogue().admitted.read().get(plugin).is_none_or(|admitted| admitted.contains(&data_version))
    }
}
