//! Transactions of both directions, in one shape (research/wallet 2): what a record has no use for is null.

use tenon_plugin::{Call, Stop, time};

use super::{Text, address, asset, provided, wallet};
use crate::ids;
use crate::records::addresses::{self, Address};
use crate::records::outgoing::Out;
use crate::records::transactions::{Incoming, Transaction};
use crate::records::wallets::{self, Wallet};
use crate::rules::amount::{Money, Units};
use crate::rules::asset as assets;
use crate::rules::blockchain::Blockchain;
use crate::rules::kind::Kind;
use crate::rules::network::Network;
use crate::rules::outgoing::Task;
use crate::rules::status::Status;
use crate::rules::sweep::Sweep;

/// Whose it is. Loaded once for many.
pub struct Whose {
    pub wallet: Wallet,
    pub address: Option<Address>,
    pub network: Network,
}

impl Whose {
    pub fn load(call: &Call, transaction: &Transaction, network: Network) -> Result<Whose, Stop> {
        let wallet = wallets::load(call, &transaction.body.wallet)?;
        let wallet = wallet.ok_or_else(|| Stop::fault("a transaction is of no wallet"))?;
        let address = match address_id(transaction) {
            Some(id) => addresses::load(call, &id)?,
            None => None,
        };
        Ok(Whose { wallet, address, network })
    }
}

pub fn address_id(transaction: &Transaction) -> Option<String> {
    let holder = match (transaction.incoming(), Out::of(transaction)) {
        (Some(incoming), _) => incoming.record.holder,
        (None, Some(out)) => out.record.from,
        (None, None) => return transaction.body.signed.as_ref().and_then(|signed| signed.address.clone()),
    };
    holder.address_id().map(str::to_owned)
}

pub fn full(call: &Call, transaction: &Transaction, whose: &Whose) -> Result<Text, Stop> {
    let body = &transaction.body;
    let (incoming, out) = (transaction.incoming(), Out::of(transaction));
    let money = match (&incoming, &out) {
        (Some(incoming), _) => Some(incoming.record.sighting.money),
        (None, Some(out)) => out.record.task.money(),
        (None, None) => None,
    };
    let about = &body.about;
    let chain = money.and_then(|money| money.asset.blockchain).unwrap_or(whose.wallet.body.blockchain);
    let metadata = about.metadata.as_ref().map(|metadata| metadata.get().to_owned());
    let held = money.map(|money| money.asset);
    let error = out.as_ref().and_then(|out| out.record.error_code).map(|code| code.name());
    // Bytes that came signed have one before they are sent.
    let hash = body.hash.clone().or_else(|| out.as_ref().and_then(|out| out.way.hash.clone()));
    let destination = out.as_ref().and(about.recipient.as_deref());
    let text = Text::new()
        .with("wallet_id", &body.wallet)?
        .with("address_id", &whose.address.as_ref().map(|address| address.id.as_str()))?
        .with("asset_id", &held.map(|held| ids::wallet_asset(&whose.wallet.id, held)))?
        .with("amount", &amount(money, out.as_ref()))?
        .with("destination_address", &destination)?
        .with("reference", &body.reference)?
        .with("note", &about.note)?
        .with("transaction_hash", &hash)?
        .with("transaction_status", body.status.name())?
        .with("error_code", &error)?
        .raw_or_null("metadata", metadata)
        .with("blockchain", chain.slug())?
        .with("network", whose.network.name())?
        .with("id", &transaction.id)?
        .with("type", &Kind::of_name(&body.kind).map(Kind::name))?
        .with("status", &body.status.name().to_ascii_uppercase())?
        .with("senderAddress", &about.sender)?
        .with("recipientAddress", &about.recipient)?
        .with("tokenAddress", &about.token)?
        .with("amountPaid", &amount(money, out.as_ref()))?
        .with("currency", &held.and_then(assets::Asset::currency))?
        .with("hash", &hash)?;
    let text = with_signature(text, transaction)?;
    let text = with_chain(text, transaction, chain)?;
    let text = with_sweep(text, incoming.as_ref())?;
    let text = with_links(text, out.as_ref())?;
    let text = provided::with(text, out.as_ref())?;
    let held = held.map(|held| asset::asset(call, held, whose.network)).transpose()?;
    let address = whose.address.as_ref().map(address::thin).transpose()?;
    Ok(text
        .with("createdChannel", "api")?
        .with("addressId", &whose.address.as_ref().map(|address| address.id.as_str()))?
        .with("createdAt", &time::to_text(transaction.created_ms))?
        .with("updatedAt", &time::to_text(transaction.updated_ms))?
        .raw("wallet", wallet::thin(&whose.wallet, whose.network)?.to_text())
        .raw_or_null("address", address.map(|address| address.to_text()))
        .raw_or_null("asset", held.map(|held| held.to_text()))
        .raw("blockchainInfo", asset::blockchain(chain, whose.network, true)?.to_text()))
}

/// Of a salvage the amount is a text: how fine its token is, nobody here knows.
fn amount(money: Option<Money>, out: Option<&Out>) -> Option<String> {
    match (money, out.map(|out| &out.record.task)) {
        (Some(money), _) => Some(money.to_decimal()),
        (None, Some(Task::Salvage { amount, .. })) => Some(amount.clone()),
        _ => None,
    }
}

fn with_chain(text: Text, transaction: &Transaction, chain: Blockchain) -> Result<Text, Stop> {
    let about = &transaction.body.about;
    let gas = assets::gas(chain);
    let fee = about.fee.as_deref().and_then(Units::of_base).map(|units| Money::new(gas, units).to_decimal());
    let network_fee = fee
        .as_ref()
        .map(|fee| Text::new().with("amount", fee)?.with("symbol", gas.symbol)?.with("amountUsd", &None::<String>))
        .transpose()?;
    Ok(text
        .with("blockNumber", &about.block)?
        .with("confirmations", &about.confirmations)?
        .with("confirmed", &(transaction.body.status == Status::Success))?
        .with("gasFee", &fee)?
        .raw_or_null("networkFee", network_fee.map(|fee| fee.to_text())))
}

fn with_signature(text: Text, transaction: &Transaction) -> Result<Text, Stop> {
    let signed = transaction.body.signed.as_ref();
    let raw = signed.and_then(|signed| signed.raw.as_deref());
    text.with("signature", &signed.and_then(|signed| signed.signature.as_deref()))?.with("signedTransaction", &raw)
}

fn with_sweep(text: Text, incoming: Option<&Incoming>) -> Result<Text, Stop> {
    let (state, by) = match incoming.map(|incoming| &incoming.sweep) {
        None => return text.with("assetSwept", &None::<bool>),
        Some(Sweep::Resting) => ("resting", None),
        Some(Sweep::Underway { by }) => ("underway", Some(by)),
        Some(Sweep::Swept { by }) => ("swept", Some(by)),
        Some(Sweep::Failed { by }) => ("failed", Some(by)),
        Some(Sweep::Settled { by }) => ("settled", Some(by)),
    };
    text.with("assetSwept", &(state == "swept"))?.with("assetSweptResponse", state)?.with("assetSweptId", &by)
}

fn with_links(text: Text, out: Option<&Out>) -> Result<Text, Stop> {
    let record = out.map(|out| &out.record);
    text.with("reason", &record.and_then(|record| record.error_code).map(|code| code.name()))?
        .with("batchId", &out.and_then(|out| out.way.batch.as_deref()))?
        .with("continues", &record.and_then(|record| record.continues.as_deref()))?
        .with("continuedBy", &record.and_then(|record| record.continued_by.as_deref()))
}
