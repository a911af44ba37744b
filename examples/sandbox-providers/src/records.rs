//! What is stored: names of collections and indexes. Below here is every read and write of them, and nowhere else.

mod accounts;
mod lists;
mod orders;
mod quotes;
mod treasuries;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tenon_plugin::records::{Page, RecordRefusal, Search};
use tenon_plugin::{Call, Collection, Index, Stop, json};

use crate::words;

pub use accounts::{Holder, VirtualAccount, find_account, list_accounts, put_account};
pub use lists::{
    Entry, List, Loading, Version, clear_entries, delete_list, drop_load, find_entries, find_list, list_lists,
    put_entries, put_list,
};
pub use orders::{find_order, insert_order, list_payments, load_order, order_key, replace_order};
pub use quotes::{Quote, Terms, forget_quote, insert_quote, take_quote};
pub use treasuries::{note_gap, take_sequence};

const ORDERS: &str = "orders";
const QUOTES: &str = "quotes";
const ACCOUNTS: &str = "virtual-accounts";
const TREASURIES: &str = "treasuries";
const LISTS: &str = "sanctions-lists";
const ENTRIES: &str = "sanctions-entries";

pub const COLLECTIONS: &[Collection] = &[
    // By kind and the customer's id.
    Collection::new(ORDERS, &[Index::on("by-account", &["account", "@created-at"])]),
    Collection::new(QUOTES, &[]),
    // By the customer's id.
    Collection::new(ACCOUNTS, &[Index::on("by-created", &["@created-at"])]),
    // By blockchain: which sequence the next transaction has.
    Collection::new(TREASURIES, &[]),
    // By name.
    Collection::new(LISTS, &[Index::on("by-name", &["name"])]),
    // By list, load, chunk and position.
    Collection::new(ENTRIES, &[Index::on("by-address", &["list", "load", "key"])]),
];

fn find<T: DeserializeOwned>(call: &Call, collection: &str, id: &str) -> Result<Option<T>, Stop> {
    match call.records(collection).get(id) {
        // An owned type borrows nothing of the text.
        Some(entry) => serde_json::from_str(&entry.body).map(Some).map_err(|error| Stop::fault(error.to_string())),
        None => Ok(None),
    }
}

fn put<T: Serialize>(call: &Call, collection: &str, id: &str, value: &T) -> Result<(), Stop> {
    let (records, body) = (call.records(collection), json::to_text(value)?);
    match records.replace(id, &body) {
        Err(RecordRefusal::NotFound) => Ok(records.insert(id, &body)?),
        outcome => Ok(outcome?),
    }
}

/// Newest first.
fn page_of(call: &Call, collection: &str, search: Search) -> Result<Page, Stop> {
    match call.records(collection).find(&search.descending("@created-at")) {
        Err(RecordRefusal::BadCursor) => Err(words::wrong("after", "must be where a page of this list ended")),
        outcome => Ok(outcome?),
    }
}
