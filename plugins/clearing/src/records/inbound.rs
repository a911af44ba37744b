//! How a partner's transaction is stored and shown.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tenon_plugin::{Stop, time};

use super::INBOUND;
use super::transactions::{Beginning, Kept, Line, View};
use crate::rules::account::AccountNumber;
use crate::rules::concern::Concern;
use crate::rules::date::Date;
use crate::rules::inbound::{Decision, Inbound, Settlement};
use crate::rules::invalid::Field;
use crate::rules::message::Payment;
use crate::rules::state::State;
use crate::rules::status::{Outcome, StatusReason, TransactionStatus};
use crate::rules::step::Delivery;

#[derive(Serialize, Deserialize)]
pub struct InboundText {
    uetr: String,
    operation: String,
    state: String,
    needs_attention: bool,
    concerns: Vec<String>,
    message: Box<RawValue>,
    /// PENDING until it is decided; null where that was given up.
    transaction_status: Option<String>,
    status_reason: Option<String>,
    /// To which it was applied.
    account_number: Option<String>,
    decide_by: String,
    complete_by: Option<String>,
    overdue: bool,
    completion: Option<CompletionText>,
    response: String,
    /// Absent where the bank's own system does not decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bank_notification: Option<String>,
    received_at: String,
    history: Vec<Line>,
}

#[derive(Serialize, Deserialize)]
struct CompletionText {
    transaction_status: String,
    status_reason: Option<String>,
    settlement_date: String,
    applied: bool,
}

impl View for Inbound {
    const COLLECTION: &'static str = INBOUND;
    type Text = InboundText;

    fn payment(&self) -> &Payment {
        &self.payment
    }

    fn concerns(&self) -> Vec<Concern> {
        Concern::of_inbound(self)
    }

    fn to_text(&self, kept: &Kept) -> Result<InboundText, Stop> {
        let Beginning { uetr, operation, state, needs_attention, concerns, message } = Beginning::of(self)?;
        let (status, reason, account) = match &self.decision {
            Decision::Pending => (Some(TransactionStatus::Pending), None, None),
            Decision::Approved(account) => (Some(TransactionStatus::Approved), None, Some(account)),
            Decision::Rejected(reason) => (Some(TransactionStatus::Rejected), Some(reason), None),
            Decision::GivenUp => (None, None, None),
        };
        Ok(InboundText {
            uetr,
            operation,
            state,
            needs_attention,
            concerns,
            message,
            transaction_status: status.map(|status| status.name().to_owned()),
            status_reason: reason.map(|reason| reason.as_str().to_owned()),
            account_number: account.map(|account| account.as_str().to_owned()),
            decide_by: time::to_text(self.decide_by_ms),
            complete_by: self.complete_by_ms.map(time::to_text),
            overdue: self.overdue,
            completion: self.completion.as_ref().map(completion_text),
            response: self.response.name().to_owned(),
            bank_notification: self.is_bank_consulted.then(|| self.notice.name().to_owned()),
            received_at: time::to_text(kept.received_ms),
            history: kept.history.clone(),
        })
    }

    fn from_text(text: &InboundText) -> Option<Inbound> {
        Some(Inbound {
            payment: Beginning::payment(&text.operation, &text.message)?,
            state: State::of_name(&text.state)?,
            decision: decision(text)?,
            decide_by_ms: time::parse(&text.decide_by)?,
            complete_by_ms: text.complete_by.as_deref().map(time::parse).map_or(Some(None), |ms| ms.map(Some))?,
            overdue: text.overdue,
            completion: text.completion.as_ref().map_or(Some(None), settlement)?,
            response: Delivery::of_name(&text.response)?,
            is_bank_consulted: text.bank_notification.is_some(),
            notice: text.bank_notification.as_deref().map_or(Some(Delivery::NotDue), Delivery::of_name)?,
        })
    }

    fn kept(text: InboundText) -> (Option<String>, String, Vec<Line>) {
        (None, text.received_at, text.history)
    }
}

fn decision(text: &InboundText) -> Option<Decision> {
    let Some(name) = &text.transaction_status else { return Some(Decision::GivenUp) };
    Some(match TransactionStatus::of_name(name).ok()? {
        TransactionStatus::Pending => Decision::Pending,
        TransactionStatus::Approved => {
            let account = AccountNumber::parse(Field::CreditorAccountNumber, text.account_number.as_deref()?);
            Decision::Approved(account.ok()?)
        }
        TransactionStatus::Rejected => Decision::Rejected(StatusReason::parse(text.status_reason.as_deref()?).ok()?),
    })
}

fn completion_text(settlement: &Settlement) -> CompletionText {
    CompletionText {
        transaction_status: settlement.outcome.status().name().to_owned(),
        status_reason: settlement.reason.as_ref().map(|reason| reason.as_str().to_owned()),
        settlement_date: settlement.settlement_date.to_text(),
        applied: settlement.applied,
    }
}

/// An earlier version stored PENDING as if it were final: one that was applied has released the hold, one that waited for the
/// approval is no completion.
fn settlement(text: &CompletionText) -> Option<Option<Settlement>> {
    let outcome = match Outcome::of_status(TransactionStatus::of_name(&text.transaction_status).ok()?) {
        None if !text.applied => return Some(None),
        outcome => outcome.unwrap_or(Outcome::Rejected),
    };
    let reason = text.status_reason.as_deref().map(StatusReason::parse);
    Some(Some(Settlement {
        outcome,
        reason: reason.transpose().ok()?,
        settlement_date: Date::parse(Field::SettlementDate, &text.settlement_date).ok()?,
        applied: text.applied,
    }))
}
