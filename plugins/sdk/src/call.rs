//! One call, as a handler sees it: the request, and what may be asked of the host.
//!
//! Owns the reading of parameters, queries and bodies. Bodies are refused here, in the interface's own wording, when they
//! are not JSON or nest deeper than [`json::DEPTH_MAX`](crate::json::DEPTH_MAX). Never keeps anything between calls.

use std::cell::Cell;

use serde::Deserialize;

use crate::answer::{Refusal, Stop};
use crate::bindings::exports::tenon::plugin::handler::Request;
use crate::bindings::tenon::plugin::types::{Content, Pair, Principal};
use crate::chains::Chains;
use crate::credentials::Credentials;
use crate::destinations::Destinations;
use crate::effects::{Effects, OutgoingCall, Response};
#[cfg(target_arch = "wasm32")]
use crate::host::Host;
use crate::host::{FeedFilter, FeedPage, HostRef, Level};
use crate::json::{self, Object};
use crate::keyring::Keyring;
use crate::ledger::Ledger;
use crate::plugin::Plugin;
use crate::records::Records;
use crate::subscriptions::Subscriptions;
use crate::tasks::Tasks;

pub struct Call<'a> {
    plugin: &'a Plugin,
    host: HostRef<'a>,
    request: &'a Request,
    /// The handler may have used the time or the id of the call, which differ between equal requests.
    is_unique: Cell<bool>,
}

impl<'a> Call<'a> {
    pub(crate) fn new(plugin: &'a Plugin, host: HostRef<'a>, request: &'a Request) -> Call<'a> {
        Call { plugin, host, request, is_unique: Cell::new(false) }
    }

    /// All that the host passed on. The answer of a GET whose handler uses this is not cached, because it may depend on the time
    /// or the id of the call; [`Call::path`] and [`Call::pairs`] avoid that.
    pub fn request(&self) -> &'a Request {
        self.is_unique.set(true);
        self.request
    }

    /// Milliseconds since 1970-01-01T00:00:00Z; the same through the whole call. The answer of a GET whose handler uses it is not
    /// cached.
    pub fn now(&self) -> u64 {
        self.is_unique.set(true);
        self.request.now
    }

    /// Whether an equal request may get another answer although nothing that was read has changed.
    pub(crate) fn is_unique(&self) -> bool {
        self.is_unique.get()
    }

