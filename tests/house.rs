//! The rules of CONTRIBUTING.md that a program can check, applied to the sources.
//!
//! Owns the table of allowed dependencies between modules and the list of business words. A failure names the
//! file or line and the rule that it breaks.

use std::{
    fs,
    path::{Path, PathBuf},
};

use tenon_bench::guests::workspace_root;

mod import_cycles;
mod source;
mod vocabulary;

use source::{Source, words};

/// The modules of the host with the modules that each may use. Every module may also use `FOUNDATION`.
const MODULES: &[(&str, &[&str])] = &[
    (
        "admin",
        &[
            "http", "stores", "tasks", "plugin", "auth", "backup", "delivery", "keyring", "chains", "commit", "db",
            "changes",
        ],
    ),
    ("http", &["plugin", "auth", "changes"]),
    ("stores", &["plugin", "auth", "keyring", "commit", "db", "changes"]),
    ("tasks", &["plugin", "destinations", "commit", "changes", "db"]),
    ("plugin", &["capability", "commit", "changes", "db", "auth", "destinations"]),
    ("capability", &["commit", "changes", "keyring", "chains", "auth"]),
    ("auth", &["changes", "db"]),
    ("commit", &["changes", "db"]),
    ("backup", &["changes", "db"]),
    ("delivery", &["commit", "changes", "db"]),
    ("destinations", &["commit", "changes", "db", "chains"]),
    ("feed", &["commit", "changes", "db"]),
    ("keyring", &["changes"]),
    ("chains", &["commit", "changes", "db"]),
    ("db", &["changes"]),
    ("changes", &[]),
];

/// Modules that assemble the host. They may use everything.
const TOP: &[&str] = &["main", "lib", "boot", "cli"];

/// Modules that every module may use. Each may use only the modules listed before it.
const FOUNDATION: &[&str] = &[
    "limits",
    "clock",
    "host_error",
    "log",
    "shutdown",
    "regular_file",
    "manifest",
    "fair",
    "budget",
    "metrics",
    "secrets",
    "outbound",
    "config",
];

/// Modules of plain values without behaviour, which any module may use.
const VALUES: &[&str] = &["auth::key"];

/// Business terms of the plugins. The host contains none of them.
const BUSINESS_WORDS: &[&str] = &[
    "order",
    "orders",
    "driver",
    "drivers",
    "vehicle",
    "vehicles",
    "fleet",
    "customer",
    "customers",
    "pickup",
    "dropoff",
    "wallet",
    "wallets",
    "stablecoin",
    "payment",
    "payments",
    "payee",
    "uetr",
    "iban",
    "clearing",
    "courier",
    "waypoint",
];

/// Returns whether the identifier uses "order" in the sense of a sequence.
fn is_sequence_order(identifier: &str) -> bool {
    let phrases = ["order_by", "order_of", "in_order", "byte_order"];
    identifier == "order" || phrases.iter().any(|phrase| identifier.contains(phrase))
}

/// Names that do not say what a module owns.
const MEANINGLESS_NAMES: &[&str] =
    &["util", "utils", "common", "helper", "helpers", "types", "core", "manager", "misc"];

const LINES_MAX: usize = 600;

const FILES_IN_CYCLE_MAX: usize = 3;

/// Folders whose identifiers and comments are checked.
const VOCABULARY_FOLDERS: &[&str] = &[
    "host",
    "plugins/sdk",
    "tests/bench",
    "tests/browser",
    "tests/conformance",
    "tests/crash",
    "tests/docs",
    "tests/effects",
    "tests/guests",
    "tests/host",
    "tests/house",
    "tests/native",
    "tests/support",
    "tests/swap",
    "tests/tasks",
    "tests/webhooks",
];

#[test]
fn host_contains_no_business_words() {
    let mut violations = Vec::new();
    for file in host_files() {
        for (line, identifier) in Source::read(&file).identifiers() {
            let found = words(&identifier).into_iter().find(|word| BUSINESS_WORDS.contains(&word.as_str()));
            if let Some(word) = found.filter(|_| !is_sequence_order(&identifier)) {
                violations.push(format!("{}:{line}: `{identifier}` contains `{word}`", relative_path(&file)));
            }
        }
    }
    assert_none(
        &violations,
        "The host contains no business words, because its code serves every plugin. Move the rule into the plugin, or \
         name what the host really handles (a record, an event).",
    );
}

#[test]
fn modules_use_only_modules_below_them() {
    let mut violations = Vec::new();
    let host_root = workspace_root().join("host/src");
    for file in host_files().into_iter().filter(|file| file.starts_with(&host_root)) {
        let module = top_module(&file);
        for (line, path) in Source::read(&file).crate_paths() {
            if !may_use(&module, &path) {
                let path = path.join("::");
                violations.push(format!("{}:{line}: `{module}` uses `crate::{path}`", relative_path(&file)));
            }
        }
    }
    assert_none(
        &violations,
        "Modules depend on each other in one direction: boot → admin → http → plugin → capability → commit → db → changes. A \
         module that uses one above it cannot be read or tested alone. Pass a value or a closure down instead, or move \
         the item to the module that owns it. Add a new module to the table of tests/house.rs.",
    );
}

#[test]
fn no_import_cycle_has_more_than_three_files() {
    let root = workspace_root().join("host/src");
    let cycles = import_cycles::find(&root, &host_files());
    let name = |cycle: &Vec<Vec<String>>| cycle.iter().map(|module| module.join("/")).collect::<Vec<_>>().join(", ");
    let long: Vec<String> = cycles.iter().filter(|cycle| cycle.len() > FILES_IN_CYCLE_MAX).map(name).collect();
    assert_none(
        &long,
        "At most three files import each other. Move what several of them use into a file below, or pass a value down.",
    );
}

