//! Payment links (spec/wallet: payment-links): made under a wallet, or at the real product's /v1/payment_links, where the wallet
//! is the key's own, the one that is named, or the one whose asset is asked for.

use serde_json::value::RawValue;
use tenon_plugin::credentials::Grant;
use tenon_plugin::{Call, Outcome, Pair, Route, Stop, get, patch, post, time};

use super::wallets::next_key;
use super::{access, envelope, form::Form};
use crate::records::Stored;
use crate::records::addresses::{self, Address, AddressBody};
use crate::records::payment_links::{self as links, PaymentLink, PaymentLinkBody};
use crate::records::wallets::{self, Wallet};
use crate::rules::amount::Units;
use crate::rules::asset;
use crate::rules::event::Event;
use crate::rules::fee::check_funded;
use crate::rules::invalid::Field;
use crate::rules::limits::TEXT_CHARS_MAX;
use crate::rules::network::Network;
use crate::rules::request::Context;
use crate::rules::request::link::{self, Raw};
use crate::rules::request::reader::Reader;
use crate::show::transaction::{Whose, full};
use crate::tasks::{screening, spreading};
use crate::{events, ids, paying, providers, show, words};

pub const ROUTES: &[Route] = &[
    post("/v1/wallets/{walletId}/payment-links", "create-payment-link", create).context(&["base-url"]),
    get("/v1/wallets/{walletId}/payment-links", "list-payment-links", list).query(envelope::PAGE),
    get("/v1/wallets/{walletId}/payment-links/{linkId}", "read-payment-link", read_one),
    patch("/v1/wallets/{walletId}/payment-links/{linkId}", "update-payment-link", update),
    get("/v1/wallets/{walletId}/payment-links/{linkId}/transactions", "list-payment-link-transactions", payments)
        .query(envelope::PAGE),
    post("/v1/payment_links", "create-any-payment-link", create).context(&["base-url"]),
    get("/v1/payment_links", "list-all-payment-links", list).query(envelope::PAGE),
    get("/v1/payment_links/{linkId}", "read-any-payment-link", read_one),
    patch("/v1/payment_links/{linkId}", "update-any-payment-link", update),
    get("/v1/payment_links/{linkId}/transactions", "list-any-payment-link-transactions", payments)
        .query(envelope::PAGE),
];

/// Links and payments that `meta` counts to.
const COUNT_MAX: u32 = 1_000_000;

/// What the rules do not read.
struct More {
    inactive_message: Option<String>,
    expires_at: Option<String>,
    is_active: Option<bool>,
}

fn read_raw(form: &mut Form) -> (Raw, More) {
    let raw = Raw {
        name: form.text(&["name"]),
        description: form.text(&["description"]),
        asset_id: form.text(&["asset_id", "assetId"]),
        amount: form.amount(&["amount"]),
        redirect_url: form.text(&["redirect_url", "redirectUrl"]),
        success_message: form.text(&["success_message", "successMessage"]),
        metadata: form.metadata(),
    };
    let more = More {
        inactive_message: form.text(&["inactive_message", "inactiveMessage"]),
        expires_at: form.text(&["expires_at", "expiresAt"]),
        is_active: form.flag(&["is_active", "active", "isActive"]),
    };
    (raw, more)
}

fn read_more(more: &More, now_ms: u64) -> Result<(Option<String>, Option<u64>), Stop> {
    let mut reader = Reader::default();
    let inactive_message = reader.text(Field("inactive_message"), &more.inactive_message, TEXT_CHARS_MAX);
    reader.finish(Some(())).map_err(|refusal| words::refused(&refusal))?;
    let Some(text) = more.expires_at.as_deref().filter(|text| !text.is_empty()) else {
        return Ok((inactive_message, None));
    };
    match time::parse(text).filter(|at| *at > now_ms) {
        Some(at) => Ok((inactive_message, Some(at))),
        None => Err(words::wrong("expires_at", "time", "must be a time in the future")),
    }
}

fn context(wallet: &Wallet, network: Network) -> Context {
    let blockchain = wallet.body.blockchain;
    let on = asset::on(blockchain).into_iter().filter(|asset| wallet.body.is_on(*asset));
    let ids = on.flat_map(|asset| [(ids::wallet_asset(&wallet.id, asset), asset), (ids::asset(asset, network), asset)]);
    Context { blockchain, network, assets: ids.collect() }
}

