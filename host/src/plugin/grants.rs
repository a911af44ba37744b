//! What a plugin may import: the contract's interfaces that the operator granted, and closed WASI. Nothing else.
//!
//! Pure: names in, sentences out. Never looks at a component itself (that is `inspect`).

use crate::capability::{OFFERED, UNGRANTED};

/// The version of the contract that this host speaks; a component names it with a patch number.
pub const CONTRACT: &str = "0.1";
/// Where every plugin starts.
pub const HANDLER: &str = "tenon:plugin/handler";
/// Packages of WASI 0.2 that a guest's standard library may want; all of them lead nowhere.
const CLOSED_WASI: [&str; 6] = ["cli", "io", "clocks", "random", "filesystem", "sockets"];

/// End of an objection to an interface without a grant. The name of the plugin follows.
const WITHOUT_GRANT: &str = ", which plugins.toml does not grant to ";

/// An imported or exported name, taken apart: `package/interface@version`.
#[derive(Debug, PartialEq, Eq)]
pub struct Named<'a> {
    /// "tenon:plugin"; empty for a bare name.
    pub package: &'a str,
    pub interface: &'a str,
    /// "0.1.0"; empty where none is given.
    pub version: &'a str,
}

pub fn take_apart(name: &str) -> Named<'_> {
    let (path, version) = name.split_once('@').unwrap_or((name, ""));
    let (package, interface) = path.split_once('/').unwrap_or(("", path));
    Named { package, interface, version }
}

/// Whether a component built for `version` ("0.1.3") may run on this host. Before 1.0 each minor version stands alone.
pub fn speaks(version: &str) -> bool {
    version == CONTRACT || version.strip_prefix(CONTRACT).is_some_and(|rest| rest.starts_with('.'))
}

/// Why `plugin` may not import `import`, in plain words with what to do about it; `None`: it may.
pub fn find_objection(plugin: &str, import: &str, grants: &[String]) -> Option<String> {
    let name = take_apart(import);
    match name.package {
        "tenon:plugin" => object_to_contract(plugin, &name, grants),
        package => match package.strip_prefix("wasi:") {
            Some(wasi) if CLOSED_WASI.contains(&wasi) => object_to_wasi_version(import, name.version),
            Some(_) => Some(format!("imports {import}, which no plugin gets: the host does such things on its behalf")),
            None => Some(format!("imports {import}, which this host does not know")),
        },
    }
}

fn object_to_contract(plugin: &str, name: &Named<'_>, grants: &[String]) -> Option<String> {
    let interface = name.interface;
    let known = UNGRANTED.contains(&interface) || OFFERED.contains(&interface);
    if !known {
        return Some(format!("imports {interface}, which is not an interface of contract {CONTRACT}"));
    }
    if !speaks(name.version) {
        return Some(object_to_version(interface, name.version));
    }
    if UNGRANTED.contains(&interface) {
        return None;
    }
    if grants.iter().any(|grant| grant == interface) {
        return None;
    }
    Some(format!("imports {interface}{WITHOUT_GRANT}{plugin}: add \"{interface}\" to grants"))
}

/// Whether an objection is to an interface that was not granted: the component may be that of another plugin.
pub fn is_ungranted(objection: &str) -> bool {
    objection.contains(WITHOUT_GRANT)
}

/// `interface` was imported or exported for another version of the contract.
pub fn object_to_version(interface: &str, version: &str) -> String {
    let built_for = match version.rsplit_once('.') {
        Some((minor, _patch)) if minor.contains('.') => minor,
        _ if version.is_empty() => "no version",
        _ => version,
    };
    format!("{interface} was built for contract {built_for}, this host speaks {CONTRACT}")
}

fn object_to_wasi_version(import: &str, version: &str) -> Option<String> {
    if version.starts_with("0.2.") {
        return None;
    }
    Some(format!("imports {import}, but this host has WASI 0.2 only: build for the target wasm32-wasip2"))
}

/// What is wrong with the grants themselves: names that no interface has.
pub fn check_grants(plugin: &str, grants: &[String]) -> Vec<String> {
    grants
        .iter()
        .filter(|grant| !OFFERED.contains(&grant.as_str()))
        .map(|grant| {
            format!("{plugin} is granted \"{grant}\", which is no interface; there are: {}", OFFERED.join(", "))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objection(import: &str, grants: &[&str]) -> Option<String> {
        let grants: Vec<String> = grants.iter().map(|grant| grant.to_string()).collect();
        find_objection("notes", import, &grants)
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
            assert_eq!(objection(import, &["records"]), None, "{import}");
        }
    }

    #[test]
    fn each_objection_says_what_to_do() {
        let said = |import, part: &str| {
            let text = objection(import, &["log"]).unwrap();
            assert!(text.contains(part), "{text}");
        };
        said("tenon:plugin/records@0.1.0", "does not grant to notes: add \"records\" to grants");
        said("tenon:plugin/telepathy@0.1.0", "not an interface of contract 0.1");
        said("tenon:plugin/log@0.2.0", "was built for contract 0.2, this host speaks 0.1");
        said("wasi:http/outgoing-handler@0.2.3", "which no plugin gets");
        said("wasi:cli/environment@0.3.0", "WASI 0.2 only");
        said("acme:other/thing@1.0.0", "which this host does not know");
        said("reach", "which this host does not know");
    }

    #[test]
    fn objections_to_interfaces_without_a_grant_are_distinguished() {
        assert!(is_ungranted(&objection("tenon:plugin/records@0.1.0", &["log"]).unwrap()));
        assert!(!is_ungranted(&objection("tenon:plugin/telepathy@0.1.0", &["log"]).unwrap()));
    }

    #[test]
    fn a_patch_of_the_contract_is_spoken_and_a_lookalike_is_not() {
        assert!(speaks("0.1.0") && speaks("0.1.7") && speaks("0.1"));
        assert!(!speaks("0.10.0") && !speaks("0.2.0") && !speaks("1.1.0") && !speaks(""));
    }

    #[test]
    fn the_world_of_the_contract_offers_exactly_these() {
        let worlds = include_str!("../../../wit/worlds.wit");
        let offered = worlds.split("world offered {").nth(1).unwrap().split('}').next().unwrap();
        let imports: Vec<&str> =
            offered.split(';').filter_map(|line| line.trim().strip_prefix("import ")).map(str::trim).collect();
        let (ungranted, granted): (Vec<&str>, Vec<&str>) = imports.iter().partition(|name| UNGRANTED.contains(name));
        assert_eq!(ungranted, ["answers"], "types are imported by the interfaces that use them");
        assert_eq!(granted, OFFERED);
    }
}
