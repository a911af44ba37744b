//! What another company moves for us: asked for once by an id of ours, paid once, followed to its end.
//!
//! Invariants: nothing is sent to a provider that has not said where, or has said something else than was agreed; whatever it
//! has not answered is read by its id before anything is given up; what comes back, or comes as agreed, is booked by the
//! transaction that it belongs to and is no deposit.

use tenon_plugin::effects::{Effect, OutgoingCall};
use tenon_plugin::tasks::{Outcome, TaskOutcome, Verdict};
use tenon_plugin::{Call, Level, Stop};

use crate::delivered::Place;
use crate::providers::client::{self, Reply};
use crate::providers::orders::{self, Movement, Order};
use crate::records::outgoing::{self, Out, Transfer};
use crate::records::provided::{self, Kind, Provided};
use crate::rules::address;
use crate::rules::amount::{Money, Units};
use crate::rules::asset::Asset;
use crate::rules::books::Holder;
use crate::rules::delivery;
use crate::rules::outgoing::{Command, Destination, Settled, Task};
use crate::rules::status::Status;
use crate::sending::{self, Target};
use crate::{carry, delivered};

/// Between attempts to order.
const PAUSES_MS: [u32; 4] = [5_000, 30_000, 120_000, 600_000];
/// Longest attempt of the host to order something.
const ATTEMPT_MAX_MS: u64 = 120_000;
/// Between two looks at an order that is under way: longer each time, up to the last.
const POLLS_MS: [u64; 6] = [2_000, 5_000, 15_000, 60_000, 300_000, 900_000];
/// After this long somebody has to look at it.
const AGE_MAX_MS: u64 = 3 * 86_400_000;

/// Takes up what a provider moves; `None`: there is something to sign, as with every other transaction.
pub fn process(call: &Call, out: &mut Out) -> Result<Option<Verdict>, Stop> {
    let Some(provider) = out.way.provider.clone() else { return Ok(None) };
    if provider.is_taken && out.way.transfer.is_some() && !provider.has_left {
        return Ok(None);
    }
    if out.record.status == Status::Pending {
        carry::command(call, out, Command::Start)?;
    }
    if provider.is_taken {
        poll_at(call, &out.record.id, call.now(), 0);
        return Ok(Some(Verdict::Done));
    }
    // Nothing of ours is signed for it: it is known by what it was asked with.
    if provider.kind == Kind::GatewayWithdrawal && out.record.hash.is_none() {
        carry::command(call, out, Command::Sign { hash: provider.id.clone() })?;
    }
    let asked = OutgoingCall::new(orders::destination(provider.kind), "POST", orders::path(provider.kind));
    let effect = Effect::new(asked.json(provider.order), "ordered", &out.record.id, "{}".to_owned());
    call.effects().start(&effect.delays_ms(&PAUSES_MS));
    Ok(Some(Verdict::Done))
}

/// What the provider said to the order.
pub fn ordered(call: &Call, out: &mut Out, outcome: Option<&Outcome>) -> TaskOutcome {
    let reply = match outcome {
        Some(Outcome::Answered(response)) => client::read(response),
        // No attempt was made.
        Some(Outcome::NotSent(_)) => return fail(call, out, Units::ZERO).map(|()| Verdict::Done),
        _ => Reply::Silent,
    };
    match reply {
        Reply::Good(text) => match Order::read(&text) {
            Some(order) => apply(call, out, &order, 0)?,
            None => poll_at(call, &out.record.id, call.now(), 0),
        },
        Reply::Refused { status: 409, code } if code == "CONFLICT" => {
            call.log(Level::Warn, "a provider knows an id with another content", &[("id", &out.record.id)]);
            carry::command(call, out, Command::Suspend)?;
        }
        Reply::Refused { code, .. } => {
            set(out, |provider| provider.reason = Some(code));
            fail(call, out, Units::ZERO)?;
        }
        // Taken or not: it is read by its id.
        Reply::Silent => {
            set(out, |provider| provider.asked_ms = Some(call.now()));
            outgoing::save(call, out)?;
            poll_at(call, &out.record.id, call.now(), 0);
        }
    }
    Ok(Verdict::Done)
}

