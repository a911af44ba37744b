//! What begins a payment at the partner: POST …/credit-transfer-authorisation, its synchronous variant, …/credit-transfer and
//! …/direct-debit. Stored, and with that acknowledged; the decision is a task of its own, except where it is the answer.

use tenon_plugin::json::Object;
use tenon_plugin::{Answer, Call, Outcome, Stop};

use super::messages::{Taken, acknowledged, noted};
use crate::decision::Question;
use crate::records::{self, Transaction};
use crate::rules::deadline;
use crate::rules::inbound::{self, Command, Inbound};
use crate::rules::invalid::Field;
use crate::rules::kind::Kind;
use crate::rules::message::Payment;
use crate::rules::status::{self, StatusReason};
use crate::rules::uetr::Uetr;
use crate::settings::{self, Decide, Settings, Side};
use crate::tasks::SYNC_ABANDONED;
use crate::{audit, carrying, decision, wire, words};

pub fn authorise(call: &Call) -> Outcome {
    receive(call, Kind::Authorisation)
}

pub fn authorise_sync(call: &Call) -> Outcome {
    receive(call, Kind::AuthorisationSync)
}

pub fn credit_transfer(call: &Call) -> Outcome {
    receive(call, Kind::CreditTransfer)
}

pub fn direct_debit(call: &Call) -> Outcome {
    receive(call, Kind::DirectDebit)
}

fn receive(call: &Call, kind: Kind) -> Outcome {
    let settings = settings::of_side(call, Side::Partner)?;
    let payment = wire::read(call, |raw| Payment::read(raw, kind));
    let uetr = payment.as_ref().ok().map(|payment| payment.uetr.clone());
    let taken = payment.and_then(|payment| take(call, &settings, payment));
    noted(call, kind.operation().name(), uetr.as_ref(), taken)
}

fn take(call: &Call, settings: &Settings, payment: Payment) -> Result<(Taken, Answer), Stop> {
    if let Some(known) = records::load_transaction::<Inbound>(call, &payment.uetr)? {
        inbound::receive_again(&known.record, &payment).map_err(|refusal| words::refused(&refusal))?;
        return Ok((Taken::Repeated, answer(&known.record)?));
    }
    let mut transaction = store(call, settings, payment)?;
    if transaction.record.payment.kind == Kind::AuthorisationSync {
        let (command, question) = decision::decide(call, settings, &transaction)?;
        // An earlier request for the payment, which broke, may have put the question.
        let was_broken = call.tasks().cancel(SYNC_ABANDONED, transaction.uetr().as_str());
        transaction.record.is_bank_consulted &= question == Question::MayHaveArrived || was_broken;
        carrying::command_inbound(call, settings, &mut transaction, command, "decided")?;
    }
    Ok((Taken::Accepted, answer(&transaction.record)?))
}

/// A payment that was never seen before.
fn store(call: &Call, settings: &Settings, payment: Payment) -> Result<Transaction<Inbound>, Stop> {
    let (operation, content) = (payment.kind.operation(), payment.content());
    let step = inbound::receive(payment, settings.budgets(), call.now());
    let mut step = step.map_err(|refusal| words::refused(&refusal))?;
    step.record.is_bank_consulted = decision::consults_bank(settings, &step.record, call.now());
    let mut transaction = Transaction::new(step.record.clone(), None, call.now());
    transaction.kept.traceparent = audit::traceparent(call).map(str::to_owned);
    transaction.keep_content(operation, &content);
    carrying::begin(call, settings, &mut transaction, step, operation.name())?;
    Ok(transaction)
}

/// When a synchronous authorisation that broke is rejected unless a repeat is decided before, and of which payment. `None`: no
/// bank's system holds anything for it, or it is stored.
pub fn abandoned_at(call: &Call, settings: &Settings, body: &Object) -> Result<Option<(Uetr, u64)>, Stop> {
    let payment = broken(body)?;
    if settings.decide == Decide::Rules || records::load_transaction::<Inbound>(call, &payment.uetr)?.is_some() {
        return Ok(None);
    }
    let at_ms = deadline::decide_by_ms(&payment, settings.budgets(), call.now());
    Ok(Some((payment.uetr, at_ms)))
}

/// Rejects it in the commit that stores it, so that the bank's system is notified to release, and no repeat approves it.
pub fn abandon(call: &Call, settings: &Settings, body: &Object) -> Result<(), Stop> {
    let payment = broken(body)?;
    if records::load_transaction::<Inbound>(call, &payment.uetr)?.is_some() {
        return Ok(());
    }
    let mut transaction = store(call, settings, payment)?;
    transaction.record.is_bank_consulted = true;
    let command = Command::Reject(StatusReason::of(status::DECISION_TIMEOUT));
    carrying::command_inbound(call, settings, &mut transaction, command, "abandoned")
}

fn broken(body: &Object) -> Result<Payment, Stop> {
    wire::read_object(body, |raw| Payment::read(raw, Kind::AuthorisationSync))
}

/// The same for each repeat: the first outcome stands.
fn answer(record: &Inbound) -> Outcome {
    let uetr = &record.payment.uetr;
    if record.payment.kind != Kind::AuthorisationSync {
        return acknowledged(uetr);
    }
    let Some((outcome, reason)) = record.outcome() else {
        return Err(Stop::fault("a synchronous authorisation was stored undecided"));
    };
    let mut fields =
        vec![(Field::Uetr, uetr.as_str().to_owned()), (Field::TransactionStatus, outcome.status().name().to_owned())];
    fields.extend(reason.map(|reason| (Field::StatusReason, reason.as_str().to_owned())));
    Ok(Answer::ok(wire::to_text(&fields)?))
}
