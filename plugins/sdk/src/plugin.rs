//! A plugin as a value: its routes, what it stores, how it words failures. Built at compile time.
//!
//! Owns the table that both the manifest and the dispatch are made from, so that they cannot differ. Never matches a path:
//! the host has done that and names the operation.

use crate::answer::{Refusal, Stop};
use crate::bindings::exports::tenon::plugin::handler::{Answer as WireAnswer, Request, Task, Verdict};
use crate::bindings::tenon::plugin::types::{Content, Pair, Response};
use crate::call::Call;
#[cfg(target_arch = "wasm32")]
use crate::host::Host;
use crate::host::HostRef;
use crate::manifest;
use crate::query::{self, RefuseQuery};
use crate::route::Route;
use crate::tasks;

/// The contract that this SDK speaks.
pub const CONTRACT: &str = "0.1";

const RETRY_AFTER: &str = "retry-after";

/// The body of a refusal: one JSON text. Also asked for every [`Wording`], with "{request-id}" as the id.
pub type Words = fn(&Refusal, request_id: &str) -> String;

/// Everything that the host must know of a plugin, and its handlers.
#[derive(Clone, Copy)]
pub struct Plugin {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
    pub(crate) title: &'static str,
    pub(crate) oauth: bool,
    pub(crate) api_keys: bool,
    pub(crate) tokens: bool,
    pub(crate) basic_user: bool,
    pub(crate) key_header: Option<&'static str>,
    pub(crate) key_query: Option<&'static str>,
    pub(crate) routes: &'static [Route],
    pub(crate) data_version: u32,
    pub(crate) reads_data_from: Option<u32>,
    pub(crate) collections: &'static [Collection],
    pub(crate) event_types: &'static [EventType],
    pub(crate) tasks: &'static [tasks::Task],
    pub(crate) envelope: Option<&'static str>,
    pub(crate) settings: Option<&'static str>,
    pub(crate) failures: &'static [Wording],
    pub(crate) invalid: Kind,
    pub(crate) words: Words,
    pub(crate) refuse_query: Option<RefuseQuery>,
    pub(crate) openapi: Option<&'static str>,
}

impl Plugin {
    /// `name`: lower case letters, digits and hyphens, as in plugins.toml. `version`: a semantic version.
    pub const fn new(name: &'static str, version: &'static str) -> Plugin {
        Plugin {
            name,
            version,
            title: "",
            oauth: false,
            api_keys: true,
            tokens: false,
            basic_user: false,
            key_header: None,
            key_query: None,
            routes: &[],
            data_version: 1,
            reads_data_from: None,
            collections: &[],
            event_types: &[],
            tasks: &[],
            envelope: None,
            settings: None,
            failures: &[],
            invalid: Kind { status: 422, code: "invalid-request" },
            words: manifest::plain_words,
            refuse_query: None,
            openapi: None,
        }
    }

    /// One line for people.
    pub const fn title(mut self, title: &'static str) -> Plugin {
        self.title = title;
        self
    }

    pub const fn routes(mut self, routes: &'static [Route]) -> Plugin {
        self.routes = routes;
        self
    }

    /// Callers may show access tokens of OAuth 2.0 besides API keys. A token says all that it may: one without the scopes of
    /// a route does not open it.
    pub const fn oauth(mut self) -> Plugin {
        self.oauth = true;
        self
    }

    /// Callers show access tokens of OAuth 2.0, and API keys open nothing.
    pub const fn oauth_only(mut self) -> Plugin {
        self.oauth = true;
        self.api_keys = false;
        self
    }

    /// Tokens that the plugin issues open it wherever a key may stand. Without this they open `key_parameter` routes alone, so
    /// that a link opens no more than what it leads to.
    pub const fn tokens(mut self) -> Plugin {
        self.tokens = true;
        self
    }

    /// The key may also be the user name of `Authorization: Basic`.
    pub const fn key_as_basic_user(mut self) -> Plugin {
        self.basic_user = true;
        self
    }

    /// The key may also stand bare in this header, in lower case.
    pub const fn key_in_header(mut self, name: &'static str) -> Plugin {
        self.key_header = Some(name);
        self
    }

    /// The key may also stand in this query parameter.
    pub const fn key_in_query(mut self, name: &'static str) -> Plugin {
        self.key_query = Some(name);
        self
    }

