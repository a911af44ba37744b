//! Swaps (spec/wallet: swap): quoted, and executed by the quote or, without one, quoted and executed within slippage_tolerance.

use serde_json::value::RawValue;
use tenon_plugin::{Call, Outcome, Route, Stop, json, post};

use super::fiat::{quote_of, quote_text};
use super::withdraw::{Sender, begin, blockchain_of, reference_or_new, repeated, shown};
use super::{envelope, form::Form};
use crate::providers::{self, liquidity};
use crate::records::Stored;
use crate::records::outgoing::{Out, Way, Wish};
use crate::records::provided::Kind;
use crate::records::quotes::{self, Promise, Promised, QuoteBody};
use crate::records::settlements::slippage_text;
use crate::records::wallets;
use crate::rules::amount::{Money, Units};
use crate::rules::asset::{self, Asset};
use crate::rules::books::Holder;
use crate::rules::outgoing::{Destination, Gas, Order, Task, accept};
use crate::rules::quote::Quote;
use crate::rules::refusal::Refusal;
use crate::rules::request::Context;
use crate::rules::request::swap::{Raw, Swap, read};
use crate::rules::swap::{Order as Priority, Slippage};
use crate::sending::{self, Target};
use crate::show::Text;
use crate::{carry, ids, providing, words};

pub const ROUTES: &[Route] = &[
    post("/v1/wallets/{walletId}/swap", "swap", execute),
    post("/v1/wallets/{walletId}/swap/quote", "quote-swap", quote),
    post("/v1/wallets/{walletId}/swaps/quote", "quote-swaps", quote),
    post("/v1/wallets/{walletId}/swaps/execute", "execute-swaps", execute),
    post("/v1/wallets/{walletId}/addresses/{addressId}/swap", "swap-from-address", execute),
    post("/v1/wallets/{walletId}/addresses/{addressId}/swaps/quote", "quote-swaps-from-address", quote),
    post("/v1/wallets/{walletId}/addresses/{addressId}/swaps/execute", "execute-swaps-from-address", execute),
];

fn refused(refusal: Refusal) -> Stop {
    words::refused(&refusal)
}

/// What is to be swapped, and for whom it is bought.
pub struct Wanted {
    pub money: Money,
    pub to: Asset,
    /// `None`: somebody else's address, or one that is told of what arrives there.
    pub holder: Option<Holder>,
    pub recipient: String,
    pub order: Priority,
    pub slippage: Slippage,
    /// A settlement rule has asked for it.
    pub is_settlement: bool,
}

fn read_request(call: &Call, sender: &Sender) -> Result<(Swap, Wanted), Stop> {
    let mut form = Form::of(call)?;
    let raw = Raw {
        from_asset_id: form.text(&["from_asset_id", "fromAssetId", "source_asset_id"]),
        to_asset_id: form.text(&["to_asset_id", "toAssetId", "destination_asset_id"]),
        amount: form.amount(&["amount"]),
        recipient_address: form.text(&["recipient_address", "recipientAddress"]),
        settlement_order: form.text(&["settlement_order", "order"]),
        slippage_tolerance: form.amount(&["slippage_tolerance", "slippageTolerance"]),
        quote_id: form.text(&["quote_id", "quoteId"]),
        reference: form.text(&["reference"]),
        metadata: form.metadata(),
    };
    form.finish()?;
    let own = sender.context(call)?;
    let swap = read(&raw, &with_all_assets(call, own.clone())?).map_err(refused)?;
    let is_own = own.assets.iter().any(|(_, asset)| *asset == swap.money.asset);
    if !is_own {
        return Err(words::wrong("from_asset_id", "asset", "must be an asset of this wallet"));
    }
    let (holder, recipient) = recipient(call, sender, &swap)?;
    let Swap { money, to, order, slippage, .. } = swap.clone();
    Ok((swap, Wanted { money, to, holder, recipient, order, slippage, is_settlement: false }))
}

/// What is bought may lie on every blockchain.
fn with_all_assets(call: &Call, mut context: Context) -> Result<Context, Stop> {
    let network = context.network;
    for wallet in wallets::all(call)? {
        let on = asset::on(wallet.body.blockchain).into_iter();
        context.assets.extend(on.map(|asset| (ids::wallet_asset(&wallet.id, asset), asset)));
    }
    let on = crate::rules::blockchain::Blockchain::ALL.into_iter().flat_map(asset::on);
    context.assets.extend(on.map(|asset| (ids::asset(asset, network), asset)));
    Ok(context)
}

