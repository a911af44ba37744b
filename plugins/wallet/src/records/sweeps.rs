//! Which sweep is under way: one at a time for an asset of an address.

use serde::{Deserialize, Serialize};
use tenon_plugin::{Call, Collection, Stop, json};

use crate::rules::asset::Asset;

const SWEEPS: &str = "sweeps";

/// By address and asset.
pub const COLLECTIONS: &[Collection] = &[Collection::new(SWEEPS, &[])];

/// What is swept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lot {
    /// Of the blockchain on which it lies.
    pub wallet: String,
    pub address: String,
    #[serde(with = "crate::wire::asset")]
    pub asset: Asset,
}

#[derive(Serialize, Deserialize)]
struct Underway {
    by: String,
}

impl Lot {
    pub fn key(&self) -> String {
        [&self.address, "/", &self.asset.key()].concat()
    }
}

/// The id of the transaction that moves it, or that brings the coins for it.
pub fn underway(call: &Call, lot: &Lot) -> Result<Option<String>, Stop> {
    let found = call.records(SWEEPS).get(&lot.key());
    Ok(found.map(|entry| json::from_text::<Underway>(&entry.body)).transpose()?.map(|underway| underway.by))
}

pub fn begin(call: &Call, lot: &Lot, by: &str) -> Result<(), Stop> {
    let (records, body) = (call.records(SWEEPS), json::to_text(&Underway { by: by.to_owned() })?);
    let is_known = records.get(&lot.key()).is_some();
    let saved = if is_known { records.replace(&lot.key(), &body) } else { records.insert(&lot.key(), &body) };
    saved.map_err(Stop::from)
}

pub fn end(call: &Call, lot: &Lot) -> Result<(), Stop> {
    let records = call.records(SWEEPS);
    if records.get(&lot.key()).is_some() {
        records.delete(&lot.key())?;
    }
    Ok(())
}