    /// The path as sent.
    pub fn path(&self) -> &'a str {
        &self.request.path
    }

    /// All query parameters, in the order of the address.
    pub fn pairs(&self) -> &'a [Pair] {
        &self.request.query
    }

    /// Who calls.
    pub fn principal(&self) -> &'a Principal {
        &self.request.principal
    }

    /// The tenant without its environment: "acme" of "acme/test".
    pub fn organization(&self) -> &'a str {
        let tenant = self.request.principal.tenant.as_str();
        tenant.rsplit_once('/').map_or(tenant, |(organization, _)| organization)
    }

    /// A `{name}` of the route's path; "" where the path has none of that name.
    pub fn parameter(&self, name: &str) -> &'a str {
        value_of(&self.request.parameters, name).unwrap_or_default()
    }

    /// A query parameter; of several of one name the last.
    pub fn query(&self, name: &str) -> Option<&'a str> {
        value_of(&self.request.query, name)
    }

    /// A header that the route asks for, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&'a str> {
        value_of(&self.request.headers, name)
    }

    /// A named value that the route asks for: "base-url", "client-address", "idempotency-key".
    pub fn context(&self, name: &str) -> Option<&'a str> {
        value_of(&self.request.context, name)
    }

    /// The body as a typed value. What is not JSON is "malformed-request"; JSON of another shape is the plugin's `invalid`.
    pub fn json<T: Deserialize<'a>>(&self) -> Result<T, Stop> {
        let text = self.body()?;
        serde_json::from_str(text).map_err(|error| {
            if error.is_data() { self.invalid(json::explain(&error)).into() } else { self.malformed().into() }
        })
    }

    /// The body as an object whose values stay JSON text. Without a body: an empty object.
    pub fn object(&self) -> Result<Object<'a>, Stop> {
        let text = self.body()?;
        Object::parse(text).map_err(|error| {
            if error.is_data() {
                self.invalid("The body must be a JSON object.".to_owned()).into()
            } else {
                self.malformed().into()
            }
        })
    }

    /// The same for a route that requires a body: without one the request is malformed.
    pub fn required_object(&self) -> Result<Object<'a>, Stop> {
        match &self.request.content {
            Content::Empty => Err(self.malformed().into()),
            Content::Json(_) | Content::Other(_) => self.object(),
        }
    }

    /// The body as bytes, for routes with media types of their own.
    pub fn bytes(&self) -> &'a [u8] {
        match &self.request.content {
            Content::Empty => &[],
            Content::Json(text) => text.as_bytes(),
            Content::Other(blob) => &blob.bytes,
        }
    }

    fn body(&self) -> Result<&'a str, Stop> {
        match &self.request.content {
            Content::Empty => Ok("{}"),
            Content::Json(text) if json::nests_within(text, json::DEPTH_MAX) => Ok(text),
            Content::Json(_) | Content::Other(_) => Err(self.malformed().into()),
        }
    }

    /// In the wording of the host's own failure of that name.
    fn malformed(&self) -> Refusal {
        self.plugin.failure("malformed-request", 400, "The body is not a JSON text that this interface can read.")
    }

    fn invalid(&self, message: String) -> Refusal {
        Refusal::new(self.plugin.invalid.status, self.plugin.invalid.code, message)
    }

    /// The records of one collection.
    pub fn records(&self, collection: &'a str) -> Records<'a> {
        Records::new(self.host, collection)
    }

    /// Of the calls that name the same guard, one commits at a time, each seeing what the one before it did.
    pub fn guard(&self, name: &str) {
        self.host.records_guard(name);
    }

    pub fn ledger(&self) -> Ledger<'a> {
        Ledger::new(self.host)
    }

    /// Emits an event of a declared type after the commit; gives its id. Events of one subject stay in order. `payload` is
    /// one JSON text.
    pub fn emit(&self, event_type: &str, subject: &str, payload: &str) -> String {
        self.host.events_emit(event_type, subject, payload)
    }

    /// The events of this tenant after one of them, in the order of their commits; at most 100. A reader that goes on with
    /// `next` of the page before misses none. `None`: `after` is no event of the tenant, or is not kept any more.
    pub fn feed(&self, filter: &FeedFilter, after: Option<&str>, limit: u32) -> Option<FeedPage> {
        self.host.events_list(filter, after, limit)
    }

    /// Where the events of this tenant are delivered to.
    pub fn subscriptions(&self) -> Subscriptions<'a> {
        Subscriptions::new(self.host)
    }

    /// Durable timers.
    pub fn tasks(&self) -> Tasks<'a> {
        Tasks::new(self.host)
    }

    /// Calls after the commit.
    pub fn effects(&self) -> Effects<'a> {
        Effects::new(self.host)
    }

    /// Asks before deciding; `None` until there is a reply: ask whatever else is needed, then end with [`Stop::Wait`]. The
    /// inner `Err` says why there is no answer ("timeout", …). Only for calls that read, or are idempotent by themselves.
    pub fn ask(&self, key: &str, call: &OutgoingCall) -> Option<Result<Response, String>> {
        self.host.questions_ask(key, call)
    }

    /// The same for who needs nothing else meanwhile: `?` waits.
    pub fn ask_and_wait(&self, key: &str, call: &OutgoingCall) -> Result<Result<Response, String>, Stop> {
        self.ask(key, call).ok_or(Stop::Wait)
    }

    /// Where calls of this tenant may go, besides what the operator named.
    pub fn destinations(&self) -> Destinations<'a> {
        Destinations::new(self.host)
    }

    /// Keys and tokens of this interface, and passwords.
    pub fn credentials(&self) -> Credentials<'a> {
        Credentials::new(self.host)
    }

    /// Keys of the tenant on blockchains.
    pub fn keyring(&self) -> Keyring<'a> {
        Keyring::new(self.host)
    }

    /// Blockchains.
    pub fn chains(&self) -> Chains<'a> {
        Chains::new(self.host)
    }

    /// What the plugin attached under this name when it issued the credential. Of a plugin that acts for another organization
    /// than its own, "organization" says from where it comes.
    pub fn attribute(&self, name: &str) -> Option<&'a str> {
        value_of(&self.request.principal.attributes, name)
    }

    /// A random UUID.
    pub fn uuid(&self) -> String {
        self.host.ids_uuid()
    }

    /// "order_" and ten random characters of a–z and 0–9.
    pub fn public_id(&self, prefix: &str) -> String {
        self.host.ids_public_id(prefix)
    }

    pub fn random(&self, length: u32) -> Vec<u8> {
        self.host.ids_random(length)
    }

    /// 1, 2, 3, … for a name and tenant; never the same twice, gaps are possible.
    pub fn next(&self, name: &str) -> u64 {
        self.host.ids_next(name)
    }

    /// Adds a line, one JSON text, to the tenant's journal; it stays also where the handler refuses.
    pub fn journal(&self, entry: &str) {
        self.host.journal_append(entry);
    }

    /// A value of the plugin's own section of plugins.toml. What has another shape is a fault, for the operator.
    pub fn config<T: serde::de::DeserializeOwned>(&self, key: &str) -> Result<Option<T>, Stop> {
        let Some(text) = self.host.config_get(key) else { return Ok(None) };
        serde_json::from_str(&text)
            .map(Some)
            .map_err(|error| Stop::fault(["setting ", key, ": ", &error.to_string()].concat()))
    }

    pub fn log(&self, level: Level, message: &str, fields: &[(&str, &str)]) {
        let pair = |(name, value): &(&str, &str)| Pair { name: (*name).to_owned(), value: (*value).to_owned() };
        let fields: Vec<Pair> = fields.iter().map(pair).collect();
        self.host.log_write(level, message, &fields);
    }
}

fn value_of<'a>(pairs: &'a [Pair], name: &str) -> Option<&'a str> {
    pairs.iter().rev().find(|pair| pair.name == name).map(|pair| pair.value.as_str())
}
