//! How a platform's transaction is stored and shown.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tenon_plugin::{Stop, time};

use super::OUTBOUND;
use super::transactions::{Beginning, Kept, Line, View};
use crate::rules::concern::Concern;
use crate::rules::date::Date;
use crate::rules::invalid::Field;
use crate::rules::message::Payment;
use crate::rules::outbound::{Answer, Outbound, Settlement, Stage};
use crate::rules::state::State;
use crate::rules::status::{Outcome, StatusReason};
use crate::rules::step::Delivery;

#[derive(Serialize, Deserialize)]
pub struct OutboundText {
    uetr: String,
    operation: String,
    partner: Option<String>,
    state: String,
    needs_attention: bool,
    concerns: Vec<String>,
    message: Box<RawValue>,
    /// What the partner is asked: for an account, or to take the payment.
    stage: String,
    /// Whether the partner has said that it has the payment.
    received: bool,
    due_by: Option<String>,
    overdue: bool,
    /// Why it was rejected or timed out.
    status_reason: Option<String>,
    response: Option<ResponseText>,
    settlement: Option<SettlementText>,
    delivery: String,
    received_at: String,
    history: Vec<Line>,
}

#[derive(Serialize, Deserialize)]
struct ResponseText {
    transaction_status: String,
    status_reason: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct SettlementText {
    transaction_status: String,
    settlement_date: String,
}

impl View for Outbound {
    const COLLECTION: &'static str = OUTBOUND;
    type Text = OutboundText;

    fn payment(&self) -> &Payment {
        &self.payment
    }

    fn concerns(&self) -> Vec<Concern> {
        Concern::of_outbound(self)
    }

    fn to_text(&self, kept: &Kept) -> Result<OutboundText, Stop> {
        let Beginning { uetr, operation, state, needs_attention, concerns, message } = Beginning::of(self)?;
        Ok(OutboundText {
            uetr,
            operation,
            partner: kept.partner.clone(),
            state,
            needs_attention,
            concerns,
            message,
            stage: self.stage.name().to_owned(),
            received: self.received,
            due_by: self.due_by_ms.map(time::to_text),
            overdue: self.overdue,
            status_reason: self.reason.as_ref().map(|reason| reason.as_str().to_owned()),
            response: self.response.as_ref().map(|answer| ResponseText {
                transaction_status: answer.outcome.status().name().to_owned(),
                status_reason: answer.reason.as_ref().map(|reason| reason.as_str().to_owned()),
            }),
            settlement: self.settlement.map(|settlement| SettlementText {
                transaction_status: settlement.outcome.status().name().to_owned(),
                settlement_date: settlement.date.to_text(),
            }),
            delivery: self.delivery.name().to_owned(),
            received_at: time::to_text(kept.received_ms),
            history: kept.history.clone(),
        })
    }

    fn from_text(text: &OutboundText) -> Option<Outbound> {
        let reason = text.status_reason.as_deref().map(StatusReason::parse);
        Some(Outbound {
            payment: Beginning::payment(&text.operation, &text.message)?,
            state: State::of_name(&text.state)?,
            stage: Stage::of_name(&text.stage)?,
            received: text.received,
            due_by_ms: text.due_by.as_deref().map(time::parse).map_or(Some(None), |ms| ms.map(Some))?,
            overdue: text.overdue,
            reason: reason.transpose().ok()?,
            response: text.response.as_ref().map(answer).map_or(Some(None), |read| read.map(Some))?,
            settlement: text.settlement.as_ref().map(settlement).map_or(Some(None), |read| read.map(Some))?,
            delivery: Delivery::of_name(&text.delivery)?,
        })
    }

    fn kept(text: OutboundText) -> (Option<String>, String, Vec<Line>) {
        (text.partner, text.received_at, text.history)
    }
}

fn answer(text: &ResponseText) -> Option<Answer> {
    let outcome = Outcome::of_name(&text.transaction_status).ok()?;
    let reason = text.status_reason.as_deref().map(StatusReason::parse);
    Some(Answer { outcome, reason: reason.transpose().ok()? })
}

fn settlement(text: &SettlementText) -> Option<Settlement> {
    let outcome = Outcome::of_name(&text.transaction_status).ok()?;
    Some(Settlement { outcome, date: Date::parse(Field::SettlementDate, &text.settlement_date).ok()? })
}
