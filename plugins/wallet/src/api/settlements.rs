//! Auto-settlement (spec/wallet: rule 5): rules of a wallet, and of an address, which replace those of its wallet.

use tenon_plugin::{Call, Outcome, Route, Stop, delete, get, patch, post, time};

use super::{access, envelope, form::Form};
use crate::records::settlements::{self as records, RULES_MAX, RuleBody, SettlementBody, slippage_text};
use crate::records::{addresses, wallets};
use crate::rules::books::Holder;
use crate::rules::request::Context;
use crate::rules::request::settlement::{Raw, read};
use crate::rules::settlement::{SettlementRule, Target};
use crate::show::Text;
use crate::{providers, sending, words};

macro_rules! both {
    ($method:ident, $rest:literal, $name:literal, $handler:ident $(, $query:expr)?) => {
        [
            $method(concat!("/v1/wallets/{walletId}/auto-settlements", $rest), $name, $handler)$(.query($query))?,
            $method(
                concat!("/v1/wallets/{walletId}/addresses/{addressId}/auto-settlements", $rest),
                concat!($name, "-of-address"),
                $handler,
            )$(.query($query))?,
        ]
    };
}

pub const ROUTES: &[Route] = &tenon_plugin::join::<Route, 14>(&[
    &both!(get, "", "read-auto-settlement", read_all),
    &both!(patch, "", "update-auto-settlement", switch),
    &both!(get, "/rules", "list-settlement-rules", list, envelope::PAGE),
    &both!(post, "/rules", "create-settlement-rule", create),
    &both!(get, "/rules/{ruleId}", "read-settlement-rule", read_one),
    &both!(patch, "/rules/{ruleId}", "update-settlement-rule", update),
    &both!(delete, "/rules/{ruleId}", "delete-settlement-rule", remove),
]);

/// Whose rules they are, and what they are read by.
fn place(call: &Call) -> Result<(Holder, Context, SettlementBody), Stop> {
    let (wallet, address) = access::holder(call)?;
    if address.as_ref().is_some_and(|address| address.body.index.is_none()) {
        return Err(words::wrong("address_id", "key", "must be an address whose key is here"));
    }
    let holder = address.as_ref().map_or_else(|| wallet.holder(), |address| address.holder());
    let blockchain = wallet.body.blockchain;
    let context = Context { blockchain, network: access::network(call), assets: Vec::new() };
    let known = records::load(call, &holder)?.unwrap_or_default();
    Ok((holder, context, known))
}

fn read_raw(form: &mut Form) -> Raw {
    let mut raw = Raw {
        settlement_rule_name: form.text(&["settlement_rule_name", "name"]),
        is_active: form.flag(&["is_active", "isActive"]),
        is_gateway: form.flag(&["is_gateway", "isGateway"]),
        settlement_order: form.text(&["settlement_order", "order"]),
        slippage_tolerance: form.amount(&["slippage_tolerance", "slippageTolerance"]),
        ..Raw::default()
    };
    if let Some(mut source) = form.object(&["source"]) {
        raw.source_assets = source.texts(&["assets"]).unwrap_or_default();
        raw.min_amount = limit(&mut source, &["min_amount", "minAmount"]);
        raw.max_amount = limit(&mut source, &["max_amount", "maxAmount"]);
        form.take_faults(source);
    }
    if let Some(mut destination) = form.object(&["destination"]) {
        raw.destination_blockchain = destination.text(&["blockchain"]);
        raw.destination_asset = destination.text(&["asset"]);
        raw.destination_address = destination.text(&["address"]);
        form.take_faults(destination);
    }
    raw
}

