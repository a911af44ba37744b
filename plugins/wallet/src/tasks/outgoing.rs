//! The way of an outgoing transaction: taken up, signed, sent, settled.

use serde::Deserialize;
use tenon_plugin::tasks::{FiredTask, Outcome, TaskOutcome, Verdict};
use tenon_plugin::{Call, Level, Stop, Task, task};

use crate::records::lanes::{self, Returned};
use crate::records::outgoing::{self, Follow, Out, Transfer, Way};
use crate::records::wallets;
use crate::rules::amount::{Money, Units};
use crate::rules::asset;
use crate::rules::books::Holder;
use crate::rules::code::Code;
use crate::rules::limits::BROADCAST_PAUSE_MS;
use crate::rules::outgoing::{Command, Gas, Order, Settled, Task as Outgoing, accept, give_gas_back, take_gas};
use crate::rules::screening;
use crate::rules::status::Status;
use crate::{carry, providers, providing, retrying, salvaging, sending};

pub const TASKS: &[Task] = &[task("process", process), task("sent", sent), task("settled", settled)];

/// Until a blockchain that does not answer is asked again.
const PAUSE_MS: u64 = 10_000;

/// Takes it up: gas first where the master wallet pays it, then the signature. What is signed already is sent again.
fn process(call: &Call, task: &FiredTask) -> TaskOutcome {
    let Some(mut out) = outgoing::load(call, &task.key)? else { return Ok(Verdict::Done) };
    if !matches!(out.record.status, Status::Pending | Status::Processing) || out.way.promised.is_some() {
        return Ok(Verdict::Done);
    }
    match salvaging::is_booked_since(call, &out) {
        Ok(false) => {}
        Ok(true) => {
            if out.record.status == Status::Pending {
                carry::command(call, &mut out, Command::Start)?;
            }
            return fail(call, &mut out).map(|()| Verdict::Done);
        }
        Err(Stop::Refusal(_)) => return Ok(Verdict::Later(call.now().saturating_add(PAUSE_MS))),
        Err(stop) => return Err(stop),
    }
    if let Some(verdict) = providing::process(call, &mut out)? {
        return Ok(verdict);
    }
    let needs_signature = out.way.raw.is_none() && out.way.transfer.is_some();
    let terms = match needs_signature {
        false => None,
        true => match sending::terms(call, out.way.blockchain)? {
            Ok(terms) => Some(terms),
            Err(_) => return Ok(Verdict::Later(call.now().saturating_add(PAUSE_MS))),
        },
    };
    let verdict = match screen(call, &out) {
        Err(Stop::Refusal(_)) => return Ok(Verdict::Later(call.now().saturating_add(PAUSE_MS))),
        verdict => verdict?,
    };
    if out.record.status == Status::Pending {
        carry::command(call, &mut out, Command::Start)?;
    }
    if verdict.is_some_and(|verdict| verdict.is_sanctioned) {
        return fail(call, &mut out).map(|()| Verdict::Done);
    }
    out.way.unscreened = false;
    if let Some(hash) = out.way.hash.clone().filter(|_| out.record.hash.is_none()) {
        carry::command(call, &mut out, Command::Sign { hash })?;
    }
    let Some(terms) = terms else {
        // Whatever somebody else moves is not sent from here.
        return if out.way.raw.is_some() {
            sending::send(call, &out).map(|()| Verdict::Done)
        } else {
            Ok(Verdict::Done)
        };
    };
    let coin_fee = sending::gas_of(&terms, out.way.blockchain, false)?;
    if is_promised(&out) && !fund(call, &mut out, coin_fee)? {
        return Ok(Verdict::Done);
    }
    let signed = match sending::sign(call, &mut out, &terms) {
        // The terms were known, the number of the lane has to be asked for.
        Err(Stop::Refusal(_)) => return Ok(Verdict::Later(call.now().saturating_add(PAUSE_MS))),
        signed => signed?,
    };
    match signed {
        Ok(()) => sending::send(call, &out)?,
        Err(why) => {
            call.log(Level::Warn, "a transaction cannot be signed", &[("why", &why)]);
            fail(call, &mut out)?;
        }
    }
    Ok(Verdict::Done)
}

/// What was accepted without a look at the sanctions lists.
fn screen(call: &Call, out: &Out) -> Result<Option<screening::Verdict>, Stop> {
    match &out.way.transfer {
        Some(transfer) if out.way.unscreened => providers::screen(call, out.way.blockchain, &transfer.recipient),
        _ => Ok(None),
    }
}

