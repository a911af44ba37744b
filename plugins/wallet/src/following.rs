//! What follows when a transaction has ended, or a deposit is final: sweeps, coins for gas that others wait for.
//!
//! Rules of auto-settlement come before the sweep: `settlements` says which there are.

use tenon_plugin::{Call, Stop, json};

use crate::carry;
use crate::records::outgoing::{self, Follow, Out};
use crate::records::settlements as records;
use crate::records::sweeps::{self, Lot};
use crate::records::transactions::{self, Incoming, Transaction};
use crate::records::{addresses, wallets};
use crate::rules::amount::Units;
use crate::rules::arrival::{self, Next, Told};
use crate::rules::books::Holder;
use crate::rules::code::Code;
use crate::rules::outgoing::{Command, Task, take_gas};
use crate::rules::settlement::Settlement;
use crate::rules::status::Status;
use crate::rules::sweep::Sweep;
use crate::tasks::settling;

/// Deposits of one sweep that are told of in one run.
pub const DEPOSITS_MAX: u32 = 500;

/// A deposit is final.
pub fn arrived(call: &Call, incoming: &Incoming) -> Result<(), Stop> {
    let deposit = &incoming.record;
    let Some(wallet) = wallets::load(call, &deposit.wallet_id)? else { return Ok(()) };
    let address = match deposit.holder.address_id() {
        Some(id) => addresses::load(call, id)?,
        None => None,
    };
    // Nothing leaves it: neither a rule nor a sweep takes anything.
    if address.as_ref().is_some_and(|address| !address.body.is_active) {
        return Ok(());
    }
    let address_settings = address.as_ref().map(|address| address.body.settings()).unwrap_or_default();
    let (wallet_rules, address_rules) = settlements(call, &wallet.id, deposit.holder.address_id())?;
    let balance = carry::available(call, &deposit.holder, deposit.sighting.money.asset);
    let told = Told {
        wallet: &wallet.body.settings(),
        address: &address_settings,
        wallet_rules: &wallet_rules,
        address_rules: address_rules.as_ref(),
    };
    match arrival::after(deposit, told, balance) {
        Next::Sweep(_) => schedule(call, incoming),
        Next::Settle(rule) => settling::begin(call, &deposit.id, &rule.id),
        Next::Rest => Ok(()),
    }
}

/// The rules of auto-settlement of a wallet and of an address under it.
fn settlements(call: &Call, wallet: &str, address: Option<&str>) -> Result<(Settlement, Option<Settlement>), Stop> {
    let nothing = || Settlement { is_active: false, rules: Vec::new() };
    let of_wallet = records::settlement(call, &Holder::Wallet(wallet.to_owned()))?;
    let of_address = match address {
        Some(id) => records::settlement(call, &Holder::Address(id.to_owned()))?,
        None => None,
    };
    Ok((of_wallet.unwrap_or_else(nothing), of_address))
}

fn schedule(call: &Call, incoming: &Incoming) -> Result<(), Stop> {
    match incoming.lot() {
        Some(lot) => schedule_sweep(call, &lot),
        None => Ok(()),
    }
}

pub fn schedule_sweep(call: &Call, lot: &Lot) -> Result<(), Stop> {
    call.tasks().schedule("sweep", &lot.key(), call.now(), &json::to_text(lot)?);
    Ok(())
}

/// An outgoing transaction has come to its end, or to where somebody has to do something.
pub fn ended(call: &Call, out: &Out) -> Result<(), Stop> {
    match (&out.way.follow, &out.record.task) {
        (Follow::Nothing, _) => Ok(()),
        (Follow::Transaction(id), _) => coins_came(call, out, id),
        (Follow::Settlement(deposit), _) => settled(call, out, deposit),
        (Follow::Sweep(lot), Task::Fund { .. }) => coins_for_sweep(call, out, lot),
        (Follow::Sweep(lot), _) => swept(call, out, lot),
    }
}

