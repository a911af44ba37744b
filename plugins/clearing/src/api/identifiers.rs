//! POST /v1/identifiers/inbound/identifier-determination: which account a proxy stands for (ZA_RPP). Stores nothing
//! but the event that it was asked, so that a repeat may be answered anew.

use tenon_plugin::{Answer, Call, Outcome, Stop};

use super::messages::{Taken, noted};
use crate::rules::event::Event;
use crate::rules::invalid::Field;
use crate::rules::message::Determination;
use crate::rules::scheme::Operation;
use crate::rules::status::TransactionStatus;
use crate::settings::{self, Side};
use crate::{decision, events, wire};

pub fn determine(call: &Call) -> Outcome {
    let settings = settings::of_side(call, Side::Partner)?;
    let asked = wire::read(call, Determination::read);
    let uetr = asked.as_ref().ok().and_then(|asked| asked.uetr.clone());
    let answer = asked.and_then(|asked| answer(call, &settings, &asked));
    noted(
        call,
        Operation::IdentifierDetermination.name(),
        uetr.as_ref(),
        answer.map(|answer| (Taken::Accepted, answer)),
    )
}

/// A negative outcome is an answer as well.
fn answer(call: &Call, settings: &settings::Settings, asked: &Determination) -> Result<Answer, Stop> {
    let resolved = decision::resolve(call, settings, asked)?;
    let event = Event::determination_received(&asked.creditor_account_proxy);
    let subject = asked.uetr.as_ref().map_or(call.request().id.as_str(), |uetr| uetr.as_str());
    call.emit(event.name(), subject, &events::payload(&event)?);
    let fields = match &resolved {
        Ok(account) => vec![(Field::CreditorAccountNumber, account.as_str().to_owned())],
        Err(reason) => vec![
            (Field::TransactionStatus, TransactionStatus::Rejected.name().to_owned()),
            (Field::StatusReason, reason.as_str().to_owned()),
        ],
    };
    Ok(Answer::ok(wire::to_text(&fields)?))
}
