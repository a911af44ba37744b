//! `records`: the plugin's data. Converts values and checks limits. The draft tracks reads and collects writes.

use tenon_bindings::tenon::plugin::records::{self as wit, Host};

use super::trap;
use crate::{
    capability::CallState,
    commit::draft::{Comparison, Condition, DraftError, Entry, Query, RecordError, Sort, Value},
    limits::{CONDITIONS_MAX, GET_MANY_IDS_MAX},
};

impl Host for CallState {
    async fn get(&mut self, collection: String, id: String) -> wasmtime::Result<Option<wit::Entry>> {
        let wait_started = self.meter_read(collection.len() + id.len())?;
        let entry = self.draft().get(&collection, &id).await.map_err(trap)?;
        self.end_wait(wait_started).await;
        self.meter_result(entry.as_ref().map_or(0, |entry| entry.body.len()))?;
        Ok(entry.map(wire_entry))
    }

    async fn get_many(&mut self, collection: String, ids: Vec<String>) -> wasmtime::Result<Vec<Option<wit::Entry>>> {
        let wait_started = self.meter_read(collection.len() + ids.iter().map(String::len).sum::<usize>())?;
        if ids.len() > GET_MANY_IDS_MAX {
            wasmtime::bail!("get-many takes at most {GET_MANY_IDS_MAX} ids, not {}", ids.len());
        }
        let entries = self.draft().get_many(&collection, &ids).await.map_err(trap)?;
        self.end_wait(wait_started).await;
        self.return_entries(entries)
    }

    async fn insert(
        &mut self,
        collection: String,
        id: String,
        body: String,
    ) -> wasmtime::Result<Result<(), wit::Refusal>> {
        let wait_started = self.meter(collection.len() + id.len() + body.len())?;
        let outcome = self.draft().insert(&collection, &id, body).await.map_err(trap)?;
        self.end_wait(wait_started).await;
        Ok(outcome.map_err(refusal))
    }

    async fn replace(
        &mut self,
        collection: String,
        id: String,
        body: String,
    ) -> wasmtime::Result<Result<(), wit::Refusal>> {
        let wait_started = self.meter(collection.len() + id.len() + body.len())?;
        let outcome = self.draft().replace(&collection, &id, body).await.map_err(trap)?;
        self.end_wait(wait_started).await;
        Ok(outcome.map_err(refusal))
    }

    async fn delete(&mut self, collection: String, id: String) -> wasmtime::Result<Result<(), wit::Refusal>> {
        let wait_started = self.meter(collection.len() + id.len())?;
        let outcome = self.draft().delete(&collection, &id).await.map_err(trap)?;
        self.end_wait(wait_started).await;
        Ok(outcome.map_err(refusal))
    }

    async fn find(
        &mut self,
        collection: String,
        query: wit::Query,
    ) -> wasmtime::Result<Result<wit::Page, wit::Refusal>> {
        let wait_started = self.meter_read(collection.len() + size_of_conditions(&query.conditions))?;
        check_conditions(&query.conditions)?;
        let query = Query {
            conditions: query.conditions.into_iter().map(condition).collect(),
            sort: query.sort.into_iter().map(|sort| Sort { field: sort.field, descending: sort.descending }).collect(),
            after: query.after,
            offset: query.offset,
            limit: query.limit,
        };
        let found = self.draft().find(&collection, &query).await;
        self.end_wait(wait_started).await;
        match found {
            Ok(page) => {
                let entries = self.return_entries(page.entries.into_iter().map(Some).collect())?;
                Ok(Ok(wit::Page { entries: entries.into_iter().flatten().collect(), next: page.next }))
            }
            Err(DraftError::BadCursor(_)) => Ok(Err(wit::Refusal::BadCursor)),
            Err(error) => Err(trap(error)),
        }
    }

