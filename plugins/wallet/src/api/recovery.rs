//! Getting back what went astray: assets on a blockchain that nobody meant, and deposits that nobody was told of.

use tenon_plugin::chains::{Transaction as OnChain, TransactionState};
use tenon_plugin::{Call, Outcome, Route, Stop, post};

use super::form::Form;
use super::withdraw::{begin, reference_or_new, shown};
use super::{access, envelope};
use crate::records::addresses;
use crate::records::outgoing::{Out, Transfer, Way};
use crate::records::transactions;
use crate::records::wallets::{self, Wallet};
use crate::rules::amount::Units;
use crate::rules::asset;
use crate::rules::blockchain::Blockchain;
use crate::rules::code::Code;
use crate::rules::invalid::{Field, Rule};
use crate::rules::outgoing::{Order, Task, accept};
use crate::rules::refusal::Refusal;
use crate::rules::request::Context as Request;
use crate::rules::request::recovery::{RawSalvage, Salvage, read_rescan, read_salvage};
use crate::show::Text;
use crate::tasks::incoming::{Arrival, Context, Told, arrive, asset_of};
use crate::{ids, providers, sending, words};

pub const ROUTES: &[Route] = &[
    post("/v1/wallets/{walletId}/salvage", "salvage", salvage),
    post("/v1/wallets/{walletId}/salvage/network-fee", "salvage-fee", salvage_fee),
    post("/v1/wallets/{walletId}/rescan/blocks", "rescan-blocks", rescan),
];

/// A salvage that can be: what it moves, from which key.
struct Plan {
    asked: Salvage,
    wallet: Wallet,
    holder: crate::rules::books::Holder,
    index: u32,
    units: Units,
    decimals: u32,
    /// What the transfer may cost.
    fee: Units,
    coins: Units,
    balance: Units,
}

fn salvage(call: &Call) -> Outcome {
    let plan = plan(call)?;
    if plan.balance < plan.units {
        return Err(words::failed(Code::InsufficientBalance, "Insufficient balance"));
    }
    // Coins pay for their own way.
    let needed = if plan.asked.token_address.is_none() { plan.fee.checked_add(plan.units) } else { Some(plan.fee) };
    if needed.is_none_or(|needed| plan.coins < needed) {
        return Err(words::failed(Code::InsufficientGas, "The sender address lacks the native token for gas"));
    }
    let Salvage { sender_address, recipient_address, amount, blockchain, token_address } = plan.asked;
    if let Some(asset) = asset_of(call, blockchain, token_address.as_deref()) {
        sending::check_target(call, asset, &recipient_address)?;
    }
    providers::check(call, blockchain, &recipient_address)?;
    check_alone(call, &plan.wallet.id, (blockchain, &sender_address, token_address.as_deref()))?;
    let order = Order {
        id: call.uuid(),
        wallet_id: plan.wallet.id.clone(),
        from: plan.holder,
        task: Task::Salvage { amount, blockchain },
        // What lies there is in no book, its coins neither.
        gas: None,
    };
    let step = accept(order);
    let transfer = Transfer { recipient: recipient_address, token: token_address, units: plan.units };
    let mut out = Out::new(call, step.record, Way::new(blockchain, (plan.index, &sender_address), Some(transfer)));
    out.reference = Some(reference_or_new(call, None));
    begin(call, &mut out)?;
    envelope::ok("Salvage asset initiated successfully", &shown(call, &out.to_stored())?)
}

/// What lies there is in no book, so nothing is held: one salvage of it at a time.
fn check_alone(
    call: &Call,
    wallet: &str,
    (blockchain, sender, token): (Blockchain, &str, Option<&str>),
) -> Result<(), Stop> {
    call.guard(&["salvage/", blockchain.slug(), "/", sender].concat());
    let is_same = |out: &Out| {
        let transfer = out.way.transfer.as_ref();
        let is_token = transfer.is_some_and(|transfer| transfer.token.as_deref() == token);
        out.way.blockchain == blockchain && out.way.sender == sender && is_token && !out.record.status.is_final()
    };
    let is_underway = transactions::salvages(call, wallet)?.iter().filter_map(Out::of).any(|out| is_same(&out));
    if is_underway { Err(words::conflict("A salvage of this is under way")) } else { Ok(()) }
}

