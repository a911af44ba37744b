//! Runs a plugin natively: a host in memory, calls written as HTTP has them, answers that tests can look into.
//!
//! Owns what a native test needs; no part of it is in a component. Keeps the rules of the real host (a refusal changes
//! nothing, `find` does not see the call's own writes, undeclared names end the test with a sentence), except what only
//! shows between concurrent calls: run those against the real one.

#![allow(clippy::panic, clippy::expect_used, reason = "a test kit fails tests")]

mod bounds;
mod chains;
mod credentials;
mod destinations;
mod document;
mod feed;
mod hooks;
mod memory;
mod outside;
pub mod schema;
mod search;
mod settings;
#[cfg(test)]
mod tests;

use serde::Serialize;
use serde_json::Value;

use crate::answer::Answer;
use crate::bindings::exports::tenon::plugin::handler::{Answer as WireAnswer, Feed, Request};
use crate::bindings::tenon::plugin::types::{Blob, Content, Pair, Principal, Response};
use crate::plugin::Plugin;
use crate::route::Route;

pub use chains::Blockchains;
pub use credentials::IssuedCredential;
pub use hooks::TestDelivery;
pub use memory::{EmittedEvent, TestHost};
pub use outside::{StartedEffect, TASK_RUNS_MAX, WaitingTask, response};
pub use settings::check_settings_schema;

/// The tenant of calls that name none.
pub const TENANT: &str = "acme/test";
/// The clock of a new host: 2026-05-07T08:30:00Z.
pub const START_MS: u64 = 1_778_142_600_000;

/// One request, as an HTTP client would write it.
#[derive(Clone, Debug)]
pub struct TestCall {
    method: String,
    path: String,
    query: Vec<Pair>,
    headers: Vec<Pair>,
    context: Vec<Pair>,
    content: Content,
    tenant: String,
    kind: &'static str,
    subject: String,
    attributes: Vec<Pair>,
}

impl TestCall {
    /// `target` is a path, with a query or without. Percent-encoding is left to the host: write plain text.
    pub fn new(method: &str, target: &str) -> TestCall {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let pairs =
            query.split('&').filter(|part| !part.is_empty()).map(|part| part.split_once('=').unwrap_or((part, "")));
        TestCall {
            method: method.to_owned(),
            path: path.to_owned(),
            query: pairs.map(|(name, value)| pair(name, value)).collect(),
            headers: Vec::new(),
            context: Vec::new(),
            content: Content::Empty,
            tenant: TENANT.to_owned(),
            kind: "api-key",
            subject: "key_test".to_owned(),
            attributes: Vec::new(),
        }
    }

    pub fn get(target: &str) -> TestCall {
        TestCall::new("GET", target)
    }

    pub fn post(target: &str) -> TestCall {
        TestCall::new("POST", target)
    }

    pub fn put(target: &str) -> TestCall {
        TestCall::new("PUT", target)
    }

    pub fn patch(target: &str) -> TestCall {
        TestCall::new("PATCH", target)
    }

    pub fn delete(target: &str) -> TestCall {
        TestCall::new("DELETE", target)
    }

    pub fn json(self, body: &impl Serialize) -> TestCall {
        let text = serde_json::to_string(body).expect("a test body can be written as JSON");
        self.text(&text)
    }

    /// A body that claims to be JSON, whatever it is.
    pub fn text(mut self, body: &str) -> TestCall {
        self.content = Content::Json(body.to_owned());
        self
    }

    pub fn bytes(mut self, media_type: &str, bytes: &[u8]) -> TestCall {
        self.content = Content::Other(Blob { media_type: media_type.to_owned(), bytes: bytes.to_vec() });
        self
    }

    pub fn header(mut self, name: &str, value: &str) -> TestCall {
        self.headers.push(pair(name, value));
        self
    }

    pub fn context(mut self, name: &str, value: &str) -> TestCall {
        self.context.push(pair(name, value));
        self
    }

    /// "organization/environment".
    pub fn tenant(mut self, tenant: &str) -> TestCall {
        self.tenant = tenant.to_owned();
        self
    }

    /// What the plugin attached to the key that calls.
    pub fn attribute(mut self, name: &str, value: &str) -> TestCall {
        self.attributes.push(pair(name, value));
        self
    }

    /// A token calls, not a key.
    pub fn token(mut self) -> TestCall {
        self.kind = "token";
        self
    }

    /// A plugin of this host calls, as a destination of the kind "plugin" lets it.
    pub fn plugin(mut self, name: &str) -> TestCall {
        self.kind = "plugin";
        self.subject = ["plugin:", name].concat();
        self
    }

    /// The same on behalf of another organization than the one it acts for, as the host names it then.
    pub fn plugin_of(self, name: &str, organization: &str) -> TestCall {
        self.plugin(&[name, "@", organization].concat()).attribute("organization", organization)
    }

    fn into_request(self, route: &Route, parameters: Vec<Pair>, id: String, now: u64) -> Request {
        let anonymous = route.open;
        let kind = if route.key_parameter.is_some() { "token" } else { self.kind };
        let environment = self.tenant.rsplit_once('/').map_or("", |(_, environment)| environment).to_owned();
        Request {
            operation: route.operation.to_owned(),
            method: self.method,
            path: self.path,
            parameters,
            query: self.query,
            headers: self.headers,
            content: self.content,
            principal: Principal {
                tenant: if anonymous { String::new() } else { self.tenant },
                environment,
                kind: if anonymous { "anonymous" } else { kind }.to_owned(),
                subject: if anonymous { String::new() } else { self.subject },
                scopes: Vec::new(),
                attributes: self.attributes,
            },
            id,
            now,
            context: self.context,
        }
    }
}

