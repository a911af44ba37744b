//! A new transaction that goes on from an old one: a failed one tried anew, an incomplete one with what may have left.
//!
//! Invariant: an old one is continued at most once, and what was held for it is held once.

use tenon_plugin::{Call, Stop};

use crate::api::swaps;
use crate::api::withdraw::{Sender, begin, reference_or_new};
use crate::records::outgoing::{self, Out};
use crate::records::transactions::{About, Transaction};
use crate::rules::outgoing::{Gas, Linked, Task, resume, retry};
use crate::rules::refusal::Refusal;
use crate::sending::{self, Target};
use crate::tasks::incoming::asset_of;
use crate::{carry, following, providers, providing, salvaging, words};

/// The same bytes, or the same order: nothing goes out twice.
pub fn go_on(call: &Call, old: &mut Out) -> Result<Transaction, Stop> {
    let linked = resume(old.record.clone(), call.uuid()).map_err(|refusal| words::refused(&refusal))?;
    let about = About { events: Vec::new(), history: Vec::new(), ..old.about.clone() };
    store(call, old, linked, |out| {
        // What has left is known, its gas among it.
        out.about = about;
        providing::resume(call, out);
        Ok(())
    })
}

/// With a hold, a number and a signature of its own; a swap with a quote of its own.
pub fn try_again(call: &Call, old: &mut Out, found: &Transaction) -> Result<Transaction, Stop> {
    // Refused where its address is switched off.
    let sender = Sender::of(call, found)?;
    // Its bytes are on the blockchain, where they have failed and will not do anything else.
    if matches!(old.record.task, Task::Broadcast { .. }) && old.about.block.is_some() {
        return Err(words::refused(&Refusal::NotPossible { status: old.record.status }));
    }
    // First what needs no answer of anybody.
    let id = call.uuid();
    retry(old.record.clone(), id.clone()).map_err(|refusal| words::refused(&refusal))?;
    check_again(call, old)?;
    let mut record = old.record.clone();
    // As a new one would: what the master wallet has sent for the first may be burnt.
    record.gas = gas(call, old, &sender)?.or(record.gas);
    let linked = retry(record, id).map_err(|refusal| words::refused(&refusal))?;
    let recipient = old.about.recipient.clone();
    store(call, old, linked, |out| {
        if out.way.transfer.is_some() {
            (out.way.raw, out.way.sequence) = (None, None);
        }
        // The lists are asked when it is taken up.
        out.way.unscreened = matches!(out.record.task, Task::Withdraw { .. } | Task::Salvage { .. });
        out.about.recipient = out.about.recipient.take().or(recipient);
        match out.record.task {
            Task::Swap { .. } => swaps::quote_again(call, out),
            _ => {
                providing::renew(call, out);
                Ok(())
            }
        }
    })
}

/// Contracts and lists may have changed since it was asked for, and somebody may have asked for the same.
fn check_again(call: &Call, old: &Out) -> Result<(), Stop> {
    let check = |blockchain, asset, address: &str| {
        sending::check_target(call, &Target::new("destination_address", blockchain, asset, address))
    };
    match &old.record.task {
        Task::Withdraw { money, destination_address } => {
            check(old.way.blockchain, Some(money.asset), destination_address)
        }
        Task::Swap { to, .. } | Task::GatewayWithdraw { to, .. } if to.holder.is_none() => {
            let wished = old.way.wish.as_ref().map(|wish| &wish.recipient);
            let (Some(there), Some(recipient)) = (to.asset.blockchain, wished.or(old.about.recipient.as_ref())) else {
                return Ok(());
            };
            check(there, Some(to.asset), recipient)?;
            providers::check(call, "destination_address", (there, recipient)).map(|_| ())
        }
        Task::Salvage { blockchain, .. } => {
            let (Some(place), Some(transfer)) = (salvaging::place_of(old), &old.way.transfer) else { return Ok(()) };
            let asset = asset_of(call, *blockchain, place.token.as_deref());
            check(*blockchain, asset, &transfer.recipient)?;
            place.check_alone(call)
        }
        _ => Ok(()),
    }
}

/// Of a transaction that is signed here. What a rule has begun is paid by the master wallet.
fn gas(call: &Call, old: &Out, sender: &Sender) -> Result<Option<Gas>, Stop> {
    let money = match old.record.task {
        Task::Withdraw { money, .. }
        | Task::Offramp { money, .. }
        | Task::Swap { money, .. }
        | Task::GatewayDeposit { money } => money,
        _ => return Ok(None),
    };
    let mut gas = sender.gas(call, money)?;
    if old.way.rule.is_some() {
        gas.payer = sender.wallet.holder();
    }
    Ok(Some(gas))
}

fn store(
    call: &Call,
    old: &mut Out,
    linked: Linked,
    change: impl FnOnce(&mut Out) -> Result<(), Stop>,
) -> Result<Transaction, Stop> {
    let Linked { old: before, new } = linked;
    carry::hold(call, &new.postings)?;
    let mut out = Out::new(call, new.record, old.way.clone());
    change(&mut out)?;
    (out.way.promised, out.way.batch, out.way.fingerprint) = (None, None, None);
    (out.about.note, out.about.metadata) = (old.about.note.clone(), old.about.metadata.clone());
    out.reference = Some(reference_or_new(call, None));
    old.record = before;
    outgoing::save(call, old)?;
    begin(call, &mut out)?;
    following::settles(call, &out)?;
    Ok(out.to_stored())
}
