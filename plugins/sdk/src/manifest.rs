//! The manifest as JSON, made from the plugin's tables. Its schema is `docs/manifest.schema.json`.
//!
//! Owns the wire form of the manifest in the guest. Runs in `describe` only, never while a request is served. Many
//! members are omitted if they are empty or have their default value.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::value::RawValue;

use crate::answer::Refusal;
use crate::plugin::{CONTRACT, Collection, ErrorTemplate, EventType, Plugin};
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
    routes: Vec<RouteEntry<'a>>,
    data_version: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    reads_data_from: Option<u32>,
    collections: Vec<CollectionEntry<'a>>,
    event_types: Vec<EventTypeEntry<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tasks: Vec<TaskEntry<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    envelope: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    settings: Option<Box<RawValue>>,
    failures: BTreeMap<&'a str, ErrorTemplateEntry<'a>>,
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

/// `false` is omitted, so that a host without support for the member accepts the manifest.
fn is_false(value: &bool) -> bool {
    !*value
}

fn is_default_api_keys(api_keys: &bool) -> bool {
    *api_keys
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct RouteEntry<'a> {
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
struct TaskEntry<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    deadline_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    delays_ms: Option<&'a [u64]>,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct CollectionEntry<'a> {
    name: &'a str,
    indexes: Vec<IndexEntry<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct IndexEntry<'a> {
    name: &'a str,
    fields: &'a [&'a str],
    unique: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct EventTypeEntry<'a> {
    name: &'a str,
    description: &'a str,
    schema: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    envelope: Option<Box<RawValue>>,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct ErrorTemplateEntry<'a> {
    status: u16,
    headers: BTreeMap<&'a str, &'a str>,
    body: Option<Box<RawValue>>,
}

/// Returns the manifest as JSON text.
pub(crate) fn to_json(plugin: &Plugin) -> String {
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
        routes: plugin.routes.iter().map(route_entry).collect(),
        data_version: plugin.data_version,
        reads_data_from: plugin.reads_data_from,
        collections: plugin.collections.iter().map(collection_entry).collect(),
        event_types: plugin.event_types.iter().map(event_type_entry).collect(),
        tasks: plugin.tasks.iter().map(task_entry).collect(),
        envelope: plugin.envelope.map(envelope),
        // A schema that is not JSON becomes `false`, which no settings match.
        settings: plugin.settings.map(envelope),
        failures: error_template_entries(plugin),
        openapi: plugin.openapi.and_then(raw),
    };
    // Serialization cannot fail, because every key is a string. The host would reject an empty manifest.
    serde_json::to_string(&manifest).unwrap_or_default()
}

fn route_entry(route: &Route) -> RouteEntry<'_> {
    RouteEntry {
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

fn task_entry(task: &Task) -> TaskEntry<'_> {
    TaskEntry { name: task.name, deadline_ms: task.deadline_ms, delays_ms: task.delays_ms }
}

fn collection_entry(collection: &Collection) -> CollectionEntry<'_> {
    let index = |index: &'static crate::plugin::Index| IndexEntry {
        name: index.name,
        fields: index.fields,
        unique: index.unique,
    };
    CollectionEntry { name: collection.name, indexes: collection.indexes.iter().map(index).collect() }
}

fn event_type_entry(event_type: &EventType) -> EventTypeEntry<'_> {
    EventTypeEntry {
        name: event_type.name,
        description: event_type.description,
        schema: raw(event_type.schema),
        envelope: event_type.envelope.map(envelope),
    }
}

fn error_template_entries(plugin: &Plugin) -> BTreeMap<&'static str, ErrorTemplateEntry<'static>> {
    plugin.failures.iter().map(|template| (template.failure, error_template_entry(plugin, template))).collect()
}

fn error_template_entry<'a>(plugin: &Plugin, template: &'a ErrorTemplate) -> ErrorTemplateEntry<'a> {
    ErrorTemplateEntry {
        status: template.status,
        headers: template.headers.iter().copied().collect(),
        body: RawValue::from_string((plugin.render_error)(&template.refusal(), "{request-id}")).ok(),
    }
}

/// Returns the envelope as JSON. Text that is not JSON becomes `false`, an envelope without a payload, which the host
/// refuses.
fn envelope(text: &str) -> Box<RawValue> {
    raw(text).unwrap_or_else(|| RawValue::FALSE.to_owned())
}

/// Returns the text as JSON, or `None` if it is not JSON. Then the schema or error body is null, or the OpenAPI
/// document is absent. The host accepts both, so a test of the plugin should detect them.
fn raw(text: &str) -> Option<Box<RawValue>> {
    RawValue::from_string(text.to_owned()).ok()
}

/// Renders the error body of a plugin that does not set [`Plugin::render_error()`].
pub(crate) fn render_default_error(refusal: &Refusal, request_id: &str) -> String {
    #[derive(Serialize)]
    struct ErrorBody<'a> {
        code: &'a str,
        message: &'a str,
        request_id: &'a str,
    }
    let body = ErrorBody { code: refusal.code, message: refusal.message(), request_id };
    serde_json::to_string(&body).unwrap_or_default()
}