/// What a call came to.
#[derive(Clone, Debug)]
pub struct TestAnswer {
    pub status: u16,
    /// Whether it was a refusal: nothing changed.
    pub refused: bool,
    /// Those of the plugin, and the media type of what is not JSON.
    pub headers: Vec<(String, String)>,
    /// The body as it is.
    pub body: String,
}

impl TestAnswer {
    /// The value of a header of the plugin.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The body as a tree; null where it is empty.
    pub fn json(&self) -> Value {
        if self.body.is_empty() { Value::Null } else { serde_json::from_str(&self.body).expect("an answer is JSON") }
    }

    /// What a handler has answered, as a caller gets it.
    pub fn of(answer: Answer) -> TestAnswer {
        TestAnswer::of_wire(answer.into_wire())
    }

    fn of_wire(answer: WireAnswer) -> TestAnswer {
        match answer {
            WireAnswer::Commit(response) => TestAnswer::new(response, false),
            WireAnswer::Refuse(response) => TestAnswer::new(response, true),
            WireAnswer::Stream(feed) => TestAnswer::of_stream(&feed),
            WireAnswer::Wait => panic!("rounds end with an answer"),
        }
    }

    fn new(response: Response, refused: bool) -> TestAnswer {
        bounds::check_answer(&response.content);
        let mut headers: Vec<(String, String)> =
            response.headers.into_iter().map(|header| (header.name, header.value)).collect();
        let body = match response.content {
            Content::Empty => String::new(),
            Content::Json(text) => text,
            Content::Other(blob) => {
                headers.push(("content-type".to_owned(), blob.media_type));
                String::from_utf8_lossy(&blob.bytes).into_owned()
            }
        };
        TestAnswer { status: response.status, refused, headers, body }
    }
}

impl TestAnswer {
    /// What a stream would show, as JSON: the test kit keeps none open.
    fn of_stream(feed: &Feed) -> TestAnswer {
        let headers = vec![("content-type".to_owned(), "text/event-stream".to_owned())];
        let body = serde_json::json!({"event_types": feed.event_types, "subjects": feed.subjects}).to_string();
        TestAnswer { status: 200, refused: false, headers, body }
    }
}

impl TestHost {
    /// Serves one call. Ends the test where no route fits, or where the plugin faults.
    pub fn call(&self, call: TestCall) -> TestAnswer {
        self.try_call(call).unwrap_or_else(|fault| panic!("the plugin faulted: {fault}"))
    }

    /// The same; a fault is `Err`.
    pub fn try_call(&self, call: TestCall) -> Result<TestAnswer, String> {
        let plugin = self.plugin();
        let (route, parameters) = matching(plugin, &call.method, &call.path)
            .unwrap_or_else(|| panic!("no route of {} fits {} {}", plugin.name, call.method, call.path));
        let request = call.into_request(route, parameters, self.next_request_id(), self.now());
        let answer = self.in_rounds(&request.principal, || {
            let answer = plugin.handle(self, &request);
            let waits = matches!(answer, Ok(WireAnswer::Wait));
            (answer, waits)
        });
        let is_repeatable = self.repeatable.take() && matches!(answer, Ok(WireAnswer::Commit(_)));
        let repeated = is_repeatable.then(|| self.repeat(plugin, &request));
        self.end(matches!(answer, Ok(WireAnswer::Commit(_))));
        let answer = answer.map(TestAnswer::of_wire)?;
        if let Some(repeated) = repeated {
            let parts = |answer: &TestAnswer| (answer.status, answer.headers.clone(), answer.body.clone());
            assert_eq!(
                parts(&answer),
                parts(&repeated),
                "the answer to {} is cached, and depends on time or id",
                route.operation
            );
        }
        self.check_answer(route.operation, &answer);
        Ok(answer)
    }
}

impl TestHost {
    /// The answer to the same request at another time, as another call.
    fn repeat(&self, plugin: &Plugin, request: &Request) -> TestAnswer {
        const DAY_MS: u64 = 86_400_000;
        let later = Request { id: "req_repeated".to_owned(), now: request.now + DAY_MS, ..request.clone() };
        let answer = self.aside(&request.principal, || plugin.handle(self, &later));
        self.repeatable.set(false);
        TestAnswer::of_wire(answer.unwrap_or_else(|fault| panic!("the plugin faulted: {fault}")))
    }
}

/// As the host matches: one segment for each `{name}`; a literal segment goes before a named one.
fn matching(plugin: &Plugin, method: &str, path: &str) -> Option<(&'static Route, Vec<Pair>)> {
    let fits = plugin.routes.iter().filter(|route| route.method == method).filter_map(|route| {
        let (pattern, given) = (route.path.split('/'), path.split('/'));
        (pattern.clone().count() == given.clone().count()).then_some(())?;
        let mut parameters = Vec::new();
        for (wanted, segment) in pattern.zip(given) {
            match wanted.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
                Some(name) if !segment.is_empty() => parameters.push(pair(name, segment)),
                None if wanted == segment => {}
                _ => return None,
            }
        }
        Some((route, parameters))
    });
    fits.min_by_key(|(_, parameters)| parameters.len())
}

fn pair(name: &str, value: &str) -> Pair {
    Pair { name: name.to_owned(), value: value.to_owned() }
}