fn salvage_fee(call: &Call) -> Outcome {
    let plan = plan(call)?;
    let gas = asset::gas(plan.asked.blockchain);
    let text = Text::new()
        .with("fee", &plan.fee.to_decimal(gas.decimals))?
        .with("balance", &plan.balance.to_decimal(plan.decimals))?
        .with("nativeBalance", &plan.coins.to_decimal(gas.decimals))?
        .with("symbol", gas.symbol)?;
    envelope::ok("Network fee fetched successfully", &text.to_text())
}

fn plan(call: &Call) -> Result<Plan, Stop> {
    let wallet = access::wallet(call)?;
    let asked = read_request(call)?;
    let (holder, index) = key(call, &wallet, &asked)?;
    let chain = asked.blockchain;
    let network = call.chains().network(chain.slug()).ok_or_else(|| unknown(Rule::UnknownBlockchain))?;
    let decimals = match &asked.token_address {
        None => u32::from(network.decimals),
        Some(token) => {
            let known = network.tokens.iter().find(|known| known.address.eq_ignore_ascii_case(token));
            u32::from(
                known
                    .ok_or_else(|| words::wrong("token_address", "token", "must be a token of this blockchain"))?
                    .decimals,
            )
        }
    };
    let units = Units::parse_positive(&asked.amount, decimals);
    let units = units.map_err(|rule| words::refused(&Refusal::Invalid(vec![Field("amount").breaks(rule)])))?;
    let token = asked.token_address.as_deref();
    let coins = call.chains().balance(chain.slug(), &asked.sender_address, None);
    let balance = call.chains().balance(chain.slug(), &asked.sender_address, token);
    let fee = sending::gas(call, chain, token.is_some());
    let number = |reply: Result<Result<String, String>, Stop>| {
        let text = reply?.map_err(|_| words::unanswered("The blockchain does not answer"))?;
        Units::of_base(&text).ok_or_else(|| Stop::fault("a balance is no number"))
    };
    let (coins, balance, fee) = (number(coins)?, number(balance)?, fee?.units);
    Ok(Plan { asked, wallet, holder, index, units, decimals, fee, coins, balance })
}

fn read_request(call: &Call) -> Result<Salvage, Stop> {
    let mut form = Form::of(call)?;
    let id = form.text(&["blockchain_id", "blockchainId"]);
    let network = access::network(call);
    let by_id = |id: String| Blockchain::ALL.into_iter().find(|chain| ids::blockchain(*chain, network) == id);
    let named = form.text(&["blockchain", "blockchain_slug"]);
    let raw = RawSalvage {
        sender_address: form.text(&["sender_address", "senderAddress"]),
        recipient_address: form.text(&["recipient_address", "recipientAddress"]),
        amount: form.amount(&["amount"]),
        blockchain: named.or_else(|| id.map(|id| by_id(id).map_or("?", Blockchain::slug).to_owned())),
        token_address: form.text(&["token_address", "tokenAddress"]),
    };
    if form.has(&["rpc_url", "rpcUrl"]) {
        form.refuse(&["rpc_url"], "not_supported", "is not supported: nodes are the operator's");
    }
    form.finish()?;
    read_salvage(&raw).map_err(|refusal| words::refused(&refusal))
}

fn unknown(rule: Rule) -> Stop {
    words::refused(&Refusal::Invalid(vec![Field("blockchain").breaks(rule)]))
}

/// Holder and key of the sender: the wallet's own address, or one under it; not where its money is in the books.
fn key(call: &Call, wallet: &Wallet, asked: &Salvage) -> Result<(crate::rules::books::Holder, u32), Stop> {
    let chain = asked.blockchain;
    let not_ours = || words::wrong("sender_address", "address", "must be an address of this wallet");
    if chain.family() != wallet.body.blockchain.family() {
        return Err(not_ours());
    }
    if asked.sender_address == wallet.body.address {
        let booked = chain == wallet.body.blockchain;
        return if booked { Err(in_the_books()) } else { Ok((wallet.holder(), wallet.body.index)) };
    }
    let found = addresses::with_text(call, &asked.sender_address)?;
    let found = found.into_iter().find(|address| address.body.wallet == wallet.id).ok_or_else(not_ours)?;
    let index = found.body.index.ok_or_else(not_ours)?;
    found.body.check_active().map_err(|refusal| words::refused(&refusal))?;
    if wallets::of_blockchain(call, chain)?.is_some() {
        return Err(in_the_books());
    }
    Ok((found.holder(), index))
}

