//! Definition of a plugin: its routes, stored data and error bodies. Built at compile time.
//!
//! Owns the table from which both the manifest and the dispatch are made, so that they cannot differ. The SDK does
//! not match paths: the host does that and passes the operation.

use crate::answer::{Refusal, Stop};
use crate::bindings::exports::tenon::plugin::handler::{Answer as WireAnswer, Request, Task, Verdict};
use crate::bindings::tenon::plugin::types::{Content, Pair, Response};
use crate::call::Call;
#[cfg(target_arch = "wasm32")]
use crate::host::Host;
use crate::host::HostRef;
use crate::manifest;
use crate::query::{self, RenderQueryError};
use crate::route::Route;
use crate::tasks;

/// Version of the contract that this SDK implements.
pub const CONTRACT: &str = "0.1";

const RETRY_AFTER: &str = "retry-after";

/// Renders the body of a refusal: one JSON text. It is also called for every [`ErrorTemplate`], with "{request-id}" as
/// the id.
pub type RenderError = fn(&Refusal, request_id: &str) -> String;

/// Definition of a plugin: its manifest and its handlers.
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
    pub(crate) failures: &'static [ErrorTemplate],
    pub(crate) invalid: ErrorKind,
    pub(crate) render_error: RenderError,
    pub(crate) render_query_error: Option<RenderQueryError>,
    pub(crate) openapi: Option<&'static str>,
}

impl Plugin {
    /// Returns a plugin without routes. `name` consists of lower case letters, digits and hyphens, as in plugins.toml.
    /// `version` is a semantic version.
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
            invalid: ErrorKind { status: 422, code: "invalid-request" },
            render_error: manifest::render_default_error,
            render_query_error: None,
            openapi: None,
        }
    }

    /// Sets the title: one human-readable line.
    pub const fn title(mut self, title: &'static str) -> Plugin {
        self.title = title;
        self
    }

    /// Sets the routes.
    pub const fn routes(mut self, routes: &'static [Route]) -> Plugin {
        self.routes = routes;
        self
    }

    /// Accepts OAuth 2.0 access tokens besides API keys. A route accepts only tokens that have its scopes.
    pub const fn oauth(mut self) -> Plugin {
        self.oauth = true;
        self
    }

    /// Accepts OAuth 2.0 access tokens and no API keys.
    pub const fn oauth_only(mut self) -> Plugin {
        self.oauth = true;
        self.api_keys = false;
        self
    }

    /// Accepts the plugin's own tokens wherever a key is accepted. Without this, only `key_parameter` routes accept
    /// them, so that a link gives access to its target alone.
    pub const fn tokens(mut self) -> Plugin {
        self.tokens = true;
        self
    }

    /// Also accepts the key as the user name of `Authorization: Basic`.
    pub const fn key_as_basic_user(mut self) -> Plugin {
        self.basic_user = true;
        self
    }

    /// Also accepts the key as the value of this header. The name is in lower case.
    pub const fn key_in_header(mut self, name: &'static str) -> Plugin {
        self.key_header = Some(name);
        self
    }

    /// Also accepts the key in this query parameter.
    pub const fn key_in_query(mut self, name: &'static str) -> Plugin {
        self.key_query = Some(name);
        self
    }

    /// Sets the collections of records.
    pub const fn collections(mut self, collections: &'static [Collection]) -> Plugin {
        self.collections = collections;
        self
    }

    /// Sets the data version that the plugin writes, and the oldest that it reads.
    pub const fn data(mut self, version: u32, reads_from: u32) -> Plugin {
        self.data_version = version;
        self.reads_data_from = Some(reads_from);
        self
    }

    /// Sets the event types.
    pub const fn event_types(mut self, event_types: &'static [EventType]) -> Plugin {
        self.event_types = event_types;
        self
    }

    /// Sets the tasks: handlers of timers, outcomes of effects, failed requests, and changes on blockchains.
    pub const fn tasks(mut self, tasks: &'static [tasks::Task]) -> Plugin {
        self.tasks = tasks;
        self
    }

    /// Sets the envelope of every delivered event: one JSON text in which the strings "{event-id}", "{event-type}",
    /// "{subject}", "{time}", "{time-ms}", "{tenant}", "{organization}", "{environment}" and "{payload}" (exactly once)
    /// are replaced.
    pub const fn envelope(mut self, template: &'static str) -> Plugin {
        self.envelope = Some(template);
        self
    }

    /// Sets the JSON Schema of the plugin's table `settings` in plugins.toml: one JSON text. The host rejects settings
    /// that do not match it when it loads the plugin, and in `tenon config check`. It supports the keywords `type`,
    /// `enum`, `const`, `required`, `properties`, `additionalProperties`, `items`, `anyOf`, `oneOf`, `allOf`, `$ref`,
    /// `$defs`, and bounds on numbers, lengths and lists.
    pub const fn settings(mut self, schema: &'static str) -> Plugin {
        self.settings = Some(schema);
        self
    }

    /// Sets the error templates: the responses of this interface for errors of the host.
    pub const fn failures(mut self, failures: &'static [ErrorTemplate]) -> Plugin {
        self.failures = failures;
        self
    }

    /// Sets the status and code of the refusal of a JSON body that does not have the type that a handler reads.
    pub const fn invalid(mut self, status: u16, code: &'static str) -> Plugin {
        self.invalid = ErrorKind { status, code };
        self
    }

    /// Sets the function that renders the bodies of refusals and error templates.
    pub const fn render_error(mut self, render: RenderError) -> Plugin {
        self.render_error = render;
        self
    }

    /// Checks each query before the handler runs, except on routes with [`Route::any_query`]. A parameter that the
    /// route does not declare ([`Route::query()`]) is refused, and so is a repeated parameter. `render` renders the
    /// refusal.
    pub const fn strict_queries(mut self, render: RenderQueryError) -> Plugin {
        self.render_query_error = Some(render);
        self
    }

    /// Sets the OpenAPI 3.1 document: one JSON text.
    pub const fn openapi(mut self, document: &'static str) -> Plugin {
        self.openapi = Some(document);
        self
    }

    /// Returns the routes, for tests that cover all of them.
    pub fn route_table(&self) -> &'static [Route] {
        self.routes
    }

    /// Returns the manifest: one JSON text.
    pub fn describe(&self) -> String {
        manifest::to_json(self)
    }

    /// Serves one request.
    ///
    /// # Errors
    ///
    /// Returns the message of a fault.
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
            Err(Stop::Refusal(refusal)) => Ok(WireAnswer::Refuse(self.render_refusal(&refusal, &request.id))),
            Err(Stop::Fault(text)) => Err(text),
            Err(Stop::Wait) => Ok(WireAnswer::Wait),
        }
    }

    fn check_query(&self, route: &Route, request: &Request) -> Result<(), Stop> {
        let (Some(render), Some(declared)) = (self.render_query_error, route.query) else { return Ok(()) };
        query::check(&request.query, declared).map_err(|error| render(&error))
    }

    /// Runs one task.
    ///
    /// # Errors
    ///
    /// Returns the message of a fault.
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

    /// Returns a refusal with the status, code and message of the error template for the host's error `name`. Without
    /// a template of that name, the refusal has the code "malformed-request", `status` and `message`.
    pub(crate) fn host_error(&self, name: &str, status: u16, message: &'static str) -> Refusal {
        match self.failures.iter().find(|template| template.failure == name) {
            Some(template) => template.refusal(),
            None => Refusal::new(status, "malformed-request", message),
        }
    }

    fn render_refusal(&self, refusal: &Refusal, request_id: &str) -> Response {
        let body = (self.render_error)(refusal, request_id);
        let retry_after = refusal.retry_after_s.map(|seconds| (RETRY_AFTER.to_owned(), seconds.to_string()));
        let headers = retry_after.into_iter().map(|(name, value)| Pair { name, value }).collect();
        Response { status: refusal.status, headers, content: Content::Json(body) }
    }
}

