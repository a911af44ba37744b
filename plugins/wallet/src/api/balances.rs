//! Balances, and whether the ledger and the blockchain agree.
//!
//! A balance is what the ledger says. `/reconciliation` asks the blockchain as well: what is under way there (seen and not
//! settled here, or the other way round) shows as a difference until it is settled.

use tenon_plugin::{Call, Outcome, Route, Stop, get};

use super::addresses::wallets_of;
use super::{access, envelope, query};
use crate::records::addresses::Address;
use crate::records::wallets::Wallet;
use crate::rules::amount::{Money, Units};
use crate::rules::asset::{self, Asset};
use crate::rules::books::Holder;
use crate::show::asset::{Balance, token_of};
use crate::show::{self, Text};
use crate::{sending, words};

pub const ROUTES: &[Route] = &[
    get("/v1/wallets/{walletId}/balance", "read-balance", one).query(query::ASSET),
    get("/v1/wallets/{walletId}/balances", "list-balances", all).query(envelope::PAGE),
    get("/v1/wallets/{walletId}/reconciliation", "reconcile-wallet", reconcile).query(&["blockchain"]),
    get("/v1/wallets/{walletId}/addresses/{addressId}/balance", "read-address-balance", one).query(query::ASSET),
    get("/v1/wallets/{walletId}/addresses/{addressId}/balances", "list-address-balances", all).query(envelope::PAGE),
    get("/v1/wallets/{walletId}/addresses/{addressId}/reconciliation", "reconcile-address", reconcile)
        .query(&["blockchain"]),
];

/// Questions of one call: so many assets are compared at once.
const QUESTIONS_MAX: usize = 16;

/// Every asset that a holder can have, with the wallet of its blockchain.
fn held(call: &Call, wallet: &Wallet, address: Option<&Address>) -> Result<Vec<(Wallet, Asset)>, Stop> {
    let wallets = wallets_of(call, wallet, address)?.into_iter();
    let assets =
        |wallet: Wallet| asset::on(wallet.body.blockchain).into_iter().map(move |asset| (wallet.clone(), asset));
    Ok(wallets.flat_map(assets).collect())
}

fn holder_of(wallet: &Wallet, address: Option<&Address>) -> Holder {
    address.map_or_else(|| wallet.holder(), Address::holder)
}

fn shown(call: &Call, holder: &Holder, (wallet, asset): &(Wallet, Asset)) -> Result<Text, Stop> {
    let is_on = wallet.body.is_on(*asset);
    show::asset::balance(call, (&wallet.id, holder), *asset, access::network(call), is_on)
}

fn one(call: &Call) -> Outcome {
    let (wallet, address) = access::holder(call)?;
    let wanted = query::single(call, query::ASSET)?;
    let wanted = wanted.ok_or_else(|| words::wrong("asset_id", "required", "is required"))?;
    let network = access::network(call);
    let mut all = held(call, &wallet, address.as_ref())?.into_iter();
    let found = all.find(|(wallet, asset)| wallet.find_asset(wanted, network) == Some(*asset));
    let found = found.ok_or_else(|| words::wrong("asset_id", "asset", "must be an asset of this wallet"))?;
    let text = shown(call, &holder_of(&wallet, address.as_ref()), &found)?;
    envelope::ok("Balance fetched successfully", &text.to_text())
}

fn all(call: &Call) -> Outcome {
    let (wallet, address) = access::holder(call)?;
    let holder = holder_of(&wallet, address.as_ref());
    let rows: Result<Vec<String>, Stop> = held(call, &wallet, address.as_ref())?
        .iter()
        .filter(|(wallet, asset)| wallet.body.is_on(*asset))
        .map(|held| Ok(shown(call, &holder, held)?.to_text()))
        .collect();
    envelope::paged_list(call, "Balances fetched successfully", &rows?)
}

/// What lies at the address itself: of an address, on the blockchain of its wallet, or the one that is named.
fn reconcile(call: &Call) -> Outcome {
    let (wallet, address) = access::holder(call)?;
    let sender = sending::sender(&wallet, address.as_ref());
    let (holder, _, account) =
        sender.ok_or_else(|| words::wrong("address_id", "key", "must be an address whose key is here"))?;
    let wanted = query::single(call, &["blockchain"])?.unwrap_or(wallet.body.blockchain.slug());
    let mut wallets = wallets_of(call, &wallet, address.as_ref())?.into_iter();
    let on = wallets.find(|wallet| wallet.body.blockchain.slug() == wanted);
    let on = on.ok_or_else(|| words::wrong("blockchain", "blockchain", "must be one of this address"))?;
    let slug = on.body.blockchain.slug();
    let network = call.chains().network(slug);
    let assets: Vec<Asset> = asset::on(on.body.blockchain).into_iter().take(QUESTIONS_MAX).collect();
    // All are asked before any is waited for.
    let asked: Vec<_> = assets
        .iter()
        .map(|asset| call.chains().balance(slug, &account, token_of(*asset, network.as_ref()).as_deref()))
        .collect();
    let (mut rows, mut agree) = (Vec::new(), true);
    for (asset, reply) in assets.into_iter().zip(asked) {
        let reply = reply?.map_err(|_| words::unanswered("The blockchain does not answer"))?;
        let chain = Units::of_base(&reply).ok_or_else(|| Stop::fault("a balance is no number"))?;
        let (text, is_same) = compare(call, &on, &holder, asset, chain)?;
        agree = agree && is_same;
        rows.push(text);
    }
    let text = Text::new()
        .with("wallet_id", &on.id)?
        .with("address_id", &holder.address_id())?
        .with("address", &account)?
        .with("blockchain", slug)?
        .with("matches", &agree)?
        .raw("assets", show::asset::rows(&rows));
    envelope::ok("Ledger and blockchain compared", &text.to_text())
}

fn compare(call: &Call, wallet: &Wallet, holder: &Holder, asset: Asset, chain: Units) -> Result<(Text, bool), Stop> {
    let balance = Balance::read(call, holder, asset);
    let ledger = balance.total().ok_or_else(|| Stop::fault("a balance fits no number"))?;
    let whole = |units| Money::new(asset, units).to_decimal();
    let (more, less) = (chain.saturating_sub(ledger), ledger.saturating_sub(chain));
    let difference = if less.is_zero() { whole(more) } else { ["-", &whole(less)].concat() };
    let is_same = chain == ledger;
    let text = Text::new()
        .with("asset_id", &crate::ids::wallet_asset(&wallet.id, asset))?
        .with("symbol", asset.symbol)?
        .with("available", &whole(balance.available))?
        .with("held", &whole(balance.held))?
        .with("pending", &whole(balance.pending))?
        .with("ledger", &whole(ledger))?
        .with("chain", &whole(chain))?
        .with("difference", &difference)?
        .with("matches", &is_same)?;
    Ok((text, is_same))
}
