//! What all messages have in common: each is noted in the journal, with how it was taken, and one that was taken is
//! acknowledged in the same words however often it comes.

use serde::Serialize;
use tenon_plugin::{Answer, Call, Outcome, Stop, json};

use crate::audit;
use crate::records::{Transaction, View};
use crate::rules::content::Content;
use crate::rules::scheme::Operation;
use crate::rules::uetr::Uetr;
use crate::words;

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
