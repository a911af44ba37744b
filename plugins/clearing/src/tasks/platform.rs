//! Timers of the platform's payments, and what its partners answered.

use tenon_plugin::effects::Response as HttpResponse;
use tenon_plugin::json::Object;
use tenon_plugin::tasks::{FiredTask, TaskOutcome, Verdict};
use tenon_plugin::{Call, Content, Stop};

use super::{done, reply, uetr};
use crate::records::{self, Transaction};
use crate::rules::account::AccountNumber;
use crate::rules::directory::Entry;
use crate::rules::invalid::Field;
use crate::rules::kind::Kind;
use crate::rules::message::{Payment, Response};
use crate::rules::outbound::replies::Determined;
use crate::rules::outbound::{Command, Outbound, route};
use crate::rules::scheme::Operation;
use crate::rules::status::{Outcome, StatusReason};
use crate::rules::step::Reply;
use crate::settings::{self, Settings};
use crate::{carrying, wire};

pub fn determination_due(call: &Call, task: &FiredTask) -> TaskOutcome {
    command(call, task, Command::DeterminationDue)
}

pub fn response_due(call: &Call, task: &FiredTask) -> TaskOutcome {
    command(call, task, Command::ResponseDue)
}

pub fn determination_settled(call: &Call, task: &FiredTask) -> TaskOutcome {
    let (reply, response) = reply(call, task, Operation::IdentifierDetermination.name())?;
    let determined = match reply {
        // What makes no sense is as good as an error.
        Reply::Accepted => response.and_then(determined).unwrap_or(Determined::Unanswered(Reply::Broken)),
        other => Determined::Unanswered(other),
    };
    let determined = match determined {
        Determined::Account(account) => compare_with_mirror(call, task, account)?,
        other => other,
    };
    command(call, task, Command::Determined(determined))
}

/// A partner that is gone has no mirror.
fn compare_with_mirror(call: &Call, task: &FiredTask, account: AccountNumber) -> Result<Determined, Stop> {
    let transaction = records::load_transaction::<Outbound>(call, &uetr(task)?)?;
    let Some(id) = transaction.and_then(|transaction| transaction.kept.partner) else {
        return Ok(Determined::Account(account));
    };
    let Some(partner) = records::load_partner(call, &id)?.filter(|partner| partner.account_mirroring) else {
        return Ok(Determined::Account(account));
    };
    let mirrored = records::load_account(call, Some(&id), &account)?.map(Entry::try_from).transpose()?;
    Ok(route::resolved(account, &partner.agreed(), mirrored))
}

pub fn completion_settled(call: &Call, task: &FiredTask) -> TaskOutcome {
    let (reply, _) = reply(call, task, Operation::CreditTransferCompletion.name())?;
    command(call, task, Command::CompletionReply(reply))
}

/// A synchronous authorisation is answered at once, or not at all.
pub fn request_settled(call: &Call, task: &FiredTask) -> TaskOutcome {
    let Some((settings, mut transaction)) = load(call, task)? else { return Ok(Verdict::Done) };
    let kind = transaction.record.payment.kind;
    let (mut reply, response) = reply(call, task, kind.operation().name())?;
    let mut answer = None;
    if kind == Kind::AuthorisationSync && reply == Reply::Accepted {
        answer = response.and_then(|response| answered(&transaction.record.payment, response));
        if answer.is_none() {
            reply = Reply::Broken;
        }
    }
    let mut run = |command| carrying::command_outbound(call, &settings, &mut transaction, command, &task.name);
    done(run(Command::RequestReply(reply)))?;
    match answer {
        Some(response) => done(run(Command::Respond(Box::new(response)))),
        None => Ok(Verdict::Done),
    }
}

fn command(call: &Call, task: &FiredTask, command: Command) -> TaskOutcome {
    let Some((settings, mut transaction)) = load(call, task)? else { return Ok(Verdict::Done) };
    done(carrying::command_outbound(call, &settings, &mut transaction, command, &task.name))
}

fn load(call: &Call, task: &FiredTask) -> Result<Option<(Settings, Transaction<Outbound>)>, Stop> {
    let settings = settings::load(call)?;
    Ok(records::load_transaction(call, &uetr(task)?)?.map(|transaction| (settings, transaction)))
}

fn body_of(response: &HttpResponse) -> Option<Object<'_>> {
    let Content::Json(text) = &response.content else { return None };
    wire::reply(text)
}

/// The account, or why there is none.
fn determined(response: &HttpResponse) -> Option<Determined> {
    let body = body_of(response)?;
    if let Some(number) = body.text(Field::CreditorAccountNumber.name()).ok()? {
        return AccountNumber::parse(Field::CreditorAccountNumber, &number).ok().map(Determined::Account);
    }
    let outcome = Outcome::of_name(&body.text(Field::TransactionStatus.name()).ok()??).ok()?;
    let reason = StatusReason::parse(&body.text(Field::StatusReason.name()).ok()??).ok()?;
    (outcome == Outcome::Rejected).then_some(Determined::NoAccount(reason))
}

/// It must be about this payment.
fn answered(payment: &Payment, response: &HttpResponse) -> Option<Response> {
    let operation = payment.kind.response();
    let currency = payment.amount.currency();
    let answer = wire::read_lenient(&body_of(response)?, |raw| Response::read(raw, operation, currency)).ok()?;
    answer.contradictions(payment).is_empty().then_some(answer)
}
