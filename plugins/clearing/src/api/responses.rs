//! What the platform hosts: POST …/credit-transfer-authorisation-response, …/credit-transfer-response, …/direct-debit-response.
//!
//! Invariant: a client hears of no payment but those of the partner that it speaks for.

use tenon_plugin::{Answer, Call, Outcome, Stop};

use super::messages::{Taken, acknowledged, check_repeat, currency_of, find_named, noted};
use crate::records::{self, Transaction};
use crate::rules::message::Response;
use crate::rules::outbound::{Command, Outbound};
use crate::rules::scheme::Operation;
use crate::settings::{self, Settings, Side};
use crate::{carrying, wire, words};

pub fn authorisation(call: &Call) -> Outcome {
    respond(call, Operation::CreditTransferAuthorisationResponse)
}

pub fn credit_transfer(call: &Call) -> Outcome {
    respond(call, Operation::CreditTransferResponse)
}

pub fn direct_debit(call: &Call) -> Outcome {
    respond(call, Operation::DirectDebitResponse)
}

fn respond(call: &Call, operation: Operation) -> Outcome {
    let settings = settings::of_side(call, Side::Platform)?;
    let response = read(call, operation);
    let uetr = response.as_ref().ok().map(|(response, _)| response.uetr.clone());
    let taken = response.and_then(|(response, known)| take(call, &settings, response, known));
    noted(call, operation.name(), uetr.as_ref(), taken)
}

/// What is not this client's is not known, in whatever words it is refused.
fn read(call: &Call, operation: Operation) -> Result<(Response, Option<Transaction<Outbound>>), Stop> {
    let body = wire::body(call)?;
    let known = match find_named(call, &body)? {
        Some(transaction) => match check_speaker(call, &transaction) {
            Ok(()) => Some(transaction),
            Err(Stop::Refusal(_)) => None,
            Err(stop) => return Err(stop),
        },
        None => None,
    };
    Ok((wire::read_object(&body, |raw| Response::read(raw, operation, currency_of(known.as_ref())))?, known))
}

fn take(
    call: &Call,
    settings: &Settings,
    response: Response,
    known: Option<Transaction<Outbound>>,
) -> Result<(Taken, Answer), Stop> {
    let mut transaction = known.ok_or_else(words::not_found)?;
    let (uetr, operation, content) = (response.uetr.clone(), response.operation, response.content());
    let taken = check_repeat(&transaction, operation, &content)?;
    if taken == Taken::Accepted {
        transaction.keep_content(operation, &content);
        let command = Command::Respond(Box::new(response));
        carrying::command_outbound(call, settings, &mut transaction, command, operation.name())?;
    }
    Ok((taken, acknowledged(&uetr)?))
}

/// Only the clients of its partner, where that has named any.
fn check_speaker(call: &Call, transaction: &Transaction<Outbound>) -> Result<(), Stop> {
    let owner = transaction.kept.partner.as_deref();
    let named = match owner {
        Some(id) => records::load_partner(call, id)?.is_some_and(|partner| !partner.client_ids.is_empty()),
        None => false,
    };
    match records::client_partner(call)? {
        Some(speaker) if Some(speaker.as_str()) == owner => Ok(()),
        None if !named => Ok(()),
        _ => Err(words::not_found()),
    }
}
