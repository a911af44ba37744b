//! Timers and effects: scheduled, started and cancelled by calls, and updated by the host afterwards.

use std::sync::Arc;

use serde_json::value::RawValue;

use super::{Draft, DraftError, misuse};
use crate::changes::host_collections::{EFFECTS, TASKS};
use crate::changes::{
    change_set::{Key, Space, Version},
    effect::Effect,
    timer::{TaskKind, Timer, record_id},
};
use crate::clock::Timestamp;
use crate::db::DbError;
use crate::limits::{TASK_DUE_MAX, TASK_KEY_BYTES_MAX, TASK_PAYLOAD_BYTES_MAX};

/// The value of a record, with the version that detects later changes.
#[derive(Clone, Debug)]
pub struct Stored<T> {
    pub version: Version,
    pub value: T,
}

impl Draft {
    /// Sets a timer and replaces a waiting one of the same name and key without reading it. If two calls set
    /// it, the later commit wins.
    pub fn schedule(&mut self, name: &str, key: &str, due: Timestamp, payload: String) -> Result<(), DraftError> {
        check_key(key)?;
        // The database cannot store larger numbers.
        let due = due.min(TASK_DUE_MAX);
        let timer = Timer::new(name, key, due, raw("the payload of a task", payload)?);
        let timer = Timer { hops: self.call.hops, ..timer };
        let body = serde_json::to_string(&timer).map_err(|error| DbError::Corrupt(error.to_string()))?;
        self.put_unread(self.host_collection(TASKS)?, &record_id(name, key), body)
    }

    /// Cancels a timer. Returns true if it was waiting.
    pub async fn cancel_task(&mut self, name: &str, key: &str) -> Result<bool, DraftError> {
        check_key(key)?;
        self.remove_host_record(TASKS, &record_id(name, key)).await
    }

    /// Starts an effect. Returns false if an effect of the same name and key has not ended.
    pub async fn start_effect(&mut self, effect: &Effect) -> Result<bool, DraftError> {
        check_key(&effect.key)?;
        let id = effect.idempotency_key();
        // The call that receives the outcome of an effect may start the next one.
        if self.find_effect(&id).await?.is_some() && self.reported_effect.as_deref() != Some(&*id) {
            return Ok(false);
        }
        self.put_host_record(EFFECTS, &id, effect).await?;
        Ok(true)
    }

    /// Cancels an effect. Returns true if it existed and no attempt can have been made, even before a restore.
    pub async fn cancel_effect(&mut self, then: &str, key: &str) -> Result<bool, DraftError> {
        check_key(key)?;
        let id = record_id(then, key);
        match self.find_effect(&id).await? {
            Some(found) if found.value.is_fresh() => self.remove_host_record(EFFECTS, &id).await,
            _ => Ok(false),
        }
    }

    pub async fn find_timer(&mut self, id: &str) -> Result<Option<Stored<Timer>>, DraftError> {
        self.find_host_record(TASKS, id, Timer::parse).await
    }

    pub async fn find_effect(&mut self, id: &str) -> Result<Option<Stored<Effect>>, DraftError> {
        self.find_host_record(EFFECTS, id, Effect::parse).await
    }

    /// Sets the effect whose outcome this call receives.
    pub fn set_reported_effect(&mut self, id: &Arc<str>) {
        self.reported_effect = Some(id.clone());
    }

    /// Writes a timer that the host has updated.
    pub async fn put_timer(&mut self, id: &str, timer: &Timer) -> Result<(), DraftError> {
        self.put_host_record(TASKS, id, timer).await
    }

    /// Writes an effect that the host has updated.
    pub async fn put_effect(&mut self, id: &str, effect: &Effect) -> Result<(), DraftError> {
        self.put_host_record(EFFECTS, id, effect).await
    }

    /// Ends a task that has run, unless the run itself has scheduled it again.
    pub async fn finish_task(&mut self, kind: TaskKind, id: &str) -> Result<(), DraftError> {
        let key = Key { scope: self.scope()?, space: Space::Record(kind.collection().into()), name: id.into() };
        if !self.records.contains_key(&key) {
            self.remove_host_record(kind.collection(), id).await?;
        }
        Ok(())
    }

    /// Deletes a record of a host collection. Returns true if it existed.
    pub async fn remove_host_record(&mut self, collection: &str, id: &str) -> Result<bool, DraftError> {
        let collection = self.host_collection(collection)?;
        Ok(self.delete_in(collection, id).await?.is_ok())
    }

    pub(super) async fn find_host_record<T>(
        &mut self,
        collection: &str,
        id: &str,
        parse: impl Fn(&str) -> Result<T, serde_json::Error>,
    ) -> Result<Option<Stored<T>>, DraftError> {
        let found = self.get_in(self.host_collection(collection)?, id).await?;
        let Some(entry) = found else { return Ok(None) };
        let value = parse(&entry.body)
            .map_err(|error| DbError::Corrupt(format!("{collection}: {id} cannot be read: {error}")))?;
        Ok(Some(Stored { version: entry.version, value }))
    }

    /// Creates the record or replaces the one with this id.
    pub(super) async fn put_host_record<T: serde::Serialize>(
        &mut self,
        collection: &str,
        id: &str,
        value: &T,
    ) -> Result<(), DraftError> {
        let collection = self.host_collection(collection)?;
        let body = serde_json::to_string(value).map_err(|error| DbError::Corrupt(error.to_string()))?;
        let written = match self.get_in(collection.clone(), id).await? {
            Some(_) => self.replace_in(collection, id, body).await?,
            None => self.insert_in(collection, id, body).await?,
        };
        written.map_err(|error| misuse(format!("{id:.80} cannot be stored: {error:?}")))
    }
}

/// Parses one JSON text within the limit of payloads.
pub fn raw(what: &str, text: String) -> Result<Box<RawValue>, DraftError> {
    if text.len() > TASK_PAYLOAD_BYTES_MAX {
        return Err(misuse(format!("{what} must have at most {TASK_PAYLOAD_BYTES_MAX} bytes")));
    }
    RawValue::from_string(text).map_err(|error| misuse(format!("{what} is not JSON: {error}")))
}

fn check_key(key: &str) -> Result<(), DraftError> {
    if key.is_empty() || key.len() > TASK_KEY_BYTES_MAX || key.contains('\0') {
        let start: String = key.chars().take(40).collect();
        let sentence = format!("the key of a task must have 1 to {TASK_KEY_BYTES_MAX} bytes and no NUL: {start:?}");
        return Err(misuse(sentence));
    }
    Ok(())
}
