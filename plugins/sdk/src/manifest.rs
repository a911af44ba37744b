//! The manifest as JSON, made from the plugin's tables (`docs/manifest.schema.json` describes it).
//!
//! Owns the wire form on the guest's side. Runs in `describe` only, never while a request is served. What is empty or
//! default is left out.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::value::RawValue;

use crate::answer::Refusal;
use crate::plugin::{CONTRACT, Collection, EventType, Plugin, Wording};
use crate::route::Route;
use crate::tasks::Task;

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Manifest<'a> {
    contract: &'a str,
    name: &'a str,
    version: &'a str,
    title: &'a str,
    build: &'a str,
    authentication: Authentication<'a>,
    routes: Vec<RouteText<'a>>,
    data_version: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    reads_data_from: Option<u32>,
    collections: Vec<CollectionText<'a>>,
    event_types: Vec<EventTypeText<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tasks: Vec<TaskText<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    envelope: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    settings: Option<Box<RawValue>>,
    failures: BTreeMap<&'a str, FailureText<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    openapi: Option<Box<RawValue>>,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Authentication<'a> {
    #[serde(skip_serializing_if = "is_false")]
    oauth: bool,
    #[serde(skip_serializing_if = "is_default_api_keys")]
    api_keys: bool,
    #[serde(skip_serializing_if = "is_false")]
    tokens: bool,
    basic_user: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    header: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    query: Option<&'a str>,
}

/// Left out, so that a host which knows nothing of tokens takes the manifest as well.
fn is_false(value: &bool) -> bool {
    !*value
}

fn is_default_api_keys(api_keys: &bool) -> bool {
    *api_keys
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct RouteText<'a> {
    operation: &'a str,
    method: &'a str,
    path: &'a str,
    open: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    key_parameter: Option<&'a str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    scopes: &'a [&'a str],
    #[serde(skip_serializing_if = "Option::is_none")]
    body_bytes_max: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deadline_ms: Option<u64>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    headers: &'a [&'a str],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    context: &'a [&'a str],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    media_types: &'a [&'a str],
    #[serde(skip_serializing_if = "Option::is_none")]
    on_fault: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    on_deadline: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct TaskText<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    deadline_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    delays_ms: Option<&'a [u64]>,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct CollectionText<'a> {
    name: &'a str,
    indexes: Vec<IndexText<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct IndexText<'a> {
    name: &'a str,
    fields: &'a [&'a str],
    unique: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct EventTypeText<'a> {
    name: &'a str,
    description: &'a str,
    schema: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    envelope: Option<Box<RawValue>>,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct FailureText<'a> {
    status: u16,
    headers: BTreeMap<&'a str, &'a str>,
    body: Option<Box<RawValue>>,
}

pub(crate) fn text(plugin: &Plugin) -> String {
    let manifest = Manifest {
        contract: CONTRACT,
        name: plugin.name,
        version: plugin.version,
        title: plugin.title,
        build: env!("TENON_BUILD_PROFILE"),
        authentication: Authentication {
            oauth: plugin.oauth,
            api_keys: plugin.api_keys,
            tokens: plugin.tokens,
            basic_user: plugin.basic_user,
            header: plugin.key_header,
            query: plugin.key_query,
        },
        routes: plugin.routes.iter().map(route_text).collect(),
        data_version: plugin.data_version,
        reads_data_from: plugin.reads_data_from,
        collections: plugin.collections.iter().map(collection_text).collect(),
        event_types: plugin.event_types.iter().map(event_type_text).collect(),
        tasks: plugin.tasks.iter().map(task_text).collect(),
        envelope: plugin.envelope.map(envelope),
        // A schema that is not JSON becomes `false`, which no settings fit.
        settings: plugin.settings.map(envelope),
        failures: plugin.failures.iter().map(|wording| (wording.failure, failure_text(plugin, wording))).collect(),
        openapi: plugin.openapi.and_then(raw),
    };
    // Nothing in it can fail to serialise (every key is a text); an empty manifest would be refused by the host anyway.
    serde_json::to_string(&manifest).unwrap_or_default()
}

fn route_text(route: &Route) -> RouteText<'_> {
    RouteText {
        operation: route.operation,
        method: route.method,
        path: route.path,
        open: route.open,
        key_parameter: route.key_parameter,
        scopes: route.scopes,
        body_bytes_max: route.body_bytes_max,
        deadline_ms: route.deadline_ms,
        headers: route.headers,
        context: route.context,
        media_types: route.media_types,
        on_fault: route.on_fault,
        on_deadline: route.on_deadline,
    }
}

fn task_text(task: &Task) -> TaskText<'_> {
    TaskText { name: task.name, deadline_ms: task.deadline_ms, delays_ms: task.delays_ms }
}

fn collection_text(collection: &Collection) -> CollectionText<'_> {
    let index = |index: &'static crate::plugin::Index| IndexText {
        name: index.name,
        fields: index.fields,
        unique: index.unique,
    };
    CollectionText { name: collection.name, indexes: collection.indexes.iter().map(index).collect() }
}

fn event_type_text(event_type: &EventType) -> EventTypeText<'_> {
    EventTypeText {
        name: event_type.name,
        description: event_type.description,
        schema: raw(event_type.schema),
        envelope: event_type.envelope.map(envelope),
    }
}

fn failure_text<'a>(plugin: &Plugin, wording: &'a Wording) -> FailureText<'a> {
    FailureText {
        status: wording.status,
        headers: wording.headers.iter().copied().collect(),
        body: RawValue::from_string((plugin.words)(&wording.refusal(), "{request-id}")).ok(),
    }
}

/// Never left out: an envelope that is not JSON becomes one without a payload, which the host refuses.
fn envelope(text: &str) -> Box<RawValue> {
    raw(text).unwrap_or_else(|| RawValue::FALSE.to_owned())
}

/// A text that is not JSON becomes null, which the host refuses and a plugin's own test should find.
fn raw(text: &str) -> Option<Box<RawValue>> {
    RawValue::from_string(text.to_owned()).ok()
}

/// The wording of a plugin that gives none of its own.
pub(crate) fn plain_words(refusal: &Refusal, request_id: &str) -> String {
    #[derive(Serialize)]
    struct Plain<'a> {
        code: &'a str,
        message: &'a str,
        request_id: &'a str,
    }
    let body = Plain { code: refusal.code, message: refusal.message(), request_id };
    serde_json::to_string(&body).unwrap_or_default()
}