/// Of the path, of the key, of the body, or of the asset.
fn wallet_of(call: &Call, form: &mut Form, asset_id: Option<&str>) -> Result<Wallet, Stop> {
    if !call.parameter("walletId").is_empty() {
        return access::wallet(call);
    }
    let named = form.text(&["wallet_id", "walletId"]);
    if let Some(id) = named.as_deref().or_else(|| call.attribute(access::ATTRIBUTE)) {
        return access::wallet_of(call, id);
    }
    access::account(call)?;
    let network = access::network(call);
    let all = wallets::all(call)?;
    let found = asset_id.and_then(|id| all.into_iter().find(|wallet| wallet.find_asset(id, network).is_some()));
    found.ok_or_else(|| words::wrong("wallet_id", "required", "is required"))
}

fn create(call: &Call) -> Outcome {
    let mut form = Form::of(call)?;
    let (raw, more) = read_raw(&mut form);
    let wallet = wallet_of(call, &mut form, raw.asset_id.as_deref())?;
    form.finish()?;
    let network = access::network(call);
    let wanted = link::read(&raw, &context(&wallet, network)).map_err(|refusal| words::refused(&refusal))?;
    let (inactive_message, expires_ms) = read_more(&more, call.now())?;
    let metadata = wanted.metadata.map(RawValue::from_string).transpose();
    let metadata = metadata.map_err(|error| Stop::fault(error.to_string()))?;
    let address = open_address(call, &wallet, metadata.clone())?;
    let id = call.uuid();
    let body = PaymentLinkBody {
        wallet: wallet.id.clone(),
        address: address.id.clone(),
        name: wanted.name,
        description: wanted.description,
        asset: wanted.asset,
        amount: wanted.amount.map(|money| money.units),
        redirect_url: wanted.redirect_url,
        success_message: wanted.success_message,
        inactive_message,
        metadata,
        url: page_url(call, &id)?,
        is_active: more.is_active.unwrap_or(true),
        expires_ms,
    };
    let link = Stored::new(call, id, body);
    links::insert(call, &link)?;
    let shown = shown(call, &link, network)?;
    events::emit(call, &wallet.id, &Event::link_created(&link.id, &link.body.url, &wallet.id), &shown)?;
    envelope::created("Payment link created successfully", &shown.to_text())
}

/// An address of its own, so that whatever arrives there was paid for this link. Its master wallet must be able to sweep it.
fn open_address(call: &Call, wallet: &Wallet, metadata: Option<Box<RawValue>>) -> Result<Address, Stop> {
    let chain = wallet.body.blockchain;
    let gas = show::asset::Balance::read(call, &wallet.holder(), asset::gas(chain));
    let funds = gas.available.checked_add(gas.pending).unwrap_or(Units::ZERO);
    check_funded(funds).map_err(|refusal| words::refused(&refusal))?;
    let (index, address, path) = next_key(call, chain)?;
    let mut body = AddressBody::new(&wallet.id, chain, address, Some((index, path)));
    body.screening = providers::awaited(call)?;
    body.name = Some("Payment link".to_owned());
    // What is told of its deposits says what they are for.
    body.metadata = metadata;
    let address = Stored::new(call, call.uuid(), body);
    addresses::insert(call, &address)?;
    spreading::watch_everywhere(call, wallet, &address)?;
    screening::begin(call, &address);
    Ok(address)
}

/// Its token opens the page of this link and nothing else: the wallet that it carries is none.
fn page_url(call: &Call, id: &str) -> Result<String, Stop> {
    let Some(base) = call.context("base-url") else { return Err(Stop::fault("the host does not say its address")) };
    let attributes = vec![
        Pair { name: links::ATTRIBUTE.to_owned(), value: id.to_owned() },
        Pair { name: access::ATTRIBUTE.to_owned(), value: ["payment-link/", id].concat() },
    ];
    let label = "payment link".to_owned();
    let grant = Grant { label, attributes, scopes: Vec::new(), expires_at: None, signs: false };
    let token = call.credentials().issue_token(&grant).secret;
    Ok([base.trim_end_matches('/'), "/pay/", &token].concat())
}

fn shown(call: &Call, link: &PaymentLink, network: Network) -> Result<show::Text, Stop> {
    let (payment, paid) = paying::payment(call, link, network)?;
    show::payment_link::full(call, link, (&payment, paid), network)
}