    pub const fn collections(mut self, collections: &'static [Collection]) -> Plugin {
        self.collections = collections;
        self
    }

    /// The data version that it writes, and the oldest that it reads.
    pub const fn data(mut self, version: u32, reads_from: u32) -> Plugin {
        self.data_version = version;
        self.reads_data_from = Some(reads_from);
        self
    }

    pub const fn event_types(mut self, event_types: &'static [EventType]) -> Plugin {
        self.event_types = event_types;
        self
    }

    /// What may be scheduled, what effects come back as, what failed requests become.
    pub const fn tasks(mut self, tasks: &'static [tasks::Task]) -> Plugin {
        self.tasks = tasks;
        self
    }

    /// What surrounds the payload of every event when it is delivered: one JSON text in which "{event-id}", "{event-type}",
    /// "{subject}", "{time}", "{time-ms}", "{tenant}", "{organization}", "{environment}" and "{payload}" (exactly once)
    /// stand for what they name.
    pub const fn envelope(mut self, template: &'static str) -> Plugin {
        self.envelope = Some(template);
        self
    }

    /// A JSON Schema of the plugin's table `settings` in plugins.toml: one JSON text. The host refuses settings that do not fit
    /// it when it loads the plugin, and in `tenon config check`. It supports the keywords `type`, `enum`, `const`, `required`,
    /// `properties`, `additionalProperties`, `items`, `anyOf`, `oneOf`, `allOf`, `$ref`, `$defs`, and bounds of numbers,
    /// lengths and lists.
    pub const fn settings(mut self, schema: &'static str) -> Plugin {
        self.settings = Some(schema);
        self
    }

    /// How this interface words the failures that only the host sees.
    pub const fn failures(mut self, failures: &'static [Wording]) -> Plugin {
        self.failures = failures;
        self
    }

    /// Status and code of a JSON body that does not have the shape that a handler asked for.
    pub const fn invalid(mut self, status: u16, code: &'static str) -> Plugin {
        self.invalid = Kind { status, code };
        self
    }

    /// The one place that gives refusals and failures a body.
    pub const fn words(mut self, words: Words) -> Plugin {
        self.words = words;
        self
    }

    /// Checks each query before the handler runs: a parameter that the route does not declare ([`Route::query()`]) is refused, and
    /// so is one that the query gives twice. `refuse` renders the refusal.
    pub const fn strict_queries(mut self, refuse: RefuseQuery) -> Plugin {
        self.refuse_query = Some(refuse);
        self
    }

    /// An OpenAPI 3.1 document: one JSON text.
    pub const fn openapi(mut self, document: &'static str) -> Plugin {
        self.openapi = Some(document);
        self
    }

    /// The routes, for tests that go through all of them.
    pub fn route_table(&self) -> &'static [Route] {
        self.routes
    }

    /// The manifest: one JSON text.
    pub fn describe(&self) -> String {
        manifest::text(self)
    }

    /// Serves one request. `Err` is a fault.
    pub fn handle(&self, host: HostRef<'_>, request: &Request) -> Result<WireAnswer, String> {
        let Some(route) = self.routes.iter().find(|route| route.operation == request.operation) else {
            return Err(["no route has the operation ", request.operation.as_str()].concat());
        };
        let call = Call::new(self, host, request);
        let checked = self.check_query(route, request);
        match checked.and_then(|()| (route.handler)(&call)) {
            Ok(answer) => {
                if route.method == "GET" && !call.is_unique() {
                    host.answers_repeatable();
                }
                Ok(answer.into_wire())
            }
            Err(Stop::Refusal(refusal)) => Ok(WireAnswer::Refuse(self.worded(&refusal, &request.id))),
            Err(Stop::Fault(text)) => Err(text),
            Err(Stop::Wait) => Ok(WireAnswer::Wait),
        }
    }

    fn check_query(&self, route: &Route, request: &Request) -> Result<(), Stop> {
        let (Some(refuse), Some(declared)) = (self.refuse_query, route.query) else { return Ok(()) };
        query::check(&request.query, declared).map_err(|fault| refuse(&fault))
    }

    /// Runs one task. `Err` is a fault.
    pub fn run(&self, host: HostRef<'_>, task: &Task) -> Result<Verdict, String> {
        let Some(declared) = self.tasks.iter().find(|declared| declared.name == task.name) else {
            return Err(["this plugin has no task ", task.name.as_str()].concat());
        };
        let request = as_request(task);
        match (declared.handler)(&Call::new(self, host, &request), task) {
            Ok(verdict) => Ok(verdict),
            Err(Stop::Wait) => Ok(Verdict::Wait),
            Err(Stop::Fault(text)) => Err(text),
            Err(Stop::Refusal(refusal)) => Err(["refused: ", refusal.code, ": ", refusal.message()].concat()),
        }
    }

    /// The refusal that a failure of the host would be, in this interface's wording.
    pub(crate) fn failure(&self, failure: &str, status: u16, message: &'static str) -> Refusal {
        match self.failures.iter().find(|wording| wording.failure == failure) {
            Some(wording) => wording.refusal(),
            None => Refusal::new(status, "malformed-request", message),
        }
    }

    fn worded(&self, refusal: &Refusal, request_id: &str) -> Response {
        let body = (self.words)(refusal, request_id);
        let retry_after = refusal.retry_after_s.map(|seconds| (RETRY_AFTER.to_owned(), seconds.to_string()));
        let headers = retry_after.into_iter().map(|(name, value)| Pair { name, value }).collect();
        Response { status: refusal.status, headers, content: Content::Json(body) }
    }
}

