//! Inspects the bytes of a component before it is compiled: size, kind, imports, exports.
//!
//! Finds all mistakes at once. Compiles and runs nothing; the compiler validates the code afterwards. `size`: counts
//! that make compiling expensive.

mod size;

use wasmparser::{Parser, Payload};
use wasmtime::component::Component;

use self::size::Size;
use super::grants;
use crate::{config::PluginConfig, limits};

const WASM_PAGE_BYTES: u64 = 64 << 10;

/// Summary of a component: its outermost imports and exports by full name, and the size of its code.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ComponentSummary {
    pub imports: Vec<String>,
    pub exports: Vec<String>,
    size: Size,
    /// Largest initial memory of a module.
    pub memory_bytes: u64,
}

/// Inspects a component. The error contains all reasons why it cannot be `plugin`.
pub fn inspect(plugin: &str, bytes: &[u8], config: &PluginConfig) -> Result<ComponentSummary, Vec<String>> {
    let size = bytes.len() as u64;
    if size > config.limits.component_bytes {
        let max = config.limits.component_bytes;
        return Err(vec![format!("has {size} bytes, {plugin} may have {max} (limits.component-bytes)")]);
    }
    let summary = summarize(bytes).map_err(|reason| vec![reason])?;
    let mut reasons: Vec<String> =
        summary.imports.iter().filter_map(|import| grants::check_import(plugin, import, &config.grants)).collect();
    reasons.extend(check_exports(&summary.exports));
    reasons.extend(summary.size.find_exceeded_limits(plugin, &config.limits));
    reasons.extend(check_memory(summary.memory_bytes, config));
    if reasons.is_empty() { Ok(summary) } else { Err(reasons) }
}

fn check_exports(exports: &[String]) -> Option<String> {
    let handler = exports.iter().find_map(|export| export.strip_prefix(grants::HANDLER));
    match handler {
        None => Some("does not export handler: it is a component, but not a plugin".into()),
        Some(rest) => {
            let version = rest.strip_prefix('@').unwrap_or(rest);
            (!grants::supports(version)).then(|| grants::version_mismatch("handler", version))
        }
    }
}

/// Checks the initial memory, before and after compilation. The engine would reject the compiled code with a less
/// specific error.
fn check_memory(bytes: u64, config: &PluginConfig) -> Option<String> {
    let max = config.limits.memory_bytes.min(limits::POOL_MEMORY_BYTES as u64);
    (bytes > max).then(|| format!("starts with {bytes} bytes of memory, {max} are the limit (limits.memory-bytes)"))
}

/// Summarizes a component. The error is a sentence that states why the bytes are not a component.
fn summarize(bytes: &[u8]) -> Result<ComponentSummary, String> {
    if bytes.is_empty() {
        return Err("is empty".into());
    }
    if !bytes.starts_with(b"\0asm") {
        return Err("is not WebAssembly".into());
    }
    if !Parser::is_component(bytes) {
        return Err("is a core module and not a component: build it for the target wasm32-wasip2".into());
    }
    let mut summary = ComponentSummary::default();
    let mut depth = 0_u32;
    for payload in Parser::new(0).parse_all(bytes) {
        let broken = |error: wasmparser::BinaryReaderError| format!("is not a whole component: {error}");
        let payload = payload.map_err(broken)?;
        summary.size.add(&payload);
        match payload {
            Payload::Version { .. } => depth = depth.saturating_add(1),
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::MemorySection(memories) => {
                for memory in memories {
                    let bytes = memory.map_err(broken)?.initial.saturating_mul(WASM_PAGE_BYTES);
                    summary.memory_bytes = summary.memory_bytes.max(bytes);
                }
            }
            Payload::ComponentImportSection(imports) if depth == 1 => {
                for import in imports {
                    summary.imports.push(import.map_err(broken)?.name.name.to_owned());
                }
            }
            Payload::ComponentExportSection(exports) if depth == 1 => {
                for export in exports {
                    summary.exports.push(export.map_err(broken)?.name.name.to_owned());
                }
            }
            _ => {}
        }
    }
    Ok(summary)
}

/// Checks the resources of one instance. The error contains all exceeded limits.
pub fn check_resources(component: &Component, config: &PluginConfig) -> Result<(), Vec<String>> {
    let Some(required) = component.resources_required() else {
        return Err(vec!["imports core modules at run time, which no plugin may do".into()]);
    };
    let mut reasons = Vec::new();
    if required.num_memories > limits::COMPONENT_MEMORIES_MAX {
        reasons.push(format!(
            "has {} memories, {} are the limit",
            required.num_memories,
            limits::COMPONENT_MEMORIES_MAX
        ));
    }
    if required.num_tables > limits::COMPONENT_TABLES_MAX {
        reasons.push(format!("has {} tables, {} are the limit", required.num_tables, limits::COMPONENT_TABLES_MAX));
    }
    let elements = required.max_initial_table_size.unwrap_or(0);
    if elements > limits::TABLE_ELEMENTS_MAX as u64 {
        reasons.push(format!("has a table of {elements} entries, {} are the limit", limits::TABLE_ELEMENTS_MAX));
    }
    let memory = required.max_initial_memory_size.unwrap_or(0).saturating_mul(WASM_PAGE_BYTES);
    reasons.extend(check_memory(memory, config));
    if reasons.is_empty() { Ok(()) } else { Err(reasons) }
}

