//! A transaction of either side: the rules' record, and what is kept beside it.
//!
//! Invariant: what was stored reads back as the same record; one that does not is a fault. The history only grows.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tenon_plugin::records::{Comparison, Page, RecordRefusal, Search, Value};
use tenon_plugin::{Call, Stop, json, time};

use super::OUTBOUND;
use crate::rules::concern::Concern;
use crate::rules::content::Content;
use crate::rules::inbound::Inbound;
use crate::rules::invalid::Field;
use crate::rules::kind::Kind;
use crate::rules::message::Payment;
use crate::rules::outbound::Outbound;
use crate::rules::scheme::Operation;
use crate::rules::state::State;
use crate::rules::step::{Delivery, Staged};
use crate::rules::uetr::Uetr;
use crate::settings::Side;
use crate::{wire, words};

/// Lines of a history: far more than a payment has stages; repeats make none.
const HISTORY_LINES_MAX: usize = 200;

/// One thing that happened to a transaction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    pub at: String,
    pub event: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
}

/// What is kept beside the rules' record.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    /// On a platform: for whom the payment is.
    pub partner: Option<String>,
    pub received_ms: u64,
    pub history: Vec<Line>,
    /// By operation: what a repeat must have in common with what was accepted.
    contents: BTreeMap<String, BTreeMap<String, String>>,
    /// Of the message that began it (W3C Trace Context).
    pub traceparent: Option<String>,
}

/// A transaction, stored or about to be.
#[derive(Clone, Debug, PartialEq)]
pub struct Transaction<R> {
    pub record: R,
    pub kept: Kept,
    is_stored: bool,
    /// A content was kept that is not stored yet.
    is_noted: bool,
}

/// A record of one of the sides, as it is shown.
pub trait View: Staged + Clone + PartialEq {
    const COLLECTION: &'static str;
    type Text: Serialize + DeserializeOwned;

    fn payment(&self) -> &Payment;
    fn concerns(&self) -> Vec<Concern>;
    fn to_text(&self, kept: &Kept) -> Result<Self::Text, Stop>;
    /// `None`: no record of this side was ever written so.
    fn from_text(text: &Self::Text) -> Option<Self>;
    fn kept(text: Self::Text) -> (Option<String>, String, Vec<Line>);
}

#[derive(Serialize, Deserialize)]
struct Stored<T> {
    transaction: T,
    kept: KeptText,
}

#[derive(Serialize, Deserialize)]
struct KeptText {
    contents: BTreeMap<String, BTreeMap<String, String>>,
    traceparent: Option<String>,
}

impl<R: View> Transaction<R> {
    pub fn new(record: R, partner: Option<String>, now_ms: u64) -> Transaction<R> {
        let kept =
            Kept { partner, received_ms: now_ms, history: Vec::new(), contents: BTreeMap::new(), traceparent: None };
        Transaction { record, kept, is_stored: false, is_noted: true }
    }

    /// Whether it was never stored.
    pub fn is_new(&self) -> bool {
        !self.is_stored
    }

    pub fn uetr(&self) -> &Uetr {
        &self.record.payment().uetr
    }

    /// What was accepted of this operation, if anything was.
    pub fn content(&self, operation: Operation) -> Option<Content> {
        let fields = self.kept.contents.get(operation.name())?;
        let fields = fields.iter().filter_map(|(name, text)| Some((Field::of_name(name)?, text)));
        Some(fields.fold(Content::default(), |content, (field, text)| content.with(field, text.as_str())))
    }

    pub fn keep_content(&mut self, operation: Operation, content: &Content) {
        let fields = content.fields().map(|(field, text)| (field.name().to_owned(), text.to_owned()));
        self.kept.contents.insert(operation.name().to_owned(), fields.collect());
        self.is_noted = true;
    }

    pub fn note(&mut self, now_ms: u64, event: &str, edge: Option<(&str, &str)>) {
        if self.kept.history.len() < HISTORY_LINES_MAX {
            let (from, to) = edge.map(|(from, to)| (from.to_owned(), to.to_owned())).unzip();
            self.kept.history.push(Line { at: time::to_text(now_ms), event: event.to_owned(), from, to });
        }
    }

    /// Written where it is new, where its record changed, or where a content was kept.
    pub fn save_if(&mut self, call: &Call, is_changed: bool) -> Result<(), Stop> {
        if self.is_stored && !is_changed && !self.is_noted {
            return Ok(());
        }
        let kept = KeptText { contents: self.kept.contents.clone(), traceparent: self.kept.traceparent.clone() };
        let text = json::to_text(&Stored { transaction: self.record.to_text(&self.kept)?, kept })?;
        let records = call.records(R::COLLECTION);
        if self.is_stored {
            records.replace(self.uetr().as_str(), &text)?;
        } else {
            records.insert(self.uetr().as_str(), &text)?;
        }
        (self.is_stored, self.is_noted) = (true, false);
        Ok(())
    }
}

/// `None`: a uetr that this side has never seen.
pub fn load_transaction<R: View>(call: &Call, uetr: &Uetr) -> Result<Option<Transaction<R>>, Stop> {
    let Some(entry) = call.records(R::COLLECTION).get(uetr.as_str()) else { return Ok(None) };
    read_stored(&entry.body).map(Some)
}

