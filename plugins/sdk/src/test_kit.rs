//! Native test kit of a plugin: a host in memory, requests and answers.
//!
//! No part of it is in a component. It enforces the rules of the real host: a refusal changes only the journal, `find`
//! does not see the call's own writes, and undeclared names fail the test. It runs one call at a time, so conflicts of
//! concurrent calls need a test against the real host.

#![allow(clippy::panic, clippy::expect_used, reason = "a test kit fails tests")]

mod bounds;
mod chains;
mod credentials;
mod destinations;
mod document;
mod feed;
mod memory;
mod pending;
pub mod schema;
mod search;
mod settings;
#[cfg(test)]
mod tests;
mod webhooks;

use serde::Serialize;
use serde_json::Value;

use crate::answer::Answer;
use crate::bindings::exports::tenon::plugin::handler::{Answer as WireAnswer, Feed, Request};
use crate::bindings::tenon::plugin::types::{Blob, Content, Pair, Principal, Response};
use crate::plugin::Plugin;
use crate::route::Route;

pub use chains::Blockchains;
pub use credentials::IssuedCredential;
pub use memory::{EmittedEvent, TestHost};
pub use pending::{StartedEffect, TASK_RUNS_MAX, WaitingTask, response};
pub use settings::check_settings_schema;
pub use webhooks::TestDelivery;

/// Default tenant of calls.
pub const TENANT: &str = "acme/test";
/// Time of a new host: 2026-05-07T08:30:00Z.
pub const START_MS: u64 = 1_778_142_600_000;

