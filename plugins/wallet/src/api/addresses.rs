//! /v1/wallets/{walletId}/addresses: dedicated addresses, and those of others that are watched.

use serde_json::value::RawValue;
use tenon_plugin::{Call, Outcome, Route, Stop, delete, get, patch, post};

use super::form::Form;
use super::wallets::next_key;
use super::{access, envelope, query};
use crate::records::Stored;
use crate::records::addresses::{self, Address, AddressBody};
use crate::records::wallets::{self, Wallet};
use crate::rules::amount::Units;
use crate::rules::asset;
use crate::rules::blockchain::Blockchain;
use crate::rules::event::Event;
use crate::rules::fee::check_funded;
use crate::rules::request::Context;
use crate::rules::request::address::{Options, Raw, Whitelisted, read_options, read_whitelisted};
use crate::show::Text;
use crate::tasks::{incoming, screening, spreading};
use crate::{events, providers, show, words};

/// Both names of the parameter that requests the private key.
pub const SHOW_KEY: &[&str] = &["show_private_key", "showPrivateKey"];

pub const ROUTES: &[Route] = &[
    post("/v1/wallets/{walletId}/addresses", "create-address", create),
    get("/v1/wallets/{walletId}/addresses", "list-addresses", list).query(envelope::PAGE),
    post("/v1/wallets/{walletId}/addresses/whitelist", "whitelist-address", whitelist),
    delete("/v1/wallets/{walletId}/addresses/whitelist/{addressId}", "remove-whitelisted-address", remove),
    get("/v1/wallets/{walletId}/addresses/{addressId}", "read-address", read_one).query(SHOW_KEY),
    patch("/v1/wallets/{walletId}/addresses/{addressId}", "update-address", update),
];

/// Addresses that `meta` counts to.
const COUNT_MAX: u32 = 1_000_000;

fn read_raw(form: &mut Form) -> (Raw, bool) {
    let raw = Raw {
        address: form.text(&["address"]),
        address_name: form.text(&["address_name", "name"]),
        disable_auto_sweep: form.flag(&["disable_auto_sweep", "disableAutoSweep"]),
        enable_gasless_withdraw: form.flag(&["enable_gasless_withdraw", "enableGaslessWithdraw"]),
        metadata: form.metadata(),
    };
    (raw, form.flag(&["show_private_key", "showPrivateKey"]).unwrap_or_default())
}

/// A dedicated address; its master wallet must have what gas is paid in.
fn create(call: &Call) -> Outcome {
    let wallet = access::wallet(call)?;
    let mut form = Form::of(call)?;
    let (raw, shows_key) = read_raw(&mut form);
    form.finish()?;
    let options = read_options(&raw).map_err(|refusal| words::refused(&refusal))?;
    let gas = show::asset::Balance::read(call, &wallet.holder(), asset::gas(wallet.body.blockchain));
    let funds = gas.available.checked_add(gas.pending).unwrap_or(Units::ZERO);
    check_funded(funds).map_err(|refusal| words::refused(&refusal))?;
    let chain = wallet.body.blockchain;
    let (index, address, path) = next_key(call, chain)?;
    let mut body = AddressBody::new(&wallet.id, chain, address, Some((index, path)));
    body.screening = providers::awaited(call)?;
    apply(&mut body, options)?;
    let address = Stored::new(call, call.uuid(), body);
    addresses::insert(call, &address)?;
    screening::begin(call, &address);
    spreading::watch_everywhere(call, &wallet, &address)?;
    let mut shown = show::address::full(&address, access::network(call))?;
    let event = Event::address_created(&wallet.id, &address.id, &address.body.address, chain);
    events::emit(call, &wallet.id, &event, &shown)?;
    if shows_key {
        shown = with_private_key(call, shown, chain, index)?;
    }
    envelope::created("Address generated successfully", &shown.to_text())
}

fn apply(body: &mut AddressBody, options: Options) -> Result<(), Stop> {
    let Options { address_name, settings, metadata } = options;
    body.name = address_name.or_else(|| body.name.take());
    body.disable_auto_sweep = settings.disable_auto_sweep.or(body.disable_auto_sweep);
    body.enable_gasless_withdraw = settings.enable_gasless_withdraw.or(body.enable_gasless_withdraw);
    if let Some(metadata) = metadata {
        let raw = RawValue::from_string(metadata).map_err(|error| Stop::fault(error.to_string()))?;
        body.metadata = Some(raw);
    }
    Ok(())
}

/// An address that somebody else has the key of. One of ours is watched already.
fn whitelist(call: &Call) -> Outcome {
    let wallet = access::wallet(call)?;
    let mut form = Form::of(call)?;
    let (raw, _) = read_raw(&mut form);
    form.finish()?;
    let (chain, network) = (wallet.body.blockchain, access::network(call));
    let context = Context { blockchain: chain, network, assets: Vec::new() };
    let Whitelisted { address, options } =
        read_whitelisted(&raw, &context).map_err(|refusal| words::refused(&refusal))?;
    if addresses::is_known(call, &address) || wallets::has_address(call, &address) {
        return Err(words::wrong("address", "unique", "is known already"));
    }
    let verdict = providers::check(call, "address", (chain, &address))?;
    let mut body = AddressBody::new(&wallet.id, chain, address, None);
    body.screening = providers::note(verdict.as_ref())?;
    apply(&mut body, options)?;
    let address = Stored::new(call, call.uuid(), body);
    addresses::insert(call, &address)?;
    incoming::watch(call, &wallet, Some(&address))?;
    let shown = show::address::full(&address, network)?;
    let event = Event::address_whitelisted(&wallet.id, &address.id, &address.body.address);
    events::emit(call, &wallet.id, &event, &shown)?;
    envelope::created("Address whitelisted successfully", &shown.to_text())
}