/// So that what serves requests serves tasks as well: the payload is the body.
fn as_request(task: &Task) -> Request {
    Request {
        operation: task.name.clone(),
        method: String::new(),
        path: String::new(),
        parameters: Vec::new(),
        query: Vec::new(),
        headers: Vec::new(),
        content: Content::Json(task.payload.clone()),
        principal: task.principal.clone(),
        id: task.key.clone(),
        now: task.now,
        context: Vec::new(),
    }
}

/// Records of one sort, and the indexes that its queries need.
#[derive(Clone, Copy)]
pub struct Collection {
    pub(crate) name: &'static str,
    pub(crate) indexes: &'static [Index],
}

impl Collection {
    pub const fn new(name: &'static str, indexes: &'static [Index]) -> Collection {
        Collection { name, indexes }
    }
}

/// Fields are paths into the JSON ("customer.id"), or "@id", "@created-at", "@updated-at".
#[derive(Clone, Copy)]
pub struct Index {
    pub(crate) name: &'static str,
    pub(crate) fields: &'static [&'static str],
    pub(crate) unique: bool,
}

impl Index {
    pub const fn on(name: &'static str, fields: &'static [&'static str]) -> Index {
        Index { name, fields, unique: false }
    }

    /// At most one record of a tenant for each combination of values; null and absent do not count.
    pub const fn unique(name: &'static str, fields: &'static [&'static str]) -> Index {
        Index { name, fields, unique: true }
    }
}

/// A sort of event that the plugin may emit.
#[derive(Clone, Copy)]
pub struct EventType {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) schema: &'static str,
    pub(crate) envelope: Option<&'static str>,
}

impl EventType {
    /// `schema` is a JSON Schema of the payload: one JSON text.
    pub const fn new(name: &'static str, description: &'static str, schema: &'static str) -> EventType {
        EventType { name, description, schema, envelope: None }
    }

    /// In place of the envelope of the plugin.
    pub const fn envelope(mut self, template: &'static str) -> EventType {
        self.envelope = Some(template);
        self
    }
}

/// What a refusal is to a program: status and code.
#[derive(Clone, Copy)]
pub struct Kind {
    pub status: u16,
    pub code: &'static str,
}

/// How this interface words a failure that only the host sees ("unauthenticated", "not-found", …).
#[derive(Clone, Copy)]
pub struct Wording {
    pub failure: &'static str,
    pub status: u16,
    pub code: &'static str,
    pub message: &'static str,
    pub headers: &'static [(&'static str, &'static str)],
}

impl Wording {
    pub const fn new(failure: &'static str, status: u16, code: &'static str, message: &'static str) -> Wording {
        Wording { failure, status, code, message, headers: &[] }
    }

    pub const fn headers(mut self, headers: &'static [(&'static str, &'static str)]) -> Wording {
        self.headers = headers;
        self
    }

    pub fn refusal(&self) -> Refusal {
        Refusal::new(self.status, self.code, self.message)
    }
}
