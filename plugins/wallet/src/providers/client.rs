//! Asking a provider, and what its answers mean (docs/wallet/providers.md: In common).

use serde::Deserialize;
use serde::de::DeserializeOwned;
use tenon_plugin::effects::{OutgoingCall, Response};
use tenon_plugin::{Call, Content, Stop, json};

use crate::rules::code::Code;
use crate::{ids, words};

/// What a provider said.
#[derive(Clone, Debug)]
pub enum Reply {
    /// One JSON text.
    Good(String),
    /// A refusal that stays one.
    Refused { status: u16, code: String },
    /// Nothing that could be understood: it may have been taken or not.
    Silent,
}

#[derive(Deserialize)]
struct Refused {
    code: String,
}

/// Longest code that is kept of a refusal.
const CODE_CHARS_MAX: usize = 64;

pub fn read(response: &Response) -> Reply {
    let Content::Json(text) = &response.content else { return Reply::Silent };
    if !json::nests_within(text, json::DEPTH_MAX) {
        return Reply::Silent;
    }
    match response.status {
        200 | 201 => Reply::Good(text.clone()),
        // Credentials are the operator's business: repairing them changes the answer.
        401 | 403 | 408 | 425 | 429 => Reply::Silent,
        status @ 400..500 => match serde_json::from_str::<Refused>(text) {
            Ok(Refused { code }) => Reply::Refused { status, code: code.chars().take(CODE_CHARS_MAX).collect() },
            Err(_) => Reply::Silent,
        },
        _ => Reply::Silent,
    }
}

/// A question; a POST among them moves nothing, and carries the key of the call that asks.
pub fn ask(call: &Call, destination: &str, path: &str, body: Option<String>) -> Result<Reply, Stop> {
    let asked =
        call.ask_and_wait(&key(destination, path, body.as_deref()), &outgoing(call, destination, path, body))?;
    Ok(asked.map_or(Reply::Silent, |response| read(&response)))
}

/// The same for who asks several things at once: `None` until there is a reply.
pub fn ask_beside(call: &Call, destination: &str, path: &str) -> Option<Reply> {
    let asked = call.ask(&key(destination, path, None), &outgoing(call, destination, path, None))?;
    Some(asked.map_or(Reply::Silent, |response| read(&response)))
}

fn key(destination: &str, path: &str, body: Option<&str>) -> String {
    ids::fingerprint(&[destination, path, body.unwrap_or_default()])
}

fn outgoing(call: &Call, destination: &str, path: &str, body: Option<String>) -> OutgoingCall {
    match body {
        None => OutgoingCall::new(destination, "GET", path),
        Some(body) => {
            let once = ids::fingerprint(&[&call.request().id, destination, path, &body]);
            OutgoingCall::new(destination, "POST", path).header("idempotency-key", &once).json(body)
        }
    }
}

/// The typed answer to a question, or the "no" in this interface's words.
pub fn understood<T: DeserializeOwned>(reply: Reply) -> Result<T, Stop> {
    match reply {
        Reply::Good(text) => serde_json::from_str(&text).map_err(|_| unanswered()),
        Reply::Refused { code, .. } => Err(refused(&code)),
        Reply::Silent => Err(unanswered()),
    }
}

/// Returns the refusal for a reply that is missing or cannot be read.
pub fn unanswered() -> Stop {
    words::unanswered("The provider does not answer; nothing was changed")
}

/// By the field that it is about.
pub fn refused(code: &str) -> Stop {
    match code {
        "CURRENCY_NOT_SUPPORTED" => words::wrong("currency", "one_of", "must be a supported currency"),
        "INSTITUTION_NOT_FOUND" => words::wrong("institution_identifier", "institution", "must be a known institution"),
        "ACCOUNT_NOT_FOUND" => words::wrong("account_identifier", "account", "must be an account of the institution"),
        "ACCOUNT_BLOCKED" => words::wrong("account_identifier", "account", "may not be paid"),
        "ROUTE_NOT_SUPPORTED" => words::failed(Code::SwapFailed, "No route for this asset"),
        "AMOUNT_TOO_SMALL" => words::wrong("amount", "range", "must not be below the minimum"),
        "AMOUNT_TOO_LARGE" => words::wrong("amount", "range", "must not be above the maximum"),
        "NOT_FOUND" => words::not_found(),
        "INVALID_REQUEST" => words::failed(Code::ValidationError, "The provider does not take this request"),
        _ => unanswered(),
    }
}
