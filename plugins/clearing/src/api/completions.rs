//! POST …/credit-transfer-completion: what became of an approved payment at the scheme. Repeated until it is acknowledged.

use tenon_plugin::{Answer, Call, Outcome, Stop};

use super::messages::{Taken, acknowledged, check_repeat, currency_of, find_named, noted};
use crate::records::Transaction;
use crate::rules::inbound::{Command, Inbound};
use crate::rules::message::Completion;
use crate::rules::scheme::Operation;
use crate::settings::{self, Settings, Side};
use crate::{carrying, wire, words};

const OPERATION: Operation = Operation::CreditTransferCompletion;

pub fn complete(call: &Call) -> Outcome {
    let settings = settings::of_side(call, Side::Partner)?;
    let completion = read(call);
    let uetr = completion.as_ref().ok().map(|(completion, _)| completion.uetr.clone());
    let taken = completion.and_then(|(completion, known)| take(call, &settings, completion, known));
    noted(call, OPERATION.name(), uetr.as_ref(), taken)
}

fn read(call: &Call) -> Result<(Completion, Option<Transaction<Inbound>>), Stop> {
    let body = wire::body(call)?;
    let known = find_named(call, &body)?;
    Ok((wire::read_object(&body, |raw| Completion::read(raw, currency_of(known.as_ref())))?, known))
}

fn take(
    call: &Call,
    settings: &Settings,
    completion: Completion,
    known: Option<Transaction<Inbound>>,
) -> Result<(Taken, Answer), Stop> {
    let mut transaction = known.ok_or_else(words::not_found)?;
    let (uetr, content) = (completion.uetr.clone(), completion.content());
    let is_final = completion.outcome().is_some();
    // A completion that is not final may be followed by any other.
    let taken = match transaction.record.completion {
        Some(_) if is_final => check_repeat(&transaction, OPERATION, &content)?,
        _ => Taken::Accepted,
    };
    if taken == Taken::Accepted {
        if is_final {
            transaction.keep_content(OPERATION, &content);
        }
        let command = Command::Complete(Box::new(completion));
        carrying::command_inbound(call, settings, &mut transaction, command, OPERATION.name())?;
    }
    Ok((taken, acknowledged(&uetr)?))
}
