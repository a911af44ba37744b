//! Addresses.

use tenon_plugin::{Stop, time};

use super::{Text, asset};
use crate::ids;
use crate::records::addresses::Address;
use crate::rules::network::Network;

pub fn full(address: &Address, network: Network) -> Result<Text, Stop> {
    let body = &address.body;
    let chain = body.blockchain;
    let metadata = body.metadata.as_ref().map(|metadata| metadata.get().to_owned());
    Ok(Text::new()
        .with("wallet_id", &body.wallet)?
        .with("address_id", &address.id)?
        .with("address", &body.address)?
        .with("address_name", &body.name)?
        .with("blockchain", chain.slug())?
        .with("network", network.name())?
        .with("disable_auto_sweep", &body.disable_auto_sweep.unwrap_or_default())?
        .with("enable_gasless_withdraw", &body.enable_gasless_withdraw.unwrap_or_default())?
        .raw_or_null("metadata", metadata)
        .with("blockchain_id", &ids::blockchain(chain, network))?
        .with("blockchain_slug", chain.slug())?
        .with("is_evm_compatible", &chain.is_evm_compatible())?
        .with("token_standard", chain.token_standard())?
        .with("derivation_path", &body.path)?
        .with("id", &address.id)?
        .with("name", &body.name)?
        .with("isActive", &body.is_active)?
        .with("type", if body.index.is_some() { "INTERNAL" } else { "EXTERNAL" })?
        .with("derivationPath", &body.path)?
        .raw("configurations", configurations(address)?)
        .with("createdAt", &time::to_text(address.created_ms))?
        .with("updatedAt", &time::to_text(address.updated_ms))?
        .raw("blockchainInfo", asset::blockchain(chain, network, true)?.to_text()))
}

/// What stands in other records.
pub fn thin(address: &Address) -> Result<Text, Stop> {
    let body = &address.body;
    let metadata = body.metadata.as_ref().map(|metadata| metadata.get().to_owned());
    Ok(Text::new()
        .with("id", &address.id)?
        .with("address", &body.address)?
        .with("name", &body.name)?
        .with("type", if body.index.is_some() { "INTERNAL" } else { "EXTERNAL" })?
        .with("isActive", &body.is_active)?
        .with("derivationPath", &body.path)?
        .raw_or_null("metadata", metadata))
}

fn configurations(address: &Address) -> Result<String, Stop> {
    let body = &address.body;
    let screening = body.screening.as_ref().map(|screening| screening.get().to_owned());
    Ok(Text::new()
        .raw_or_null("aml", screening)
        .with("disableAutoSweep", &body.disable_auto_sweep)?
        .with("enableGaslessWithdraw", &body.enable_gasless_withdraw)?
        .with("showPrivateKey", &false)?
        .with("isActive", &body.is_active)?
        .to_text())
}
