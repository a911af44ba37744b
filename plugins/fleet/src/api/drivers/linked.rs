//! Organizations that the operator has linked ask each other for a driver who drives for both: how one asks, and how the other
//! one answers. Which may ask is the operator's word: a destination `company_NAME` that acts for the organization NAME
//! (docs/fleet/organizations.md).
//!
//! Invariants: nobody but this plugin on behalf of a linked organization is told anything: a POST with any other key or token is
//! answered as an id that is none. An answer says nothing of a driver who is not the one asked for.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use serde::{Deserialize, Serialize};
use tenon_plugin::effects::{OutgoingCall, Response};
use tenon_plugin::json::{self, Object};
use tenon_plugin::records::Entry;
use tenon_plugin::{Answer, Call, Content, Level, Outcome, Route, Stop, post};

use super::{show, tokens};
use crate::api::{errors, organizations as companies};
use crate::records::{drivers, logins};
use crate::rules::driver::membership::{Person, is_member};

const FIND: &str = "/v1/linked-drivers";
const OPEN: &str = "/v1/linked-drivers/token";

/// For no consumer, hence not in the document of the interface.
pub const ROUTES: &[Route] = &[post(FIND, "find-linked-driver", find), post(OPEN, "open-linked-driver", open)];

/// This plugin, as the host names a caller that is one and comes from another organization, whose name stands behind.
const OWN_SUBJECT: &str = "plugin:fleet@";
/// Of such a caller: the organization.
const FROM: &str = "organization";

/// Half of what a request has by default: so that one that does not answer is told before the deadline.
const TIMEOUT_MS: u32 = 5_000;

/// The body of both questions.
#[derive(Serialize, Deserialize)]
struct Asked {
    phone: Option<String>,
    email: Option<String>,
}

/// What another organization says.
pub enum Reply {
    /// He drives for it: its answer, where that has a body.
    Known(String),
    Unknown,
    /// Nothing that could be understood.
    Silent,
}

/// Whether he drives for it; `None` until there is a reply.
pub fn ask_whether(call: &Call, organization: &str, person: &Person) -> Option<Reply> {
    ask(call, organization, person, FIND, read_found)
}

/// The answer to the driver's app: the organization, and the driver there with a token.
pub fn ask_to_open(call: &Call, organization: &str, person: &Person) -> Option<Reply> {
    ask(call, organization, person, OPEN, read_opened)
}

fn ask(
    call: &Call,
    organization: &str,
    person: &Person,
    path: &str,
    read: fn(&Response) -> Option<String>,
) -> Option<Reply> {
    if *person == Person::default() {
        return Some(Reply::Unknown);
    }
    let asked = Asked { phone: person.phone.clone(), email: person.email.clone() };
    let Ok(body) = json::to_text(&asked) else { return Some(Reply::Silent) };
    let destination = companies::id_of(organization);
    // Who was changed meanwhile is another question.
    let key = [path, " ", &destination, " ", &body].concat();
    let outgoing = OutgoingCall::new(&destination, "POST", path).json(body).timeout_ms(TIMEOUT_MS);
    // Asked twice, it gives one token.
    let outgoing =
        if path == OPEN { outgoing.header("idempotency-key", &idempotency_key(call, &key)) } else { outgoing };
    let why = match call.ask(&key, &outgoing)? {
        Ok(response) if response.status == 404 => return Some(Reply::Unknown),
        Ok(response) => match read(&response) {
            Some(text) => return Some(Reply::Known(text)),
            None => ["answered with ", &response.status.to_string()].concat(),
        },
        // Named in the settings, and not linked, or for the other environment alone.
        Err(class) if class == "no-such-destination" => {
            call.log(Level::Warn, "a linked organization has no destination", &[("destination", &destination)]);
            return Some(Reply::Unknown);
        }
        Err(class) => class,
    };
    let fields = [("organization", organization), ("why", &why)];
    call.log(Level::Warn, "a linked organization did not answer", &fields);
    Some(Reply::Silent)
}

/// A run that is repeated draws the same id, and may ask for a driver who was changed meanwhile: another question has another
/// key.
fn idempotency_key(call: &Call, question: &str) -> String {
    let mut hasher = DefaultHasher::new();
    question.hash(&mut hasher);
    [&call.uuid(), "-", &hasher.finish().to_string()].concat()
}

fn read_found(response: &Response) -> Option<String> {
    (response.status == 204).then(String::new)
}

fn read_opened(response: &Response) -> Option<String> {
    let Content::Json(text) = &response.content else { return None };
    let opened = Object::parse(text).ok().filter(|_| response.status == 200)?;
    let driver = Object::parse(opened.given("driver")?).ok()?;
    (opened.given("organization").is_some() && driver.text("token").ok()?.is_some()).then(|| text.clone())
}

fn find(call: &Call) -> Outcome {
    asking(call)?;
    member(call).map(|_| Answer::empty())
}

fn open(call: &Call) -> Outcome {
    let from = asking(call)?;
    let entry = member(call)?;
    let token = tokens::issue(call, &entry.id);
    let mut answer = Object::default();
    answer.set_raw("organization", companies::text(call)?);
    answer.set_raw("driver", show::with_token(call, &entry.body, &token)?);
    call.log(Level::Info, "a driver came from another organization", &[("driver", &entry.id), ("organization", from)]);
    Ok(Answer::ok(answer.to_text()))
}

/// The organization that the operator lets ask; 404 for everybody else, as for an id that is none.
fn asking<'a>(call: &Call<'a>) -> Result<&'a str, Stop> {
    let principal = call.principal();
    let is_own = |from: &&str| principal.kind == "plugin" && principal.subject == [OWN_SUBJECT, *from].concat();
    call.attribute(FROM).filter(is_own).ok_or_else(errors::not_found)
}

/// The driver who is asked for; 404 where none is him, or he drives for us no longer.
fn member(call: &Call) -> Result<Entry, Stop> {
    let Asked { phone, email } = call.json()?;
    let asked = Person::read(&phone.unwrap_or_default(), &email.unwrap_or_default());
    for identity in asked.identities() {
        let Some((driver, login)) = logins::find(call, &identity)? else { continue };
        let entry = drivers::load(call, &driver)?;
        let status = drivers::status_of(&entry.body)?;
        if is_member(&asked, &Person::read(&login.phone, &login.email), status) {
            return Ok(entry);
        }
    }
    Err(errors::not_found())
}
