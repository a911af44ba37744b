//! Addresses under master wallets, and addresses of others that are watched.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tenon_plugin::records::{Comparison, Page, Search, Value};
use tenon_plugin::{Call, Collection, Index, Stop};

use super::{InsertStop, Stored};
use crate::rules::blockchain::Blockchain;
use crate::rules::books::Holder;
use crate::rules::deposit::Custody;
use crate::rules::refusal::Refusal;
use crate::rules::settings::AddressSettings;
use crate::wire;

pub const ADDRESSES: &str = "addresses";

pub const COLLECTIONS: &[Collection] = &[Collection::new(
    ADDRESSES,
    &[
        Index::unique("by-place", &["place"]),
        Index::on("by-wallet", &["wallet", "@created-at"]),
        Index::on("by-kind", &["wallet", "is_ours"]),
        Index::on("by-family", &["family", "@created-at"]),
        Index::on("by-address", &["address"]),
    ],
)];

pub type Address = Stored<AddressBody>;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AddressBody {
    pub wallet: String,
    #[serde(with = "wire::blockchain")]
    pub blockchain: Blockchain,
    pub address: String,
    /// An address is watched on a blockchain for one record: this names both.
    place: String,
    /// Of those whose key is here, whose addresses other blockchains share: "evm".
    #[serde(skip_serializing_if = "Option::is_none", default)]
    family: Option<String>,
    is_ours: bool,
    /// Of its key, where that is here.
    pub index: Option<u32>,
    pub path: Option<String>,
    pub name: Option<String>,
    pub metadata: Option<Box<RawValue>>,
    pub disable_auto_sweep: Option<bool>,
    pub enable_gasless_withdraw: Option<bool>,
    pub is_active: bool,
    /// What the sanctions lists said: JSON of the answer's aml.
    pub screening: Option<Box<RawValue>>,
}

impl AddressBody {
    /// Before anything leaves it, or is asked for in its name.
    pub fn check_active(&self) -> Result<(), Refusal> {
        if self.is_active { Ok(()) } else { Err(Refusal::AddressInactive) }
    }

    /// `key`: index and path, where it is here.
    pub fn new(wallet: &str, blockchain: Blockchain, address: String, key: Option<(u32, String)>) -> AddressBody {
        let place = [blockchain.slug(), "/", &address].concat();
        let (index, path) = key.map_or((None, None), |(index, path)| (Some(index), Some(path)));
        let is_shared = index.is_some() && blockchain.is_evm_compatible();
        AddressBody {
            wallet: wallet.to_owned(),
            blockchain,
            address,
            place,
            family: is_shared.then(|| "evm".to_owned()),
            is_ours: index.is_some(),
            index,
            path,
            name: None,
            metadata: None,
            disable_auto_sweep: None,
            enable_gasless_withdraw: None,
            is_active: true,
            screening: None,
        }
    }

    pub fn settings(&self) -> AddressSettings {
        let (disable_auto_sweep, enable_gasless_withdraw) = (self.disable_auto_sweep, self.enable_gasless_withdraw);
        AddressSettings { disable_auto_sweep, enable_gasless_withdraw }
    }

    pub fn custody(&self) -> Custody {
        if self.is_ours { Custody::Ours } else { Custody::Watched }
    }
}

impl Stored<AddressBody> {
    pub fn holder(&self) -> Holder {
        Holder::Address(self.id.clone())
    }
}

pub fn load(call: &Call, id: &str) -> Result<Option<Address>, Stop> {
    super::load(call, ADDRESSES, id)
}

/// Those that there are.
pub fn load_many(call: &Call, ids: &[String]) -> Result<Vec<Address>, Stop> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    call.records(ADDRESSES).get_many(ids).iter().flatten().map(Stored::read).collect()
}

/// Of this text, whoever has the key.
pub fn with_text(call: &Call, address: &str) -> Result<Vec<Address>, Stop> {
    find(call, &Search::first(20).is("address", address))
}

pub fn insert(call: &Call, address: &Address) -> Result<(), InsertStop> {
    super::insert(call, ADDRESSES, address)
}

pub fn save(call: &Call, address: &Address) -> Result<(), Stop> {
    super::replace(call, ADDRESSES, address)
}

pub fn remove(call: &Call, id: &str) -> Result<(), Stop> {
    Ok(call.records(ADDRESSES).delete(id)?)
}

/// Whether somebody here has this address, or watches it, on whatever blockchain.
pub fn is_known(call: &Call, address: &str) -> bool {
    call.records(ADDRESSES).count(&Search::first(1).is("address", address), 1) > 0
}

pub fn of_wallet(wallet: &str, rows: u32) -> Search {
    Search::first(rows).is("wallet", wallet).descending("@created-at")
}

pub fn find(call: &Call, search: &Search) -> Result<Vec<Address>, Stop> {
    super::first(call, ADDRESSES, search)
}

/// All, or those of others.
pub fn count(call: &Call, wallet: &str, others_only: bool, most: u32) -> u64 {
    let search = Search::first(1).is("wallet", wallet);
    let search = if others_only { search.with("is_ours", Comparison::Equal(Value::Boolean(false))) } else { search };
    call.records(ADDRESSES).count(&search, most).into()
}

/// Addresses that every EVM blockchain knows, the oldest first.
pub fn shared(call: &Call, rows: u32, after: Option<String>) -> Result<(Vec<Address>, Option<String>), Stop> {
    let search = Search::first(rows).is("family", "evm").ascending("@created-at");
    let search = match after {
        Some(after) => search.after(after),
        None => search,
    };
    let Page { entries, next } = call.records(ADDRESSES).find(&search)?;
    let read: Result<Vec<Address>, Stop> = entries.iter().map(Stored::read).collect();
    Ok((read?, next))
}