/// Whether somebody else pays the gas of who moves.
fn is_promised(out: &Out) -> bool {
    out.record.gas.as_ref().is_some_and(|gas| gas.payer != out.record.from)
}

/// The coins for gas go from the master wallet to the address. Whether it has them already.
fn fund(call: &Call, out: &mut Out, fee: Money) -> Result<bool, Stop> {
    let Some(Gas { held, payer }) = out.record.gas.clone() else { return Ok(true) };
    let Holder::Wallet(master) = payer else { return Err(Stop::fault("an address pays for another")) };
    carry::take(call, out, give_gas_back(out.record.clone()))?;
    if carry::available(call, &out.record.from, held.asset) >= held.units {
        carry::take(call, out, take_gas(out.record.clone(), held))?;
        return Ok(true);
    }
    // All of it: what the address has now may be spent by another transaction until the coins come.
    let recipient = (out.record.from.clone(), out.way.sender.clone());
    match send_coins(call, &master, recipient, (held, fee), Follow::Transaction(out.record.id.clone()))? {
        Some(_) => {
            out.way.promised = Some(held);
            outgoing::save(call, out)?;
        }
        None => {
            let command = Command::Fail { code: Code::InsufficientGas, gas: Units::ZERO };
            carry::command(call, out, command)?;
        }
    }
    Ok(false)
}

/// Coins for gas from a master wallet to an address; `None` where it has too little.
pub fn send_coins(
    call: &Call,
    master: &str,
    (holder, recipient): (Holder, String),
    (money, fee): (Money, Money),
    follow: Follow,
) -> Result<Option<String>, Stop> {
    let Some(wallet) = wallets::load(call, master)? else { return Ok(None) };
    let order = Order {
        id: call.uuid(),
        wallet_id: wallet.id.clone(),
        from: wallet.holder(),
        task: Outgoing::Fund { money, address: holder },
        gas: Some(Gas { payer: wallet.holder(), held: fee }),
    };
    let key = (wallet.body.index, wallet.body.address.as_str());
    let mut way = sending::way(call, key, money, &recipient)?;
    way.follow = follow;
    start(call, order, way)
}

/// A transaction that nobody has asked for: begun at once, or `None` where its sender has too little.
pub fn start(call: &Call, order: Order, way: Way) -> Result<Option<String>, Stop> {
    let step = accept(order);
    if carry::book(call, &step.postings)? != carry::Booked::Done {
        return Ok(None);
    }
    let mut out = Out::new(call, step.record, way);
    carry::accept(call, &mut out, call.now())?;
    Ok(Some(out.record.id))
}

/// How a node took it.
fn sent(call: &Call, task: &FiredTask) -> TaskOutcome {
    let Some(mut out) = outgoing::load(call, &task.key)? else { return Ok(Verdict::Done) };
    if out.record.status != Status::Processing {
        return Ok(Verdict::Done);
    }
    match &task.outcome {
        Some(Outcome::Answered(response)) if response.status == 200 => {
            sending::taken(call, &out)?;
            Ok(Verdict::Done)
        }
        Some(Outcome::Answered(response)) if response.status == 422 => not_sent(call, &mut out),
        Some(Outcome::NotSent(_)) => not_sent(call, &mut out),
        _ => unknown(call, &mut out),
    }
}

/// It is certain that no blockchain will ever have it.
fn not_sent(call: &Call, out: &mut Out) -> TaskOutcome {
    let (blockchain, sender) = (out.way.blockchain, out.way.sender.clone());
    let Ok(seen) = call.chains().sequence(blockchain.slug(), &sender)? else {
        return Ok(Verdict::Later(call.now().saturating_add(PAUSE_MS)));
    };
    if let Some(hash) = &out.record.hash {
        call.chains().unfollow(blockchain.slug(), hash);
    }
    let terms = match sending::terms(call, blockchain)? {
        Ok(terms) => terms,
        Err(_) => return Ok(Verdict::Later(call.now().saturating_add(PAUSE_MS))),
    };
    fail(call, out)?;
    match out.way.sequence.filter(|number| *number >= seen) {
        // Its number is its client's, or somebody else has sent with this key.
        None => lanes::skip_to(call, blockchain, &sender, seen)?,
        Some(number) => {
            if lanes::give_back(call, blockchain, &sender, number)? == Returned::Gap {
                fill(call, out, sending::gas_of(&terms, blockchain, false)?)?;
            }
        }
    }
    Ok(Verdict::Done)
}

