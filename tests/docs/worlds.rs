//! The WIT world of each plugin lists the imports of its component.

use std::collections::BTreeSet;

use wasmparser::{Parser, Payload};

use super::read;
use crate::support::component;

/// The interface that every component exports.
const HANDLER: &str = "handler";
/// The interface with the records and variants of the other interfaces.
const TYPES: &str = "types";

/// Returns the names of the contract's interfaces that the component of `plugin` imports, except [`TYPES`].
fn imports(plugin: &str) -> BTreeSet<String> {
    let bytes = std::fs::read(component(plugin)).expect("the component");
    let mut names = BTreeSet::new();
    for payload in Parser::new(0).parse_all(&bytes) {
        let Payload::ComponentImportSection(section) = payload.expect("a valid component") else { continue };
        names.extend(section.into_iter().flatten().filter_map(|import| interface(import.name.name)));
    }
    names.into_iter().filter(|name| name != HANDLER && name != TYPES).collect()
}

/// Returns "records" for "tenon:plugin/records@0.1.0".
fn interface(name: &str) -> Option<String> {
    let (interface, _version) = name.strip_prefix("tenon:plugin/")?.split_once('@')?;
    Some(interface.to_owned())
}

#[test]
fn world_of_each_plugin_lists_the_imports_of_its_component() {
    for plugin in ["fleet", "wallet", "clearing"] {
        let world = read(&format!("plugins/{plugin}/world.wit"));
        let lines = world.lines().filter_map(|line| line.trim().strip_prefix("import ")?.strip_suffix(';'));
        assert_eq!(lines.filter_map(interface).collect::<BTreeSet<_>>(), imports(plugin), "{plugin}");
    }
}