/// One HTTP request of a test.
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
    /// Returns a call without a body. `target` is a path with an optional query. It is not percent-decoded: write plain
    /// text.
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

    /// Sets the body, serialized as JSON.
    pub fn json(self, body: &impl Serialize) -> TestCall {
        let text = serde_json::to_string(body).expect("a test body can be written as JSON");
        self.text(&text)
    }

    /// Sets the body with the media type of JSON. The text need not be valid JSON.
    pub fn text(mut self, body: &str) -> TestCall {
        self.content = Content::Json(body.to_owned());
        self
    }

    /// Sets a body of another media type.
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

    /// Sets the tenant, "organization/environment".
    pub fn tenant(mut self, tenant: &str) -> TestCall {
        self.tenant = tenant.to_owned();
        self
    }

    /// Adds an attribute of the caller's credential.
    pub fn attribute(mut self, name: &str, value: &str) -> TestCall {
        self.attributes.push(pair(name, value));
        self
    }

    /// Authenticates the call with a token instead of a key.
    pub fn token(mut self) -> TestCall {
        self.kind = "token";
        self
    }

    /// Calls as another plugin of the host, through a destination of the kind "plugin".
    pub fn plugin(mut self, name: &str) -> TestCall {
        self.kind = "plugin";
        self.subject = ["plugin:", name].concat();
        self
    }

    /// Calls as a plugin that acts for another organization than its own. `organization` is its own
    /// organization.
    pub fn plugin_for_organization(self, name: &str, organization: &str) -> TestCall {
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

/// Result of a call.
#[derive(Clone, Debug)]
pub struct TestAnswer {
    pub status: u16,
    /// Whether the plugin refused the call. A refusal changes only the journal.
    pub refused: bool,
    /// Headers of the plugin, and the content type of a body that is not JSON.
    pub headers: Vec<(String, String)>,
    /// Body as sent.
    pub body: String,
}

impl TestAnswer {
    /// Returns the value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(header, _)| header == name).map(|(_, value)| value.as_str())
    }

    /// Parses the body. An empty body is null.
    pub fn json(&self) -> Value {
        if self.body.is_empty() { Value::Null } else { serde_json::from_str(&self.body).expect("an answer is JSON") }
    }

    /// Converts the answer of a handler to the response that a caller gets.
    pub fn from_answer(answer: Answer) -> TestAnswer {
        TestAnswer::from_wire(answer.into_wire())
    }

    fn from_wire(answer: WireAnswer) -> TestAnswer {
        match answer {
            WireAnswer::Commit(response) => TestAnswer::from_response(response, false),
            WireAnswer::Refuse(response) => TestAnswer::from_response(response, true),
            WireAnswer::Stream(feed) => TestAnswer::from_stream(&feed),
            WireAnswer::Wait => panic!("a call that waits has another round"),
        }
    }

    fn from_response(response: Response, refused: bool) -> TestAnswer {
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
    /// Returns the filter of a stream as a JSON body. The test kit opens no streams.
    fn from_stream(feed: &Feed) -> TestAnswer {
        let headers = vec![("content-type".to_owned(), "text/event-stream".to_owned())];
        let body = serde_json::json!({"event_types": feed.event_types, "subjects": feed.subjects}).to_string();
        TestAnswer { status: 200, refused: false, headers, body }
    }
}

impl TestHost {
    /// Serves one call. Fails the test if no route matches or the plugin ends in a fault.
    pub fn call(&self, call: TestCall) -> TestAnswer {
        self.try_call(call).unwrap_or_else(|fault| panic!("the call ended in a fault: {fault}"))
    }

    /// Serves one call. Fails the test if no route matches.
    ///
    /// # Errors
    ///
    /// Returns the text of a fault.
    pub fn try_call(&self, call: TestCall) -> Result<TestAnswer, String> {
        let plugin = self.plugin();
        let (route, parameters) = match_route(plugin, &call.method, &call.path)
            .unwrap_or_else(|| panic!("no route of {} matches {} {}", plugin.name, call.method, call.path));
        let request = call.into_request(route, parameters, self.next_request_id(), self.now());
        let answer = self.in_rounds(&request.principal, || {
            let answer = plugin.handle(self, &request);
            let waits = matches!(answer, Ok(WireAnswer::Wait));
            (answer, waits)
        });
        let is_repeatable = self.repeatable.take() && matches!(answer, Ok(WireAnswer::Commit(_)));
        let repeated = is_repeatable.then(|| self.repeat(plugin, &request));
        self.end(matches!(answer, Ok(WireAnswer::Commit(_))));
        let answer = answer.map(TestAnswer::from_wire)?;
        if let Some(repeated) = repeated {
            let parts = |answer: &TestAnswer| (answer.status, answer.headers.clone(), answer.body.clone());
            assert_eq!(
                parts(&answer),
                parts(&repeated),
                "the answer to {} is cached, but depends on the time or the id of the request",
                route.operation
            );
        }
        self.check_answer(route.operation, &answer);
        Ok(answer)
    }
}

impl TestHost {
    /// Runs the same request with another id at another time, and returns its answer.
    fn repeat(&self, plugin: &Plugin, request: &Request) -> TestAnswer {
        const DAY_MS: u64 = 86_400_000;
        let later = Request { id: "req_repeated".to_owned(), now: request.now + DAY_MS, ..request.clone() };
        let answer = self.run_discarded(&request.principal, || plugin.handle(self, &later));
        self.repeatable.set(false);
        TestAnswer::from_wire(answer.unwrap_or_else(|fault| panic!("the call ended in a fault: {fault}")))
    }
}

/// Matches a path like the host: each `{name}` is one segment, and literal segments take precedence over parameters.
fn match_route(plugin: &Plugin, method: &str, path: &str) -> Option<(&'static Route, Vec<Pair>)> {
    let matches = plugin.routes.iter().filter(|route| route.method == method).filter_map(|route| {
        let (pattern, segments) = (route.path.split('/'), path.split('/'));
        (pattern.clone().count() == segments.clone().count()).then_some(())?;
        let mut parameters = Vec::new();
        for (expected, segment) in pattern.zip(segments) {
            match expected.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
                Some(name) if !segment.is_empty() => parameters.push(pair(name, segment)),
                None if expected == segment => {}
                _ => return None,
            }
        }
        Some((route, parameters))
    });
    matches.min_by_key(|(_, parameters)| parameters.len())
}

fn pair(name: &str, value: &str) -> Pair {
    Pair { name: name.to_owned(), value: value.to_owned() }
}