/// Those that come later would wait for ever: nothing is sent to oneself, with the number that is missing.
fn fill(call: &Call, out: &Out, fee: Money) -> Result<(), Stop> {
    let Way { blockchain, index, sender, .. } = &out.way;
    let nothing = Money::new(asset::gas(*blockchain), Units::ZERO);
    let order = Order {
        id: call.uuid(),
        wallet_id: out.record.wallet_id.clone(),
        from: out.record.from.clone(),
        task: Outgoing::Fund { money: nothing, address: out.record.from.clone() },
        gas: Some(Gas { payer: out.record.from.clone(), held: fee }),
    };
    let transfer = Transfer { recipient: sender.clone(), token: None, units: Units::ZERO };
    let way = Way::new(*blockchain, (*index, sender), Some(transfer));
    if start(call, order, way)?.is_none() {
        call.log(Level::Warn, "a lane has a gap, and its sender has no gas to fill it", &[("sender", sender)]);
    }
    Ok(())
}

/// A node may have it or not, and nobody has said so to the end.
fn unknown(call: &Call, out: &mut Out) -> TaskOutcome {
    let Some(hash) = out.record.hash.clone() else { return Ok(Verdict::Done) };
    match call.chains().transaction(out.way.blockchain.slug(), &hash)? {
        // What becomes of it is told.
        Ok(Some(_)) => {}
        Ok(None) => match out.record.task {
            // It is told as failed, so nothing may send it any more.
            Outgoing::Broadcast { .. } => {
                call.chains().unfollow(out.way.blockchain.slug(), &hash);
                fail(call, out)?;
            }
            // Nobody sees it in a list and could go on from it. It is given to a node again until one takes it, or says that it never will.
            Outgoing::Sweep { .. } | Outgoing::Fund { .. } => {
                let at_ms = call.now().saturating_add(BROADCAST_PAUSE_MS);
                call.tasks().schedule("process", &out.record.id, at_ms, "{}");
            }
            _ => carry::command(call, out, Command::Suspend)?,
        },
        Err(_) => return Ok(Verdict::Later(call.now().saturating_add(PAUSE_MS))),
    }
    Ok(Verdict::Done)
}

fn fail(call: &Call, out: &mut Out) -> Result<(), Stop> {
    let code = out.record.task.failure();
    carry::command(call, out, Command::Fail { code, gas: Units::ZERO })
}

/// Nobody knew of it, and now somebody does: what goes on from it sends the same bytes, and hears the same.
fn turned_up(call: &Call, out: &mut Out, ended: &Ended) -> TaskOutcome {
    if ended.state == "done" {
        providing::note_left(out);
    }
    if out.record.continued_by.is_none() {
        retrying::go_on(call, out)?;
    }
    Ok(Verdict::Done)
}

#[derive(Deserialize)]
struct Ended {
    state: String,
    block: Option<u64>,
    #[serde(default)]
    confirmations: u32,
    #[serde(default)]
    fee: String,
}

/// What became of it on the blockchain: "done", "failed", or "dropped" where no node will ever take it.
fn settled(call: &Call, task: &FiredTask) -> TaskOutcome {
    let ended: Ended = call.json()?;
    let Some(mut out) = outgoing::load(call, &task.key)? else { return Ok(Verdict::Done) };
    if ended.state == "dropped" && out.record.status != Status::Incomplete {
        let is_open = out.record.status == Status::Processing;
        return if is_open { not_sent(call, &mut out) } else { Ok(Verdict::Done) };
    }
    let gas = Units::of_base(&ended.fee).unwrap_or_default();
    out.about.block = ended.block;
    out.about.confirmations = ended.confirmations;
    out.about.fee = Some(gas.to_digits());
    if out.record.status == Status::Incomplete {
        return turned_up(call, &mut out, &ended);
    }
    if ended.state == "done" && providing::left(call, &mut out)? {
        return Ok(Verdict::Done);
    }
    let command = match ended.state.as_str() {
        "done" => Command::Settle(Settled { hash: out.record.hash.clone(), gas, received: None, is_credited: false }),
        _ => Command::Fail { code: out.record.task.failure(), gas },
    };
    carry::ignore_refusal(carry::command(call, &mut out, command))?;
    if !matches!(out.record.task, Outgoing::Broadcast { .. }) {
        return Ok(Verdict::Done);
    }
    // Its number is its client's, and ours come after it.
    let (blockchain, sender) = (out.way.blockchain, out.way.sender.clone());
    match call.chains().sequence(blockchain.slug(), &sender)? {
        Ok(seen) => lanes::skip_to(call, blockchain, &sender, seen).map(|()| Verdict::Done),
        Err(_) => Ok(Verdict::Later(call.now().saturating_add(PAUSE_MS))),
    }
}
