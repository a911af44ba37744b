//! Master wallets.

use tenon_plugin::{Call, Stop, time};

use super::{Text, asset};
use crate::ids;
use crate::records::wallets::Wallet;
use crate::rules::network::Network;

/// What stands in other records.
pub fn thin(wallet: &Wallet, network: Network) -> Result<Text, Stop> {
    Text::new()
        .with("id", &wallet.id)?
        .with("name", &wallet.body.name)?
        .with("address", &wallet.body.address)?
        .with("blockchain", wallet.body.blockchain.slug())?
        .with("network", network.name())?
        .with("status", "ACTIVE")
}

pub fn full(call: &Call, wallet: &Wallet, network: Network) -> Result<Text, Stop> {
    let body = &wallet.body;
    let chain = body.blockchain;
    let assets = crate::rules::asset::on(chain).into_iter();
    let assets: Result<Vec<Text>, Stop> =
        assets.map(|held| asset::wallet_asset(call, &wallet.id, held, network, body.is_on(held))).collect();
    Ok(Text::new()
        .with("wallet_id", &wallet.id)?
        .with("blockchain", chain.slug())?
        .with("network", network.name())?
        .with("webhook_url", &body.webhook_url)?
        .with("address", &body.address)?
        .with("disable_auto_sweep", &!body.auto_sweep)?
        .with("enable_gasless_withdraw", &body.gasless)?
        .with("blockchain_id", &ids::blockchain(chain, network))?
        .with("blockchain_slug", chain.slug())?
        .with("is_evm_compatible", &chain.is_evm_compatible())?
        .with("token_standard", chain.token_standard())?
        .with("derivation_path", &body.path)?
        .with("wallet_status", "ACTIVE")?
        .with("id", &wallet.id)?
        .with("name", &body.name)?
        .with("description", &body.description)?
        .with("derivationPath", &body.path)?
        .with("isActive", &true)?
        .with("status", "ACTIVE")?
        .raw("configurations", configurations(wallet)?)
        .with("createdAt", &time::to_text(wallet.created_ms))?
        .with("updatedAt", &time::to_text(wallet.updated_ms))?
        .raw("blockchainInfo", asset::blockchain(chain, network, true)?.to_text())
        .raw("assets", asset::rows(&assets?)))
}

fn configurations(wallet: &Wallet) -> Result<String, Stop> {
    let body = &wallet.body;
    let sweeping = Text::new()
        .with("isActive", &body.auto_sweep)?
        .with("threshold", &body.auto_sweep_threshold.to_decimal())?
        .to_text();
    let gasless = Text::new()
        .with("isActive", &body.gasless)?
        .with("operator", body.gasless_operator.name())?
        .with("threshold", &body.gasless_threshold.to_decimal())?
        .to_text();
    let withdrawal = Text::new().raw("gasless", gasless).to_text();
    Ok(Text::new().raw("autoSweeping", sweeping).raw("withdrawal", withdrawal).to_text())
}
