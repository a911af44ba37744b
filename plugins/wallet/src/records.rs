//! What is stored: names of collections and indexes, and below here every read and write of them.
//!
//! A family keeps its collections in a file of its own, and names them in `COLLECTIONS`.

pub mod addresses;
pub mod compliance;
pub mod gateways;
pub mod lanes;
pub mod outgoing;
pub mod payment_links;
pub mod provided;
pub mod quotes;
pub mod settlements;
pub mod sweeps;
pub mod transactions;
pub mod virtual_accounts;
pub mod wallets;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tenon_plugin::records::{Entry, RecordRefusal};
use tenon_plugin::{Call, Collection, Stop, count, join, json};

const LISTS: &[&[Collection]] = &[
    wallets::COLLECTIONS,
    addresses::COLLECTIONS,
    transactions::COLLECTIONS,
    lanes::COLLECTIONS,
    sweeps::COLLECTIONS,
    payment_links::COLLECTIONS,
    compliance::COLLECTIONS,
    quotes::COLLECTIONS,
    gateways::COLLECTIONS,
    virtual_accounts::COLLECTIONS,
    settlements::COLLECTIONS,
];

pub const COLLECTIONS: &[Collection] = &join::<Collection, { count(LISTS) }>(LISTS);

/// A record with its id and times.
#[derive(Clone, Debug)]
pub struct Stored<T> {
    pub id: String,
    pub created_ms: u64,
    pub updated_ms: u64,
    pub body: T,
}

impl<T: DeserializeOwned> Stored<T> {
    pub fn read(entry: &Entry) -> Result<Stored<T>, Stop> {
        let body = json::from_text::<T>(&entry.body)?;
        Ok(Stored { id: entry.id.clone(), created_ms: entry.created_at, updated_ms: entry.updated_at, body })
    }
}

impl<T> Stored<T> {
    /// Not stored yet.
    pub fn new(call: &Call, id: String, body: T) -> Stored<T> {
        Stored { id, created_ms: call.now(), updated_ms: call.now(), body }
    }
}

/// `None` also where the id cannot be one.
pub fn load<T: DeserializeOwned>(call: &Call, collection: &'static str, id: &str) -> Result<Option<Stored<T>>, Stop> {
    if !crate::ids::is_id(id) {
        return Ok(None);
    }
    call.records(collection).get(id).as_ref().map(Stored::read).transpose()
}

pub fn insert<T: Serialize>(call: &Call, collection: &'static str, stored: &Stored<T>) -> Result<(), InsertStop> {
    let body = json::to_text(&stored.body).map_err(InsertStop::Stop)?;
    call.records(collection).insert(&stored.id, &body).map_err(|refusal| match refusal {
        RecordRefusal::NotUnique(index) => InsertStop::NotUnique(index),
        other => InsertStop::Stop(other.into()),
    })
}

pub fn replace<T: Serialize>(call: &Call, collection: &'static str, stored: &Stored<T>) -> Result<(), Stop> {
    Ok(call.records(collection).replace(&stored.id, &json::to_text(&stored.body)?)?)
}

/// Makes the record, or takes the place of the one that is there.
pub fn put(call: &Call, collection: &'static str, id: &str, body: &str) -> Result<(), Stop> {
    let records = call.records(collection);
    match records.get(id) {
        Some(_) => records.replace(id, body)?,
        None => records.insert(id, body)?,
    }
    Ok(())
}

/// Why a record was not inserted.
#[derive(Debug)]
pub enum InsertStop {
    /// The name of the index.
    NotUnique(String),
    Stop(Stop),
}

impl From<InsertStop> for Stop {
    fn from(stop: InsertStop) -> Stop {
        match stop {
            InsertStop::NotUnique(index) => Stop::fault(["not unique: ", &index].concat()),
            InsertStop::Stop(stop) => stop,
        }
    }
}

/// Every entry of an index, a page at a time; at most `most`.
pub fn first<T: DeserializeOwned>(
    call: &Call,
    collection: &'static str,
    search: &tenon_plugin::records::Search,
) -> Result<Vec<Stored<T>>, Stop> {
    call.records(collection).find(search)?.entries.iter().map(Stored::read).collect()
}
