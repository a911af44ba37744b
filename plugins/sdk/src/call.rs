//! Context of one call: the request and the interfaces of the host.
//!
//! Owns the reading of parameters, queries and bodies. A body that is not JSON or nests deeper than
//! [`json::DEPTH_MAX`](crate::json::DEPTH_MAX) is refused here, with the plugin's own error body. A call keeps no state
//! for later calls.

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

/// A call of a handler.
pub struct Call<'a> {
    plugin: &'a Plugin,
    host: HostRef<'a>,
    request: &'a Request,
    /// Whether the handler may have used the time or the id of the call, which differ between equal requests.
    is_unique: Cell<bool>,
}

impl<'a> Call<'a> {
    pub(crate) fn new(plugin: &'a Plugin, host: HostRef<'a>, request: &'a Request) -> Call<'a> {
        Call { plugin, host, request, is_unique: Cell::new(false) }
    }

    /// Returns the whole request. The answer of a GET whose handler uses this is not cached, because it may depend on
    /// the time or the id of the call. [`Call::path`] and [`Call::pairs`] avoid that.
    pub fn request(&self) -> &'a Request {
        self.is_unique.set(true);
        self.request
    }

    /// Returns the time of the call in milliseconds since 1970-01-01T00:00:00Z. It is constant during a call. The
    /// answer of a GET whose handler uses it is not cached.
    pub fn now(&self) -> u64 {
        self.is_unique.set(true);
        self.request.now
    }

    /// Returns true if an equal request may get a different answer although no record or setting that the call read has
    /// changed.
    pub(crate) fn is_unique(&self) -> bool {
        self.is_unique.get()
    }

