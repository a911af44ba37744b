//! Which data versions the records of a table have, and whether a model reads all of them.
//!
//! The highest is kept with the table. The lowest is not: it is searched for, which reads the whole table. Invariant: nothing
//! is searched while the write lock is held. `Ages` notes what is written, so that what a search found can be trusted later.

use std::collections::BTreeMap;

use sqlx::AssertSqlSafe;

use super::catalogue::Table;
use super::{Collection, DataModel, ModelError, Owner};
use crate::db::Database;
use crate::db::database::WriteTransaction;
use crate::limits::ADMIT_SEARCHES_MAX;

/// What was written into one table since the process began.
#[derive(Debug, Default)]
pub(in crate::db) struct Ages {
    /// Batches that wrote into the table.
    batches: u64,
    /// The last batch of which a data version was the lowest.
    lowest: BTreeMap<u32, u64>,
    /// No record that was there after that batch has a lower data version than this.
    searched: Option<(u32, u64)>,
}

impl Ages {
    /// A batch writes records; `lowest` is the lowest data version of them. Within its transaction.
    pub fn note(&mut self, lowest: u32) {
        self.batches += 1;
        self.lowest.insert(lowest, self.batches);
    }

    /// Whether no record has a data version below this.
    fn is_searched(&self, below: u32) -> bool {
        self.searched.is_some_and(|(searched, batch)| {
            searched >= below && self.lowest.range(..below).all(|(_, written)| *written <= batch)
        })
    }
}

/// Whether there is nothing to search for.
fn reads_all(model: &DataModel, collection: &Collection) -> bool {
    collection.owner == Owner::Host || model.reads_from <= 1
}

fn refuse(model: &DataModel, collection: &Collection, written: u32) -> ModelError {
    ModelError::CannotRead {
        collection: collection.name.to_string(),
        written,
        reads_from: model.reads_from,
        reads_to: model.data_version,
    }
}

/// Whether the model reads the newest records of the table.
pub(super) fn check_newest(model: &DataModel, collection: &Collection, table: &Table) -> Result<(), ModelError> {
    let reads = collection.owner == Owner::Host || table.written <= model.data_version;
    if reads { Ok(()) } else { Err(refuse(model, collection, table.written)) }
}

impl Database {
    /// Whether the model reads the oldest records of the table. Searched once: what was found is noted in `Ages`.
    pub(super) async fn check_oldest(
        &self,
        model: &DataModel,
        collection: &Collection,
        table: &Table,
    ) -> Result<(), ModelError> {
        if reads_all(model, collection) || table.ages.lock().is_searched(model.reads_from) {
            return Ok(());
        }
        // No batch is half-way then: the search finds what these have written.
        let batches = self.between_transactions(|| table.ages.lock().batches).await;
        let sql = format!("SELECT data_version FROM \"{}\" WHERE data_version < ? LIMIT 1", collection.table);
        let mut search = self.begin_survey().await?;
        let query = sqlx::query_scalar(AssertSqlSafe(sql)).bind(model.reads_from);
        let older: Option<u32> = query.fetch_optional(search.connection()?).await?;
        search.finish();
        if let Some(written) = older {
            return Err(refuse(model, collection, written));
        }
        table.ages.lock().searched = Some((model.reads_from, batches));
        Ok(())
    }

    /// Before a generation with this model is published: nothing stands in its way that it cannot read, and from now on
    /// nothing of that kind is written. Whether something was admitted before that is not any more: then what was accepted
    /// is run again.
    pub async fn admit_model(&self, model: &DataModel) -> Result<bool, ModelError> {
        for _ in 0..ADMIT_SEARCHES_MAX {
            self.search_oldest(model).await?;
            let (database, owned) = (self.clone(), model.clone());
            // The transaction writes nothing: it keeps others from writing meanwhile.
            let admitted =
                self.write(move |write| Box::pin(async move { Ok(database.admit(write, &owned)) })).await??;
            if let Some(narrower) = admitted {
                return Ok(narrower);
            }
        }
        Err(ModelError::Changing)
    }

    /// Returns whether something was admitted before that is not any more. `None`: records of older versions were written
    /// since the search, and nothing is admitted.
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

    /// From what is known without reading a table.
    fn is_readable(&self, model: &DataModel) -> Result<bool, ModelError> {
        for collection in model.collections() {
            let Some(table) = self.catalogue().find(&collection.table) else { continue };
            check_newest(model, collection, &table)?;
            if !reads_all(model, collection) && !table.ages.lock().is_searched(model.reads_from) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Searches the tables of which it is not known yet, outside of the write lock.
    async fn search_oldest(&self, model: &DataModel) -> Result<(), ModelError> {
        for collection in model.collections() {
            let Some(table) = self.catalogue().find(&collection.table) else { continue };
            self.check_oldest(model, collection, &table).await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn search_holds_until_a_lower_data_version_is_written() {
        let mut ages = Ages::default();
        assert!(!ages.is_searched(1), "nothing is known at the start");
        ages.note(1);
        ages.searched = Some((2, ages.batches));
        assert!(ages.is_searched(2));
        assert!(!ages.is_searched(3), "it was not searched for so high a version");
        ages.note(2);
        assert!(ages.is_searched(2));
        ages.note(1);
        assert!(!ages.is_searched(2));
        assert!(ages.is_searched(1));
    }
}
