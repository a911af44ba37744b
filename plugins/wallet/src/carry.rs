//! Carries out what the rules said: postings, events, the record and its history, in one commit.
//!
//! Decides nothing. Invariant: a step is stored with all that belongs to it, or not at all.

use tenon_plugin::ledger::{LedgerRefusal, Transfer};
use tenon_plugin::{Call, Level, Stop};

use crate::api::access;
use crate::records::outgoing::{self, Out};
use crate::records::transactions::{self, Incoming, Transaction};
use crate::records::{InsertStop, Stored};
use crate::rules::books::{self, Account, Posting, Reason};
use crate::rules::deposit::Deposit;
use crate::rules::event::Event;
use crate::rules::outgoing::{Command, Outgoing};
use crate::rules::status::Status;
use crate::rules::step::Step;
use crate::show::asset::balance_of;
use crate::show::transaction::{Whose, full};
use crate::{events, following, rules, words};

/// Whether the books had enough.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Booked {
    Done,
    /// The account that has too little.
    Insufficient(String),
}

/// All postings, or none.
pub fn book(call: &Call, postings: &[Posting]) -> Result<Booked, Stop> {
    if postings.is_empty() {
        return Ok(Booked::Done);
    }
    for account in postings.iter().flat_map(|posting| [&posting.debit, &posting.credit]) {
        if account.may_go_below_zero() {
            call.ledger().open_external(&account.name());
        }
    }
    let transfers: Vec<Transfer> = postings.iter().map(transfer).collect();
    match call.ledger().post(&transfers) {
        Ok(()) => Ok(Booked::Done),
        Err(LedgerRefusal::Insufficient(account)) => Ok(Booked::Insufficient(account)),
        Err(refusal) => Err(refusal.into()),
    }
}

fn transfer(posting: &Posting) -> Transfer {
    Transfer {
        id: posting.id(),
        debit: posting.debit.name(),
        credit: posting.credit.name(),
        asset: posting.asset.key(),
        amount: posting.units.to_digits(),
        memo: posting.reason.name().to_owned(),
    }
}

/// What a new transaction needs is set aside, or it is refused.
pub fn hold(call: &Call, postings: &[Posting]) -> Result<(), Stop> {
    match book(call, postings)? {
        Booked::Done => Ok(()),
        Booked::Insufficient(account) => {
            let short = postings.iter().find(|posting| posting.debit.name() == account && is_short(call, posting));
            let about = short.map_or(postings, std::slice::from_ref);
            Err(words::refused(&books::insufficient(about, &account)))
        }
    }
}

/// Whether the account has too little even for this alone: an account may have the money, and not the gas.
fn is_short(call: &Call, posting: &Posting) -> bool {
    balance_of(call, &posting.debit, posting.asset) < posting.units
}

/// What has happened on a blockchain is booked. Gas beyond the hold that its payer does not have is left out, and shows when
/// ledger and blockchain are compared: it is burnt, whatever the books say.
fn settle(call: &Call, postings: &[Posting]) -> Result<(), Stop> {
    let Booked::Insufficient(account) = book(call, postings)? else { return Ok(()) };
    let rest: Vec<Posting> = postings.iter().filter(|posting| posting.reason != Reason::GasBeyond).cloned().collect();
    call.log(Level::Warn, "gas was burnt that its payer does not have", &[("account", &account)]);
    match book(call, &rest)? {
        Booked::Done => Ok(()),
        Booked::Insufficient(account) => Err(Stop::fault(["the books have too little: ", &account].concat())),
    }
}

/// A new outgoing transaction whose holds are booked: stored, and taken up when it is due.
pub fn accept(call: &Call, out: &mut Out, at_ms: u64) -> Result<(), InsertStop> {
    out.about.history.push((call.now(), out.record.status.name().to_owned()));
    outgoing::insert(call, out)?;
    call.tasks().schedule("process", &out.record.id, at_ms, "{}");
    Ok(())
}

/// A command to an outgoing transaction, carried out and stored.
pub fn command(call: &Call, out: &mut Out, command: Command) -> Result<(), Stop> {
    let step = rules::outgoing::step(out.record.clone(), command).map_err(|refusal| words::refused(&refusal))?;
    take(call, out, step)
}

/// A step of an outgoing transaction that is stored already. What waits for its end is done with it.
pub fn take(call: &Call, out: &mut Out, step: Step<Outgoing>) -> Result<(), Stop> {
    let Step { record, moves, postings, events } = step;
    settle(call, &postings)?;
    out.record = record;
    note(call, &mut out.about.history, &moves);
    let told = tell(call, &out.to_stored(), &events)?;
    out.about.events.extend(told);
    outgoing::save(call, out)?;
    let has_ended = moves.iter().any(|(_, to)| !matches!(to, Status::Pending | Status::Processing));
    if has_ended { following::ended(call, out) } else { Ok(()) }
}

/// A step of a deposit.
pub fn take_deposit(
    call: &Call,
    incoming: &mut Incoming,
    step: Step<Deposit>,
    known: Option<&Transaction>,
) -> Result<(), Stop> {
    let Step { record, moves, postings, events } = step;
    settle(call, &postings)?;
    incoming.record = record;
    note(call, &mut incoming.about.history, &moves);
    let told = tell(call, &deposit_of(call, incoming, known), &events)?;
    incoming.about.events.extend(told);
    store_deposit(call, incoming, known)?;
    if moves.iter().any(|(_, to)| *to == Status::Success) { following::arrived(call, incoming) } else { Ok(()) }
}

/// A deposit as it stands.
pub fn store_deposit(call: &Call, incoming: &Incoming, known: Option<&Transaction>) -> Result<Transaction, Stop> {
    let stored = deposit_of(call, incoming, known);
    match known {
        Some(_) => transactions::save(call, &stored)?,
        None => transactions::insert(call, &stored)?,
    }
    Ok(stored)
}

fn deposit_of(call: &Call, incoming: &Incoming, known: Option<&Transaction>) -> Transaction {
    let mut stored = Stored::new(call, incoming.record.id.clone(), incoming.to_body());
    stored.created_ms = known.map_or(stored.created_ms, |known| known.created_ms);
    stored
}

fn note(call: &Call, history: &mut Vec<(u64, String)>, moves: &[(Status, Status)]) {
    history.extend(moves.iter().map(|(_, to)| (call.now(), to.name().to_owned())));
}

/// The events of a step, with the record as it is now; gives their ids.
pub fn tell(call: &Call, stored: &Transaction, events: &[Event]) -> Result<Vec<String>, Stop> {
    if events.is_empty() {
        return Ok(Vec::new());
    }
    let whose = Whose::load(call, stored, access::network(call))?;
    let record = full(call, stored, &whose)?;
    events.iter().map(|event| events::emit(call, &stored.body.wallet, event, &record)).collect()
}

/// A rule's "no" to a task came too late to matter.
pub fn ignore_refusal(ended: Result<(), Stop>) -> Result<(), Stop> {
    match ended {
        Err(Stop::Refusal(_)) => Ok(()),
        other => other,
    }
}

/// What a holder can spend.
pub fn available(call: &Call, holder: &books::Holder, asset: rules::asset::Asset) -> rules::amount::Units {
    balance_of(call, &Account::Available(holder.clone()), asset)
}
