//! Sanctions lists: the version that counts, the one that is being loaded, and the entries of both.
//!
//! Invariant: the entries that count are those of `current`; a version becomes that in the commit of its last chunk, and what is
//! of no version that counts is found by nobody and cleared by a task.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tenon_plugin::records::Search;
use tenon_plugin::{Call, Stop, json};

use super::{ENTRIES, LISTS};
use crate::rules::limits::{CLEARED_ENTRIES_MAX, LISTS_MAX, MATCHES_MAX};
use crate::tasks;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct List {
    pub name: String,
    pub current: Option<Version>,
    pub loading: Option<Loading>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Version {
    /// Of its entries: never the same twice, also where a version is loaded again.
    pub load: String,
    pub version: String,
    pub published_at: u64,
    pub imported_at: u64,
    pub entries: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Loading {
    pub load: String,
    pub version: String,
    pub published_at: u64,
    pub chunks: u32,
    /// Hash and number of entries of each chunk that is here.
    pub received: BTreeMap<u32, (String, u64)>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Entry {
    pub list: String,
    pub load: String,
    /// What it is found by.
    pub key: String,
    pub address: String,
    pub asset: Option<String>,
    pub name: Option<String>,
    pub source_id: Option<String>,
}

pub fn find_list(call: &Call, name: &str) -> Result<Option<List>, Stop> {
    super::find(call, LISTS, name)
}

pub fn put_list(call: &Call, list: &List) -> Result<(), Stop> {
    super::put(call, LISTS, &list.name, list)
}

/// All of them, by name.
pub fn list_lists(call: &Call) -> Result<Vec<List>, Stop> {
    let page = call.records(LISTS).find(&Search::first(LISTS_MAX).ascending("name"))?;
    page.entries.iter().map(|entry| json::from_text(&entry.body)).collect()
}

pub fn delete_list(call: &Call, name: &str) -> Result<(), Stop> {
    Ok(call.records(LISTS).delete(name)?)
}

/// Of one chunk. A chunk is written once, so nothing stands there yet.
pub fn put_entries(call: &Call, chunk: u32, entries: &[Entry]) -> Result<(), Stop> {
    let records = call.records(ENTRIES);
    for (position, entry) in entries.iter().enumerate() {
        let place = [chunk.to_string(), position.to_string()].join("/");
        let id = [entry.list.as_str(), &entry.load, &place].join("/");
        records.insert(&id, &json::to_text(entry)?)?;
    }
    Ok(())
}

/// Those of one load that stand for this address.
pub fn find_entries(call: &Call, list: &str, load: &str, key: &str) -> Result<Vec<Entry>, Stop> {
    let search = Search::first(MATCHES_MAX).is("list", list).is("load", load).is("key", key);
    let page = call.records(ENTRIES).find(&search)?;
    page.entries.iter().map(|entry| json::from_text(&entry.body)).collect()
}

/// Clears some entries of a load that nobody needs. Whether there may be more.
pub fn clear_entries(call: &Call, list: &str, load: &str) -> Result<bool, Stop> {
    let records = call.records(ENTRIES);
    let page = records.find(&Search::first(CLEARED_ENTRIES_MAX).is("list", list).is("load", load))?;
    for entry in &page.entries {
        records.delete(&entry.id)?;
    }
    Ok(page.next.is_some())
}

/// The entries of a load that was replaced go after the commit.
pub fn drop_load(call: &Call, list: &str, load: &str) -> Result<(), Stop> {
    let payload = json::to_text(&tasks::Stale { list: list.to_owned(), load: load.to_owned() })?;
    call.tasks().schedule(tasks::CLEAR_ENTRIES, &[list, "/", load].concat(), call.now(), &payload);
    Ok(())
}

impl List {
    pub fn new(name: String) -> List {
        List { name, current: None, loading: None }
    }
}
