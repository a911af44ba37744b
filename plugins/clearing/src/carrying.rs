//! Carries out what the rules said: postings, timers, messages and events of a step, and the line of its history.
//!
//! Decides nothing. Invariant: what is started here is applied together with the record, or not at all.

use tenon_plugin::effects::{Effect as Outgoing, OutgoingCall};
use tenon_plugin::ledger::{LedgerRefusal, Transfer};
use tenon_plugin::{Call, Stop};

use crate::records::{Transaction, View};
use crate::rules::books::{Account, Posting};
use crate::rules::currency::Currency;
use crate::rules::event::Event;
use crate::rules::inbound::{self, Decision, Inbound};
use crate::rules::outbound::{self, Outbound};
use crate::rules::status::{self, StatusReason};
use crate::rules::step::{Effect, Ending, Message, Pauses, Step};
use crate::settings::{Balances, Settings};
use crate::{audit, events, records, wire, words};

/// Below the address of the bank's own system.
pub const OUTCOMES: &str = "outcomes";

/// The task that receives the outcome of a notification; with tenant, outcome and uetr behind it, the idempotency key.
const BANK_NOTIFIED: &str = "bank-notified";

/// The task that hears what became of a message.
pub fn then_of(message: &Message) -> &'static str {
    match message {
        Message::Determination => "determination-settled",
        Message::Payment => "request-settled",
        Message::Completion { .. } => "completion-settled",
        Message::Response { .. } => "response-settled",
    }
}

/// Whether the books had enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Booked {
    Done,
    Insufficient,
}

/// A command to a payment of the partner's, carried out and stored. An approval that finds no funds is a rejection (AM04).
pub fn command_inbound(
    call: &Call,
    settings: &Settings,
    transaction: &mut Transaction<Inbound>,
    command: inbound::Command,
    cause: &str,
) -> Result<(), Stop> {
    let before = transaction.record.decision.clone();
    let step_of = |command| {
        let step = inbound::step(transaction.record.clone(), command, call.now());
        step.map_err(|refusal| words::refused(&refusal))
    };
    let step = step_of(command)?;
    let step = match book(call, settings, &step)? {
        Booked::Done => step,
        Booked::Insufficient => step_of(inbound::Command::Reject(StatusReason::of(status::FUNDS_INSUFFICIENT)))?,
    };
    take(call, settings, transaction, step, cause)?;
    let is_new = before != transaction.record.decision;
    if is_new && settings.reject_duplicates && matches!(transaction.record.decision, Decision::Approved(_)) {
        records::note_content(call, &transaction.record.payment)?;
    }
    Ok(())
}

/// A command to a payment of the platform's, carried out and stored.
pub fn command_outbound(
    call: &Call,
    settings: &Settings,
    transaction: &mut Transaction<Outbound>,
    command: outbound::Command,
    cause: &str,
) -> Result<(), Stop> {
    let step = outbound::step(transaction.record.clone(), command, call.now());
    take(call, settings, transaction, step.map_err(|refusal| words::refused(&refusal))?, cause)
}

/// A payment that begins: its first step, carried out and stored.
pub fn begin<R: View>(
    call: &Call,
    settings: &Settings,
    transaction: &mut Transaction<R>,
    step: Step<R>,
    cause: &str,
) -> Result<(), Stop> {
    match book(call, settings, &step)? {
        Booked::Done => {}
        Booked::Insufficient => return Err(Stop::fault("the other side of the books ran dry")),
    }
    take(call, settings, transaction, step, cause)
}

/// Everything of a step but its postings. A step that changes nothing writes nothing.
fn take<R: View>(
    call: &Call,
    settings: &Settings,
    transaction: &mut Transaction<R>,
    step: Step<R>,
    cause: &str,
) -> Result<(), Stop> {
    let Step { record, moves, effects } = step;
    let is_changed = record != transaction.record;
    transaction.record = record;
    for effect in effects {
        take_effect(call, settings, transaction, effect)?;
    }
    for (from, to) in &moves {
        transaction.note(call.now(), cause, Some((from.name(), to.name())));
    }
    if moves.is_empty() && (is_changed || transaction.is_new()) {
        transaction.note(call.now(), cause, None);
    }
    transaction.save_if(call, is_changed)
}

fn take_effect<R: View>(
    call: &Call,
    settings: &Settings,
    transaction: &Transaction<R>,
    effect: Effect,
) -> Result<(), Stop> {
    let key = transaction.uetr().as_str();
    match effect {
        Effect::Schedule { timer, at_ms } => call.tasks().schedule(timer.name(), key, at_ms, "{}"),
        Effect::Cancel(timer) => drop(call.tasks().cancel(timer.name(), key)),
        Effect::Emit(event) => emit(call, key, &event)?,
        Effect::Send { .. } => send(call, settings, transaction, effect)?,
        Effect::Notify { ending, pauses } => notify(call, settings, transaction, &ending, pauses)?,
        // Done before anything else: see `book`.
        Effect::Post(_) => {}
    }
    Ok(())
}

fn emit(call: &Call, subject: &str, event: &Event) -> Result<(), Stop> {
    call.emit(event.name(), subject, &events::payload(event)?);
    Ok(())
}