/// Of others: ours have keys, and may have money.
fn remove(call: &Call) -> Outcome {
    let wallet = access::wallet(call)?;
    let address = access::address(call, &wallet)?;
    if address.body.index.is_some() {
        return Err(words::not_found());
    }
    incoming::unwatch(call, &address);
    addresses::remove(call, &address.id)?;
    let shown = show::address::full(&address, access::network(call))?;
    envelope::ok("Address removed successfully", &shown.to_text())
}

fn list(call: &Call) -> Outcome {
    let wallet = access::wallet(call)?;
    let page = envelope::page(call)?;
    let (rows, skipped) = envelope::rows(page);
    let found = addresses::find(call, &addresses::of_wallet(&wallet.id, rows).offset(skipped))?;
    let network = access::network(call);
    let texts: Result<Vec<String>, Stop> =
        found.iter().map(|address| Ok(show::address::full(address, network)?.to_text())).collect();
    let total = addresses::count(call, &wallet.id, false, COUNT_MAX);
    let others = addresses::count(call, &wallet.id, true, COUNT_MAX);
    let analytics = Text::new()
        .with("addressesCount", &total)?
        .with("externalAddressesCount", &others)?
        .with("internalAddressesCount", &total.saturating_sub(others))?;
    envelope::list("Addresses fetched successfully", &texts?, page.meta(total), Some(analytics.to_text()))
}

fn read_one(call: &Call) -> Outcome {
    let wallet = access::wallet(call)?;
    let address = access::address(call, &wallet)?;
    let shown = shown(call, &address, wants_private_key(call)?)?;
    envelope::ok("Address fetched successfully", &shown.to_text())
}

fn update(call: &Call) -> Outcome {
    let wallet = access::wallet(call)?;
    let mut address = access::address(call, &wallet)?;
    let mut form = Form::of(call)?;
    let (raw, shows_key) = read_raw(&mut form);
    let is_active = form.flag(&["is_active", "isActive"]);
    let cleared = Cleared::of(&form);
    form.finish()?;
    let options = read_options(&raw).map_err(|refusal| words::refused(&refusal))?;
    cleared.apply(&mut address.body);
    apply(&mut address.body, options)?;
    address.body.is_active = is_active.unwrap_or(address.body.is_active);
    addresses::save(call, &address)?;
    address.updated_ms = call.now();
    envelope::ok("Address updated successfully", &shown(call, &address, shows_key)?.to_text())
}

/// What a change takes away: a flag is its wallet's again.
struct Cleared {
    name: bool,
    auto_sweep: bool,
    gasless: bool,
    metadata: bool,
}

impl Cleared {
    fn of(form: &Form) -> Cleared {
        Cleared {
            name: form.clears(&["address_name", "name"]),
            auto_sweep: form.clears(&["disable_auto_sweep", "disableAutoSweep"]),
            gasless: form.clears(&["enable_gasless_withdraw", "enableGaslessWithdraw"]),
            metadata: form.clears(&["metadata"]),
        }
    }

    fn apply(&self, body: &mut AddressBody) {
        body.name = body.name.take().filter(|_| !self.name);
        body.disable_auto_sweep = body.disable_auto_sweep.filter(|_| !self.auto_sweep);
        body.enable_gasless_withdraw = body.enable_gasless_withdraw.filter(|_| !self.gasless);
        body.metadata = body.metadata.take().filter(|_| !self.metadata);
    }
}

fn shown(call: &Call, address: &Address, shows_key: bool) -> Result<Text, Stop> {
    let shown = show::address::full(address, access::network(call))?;
    match address.body.index.filter(|_| shows_key) {
        Some(index) => with_private_key(call, shown, address.body.blockchain, index),
        None => Ok(shown),
    }
}

/// Returns true if the query requests the private key.
pub fn wants_private_key(call: &Call) -> Result<bool, Stop> {
    match query::single(call, SHOW_KEY)? {
        Some("true") => Ok(true),
        None | Some("" | "false") => Ok(false),
        Some(_) => Err(words::wrong("show_private_key", "boolean", "must be true or false")),
    }
}

/// Only where the operator has allowed it.
pub fn with_private_key(call: &Call, shown: Text, blockchain: Blockchain, index: u32) -> Result<Text, Stop> {
    let key = call.keyring().show_private_key(blockchain.slug(), index).ok_or_else(words::private_key_hidden)?;
    shown.with("private_key", &key)?.with("privateKey", &key)
}

/// The wallets whose blockchains an address can be used on, its own first.
pub fn wallets_of(call: &Call, wallet: &Wallet, address: Option<&Address>) -> Result<Vec<Wallet>, Stop> {
    let chain = wallet.body.blockchain;
    let mut all = vec![wallet.clone()];
    if address.is_some_and(|address| address.body.index.is_some()) && chain.is_evm_compatible() {
        all.extend(wallets::of_family(call, chain.family())?.into_iter().filter(|other| other.id != wallet.id));
    }
    Ok(all)
}
