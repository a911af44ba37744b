//! Decides what a plugin may import: granted interfaces of the contract, and closed WASI.
//!
//! Pure: checks names and returns messages. `inspect` reads the component.

use crate::capability::{OFFERED, UNGRANTED};

/// The version of the contract that this host supports. A component names it with a patch number.
pub const CONTRACT: &str = "0.1";
/// The interface that every plugin exports.
pub const HANDLER: &str = "tenon:plugin/handler";
/// Packages of WASI 0.2 that a guest's standard library may import. The host provides them without effects.
const CLOSED_WASI: [&str; 6] = ["cli", "io", "clocks", "random", "filesystem", "sockets"];

/// End of the error about an interface without a grant. The name of the plugin follows.
const WITHOUT_GRANT: &str = ", which plugins.toml does not grant to ";

/// A parsed name of an import or export: `package/interface@version`.
#[derive(Debug, PartialEq, Eq)]
pub struct ImportName<'a> {
    /// "tenon:plugin"; empty for a bare name.
    pub package: &'a str,
    pub interface: &'a str,
    /// "0.1.0"; empty if the name has none.
    pub version: &'a str,
}

pub fn parse_name(name: &str) -> ImportName<'_> {
    let (path, version) = name.split_once('@').unwrap_or((name, ""));
    let (package, interface) = path.split_once('/').unwrap_or(("", path));
    ImportName { package, interface, version }
}

/// Returns true if a component built for `version` ("0.1.3") may run on this host. Before 1.0, minor versions are
/// incompatible.
pub fn supports(version: &str) -> bool {
    version == CONTRACT || version.strip_prefix(CONTRACT).is_some_and(|rest| rest.starts_with('.'))
}

/// Returns the reason why `plugin` may not import `import`, with a remedy. Returns `None` if it may.
pub fn check_import(plugin: &str, import: &str, grants: &[String]) -> Option<String> {
    let name = parse_name(import);
    match name.package {
        "tenon:plugin" => check_contract_import(plugin, &name, grants),
        package => match package.strip_prefix("wasi:") {
            Some(wasi) if CLOSED_WASI.contains(&wasi) => check_wasi_version(import, name.version),
            Some(_) => Some(format!(
                "imports {import}, which no plugin may import: the host provides its own interfaces instead"
            )),
            None => Some(format!("imports {import}, which this host does not provide")),
        },
    }
}

fn check_contract_import(plugin: &str, name: &ImportName<'_>, grants: &[String]) -> Option<String> {
    let interface = name.interface;
    let known = UNGRANTED.contains(&interface) || OFFERED.contains(&interface);
    if !known {
        return Some(format!("imports {interface}, which is not an interface of contract {CONTRACT}"));
    }
    if !supports(name.version) {
        return Some(version_mismatch(interface, name.version));
    }
    if UNGRANTED.contains(&interface) {
        return None;
    }
    if grants.iter().any(|grant| grant == interface) {
        return None;
    }
    Some(format!("imports {interface}{WITHOUT_GRANT}{plugin}: add \"{interface}\" to grants"))
}

/// Returns true if the error is about an interface without a grant: the component may be that of another plugin.
pub fn is_ungranted(error: &str) -> bool {
    error.contains(WITHOUT_GRANT)
}

/// Returns the error about an interface of another version of the contract.
pub fn version_mismatch(interface: &str, version: &str) -> String {
    let built_for = match version.rsplit_once('.') {
        Some((minor, _patch)) if minor.contains('.') => minor,
        _ if version.is_empty() => "no version",
        _ => version,
    };
    format!("{interface} was built for contract {built_for}, this host supports {CONTRACT}")
}

fn check_wasi_version(import: &str, version: &str) -> Option<String> {
    if version.starts_with("0.2.") {
        return None;
    }
    Some(format!("imports {import}, but this host has WASI 0.2 only: build for the target wasm32-wasip2"))
}

/// Returns errors for grants that name no interface.
pub fn check_grants(plugin: &str, grants: &[String]) -> Vec<String> {
    grants
        .iter()
        .filter(|grant| !OFFERED.contains(&grant.as_str()))
        .map(|grant| {
            format!(
                "{plugin} is granted \"{grant}\", which is no interface; the interfaces are: {}",
                OFFERED.join(", ")
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error_for(import: &str, grants: &[&str]) -> Option<String> {
        let grants: Vec<String> = grants.iter().map(|grant| grant.to_string()).collect();
        check_import("notes", import, &grants)
    }

    #[test]
    fn granted_interfaces_types_and_closed_wasi_may_be_imported() {
        for import in [
            "tenon:plugin/records@0.1.0",
            "tenon:plugin/types@0.1.0",
            "tenon:plugin/answers@0.1.0",
            "wasi:cli/environment@0.2.3",
            "wasi:io/streams@0.2.0",
        ] {
            assert_eq!(error_for(import, &["records"]), None, "{import}");
        }
    }

    #[test]
    fn each_error_contains_a_remedy() {
        let assert_error = |import, part: &str| {
            let text = error_for(import, &["log"]).unwrap();
            assert!(text.contains(part), "{text}");
        };
        assert_error("tenon:plugin/records@0.1.0", "does not grant to notes: add \"records\" to grants");
        assert_error("tenon:plugin/telepathy@0.1.0", "not an interface of contract 0.1");
        assert_error("tenon:plugin/log@0.2.0", "was built for contract 0.2, this host supports 0.1");
        assert_error("wasi:http/outgoing-handler@0.2.3", "which no plugin may import");
        assert_error("wasi:cli/environment@0.3.0", "WASI 0.2 only");
        assert_error("acme:other/thing@1.0.0", "which this host does not provide");
        assert_error("reach", "which this host does not provide");
    }

    #[test]
    fn errors_about_missing_grants_are_distinguished() {
        assert!(is_ungranted(&error_for("tenon:plugin/records@0.1.0", &["log"]).unwrap()));
        assert!(!is_ungranted(&error_for("tenon:plugin/telepathy@0.1.0", &["log"]).unwrap()));
    }

    #[test]
    fn patch_version_is_supported_and_a_similar_version_is_not() {
        assert!(supports("0.1.0") && supports("0.1.7") && supports("0.1"));
        assert!(!supports("0.10.0") && !supports("0.2.0") && !supports("1.1.0") && !supports(""));
    }

    #[test]
    fn world_of_the_contract_offers_exactly_these_interfaces() {
        let worlds = include_str!("../../../wit/worlds.wit");
        let offered = worlds.split("world offered {").nth(1).unwrap().split('}').next().unwrap();
        let imports: Vec<&str> =
            offered.split(';').filter_map(|line| line.trim().strip_prefix("import ")).map(str::trim).collect();
        let (ungranted, granted): (Vec<&str>, Vec<&str>) = imports.iter().partition(|name| UNGRANTED.contains(name));
        assert_eq!(ungranted, ["answers"], "types are imported by the interfaces that use them");
        assert_eq!(granted, OFFERED);
    }
}