/// Returns the task as a request with the payload as its body, so that a task handler gets a [`Call`] too.
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

/// A collection of records, with the indexes that its queries need.
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

/// An index of a collection. Fields are paths into the JSON ("customer.id"), or "@id", "@created-at", "@updated-at".
#[derive(Clone, Copy)]
pub struct Index {
    pub(crate) name: &'static str,
    pub(crate) fields: &'static [&'static str],
    pub(crate) unique: bool,
}

impl Index {
    /// Returns an index that allows equal values.
    pub const fn on(name: &'static str, fields: &'static [&'static str]) -> Index {
        Index { name, fields, unique: false }
    }

    /// Returns a unique index: a tenant has at most one record for each combination of values. Records in which a value
    /// is null or absent are not restricted.
    pub const fn unique(name: &'static str, fields: &'static [&'static str]) -> Index {
        Index { name, fields, unique: true }
    }
}

/// A type of event that the plugin may emit.
#[derive(Clone, Copy)]
pub struct EventType {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) schema: &'static str,
    pub(crate) envelope: Option<&'static str>,
}

impl EventType {
    /// Returns an event type. `schema` is a JSON Schema of the payload: one JSON text.
    pub const fn new(name: &'static str, description: &'static str, schema: &'static str) -> EventType {
        EventType { name, description, schema, envelope: None }
    }

    /// Replaces the envelope of the plugin.
    pub const fn envelope(mut self, template: &'static str) -> EventType {
        self.envelope = Some(template);
        self
    }
}

/// Status and code of a refusal.
#[derive(Clone, Copy)]
pub struct ErrorKind {
    pub status: u16,
    pub code: &'static str,
}

/// Response of this interface for an error of the host ("unauthenticated", "not-found", …).
#[derive(Clone, Copy)]
pub struct ErrorTemplate {
    /// Name of the host's error: a member of the manifest's `failures`.
    pub failure: &'static str,
    pub status: u16,
    pub code: &'static str,
    pub message: &'static str,
    pub headers: &'static [(&'static str, &'static str)],
}

impl ErrorTemplate {
    pub const fn new(failure: &'static str, status: u16, code: &'static str, message: &'static str) -> ErrorTemplate {
        ErrorTemplate { failure, status, code, message, headers: &[] }
    }

    pub const fn headers(mut self, headers: &'static [(&'static str, &'static str)]) -> ErrorTemplate {
        self.headers = headers;
        self
    }

    /// Returns a refusal with the status, code and message of the template.
    pub fn refusal(&self) -> Refusal {
        Refusal::new(self.status, self.code, self.message)
    }
}