    async fn count(
        &mut self,
        collection: String,
        conditions: Vec<wit::Condition>,
        limit: u32,
    ) -> wasmtime::Result<u32> {
        let wait_started = self.meter_read(collection.len() + size_of_conditions(&conditions))?;
        check_conditions(&conditions)?;
        let conditions: Vec<Condition> = conditions.into_iter().map(condition).collect();
        let done = self.draft().count(&collection, &conditions, limit).await.map_err(trap);
        self.end_wait(wait_started).await;
        done
    }

    async fn guard(&mut self, name: String) -> wasmtime::Result<()> {
        let wait_started = self.meter(name.len())?;
        let done = self.draft().guard(&name).await.map_err(trap);
        self.end_wait(wait_started).await;
        done
    }
}

impl CallState {
    /// Counts the bytes of the result of one host call and copies it for the guest.
    fn return_entries(&mut self, entries: Vec<Option<Entry>>) -> wasmtime::Result<Vec<Option<wit::Entry>>> {
        self.meter_result(entries.iter().flatten().map(|entry| entry.body.len()).sum())?;
        Ok(entries.into_iter().map(|entry| entry.map(wire_entry)).collect())
    }
}

fn wire_entry(entry: Entry) -> wit::Entry {
    wit::Entry {
        id: entry.id.to_string(),
        version: entry.version,
        body: entry.body.to_string(),
        created_at: entry.created_at,
        updated_at: entry.updated_at,
    }
}

fn refusal(error: RecordError) -> wit::Refusal {
    match error {
        RecordError::NotFound => wit::Refusal::NotFound,
        RecordError::AlreadyExists => wit::Refusal::AlreadyExists,
        RecordError::NotUnique(index) => wit::Refusal::NotUnique(index.to_string()),
        RecordError::TooLarge => wit::Refusal::TooLarge,
    }
}

fn condition(condition: wit::Condition) -> Condition {
    use wit::Comparison as From;
    let comparison = match condition.comparison {
        From::Equal(of) => Comparison::Equal(value(of)),
        From::NotEqual(of) => Comparison::NotEqual(value(of)),
        From::OneOf(of) => Comparison::OneOf(of.into_iter().map(value).collect()),
        From::Less(than) => Comparison::Less(value(than)),
        From::AtMost(of) => Comparison::AtMost(value(of)),
        From::More(than) => Comparison::More(value(than)),
        From::AtLeast(of) => Comparison::AtLeast(value(of)),
        From::StartsWith(text) => Comparison::StartsWith(text),
        From::Contains(of) => Comparison::Contains(value(of)),
    };
    Condition { field: condition.field, comparison }
}

fn value(value: wit::Value) -> Value {
    match value {
        wit::Value::Text(text) => Value::Text(text),
        wit::Value::Integer(number) => Value::Integer(number),
        wit::Value::Number(number) => Value::Number(number),
        wit::Value::Boolean(boolean) => Value::Boolean(boolean),
        wit::Value::Null => Value::Null,
    }
}

fn check_conditions(conditions: &[wit::Condition]) -> wasmtime::Result<()> {
    if conditions.len() > CONDITIONS_MAX {
        wasmtime::bail!("a query has at most {CONDITIONS_MAX} conditions, not {}", conditions.len());
    }
    Ok(())
}

fn size_of_conditions(conditions: &[wit::Condition]) -> usize {
    conditions.iter().map(|condition| condition.field.len() + size_of_comparison(&condition.comparison)).sum()
}

fn size_of_comparison(comparison: &wit::Comparison) -> usize {
    let size = |value: &wit::Value| match value {
        wit::Value::Text(text) => text.len(),
        _ => 8,
    };
    match comparison {
        wit::Comparison::OneOf(values) => values.iter().map(size).sum(),
        wit::Comparison::StartsWith(text) => text.len(),
        wit::Comparison::Equal(of)
        | wit::Comparison::NotEqual(of)
        | wit::Comparison::Less(of)
        | wit::Comparison::AtMost(of)
        | wit::Comparison::More(of)
        | wit::Comparison::AtLeast(of)
        | wit::Comparison::Contains(of) => size(of),
    }
}
