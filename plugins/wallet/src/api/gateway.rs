//! The unified USDC balance (spec/wallet: gateway): in from the wallet's blockchain, out to any that has a gateway.
//!
//! Each wallet, and each address under it, has its own part of the balance: a wallet's key spends nothing of another's.

use tenon_plugin::{Call, Outcome, Route, Stop, get, json, post};

use super::withdraw::{Sender, begin, blockchain_of, reference_or_new, repeated, shown};
use super::{access, envelope, form::Form};
use crate::providers::{self, gateway as provider};
use crate::records::outgoing::{Out, Way};
use crate::records::provided::Kind;
use crate::records::{transactions, wallets};
use crate::rules::amount::{Money, Units};
use crate::rules::asset::{self, Asset, GATEWAY_USDC};
use crate::rules::blockchain::Blockchain;
use crate::rules::books::Holder;
use crate::rules::kind;
use crate::rules::outgoing::{Destination, Gas, Order, Task, accept};
use crate::rules::request::Context;
use crate::rules::request::gateway::{Raw, Withdrawal, read_deposit, read_withdrawal};
use crate::sending::{self, Target};
use crate::show::Text;
use crate::show::asset::Balance;
use crate::show::transaction::{Whose, full};
use crate::{carry, ids, providing, show, words};

pub const ROUTES: &[Route] = &[
    post("/v1/wallets/{walletId}/gateway/deposit", "gateway-deposit", deposit),
    post("/v1/wallets/{walletId}/gateway/deposit/network-fee", "gateway-deposit-fee", deposit_fee),
    post("/v1/wallets/{walletId}/gateway/withdraw", "gateway-withdraw", withdraw),
    post("/v1/wallets/{walletId}/gateway/withdraw/network-fee", "gateway-withdraw-fee", withdraw_fee),
    get("/v1/wallets/{walletId}/gateway/balance", "read-gateway-balance", balance),
    get("/v1/wallets/{walletId}/gateway/transactions", "list-gateway-transactions", list).query(envelope::PAGE),
    post("/v1/wallets/{walletId}/addresses/{addressId}/gateway/deposit", "gateway-deposit-from-address", deposit),
    post("/v1/wallets/{walletId}/addresses/{addressId}/gateway/withdraw", "gateway-withdraw-of-address", withdraw),
    get("/v1/wallets/{walletId}/addresses/{addressId}/gateway/balance", "read-gateway-balance-of-address", balance),
    post("/v1/gateway/deposit/{walletId}", "gateway-deposit-of-wallet", deposit),
    post("/v1/gateway/deposit/{walletId}/network-fee", "gateway-deposit-fee-of-wallet", deposit_fee),
    post("/v1/gateway/withdraw", "gateway-withdraw-of-key", withdraw),
    post("/v1/gateway/withdraw/network-fee", "gateway-withdraw-fee-of-key", withdraw_fee),
    post("/v1/addresses/{addressId}/gateway/deposit", "gateway-deposit-of-address", deposit),
    post("/v1/addresses/{addressId}/gateway/deposit/network-fee", "gateway-deposit-fee-of-address", deposit_fee),
    post("/v1/addresses/{addressId}/gateway/withdraw", "gateway-withdraw-from-address", withdraw),
    post("/v1/addresses/{addressId}/gateway/withdraw/network-fee", "gateway-withdraw-fee-of-address", withdraw_fee),
    get("/v1/addresses/{addressId}/gateway/balance", "read-gateway-balance-alone", balance),
    get("/v1/gateway/balance", "read-whole-gateway-balance", whole_balance),
    get("/v1/gateway/wallets", "list-gateway-wallets", list_wallets).query(envelope::PAGE),
];

/// Transactions that `meta` counts to.
const COUNT_MAX: u32 = 1_000_000;

fn refused(refusal: crate::rules::refusal::Refusal) -> Stop {
    words::refused(&refusal)
}

fn read_raw(form: &mut Form) -> Raw {
    Raw {
        amount: form.amount(&["amount"]),
        destination_chain: form.text(&["destination_chain", "destinationChain", "blockchain"]),
        destination_address: form.text(&["destination_address", "destinationAddress", "address"]),
        reference: form.text(&["reference"]),
    }
}

fn deposit(call: &Call) -> Outcome {
    let sender = Sender::load(call)?;
    let mut form = Form::of(call)?;
    let raw = read_raw(&mut form);
    form.finish()?;
    let wanted = read_deposit(&raw, &sender.context(call)?).map_err(refused)?;
    let units = wanted.money.units.to_digits();
    let fingerprint = ids::fingerprint(&["gateway-deposit", &sender.holder.name(), &units]);
    let made = match repeated(call, &sender.wallet.id, wanted.reference.as_deref(), &fingerprint)? {
        Some(first) => first,
        None => {
            let gas = sender.gas(call, wanted.money)?;
            let key = (sender.index, sender.account.as_str());
            let who = (sender.wallet.id.as_str(), &sender.holder);
            let (order, way, body) = prepare_deposit(call.uuid(), who, key, wanted.money, gas)?;
            let step = accept(order);
            carry::hold(call, &step.postings)?;
            let mut out = Out::new(call, step.record, way);
            providing::order(call, &mut out, Kind::GatewayDeposit, body);
            finish(call, &mut out, wanted.reference, fingerprint)?;
            out.to_stored()
        }
    };
    envelope::ok("Gateway deposit initiated successfully", &shown(call, &made)?)
}

