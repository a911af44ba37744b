//! Blockchains and assets, as everybody has them and as a wallet does.

use tenon_plugin::{Call, Outcome, Route, Stop, delete, get, patch, post};

use super::form::Form;
use super::wallets::of_page;
use super::{access, envelope, query};
use crate::records::wallets::{self, Wallet};
use crate::rules::asset::{self, Asset};
use crate::rules::blockchain::Blockchain;
use crate::rules::network::Network;
use crate::show::Text;
use crate::{ids, show, words};

/// The list of all assets takes these parameters.
const QUERY: &[&str] = &["symbol", "blockchain", "blockchain_id", "blockchainId", "network", "page", "limit"];

pub const ROUTES: &[Route] = &[
    get("/v1/blockchains", "list-blockchains", list_blockchains).query(envelope::PAGE),
    get("/v1/assets", "list-assets", list_assets).query(QUERY),
    get("/v1/wallets/{walletId}/assets", "list-wallet-assets", list_of_wallet).query(envelope::PAGE),
    post("/v1/wallets/{walletId}/assets", "add-wallet-asset", add),
    patch("/v1/wallets/{walletId}/assets/{assetId}", "update-wallet-asset", update),
    delete("/v1/wallets/{walletId}/assets/{assetId}", "remove-wallet-asset", remove),
];

/// Returns the page of `all` that the query asks for.
fn page_of<T>(call: &Call, message: &str, all: &[T], shown: impl Fn(&T) -> Result<Text, Stop>) -> Outcome {
    let page = envelope::page(call)?;
    let rows: Result<Vec<String>, Stop> = of_page(all, page).map(|one| Ok(shown(one)?.to_text())).collect();
    envelope::list(message, &rows?, page.meta(all.len() as u64), None)
}

fn list_blockchains(call: &Call) -> Outcome {
    let network = access::network(call);
    page_of(call, "Blockchains fetched successfully", &Blockchain::ALL, |chain| {
        show::asset::blockchain(*chain, network, call.chains().network(chain.slug()).is_some())
    })
}

fn list_assets(call: &Call) -> Outcome {
    let network = access::network(call);
    let id = query::single(call, &["blockchain_id", "blockchainId"])?;
    let (symbol, slug) = (query::single(call, &["symbol"])?, query::single(call, &["blockchain"])?);
    let name = query::single(call, &["network"])?;
    let fits = |asset: &Asset| {
        let Some(chain) = asset.blockchain else { return false };
        symbol.is_none_or(|symbol| asset.symbol.eq_ignore_ascii_case(symbol))
            && slug.is_none_or(|slug| chain.slug() == slug)
            && name.is_none_or(|name| network.name() == name)
            && id.is_none_or(|id| ids::blockchain(chain, network) == id)
    };
    let all: Vec<Asset> = Blockchain::ALL.into_iter().flat_map(asset::on).filter(fits).collect();
    page_of(call, "Assets fetched successfully", &all, |asset| show::asset::asset(call, *asset, network))
}

fn list_of_wallet(call: &Call) -> Outcome {
    let wallet = access::wallet(call)?;
    let network = access::network(call);
    let all = asset::on(wallet.body.blockchain);
    page_of(call, "Assets fetched successfully", &all, |asset| one(call, &wallet, *asset, network))
}

fn one(call: &Call, wallet: &Wallet, asset: Asset, network: Network) -> Result<Text, Stop> {
    show::asset::wallet_asset(call, &wallet.id, asset, network, wallet.body.is_on(asset))
}

/// Switches an asset of the blockchain on. All are on from the beginning.
fn add(call: &Call) -> Outcome {
    let wallet = access::wallet(call)?;
    let mut form = Form::of(call)?;
    let wanted = form.text(&["asset_id", "assetId"]);
    form.finish()?;
    let wanted = wanted.ok_or_else(|| words::wrong("asset_id", "required", "is required"))?;
    let found = wallet.find_asset(&wanted, access::network(call));
    let found = found.ok_or_else(|| words::wrong("asset_id", "asset", "must be an asset of this wallet"))?;
    switch(call, wallet, found, true, 201)
}

fn update(call: &Call) -> Outcome {
    let wallet = access::wallet(call)?;
    let found = of_path(call, &wallet)?;
    let mut form = Form::of(call)?;
    let is_active = form.flag(&["is_active", "isActive"]);
    form.finish()?;
    let is_active = is_active.ok_or_else(|| words::wrong("is_active", "required", "is required"))?;
    switch(call, wallet, found, is_active, 200)
}

/// What it holds stays, and is counted.
fn remove(call: &Call) -> Outcome {
    let wallet = access::wallet(call)?;
    let found = of_path(call, &wallet)?;
    switch(call, wallet, found, false, 200)
}

fn of_path(call: &Call, wallet: &Wallet) -> Result<Asset, Stop> {
    wallet.find_asset(call.parameter("assetId"), access::network(call)).ok_or_else(words::not_found)
}

fn switch(call: &Call, mut wallet: Wallet, asset: Asset, is_on: bool, status: u16) -> Outcome {
    let key = asset.key();
    wallet.body.assets_off.retain(|off| *off != key);
    if !is_on {
        wallet.body.assets_off.push(key);
    }
    wallets::save(call, &wallet)?;
    let shown = one(call, &wallet, asset, access::network(call))?;
    envelope::answer(status, "Asset updated successfully", &shown.to_text(), &[])
}