#[test]
fn identifiers_use_the_terms_of_the_field() {
    let files = files_below(VOCABULARY_FOLDERS);
    let found = files.iter().flat_map(|file| vocabulary::banned_identifiers(file, &relative_path(file)));
    let violations: Vec<String> = found.collect();
    assert_none(&violations, "This term is not in use. CONTRIBUTING.md (\"Words\") has the term to use.");
}

#[test]
fn comments_begin_with_their_subject() {
    let files = files_below(VOCABULARY_FOLDERS);
    let found = files.iter().flat_map(|file| vocabulary::comments_without_subject(file, &relative_path(file)));
    let violations: Vec<String> = found.collect();
    assert_none(&violations, "Name the subject first: \"Returns the oldest row\", not \"What is oldest\".");
}

#[test]
fn every_file_has_a_header() {
    let missing: Vec<String> = host_files()
        .into_iter()
        // The file above a `tests.rs` documents it.
        .filter(|file| !file.ends_with("tests.rs") && lacks_header(&fs::read_to_string(file).unwrap()))
        .map(|file| relative_path(&file))
        .collect();
    assert_none(&missing, "A file opens with `//!`: what it owns, what it never does, its invariants.");
}

fn lacks_header(text: &str) -> bool {
    text.lines().count() > 1 && !text.starts_with("//!")
}

#[test]
fn no_module_has_a_meaningless_name() {
    let is_meaningless = |file: &PathBuf| {
        file.iter().any(|part| MEANINGLESS_NAMES.contains(&part.to_string_lossy().trim_end_matches(".rs")))
    };
    let violations: Vec<String> =
        host_files().iter().filter(|file| is_meaningless(file)).map(|file| relative_path(file)).collect();
    assert_none(&violations, "No module is called util, common, helper, types, core or manager: name what it owns.");
}

#[test]
fn no_file_is_too_long() {
    let long: Vec<String> = host_files()
        .into_iter()
        .filter_map(|file| Some((fs::read_to_string(&file).ok()?.lines().count(), file)))
        .filter(|(lines, _)| *lines > LINES_MAX)
        .map(|(lines, file)| format!("{}: {lines} lines", relative_path(&file)))
        .collect();
    assert_none(&long, "A file has around 150 lines, and is split before 600.");
}

#[test]
fn no_string_contains_the_indentation_of_its_next_line() {
    let gap = " ".repeat(12);
    let mut violations = Vec::new();
    for file in host_files() {
        let text = fs::read_to_string(&file).unwrap();
        let code = text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//"));
        let gaps = code.filter(|(_, line)| line.trim().contains(&gap));
        violations.extend(gaps.map(|(index, _)| format!("{}:{}", relative_path(&file), index + 1)));
    }
    assert_none(
        &violations,
        "A string that continues on the next line ends with `\\`, or it contains the indentation.",
    );
}

fn may_use(module: &str, path: &[String]) -> bool {
    let Some(target) = path.first().map(String::as_str) else { return true };
    let is_listed = MODULES.iter().any(|(name, _)| *name == target);
    let is_module = is_listed || FOUNDATION.contains(&target) || TOP.contains(&target);
    let is_value = path.get(1).is_some_and(|second| VALUES.contains(&format!("{target}::{second}").as_str()));
    if TOP.contains(&module) || target == module || is_value || !is_module {
        return is_module || target == module || is_value || TOP.contains(&module);
    }
    let depth = |name: &str| FOUNDATION.iter().position(|known| *known == name);
    if let Some(own) = depth(module) {
        return depth(target).is_some_and(|other| other < own);
    }
    let below = MODULES.iter().find(|(name, _)| *name == module).map_or(&[] as &[&str], |(_, below)| below);
    FOUNDATION.contains(&target) || below.contains(&target)
}

#[test]
fn module_table_is_enforced() {
    let uses = |module: &str, path: &str| may_use(module, &path.split("::").map(str::to_owned).collect::<Vec<_>>());
    assert!(uses("boot", "http::serve") && uses("http", "plugin::routes") && uses("commit", "db::Database"));
    assert!(uses("db", "changes::change_set::ChangeSet") && !uses("changes", "db::Database"));
    assert!(uses("config", "outbound::AddressRule") && !uses("outbound", "config::Config"));
    assert!(uses("db", "limits::IDS_MAX") && uses("db", "db::model"));
    assert!(!uses("db", "commit::committer::Committer") && !uses("plugin", "http") && !uses("limits", "db"));
    assert!(!uses("http", "cellar::wine"), "a module that is not in the table");
}

/// Returns "plugin" for host/src/plugin.rs and for host/src/plugin/call.rs.
fn top_module(file: &Path) -> String {
    let inside = file.strip_prefix(workspace_root().join("host/src")).unwrap_or(file);
    let first = inside.iter().next().map(|part| part.to_string_lossy().into_owned()).unwrap_or_default();
    first.trim_end_matches(".rs").to_owned()
}

fn host_files() -> Vec<PathBuf> {
    files_below(&["host/src", "host/keyring/src", "host/chains/src"])
}

/// Returns the Rust files below the folders, sorted.
fn files_below(folders: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders: Vec<PathBuf> = folders.iter().map(|folder| workspace_root().join(folder)).collect();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("the sources can be listed").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn relative_path(file: &Path) -> String {
    file.strip_prefix(workspace_root()).unwrap_or(file).display().to_string()
}

fn assert_none(violations: &[String], rule: &str) {
    assert!(violations.is_empty(), "{rule}\n  {}\n", violations.join("\n  "));
}
