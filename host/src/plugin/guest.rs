//! Small plugins as component text, for tests of this room: what they say of themselves and how they misbehave.

use std::collections::BTreeMap;

use crate::config::{PluginConfig, PluginLimits, TaskConfig, WebhookConfig};

/// A plugin section with these grants and the usual limits.
pub fn config(grants: &[&str]) -> PluginConfig {
    PluginConfig {
        component: "notes.wasm".into(),
        mount: "/".into(),
        grants: grants.iter().map(|grant| grant.to_string()).collect(),
        shows_private_keys: false,
        origin_headers: Vec::new(),
        examples: Vec::new(),
        limits: PluginLimits::default(),
        webhooks: WebhookConfig::default(),
        tasks: TaskConfig::default(),
        destinations: BTreeMap::new(),
        settings: BTreeMap::new(),
    }
}

/// The manifest of the plugin "notes" with one route.
pub fn manifest(version: &str) -> serde_json::Value {
    serde_json::json!({
        "contract": "0.1", "name": "notes", "version": version,
        "routes": [{"operation": "list-notes", "method": "GET", "path": "/v1/notes"}],
    })
}

/// A component that exports `handler`; `describe` returns a fixed text.
pub struct Guest {
    describe: String,
    manifest: String,
    memory_pages: u32,
    imports: String,
}

impl Guest {
    pub fn notes(version: &str) -> Guest {
        Guest::saying(manifest(version).to_string())
    }

    pub fn saying(manifest: String) -> Guest {
        Guest { describe: "i32.const 0".into(), manifest, memory_pages: 2, imports: String::new() }
    }

    /// Replaces the body of `describe`: instructions that leave the address of the result.
    pub fn describing(mut self, body: &str) -> Guest {
        self.describe = body.into();
        self
    }

    pub fn memory_pages(mut self, pages: u32) -> Guest {
        self.memory_pages = pages;
        self
    }

    /// Imports one function `f` of an interface, callable in `describe` as `call $f`.
    pub fn importing(mut self, interface: &str) -> Guest {
        self.imports = interface.into();
        self
    }

    pub fn build(&self) -> Vec<u8> {
        wat::parse_str(self.text()).unwrap()
    }

    fn text(&self) -> String {
        let length: String =
            (self.manifest.len() as u32).to_le_bytes().iter().map(|byte| format!("\\{byte:02x}")).collect();
        let escaped: String = self.manifest.bytes().map(|byte| format!("\\{byte:02x}")).collect();
        let (import, lower, need, give) = match self.imports.as_str() {
            "" => (String::new(), "", "", ""),
            interface => (
                format!("(import \"{interface}\" (instance $host (export \"f\" (func))))"),
                r#"(core func $f (canon lower (func $host "f")))"#,
                r#"(import "host" "f" (func $f))"#,
                r#"(with "host" (instance (export "f" (func $f))))"#,
            ),
        };
        format!(
            r#"(component
              {import} {lower}
              (core module $code {need}
                (memory (export "memory") {pages})
                (data (i32.const 0) "\10\00\00\00{length}")
                (data (i32.const 16) "{escaped}")
                (func (export "describe") (result i32) {describe})
                (func (export "handle") (param i32) (result i32) unreachable)
                (func (export "run") (param i32) (result i32) unreachable)
                (func (export "realloc") (param i32 i32 i32 i32) (result i32) i32.const 65536))
              (core instance $i (instantiate $code {give}))
              {TYPES}
              (func $describe (result string) (canon lift (core func $i "describe") (memory (core memory $i "memory"))))
              (func $handle (param "request" $request) (result (result $answer (error string)))
                (canon lift (core func $i "handle") (memory (core memory $i "memory")) (realloc (core func $i "realloc"))))
              (func $run (param "task" $task) (result (result $verdict (error string)))
                (canon lift (core func $i "run") (memory (core memory $i "memory")) (realloc (core func $i "realloc"))))
              (instance $handler
                (export "describe" (func $describe)) (export "handle" (func $handle)) (export "run" (func $run)))
              (export "tenon:plugin/handler@0.1.0" (instance $handler)))"#,
            pages = self.memory_pages,
            describe = self.describe,
        )
    }
}

/// A mangled name of C++, valid, each of whose types holds the one before it twice. Few bytes; decoded, 2 to the power of
/// `levels`.
pub fn doubling_name(levels: u32) -> String {
    let digit = |number: u32| char::from_digit(number % 36, 36).unwrap_or('_').to_ascii_uppercase();
    let place = |number: u32| match number.checked_sub(1) {
        None => "S_".to_owned(),
        Some(number) if number < 36 => format!("S{}_", digit(number)),
        Some(number) => format!("S{}{}_", digit(number / 36), digit(number)),
    };
    let later = (3..levels + 2).map(|number| format!("{}I{1}{1}E", place(2), place(number)));
    format!("_Z1f1aIiiE1bI{0}{0}E{1}", place(1), later.collect::<String>())
}

/// The types of `handler`, exported by name because only named types may cross the border.
const TYPES: &str = r#"
  (type $pair_ (record (field "name" string) (field "value" string)))
  (export $pair "pair" (type $pair_))
  (type $blob_ (record (field "media-type" string) (field "bytes" (list u8))))
  (export $blob "blob" (type $blob_))
  (type $content_ (variant (case "empty") (case "json" string) (case "other" $blob)))
  (export $content "content" (type $content_))
  (type $principal_ (record (field "tenant" string) (field "environment" string) (field "kind" string)
    (field "subject" string) (field "scopes" (list string)) (field "attributes" (list $pair))))
  (export $principal "principal" (type $principal_))
  (type $response_ (record (field "status" u16) (field "headers" (list $pair)) (field "content" $content)))
  (export $response "response" (type $response_))
  (type $request_ (record (field "operation" string) (field "method" string) (field "path" string)
    (field "parameters" (list $pair)) (field "query" (list $pair)) (field "headers" (list $pair))
    (field "content" $content) (field "principal" $principal) (field "id" string) (field "now" u64)
    (field "context" (list $pair))))
  (export $request "request" (type $request_))
  (type $feed_ (record (field "event-types" (list string)) (field "subjects" (list string))))
  (export $feed "feed" (type $feed_))
  (type $answer_ (variant (case "commit" $response) (case "refuse" $response) (case "wait") (case "stream" $feed)))
  (export $answer "answer" (type $answer_))
  (type $outcome_ (variant (case "answered" $response) (case "not-sent" string) (case "unknown" string)))
  (export $outcome "outcome" (type $outcome_))
  (type $task_ (record (field "name" string) (field "key" string) (field "payload" string)
    (field "outcome" (option $outcome)) (field "attempt" u32) (field "last" bool)
    (field "principal" $principal) (field "now" u64)))
  (export $task "task" (type $task_))
  (type $verdict_ (variant (case "done") (case "wait") (case "later" u64)))
  (export $verdict "verdict" (type $verdict_))
"#;
