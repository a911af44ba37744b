//! How something is brought onto a blockchain: what it may cost, a number of the sender's lane, the signature, the sending, and
//! who hears what became of it.
//!
//! Invariant: bytes and hash are stored before they are sent, and never others for the same transaction.

use tenon_plugin::chains::{Following, Sending, Terms};
use tenon_plugin::keyring::ChainTransfer;
use tenon_plugin::{Call, Stop};

use crate::records::addresses::Address;
use crate::records::outgoing::{Out, Transfer, Way};
use crate::records::wallets::Wallet;
use crate::records::{gateways, lanes};
use crate::rules::amount::{Money, Units};
use crate::rules::asset::Asset;
use crate::rules::blockchain::Blockchain;
use crate::rules::books::Holder;
use crate::rules::invalid::{Field, Invalid};
use crate::rules::limits::{BROADCAST_PAUSE_MS, BROADCAST_RETRIES};
use crate::rules::outgoing::{Command, Task};
use crate::rules::refusal::Refusal;
use crate::rules::target::{self, Known};
use crate::rules::{address, fee};
use crate::{carry, show, words};

/// Where something is to go.
pub struct Target<'a> {
    pub field: Field,
    /// Which recipient of a batch.
    pub item: Option<usize>,
    pub blockchain: Blockchain,
    pub is_usdc: bool,
    pub address: &'a str,
    /// Who sends, where that may not be who receives.
    pub sender: Option<&'a str>,
}

impl<'a> Target<'a> {
    pub fn new(field: &'static str, blockchain: Blockchain, asset: Option<Asset>, address: &'a str) -> Target<'a> {
        let is_usdc = asset.is_some_and(|asset| asset.is_usdc());
        Target { field: Field(field), item: None, blockchain, is_usdc, address, sender: None }
    }
}

/// Refused where it would be lost, or would never leave: the gateway's contract is what a provider says today.
pub fn check_target(call: &Call, target: &Target) -> Result<(), Stop> {
    check_targets(call, std::slice::from_ref(target))
}

/// Everything that is wrong with any of them.
pub fn check_targets(call: &Call, targets: &[Target]) -> Result<(), Stop> {
    let mut broken = Vec::new();
    for Target { field, item, blockchain, is_usdc, address, sender } in targets {
        let network = call.chains().network(blockchain.slug());
        let tokens = network.into_iter().flat_map(|network| network.tokens);
        let known = Known {
            gateway: gateways::contract(call, *blockchain)?,
            tokens: tokens.filter_map(|token| address::read(*blockchain, &token.address).ok()).collect(),
            sender: sender.map(str::to_owned),
        };
        if let Err(rule) = target::check(*blockchain, *is_usdc, address, &known) {
            broken.push(Invalid { item: *item, ..field.breaks(rule) });
        }
    }
    if broken.is_empty() { Ok(()) } else { Err(words::refused(&Refusal::Invalid(broken))) }
}

/// What a transfer may cost, with the margin of the rules.
pub fn gas(call: &Call, blockchain: Blockchain, is_token: bool) -> Result<Money, Stop> {
    let terms = terms(call, blockchain)?.map_err(|_| words::unanswered("The blockchain does not answer"))?;
    gas_of(&terms, blockchain, is_token)
}

pub fn terms(call: &Call, blockchain: Blockchain) -> Result<Result<Terms, String>, Stop> {
    call.chains().terms(blockchain.slug())
}

pub fn gas_of(terms: &Terms, blockchain: Blockchain, is_token: bool) -> Result<Money, Stop> {
    let fee = if is_token { &terms.token_fee } else { &terms.coin_fee };
    let price = Units::of_base(fee).ok_or_else(|| Stop::fault("a fee is no number"))?;
    fee::estimate(blockchain, 1, price).ok_or_else(|| Stop::fault("a fee fits no number"))
}

/// Who sends: a wallet, or an address under it whose key is here. Holder, and index and address of the key.
pub fn sender(wallet: &Wallet, address: Option<&Address>) -> Option<(Holder, u32, String)> {
    match address {
        None => Some((wallet.holder(), wallet.body.index, wallet.body.address.clone())),
        Some(address) => Some((address.holder(), address.body.index?, address.body.address.clone())),
    }
}

