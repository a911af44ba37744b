//! /v1/wallets: one master wallet for each blockchain, its webhook, its keys.

use tenon_plugin::chains::CoinRequest;
use tenon_plugin::credentials::Grant;
use tenon_plugin::subscriptions::{Endpoint, Signature, SubscriptionRefusal};
use tenon_plugin::{Call, Outcome, Pair, Route, Stop, get, patch, post};

use super::{access, addresses, envelope, form::Form};
use crate::records::wallets::{self, Wallet, WalletBody};
use crate::records::{InsertStop, Stored};
use crate::rules::amount::Whole;
use crate::rules::blockchain::Family;
use crate::rules::event::Event;
use crate::rules::invalid::{Field, Rule};
use crate::rules::page::Page;
use crate::rules::refusal::Refusal;
use crate::rules::request::reader::Reader;
use crate::rules::request::wallet::{NewWallet, Raw, read, webhook};
use crate::rules::settings::Operator;
use crate::rules::{asset, limits};
use crate::tasks::{gateways, incoming, spreading};
use crate::{events, settings, show, words};

pub const ROUTES: &[Route] = &[
    post("/v1/wallets", "create-wallet", create),
    get("/v1/wallets", "list-wallets", list).query(envelope::PAGE),
    get("/v1/wallets/{walletId}", "read-wallet", read_one).query(addresses::SHOW_KEY),
    patch("/v1/wallets/{walletId}", "update-wallet", update),
    post("/v1/wallets/{walletId}/rotate-key", "rotate-wallet-key", rotate),
];

/// Whole coins that a faucet is asked for: some dozens of transfers. Those of Tron are small change.
const FAUCET_COINS: u128 = 10;
const FAUCET_COINS_TRON: u128 = 1_000;
/// Of a wallet: the newest signs, the one before it is for those who still use it.
const KEYS_MAX: usize = 2;

fn create(call: &Call) -> Outcome {
    access::account(call)?;
    let mut form = Form::of(call)?;
    let raw = Raw {
        blockchain: form.text(&["blockchain", "blockchain_slug"]),
        network: form.text(&["network"]),
        webhook_url: form.text(&["webhook_url", "webhookUrl"]),
        name: form.text(&["name"]),
        description: form.text(&["description"]),
    };
    form.finish()?;
    let network = access::network(call);
    let new = read(&raw, network).map_err(|refusal| words::refused(&refusal))?;
    let chain = new.blockchain;
    let Some(offered) = call.chains().network(chain.slug()) else {
        let unknown = Field("blockchain").breaks(Rule::UnknownBlockchain);
        return Err(words::refused(&Refusal::Invalid(vec![unknown])));
    };
    if wallets::of_blockchain(call, chain)?.is_some() {
        return Err(words::refused(&Refusal::WalletExists));
    }
    let wallet = make(call, new)?;
    put_endpoint(call, &wallet)?;
    let api_key = issue_key(call, &wallet)?;
    incoming::watch(call, &wallet, None)?;
    spreading::begin(call, &wallet)?;
    gateways::begin(call, chain);
    if offered.has_faucet {
        request_coins(call, &wallet, offered.decimals);
    }
    let shown = show::wallet::full(call, &wallet, network)?;
    events::emit(call, &wallet.id, &Event::wallet_created(&wallet.id, chain, network), &shown)?;
    envelope::created("Wallet created successfully", &shown.with("api_key", &api_key)?.to_text())
}

fn make(call: &Call, new: NewWallet) -> Result<Wallet, Stop> {
    let (index, address, path) = next_key(call, new.blockchain)?;
    let mut body = WalletBody::new(new.blockchain, (index, address, path), new.webhook_url);
    (body.name, body.description) = (new.name, new.description);
    let wallet = Stored::new(call, call.uuid(), body);
    match wallets::insert(call, &wallet) {
        Ok(()) => Ok(wallet),
        Err(InsertStop::NotUnique(_)) => Err(words::refused(&Refusal::WalletExists)),
        Err(InsertStop::Stop(stop)) => Err(stop),
    }
}

/// Master wallets and addresses take the keys of one branch, so that what is one address on several blockchains is one key.
pub fn next_key(call: &Call, blockchain: crate::rules::blockchain::Blockchain) -> Result<(u32, String, String), Stop> {
    let counter = ["keys ", blockchain.derivation_path()].concat();
    let index = u32::try_from(call.next(&counter).saturating_sub(1)).ok().filter(|index| *index < 1 << 31);
    let index = index.ok_or_else(|| Stop::fault("all keys of this branch are taken"))?;
    let account = call.keyring().account(blockchain.slug(), index);
    Ok((index, account.address, account.path))
}

