//! Validation of answers and events against the plugin's OpenAPI document (`TestHost::validate_openapi`).
//!
//! Invariant: an operation lists each status that the plugin itself returns. `default` is for responses of the host.

use serde_json::Value;

use super::memory::EmittedEvent;
use super::schema::{self, resolve};
use super::{TestAnswer, TestHost};

/// Placeholder of the payload in an envelope.
const PAYLOAD: &str = "{payload}";

impl TestHost {
    pub(super) fn check_answer(&self, operation: &str, answer: &TestAnswer) {
        let Some(document) = self.document() else { return };
        let items = document["paths"].as_object().into_iter().flat_map(|paths| paths.values());
        let mut all = items.filter_map(Value::as_object).flat_map(|item| item.values());
        let published = all.find(|it| it["operationId"] == operation);
        let published = published.unwrap_or_else(|| panic!("{operation} is not in the OpenAPI document"));
        let path = format!("{operation} {}", answer.status);
        let declared = published["responses"].get(answer.status.to_string());
        let declared = declared.unwrap_or_else(|| panic!("{path} is not in the OpenAPI document: {}", answer.body));
        if let Some(media) = resolve(document, declared)["content"].get("application/json") {
            schema::check(document, &media["schema"], &answer.json(), &path);
        }
    }

    /// Validates the payload against the schema of the part of its envelope that is `{payload}`. The envelope of the
    /// event type takes precedence over the envelope of the plugin. Without an envelope, the payload is the whole body.
    pub(super) fn check_event(&self, event: &EmittedEvent) {
        let Some(document) = self.document() else { return };
        let hook = document["webhooks"].get(&event.event_type);
        let published = hook.and_then(|hook| hook.pointer("/post/requestBody/content/application~1json/schema"));
        let Some(schema) = published else { return };
        let declared = self.plugin().event_types.iter().find(|declared| declared.name == event.event_type);
        let template = declared.and_then(|declared| declared.envelope).or(self.plugin().envelope);
        let envelope: Value =
            template.map_or_else(|| PAYLOAD.into(), |text| serde_json::from_str(text).unwrap_or_default());
        let Some(schema) = payload_schema(document, schema, &envelope) else { return };
        schema::check(document, schema, &event.payload, &event.event_type);
    }
}

/// Returns the schema of the part of an envelope that is `{payload}`. `schema` is the schema of the whole envelope.
fn payload_schema<'a>(document: &'a Value, schema: &'a Value, envelope: &Value) -> Option<&'a Value> {
    let schema = resolve(document, schema);
    match envelope {
        Value::Object(members) => members
            .iter()
            .find_map(|(name, member)| payload_schema(document, schema.get("properties")?.get(name)?, member)),
        Value::Array(entries) => entries.iter().find_map(|entry| payload_schema(document, schema.get("items")?, entry)),
        part => (*part == PAYLOAD).then_some(schema),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{EventType, Plugin};

    /// Each webhook has a body with a string `data` and a number `note`, except `note.listed`, which has a list of
    /// numbers.
    const DOCUMENT: &str = r##"{
        "schemas": {
            "body": {"properties": {"data": {"type": "string"}, "note": {"type": "number"}}},
            "list": {"type": "array", "items": {"type": "number"}}
        },
        "webhooks": {
            "note.written": {"post": {"requestBody": {"content": {"application/json": {
                "schema": {"$ref": "#/schemas/body"}}}}}},
            "note.removed": {"post": {"requestBody": {"content": {"application/json": {
                "schema": {"$ref": "#/schemas/body"}}}}}},
            "note.listed": {"post": {"requestBody": {"content": {"application/json": {
                "schema": {"$ref": "#/schemas/list"}}}}}}
        }
    }"##;

    const EVENT_TYPES: &[EventType] = &[
        EventType::new("note.written", "", "{}").envelope(r#"{"data":"{subject}","note":"{payload}"}"#),
        EventType::new("note.removed", "", "{}"),
        EventType::new("note.listed", "", "{}").envelope(r#"["{payload}"]"#),
    ];

    static ENVELOPED: Plugin =
        Plugin::new("notes", "0.1.0").event_types(EVENT_TYPES).envelope(r#"{"data":"{payload}"}"#).openapi(DOCUMENT);

    static BARE: Plugin =
        Plugin::new("notes", "0.1.0").event_types(&[EventType::new("note.listed", "", "{}")]).openapi(DOCUMENT);

    fn check(plugin: &'static Plugin, event_type: &str, payload: Value) {
        TestHost::new(plugin).validate_openapi().check_event(&EmittedEvent {
            id: String::new(),
            tenant: String::new(),
            event_type: event_type.to_owned(),
            subject: String::new(),
            payload,
            at: 0,
        });
    }

    #[test]
    fn payload_that_matches_its_part_of_the_envelope_passes() {
        check(&ENVELOPED, "note.written", json!(5));
        check(&ENVELOPED, "note.removed", json!("a"));
        check(&ENVELOPED, "note.listed", json!(5));
        check(&BARE, "note.listed", json!([5]));
    }

    #[test]
    #[should_panic(expected = "note.written: \"a\" is not type \"number\"")]
    fn payload_is_validated_against_the_envelope_of_its_event_type() {
        check(&ENVELOPED, "note.written", json!("a"));
    }

    #[test]
    #[should_panic(expected = "note.listed: \"a\" is not type \"number\"")]
    fn payload_in_an_array_is_validated_against_its_items() {
        check(&ENVELOPED, "note.listed", json!("a"));
    }

    #[test]
    #[should_panic(expected = "note.listed: 5 is not type \"array\"")]
    fn payload_without_an_envelope_is_validated_against_the_whole_body() {
        check(&BARE, "note.listed", json!(5));
    }
}