pub fn prepare_deposit(
    id: String,
    (wallet, from): (&str, &Holder),
    (index, account): (u32, &str),
    money: Money,
    gas: Gas,
) -> Result<(Order, Way, String), Stop> {
    let blockchain = blockchain_of(money.asset)?;
    let (amount, refund_address) = (money.to_decimal(), account);
    let body = json::to_text(&provider::Deposit { id: &id, blockchain: blockchain.slug(), amount, refund_address })?;
    let task = Task::GatewayDeposit { money };
    let order = Order { id, wallet_id: wallet.to_owned(), from: from.clone(), task, gas: Some(gas) };
    Ok((order, Way::new(blockchain, (index, account), None), body))
}

fn finish(call: &Call, out: &mut Out, reference: Option<String>, fingerprint: String) -> Result<(), Stop> {
    out.way.fingerprint = Some(fingerprint);
    out.reference = Some(reference_or_new(call, reference));
    begin(call, out)
}

fn withdraw(call: &Call) -> Outcome {
    let sender = Sender::load(call)?;
    let wanted = read_wanted(call, &sender.context(call)?)?;
    let chain = blockchain_of(wanted.to)?;
    let (holder, recipient) = recipient(call, &sender, &wanted, chain)?;
    let (units, chain_slug) = (wanted.money.units.to_digits(), chain.slug());
    let fingerprint = ids::fingerprint(&["gateway-withdraw", &sender.holder.name(), &units, chain_slug, &recipient]);
    let made = match repeated(call, &sender.wallet.id, wanted.reference.as_deref(), &fingerprint)? {
        Some(first) => first,
        None => {
            if holder.is_none() {
                sending::check_target(call, &Target::new("destination_address", chain, Some(wanted.to), &recipient))?;
                providers::check(call, "destination_address", (chain, &recipient))?;
            }
            let mut out = order_withdrawal(call, &sender, &wanted, (holder, &recipient))?;
            finish(call, &mut out, wanted.reference, fingerprint)?;
            out.to_stored()
        }
    };
    envelope::ok("Gateway withdrawal initiated successfully", &shown(call, &made)?)
}

fn read_wanted(call: &Call, context: &Context) -> Result<Withdrawal, Stop> {
    let mut form = Form::of(call)?;
    let mut raw = read_raw(&mut form);
    // The real product names the blockchain by the asset that arrives there.
    let asset_id = form.text(&["asset_id", "assetId"]);
    form.finish()?;
    if let Some(id) = asset_id {
        let found = wallets::all(call)?.into_iter().find_map(|wallet| wallet.find_asset(&id, context.network));
        let asset = found.or_else(|| ids::find_asset(&id, context.network)).filter(|asset| asset.is_usdc());
        let asset = asset.ok_or_else(|| words::wrong("asset_id", "usdc", "must be USDC"))?;
        // What is named besides goes before it.
        raw.destination_chain = raw.destination_chain.or_else(|| asset.blockchain.map(|chain| chain.slug().to_owned()));
    }
    read_withdrawal(&raw, context).map_err(refused)
}

/// Without an address: what is ours there.
fn recipient(
    call: &Call,
    sender: &Sender,
    wanted: &Withdrawal,
    chain: Blockchain,
) -> Result<(Option<Holder>, String), Stop> {
    if let Some(address) = &wanted.destination_address {
        return Ok((None, address.clone()));
    }
    if sender.wallets.iter().any(|wallet| wallet.body.blockchain == chain) {
        return Ok((Some(sender.holder.clone()), sender.account.clone()));
    }
    match wallets::of_blockchain(call, chain)? {
        Some(wallet) => Ok((Some(wallet.holder()), wallet.body.address)),
        None => Err(words::wrong("destination_address", "required", "is required without a wallet there")),
    }
}

/// Nothing of ours is sent: who mints pays for the way.
fn order_withdrawal(
    call: &Call,
    sender: &Sender,
    wanted: &Withdrawal,
    (holder, recipient): (Option<Holder>, &str),
) -> Result<Out, Stop> {
    let chain = blockchain_of(wanted.to)?;
    let id = call.uuid();
    let amount = wanted.money.to_decimal();
    let body = json::to_text(&provider::Withdrawal {
        id: &id,
        blockchain: chain.slug(),
        amount,
        recipient_address: recipient,
    })?;
    let to = Destination { asset: wanted.to, holder };
    let order = Order {
        id,
        wallet_id: sender.wallet.id.clone(),
        from: sender.holder.clone(),
        task: Task::GatewayWithdraw { units: wanted.money.units, to },
        gas: None,
    };
    let step = accept(order);
    carry::hold(call, &step.postings)?;
    let mut out = Out::new(call, step.record, Way::new(chain, (sender.index, &sender.account), None));
    providing::order(call, &mut out, Kind::GatewayWithdrawal, body);
    out.about.recipient = Some(recipient.to_owned());
    Ok(out)
}

