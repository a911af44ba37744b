//! Master wallets: one for each blockchain of the tenant.

use serde::{Deserialize, Serialize};
use tenon_plugin::records::Search;
use tenon_plugin::{Call, Collection, Index, Stop};

use super::{InsertStop, Stored};
use crate::rules::amount::Whole;
use crate::rules::asset::{self, Asset};
use crate::rules::blockchain::{Blockchain, Family};
use crate::rules::books::Holder;
use crate::rules::network::Network;
use crate::rules::settings::{AutoSweep, GaslessWithdraw, Operator, WalletSettings};
use crate::{ids, wire};

pub const WALLETS: &str = "wallets";
const BY_BLOCKCHAIN: &str = "by-blockchain";

pub const COLLECTIONS: &[Collection] = &[Collection::new(
    WALLETS,
    &[
        Index::unique(BY_BLOCKCHAIN, &["blockchain"]),
        Index::on("by-created", &["@created-at"]),
        Index::on("by-address", &["address"]),
    ],
)];

pub type Wallet = Stored<WalletBody>;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WalletBody {
    #[serde(with = "wire::blockchain")]
    pub blockchain: Blockchain,
    pub address: String,
    /// Of its key.
    pub index: u32,
    pub path: String,
    pub webhook_url: String,
    pub name: Option<String>,
    pub description: Option<String>,
    pub auto_sweep: bool,
    #[serde(with = "wire::whole")]
    pub auto_sweep_threshold: Whole,
    pub gasless: bool,
    #[serde(with = "wire::operator")]
    pub gasless_operator: Operator,
    #[serde(with = "wire::whole")]
    pub gasless_threshold: Whole,
    /// Keys of assets that were switched off.
    #[serde(default)]
    pub assets_off: Vec<String>,
}

impl WalletBody {
    pub fn new(
        blockchain: Blockchain,
        (index, address, path): (u32, String, String),
        webhook_url: String,
    ) -> WalletBody {
        let WalletSettings { auto_sweep, gasless_withdraw } = WalletSettings::default();
        WalletBody {
            blockchain,
            address,
            index,
            path,
            webhook_url,
            name: None,
            description: None,
            auto_sweep: auto_sweep.is_active,
            auto_sweep_threshold: auto_sweep.threshold,
            gasless: gasless_withdraw.is_active,
            gasless_operator: gasless_withdraw.operator,
            gasless_threshold: gasless_withdraw.threshold,
            assets_off: Vec::new(),
        }
    }

    pub fn settings(&self) -> WalletSettings {
        let auto_sweep = AutoSweep { is_active: self.auto_sweep, threshold: self.auto_sweep_threshold };
        let (is_active, operator, threshold) = (self.gasless, self.gasless_operator, self.gasless_threshold);
        WalletSettings { auto_sweep, gasless_withdraw: GaslessWithdraw { is_active, operator, threshold } }
    }

    pub fn is_on(&self, asset: Asset) -> bool {
        !self.assets_off.contains(&asset.key())
    }
}

impl Stored<WalletBody> {
    pub fn holder(&self) -> Holder {
        Holder::Wallet(self.id.clone())
    }

    /// By the id that this wallet knows it under, or the one that everybody does.
    pub fn find_asset(&self, wanted: &str, network: Network) -> Option<Asset> {
        let all = asset::on(self.body.blockchain).into_iter();
        let mut known = all.map(|asset| (ids::wallet_asset(&self.id, asset), ids::asset(asset, network), asset));
        known.find(|(own, general, _)| own == wanted || general == wanted).map(|(_, _, asset)| asset)
    }
}

pub fn load(call: &Call, id: &str) -> Result<Option<Wallet>, Stop> {
    super::load(call, WALLETS, id)
}

pub fn insert(call: &Call, wallet: &Wallet) -> Result<(), InsertStop> {
    super::insert(call, WALLETS, wallet)
}

pub fn save(call: &Call, wallet: &Wallet) -> Result<(), Stop> {
    super::replace(call, WALLETS, wallet)
}

/// One for each blockchain: they fit a page.
pub fn all(call: &Call) -> Result<Vec<Wallet>, Stop> {
    let most = u32::try_from(Blockchain::ALL.len()).unwrap_or(u32::MAX);
    super::first(call, WALLETS, &Search::first(most).ascending("@created-at"))
}

pub fn of_blockchain(call: &Call, blockchain: Blockchain) -> Result<Option<Wallet>, Stop> {
    let found = super::first(call, WALLETS, &Search::first(1).is("blockchain", blockchain.slug()))?;
    Ok(found.into_iter().next())
}

/// Those on which the addresses of this one receive as well, itself included.
pub fn of_family(call: &Call, family: Family) -> Result<Vec<Wallet>, Stop> {
    let all = all(call)?.into_iter();
    Ok(all.filter(|wallet| wallet.body.blockchain.family() == family).collect())
}

/// Whether the address is that of a master wallet.
pub fn has_address(call: &Call, address: &str) -> bool {
    call.records(WALLETS).count(&Search::first(1).is("address", address), 1) > 0
}
