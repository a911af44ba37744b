//! Small plugins as component text, for tests of this module.

use std::collections::BTreeMap;

use crate::config::{PluginConfig, PluginLimits, TaskConfig, WebhookConfig};

/// Returns a plugin section with these grants and the default limits.
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

/// Returns the manifest of the plugin "notes" with one route.
pub fn manifest(version: &str) -> serde_json::Value {
    serde_json::json!({
        "contract": "0.1", "name": "notes", "version": version,
        "routes": [{"operation": "list-notes", "method": "GET", "path": "/v1/notes"}],
    })
}

/// A component that exports `handler`. `describe` returns a fixed string.
pub struct Guest {
    describe: String,
    manifest: String,
    memory_pages: u32,
    imports: String,
}

impl Guest {
    pub fn notes(version: &str) -> Guest {
        Guest::with_manifest(manifest(version).to_string())
    }

    pub fn with_manifest(manifest: String) -> Guest {
        Guest { describe: "i32.const 0".into(), manifest, memory_pages: 2, imports: String::new() }
    }

    /// Replaces the body of `describe`: instructions that leave the address of the result.
    pub fn with_describe(mut self, body: &str) -> Guest {
        self.describe = body.into();
        self
    }

    pub fn memory_pages(mut self, pages: u32) -> Guest {
        self.memory_pages = pages;
        self
    }

    /// Imports one function `f` of an interface, callable in `describe` as `call $f`.
    pub fn with_import(mut self, interface: &str) -> Guest {
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
              {HANDLER})"#,
            pages = self.memory_pages,
            describe = self.describe,
        )
    }
}

/// Returns a valid mangled C++ name in which each type contains the one before it twice. It has few bytes, and 2 to the
/// power of `levels` when it is decoded.
pub fn exponential_name(levels: u32) -> String {
    let digit = |number: u32| char::from_digit(number % 36, 36).unwrap_or('_').to_ascii_uppercase();
    let reference = |number: u32| match number.checked_sub(1) {
        None => "S_".to_owned(),
        Some(number) if number < 36 => format!("S{}_", digit(number)),
        Some(number) => format!("S{}{}_", digit(number / 36), digit(number)),
    };
    let later = (3..levels + 2).map(|number| format!("{}I{1}{1}E", reference(2), reference(number)));
    format!("_Z1f1aIiiE1bI{0}{0}E{1}", reference(1), later.collect::<String>())
}

/// `handler` as text, shared with the components of the integration tests.
const HANDLER: &str = include_str!("../../../tests/guests/handler.wat");