/// One that is still on its way goes on.
fn send<R: View>(call: &Call, settings: &Settings, transaction: &Transaction<R>, effect: Effect) -> Result<(), Stop> {
    let Effect::Send { operation, message, answer_within_ms, pauses, give_up_at_ms } = effect else {
        return Ok(());
    };
    let body = wire::body_of(transaction.record.payment(), &message)?;
    let (key, trace) = (transaction.uetr().as_str(), transaction.kept.traceparent.as_deref());
    let destination = transaction.kept.partner.as_deref().unwrap_or(&settings.platform);
    let timeout_ms = u32::try_from(answer_within_ms).unwrap_or(u32::MAX);
    audit::note_outgoing(call, operation.name(), key, &body, trace)?;
    let mut outgoing = OutgoingCall::new(destination, "POST", &operation.path()).json(body).timeout_ms(timeout_ms);
    if let Some(trace) = trace {
        outgoing = outgoing.header("traceparent", trace);
    }
    let mut effect = Outgoing::new(outgoing, then_of(&message), key, "{}".to_owned()).delays_ms(pauses.between_ms);
    effect.start_at = (pauses.before_ms > 0).then(|| call.now().saturating_add(pauses.before_ms));
    effect.give_up_at = give_up_at_ms;
    call.effects().start(&effect);
    Ok(())
}

/// The final outcome, to the bank's own system.
fn notify<R: View>(
    call: &Call,
    settings: &Settings,
    transaction: &Transaction<R>,
    ending: &Ending,
    pauses: Pauses,
) -> Result<(), Stop> {
    let tenant = call.principal().tenant.as_str();
    let body = wire::ending_of(transaction.record.payment(), ending, tenant)?;
    let (uetr, trace) = (transaction.uetr().as_str(), transaction.kept.traceparent.as_deref());
    let key = [tenant, ending.booking.name(), uetr].join(":");
    audit::note_outgoing(call, OUTCOMES, uetr, &body, trace)?;
    let timeout_ms = u32::try_from(settings.bank_ms).unwrap_or(u32::MAX);
    let mut outgoing = OutgoingCall::new(&settings.bank, "POST", &["/", OUTCOMES].concat());
    outgoing = outgoing.json(body).timeout_ms(timeout_ms);
    if let Some(trace) = trace {
        outgoing = outgoing.header("traceparent", trace);
    }
    let mut effect = Outgoing::new(outgoing, BANK_NOTIFIED, &key, "{}".to_owned()).delays_ms(pauses.between_ms);
    effect.start_at = (pauses.before_ms > 0).then(|| call.now().saturating_add(pauses.before_ms));
    call.effects().start(&effect);
    Ok(())
}

/// The postings of a step: all of them, or none.
fn book<R>(call: &Call, settings: &Settings, step: &Step<R>) -> Result<Booked, Stop> {
    let postings = step.effects.iter().filter_map(|effect| match effect {
        Effect::Post(posting) => Some(posting),
        _ => None,
    });
    let postings: Vec<&Posting> = postings.collect();
    if postings.is_empty() {
        return Ok(Booked::Done);
    }
    for posting in &postings {
        for account in [&posting.debit, &posting.credit] {
            if is_external(settings, account) {
                call.ledger().open_external(&account.name());
            }
        }
    }
    for posting in postings.iter().filter(|posting| is_bound(settings, &posting.debit)) {
        if available_minor(call, &posting.debit, posting.currency) < posting.minor {
            return Ok(Booked::Insufficient);
        }
        // What others take meanwhile is not ours: then this is decided again.
        call.ledger().require_at_least(&posting.debit.name(), posting.currency.code(), "0");
    }
    let transfers: Vec<Transfer> = postings.into_iter().map(transfer).collect();
    match call.ledger().post(&transfers) {
        Ok(()) => Ok(Booked::Done),
        Err(LedgerRefusal::Insufficient(_)) => Ok(Booked::Insufficient),
        Err(refusal) => Err(refusal.into()),
    }
}

fn is_external(settings: &Settings, account: &Account) -> bool {
    match account {
        Account::Settlement(_) => true,
        Account::Customer(_) => settings.balances == Balances::Elsewhere,
        Account::Held(_) | Account::Unapplied(_) => false,
    }
}

/// A customer's account that was opened while the balances were elsewhere may go below zero for ever as far as the books are
/// concerned; where they hold the balances, it may not.
fn is_bound(settings: &Settings, account: &Account) -> bool {
    matches!(account, Account::Customer(_)) && settings.balances == Balances::Ledger
}

/// What may be taken from an account, as far as is known before the commit.
pub fn available_minor(call: &Call, account: &Account, currency: Currency) -> u64 {
    let balance = call.ledger().balance(&account.name(), currency.code());
    // More than fits is more than a payment can ask for; less than nothing is nothing.
    if balance.starts_with('-') { 0 } else { balance.parse().unwrap_or(u64::MAX) }
}

fn transfer(posting: &Posting) -> Transfer {
    Transfer {
        id: posting.id(),
        debit: posting.debit.name(),
        credit: posting.credit.name(),
        asset: posting.currency.code().to_owned(),
        amount: posting.minor.to_string(),
        memo: posting.movement.name().to_owned(),
    }
}