/// Reads it by its id.
pub fn poll(call: &Call, out: &mut Out, looks: usize) -> TaskOutcome {
    let Some(provider) = out.way.provider.clone() else { return Ok(Verdict::Done) };
    let order = match client::ask(call, orders::destination(provider.kind), &order_path(&provider), None)? {
        Reply::Good(text) => Order::read(&text),
        // It never took it, and never will: nobody asks it again.
        Reply::Refused { status: 404, .. } if !provider.is_taken && !may_come(call, &provider) => {
            return fail(call, out, Units::ZERO).map(|()| Verdict::Done);
        }
        Reply::Refused { .. } | Reply::Silent => None,
    };
    match order {
        Some(order) => apply(call, out, &order, looks)?,
        None => go_on(call, out, looks)?,
    }
    Ok(Verdict::Done)
}

/// Whether it may still be on its way to who mints as soon as it is there. Everybody else waits for our coins.
fn may_come(call: &Call, provider: &Provided) -> bool {
    let is_over = provider.asked_ms.is_some_and(|at| call.now().saturating_sub(at) >= ATTEMPT_MAX_MS);
    provider.kind == Kind::GatewayWithdrawal && !is_over
}

/// Where it is read by its id.
pub fn order_path(provider: &Provided) -> String {
    [orders::path(provider.kind), "/", &provider.id].concat()
}

pub fn poll_at(call: &Call, id: &str, at_ms: u64, looks: usize) {
    call.tasks().schedule("poll", id, at_ms, &looks.to_string());
}

/// Our coins are final: the provider goes on. Whether there is one.
pub fn left(call: &Call, out: &mut Out) -> Result<bool, Stop> {
    if out.way.provider.is_none() {
        return Ok(false);
    }
    if out.record.status == Status::Processing {
        note_left(out);
        outgoing::save(call, out)?;
        poll_at(call, &out.record.id, call.now(), 0);
    }
    Ok(true)
}

/// Our coins are final where the provider wanted them.
pub fn note_left(out: &mut Out) {
    set(out, |provider| provider.has_left = true);
}

/// What a state of the order changes.
fn apply(call: &Call, out: &mut Out, order: &Order, looks: usize) -> Result<(), Stop> {
    let Some(provider) = out.way.provider.clone() else { return Ok(()) };
    note(out, order);
    if !provider.is_taken && !take(call, out, order)? {
        return Ok(());
    }
    match order.status.as_str() {
        "success" => succeed(call, out, order, looks),
        "failed" => refuse(call, out, order, looks),
        _ => go_on(call, out, looks),
    }
}

fn set(out: &mut Out, change: impl FnOnce(&mut Provided)) {
    if let Some(provider) = &mut out.way.provider {
        change(provider);
    }
}

/// What a provider says of it.
pub fn note(out: &mut Out, order: &Order) {
    set(out, |provider| {
        provider.status = Some(order.status.chars().take(32).collect());
        provider.reason.clone_from(&order.reason);
        let delivered = order.delivery.as_ref().map(|it| it.amount.chars().take(64).collect());
        provider.received = delivered.or(provider.received.take());
        provider.delivery_hash = order.delivery_hash().map(str::to_owned).or(provider.delivery_hash.take());
        provider.refund_hash = order.refund_hash().map(str::to_owned).or(provider.refund_hash.take());
    });
}

