//! Getting back what went astray: assets on a blockchain that nobody meant, and deposits that nobody was told of.

use tenon_plugin::chains::{Transaction as OnChain, TransactionState};
use tenon_plugin::{Call, Outcome, Route, Stop, post};

use super::form::Form;
use super::withdraw::{begin, reference_or_new, shown};
use super::{access, envelope};
use crate::records::addresses;
use crate::records::outgoing::{Out, Transfer, Way};
use crate::records::transactions;
use crate::records::wallets::Wallet;
use crate::rules::amount::{Money, Units};
use crate::rules::asset;
use crate::rules::blockchain::Blockchain;
use crate::rules::code::Code;
use crate::rules::invalid::{Field, Rule};
use crate::rules::outgoing::{Gas, Order, Task, accept};
use crate::rules::refusal::Refusal;
use crate::rules::request::Context as Request;
use crate::rules::request::recovery::{RawSalvage, Salvage, read_rescan, read_salvage};
use crate::salvaging::{Lying, Place};
use crate::sending::{self, Target};
use crate::show::Text;
use crate::tasks::incoming::{Arrival, Context, Told, arrive, asset_of};
use crate::{carry, ids, providers, words};

pub const ROUTES: &[Route] = &[
    post("/v1/wallets/{walletId}/salvage", "salvage", salvage),
    post("/v1/wallets/{walletId}/salvage/network-fee", "salvage-fee", salvage_fee),
    post("/v1/wallets/{walletId}/rescan/blocks", "rescan-blocks", rescan),
];

/// A salvage that can be: what it moves, from which key.
struct Plan {
    asked: Salvage,
    wallet: Wallet,
    place: Place,
    index: u32,
    units: Units,
    decimals: u32,
    /// What the transfer may cost.
    fee: Money,
    coins: Lying,
    /// Of what is moved.
    lying: Lying,
}

impl Plan {
    /// What is in the books is withdrawn.
    fn check(&self) -> Result<(), Stop> {
        if self.lying.free >= self.units {
            return Ok(());
        }
        if self.lying.is_awaited {
            return Err(words::conflict("Something else is on its way to this address"));
        }
        if self.lying.booked.is_zero() {
            return Err(words::failed(Code::InsufficientBalance, "Insufficient balance"));
        }
        Err(in_the_books())
    }

    /// Paid with coins that are in no book, or held in the books.
    fn gas(&self) -> Result<Option<Gas>, Stop> {
        let is_token = self.asked.token_address.is_some();
        // Coins pay for their own way.
        let needed = if is_token { self.fee.units } else { self.fee.units.saturating_add(self.units) };
        if self.coins.free >= needed {
            return Ok(None);
        }
        if is_token && !self.coins.booked.is_zero() {
            return Ok(Some(Gas { payer: self.place.holder.clone(), held: self.fee }));
        }
        Err(words::failed(Code::InsufficientGas, "The sender address lacks the native token for gas"))
    }
}

fn salvage(call: &Call) -> Outcome {
    let plan = plan(call)?;
    plan.check()?;
    let gas = plan.gas()?;
    let Salvage { sender_address, recipient_address, amount, blockchain, token_address } = plan.asked;
    let asset = asset_of(call, blockchain, token_address.as_deref());
    let target = Target::new("recipient_address", blockchain, asset, &recipient_address);
    sending::check_target(call, &Target { sender: Some(&sender_address), ..target })?;
    providers::check(call, "recipient_address", (blockchain, &recipient_address))?;
    plan.place.check_alone(call)?;
    let order = Order {
        id: call.uuid(),
        wallet_id: plan.wallet.id.clone(),
        from: plan.place.holder,
        task: Task::Salvage { amount, blockchain },
        gas,
    };
    let step = accept(order);
    carry::hold(call, &step.postings)?;
    let transfer = Transfer { recipient: recipient_address, token: token_address, units: plan.units };
    let mut out = Out::new(call, step.record, Way::new(blockchain, (plan.index, &sender_address), Some(transfer)));
    out.reference = Some(reference_or_new(call, None));
    begin(call, &mut out)?;
    envelope::ok("Salvage asset initiated successfully", &shown(call, &out.to_stored())?)
}

fn salvage_fee(call: &Call) -> Outcome {
    let plan = plan(call)?;
    let gas = asset::gas(plan.asked.blockchain);
    let text = Text::new()
        .with("fee", &plan.fee.to_decimal())?
        .with("balance", &plan.lying.all.to_decimal(plan.decimals))?
        .with("nativeBalance", &plan.coins.all.to_decimal(gas.decimals))?
        .with("symbol", gas.symbol)?;
    envelope::ok("Network fee fetched successfully", &text.to_text())
}

fn plan(call: &Call) -> Result<Plan, Stop> {
    let wallet = access::wallet(call)?;
    let asked = read_request(call)?;
    let (place, index) = key(call, &wallet, &asked)?;
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
    let fee = sending::gas(call, chain, asked.token_address.is_some())?;
    let (coins, lying) = (place.coins().lying(call)?, place.lying(call)?);
    Ok(Plan { asked, wallet, place, index, units, decimals, fee, coins, lying })
}

fn read_request(call: &Call) -> Result<Salvage, Stop> {
    let mut form = Form::of(call)?;
    let id = form.text(&["blockchain_id", "blockchainId"]);
    let network = access::network(call);
    let by_id = |id: String| Blockchain::ALL.into_iter().find(|chain| ids::blockchain(*chain, network) == id);
    let of_id = id.map(|id| by_id(id).map_or("?", Blockchain::slug).to_owned());
    let named = form.text(&["blockchain", "blockchain_slug"]);
    if of_id.is_some() && named.is_some() && of_id != named {
        form.refuse(&["blockchain_id"], "exclusive", "must not differ from blockchain");
    }
    let raw = RawSalvage {
        sender_address: form.text(&["sender_address", "senderAddress"]),
        recipient_address: form.text(&["recipient_address", "recipientAddress"]),
        amount: form.amount(&["amount"]),
        blockchain: named.or(of_id),
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

/// Where the sender's assets lie, and its key: the wallet's own address, or one under it.
fn key(call: &Call, wallet: &Wallet, asked: &Salvage) -> Result<(Place, u32), Stop> {
    let chain = asked.blockchain;
    let not_ours = || words::wrong("sender_address", "address", "must be an address of this wallet");
    if chain.family() != wallet.body.blockchain.family() {
        return Err(not_ours());
    }
    let place = |address| Place::new(chain, wallet, address, asked.token_address.as_deref());
    if asked.sender_address == wallet.body.address {
        // Whatever anybody has sent there is told, and what comes from addresses under it is booked when it is final.
        let token = asked.token_address.as_deref();
        let is_booked = chain == wallet.body.blockchain && asset_of(call, chain, token).is_some();
        return if is_booked { Err(in_the_books()) } else { Ok((place(None), wallet.body.index)) };
    }
    let found = addresses::with_text(call, &asked.sender_address)?;
    let found = found.into_iter().find(|address| address.body.wallet == wallet.id).ok_or_else(not_ours)?;
    let index = found.body.index.ok_or_else(not_ours)?;
    found.body.check_active().map_err(|refusal| words::refused(&refusal))?;
    Ok((place(Some(&found)), index))
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
    let request = Request { blockchain: chain, network: access::network(call), assets: Vec::new() };
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
