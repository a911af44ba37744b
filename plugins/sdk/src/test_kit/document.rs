//! Validation of answers and events against the plugin's OpenAPI document (`TestHost::validate_openapi`).
//!
//! Invariant: an operation lists each status that the plugin itself returns. `default` is for responses of the host.

use serde_json::Value;

use super::memory::EmittedEvent;
use super::schema::{self, resolve};
use super::{TestAnswer, TestHost};

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

    /// Validates the payload against the schema of the envelope member whose value is `{payload}`.
    pub(super) fn check_event(&self, event: &EmittedEvent) {
        let Some(document) = self.document() else { return };
        let hook = document["webhooks"].get(&event.event_type);
        let published = hook.and_then(|hook| hook.pointer("/post/requestBody/content/application~1json/schema"));
        let Some(schema) = published.map(|schema| resolve(document, schema)) else { return };
        let envelope: Option<Value> = self.plugin().envelope.and_then(|text| serde_json::from_str(text).ok());
        let members = envelope.as_ref().and_then(Value::as_object);
        let Some((member, _)) = members.into_iter().flatten().find(|(_, value)| *value == "{payload}") else { return };
        let Some(schema) = schema["properties"].get(member) else { return };
        schema::check(document, schema, &event.payload, &event.event_type);
    }
}