/// Returns how many slots of the pool one instance takes.
pub fn count_slots(component: &Component) -> u32 {
    component.resources_required().map_or(1, |required| slots(required.num_memories, required.num_tables))
}

/// Returns the number of slots. A slot holds one memory and a few tables. An instance with more memories or tables
/// takes several slots.
fn slots(memories: u32, tables: u32) -> u32 {
    memories.max(tables.div_ceil(limits::TABLES_PER_CALL)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugin::guest::{Guest, config};

    fn reasons(wat: &str, grants: &[&str]) -> Vec<String> {
        inspect("notes", &wat::parse_str(wat).unwrap(), &config(grants)).unwrap_err()
    }

    #[test]
    fn plugin_within_its_grants_passes() {
        let summary = inspect("notes", &Guest::notes("0.1.0").build(), &config(&[])).unwrap();
        assert!(summary.exports.iter().any(|export| export == "tenon:plugin/handler@0.1.0"));
        assert!(summary.imports.is_empty());
    }

    #[test]
    fn all_mistakes_are_reported_at_once() {
        let found = reasons(
            r#"(component
                (import "tenon:plugin/records@0.1.0" (instance))
                (import "tenon:plugin/credentials@0.1.0" (instance))
                (import "wasi:http/types@0.2.3" (instance)))"#,
            &["log"],
        );
        assert_eq!(found.len(), 4, "{found:?}");
        assert!(found[0].contains("add \"records\" to grants"));
        assert!(found[1].contains("imports credentials, which plugins.toml does not grant"), "{found:?}");
        assert!(found[3].contains("does not export handler"));
    }

    #[test]
    fn imports_of_an_inner_component_are_not_checked() {
        let found = reasons(r#"(component (component (import "tenon:plugin/records@0.1.0" (instance))))"#, &[]);
        assert_eq!(found.len(), 1, "{found:?}");
    }

    #[test]
    fn core_module_text_and_half_a_component_have_different_errors() {
        assert!(reasons("(module)", &[])[0].contains("core module"));
        let error_of = |bytes: &[u8]| inspect("notes", bytes, &config(&[])).unwrap_err().remove(0);
        assert!(error_of(b"hello").contains("is not WebAssembly"));
        assert!(error_of(b"").contains("is empty"));
        let whole = Guest::notes("0.1.0").build();
        assert!(error_of(&whole[..whole.len() / 2]).contains("not a whole component"));
    }

    #[test]
    fn component_over_its_size_is_rejected_before_it_is_read() {
        let mut config = config(&[]);
        config.limits.component_bytes = 3;
        assert!(inspect("notes", b"hello", &config).unwrap_err()[0].contains("limits.component-bytes"));
    }

    #[test]
    fn component_with_too_many_or_too_large_functions_is_rejected_with_the_setting() {
        let mut config = config(&[]);
        let component = Guest::notes("0.1.0").build();
        (config.limits.functions, config.limits.function_bytes) = (6, 5);
        let found = inspect("notes", &component, &config).unwrap_err();
        assert_eq!(
            found,
            [
                "has 7 functions, notes may have 6 (limits.component-functions)",
                "has a function of 6 bytes, in notes one may have 5 (limits.function-bytes)"
            ]
        );
        (config.limits.functions, config.limits.function_bytes) = (7, 6);
        assert!(inspect("notes", &component, &config).is_ok());
    }

    #[test]
    fn few_bytes_with_large_counts_are_rejected_before_compilation() {
        let types = |count: usize| format!("(component (core module {}))", "(type (func))".repeat(count));
        assert!(reasons(&types(20_001), &[])[1].contains("has 20001 types, 20000 are the limit"));
        assert_eq!(reasons(&types(20_000), &[]).len(), 1);

        let tables = "(component (core module (table 400000 funcref)) (core module (table 400000 funcref)))";
        assert!(reasons(tables, &[])[1].contains("has 800000 table entries, 500000 are the limit"));

        let doubled = |levels: u32| {
            let first = "(component $c (core module $m) (core instance (instantiate $m)))".to_owned();
            let twice = "(instance (instantiate $c)) (instance (instantiate $c))";
            let nested = (0..levels).fold(first, |inner, _| format!("(component $c {inner} {twice})"));
            reasons(&format!("(component {nested} (instance (instantiate $c)))"), &[])
        };
        assert!(doubled(80)[1].ends_with("instances of modules and components, 10000 are the limit"));
        // The innermost component makes 1 instance, each level twice those below it and 2 more, and the outermost 1
        // more.
        assert!(doubled(12)[1].contains("has 12287 instances"), "{:?}", doubled(12));
        assert_eq!(doubled(11).len(), 1);
    }

    #[test]
    fn components_side_by_side_are_within_the_limits() {
        let side = r#"(component $c (core module $m) (core instance (instantiate $m)))
            (instance (instantiate $c)) (instance (instantiate $c))"#;
        assert_eq!(reasons(&format!("(component {})", side.replace("$c", "$d") + side), &[]).len(), 1);
    }

    #[test]
    fn memory_over_the_limit_is_rejected_before_compilation() {
        let found = reasons("(component (core module (memory 65536)))", &[]);
        assert!(found[1].contains("starts with 4294967296 bytes of memory, 67108864 are the limit"), "{found:?}");
    }

    #[test]
    fn more_memories_or_tables_take_more_slots() {
        assert_eq!(slots(0, 0), 1);
        assert_eq!(slots(2, 2), 2);
        assert_eq!(slots(1, 9), 3);
    }
}
