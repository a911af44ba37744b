//! Blockchains, assets, and the balances of a wallet or an address.

use tenon_plugin::chains::Network as ChainNetwork;
use tenon_plugin::{Call, Stop, json};

use super::Text;
use crate::ids;
use crate::rules::amount::{Money, Units};
use crate::rules::asset::{self, Asset, STABLECOINS};
use crate::rules::blockchain::Blockchain;
use crate::rules::books::{Account, Holder};
use crate::rules::network::Network;

/// What stands for the coin of a blockchain where a token's contract is named.
const NO_CONTRACT: &str = "0x0000000000000000000000000000000000000000";

pub fn blockchain(blockchain: Blockchain, network: Network, is_active: bool) -> Result<Text, Stop> {
    let id = ids::blockchain(blockchain, network);
    Text::new()
        .with("blockchain_id", &id)?
        .with("blockchain_slug", blockchain.slug())?
        .with("is_evm_compatible", &blockchain.is_evm_compatible())?
        .with("token_standard", blockchain.token_standard())?
        .with("derivation_path", blockchain.derivation_path())?
        .with("id", &id)?
        .with("name", blockchain.slug())?
        .with("symbol", &asset::gas(blockchain).symbol.to_ascii_lowercase())?
        .with("slug", blockchain.slug())?
        .with("derivationPath", blockchain.derivation_path())?
        .with("isEvmCompatible", &blockchain.is_evm_compatible())?
        .with("isL2", &blockchain.is_l2())?
        .with("isActive", &is_active)?
        .with("tokenStandard", blockchain.token_standard())?
        .with("networkFeeModel", "native")?
        .with("network", network.name())?
        .with("networkName", blockchain.network_name(network))
}

/// The asset whoever has it.
pub fn asset(call: &Call, asset: Asset, network: Network) -> Result<Text, Stop> {
    let coin = STABLECOINS.iter().find(|coin| coin.symbol == asset.symbol);
    let place = asset.blockchain;
    let chain = place.and_then(|place| call.chains().network(place.slug()));
    let text = Text::new()
        .with("id", &ids::asset(asset, network))?
        .with("name", coin.map_or(asset.symbol, |coin| coin.name))?
        .with("symbol", asset.symbol)?
        .with("decimals", &asset.decimals)?
        .with("address", &token_of(asset, chain.as_ref()).unwrap_or_else(|| NO_CONTRACT.to_owned()))?
        .with("standard", &place.filter(|_| !asset.is_native).map(Blockchain::token_standard))?
        .with("currency", &asset.currency())?
        .with("isActive", &chain.is_some())?
        .with("isNative", &asset.is_native)?
        .with("network", network.name())?;
    let place = place.map(|place| blockchain(place, network, chain.is_some())).transpose()?;
    Ok(text.raw_or_null("blockchain", place.map(|place| place.to_text())))
}

/// The address of its contract; a coin has none.
pub fn token_of(asset: Asset, chain: Option<&ChainNetwork>) -> Option<String> {
    if asset.is_native {
        return None;
    }
    let token = chain?.tokens.iter().find(|token| token.symbol == asset.symbol)?;
    Some(token.address.clone())
}

/// The asset as a wallet has it.
pub fn wallet_asset(call: &Call, wallet: &str, held: Asset, network: Network, is_active: bool) -> Result<Text, Stop> {
    let id = ids::wallet_asset(wallet, held);
    Ok(Text::new()
        .with("asset_id", &id)?
        .with("id", &id)?
        .with("isActive", &is_active)?
        .raw("asset", asset(call, held, network)?.to_text()))
}

/// Base units of one account.
pub fn balance_of(call: &Call, account: &Account, asset: Asset) -> Units {
    Units::of_base(&call.ledger().balance(&account.name(), &asset.key())).unwrap_or_default()
}

/// What a holder has of an asset: what can be spent, what is promised, what is not final.
pub struct Balance {
    pub available: Units,
    pub held: Units,
    pub pending: Units,
}

impl Balance {
    pub fn read(call: &Call, holder: &Holder, asset: Asset) -> Balance {
        let of = |account: Account| balance_of(call, &account, asset);
        Balance {
            available: of(Account::Available(holder.clone())),
            held: of(Account::Held(holder.clone())),
            pending: of(Account::Pending(holder.clone())),
        }
    }

    /// All that is its holder's.
    pub fn total(&self) -> Option<Units> {
        self.available.checked_add(self.held)?.checked_add(self.pending)
    }
}

/// `wallet`: whose assets they are.
pub fn balance(
    call: &Call,
    (wallet, holder): (&str, &Holder),
    asset: Asset,
    network: Network,
    is_active: bool,
) -> Result<Text, Stop> {
    let Balance { available, held, pending } = Balance::read(call, holder, asset);
    let whole = |units| Money::new(asset, units).to_decimal();
    // A dollar coin counts as what it is worth one of; of all others somebody else has to say it.
    let converted = (asset.currency() == Some("USD")).then(|| whole(available));
    Ok(Text::new()
        .with("wallet_id", wallet)?
        .with("address_id", &holder.address_id())?
        .with("asset_id", &ids::wallet_asset(wallet, asset))?
        .with("balance", &whole(available))?
        .with("available", &whole(available))?
        .with("held", &whole(held))?
        .with("pending", &whole(pending))?
        .with("convertedBalance", &converted)?
        .raw("asset", wallet_asset(call, wallet, asset, network, is_active)?.to_text()))
}

pub fn rows(texts: &[Text]) -> String {
    let rows: Vec<String> = texts.iter().map(Text::to_text).collect();
    json::array(rows.iter().map(String::as_str))
}