/// One that the caller may see; under a wallet, one of that wallet.
fn link_of(call: &Call) -> Result<PaymentLink, Stop> {
    let link = links::load(call, call.parameter("linkId"))?.ok_or_else(words::not_found)?;
    let wallet = access::wallet_of(call, &link.body.wallet)?;
    let path = call.parameter("walletId");
    if path.is_empty() || path == wallet.id { Ok(link) } else { Err(words::not_found()) }
}

fn list(call: &Call) -> Outcome {
    let wallet = match call.parameter("walletId") {
        "" => call.attribute(access::ATTRIBUTE).map(str::to_owned),
        _ => Some(access::wallet(call)?.id),
    };
    let page = envelope::page(call)?;
    let (found, total) = links::page(call, wallet.as_deref(), envelope::rows(page), COUNT_MAX)?;
    let network = access::network(call);
    let rows: Result<Vec<String>, Stop> = found.iter().map(|link| Ok(shown(call, link, network)?.to_text())).collect();
    envelope::list("Payment links fetched successfully", &rows?, page.meta(total), None)
}

fn read_one(call: &Call) -> Outcome {
    let link = link_of(call)?;
    envelope::ok("Payment link fetched successfully", &shown(call, &link, access::network(call))?.to_text())
}

/// What it asks for stays: somebody may be paying it.
fn update(call: &Call) -> Outcome {
    let mut link = link_of(call)?;
    let network = access::network(call);
    let mut form = Form::of(call)?;
    let (mut raw, more) = read_raw(&mut form);
    let fixed: [&[&'static str]; 2] = [&["asset_id", "assetId"], &["amount"]];
    for names in fixed {
        if form.has(names) {
            form.refuse(names, "fixed", "cannot be changed");
        }
    }
    clear(&form, &mut link.body);
    form.finish()?;
    let wallet = access::wallet_of(call, &link.body.wallet)?;
    // The rules read a link as a whole.
    raw.name = raw.name.or_else(|| Some(link.body.name.clone()));
    raw.asset_id = Some(ids::wallet_asset(&wallet.id, link.body.asset));
    let mut context = context(&wallet, network);
    context.assets.push((ids::wallet_asset(&wallet.id, link.body.asset), link.body.asset));
    let read = link::read(&raw, &context).map_err(|refusal| words::refused(&refusal))?;
    let (inactive_message, expires_ms) = read_more(&more, call.now())?;
    let body = &mut link.body;
    body.name = read.name;
    body.description = read.description.or_else(|| body.description.take());
    body.redirect_url = read.redirect_url.or_else(|| body.redirect_url.take());
    body.success_message = read.success_message.or_else(|| body.success_message.take());
    body.inactive_message = inactive_message.or_else(|| body.inactive_message.take());
    body.expires_ms = expires_ms.or(body.expires_ms);
    body.is_active = more.is_active.unwrap_or(body.is_active);
    if let Some(metadata) = read.metadata {
        body.metadata = Some(RawValue::from_string(metadata).map_err(|error| Stop::fault(error.to_string()))?);
    }
    links::save(call, &link)?;
    link.updated_ms = call.now();
    envelope::ok("Payment link updated successfully", &shown(call, &link, network)?.to_text())
}

/// What a change takes away: null, or an empty text.
fn clear(form: &Form, body: &mut PaymentLinkBody) {
    let keeps = |names: &[&'static str]| !form.clears(names);
    body.description = body.description.take().filter(|_| keeps(&["description"]));
    body.redirect_url = body.redirect_url.take().filter(|_| keeps(&["redirect_url", "redirectUrl"]));
    body.success_message = body.success_message.take().filter(|_| keeps(&["success_message", "successMessage"]));
    body.inactive_message = body.inactive_message.take().filter(|_| keeps(&["inactive_message", "inactiveMessage"]));
    body.expires_ms = body.expires_ms.filter(|_| keeps(&["expires_at", "expiresAt"]));
    body.metadata = body.metadata.take().filter(|_| keeps(&["metadata"]));
}

fn payments(call: &Call) -> Outcome {
    let link = link_of(call)?;
    let page = envelope::page(call)?;
    let (found, total) = links::payments(call, &link, envelope::rows(page), COUNT_MAX)?;
    let network = access::network(call);
    let row = |made| Ok(full(call, made, &Whose::load(call, made, network)?)?.to_text());
    let rows: Result<Vec<String>, Stop> = found.iter().map(row).collect();
    envelope::list("Transactions fetched successfully", &rows?, page.meta(total), None)
}
