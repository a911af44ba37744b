//! Rendering of ordinary and of malicious documents.

use serde_json::{Value, json};

use super::*;
use crate::limits::{DOCS_BYTES_MAX, DOCS_FIELDS_MAX, DOCS_STEPS_MAX};
use fields::{Field, fields_of, kind_of};

fn document(root: &Value) -> Document<'_> {
    Document { root, base_url: "http://api.test", plugin: "notes" }
}

fn page(root: &Value) -> String {
    format!("{}{}", keys::describe_schemes(document(root)), Section::new(document(root)).write())
}

/// Builds a document with one operation that has this member, and with components.
fn with(member: &str, value: Value, components: Value) -> Value {
    let mut operation = json!({"operationId": "write-note", "responses": {}});
    operation[member] = value;
    json!({"paths": {"/v1/notes": {"post": operation}}, "components": components})
}

fn rows(root: &Value, schema: &Value) -> Vec<String> {
    let mut steps = DOCS_STEPS_MAX;
    let row =
        |field: &Field| format!("{}: {}{}", field.path, field.kind, if field.is_required { ", required" } else { "" });
    fields_of(document(root), schema, &mut steps).rows.iter().map(row).collect()
}

#[test]
fn credential_is_rendered_as_the_document_declares_it() {
    let schemes = json!({"securitySchemes": {
        "key": {"type": "apiKey", "in": "header", "name": "x-api-key", "description": "Of the <account>."},
        "query": {"type": "apiKey", "in": "query", "name": "api_key"},
        "basic": {"type": "http", "scheme": "basic"},
        "bearer": {"type": "http", "scheme": "bearer"},
        "oauth": {"type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": "/oauth2/token"}}},
    }});
    let cases = [
        (
            json!([{"key": ["notes"]}]),
            "header <code>x-api-key</code> with the scope <code>notes</code>",
            "x-api-key: $KEY",
        ),
        (
            json!([{"query": []}]),
            "parameter <code>api_key</code>",
            "&#39;http://api.test/v1/notes&#39;&quot;?api_key=$KEY&quot;",
        ),
        (json!([{"basic": []}]), "basic authentication", "-u &quot;$KEY:&quot;"),
        (json!([{"bearer": []}, {"key": []}]), ", or header <code>x-api-key</code>", "Authorization: Bearer $KEY"),
        (json!([{"oauth": []}]), "token of OAuth", "Authorization: Bearer $TOKEN"),
        (json!([]), "Needs no key.", "/v1/notes&#39;</pre>"),
    ];
    for (security, sentence, option) in cases {
        let page = page(&with("security", security, schemes.clone()));
        assert!(page.contains(sentence) && page.contains(option), "{sentence}, {option}: {page}");
        assert!(page.contains("Of the &lt;account&gt;.") && page.contains("<code>/oauth2/token</code>"));
    }
}

#[test]
fn scheme_unsafe_for_a_shell_is_in_no_command() {
    for name in ["x\"; rm -rf ~ #", "$(reboot)", "`id`", "a b", "", "x\ny"] {
        for place in ["header", "query", "cookie"] {
            let schemes = json!({"securitySchemes": {"key": {"type": "apiKey", "in": place, "name": name}}});
            let page = page(&with("security", json!([{"key": []}]), schemes));
            assert!(page.contains("curl -X POST &#39;http://api.test/v1/notes&#39;</pre>"), "{page}");
        }
    }
    let body = json!({"content": {"application/json": {"example": "it's $(x)\u{1b}[2J"}}});
    let page = page(&with("requestBody", body, json!({})));
    assert!(page.contains("-d &#39;&quot;it&#39;\\&#39;&#39;s $(x)"), "{page}");
    assert!(!page.contains('\u{1b}'));
}

#[test]
fn fields_of_bodies_and_responses_are_rendered_with_resolved_references() {
    let components = json!({
        "schemas": {
            "Id": {"type": "string", "format": "uuid", "description": "Which one."},
            "Note": {"type": "object", "required": ["id"], "properties": {
                "id": {"$ref": "#/components/schemas/Id"},
                "tags": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
                "state": {"enum": ["new", "old"]},
                "size": {"type": ["integer", "null"], "description": "In <bytes>."},
            }},
        },
        "responses": {"None": {"description": "No such note.", "content": {"application/json": {
            "schema": {"properties": {"code": {"const": "not-found"}}}}}}},
        "parameters": {"Key": {"name": "idempotency-key", "in": "header", "schema": {"type": "string"}}},
    });
    let note = json!({"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Note"}}}});
    let mut root = with("requestBody", note.clone(), components);
    let operation = &mut root["paths"]["/v1/notes"]["post"];
    operation["responses"] = json!({"201": note, "404": {"$ref": "#/components/responses/None"}});
    operation["parameters"] = json!([{"$ref": "#/components/parameters/Key"}]);
    root["paths"]["/v1/notes"]["parameters"] = json!([{"name": "of-path", "in": "query", "required": true}]);
    root["webhooks"] = json!({"note.made": {"post": {"summary": "It was <made>.", "requestBody": note}}});
    assert_eq!(
        rows(&root, &json!({"$ref": "#/components/schemas/Note"})),
        [
            "id: string (uuid), required",
            "size: integer or null",
            "state: one of \"new\", \"old\"",
            "tags: list of object",
            "tags[].name: string",
        ]
    );
    let page = page(&root);
    for expected in [
        "<td><code>id</code></td><td>string (uuid)</td><td>yes</td><td>Which one.</td>",
        "In &lt;bytes&gt;.",
        "<summary>Fields of 201</summary>",
        "<a href=\"#notes.answer.None\">Fields of None</a>",
        "<article id=\"notes.answer.None\"><h4>None</h4>",
        "<td>&quot;not-found&quot;</td>",
        "<td><code>idempotency-key</code></td><td>header</td><td>string</td><td>no</td>",
        "<td><code>of-path</code></td><td>query</td><td></td><td>yes</td>",
        "<a href=\"#notes.write-note\">POST /v1/notes</a>",
        "<article id=\"notes.webhook.note.made\"><h4>note.made</h4><p>It was &lt;made&gt;.</p>",
    ] {
        assert!(page.contains(expected), "{expected} is not in {page}");
    }
}