fn read_stored<R: View>(body: &str) -> Result<Transaction<R>, Stop> {
    let stored: Stored<R::Text> = json::from_text(body)?;
    let unreadable = || Stop::fault("a stored transaction does not read back");
    let record = R::from_text(&stored.transaction).ok_or_else(unreadable)?;
    let (partner, received_at, history) = R::kept(stored.transaction);
    let received_ms = time::parse(&received_at).ok_or_else(unreadable)?;
    let (contents, traceparent) = (stored.kept.contents, stored.kept.traceparent);
    let kept = Kept { partner, received_ms, history, contents, traceparent };
    Ok(Transaction { record, kept, is_stored: true, is_noted: false })
}

/// Members that both views begin with.
#[derive(Serialize, Deserialize)]
pub struct Beginning {
    pub uetr: String,
    /// Which began it.
    pub operation: String,
    pub state: String,
    /// Whether there are concerns: those that somebody should look at.
    pub needs_attention: bool,
    pub concerns: Vec<String>,
    /// Its fields, as they were sent.
    pub message: Box<RawValue>,
}

impl Beginning {
    pub fn of<R: View>(record: &R) -> Result<Beginning, Stop> {
        let payment = record.payment();
        let concerns: Vec<String> = record.concerns().iter().map(|concern| concern.name().to_owned()).collect();
        let message = wire::to_text(&wire::fields_of(payment))?;
        Ok(Beginning {
            uetr: payment.uetr.as_str().to_owned(),
            operation: payment.kind.operation().name().to_owned(),
            state: record.state().name().to_owned(),
            needs_attention: !concerns.is_empty(),
            concerns,
            message: RawValue::from_string(message).map_err(|error| Stop::fault(error.to_string()))?,
        })
    }

    pub fn payment(operation: &str, message: &RawValue) -> Option<Payment> {
        let kind = Kind::of_operation(operation)?;
        let body = json::Object::parse(message.get()).ok()?;
        wire::read_lenient(&body, |raw| Payment::read(raw, kind)).ok()
    }
}

fn collection(side: Side) -> &'static str {
    match side {
        Side::Partner => Inbound::COLLECTION,
        Side::Platform => Outbound::COLLECTION,
    }
}

/// As they are shown, and where the next page begins.
pub fn find_shown(call: &Call, side: Side, search: &Search) -> Result<(Vec<String>, Option<String>), Stop> {
    let page = call.records(collection(side)).find(search).map_err(bad_cursor)?;
    let shown = page.entries.iter().map(|entry| shown(&entry.body)).collect::<Result<_, _>>()?;
    Ok((shown, page.next))
}

/// One, as it is shown.
pub fn load_shown(call: &Call, side: Side, uetr: &Uetr) -> Result<String, Stop> {
    let entry = call.records(collection(side)).get(uetr.as_str()).ok_or_else(words::not_found)?;
    shown(&entry.body)
}

/// Some of the transactions, where the next ones begin, and how much was read for them.
pub struct Found<R> {
    pub transactions: Vec<Transaction<R>>,
    pub next: Option<String>,
    pub bytes: usize,
}

pub fn find_transactions<R: View>(call: &Call, search: &Search) -> Result<Found<R>, Stop> {
    let Page { entries, next } = call.records(R::COLLECTION).find(search).map_err(bad_cursor)?;
    let transactions = entries.iter().map(|entry| read_stored(&entry.body)).collect::<Result<_, _>>()?;
    Ok(Found { transactions, next, bytes: entries.iter().map(|entry| entry.body.len()).sum() })
}

/// How many transactions have a concern; stops counting at `limit`.
pub fn count_concern(call: &Call, side: Side, concern: Concern, limit: u32) -> u32 {
    let needs_attention = Comparison::Equal(Value::Boolean(true));
    let has = Comparison::Contains(Value::Text(concern.name().to_owned()));
    let search =
        Search::first(1).with("transaction.needs_attention", needs_attention).with("transaction.concerns", has);
    call.records(collection(side)).count(&search, limit)
}

/// Whether there ever was a payment to a partner of this id.
pub fn has_any(call: &Call, partner: &str) -> bool {
    call.records(OUTBOUND).count(&Search::first(1).is("transaction.partner", partner), 1) > 0
}

/// Whether something is under way to this partner, or awaited: from it, or from the scheme.
pub fn has_open(call: &Call, partner: &str) -> bool {
    let of_partner = || Search::first(1).is("transaction.partner", partner);
    let one_of = |names: &[&str]| Comparison::OneOf(names.iter().map(|it| Value::Text((*it).to_owned())).collect());
    let authorised = [Kind::Authorisation, Kind::AuthorisationSync].map(|kind| kind.operation().name());
    let unanswered = one_of(&[State::Received.name(), State::Processing.name()]);
    let tried = one_of(&[Delivery::Underway.name(), Delivery::Unreached.name()]);
    let searches = [
        of_partner().with("transaction.state", unanswered),
        of_partner().with("transaction.delivery", tried),
        of_partner()
            .is("transaction.state", State::Approved.name())
            .with("transaction.operation", one_of(&authorised))
            // An object would count as null.
            .with("transaction.settlement.transaction_status", Comparison::Equal(Value::Null)),
    ];
    searches.iter().any(|search| call.records(OUTBOUND).count(search, 1) > 0)
}

fn shown(body: &str) -> Result<String, Stop> {
    #[derive(Deserialize)]
    struct Shown<'a> {
        #[serde(borrow)]
        transaction: &'a RawValue,
    }
    let shown: Shown = json::from_text(body)?;
    Ok(shown.transaction.get().to_owned())
}

/// Cursors come from callers.
pub(super) fn bad_cursor(refusal: RecordRefusal) -> Stop {
    match refusal {
        RecordRefusal::BadCursor => words::wrong("after", "must be where a page of this list ended"),
        other => other.into(),
    }
}