fn deposit_fee(call: &Call) -> Outcome {
    let sender = Sender::load(call)?;
    let mut form = Form::of(call)?;
    let raw = read_raw(&mut form);
    form.finish()?;
    let wanted = read_deposit(&raw, &sender.context(call)?).map_err(refused)?;
    let gas = sender.gas(call, wanted.money)?;
    fee(call, gas.held, &gas.payer)
}

/// The gateway mints, and pays for it.
fn withdraw_fee(call: &Call) -> Outcome {
    let sender = Sender::load(call)?;
    let wanted = read_wanted(call, &sender.context(call)?)?;
    let gas = asset::gas(blockchain_of(wanted.to)?);
    fee(call, Money::new(gas, Units::ZERO), &sender.holder)
}

fn fee(call: &Call, fee: Money, payer: &Holder) -> Outcome {
    let native = Money::new(fee.asset, carry::available(call, payer, fee.asset));
    let text = Text::new()
        .with("networkFee", &fee.to_decimal())?
        .with("nativeBalance", &native.to_decimal())?
        .with("networkFeeInUSD", &None::<String>)?
        .with("nativeBalanceInUSD", &None::<String>)?
        .with("symbol", fee.asset.symbol)?
        .with("transactionFee", "0")?;
    envelope::ok("Network fee fetched successfully", &text.to_text())
}

fn balance_text(of: &[Balance], wallet: Option<&str>) -> Result<Text, Stop> {
    let sum = |part: fn(&Balance) -> Units| {
        let total = of.iter().try_fold(Units::ZERO, |sum, balance| sum.checked_add(part(balance)));
        total.map(|units| Money::new(GATEWAY_USDC, units).to_decimal())
    };
    let available = sum(|balance| balance.available);
    let shown = asset_text(GATEWAY_USDC)?;
    Text::new()
        .with("wallet_id", &wallet)?
        .with("gateway_balance", &available)?
        .with("held", &sum(|balance| balance.held))?
        .with("balance", &available)?
        .with("convertedBalance", &available)
        .map(|text| text.raw("asset", shown))
}

fn asset_text(asset: Asset) -> Result<String, Stop> {
    let text = Text::new()
        .with("name", "USD Coin")?
        .with("symbol", asset.symbol)?
        .with("decimals", &asset.decimals)?
        .with("currency", "USD")?
        .with("isActive", &true)?
        .with("isNative", &false)?;
    Ok(text.to_text())
}

fn balance(call: &Call) -> Outcome {
    let (wallet, address) = access::holder(call)?;
    let holder = address.as_ref().map_or_else(|| wallet.holder(), |address| address.holder());
    let found = [Balance::read(call, &holder, GATEWAY_USDC)];
    envelope::ok("Gateway balance fetched successfully", &balance_text(&found, Some(&wallet.id))?.to_text())
}

/// Of all master wallets that the key opens.
fn whole_balance(call: &Call) -> Outcome {
    let own = call.attribute(access::ATTRIBUTE);
    let all = wallets::all(call)?.into_iter().filter(|wallet| own.is_none_or(|own| own == wallet.id));
    let found: Vec<Balance> = all.map(|wallet| Balance::read(call, &wallet.holder(), GATEWAY_USDC)).collect();
    envelope::ok("Gateway balance fetched successfully", &balance_text(&found, own)?.to_text())
}

fn list_wallets(call: &Call) -> Outcome {
    let own = call.attribute(access::ATTRIBUTE);
    let network = access::network(call);
    let mut rows = Vec::new();
    for wallet in wallets::all(call)? {
        if wallet.body.blockchain.has_gateway() && own.is_none_or(|own| own == wallet.id) {
            rows.push(show::wallet::full(call, &wallet, network)?.to_text());
        }
    }
    envelope::paged_list(call, "Gateway wallets fetched successfully", &rows)
}

/// In and out of the gateway, the newest first.
fn list(call: &Call) -> Outcome {
    use tenon_plugin::records::{Comparison, Search, Value};
    let wallet = access::wallet(call)?;
    let page = envelope::page(call)?;
    let (rows, skipped) = envelope::rows(page);
    let kinds = [kind::Kind::GatewayDeposit, kind::Kind::GatewayWithdraw];
    let kinds = || Comparison::OneOf(kinds.iter().map(|kind| Value::Text(kind.name().to_owned())).collect());
    let of = |rows| Search::first(rows).is("listed", &wallet.id).with("kind", kinds());
    let found = transactions::find(call, &of(rows).descending("@created-at").offset(skipped))?;
    let total = transactions::count(call, &of(1), COUNT_MAX);
    let network = access::network(call);
    let row = |made| Ok(full(call, made, &Whose::load(call, made, network)?)?.to_text());
    let texts: Result<Vec<String>, Stop> = found.iter().map(row).collect();
    envelope::list("Transactions fetched successfully", &texts?, page.meta(total), None)
}
