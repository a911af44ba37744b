//! /v1/clearing/transactions: what became of each payment, with its history.
//!
//! Invariant: a client that speaks for a partner finds only that partner's.

use tenon_plugin::records::{Comparison, Search, Value};
use tenon_plugin::{Answer, Call, Outcome, Stop};

use super::listing;
use super::messages::{Taken, acknowledged, noted};
use super::partners::{check_staff, is_name};
use crate::records::{self, Transaction, View};
use crate::rules::concern::Concern;
use crate::rules::inbound::{self, Inbound};
use crate::rules::invalid::Field;
use crate::rules::outbound::{self, Outbound};
use crate::rules::scheme::Scheme;
use crate::rules::state::State;
use crate::rules::uetr::Uetr;
use crate::settings::{self, Settings, Side};
use crate::{carrying, wire, words};

const LIST: &str = "transactions";
/// Parameters of the list.
pub const QUERY: &[&str] =
    &["state", "payment_scheme", "concern", "partner", "end_to_end_identification", "from", "to", "after", "limit"];
const STATES: &str = "must be one of: received, processing, approved, rejected, completed, timed_out, failed";
const CONCERNS: &str = "must be one of: overdue, undelivered, undecided, contradicted";
const SCHEMES: &str = "must be one of: ZA_RTC, ZA_RPP, ZA_EFT, CBPR+";

pub fn list(call: &Call) -> Outcome {
    let settings = settings::load(call)?;
    let mut search = listing::within(call, listing::page(call, LIST)?)?;
    if let Some(state) = call.query("state") {
        State::of_name(state).ok_or_else(|| words::wrong("state", STATES))?;
        search = search.is("transaction.state", state);
    }
    if let Some(scheme) = call.query("payment_scheme") {
        Scheme::of_name(scheme).map_err(|_| words::wrong("payment_scheme", SCHEMES))?;
        search = search.is("transaction.message.payment_scheme", scheme);
    }
    if let Some(name) = call.query("concern") {
        let concern = Concern::of_name(name).ok_or_else(|| words::wrong("concern", CONCERNS))?;
        search = with_concern(search, concern);
    }
    let identification = wire::query_text(call, "end_to_end_identification", Field::EndToEndIdentification)?;
    if let Some(identification) = identification {
        search = search.is("transaction.message.end_to_end_identification", identification);
    }
    if let Some(partner) = seen_partner(call, &settings)? {
        search = search.is("transaction.partner", &partner);
    }
    let (texts, next) = records::find_shown(call, settings.side, &search)?;
    listing::answer(call, LIST, &texts, next.as_deref())
}

pub fn show(call: &Call) -> Outcome {
    let (settings, uetr) = (settings::load(call)?, wire::uetr(call)?);
    check_seen(call, &settings, &uetr)?;
    Ok(Answer::ok(records::load_shown(call, settings.side, &uetr)?))
}

/// Sends a message once more that was refused or given up: the response of a partner, the EFT item or completion of a
/// platform.
pub fn redeliver(call: &Call) -> Outcome {
    let (settings, uetr) = (settings::load(call)?, wire::uetr(call)?);
    if settings.side == Side::Platform {
        check_staff(call)?;
    }
    let sent = send_again(call, &settings, &uetr).and_then(|()| acknowledged(&uetr));
    noted(call, call.request().operation.as_str(), Some(&uetr), sent.map(|answer| (Taken::Accepted, answer)))
}

fn send_again(call: &Call, settings: &Settings, uetr: &Uetr) -> Result<(), Stop> {
    match settings.side {
        Side::Partner => {
            let mut transaction = load::<Inbound>(call, uetr)?;
            carrying::command_inbound(call, settings, &mut transaction, inbound::Command::Redeliver, "redelivery")
        }
        Side::Platform => {
            let mut transaction = load::<Outbound>(call, uetr)?;
            carrying::command_outbound(call, settings, &mut transaction, outbound::Command::Redeliver, "redelivery")
        }
    }
}

fn load<R: View>(call: &Call, uetr: &Uetr) -> Result<Transaction<R>, Stop> {
    records::load_transaction(call, uetr)?.ok_or_else(words::not_found)
}

/// Those that somebody should look at for this reason.
fn with_concern(search: Search, concern: Concern) -> Search {
    let has = Comparison::Contains(Value::Text(concern.name().to_owned()));
    let needs_attention = Comparison::Equal(Value::Boolean(true));
    search.with("transaction.needs_attention", needs_attention).with("transaction.concerns", has)
}

/// Of which partner a list shows transactions; `None`: all.
fn seen_partner(call: &Call, settings: &Settings) -> Result<Option<String>, Stop> {
    let asked = call.query("partner");
    if settings.side == Side::Partner {
        return if asked.is_some() { Err(words::no_partners()) } else { Ok(None) };
    }
    if let Some(own) = records::client_partner(call)? {
        return Ok(Some(own));
    }
    if asked.is_some_and(|name| !is_name(name)) {
        return Err(words::wrong("partner", "must be the id of a partner"));
    }
    Ok(asked.map(str::to_owned))
}

fn check_seen(call: &Call, settings: &Settings, uetr: &Uetr) -> Result<(), Stop> {
    if settings.side == Side::Partner {
        return Ok(());
    }
    let Some(own) = records::client_partner(call)? else { return Ok(()) };
    let transaction = load::<Outbound>(call, uetr)?;
    if transaction.kept.partner.as_ref() == Some(&own) { Ok(()) } else { Err(words::not_found()) }
}
