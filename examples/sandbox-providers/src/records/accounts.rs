//! Virtual accounts, by the customer's id.

use serde::{Deserialize, Serialize};
use tenon_plugin::records::Search;
use tenon_plugin::{Call, Stop, json};

use super::ACCOUNTS;
use crate::rules::order::Asset;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct VirtualAccount {
    pub id: String,
    /// What was asked for, to tell a repeat from another request.
    pub request: String,
    /// "active", "inactive" or "rejected".
    pub status: String,
    pub reason: Option<String>,
    pub currency: String,
    pub holder: Holder,
    pub account_number: Option<String>,
    pub settlement: Asset,
    pub settlement_address: String,
    pub created_at: u64,
    pub updated_at: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Holder {
    pub first_name: String,
    pub last_name: String,
    pub email: String,
    pub phone: String,
}

pub fn find_account(call: &Call, id: &str) -> Result<Option<VirtualAccount>, Stop> {
    super::find(call, ACCOUNTS, id)
}

pub fn put_account(call: &Call, account: &VirtualAccount) -> Result<(), Stop> {
    super::put(call, ACCOUNTS, &account.id, account)
}

/// Newest first, and where the page after them begins.
pub fn list_accounts(call: &Call, search: Search) -> Result<(Vec<VirtualAccount>, Option<String>), Stop> {
    let page = super::page_of(call, ACCOUNTS, search)?;
    let accounts = page.entries.iter().map(|entry| json::from_text(&entry.body));
    Ok((accounts.collect::<Result<_, _>>()?, page.next))
}
