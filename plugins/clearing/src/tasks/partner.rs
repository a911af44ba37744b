//! Timers of the partner's payments, and what became of its responses.

use tenon_plugin::json::Object;
use tenon_plugin::tasks::{FailedRequest, FiredTask, TaskOutcome, Verdict};
use tenon_plugin::{Call, Stop};

use super::{SYNC_ABANDONED, done, reply, uetr};
use crate::api::receipts;
use crate::decision::Question;
use crate::records::{self, Transaction};
use crate::rules::inbound::{Command, Decision, Inbound};
use crate::rules::step::Delivery;
use crate::settings::{self, Settings, Side};
use crate::{carrying, decision};

/// In a task of its own, so that the acknowledgement waits for nothing. Given up after technical errors.
pub fn decide(call: &Call, task: &FiredTask) -> TaskOutcome {
    let Some((settings, mut transaction)) = load(call, task)? else { return Ok(Verdict::Done) };
    if transaction.record.decision != Decision::Pending {
        return Ok(Verdict::Done);
    }
    // An earlier version may have stored the payment, or it is older than the setting.
    transaction.record.is_bank_consulted |= decision::consults_bank(&settings, &transaction.record, call.now());
    let (command, cause) = match task.last {
        true => (Command::GiveUp, "given-up"),
        false => {
            let (command, question) = decision::decide(call, &settings, &transaction)?;
            // An earlier run, which broke, may have put it.
            transaction.record.is_bank_consulted &= question == Question::MayHaveArrived || task.attempt > 1;
            (command, "decided")
        }
    };
    done(carrying::command_inbound(call, &settings, &mut transaction, command, cause))
}

/// After a synchronous authorisation that ended in a fault or missed its deadline: the bank's own system may hold the amount,
/// and nothing is stored. A repeat of the request may still be decided in the time of the payment. A body that is no message
/// was refused before a request to the bank's system.
pub fn sync_broken(call: &Call, _: &FiredTask) -> TaskOutcome {
    let failed: FailedRequest = call.json()?;
    let Some(text) = failed.body else { return Ok(Verdict::Done) };
    let Ok(body) = Object::parse(&text) else { return Ok(Verdict::Done) };
    let settings = settings::of_side(call, Side::Partner);
    done(settings.and_then(|settings| {
        if let Some((uetr, at_ms)) = receipts::abandoned_at(call, &settings, &body)? {
            call.tasks().schedule(SYNC_ABANDONED, uetr.as_str(), at_ms, &text);
        }
        Ok(())
    }))
}

pub fn sync_abandoned(call: &Call, _: &FiredTask) -> TaskOutcome {
    let (settings, body) = (settings::load(call)?, call.object()?);
    done(receipts::abandon(call, &settings, &body))
}

pub fn decision_due(call: &Call, task: &FiredTask) -> TaskOutcome {
    command(call, task, Command::DecisionDue)
}

pub fn completion_due(call: &Call, task: &FiredTask) -> TaskOutcome {
    command(call, task, Command::CompletionDue)
}

pub fn bank_notified(call: &Call, task: &FiredTask) -> TaskOutcome {
    let Some((settings, mut transaction)) = load(call, task)? else { return Ok(Verdict::Done) };
    let (reply, _) = reply(call, task, carrying::OUTCOMES)?;
    let command = Command::NoticeReply(reply);
    done(carrying::command_inbound(call, &settings, &mut transaction, command, &task.name))
}

/// Fails as long as the notification is undelivered: a given-up task is on the operators' list (`tenon task list
/// --given-up`).
pub fn bank_not_notified(call: &Call, task: &FiredTask) -> TaskOutcome {
    let Some((_, transaction)) = load(call, task)? else { return Ok(Verdict::Done) };
    if transaction.record.notice != Delivery::Undelivered {
        return Ok(Verdict::Done);
    }
    let uetr = transaction.uetr().as_str();
    let what = ["the bank's own system did not take the outcome of ", uetr, "; "].concat();
    Err(Stop::fault(what + "POST /v1/clearing/transactions/{uetr}/redelivery sends it again"))
}

pub fn response_settled(call: &Call, task: &FiredTask) -> TaskOutcome {
    let Some((settings, mut transaction)) = load(call, task)? else { return Ok(Verdict::Done) };
    let (reply, _) = reply(call, task, transaction.record.payment.kind.response().name())?;
    let command = Command::ResponseReply(reply);
    done(carrying::command_inbound(call, &settings, &mut transaction, command, &task.name))
}

fn command(call: &Call, task: &FiredTask, command: Command) -> TaskOutcome {
    let Some((settings, mut transaction)) = load(call, task)? else { return Ok(Verdict::Done) };
    done(carrying::command_inbound(call, &settings, &mut transaction, command, &task.name))
}

fn load(call: &Call, task: &FiredTask) -> Result<Option<(Settings, Transaction<Inbound>)>, Stop> {
    let settings = settings::load(call)?;
    Ok(records::load_transaction(call, &uetr(task)?)?.map(|transaction| (settings, transaction)))
}