/// The transaction that waited for coins holds its gas itself now, and goes on; without them it has failed.
fn coins_came(call: &Call, fund: &Out, id: &str) -> Result<(), Stop> {
    let Some(mut out) = outgoing::load(call, id)? else { return Ok(()) };
    let Some(held) = out.way.promised.take() else { return Ok(()) };
    if fund.record.status != Status::Success {
        let command = Command::Fail { code: Code::InsufficientGas, gas: Units::ZERO };
        return carry::ignore_refusal(carry::command(call, &mut out, command));
    }
    let step = take_gas(out.record.clone(), held);
    carry::take(call, &mut out, step)?;
    call.tasks().schedule("process", id, call.now(), "{}");
    Ok(())
}

fn coins_for_sweep(call: &Call, fund: &Out, lot: &Lot) -> Result<(), Stop> {
    sweeps::end(call, lot)?;
    if fund.record.status == Status::Success {
        return schedule_sweep(call, lot);
    }
    refuse_sweep(call, lot, &fund.record.id)
}

/// A sweep that cannot begin.
pub fn refuse_sweep(call: &Call, lot: &Lot, by: &str) -> Result<(), Stop> {
    for stored in transactions::sweepable(call, lot, DEPOSITS_MAX)? {
        let Some(mut incoming) = stored.incoming() else { continue };
        if let Some((sweep, event)) = incoming.sweep.refuse(by, &incoming.record) {
            let told = carry::tell(call, &stored, &[event])?;
            incoming.about.events.extend(told);
            change(call, &stored, &mut incoming, sweep)?;
        }
    }
    Ok(())
}

/// Everything that the sweep has taken along follows it.
fn swept(call: &Call, sweep: &Out, lot: &Lot) -> Result<(), Stop> {
    for stored in transactions::swept_by(call, &sweep.record.id, DEPOSITS_MAX)? {
        let Some(mut incoming) = stored.incoming() else { continue };
        let state = incoming.sweep.follow(&sweep.record);
        if state != incoming.sweep {
            change(call, &stored, &mut incoming, state)?;
        }
    }
    // What cannot be decided stays where it is: nobody may sweep the same money again.
    if sweep.record.status == Status::Incomplete {
        return Ok(());
    }
    sweeps::end(call, lot)?;
    let is_more = transactions::sweepable(call, lot, 1)?.iter().any(|stored| stored.incoming().is_some_and(rests));
    if is_more && sweep.record.status == Status::Success { schedule_sweep(call, lot) } else { Ok(()) }
}

/// Who settles a deposit has its money, be it that a retry does.
pub fn settles(call: &Call, out: &Out) -> Result<(), Stop> {
    let Follow::Settlement(deposit) = &out.way.follow else { return Ok(()) };
    change_sweep(call, deposit, |sweep| sweep.settle(&out.record.id))
}

/// What has failed leaves it where it was.
fn settled(call: &Call, out: &Out, deposit: &str) -> Result<(), Stop> {
    change_sweep(call, deposit, |sweep| sweep.settled(&out.record))
}

fn change_sweep(call: &Call, deposit: &str, step: impl FnOnce(&Sweep) -> Sweep) -> Result<(), Stop> {
    let Some(stored) = transactions::load(call, deposit)? else { return Ok(()) };
    let Some(mut incoming) = stored.incoming() else { return Ok(()) };
    let sweep = step(&incoming.sweep);
    if sweep != incoming.sweep {
        change(call, &stored, &mut incoming, sweep)?;
    }
    Ok(())
}

fn rests(incoming: Incoming) -> bool {
    incoming.sweep == Sweep::Resting
}

pub fn change(call: &Call, stored: &Transaction, incoming: &mut Incoming, sweep: Sweep) -> Result<Transaction, Stop> {
    incoming.sweep = sweep;
    carry::store_deposit(call, incoming, Some(stored))
}