fn request_coins(call: &Call, wallet: &Wallet, decimals: u8) {
    let coins = if wallet.body.blockchain.family() == Family::Tron { FAUCET_COINS_TRON } else { FAUCET_COINS };
    let amount = 10u128.checked_pow(decimals.into()).and_then(|one| one.checked_mul(coins));
    call.chains().request_coins(&CoinRequest {
        blockchain: wallet.body.blockchain.slug().to_owned(),
        address: wallet.body.address.clone(),
        token: None,
        amount: amount.unwrap_or(u128::MAX).to_string(),
        then: "coins".to_owned(),
        key: wallet.id.clone(),
        context: "{}".to_owned(),
    });
}

/// Where webhooks of the wallet go; its own key signs them.
fn put_endpoint(call: &Call, wallet: &Wallet) -> Result<(), Stop> {
    let signature = |header: String| Signature {
        header,
        prefix: String::new(),
        algorithm: "hmac-sha512".to_owned(),
        key: ["api-key:", access::ATTRIBUTE, "=", &wallet.id].concat(),
    };
    let endpoint = Endpoint {
        id: wallet.id.clone(),
        url: wallet.body.webhook_url.clone(),
        event_types: Vec::new(),
        subjects: vec![wallet.id.clone()],
        enabled: true,
        signatures: settings::signature_headers(call)?.into_iter().map(signature).collect(),
        note: "{}".to_owned(),
    };
    call.subscriptions().put(&endpoint).map_err(|refusal| match refusal {
        SubscriptionRefusal::NotAUrl(_) => words::wrong("webhook_url", "url", "must be a valid URL"),
        SubscriptionRefusal::HttpsRequired => words::wrong("webhook_url", "https", "must use https"),
        SubscriptionRefusal::AddressNotAllowed(_) => {
            words::wrong("webhook_url", "address", "must lead to a public address")
        }
        other => other.into(),
    })
}

fn issue_key(call: &Call, wallet: &Wallet) -> Result<String, Stop> {
    let attribute = Pair { name: access::ATTRIBUTE.to_owned(), value: wallet.id.clone() };
    let grant = Grant {
        label: ["wallet ", wallet.body.blockchain.slug()].concat(),
        attributes: vec![attribute],
        scopes: Vec::new(),
        expires_at: None,
        signs: true,
    };
    Ok(call.credentials().issue_key(&grant).secret)
}

/// A new key; the newest signs, and the one before it still opens the wallet. Older ones end.
fn rotate(call: &Call) -> Outcome {
    access::account(call)?;
    let wallet = access::wallet(call)?;
    let known = call.credentials().find(access::ATTRIBUTE, &wallet.id);
    let old = known.len().saturating_sub(KEYS_MAX - 1);
    for credential in known.iter().take(old) {
        call.credentials().revoke(&credential.id);
    }
    let api_key = issue_key(call, &wallet)?;
    let shown = show::wallet::full(call, &wallet, access::network(call))?;
    envelope::ok("API key rotated successfully", &shown.with("api_key", &api_key)?.to_text())
}

/// All of the account's for its key; its own for a wallet's.
fn list(call: &Call) -> Outcome {
    let page = envelope::page(call)?;
    let network = access::network(call);
    let own = call.attribute(access::ATTRIBUTE);
    let all: Vec<Wallet> =
        wallets::all(call)?.into_iter().filter(|wallet| own.is_none_or(|own| own == wallet.id)).collect();
    let on_page = of_page(&all, page);
    let rows: Result<Vec<String>, Stop> = on_page.map(|wallet| row(call, wallet, network)).collect();
    envelope::list("Wallets fetched successfully", &rows?, page.meta(all.len() as u64), None)
}

/// Of a list that is at hand whole.
pub fn of_page<T>(all: &[T], page: Page) -> impl Iterator<Item = &T> {
    let (rows, skipped) = envelope::rows(page);
    all.iter().skip(skipped as usize).take(rows as usize)
}

fn row(call: &Call, wallet: &Wallet, network: crate::rules::network::Network) -> Result<String, Stop> {
    let gas = asset::gas(wallet.body.blockchain);
    let native = show::asset::balance(call, (&wallet.id, &wallet.holder()), gas, network, true)?;
    Ok(show::wallet::full(call, wallet, network)?.raw("nativeBalance", native.to_text()).to_text())
}