/// The provider has it, and says where our coins are to go: they are sent if that is what was agreed.
fn take(call: &Call, out: &mut Out, order: &Order) -> Result<bool, Stop> {
    set(out, |provider| provider.is_taken = true);
    if out.way.provider.as_ref().is_some_and(|provider| provider.kind == Kind::GatewayWithdrawal) {
        return Ok(true);
    }
    let (Some(money), Some(deposit)) = (out.record.task.money(), &order.deposit) else {
        return disagree(call, out).map(|()| false);
    };
    let blockchain = out.way.blockchain;
    let is_agreed = deposit.blockchain == blockchain.slug()
        && deposit.asset == money.asset.symbol
        && Units::parse(&deposit.amount, money.asset.decimals) == Ok(money.units);
    let recipient = address::read(blockchain, &deposit.address).ok().filter(|_| is_agreed);
    let Some(recipient) = recipient else { return disagree(call, out).map(|()| false) };
    match sending::check_target(call, &Target::new("deposit.address", blockchain, Some(money.asset), &recipient)) {
        Err(Stop::Refusal(_)) => return disagree(call, out).map(|()| false),
        checked => checked?,
    }
    let transfer = Transfer { recipient, token: sending::token(call, money.asset)?, units: money.units };
    out.about.recipient = Some(transfer.recipient.clone());
    out.about.token.clone_from(&transfer.token);
    out.way.transfer = Some(transfer);
    if order.status == "awaiting_deposit" {
        call.tasks().schedule("process", &out.record.id, call.now(), "{}");
        outgoing::save(call, out)?;
        return Ok(false);
    }
    Ok(true)
}

/// Nothing is sent.
fn disagree(call: &Call, out: &mut Out) -> Result<(), Stop> {
    call.log(Level::Warn, "a provider wants other coins than were agreed", &[("id", &out.record.id)]);
    fail(call, out, Units::ZERO)
}

/// It is settled when what we sent is final here as well: only then the gas is known.
fn succeed(call: &Call, out: &mut Out, order: &Order, looks: usize) -> Result<(), Stop> {
    let is_ours = out.way.provider.as_ref().is_some_and(|provider| provider.kind != Kind::GatewayWithdrawal);
    if is_ours && !out.way.provider.as_ref().is_some_and(|provider| provider.has_left) {
        return go_on(call, out, looks);
    }
    let (received, is_credited) = match filled(out) {
        None => (to_of(out).and_then(|to| said(order.delivery.as_ref(), to.asset)), false),
        Some((holder, asset)) => match find(call, out, (&holder, asset), order.delivery_hash())? {
            None => return go_on(call, out, looks),
            Some(None) => {
                return suspend(call, out, "what a provider has delivered is not to be found, or is another's");
            }
            Some(Some(delivery::Movement { position, units, is_credited })) => {
                let received = units.to_decimal(asset.decimals);
                set(out, |provider| (provider.received, provider.took) = (Some(received), Some(position)));
                (Some(units), is_credited)
            }
        },
    };
    if let Task::GatewayWithdraw { units, .. } = &out.record.task
        && received != Some(*units)
    {
        return suspend(call, out, "a gateway has minted another amount");
    }
    let gas = gas(out);
    carry::command(call, out, Command::Settle(Settled { hash: None, gas, received, is_credited }))
}

/// What is bought, or minted.
fn to_of(out: &Out) -> Option<&Destination> {
    match &out.record.task {
        Task::Swap { to, .. } | Task::GatewayWithdraw { to, .. } => Some(to),
        _ => None,
    }
}

/// The balance of ours that it fills, and with what.
pub fn filled(out: &Out) -> Option<(Holder, Asset)> {
    Some((out.record.fills()?.clone(), to_of(out)?.asset))
}

fn said(movement: Option<&Movement>, asset: Asset) -> Option<Units> {
    Units::parse(&movement?.amount, asset.decimals).ok()
}

