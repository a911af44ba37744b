//! Questions to the bank's own system: `POST /decisions` and `POST /determinations` below its destination.
//!
//! It is asked with the payment's own fields and the operation beside them, and answers 2xx with `transaction_status`
//! (APPROVED or REJECTED), `status_reason` with REJECTED (without one that can be told it is MS03), and the `account_number`
//! where it is another than the payment's. Any other status is no answer.

use tenon_plugin::effects::{OutgoingCall, Response};
use tenon_plugin::json::Object;
use tenon_plugin::{Call, Content, Stop};

use crate::audit;
use crate::rules::account::{AccountNumber, Proxy};
use crate::rules::invalid::Field;
use crate::rules::message::Payment;
use crate::rules::scheme::Scheme;
use crate::rules::status::{self, Outcome, StatusReason};
use crate::settings::Settings;
use crate::wire;

/// The host's class of the failure where a tenant has no destination of this name.
const NO_SUCH_DESTINATION: &str = "no-such-destination";

/// The host's classes of failures where the bank's system answered, and the host could not read the answer whole.
const UNREADABLE_ANSWERS: [&str; 3] = ["too-large", "incomplete", "protocol"];

/// The reply of the bank's system to a request.
pub enum BankReply {
    Approved(Option<AccountNumber>),
    Rejected(StatusReason),
    /// An answer that cannot be read: it may have meant no.
    Unclear,
    /// Silence, or an error.
    Nothing,
    /// The tenant has no such destination; nothing was sent.
    NotSent,
}

/// One question; its key is the same whenever it is asked.
struct Question<'a> {
    operation: &'static str,
    key: &'a str,
    body: String,
    timeout_ms: u64,
    trace: Option<&'a str>,
}

/// `left_ms`: how long an answer is of use.
pub fn request_decision(
    call: &Call,
    settings: &Settings,
    payment: &Payment,
    left_ms: u64,
    trace: Option<&str>,
) -> Result<BankReply, Stop> {
    let fields = wire::to_text(&wire::fields_of(payment))?;
    let mut body = Object::parse(&fields).map_err(|error| Stop::fault(error.to_string()))?;
    body.set("operation", payment.kind.operation().name())?;
    body.set("tenant", call.principal().tenant.as_str())?;
    let (key, body, timeout_ms) = (payment.uetr.as_str(), body.to_text(), settings.bank_ms.min(left_ms));
    ask(call, settings, Question { operation: "decisions", key, body, timeout_ms, trace })
}

pub fn ask_account(call: &Call, settings: &Settings, proxy: &Proxy) -> Result<BankReply, Stop> {
    let fields = [
        (Field::CreditorAccountProxy, proxy.as_str().to_owned()),
        (Field::PaymentScheme, Scheme::ZaRpp.name().to_owned()),
    ];
    let (operation, key, trace) = ("determinations", call.request().id.as_str(), audit::traceparent(call));
    let body = wire::to_text(&fields)?;
    ask(call, settings, Question { operation, key, body, timeout_ms: settings.bank_ms, trace })
}

fn ask(call: &Call, settings: &Settings, question: Question) -> Result<BankReply, Stop> {
    let Question { operation, key, body, timeout_ms, trace } = question;
    // No time is left: 0 would mean the operator's.
    if timeout_ms == 0 {
        return Ok(BankReply::Nothing);
    }
    let timeout_ms = u32::try_from(timeout_ms).unwrap_or(u32::MAX);
    audit::note_outgoing(call, operation, key, &body, trace)?;
    let mut outgoing = OutgoingCall::new(&settings.bank, "POST", &["/", operation].concat());
    outgoing = outgoing.json(body).timeout_ms(timeout_ms);
    if let Some(trace) = trace {
        outgoing = outgoing.header("traceparent", trace);
    }
    let reply = call.ask_and_wait(key, &outgoing)?;
    let outcome = reply.as_ref().map_or_else(Clone::clone, |response| response.status.to_string());
    audit::note_reply(call, operation, key, &outcome, None)?;
    Ok(match reply {
        Ok(response) if (200..300).contains(&response.status) => understood(&response).unwrap_or(BankReply::Unclear),
        Err(class) if class == NO_SUCH_DESTINATION => BankReply::NotSent,
        Err(class) if UNREADABLE_ANSWERS.contains(&class.as_str()) => BankReply::Unclear,
        _ => BankReply::Nothing,
    })
}

/// Whatever its media type.
fn understood(response: &Response) -> Option<BankReply> {
    let text = match &response.content {
        Content::Json(text) => text,
        Content::Other(blob) => str::from_utf8(&blob.bytes).ok()?,
        Content::Empty => return None,
    };
    let body = wire::reply(text)?;
    match Outcome::of_name(&body.text("transaction_status").ok()??).ok()? {
        Outcome::Approved => {
            let number = body.text("account_number").ok()?;
            let account = number.map(|number| AccountNumber::parse(Field::CreditorAccountNumber, &number));
            account.transpose().ok().map(BankReply::Approved)
        }
        // A no is a no, whatever else stands there.
        Outcome::Rejected => {
            let reason = body.text("status_reason").ok().flatten().and_then(|text| StatusReason::parse(&text).ok());
            Some(BankReply::Rejected(reason.unwrap_or(StatusReason::of(status::NO_REASON_GIVEN))))
        }
    }
}