fn recipient(call: &Call, sender: &Sender, swap: &Swap) -> Result<(Option<Holder>, String), Stop> {
    let (here, there) = (blockchain_of(swap.money.asset)?, blockchain_of(swap.to)?);
    if let Some(address) = &swap.recipient_address {
        let is_own = here == there && *address == sender.account;
        return Ok((is_own.then(|| sender.holder.clone()), address.clone()));
    }
    if here == there || sender.wallets.iter().any(|wallet| wallet.body.blockchain == there) {
        return Ok((Some(sender.holder.clone()), sender.account.clone()));
    }
    match wallets::of_blockchain(call, there)? {
        Some(wallet) => Ok((Some(wallet.holder()), wallet.body.address)),
        None => Err(words::wrong("recipient_address", "required", "is required without a wallet on that blockchain")),
    }
}

fn terms(holder: &Holder, wanted: &Wanted) -> String {
    let Wanted { money, to, recipient, order, slippage, .. } = wanted;
    let (units, slippage) = (money.units.to_digits(), format!("{slippage:?}"));
    let order = order.name();
    ids::fingerprint(&["swap", &holder.name(), &money.asset.key(), &units, &to.key(), recipient, order, &slippage])
}

/// The offer that serves the priority best, and the least that it must bring.
pub fn choose(call: &Call, wanted: &Wanted) -> Result<(Promise, u64), Stop> {
    let offers = liquidity::quote(call, wanted.money, wanted.to, wanted.order.name())?;
    let leasts: Vec<(String, Units)> =
        offers.offers.iter().map(|(offer, least)| (offer.route.clone(), *least)).collect();
    let all = offers.offers.into_iter().map(|(offer, _)| offer).collect();
    let offer = wanted.order.choose(all).map_err(refused)?;
    let at_least = wanted.order.least(wanted.slippage, &offer).ok_or_else(|| refused(Refusal::NoOffer))?;
    let offered = leasts.iter().find(|(route, _)| *route == offer.route).map_or(Units::ZERO, |(_, least)| *least);
    let decimal = |units: Units| units.to_decimal(wanted.to.decimals);
    let minimum = (at_least > offered).then(|| decimal(at_least));
    let gas = asset::gas(blockchain_of(wanted.money.asset)?);
    let shown = Text::new()
        .with("from_asset", wanted.money.asset.symbol)?
        .with("to_asset", wanted.to.symbol)?
        .with("from_amount", &wanted.money.to_decimal())?
        .with("amount", &decimal(offer.amount))?
        .with("minAmount", &decimal(at_least.max(offered)))?
        .with("recipient_address", &wanted.recipient)?
        .with("settlement_order", wanted.order.name())?
        .with("is_fixed", &offer.is_fixed)?
        .with("networkFee", &Money::new(gas, offer.network_fee).to_decimal())?
        .with("estimatedArrivalTime", &offer.estimated_arrival_s)?
        .with("transactionFee", "0")?;
    let at_least = at_least.to_digits();
    let promise = Promise { of: Promised::Swap, id: offer.route, at_least, minimum, shown: shown.to_text() };
    Ok((promise, offers.expires_ms))
}

fn quote(call: &Call) -> Outcome {
    let sender = Sender::load(call)?;
    let (_, wanted) = read_request(call, &sender)?;
    let (promise, expires_ms) = choose(call, &wanted)?;
    let mut quote = Quote::of_swap(terms(&sender.holder, &wanted), call.now());
    quote.expires_at_ms = quote.expires_at_ms.min(expires_ms);
    let made = Stored::new(call, call.uuid(), QuoteBody::new(&sender.wallet.id, quote, promise));
    quotes::insert(call, &made)?;
    envelope::created("Quote created successfully", &quote_text(&made)?)
}