fn read_one(call: &Call) -> Outcome {
    let wallet = access::wallet(call)?;
    let network = access::network(call);
    let mut shown = show::wallet::full(call, &wallet, network)?;
    if addresses::wants_private_key(call)? {
        shown = addresses::with_private_key(call, shown, wallet.body.blockchain, wallet.body.index)?;
    }
    envelope::ok("Wallet fetched successfully", &shown.to_text())
}

/// Names, the webhook, and what is done with deposits and withdrawals.
fn update(call: &Call) -> Outcome {
    let mut wallet = access::wallet(call)?;
    let network = access::network(call);
    let mut form = Form::of(call)?;
    let (name, description) = (form.text(&["name"]), form.text(&["description"]));
    let url = form.text(&["webhook_url", "webhookUrl"]);
    read_settings(&mut form, &mut wallet.body);
    let (clears_name, clears_description) = (form.clears(&["name"]), form.clears(&["description"]));
    form.finish()?;
    let mut reader = Reader::default();
    if name.is_some() || clears_name {
        wallet.body.name = reader.text(Field("name"), &name, limits::NAME_CHARS_MAX);
    }
    if description.is_some() || clears_description {
        wallet.body.description = reader.text(Field("description"), &description, limits::TEXT_CHARS_MAX);
    }
    let new_url = url.is_some().then(|| webhook(&mut reader, &url, network)).flatten();
    reader.finish(Some(())).map_err(|refusal| words::refused(&refusal))?;
    if let Some(url) = new_url {
        wallet.body.webhook_url = url;
        put_endpoint(call, &wallet)?;
    }
    wallets::save(call, &wallet)?;
    wallet.updated_ms = call.now();
    envelope::ok("Wallet updated successfully", &show::wallet::full(call, &wallet, network)?.to_text())
}

/// The flags of the specification, or `configurations` as the record shows them. They must not contradict each other.
fn read_settings(form: &mut Form, body: &mut WalletBody) {
    let sweeps = form.flag(&["disable_auto_sweep", "disableAutoSweep"]).map(|is_off| !is_off);
    let is_gasless = form.flag(&["enable_gasless_withdraw", "enableGaslessWithdraw"]);
    body.auto_sweep = sweeps.unwrap_or(body.auto_sweep);
    body.gasless = is_gasless.unwrap_or(body.gasless);
    let Some(mut all) = form.object(&["configurations"]) else { return };
    if let Some(mut sweeping) = all.object(&["autoSweeping"]) {
        body.auto_sweep = is_active(&mut sweeping, (sweeps, "disable_auto_sweep")).unwrap_or(body.auto_sweep);
        body.auto_sweep_threshold = threshold(&mut sweeping).unwrap_or(body.auto_sweep_threshold);
        all.take_faults(sweeping);
    }
    if let Some(mut withdrawal) = all.object(&["withdrawal"]) {
        if let Some(mut gasless) = withdrawal.object(&["gasless"]) {
            body.gasless = is_active(&mut gasless, (is_gasless, "enable_gasless_withdraw")).unwrap_or(body.gasless);
            body.gasless_threshold = threshold(&mut gasless).unwrap_or(body.gasless_threshold);
            if let Some(name) = gasless.text(&["operator"]) {
                match Operator::of_name(&name) {
                    Some(operator) => body.gasless_operator = operator,
                    None => gasless.refuse(&["operator"], "one_of", "must be one of gt, gte, lt, lte, eq"),
                }
            }
            withdrawal.take_faults(gasless);
        }
        all.take_faults(withdrawal);
    }
    form.take_faults(all);
}

/// `isActive` of a part of the configurations; `flag` is what the flag of that name says.
fn is_active(form: &mut Form, (flag, name): (Option<bool>, &str)) -> Option<bool> {
    let is_active = form.flag(&["isActive"])?;
    if flag.is_some_and(|flag| flag != is_active) {
        form.refuse(&["isActive"], "exclusive", &["must not contradict ", name].concat());
    }
    Some(is_active)
}

fn threshold(form: &mut Form) -> Option<Whole> {
    let text = form.amount(&["threshold"])?;
    let read = Whole::parse(&text);
    if read.is_err() {
        form.refuse(&["threshold"], "decimal", "must be a decimal number such as \"10.5\"");
    }
    read.ok()
}
