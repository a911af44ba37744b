//! POST …/credit-transfer-completion: what became of an approved payment at the scheme. Repeated until it is acknowledged.

use tenon_plugin::{Answer, Call, Outcome, Stop};

use super::messages::{Taken, acknowledged, check_repeat, noted};
use crate::records;
use crate::rules::inbound::{Command, Inbound};
use crate::rules::message::Completion;
use crate::rules::scheme::Operation;
use crate::settings::{self, Settings, Side};
use crate::{carrying, wire, words};

const OPERATION: Operation = Operation::CreditTransferCompletion;

pub fn complete(call: &Call) -> Outcome {
    let settings = settings::of_side(call, Side::Partner)?;
    let completion = wire::read(call, Completion::read);
    let uetr = completion.as_ref().ok().map(|completion| completion.uetr.clone());
    let taken = completion.and_then(|completion| take(call, &settings, completion));
    noted(call, OPERATION.name(), uetr.as_ref(), taken)
}

fn take(call: &Call, settings: &Settings, completion: Completion) -> Result<(Taken, Answer), Stop> {
    let known = records::load_transaction::<Inbound>(call, &completion.uetr)?;
    let mut transaction = known.ok_or_else(words::not_found)?;
    let (uetr, content) = (completion.uetr.clone(), completion.content());
    let taken = check_repeat(&transaction, OPERATION, &content)?;
    if taken == Taken::Accepted {
        transaction.keep_content(OPERATION, &content);
        let command = Command::Complete(Box::new(completion));
        carrying::command_inbound(call, settings, &mut transaction, command, OPERATION.name())?;
    }
    Ok((taken, acknowledged(&uetr)?))
}
