//! Virtual accounts: bank account numbers that fill a wallet or an address.

use serde::{Deserialize, Serialize};
use tenon_plugin::records::Search;
use tenon_plugin::{Call, Collection, Index, Stop};

use super::Stored;
use crate::rules::virtual_account::AccountState;

const VIRTUAL_ACCOUNTS: &str = "virtual-accounts";

pub const COLLECTIONS: &[Collection] =
    &[Collection::new(VIRTUAL_ACCOUNTS, &[Index::on("by-place", &["place", "@created-at"])])];

pub type VirtualAccount = Stored<VirtualAccountBody>;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct VirtualAccountBody {
    pub wallet: String,
    pub address: Option<String>,
    /// What lists find it by: wallet, or wallet and address.
    pub place: String,
    pub firstname: String,
    pub lastname: String,
    pub email: String,
    pub phone: String,
    pub account_name: Option<String>,
    pub account_number: Option<String>,
    pub bank_code: Option<String>,
    pub bank_name: Option<String>,
    state: String,
}

const STATES: [(&str, AccountState); 4] = [
    ("requested", AccountState::Requested),
    ("active", AccountState::Active),
    ("inactive", AccountState::Inactive),
    ("rejected", AccountState::Rejected),
];

pub fn state_named(name: &str) -> Option<AccountState> {
    STATES.iter().find(|(known, _)| *known == name).map(|(_, state)| *state)
}

pub fn name_of(state: AccountState) -> &'static str {
    STATES.iter().find(|(_, known)| *known == state).map_or("", |(name, _)| name)
}

impl VirtualAccountBody {
    pub fn new(wallet: &str, address: Option<&str>, owner: crate::rules::request::virtual_account::Owner) -> Self {
        VirtualAccountBody {
            wallet: wallet.to_owned(),
            address: address.map(str::to_owned),
            place: place(wallet, address),
            firstname: owner.firstname,
            lastname: owner.lastname,
            email: owner.email,
            phone: owner.phone,
            account_name: None,
            account_number: None,
            bank_code: None,
            bank_name: None,
            state: name_of(AccountState::Requested).to_owned(),
        }
    }

    pub fn state(&self) -> AccountState {
        state_named(&self.state).unwrap_or(AccountState::Requested)
    }

    pub fn set_state(&mut self, state: AccountState) {
        name_of(state).clone_into(&mut self.state);
    }
}

pub fn place(wallet: &str, address: Option<&str>) -> String {
    [wallet, "/", address.unwrap_or_default()].concat()
}

pub fn load(call: &Call, id: &str) -> Result<Option<VirtualAccount>, Stop> {
    super::load(call, VIRTUAL_ACCOUNTS, id)
}

pub fn insert(call: &Call, account: &VirtualAccount) -> Result<(), Stop> {
    Ok(super::insert(call, VIRTUAL_ACCOUNTS, account)?)
}

pub fn save(call: &Call, account: &VirtualAccount) -> Result<(), Stop> {
    super::replace(call, VIRTUAL_ACCOUNTS, account)
}

/// A page of those of a wallet or address, and how many there are.
pub fn page(
    call: &Call,
    place: &str,
    (rows, skipped): (u32, u32),
    most: u32,
) -> Result<(Vec<VirtualAccount>, u64), Stop> {
    let search = Search::first(rows).is("place", place).descending("@created-at").offset(skipped);
    let found = super::first(call, VIRTUAL_ACCOUNTS, &search)?;
    Ok((found, call.records(VIRTUAL_ACCOUNTS).count(&Search::first(1).is("place", place), most).into()))
}
