//! Who may do what (spec/wallet: Authentication). A key that the operator made is the account's and opens all of its wallets;
//! one that carries a wallet opens that one, and every other is as unknown as one that does not exist.

use tenon_plugin::{Call, Stop};

use super::form::Form;
use crate::records::addresses::{self, Address};
use crate::records::wallets::{self, Wallet};
use crate::rules::network::Network;
use crate::words;

/// What a wallet's key carries.
pub const ATTRIBUTE: &str = "wallet";

pub fn network(call: &Call) -> Network {
    let tenant = call.principal().tenant.as_str();
    if tenant.ends_with("/live") { Network::Mainnet } else { Network::Testnet }
}

/// What the account's key alone may do.
pub fn account(call: &Call) -> Result<(), Stop> {
    if call.attribute(ATTRIBUTE).is_some() { Err(words::forbidden()) } else { Ok(()) }
}

/// The wallet of the path; on a path without one, that of its address, of the key, or whose asset the body names.
pub fn wallet(call: &Call) -> Result<Wallet, Stop> {
    let (named, address) = (call.parameter("walletId"), call.parameter("addressId"));
    if !named.is_empty() {
        return wallet_of(call, named);
    }
    if !address.is_empty() {
        let found = addresses::load(call, address)?.ok_or_else(words::not_found)?;
        return wallet_of(call, &found.body.wallet);
    }
    if let Some(own) = call.attribute(ATTRIBUTE) {
        return wallet_of(call, own);
    }
    let mut form = Form::of(call)?;
    let asset = form.text(&["asset_id", "assetId"]);
    form.finish()?;
    let has = |wallet: &Wallet| asset.as_deref().is_some_and(|id| wallet.find_asset(id, network(call)).is_some());
    let found = wallets::all(call)?.into_iter().find(has);
    found.ok_or_else(|| words::wrong("asset_id", "required", "is required"))
}

/// One that the caller may use.
pub fn wallet_of(call: &Call, id: &str) -> Result<Wallet, Stop> {
    if call.attribute(ATTRIBUTE).is_some_and(|own| own != id) {
        return Err(words::not_found());
    }
    wallets::load(call, id)?.ok_or_else(words::not_found)
}

/// The address of the path, under the wallet of the path.
pub fn address(call: &Call, wallet: &Wallet) -> Result<Address, Stop> {
    let found = addresses::load(call, call.parameter("addressId"))?;
    found.filter(|address| address.body.wallet == wallet.id).ok_or_else(words::not_found)
}

/// Wallet and address of the path.
pub fn holder(call: &Call) -> Result<(Wallet, Option<Address>), Stop> {
    let wallet = wallet(call)?;
    let address = match call.parameter("addressId") {
        "" => None,
        _ => Some(address(call, &wallet)?),
    };
    Ok((wallet, address))
}
