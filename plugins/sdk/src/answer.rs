//! How a handler ends: an answer (its changes are applied), a refusal (a business "no": nothing changes), a fault (broken).
//!
//! Owns these three outcomes and their way to the wire. Never words a refusal: the plugin's `words` turns it into a body.

use std::borrow::Cow;

use crate::bindings::exports::tenon::plugin::handler::{Answer as WireAnswer, Feed};
use crate::bindings::tenon::plugin::types::{Blob, Content, Pair, Response};
use crate::host::{LedgerRefusal, RecordRefusal, SubscriptionRefusal};

/// What a handler returns. `Ok` commits, also with an error status; `Err` changes nothing but the journal.
pub type Outcome = Result<Answer, Stop>;

/// An answer whose changes are applied before the caller gets it, or a stream of events.
#[derive(Clone, Debug)]
pub struct Answer {
    wire: WireAnswer,
}

impl Answer {
    /// `body` is one JSON text.
    pub fn new(status: u16, body: String) -> Answer {
        Answer::of(Response { status, headers: Vec::new(), content: Content::Json(body) })
    }

    /// 200. `body` is one JSON text.
    pub fn ok(body: String) -> Answer {
        Answer::new(200, body)
    }

    /// 201. `body` is one JSON text.
    pub fn created(body: String) -> Answer {
        Answer::new(201, body)
    }

    /// 204, without a body.
    pub fn empty() -> Answer {
        Answer::of(Response { status: 204, headers: Vec::new(), content: Content::Empty })
    }

    /// 200, of another media type than JSON: a page for people ("text/html; charset=utf-8"), a file.
    pub fn of_media_type(media_type: &str, bytes: Vec<u8>) -> Answer {
        let blob = Blob { media_type: media_type.to_owned(), bytes };
        Answer::of(Response { status: 200, headers: Vec::new(), content: Content::Other(blob) })
    }

    /// A live stream of the tenant's events (text/event-stream); nothing else of the call is applied. Empty lists mean all.
    pub fn stream(event_types: Vec<String>, subjects: Vec<String>) -> Answer {
        Answer { wire: WireAnswer::Stream(Feed { event_types, subjects }) }
    }

    /// The host adds content-type, content-length, date and x-request-id by itself; those of a stream are all its own.
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

/// Why a handler ended without an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Stop {
    /// A business "no", for the caller.
    Refusal(Refusal),
    /// Broken, for the operator: logged, never shown to the caller.
    Fault(String),
    /// A question has no reply yet: the host calls again, from the start, when it has.
    Wait,
}

impl Stop {
    pub fn fault(text: impl Into<String>) -> Stop {
        Stop::Fault(text.into())
    }
}

/// A business "no" before it is worded: a stable code and the sentences that explain it.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    pub status: u16,
    /// Stable: callers compare it.
    pub code: &'static str,
    /// For people; at least one, without internals.
    pub messages: Vec<Cow<'static, str>>,
    /// Seconds; sent as `Retry-After`.
    pub retry_after_s: Option<u64>,
}

impl Refusal {
    pub fn new(status: u16, code: &'static str, message: impl Into<Cow<'static, str>>) -> Refusal {
        Refusal::of_messages(status, code, vec![message.into()])
    }

    /// Of several sentences, e.g. one for each field that is wrong.
    pub fn of_messages(status: u16, code: &'static str, messages: Vec<Cow<'static, str>>) -> Refusal {
        Refusal { status, code, messages, retry_after_s: None }
    }

    /// Sets `Retry-After`: the time after which the caller should try again.
    pub fn retry_after(mut self, seconds: u64) -> Refusal {
        self.retry_after_s = Some(seconds);
        self
    }

    /// The first sentence.
    pub fn message(&self) -> &str {
        self.messages.first().map_or(self.code, |message| message.as_ref())
    }
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Stop {
        Stop::Refusal(refusal)
    }
}

/// A refusal of the host that the handler did not foresee is a fault. One that it did foresee it matches.
impl From<RecordRefusal> for Stop {
    fn from(refusal: RecordRefusal) -> Stop {
        Stop::Fault(["records: ", refusal_text(&refusal).as_str()].concat())
    }
}

impl From<LedgerRefusal> for Stop {
    fn from(refusal: LedgerRefusal) -> Stop {
        let text = match &refusal {
            LedgerRefusal::Insufficient(account) => ["insufficient: ", account.as_str()].concat(),
            LedgerRefusal::Malformed(what) => ["malformed: ", what.as_str()].concat(),
            LedgerRefusal::AlreadyPosted(id) => ["already posted: ", id.as_str()].concat(),
            LedgerRefusal::Other(text) => text.clone(),
        };
        Stop::Fault(["transfers were refused: ", text.as_str()].concat())
    }
}

impl From<SubscriptionRefusal> for Stop {
    fn from(refusal: SubscriptionRefusal) -> Stop {
        let text = match &refusal {
            SubscriptionRefusal::NotAUrl(why) | SubscriptionRefusal::AddressNotAllowed(why) => why.clone(),
            SubscriptionRefusal::HttpsRequired => "https is required".to_owned(),
            SubscriptionRefusal::TooMany(most) => ["there are ", &most.to_string(), " already"].concat(),
            SubscriptionRefusal::Malformed(why) => ["malformed: ", why.as_str()].concat(),
        };
        Stop::Fault(["an endpoint was refused: ", text.as_str()].concat())
    }
}

fn refusal_text(refusal: &RecordRefusal) -> String {
    match refusal {
        RecordRefusal::NotFound => "there is no such record".to_owned(),
        RecordRefusal::AlreadyExists => "the record exists already".to_owned(),
        RecordRefusal::NotUnique(index) => ["another record has the same values in index ", index.as_str()].concat(),
        RecordRefusal::TooLarge => "the record is too large".to_owned(),
        RecordRefusal::BadCursor => "no page of this query ended at that cursor".to_owned(),
        RecordRefusal::Other(text) => text.clone(),
    }
}