fn execute(call: &Call) -> Outcome {
    let sender = Sender::load(call)?;
    let (swap, wanted) = read_request(call, &sender)?;
    let terms = terms(&sender.holder, &wanted);
    let fingerprint = ids::fingerprint(&[&terms, swap.quote_id.as_deref().unwrap_or_default()]);
    if let Some(first) = repeated(call, &sender.wallet.id, swap.reference.as_deref(), &fingerprint)? {
        return envelope::ok("Swap initiated successfully", &shown(call, &first)?);
    }
    let there = blockchain_of(wanted.to)?;
    if wanted.holder.is_none() {
        let target = Target::new("recipient_address", there, Some(wanted.to), &wanted.recipient);
        sending::check_target(call, &target)?;
        providers::check(call, "recipient_address", (there, &wanted.recipient))?;
    }
    let gas = sender.gas(call, wanted.money)?;
    let (promise, quote) = match &swap.quote_id {
        Some(id) => {
            let quote = quote_of(call, &sender.wallet.id, id)?;
            (quote.body.promise.clone(), Some(quote))
        }
        None => (choose(call, &wanted)?.0, None),
    };
    let id = call.uuid();
    if let Some(mut quote) = quote {
        // Who executes a quote agrees to it.
        let quoted = quote.body.quote();
        let is_wrong = quoted.terms != terms;
        let accepted = if is_wrong { Ok(quoted) } else { quoted.accept(call.now()) };
        let taken = accepted.and_then(|quote| quote.take(&id, &terms, call.now())).map_err(refused)?;
        quote.body.set(taken);
        quotes::save(call, &quote)?;
    }
    let key = (sender.index, sender.account.as_str());
    let who = (sender.wallet.id.as_str(), &sender.holder);
    let (order, way, body) = prepare(id, who, key, (&wanted, &promise, gas))?;
    let step = accept(order);
    carry::hold(call, &step.postings)?;
    let mut out = Out::new(call, step.record, way);
    providing::order(call, &mut out, Kind::Swap, body);
    out.way.fingerprint = Some(fingerprint);
    let metadata = swap.metadata.map(RawValue::from_string).transpose();
    out.about.metadata = metadata.map_err(|error| Stop::fault(error.to_string()))?;
    out.reference = Some(reference_or_new(call, swap.reference));
    begin(call, &mut out)?;
    envelope::ok("Swap initiated successfully", &shown(call, &out.to_stored())?)
}

/// Order of the rules, way, and order of the provider.
pub fn prepare(
    id: String,
    (wallet, from): (&str, &Holder),
    (index, account): (u32, &str),
    (wanted, promise, gas): (&Wanted, &Promise, Gas),
) -> Result<(Order, Way, String), Stop> {
    let body = json::to_text(&liquidity::Order {
        id: &id,
        offer_id: &promise.id,
        minimum_amount: promise.minimum.clone(),
        recipient_address: &wanted.recipient,
        refund_address: account,
    })?;
    let task = Task::Swap {
        money: wanted.money,
        to: Destination { asset: wanted.to, holder: wanted.holder.clone() },
        at_least: Units::of_base(&promise.at_least).unwrap_or_default(),
        settled: wanted.is_settlement,
    };
    let order = Order { id, wallet_id: wallet.to_owned(), from: from.clone(), task, gas: Some(gas) };
    let mut way = Way::new(blockchain_of(wanted.money.asset)?, (index, account), None);
    way.wish = Some(Wish {
        order: wanted.order.name().to_owned(),
        slippage: slippage_text(wanted.slippage),
        recipient: wanted.recipient.clone(),
    });
    Ok((order, way, body))
}

/// A swap once more: by another quote, since the first was used, and as it was asked for at first.
pub fn quote_again(call: &Call, out: &mut Out) -> Result<(), Stop> {
    let Task::Swap { money, to, settled, .. } = out.record.task.clone() else { return Ok(()) };
    let (Some(wish), Some(gas)) = (out.way.wish.clone(), out.record.gas.clone()) else {
        return Err(refused(Refusal::QuoteNeeded));
    };
    let wanted = Wanted {
        money,
        to: to.asset,
        holder: to.holder,
        recipient: wish.recipient,
        order: Priority::of_name(&wish.order).unwrap_or_default(),
        slippage: Slippage::parse(&wish.slippage).map_err(|_| refused(Refusal::QuoteNeeded))?,
        is_settlement: settled,
    };
    let (promise, _) = choose(call, &wanted)?;
    let key = (out.way.index, out.way.sender.as_str());
    let who = (out.record.wallet_id.as_str(), &out.record.from);
    let (order, _, body) = prepare(out.record.id.clone(), who, key, (&wanted, &promise, gas))?;
    out.record.task = order.task;
    providing::order(call, out, Kind::Swap, body);
    Ok(())
}