/// It has failed for good: nothing ever left, or all of it came back.
fn refuse(call: &Call, out: &mut Out, order: &Order, looks: usize) -> Result<(), Stop> {
    let Some(provider) = out.way.provider.clone() else { return Ok(()) };
    if provider.kind == Kind::GatewayWithdrawal || out.record.hash.is_none() {
        return fail(call, out, Units::ZERO);
    }
    let (Some(refund), Some(money)) = (&order.refund, out.record.task.money()) else {
        // What we sent may still arrive there, and is then sent back.
        return go_on(call, out, looks);
    };
    if !provider.has_left {
        return go_on(call, out, looks);
    }
    let holder = out.record.from.clone();
    let Some(movement) = find(call, out, (&holder, money.asset), order.refund_hash())? else {
        return go_on(call, out, looks);
    };
    let is_all = said(Some(refund), money.asset) == Some(money.units);
    let Some(movement) = movement.filter(|movement| is_all && movement.units == money.units) else {
        return suspend(call, out, "a provider has sent back another amount, or it is another's");
    };
    set(out, |provider| provider.took = Some(movement.position));
    let gas = gas(out);
    if movement.is_credited {
        let code = out.record.task.failure();
        return carry::command(call, out, Command::Return { code, gas });
    }
    fail(call, out, gas)
}

/// `Ok(None)`: it is not final, or nobody has said which transaction it is.
fn find(
    call: &Call,
    out: &Out,
    (holder, asset): (&Holder, Asset),
    hash: Option<&str>,
) -> Result<Option<Option<delivery::Movement>>, Stop> {
    match hash {
        Some(hash) => delivered::find(call, out, Place { holder, asset, hash }),
        None => Ok(None),
    }
}

fn gas(out: &Out) -> Units {
    out.about.fee.as_deref().and_then(Units::of_base).unwrap_or_default()
}

fn fail(call: &Call, out: &mut Out, gas: Units) -> Result<(), Stop> {
    let code = out.record.task.failure();
    carry::ignore_refusal(carry::command(call, out, Command::Fail { code, gas }))
}

fn suspend(call: &Call, out: &mut Out, why: &str) -> Result<(), Stop> {
    call.log(Level::Warn, why, &[("id", &out.record.id)]);
    carry::command(call, out, Command::Suspend)
}

fn go_on(call: &Call, out: &mut Out, looks: usize) -> Result<(), Stop> {
    let began_ms = out.way.provider.as_ref().map_or(0, |provider| provider.began_ms);
    if call.now().saturating_sub(began_ms) > AGE_MAX_MS {
        return suspend(call, out, "a provider has not finished");
    }
    outgoing::save(call, out)?;
    let pause = POLLS_MS.get(looks).or(POLLS_MS.last()).copied().unwrap_or(AGE_MAX_MS);
    poll_at(call, &out.record.id, call.now().saturating_add(pause), looks.saturating_add(1));
    Ok(())
}

/// A new order for what is to be moved.
pub fn order(call: &Call, out: &mut Out, kind: Kind, order: String) {
    let mut provider = Provided::new(kind, out.record.id.clone(), order, call.now());
    provider.delivers = filled(out).map(|(holder, asset)| provided::delivery_place(&holder, asset));
    provider.refunds = out
        .record
        .task
        .money()
        .filter(|_| kind != Kind::GatewayWithdrawal)
        .map(|money: Money| provided::refund_place(&out.record.from, money));
    // Where our coins are to go, the provider says.
    out.way.transfer = None;
    out.way.provider = Some(provider);
}

/// A failed one once more is another order, with what it expects: the provider is done with the first. A swap asks for
/// another quote instead.
pub fn renew(call: &Call, out: &mut Out) {
    let Some(Provided { kind, id, order: body, .. }) = out.way.provider.take() else { return };
    let body = body.replace(&id, &out.record.id);
    order(call, out, kind, body);
}

/// An incomplete one goes on with the same order, and has its time again.
pub fn resume(call: &Call, out: &mut Out) {
    set(out, |provider| (provider.began_ms, provider.asked_ms) = (call.now(), None));
}