#[test]
fn composed_schema_has_the_fields_of_all_parts() {
    let root = json!({"components": {"schemas": {
        "Base": {"required": ["event"], "properties": {"event": {"type": "string"}}},
        "Paid": {"properties": {"kind": {"const": "paid"}, "amount": {"type": "string"}}},
        "Lost": {"required": ["kind"], "properties": {"kind": {"const": "lost"}}},
    }}});
    let of = |name: &str| json!({"$ref": format!("#/components/schemas/{name}")});
    let whole = json!({"allOf": [of("Base"), {"oneOf": [of("Paid"), of("Lost")]}]});
    let expected = ["event: string, required", "amount: string", "kind: \"paid\" or \"lost\""];
    assert_eq!(rows(&root, &whole), expected);
    assert_eq!(rows(&root, &json!({"type": "array", "items": of("Base")})), ["[].event: string, required"]);
    let mixed = json!({"type": "array", "items": {"oneOf": [{"type": "string"}, {}]}});
    let mut steps = DOCS_STEPS_MAX;
    assert_eq!(kind_of(document(&root), &mixed, &mut steps), "list of string or anything");
}

#[test]
fn recursive_or_huge_document_is_truncated() {
    let to = |name: &str| json!({"$ref": format!("#/components/schemas/{name}")});
    let many: serde_json::Map<String, Value> = (0..5_000).map(|at| (format!("f{at}"), to("Wide"))).collect();
    let parts: Vec<Value> = (0..2_000).map(|_| to("Parts")).collect();
    let components = json!({"schemas": {
        "Loop": to("Loop"),
        "Tree": {"properties": {"left": to("Tree"), "right": to("Tree")}},
        "Wide": {"properties": many, "required": vec!["f1"; 100_000]},
        "Parts": {"allOf": parts.clone(), "oneOf": parts},
        "Lists": {"type": "array", "items": to("Lists")},
    }});
    for name in ["Loop", "Tree", "Wide", "Parts", "Lists", "Nothing"] {
        let body = json!({"content": {"application/json": {"schema": to(name)}}});
        let mut root = with("requestBody", body, components.clone());
        let item = root["paths"]["/v1/notes"].clone();
        for at in 0..2_000 {
            root["paths"][format!("/v1/{at}")] = item.clone();
        }
        let mut steps = DOCS_STEPS_MAX;
        assert!(fields_of(document(&root), &to(name), &mut steps).rows.len() <= DOCS_FIELDS_MAX);
        let page = page(&root);
        assert!(page.len() < DOCS_BYTES_MAX + (1 << 20), "{name}: {}", page.len());
    }
}

#[test]
fn document_strings_never_become_markup() {
    const EVIL: &str = "\"'><script>alert(1)</script>";
    let field = json!({"type": EVIL, "format": EVIL, "description": EVIL, "enum": [EVIL]});
    let schema = json!({"properties": {EVIL: field, "other": {"type": EVIL, "format": EVIL}}, "required": [EVIL]});
    let content = json!({EVIL: {"schema": schema}, "application/json": {"schema": schema, "example": {EVIL: EVIL}}});
    let operation = json!({
        "operationId": EVIL, "summary": EVIL, "description": EVIL, "security": [{EVIL: [EVIL]}, {"key": [EVIL]}],
        "parameters": [{"name": EVIL, "in": EVIL, "description": EVIL, "schema": field}],
        "requestBody": {"description": EVIL, "content": content},
        "responses": {EVIL: {"description": EVIL, "content": content}, "400": {"$ref": format!("#/components/responses/{EVIL}")}},
    });
    let root = json!({
        "paths": {EVIL: {"post": operation}},
        "webhooks": {EVIL: {"post": operation}},
        "components": {
            "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": EVIL, "description": EVIL}, EVIL: {
                "type": "oauth2", "flows": {"x": {"tokenUrl": EVIL}}}},
            "responses": {EVIL: {"description": EVIL, "content": content}},
        },
    });
    let page = page(&root);
    assert!(page.contains("&lt;script&gt;") && !page.contains("<script"), "{page}");
    assert!(!page.contains("\"'>") && !page.contains("'>"), "{page}");
}
