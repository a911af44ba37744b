//! A settlement rule, carried out: what a deposit has brought is withdrawn, swapped or put into the gateway. Gas comes from the
//! master wallet, as with sweeps.
//!
//! What cannot begin is told as failed, and the money rests where it is.

use serde::{Deserialize, Serialize};
use tenon_plugin::tasks::{FiredTask, TaskOutcome, Verdict};
use tenon_plugin::{Call, Stop, Task, json, task};

use crate::api::gateway::prepare_deposit;
use crate::api::swaps::{Wanted, choose, prepare};
use crate::api::withdraw::blockchain_of;
use crate::records::outgoing::{Follow, Out, Way};
use crate::records::provided::Kind;
use crate::records::transactions::{self, Incoming, Transaction};
use crate::records::{addresses, settlements, wallets};
use crate::rules::amount::Money;
use crate::rules::asset::Asset;
use crate::rules::books::Holder;
use crate::rules::event::{Event, Failing};
use crate::rules::outgoing::{Gas, Order, Task as Outgoing, accept};
use crate::rules::settlement::{Action, SettlementRule};
use crate::sending::{self, Target};
use crate::{carry, following, providers, providing};

pub const TASKS: &[Task] = &[task("settle", settle)];

/// Until a blockchain or a provider that does not answer is asked again.
const PAUSE_MS: u64 = 10_000;

/// The rule that the deposit has met.
#[derive(Serialize, Deserialize)]
struct Met {
    rule: String,
}

pub fn begin(call: &Call, deposit: &str, rule: &str) -> Result<(), Stop> {
    let met = json::to_text(&Met { rule: rule.to_owned() })?;
    call.tasks().schedule("settle", deposit, call.now(), &met);
    Ok(())
}

/// Who sends: holder, key, gas.
struct Sender {
    wallet: String,
    holder: Holder,
    index: u32,
    account: String,
    gas: Gas,
}

fn settle(call: &Call, task: &FiredTask) -> TaskOutcome {
    let Met { rule } = call.json()?;
    let Some(stored) = transactions::load(call, &task.key)? else { return Ok(Verdict::Done) };
    let Some(incoming) = stored.incoming() else { return Ok(Verdict::Done) };
    let Some(rule) = find(call, &incoming, &rule)? else { return Ok(Verdict::Done) };
    let later = Ok(Verdict::Later(call.now().saturating_add(PAUSE_MS)));
    let Some(wallet) = wallets::load(call, &incoming.record.wallet_id)? else { return Ok(Verdict::Done) };
    let address = match incoming.record.holder.address_id() {
        Some(id) => addresses::load(call, id)?,
        None => None,
    };
    if address.as_ref().is_some_and(|address| !address.body.is_active) {
        return Ok(Verdict::Done);
    }
    let Some((holder, index, account)) = sending::sender(&wallet, address.as_ref()) else { return Ok(Verdict::Done) };
    let money = incoming.record.sighting.money;
    let terms = match sending::terms(call, wallet.body.blockchain)? {
        Ok(terms) => terms,
        Err(_) => return later,
    };
    let held = sending::gas_of(&terms, wallet.body.blockchain, !money.asset.is_native)?;
    let gas = Gas { payer: wallet.holder(), held };
    let sender = Sender { wallet: wallet.id, holder, index, account, gas };
    match carry_out(call, &rule, &sender, (money, &stored.id)) {
        Ok(true) => Ok(Verdict::Done),
        Ok(false) => fail(call, &stored, &rule, money),
        // Who does not answer is asked again; every other "no" stays one.
        Err(Stop::Refusal(refusal)) if refusal.status == 503 => later,
        Err(Stop::Refusal(_)) => fail(call, &stored, &rule, money),
        Err(stop) => Err(stop),
    }
}

fn find(call: &Call, incoming: &Incoming, id: &str) -> Result<Option<SettlementRule>, Stop> {
    let master = Holder::Wallet(incoming.record.wallet_id.clone());
    for holder in [&incoming.record.holder, &master] {
        let known = settlements::settlement(call, holder)?;
        if let Some(rule) = known.and_then(|known| known.rules.into_iter().find(|rule| rule.id == id)) {
            return Ok(Some(rule));
        }
    }
    Ok(None)
}

fn fail(call: &Call, stored: &Transaction, rule: &SettlementRule, money: Money) -> TaskOutcome {
    let failing = match rule.action(money) {
        Action::Withdraw { .. } => (Failing::Withdraw, crate::rules::code::Code::WithdrawalFailed),
        Action::Swap { .. } | Action::GatewayDeposit => (Failing::Swap, crate::rules::code::Code::SwapFailed),
    };
    let event = Event::failed(failing.0, &stored.body.wallet, failing.1);
    carry::tell(call, stored, &[event])?;
    Ok(Verdict::Done)
}

/// Whether there was enough for it.
fn carry_out(
    call: &Call,
    rule: &SettlementRule,
    sender: &Sender,
    (money, deposit): (Money, &str),
) -> Result<bool, Stop> {
    let (who, key) = ((sender.wallet.as_str(), &sender.holder), (sender.index, sender.account.as_str()));
    let gas = sender.gas.clone();
    match rule.action(money) {
        Action::Withdraw { address } => {
            check_target(call, money.asset, address)?;
            let mut way = sending::way(call, key, money, address)?;
            way.unscreened = true;
            let order = Order {
                id: call.uuid(),
                wallet_id: sender.wallet.clone(),
                from: sender.holder.clone(),
                task: Outgoing::Withdraw { money, destination_address: address.to_owned() },
                gas: Some(gas),
            };
            start(call, (rule, deposit), order, way, None)
        }
        Action::Swap { to, address } => {
            let is_own = to.blockchain == money.asset.blockchain && address == sender.account;
            if let Some(there) = to.blockchain.filter(|_| !is_own) {
                check_target(call, to, address)?;
                // The lists may have changed since the rule was made.
                providers::check(call, "destination.address", (there, address))?;
            }
            let wanted = Wanted {
                money,
                to,
                holder: is_own.then(|| sender.holder.clone()),
                recipient: address.to_owned(),
                order: rule.order,
                slippage: rule.slippage,
                is_settlement: true,
            };
            let (promise, _) = choose(call, &wanted)?;
            let (order, way, body) = prepare(call.uuid(), who, key, (&wanted, &promise, gas))?;
            start(call, (rule, deposit), order, way, Some((Kind::Swap, body)))
        }
        Action::GatewayDeposit => {
            let (order, way, body) = prepare_deposit(call.uuid(), who, key, money, gas)?;
            start(call, (rule, deposit), order, way, Some((Kind::GatewayDeposit, body)))
        }
    }
}

/// The contract may have become known after the rule.
fn check_target(call: &Call, asset: Asset, address: &str) -> Result<(), Stop> {
    let blockchain = blockchain_of(asset)?;
    sending::check_target(call, &Target::new("destination.address", blockchain, Some(asset), address))
}

fn start(
    call: &Call,
    (rule, deposit): (&SettlementRule, &str),
    order: Order,
    way: Way,
    provider: Option<(Kind, String)>,
) -> Result<bool, Stop> {
    let step = accept(order);
    if carry::book(call, &step.postings)? != carry::Booked::Done {
        return Ok(false);
    }
    let mut out = Out::new(call, step.record, way);
    out.way.rule = Some(rule.id.clone());
    out.way.follow = Follow::Settlement(deposit.to_owned());
    if let Some((kind, body)) = provider {
        providing::order(call, &mut out, kind, body);
    }
    carry::accept(call, &mut out, call.now())?;
    following::settles(call, &out)?;
    Ok(true)
}
