//! What begins a payment at the partner: POST …/credit-transfer-authorisation, its synchronous variant, …/credit-transfer and
//! …/direct-debit. Stored, and with that acknowledged; the decision is a task of its own, except where it is the answer.

use tenon_plugin::{Answer, Call, Outcome, Stop};

use super::messages::{Taken, acknowledged, noted};
use crate::records::{self, Transaction};
use crate::rules::inbound::{self, Inbound};
use crate::rules::invalid::Field;
use crate::rules::kind::Kind;
use crate::rules::message::Payment;
use crate::settings::{self, Decide, Settings, Side};
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
    let (operation, content) = (payment.kind.operation(), payment.content());
    let step = inbound::receive(payment, settings.budgets(), call.now());
    let mut step = step.map_err(|refusal| words::refused(&refusal))?;
    step.record.is_bank_consulted = settings.decide == Decide::Ask;
    let mut transaction = Transaction::new(step.record.clone(), None, call.now());
    transaction.kept.traceparent = audit::traceparent(call).map(str::to_owned);
    transaction.keep_content(operation, &content);
    carrying::begin(call, settings, &mut transaction, step, operation.name())?;
    if transaction.record.payment.kind == Kind::AuthorisationSync {
        let command = decision::decide(call, settings, &transaction)?;
        carrying::command_inbound(call, settings, &mut transaction, command, "decided")?;
    }
    Ok((Taken::Accepted, answer(&transaction.record)?))
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
