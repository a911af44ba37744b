//! /v1/clearing/payments: what a platform sends to its partners, and what the scheme made of it.
//!
//! A payment is submitted once for each uetr: the same again gets the same acknowledgement, and what became of it stands in
//! its transaction.

use tenon_plugin::json::Object;
use tenon_plugin::{Answer, Call, Outcome, Stop};

use super::form::Form;
use super::messages::{Taken, acknowledged, check_repeat, noted};
use super::partners::{self, check_staff};
use crate::records::{self, Partner, Transaction};
use crate::rules::directory::Entry;
use crate::rules::invalid::Field;
use crate::rules::kind::Kind;
use crate::rules::limits::IDENTIFICATION_CHARS_MAX;
use crate::rules::message::{Completion, Payment};
use crate::rules::outbound::route::{self, Mirror};
use crate::rules::outbound::{self, Command, Outbound, Settlement};
use crate::rules::refusal::Refusal;
use crate::rules::status::Outcome as Status;
use crate::rules::uetr::Uetr;
use crate::settings::Settings;
use crate::{audit, carrying, wire, words};

const OPERATIONS: &str =
    "must be one of: credit-transfer-authorisation, credit-transfer-authorisation-sync, credit-transfer, direct-debit";

/// The fields of its operation, and beside them the `operation` and the `partner` that it is for.
pub fn submit(call: &Call) -> Outcome {
    let settings = check_staff(call)?;
    let body = wire::body(call)?;
    let payment = read(call, &body);
    let uetr = payment.as_ref().ok().map(|(payment, _)| payment.uetr.clone());
    let taken = payment.and_then(|(payment, partner)| take(call, &settings, payment, &partner));
    noted(call, call.request().operation.as_str(), uetr.as_ref(), taken)
}

fn read(call: &Call, body: &Object) -> Result<(Payment, Partner), Stop> {
    let (kind, partner) = addressed(call, body)?;
    Ok((wire::read_object(body, |raw| Payment::read(raw, kind))?, partner))
}

fn take(call: &Call, settings: &Settings, payment: Payment, partner: &Partner) -> Result<(Taken, Answer), Stop> {
    let uetr = payment.uetr.clone();
    let taken = match records::load_transaction::<Outbound>(call, &uetr)? {
        Some(known) => check_known(&known, &payment, partner)?,
        None => {
            begin(call, settings, payment, partner)?;
            Taken::Accepted
        }
    };
    Ok((taken, acknowledged(&uetr)?))
}

/// The scheme has settled an approved payment (`settlement_date`), or has not (`transaction_status` REJECTED).
pub fn settle(call: &Call) -> Outcome {
    let (settings, uetr) = (check_staff(call)?, wire::uetr(call)?);
    let taken = take_settlement(call, &settings, &uetr);
    noted(call, call.request().operation.as_str(), Some(&uetr), taken)
}

fn take_settlement(call: &Call, settings: &Settings, uetr: &Uetr) -> Result<(Taken, Answer), Stop> {
    let known = records::load_transaction::<Outbound>(call, uetr)?;
    let mut transaction = known.ok_or_else(words::not_found)?;
    let settlement = settlement(call, &transaction.record.payment)?;
    let first = transaction.record.settlement;
    if first.is_some_and(|known| known.date != settlement.date) {
        let fields = vec![Field::SettlementDate];
        return Err(words::refused(&Refusal::Differs { fields }));
    }
    carrying::command_outbound(call, settings, &mut transaction, Command::Settle(settlement), "settlement")?;
    let taken = if first.is_some() { Taken::Repeated } else { Taken::Accepted };
    Ok((taken, acknowledged(uetr)?))
}

/// Read as the completion that the partner will be told, of this payment: what it does not say of it is filled in.
fn settlement(call: &Call, payment: &Payment) -> Result<Settlement, Stop> {
    let mut body = wire::body(call)?;
    for (field, known) in [
        (Field::Uetr, payment.uetr.as_str()),
        (Field::EndToEndIdentification, payment.end_to_end_identification.as_str()),
    ] {
        if !body.has(field.name()) {
            body.set(field.name(), known)?;
        }
    }
    let completion = wire::read_object(&body, |raw| Completion::read(raw, payment.amount.currency()))?;
    let outcome = Status::of_name(completion.status.name());
    let outcome = outcome.map_err(|invalid| words::unprocessable(vec![words::explain(&invalid)]))?;
    let fields = completion.contradictions(payment);
    if !fields.is_empty() {
        return Err(words::refused(&Refusal::Differs { fields }));
    }
    Ok(Settlement { outcome, date: completion.settlement_date })
}

/// What is asked of whom.
fn addressed(call: &Call, body: &Object) -> Result<(Kind, Partner), Stop> {
    let mut form = Form::new(body.clone());
    let operation = form.required_text("operation", IDENTIFICATION_CHARS_MAX);
    let partner = form.required_text("partner", IDENTIFICATION_CHARS_MAX);
    let kind = Kind::of_operation(&operation);
    if kind.is_none() && !operation.is_empty() {
        form.refuse("operation", OPERATIONS);
    }
    let found = if partners::is_name(&partner) { records::load_partner(call, &partner)? } else { None };
    if found.is_none() && !partner.is_empty() {
        form.refuse("partner", "must be the id of a partner");
    }
    form.finish()?;
    kind.zip(found).ok_or_else(|| Stop::fault("a payment is addressed to nobody, and its form does not know"))
}

/// The same again, or refused.
fn check_known(known: &Transaction<Outbound>, again: &Payment, partner: &Partner) -> Result<Taken, Stop> {
    let by = known.record.payment.kind;
    if by != again.kind {
        return Err(words::refused(&Refusal::UetrTaken { by }));
    }
    if known.kept.partner.as_deref() != Some(partner.id.as_str()) {
        let must = "is not what it was in the first message with this uetr, which stands";
        return Err(words::wrong("partner", must));
    }
    check_repeat(known, by.operation(), &again.content())
}

fn begin(call: &Call, settings: &Settings, payment: Payment, partner: &Partner) -> Result<(), Stop> {
    let refuse = |refusal: Refusal| words::refused(&refusal);
    let (operation, content) = (payment.kind.operation(), payment.content());
    let route = route::route(&payment, &partner.agreed(), mirror(call, &payment, partner)?).map_err(refuse)?;
    let step = outbound::submit(payment, route, call.now()).map_err(refuse)?;
    let mut transaction = Transaction::new(step.record.clone(), Some(partner.id.clone()), call.now());
    records::guard_payment(call, &partner.id, &transaction.record.payment.uetr);
    transaction.kept.traceparent = audit::traceparent(call).map(str::to_owned);
    transaction.keep_content(operation, &content);
    carrying::begin(call, settings, &mut transaction, step, "submitted")
}

/// What the copy of the partner's directory says, where the settings say that it counts.
fn mirror(call: &Call, payment: &Payment, partner: &Partner) -> Result<Mirror, Stop> {
    let (details, id) = (&payment.details, Some(partner.id.as_str()));
    let account = match details.creditor_account_number.as_ref().filter(|_| partner.account_mirroring) {
        Some(number) => records::load_account(call, id, number)?.map(Entry::try_from).transpose()?,
        None => None,
    };
    let proxy = match details.creditor_account_proxy.as_ref().filter(|_| partner.proxy_management) {
        Some(proxy) => records::load_proxy(call, id, proxy)?.map(Entry::try_from).transpose()?,
        None => None,
    };
    Ok(Mirror { account, proxy })
}
