//! Results of a handler: an answer (its changes are applied), a refusal (a business rule rejects the call, only the
//! journal changes), or a fault (a defect).
//!
//! Owns these results and their conversion to the wire form. It renders no error body: `Plugin::render_error` does.

use std::borrow::Cow;

use crate::bindings::exports::tenon::plugin::handler::{Answer as WireAnswer, Feed};
use crate::bindings::tenon::plugin::types::{Blob, Content, Pair, Response};
use crate::host::{LedgerRefusal, RecordRefusal, SubscriptionRefusal};

/// Result of a handler. `Ok` applies the changes, even with an error status, unless the answer is a stream. A
/// refusal changes only the journal, and a fault at most the journal. [`Stop::Wait`] changes nothing.
pub type Outcome = Result<Answer, Stop>;

/// Answer of a handler: a response that is sent after the changes of the call are applied, or a stream of events.
#[derive(Clone, Debug)]
pub struct Answer {
    wire: WireAnswer,
}

impl Answer {
    /// Returns an answer with this status. `body` is one JSON text.
    pub fn new(status: u16, body: String) -> Answer {
        Answer::of(Response { status, headers: Vec::new(), content: Content::Json(body) })
    }

    /// Returns an answer with status 200. `body` is one JSON text.
    pub fn ok(body: String) -> Answer {
        Answer::new(200, body)
    }

    /// Returns an answer with status 201. `body` is one JSON text.
    pub fn created(body: String) -> Answer {
        Answer::new(201, body)
    }

    /// Returns an answer with status 204 and no body.
    pub fn empty() -> Answer {
        Answer::of(Response { status: 204, headers: Vec::new(), content: Content::Empty })
    }

    /// Returns an answer with status 200 and a body that is not JSON: a page ("text/html; charset=utf-8") or a file.
    pub fn with_media_type(media_type: &str, bytes: Vec<u8>) -> Answer {
        let blob = Blob { media_type: media_type.to_owned(), bytes };
        Answer::of(Response { status: 200, headers: Vec::new(), content: Content::Other(blob) })
    }

    /// Returns a live stream of the tenant's events (text/event-stream). An empty list selects all. The host applies no
    /// change of the call except its journal entries.
    pub fn stream(event_types: Vec<String>, subjects: Vec<String>) -> Answer {
        Answer { wire: WireAnswer::Stream(Feed { event_types, subjects }) }
    }

    /// Adds a header. The host adds content-type, content-length, date and x-request-id. A stream has only the host's
    /// headers, so an added header has no effect on it.
    pub fn header(mut self, name: &str, value: String) -> Answer {
        if let WireAnswer::Commit(response) = &mut self.wire {
            response.headers.push(Pair { name: name.to_owned(), value });
        }
        self
    }

    fn of(response: Response) -> Answer {
        Answer { wire: WireAnswer::Commit(response) }
    }

    pub(crate) fn into_wire(self) -> WireAnswer {
        self.wire
    }
}

/// Reason why a handler returned no answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Stop {
    /// A business rule rejects the call. The caller gets the refusal.
    Refusal(Refusal),
    /// A defect of the plugin. The host logs the message for the operator and never sends it to the caller.
    Fault(String),
    /// A question has no reply yet. The host calls the handler again, from the start, after the reply.
    Wait,
}

impl Stop {
    /// Returns a fault with this message for the operator.
    pub fn fault(text: impl Into<String>) -> Stop {
        Stop::Fault(text.into())
    }
}

/// Refusal by a business rule: a status, a stable code and messages. `Plugin::render_error` renders its body.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    pub status: u16,
    /// Stable, because callers compare it.
    pub code: &'static str,
    /// Messages for people, at least one. They contain no internals.
    pub messages: Vec<Cow<'static, str>>,
    /// `Retry-After` in seconds.
    pub retry_after_s: Option<u64>,
}

impl Refusal {
    /// Returns a refusal with one message.
    pub fn new(status: u16, code: &'static str, message: impl Into<Cow<'static, str>>) -> Refusal {
        Refusal::with_messages(status, code, vec![message.into()])
    }

    /// Returns a refusal with several messages, for example one for each invalid field.
    pub fn with_messages(status: u16, code: &'static str, messages: Vec<Cow<'static, str>>) -> Refusal {
        Refusal { status, code, messages, retry_after_s: None }
    }

    /// Sets `Retry-After`, the time after which the caller should retry.
    pub fn retry_after(mut self, seconds: u64) -> Refusal {
        self.retry_after_s = Some(seconds);
        self
    }

    /// Returns the first message, or the code if there is none.
    pub fn message(&self) -> &str {
        self.messages.first().map_or(self.code, |message| message.as_ref())
    }
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Stop {
        Stop::Refusal(refusal)
    }
}

/// Converts a refusal of the host to a fault. A handler that expects a refusal matches it instead.
impl From<RecordRefusal> for Stop {
    fn from(refusal: RecordRefusal) -> Stop {
        Stop::Fault(["records: ", refusal_message(&refusal).as_str()].concat())
    }
}

impl From<LedgerRefusal> for Stop {
    fn from(refusal: LedgerRefusal) -> Stop {
        let text = match &refusal {
            LedgerRefusal::Insufficient(account) => ["insufficient balance of account ", account.as_str()].concat(),
            LedgerRefusal::Malformed(message) => ["malformed transfer: ", message.as_str()].concat(),
            LedgerRefusal::AlreadyPosted(id) => ["transfer was already posted: ", id.as_str()].concat(),
            LedgerRefusal::Other(text) => text.clone(),
        };
        Stop::Fault(["ledger: ", text.as_str()].concat())
    }
}

impl From<SubscriptionRefusal> for Stop {
    fn from(refusal: SubscriptionRefusal) -> Stop {
        let text = match &refusal {
            SubscriptionRefusal::NotAUrl(message) | SubscriptionRefusal::AddressNotAllowed(message) => message.clone(),
            SubscriptionRefusal::HttpsRequired => "the URL must begin with https://".to_owned(),
            SubscriptionRefusal::TooMany(max) => ["the tenant already has ", &max.to_string(), " endpoints"].concat(),
            SubscriptionRefusal::Malformed(message) => ["malformed endpoint: ", message.as_str()].concat(),
        };
        Stop::Fault(["subscriptions: ", text.as_str()].concat())
    }
}

fn refusal_message(refusal: &RecordRefusal) -> String {
    match refusal {
        RecordRefusal::NotFound => "the record does not exist".to_owned(),
        RecordRefusal::AlreadyExists => "the record already exists".to_owned(),
        RecordRefusal::NotUnique(index) => ["another record has the same values in index ", index.as_str()].concat(),
        RecordRefusal::TooLarge => "the record is too large".to_owned(),
        RecordRefusal::BadCursor => "the cursor is not from a page of this query".to_owned(),
        RecordRefusal::Other(text) => text.clone(),
    }
}
