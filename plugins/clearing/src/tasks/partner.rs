//! Timers of the partner's payments, and what became of its responses.

use tenon_plugin::tasks::{FiredTask, TaskOutcome, Verdict};
use tenon_plugin::{Call, Stop};

use super::{done, reply, uetr};
use crate::records::{self, Transaction};
use crate::rules::inbound::{Command, Decision, Inbound};
use crate::rules::step::Delivery;
use crate::settings::{self, Decide, Settings};
use crate::{carrying, decision};

/// In a task of its own, so that the acknowledgement waits for nothing. Given up after technical errors.
pub fn decide(call: &Call, task: &FiredTask) -> TaskOutcome {
    let Some((settings, mut transaction)) = load(call, task)? else { return Ok(Verdict::Done) };
    if transaction.record.decision != Decision::Pending {
        return Ok(Verdict::Done);
    }
    // The payment may be stored by an earlier version, or older than the setting.
    transaction.record.is_bank_consulted |= settings.decide == Decide::Ask;
    let (command, cause) = match task.last {
        true => (Command::GiveUp, "given-up"),
        false => (decision::decide(call, &settings, &transaction)?, "decided"),
    };
    done(carrying::command_inbound(call, &settings, &mut transaction, command, cause))
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