/// What is there and empty says that there is none; what is absent says nothing.
fn limit(source: &mut Form, names: &[&'static str]) -> Option<String> {
    let amount = source.amount(names);
    if source.clears(names) { Some("-1".to_owned()) } else { amount }
}

fn create(call: &Call) -> Outcome {
    let (holder, context, mut known) = place(call)?;
    let mut form = Form::of(call)?;
    let raw = read_raw(&mut form);
    form.finish()?;
    let mut rule = read(&raw, String::new(), &context).map_err(|refusal| words::refused(&refusal))?;
    if known.rules.len() >= RULES_MAX {
        return Err(words::conflict("There are as many rules as there may be"));
    }
    check_target(call, &rule)?;
    rule.id = call.uuid();
    let body = RuleBody::new(&rule, (call.now(), call.now()));
    let text = rule_text(&rule, &body)?.to_text();
    known.rules.push(body);
    // The first rule switches it on.
    known.is_active |= known.rules.len() == 1;
    records::save(call, &holder, &known)?;
    envelope::created("Auto settlement rule created successfully", &text)
}

fn check_target(call: &Call, rule: &SettlementRule) -> Result<(), Stop> {
    let Target::Address { asset, address } = &rule.target else { return Ok(()) };
    let Some(blockchain) = asset.blockchain else { return Ok(()) };
    // What arrived there would be settled again, and again.
    if rule.source.assets.contains(asset) && is_own(call, address)? {
        return Err(words::wrong("destination.address", "own", "must not be an address of this account"));
    }
    sending::check_target(call, &sending::Target::new("destination.address", blockchain, Some(*asset), address))?;
    providers::check(call, "destination.address", (blockchain, address)).map(|_| ())
}

fn is_own(call: &Call, address: &str) -> Result<bool, Stop> {
    let under = addresses::with_text(call, address)?.iter().any(|found| found.body.index.is_some());
    Ok(under || wallets::has_address(call, address))
}

fn named(call: &Call, known: &SettlementBody) -> Result<usize, Stop> {
    let id = call.parameter("ruleId");
    known.rules.iter().position(|rule| rule.id == id).ok_or_else(words::not_found)
}

fn read_one(call: &Call) -> Outcome {
    let (_, _, known) = place(call)?;
    let at = named(call, &known)?;
    let body = known.rules.get(at).ok_or_else(words::not_found)?;
    envelope::ok("Auto settlement rule fetched successfully", &rule_text(&body.rule()?, body)?.to_text())
}

fn list(call: &Call) -> Outcome {
    let (_, _, known) = place(call)?;
    envelope::paged_list(call, "Auto settlement rules fetched successfully", &rows(&known)?)
}

fn rows(known: &SettlementBody) -> Result<Vec<String>, Stop> {
    known.rules.iter().map(|body| Ok(rule_text(&body.rule()?, body)?.to_text())).collect()
}

/// What is not sent stays.
fn update(call: &Call) -> Outcome {
    let (holder, context, mut known) = place(call)?;
    let at = named(call, &known)?;
    let mut form = Form::of(call)?;
    let sent = read_raw(&mut form);
    form.finish()?;
    let body = known.rules.get_mut(at).ok_or_else(words::not_found)?;
    let old = raw_of(&body.rule()?);
    let is_gateway = sent.is_gateway.or(old.is_gateway);
    let raw = Raw {
        settlement_rule_name: sent.settlement_rule_name.or(old.settlement_rule_name),
        is_active: sent.is_active.or(old.is_active),
        is_gateway,
        settlement_order: sent.settlement_order.or(old.settlement_order),
        slippage_tolerance: sent.slippage_tolerance.or(old.slippage_tolerance),
        source_assets: if sent.source_assets.is_empty() { old.source_assets } else { sent.source_assets },
        min_amount: sent.min_amount.or(old.min_amount),
        max_amount: sent.max_amount.or(old.max_amount),
        destination_blockchain: sent.destination_blockchain.or(old.destination_blockchain),
        destination_asset: sent.destination_asset.or(old.destination_asset),
        destination_address: sent.destination_address.or(old.destination_address),
    };
    let rule = read(&raw, body.id.clone(), &context).map_err(|refusal| words::refused(&refusal))?;
    check_target(call, &rule)?;
    *body = RuleBody::new(&rule, (body.created_ms, call.now()));
    let text = rule_text(&rule, body)?.to_text();
    records::save(call, &holder, &known)?;
    envelope::ok("Auto settlement rule updated successfully", &text)
}

fn raw_of(rule: &SettlementRule) -> Raw {
    let (blockchain, asset, address) = match &rule.target {
        Target::Gateway => (None, None, None),
        Target::Address { asset, address } => {
            let chain = asset.blockchain.map(|chain| chain.slug().to_owned());
            (chain, Some(asset.symbol.to_owned()), Some(address.clone()))
        }
    };
    Raw {
        settlement_rule_name: Some(rule.name.clone()),
        is_active: Some(rule.is_active),
        is_gateway: Some(rule.target == Target::Gateway),
        settlement_order: Some(rule.order.name().to_owned()),
        slippage_tolerance: Some(slippage_text(rule.slippage)),
        source_assets: rule.source.assets.iter().map(|asset| asset.symbol.to_owned()).collect(),
        min_amount: rule.source.min.map(|min| min.to_decimal()),
        max_amount: rule.source.max.map(|max| max.to_decimal()),
        destination_blockchain: blockchain,
        destination_asset: asset,
        destination_address: address,
    }
}

fn remove(call: &Call) -> Outcome {
    let (holder, _, mut known) = place(call)?;
    let at = named(call, &known)?;
    let body = known.rules.remove(at);
    records::save(call, &holder, &known)?;
    envelope::ok("Auto settlement rule deleted successfully", &rule_text(&body.rule()?, &body)?.to_text())
}

fn read_all(call: &Call) -> Outcome {
    let (_, _, known) = place(call)?;
    envelope::ok("Auto settlement fetched successfully", &settlement_text(&known)?)
}

fn switch(call: &Call) -> Outcome {
    let (holder, _, mut known) = place(call)?;
    let mut form = Form::of(call)?;
    let is_active = form.flag(&["is_active", "isActive"]);
    form.finish()?;
    known.is_active = is_active.ok_or_else(|| words::wrong("is_active", "required", "is required"))?;
    records::save(call, &holder, &known)?;
    envelope::ok("Auto settlement updated successfully", &settlement_text(&known)?)
}

fn settlement_text(known: &SettlementBody) -> Result<String, Stop> {
    let rows = rows(known)?;
    let rules = tenon_plugin::json::array(rows.iter().map(String::as_str));
    Ok(Text::new()
        .with("is_active", &known.is_active)?
        .with("isActive", &known.is_active)?
        .raw("rules", rules)
        .to_text())
}

fn rule_text(rule: &SettlementRule, body: &RuleBody) -> Result<Text, Stop> {
    let symbols: Vec<&str> = rule.source.assets.iter().map(|asset| asset.symbol).collect();
    let limit = |limit: Option<crate::rules::amount::Whole>| limit.map_or("-1".to_owned(), |it| it.to_decimal());
    let source = Text::new()
        .with("assets", &symbols)?
        .with("minAmount", &limit(rule.source.min))?
        .with("maxAmount", &limit(rule.source.max))?
        .with("blockchain", rule.source.blockchain.slug())?;
    let destination = match &rule.target {
        Target::Gateway => Text::new(),
        Target::Address { asset, address } => Text::new()
            .with("blockchain", &asset.blockchain.map(|chain| chain.slug()))?
            .with("asset", asset.symbol)?
            .with("address", address)?,
    };
    Text::new()
        .with("settlement_rule_name", &rule.name)?
        .with("slippage_tolerance", &slippage_text(rule.slippage))?
        .with("settlement_order", rule.order.name())?
        .with("id", &rule.id)?
        .with("name", &rule.name)?
        .with("isActive", &rule.is_active)?
        .with("isGateway", &(rule.target == Target::Gateway))?
        .with("order", rule.order.name())?
        .with("slippageTolerance", &slippage_text(rule.slippage))?
        .raw("source", source.to_text())
        .raw("destination", destination.to_text())
        .with("createdAt", &time::to_text(body.created_ms))?
        .with("updatedAt", &time::to_text(body.updated_ms))
}
