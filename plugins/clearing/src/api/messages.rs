//! What all messages have in common: each is noted in the journal, with how it was taken, and one that was taken is
//! acknowledged in the same words however often it comes.

use serde::Serialize;
use tenon_plugin::json::{self, Object};
use tenon_plugin::{Answer, Call, Outcome, Stop};

use crate::records::{self, Transaction, View};
use crate::rules::content::Content;
use crate::rules::currency::{Currency, ZAR};
use crate::rules::scheme::Operation;
use crate::rules::uetr::Uetr;
use crate::{audit, wire, words};

/// How a message was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    Accepted,
    /// The same again: nothing changes.
    Repeated,
}

/// Notes how a message was taken, and gives it on. A call that still waits for a reply is noted when it has one.
pub fn noted(call: &Call, operation: &str, uetr: Option<&Uetr>, taken: Result<(Taken, Answer), Stop>) -> Outcome {
    let outcome = match &taken {
        Ok((Taken::Accepted, _)) => "accepted",
        Ok((Taken::Repeated, _)) => "repeated",
        Err(Stop::Refusal(refusal)) => refusal.code,
        Err(Stop::Wait | Stop::Fault(_)) => return taken.map(|(_, answer)| answer),
    };
    audit::note_incoming(call, operation, uetr.map(Uetr::as_str), outcome)?;
    taken.map(|(_, answer)| answer)
}

/// 202: it is stored, what comes of it is told later.
pub fn acknowledged(uetr: &Uetr) -> Outcome {
    #[derive(Serialize)]
    struct Acknowledged<'a> {
        uetr: &'a str,
    }
    Ok(Answer::new(202, json::to_text(&Acknowledged { uetr: uetr.as_str() })?))
}

/// The payment that a later message is about, if it names one that is known.
pub fn find_named<R: View>(call: &Call, body: &Object) -> Result<Option<Transaction<R>>, Stop> {
    wire::uetr_in(body).map_or(Ok(None), |uetr| records::load_transaction(call, &uetr))
}

/// What an amount is in that names no currency: in that of the payment. Where there is none, nothing comes of it anyway.
pub fn currency_of<R: View>(known: Option<&Transaction<R>>) -> Currency {
    known.map_or(ZAR, |transaction| transaction.record.payment().amount.currency())
}

/// Whether the operation was accepted before with the same content; other content is refused, and the first stands.
pub fn check_repeat<R: View>(
    transaction: &Transaction<R>,
    operation: Operation,
    content: &Content,
) -> Result<Taken, Stop> {
    let Some(known) = transaction.content(operation) else { return Ok(Taken::Accepted) };
    known.check_repeat(content).map_err(|refusal| words::refused(&refusal))?;
    Ok(Taken::Repeated)
}