fn in_the_books() -> Stop {
    words::wrong("blockchain", "booked", "is one on which this address has balances: withdraw from it")
}

/// Looks the transaction up and books what nobody was told of; says what it found.
fn rescan(call: &Call) -> Outcome {
    let wallet = access::wallet(call)?;
    let mut form = Form::of(call)?;
    let hash = form.text(&["transaction_hash", "transactionHash", "hash"]);
    form.finish()?;
    let chain = wallet.body.blockchain;
    let request =
        Request { blockchain: chain, network: access::network(call), assets: Vec::new(), gateway_contract: None };
    let hash = read_rescan(&hash, &request).map_err(|refusal| words::refused(&refusal))?;
    let found = call.chains().transaction(chain.slug(), &hash)?;
    let found = found.map_err(|_| words::unanswered("The blockchain does not answer"))?;
    let mut rows = Vec::new();
    let state = match &found {
        None => "unknown",
        Some(transaction) => match transaction.state {
            TransactionState::Waiting => "waiting",
            TransactionState::Failed => "failed",
            TransactionState::Done => {
                rows = book(call, &wallet, transaction)?;
                "done"
            }
        },
    };
    let deposits: Vec<&str> = rows.iter().map(String::as_str).collect();
    let text = Text::new()
        .with("transaction_hash", &hash)?
        .with("state", state)?
        .with("confirmations", &found.as_ref().map_or(0, |found| found.confirmations))?
        .with("found", &!rows.is_empty())?
        .raw("deposits", tenon_plugin::json::array(deposits.into_iter()));
    envelope::ok("Blocks rescanned successfully", &text.to_text())
}

/// Each movement to an address of the wallet. What was told already is told once more.
fn book(call: &Call, wallet: &Wallet, on_chain: &OnChain) -> Result<Vec<String>, Stop> {
    let chain = wallet.body.blockchain;
    let mut rows = Vec::new();
    for movement in &on_chain.movements {
        let Some(context) = whose(call, wallet, &movement.recipient)? else { continue };
        let is_final = on_chain.confirmations >= chain.confirmations();
        let told = Told {
            context,
            blockchain: chain.slug().to_owned(),
            state: if is_final { "final" } else { "seen" }.to_owned(),
            hash: on_chain.hash.clone(),
            position: movement.position,
            sender: movement.sender.clone(),
            token: movement.token.clone(),
            amount: movement.amount.clone(),
            block: on_chain.block,
            confirmations: on_chain.confirmations,
            after: None,
        };
        let before = transactions::sighted(call, chain.slug(), &on_chain.hash, movement.position)?;
        let id = match arrive(call, &told)? {
            Arrival::Deposit(id) => id,
            Arrival::Nothing => continue,
            Arrival::Unclear { .. } => return Err(words::unanswered("Too much is under way to say whose this is")),
        };
        let Some(deposit) = transactions::load(call, &id)? else { continue };
        let is_new = before.is_none_or(|before| before.body.status != deposit.body.status);
        let event = deposit.body.about.events.last().filter(|_| !is_new);
        let resent = event.is_some_and(|event| call.subscriptions().redeliver(&wallet.id, event));
        let text = Text::new()
            .with("deposit_id", &id)?
            .with("transaction_status", deposit.body.status.name())?
            .with("new", &is_new)?
            .with("webhook_resent", &resent)?
            .raw("deposit", shown(call, &deposit)?);
        rows.push(text.to_text());
    }
    Ok(rows)
}

fn whose(call: &Call, wallet: &Wallet, recipient: &str) -> Result<Option<Context>, Stop> {
    let chain = wallet.body.blockchain;
    if recipient == wallet.body.address {
        return Ok(Some(Context { wallet: wallet.id.clone(), address: None }));
    }
    let found = addresses::with_text(call, recipient)?.into_iter().find(|address| {
        let is_shared = address.body.index.is_some() && address.body.blockchain.family() == chain.family();
        address.body.wallet == wallet.id || (is_shared && chain.is_evm_compatible())
    });
    Ok(found.map(|address| Context { wallet: wallet.id.clone(), address: Some(address.id) }))
}