/// Of an asset on its blockchain.
pub fn way(call: &Call, (index, sender): (u32, &str), money: Money, recipient: &str) -> Result<Way, Stop> {
    let blockchain = money.asset.blockchain.ok_or_else(|| Stop::fault("the gateway's pool is on no blockchain"))?;
    let token = token(call, money.asset)?;
    let transfer = Transfer { recipient: recipient.to_owned(), token, units: money.units };
    Ok(Way::new(blockchain, (index, sender), Some(transfer)))
}

pub fn token(call: &Call, asset: Asset) -> Result<Option<String>, Stop> {
    let Some(blockchain) = asset.blockchain.filter(|_| !asset.is_native) else { return Ok(None) };
    let network = call.chains().network(blockchain.slug());
    let token = show::asset::token_of(asset, network.as_ref());
    token.map(Some).ok_or_else(|| Stop::fault(["there is no contract of ", &asset.key()].concat()))
}

/// Takes a number, signs and stores. `Err` of the keyring: it can never be signed. A refusal: the blockchain does not answer.
pub fn sign(call: &Call, out: &mut Out, terms: &Terms) -> Result<Result<(), String>, Stop> {
    let Way { blockchain, index, sender, transfer, .. } = out.way.clone();
    let Some(transfer) = transfer else { return Err(Stop::fault("there is nothing to sign")) };
    let first = || match call.chains().sequence(blockchain.slug(), &sender)? {
        Ok(number) => Ok(number),
        Err(_) => Err(words::unanswered("The blockchain does not answer")),
    };
    let sequence = lanes::take(call, (blockchain, &sender), first)?;
    let movement = ChainTransfer {
        recipient: transfer.recipient,
        token: transfer.token,
        amount: transfer.units.to_digits(),
        sequence,
    };
    let signed = match call.keyring().sign_transfer(blockchain.slug(), index, &movement, terms) {
        Ok(signed) => signed,
        Err(why) => {
            lanes::give_back(call, blockchain, &sender, sequence)?;
            return Ok(Err(why));
        }
    };
    out.way.sequence = Some(sequence);
    out.way.raw = Some(signed.raw);
    carry::command(call, out, Command::Sign { hash: signed.hash })?;
    Ok(Ok(()))
}

/// Sends what is signed, and hears of it. The same again changes nothing.
pub fn send(call: &Call, out: &Out) -> Result<(), Stop> {
    let Some(raw) = &out.way.raw else { return Err(Stop::fault("what is not signed cannot be sent")) };
    follow(call, out, Some(raw.clone()).filter(|_| !is_counted(out)))?;
    let pause = u32::try_from(BROADCAST_PAUSE_MS).unwrap_or(u32::MAX);
    call.chains().send(&Sending {
        blockchain: out.way.blockchain.slug().to_owned(),
        raw: raw.clone(),
        then: "sent".to_owned(),
        key: out.record.id.clone(),
        context: "{}".to_owned(),
        delays: vec![pause; BROADCAST_RETRIES as usize],
    });
    Ok(())
}

/// A node has it. Whatever a reorganisation loses from here on is sent again.
pub fn taken(call: &Call, out: &Out) -> Result<(), Stop> {
    if is_counted(out) { follow(call, out, out.way.raw.clone()) } else { Ok(()) }
}

/// The attempts at the client's own bytes are counted: nobody sends them in between, or after the last (spec/wallet: Limits).
fn is_counted(out: &Out) -> bool {
    matches!(out.record.task, Task::Broadcast { .. })
}

/// `raw`: the host sends it wherever no node has it.
fn follow(call: &Call, out: &Out, raw: Option<String>) -> Result<(), Stop> {
    let Some(hash) = &out.record.hash else { return Err(Stop::fault("what is not signed cannot be followed")) };
    call.chains().follow(&Following {
        blockchain: out.way.blockchain.slug().to_owned(),
        hash: hash.clone(),
        confirmations: out.way.blockchain.confirmations(),
        then: "settled".to_owned(),
        key: out.record.id.clone(),
        context: "{}".to_owned(),
        raw,
    });
    Ok(())
}
