//! The rules of the house that a program can check, read from the sources of the host.
//!
//! Owns the table of rooms and the list of business words. A failure says which line breaks which rule, and why the
//! rule is there. What only a reader can judge stands in CONTRIBUTING.md.

use std::{
    fs,
    path::{Path, PathBuf},
};

use tenon_bench::guests::workspace_root;

mod source;

use source::{Source, words};

/// A room of the host with the rooms that it may use. Every room may also use `GROUND`.
const ROOMS: &[(&str, &[&str])] = &[
    ("http", &["plugin", "auth", "changes"]),
    ("admin", &["plugin", "auth", "changes"]),
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

/// Above all rooms: they put the host together and may name everything.
const TOP: &[&str] = &["main", "lib", "boot", "cli"];

/// Below all rooms. Every room may use them. Each uses only those before it.
const GROUND: &[&str] = &[
    "limits",
    "clock",
    "failure",
    "log",
    "stop",
    "regular_file",
    "manifest",
    "fair",
    "budget",
    "metrics",
    "secrets",
    "outbound",
    "config",
];

/// Plain values without behaviour, which any room may name.
const VALUES: &[&str] = &["auth::key"];

/// What the plugins are about. The host knows none of it.
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

/// Whether such a word means something else here: the order in which things come.
fn is_innocent(identifier: &str) -> bool {
    let phrases = ["order_by", "order_of", "in_order", "byte_order"];
    identifier == "order" || phrases.iter().any(|phrase| identifier.contains(phrase))
}

/// Names that say nothing about what a room owns.
const EMPTY_NAMES: &[&str] = &["util", "utils", "common", "helper", "helpers", "types", "core", "manager", "misc"];

const LINES_MAX: usize = 600;

#[test]
fn host_knows_no_business_word() {
    let mut broken = Vec::new();
    for file in host_files() {
        for (line, identifier) in Source::read(&file).identifiers() {
            let named = words(&identifier).into_iter().find(|word| BUSINESS_WORDS.contains(&word.as_str()));
            if let Some(word) = named.filter(|_| !is_innocent(&identifier)) {
                broken.push(format!("{}:{line}: `{identifier}` names `{word}`", shown(&file)));
            }
        }
    }
    assert_holds(
        &broken,
        "The host knows no business word: what it does for one plugin it does for all of them. Move the rule into \
         the plugin, or name what the host really handles (a record, an event, a thing).",
    );
}

#[test]
fn rooms_use_only_what_lies_below_them() {
    let mut broken = Vec::new();
    let has_rooms = workspace_root().join("host/src");
    for file in host_files().into_iter().filter(|file| file.starts_with(&has_rooms)) {
        let room = room_of(&file);
        for (line, path) in Source::read(&file).crate_paths() {
            if !may_use(&room, &path) {
                broken.push(format!("{}:{line}: `{room}` uses `crate::{}`", shown(&file), path.join("::")));
            }
        }
    }
    assert_holds(
        &broken,
        "Rooms point one way: boot → http → plugin → capability → commit → db → changes. Whoever points back cannot be read or \
         tested alone. Pass a value or a closure down instead, or move the thing to the room that owns it. A new room \
         gets a line in the table of tests/house.rs.",
    );
}

#[test]
fn every_file_says_what_it_owns() {
    let silent: Vec<String> = host_files()
        .into_iter()
        // What a `tests.rs` owns, the file above it says.
        .filter(|file| !file.ends_with("tests.rs") && is_silent(&fs::read_to_string(file).unwrap()))
        .map(|file| shown(&file))
        .collect();
    assert_holds(&silent, "A file opens with `//!`: what it owns, what it never does, its invariants.");
}

fn is_silent(text: &str) -> bool {
    text.lines().count() > 1 && !text.starts_with("//!")
}

#[test]
fn every_room_has_a_name_that_says_something() {
    let empty: Vec<String> = host_files()
        .into_iter()
        .filter(|file| file.iter().any(|part| EMPTY_NAMES.contains(&part.to_string_lossy().trim_end_matches(".rs"))))
        .map(|file| shown(&file))
        .collect();
    assert_holds(&empty, "No room is called util, common, helper, types, core or manager: name what it owns.");
}

#[test]
fn no_file_is_too_long_to_be_read() {
    let long: Vec<String> = host_files()
        .into_iter()
        .filter_map(|file| Some((fs::read_to_string(&file).ok()?.lines().count(), file)))
        .filter(|(lines, _)| *lines > LINES_MAX)
        .map(|(lines, file)| format!("{}: {lines} lines", shown(&file)))
        .collect();
    assert_holds(&long, "A file stays around 150 lines, and is split before 600.");
}

#[test]
fn no_sentence_holds_the_blanks_of_a_lost_line_break() {
    let gap = " ".repeat(12);
    let mut broken = Vec::new();
    for file in host_files() {
        let text = fs::read_to_string(&file).unwrap();
        let code = text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//"));
        let holes = code.filter(|(_, line)| line.trim().contains(&gap));
        broken.extend(holes.map(|(at, _)| format!("{}:{}", shown(&file), at + 1)));
    }
    assert_holds(&broken, "A text that goes on in the next line ends with `\\`, or readers get its indentation.");
}

fn may_use(room: &str, path: &[String]) -> bool {
    let Some(target) = path.first().map(String::as_str) else { return true };
    let is_module = ROOMS.iter().any(|(name, _)| *name == target) || GROUND.contains(&target) || TOP.contains(&target);
    let is_value = path.get(1).is_some_and(|second| VALUES.contains(&format!("{target}::{second}").as_str()));
    if TOP.contains(&room) || target == room || is_value || !is_module {
        return is_module || target == room || is_value || TOP.contains(&room);
    }
    let depth = |name: &str| GROUND.iter().position(|known| *known == name);
    if let Some(own) = depth(room) {
        return depth(target).is_some_and(|other| other < own);
    }
    let below = ROOMS.iter().find(|(name, _)| *name == room).map_or(&[] as &[&str], |(_, below)| below);
    GROUND.contains(&target) || below.contains(&target)
}

#[test]
fn the_table_of_rooms_is_read_as_it_is_meant() {
    let uses = |room: &str, path: &str| may_use(room, &path.split("::").map(str::to_owned).collect::<Vec<_>>());
    assert!(uses("boot", "http::serve") && uses("http", "plugin::routes") && uses("commit", "db::Database"));
    assert!(uses("db", "changes::change_set::ChangeSet") && !uses("changes", "db::Database"));
    assert!(uses("config", "outbound::AddressRule") && !uses("outbound", "config::Config"));
    assert!(uses("db", "limits::IDS_MAX") && uses("db", "db::model"));
    assert!(!uses("db", "commit::committer::Committer") && !uses("plugin", "http") && !uses("limits", "db"));
    assert!(!uses("http", "cellar::wine"), "a room that the table does not know");
}

/// "plugin" for host/src/plugin.rs and for host/src/plugin/call.rs.
fn room_of(file: &Path) -> String {
    let inside = file.strip_prefix(workspace_root().join("host/src")).unwrap_or(file);
    let first = inside.iter().next().map(|part| part.to_string_lossy().into_owned()).unwrap_or_default();
    first.trim_end_matches(".rs").to_owned()
}

fn host_files() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders =
        ["host/src", "host/keyring/src", "host/chains/src"].map(|folder| workspace_root().join(folder)).to_vec();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("the sources of the host can be listed").flatten() {
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

fn shown(file: &Path) -> String {
    file.strip_prefix(workspace_root()).unwrap_or(file).display().to_string()
}

fn assert_holds(broken: &[String], rule: &str) {
    assert!(broken.is_empty(), "{rule}\n  {}\n", broken.join("\n  "));
}