    /// Returns the path as sent.
    pub fn path(&self) -> &'a str {
        &self.request.path
    }

    /// Returns all query parameters, in the order of the URL.
    pub fn pairs(&self) -> &'a [Pair] {
        &self.request.query
    }

    /// Returns the authenticated caller.
    pub fn principal(&self) -> &'a Principal {
        &self.request.principal
    }

    /// Returns the tenant without its environment: "acme" for "acme/test".
    pub fn organization(&self) -> &'a str {
        let tenant = self.request.principal.tenant.as_str();
        tenant.rsplit_once('/').map_or(tenant, |(organization, _)| organization)
    }

    /// Returns a `{name}` of the route's path, or "" if the path has no such parameter.
    pub fn parameter(&self, name: &str) -> &'a str {
        value_of(&self.request.parameters, name).unwrap_or_default()
    }

    /// Returns a query parameter. If the query repeats it, the last value counts.
    pub fn query(&self, name: &str) -> Option<&'a str> {
        value_of(&self.request.query, name)
    }

    /// Returns a header that the route declares, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&'a str> {
        value_of(&self.request.headers, name)
    }

    /// Returns a context value that the route declares: "base-url", "client-address" or "idempotency-key".
    pub fn context(&self, name: &str) -> Option<&'a str> {
        value_of(&self.request.context, name)
    }

    /// Deserializes the body. A request without a body counts as `{}`.
    ///
    /// # Errors
    ///
    /// Refuses a body that is not JSON, or nests too deep, with the template "malformed-request". Refuses
    /// JSON of a different shape with the status and code of [`Plugin::invalid()`](crate::Plugin::invalid()).
    pub fn json<T: Deserialize<'a>>(&self) -> Result<T, Stop> {
        let text = self.body()?;
        serde_json::from_str(text).map_err(|error| {
            if error.is_data() { self.invalid(json::explain(&error)).into() } else { self.malformed().into() }
        })
    }

    /// Parses the body as an object whose values stay JSON text. A request without a body gives an empty object.
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

    /// Parses the body like [`Call::object`], and refuses a request without a body as malformed.
    pub fn required_object(&self) -> Result<Object<'a>, Stop> {
        match &self.request.content {
            Content::Empty => Err(self.malformed().into()),
            Content::Json(_) | Content::Other(_) => self.object(),
        }
    }

    /// Returns the body as bytes, for routes that accept other media types.
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

    /// Returns the plugin's refusal for the host's error "malformed-request".
    fn malformed(&self) -> Refusal {
        self.plugin.host_error(
            "malformed-request",
            400,
            "The body must be valid JSON with at most 32 levels of nesting.",
        )
    }

    fn invalid(&self, message: String) -> Refusal {
        Refusal::new(self.plugin.invalid.status, self.plugin.invalid.code, message)
    }

    /// Returns the records of one collection.
    pub fn records(&self, collection: &'a str) -> Records<'a> {
        Records::new(self.host, collection)
    }

    /// Serializes this call with other calls that name the same guard: they commit one at a time, and each call
    /// reads the changes of the previous call.
    pub fn guard(&self, name: &str) {
        self.host.records_guard(name);
    }

    /// Returns the double-entry accounts of the plugin and tenant.
    pub fn ledger(&self) -> Ledger<'a> {
        Ledger::new(self.host)
    }

    /// Emits an event of a declared type when the call commits, and returns its id. Events of one subject stay in
    /// order. `payload` is one JSON text.
    pub fn emit(&self, event_type: &str, subject: &str, payload: &str) -> String {
        self.host.events_emit(event_type, subject, payload)
    }

    /// Returns at most 100 events of the tenant after the event `after`, in commit order. A reader that continues with
    /// `next` of the previous page misses no event. Returns `None` if `after` is not an event of the tenant, or is no
    /// longer retained.
    pub fn feed(&self, filter: &FeedFilter, after: Option<&str>, limit: u32) -> Option<FeedPage> {
        self.host.events_list(filter, after, limit)
    }

    /// Returns the webhook endpoints of the tenant.
    pub fn subscriptions(&self) -> Subscriptions<'a> {
        Subscriptions::new(self.host)
    }

    /// Returns the durable timers.
    pub fn tasks(&self) -> Tasks<'a> {
        Tasks::new(self.host)
    }

    /// Returns the outgoing calls that the host makes after the commit.
    pub fn effects(&self) -> Effects<'a> {
        Effects::new(self.host)
    }

    /// Asks a question: makes an outgoing call before the decision. Use it only for calls that read or are idempotent.
    ///
    /// Returns `None` until there is a reply. The handler then asks its other questions and returns [`Stop::Wait`]. The
    /// inner `Err` is the reason why there is no response ("timeout", …).
    pub fn ask(&self, key: &str, call: &OutgoingCall) -> Option<Result<Response, String>> {
        self.host.questions_ask(key, call)
    }

    /// Asks a question like [`Call::ask`], and returns [`Stop::Wait`] while there is no reply.
    pub fn ask_and_wait(&self, key: &str, call: &OutgoingCall) -> Result<Result<Response, String>, Stop> {
        self.ask(key, call).ok_or(Stop::Wait)
    }

    /// Returns the tenant's own destinations of outgoing calls. The operator's destinations are not among them.
    pub fn destinations(&self) -> Destinations<'a> {
        Destinations::new(self.host)
    }

    /// Returns the API keys, tokens and passwords of this interface.
    pub fn credentials(&self) -> Credentials<'a> {
        Credentials::new(self.host)
    }

    /// Returns the blockchain keys of the tenant.
    pub fn keyring(&self) -> Keyring<'a> {
        Keyring::new(self.host)
    }

    /// Returns the blockchains.
    pub fn chains(&self) -> Chains<'a> {
        Chains::new(self.host)
    }

    /// Returns the attribute of this name that the plugin attached when it issued the credential. If the caller is a
    /// plugin that acts for another organization than its own, the attribute "organization" is the caller's own
    /// organization.
    pub fn attribute(&self, name: &str) -> Option<&'a str> {
        value_of(&self.request.principal.attributes, name)
    }

    /// Returns a new UUID of version 7.
    pub fn uuid(&self) -> String {
        self.host.ids_uuid()
    }

    /// Returns `prefix`, "_" and ten random characters of a–z and 0–9: "order_k2v9…".
    pub fn public_id(&self, prefix: &str) -> String {
        self.host.ids_public_id(prefix)
    }

    /// Returns `length` random bytes.
    pub fn random(&self, length: u32) -> Vec<u8> {
        self.host.ids_random(length)
    }

    /// Returns the next number (1, 2, 3, …) of a counter of the tenant. Numbers are never reused. Gaps are possible.
    pub fn next(&self, name: &str) -> u64 {
        self.host.ids_next(name)
    }

    /// Appends an entry, one JSON text, to the tenant's journal. The entry is kept even if the handler refuses.
    pub fn journal(&self, entry: &str) {
        self.host.journal_append(entry);
    }

    /// Returns a setting from the plugin's section of plugins.toml. A value of a different shape is a fault.
    pub fn config<T: serde::de::DeserializeOwned>(&self, key: &str) -> Result<Option<T>, Stop> {
        let Some(text) = self.host.config_get(key) else { return Ok(None) };
        serde_json::from_str(&text)
            .map(Some)
            .map_err(|error| Stop::fault(["setting ", key, ": ", &error.to_string()].concat()))
    }

    /// Writes a line to the operator's log.
    pub fn log(&self, level: Level, message: &str, fields: &[(&str, &str)]) {
        let pair = |(name, value): &(&str, &str)| Pair { name: (*name).to_owned(), value: (*value).to_owned() };
        let fields: Vec<Pair> = fields.iter().map(pair).collect();
        self.host.log_write(level, message, &fields);
    }
}

fn value_of<'a>(pairs: &'a [Pair], name: &str) -> Option<&'a str> {
    pairs.iter().rev().find(|pair| pair.name == name).map(|pair| pair.value.as_str())
}
