//! The parts of `docs/` that are generated: these tests fail where one is stale, and write it with `UPDATE_DOCS=1`.

use std::{collections::BTreeSet, path::PathBuf};

use crate::manifest::Manifest;
use crate::{
    config::reference,
    failure::Failure,
    metrics::{FaultKind, HostReading, Metrics, SwapOutcome, TaskReading},
};

const BEGIN: &str = "<!-- generated: keys of plugins.toml -->\n";
const END: &str = "<!-- end of generated -->\n";

fn path(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs")).join(name)
}

fn compare(name: &str, expected: &str) {
    #[expect(clippy::disallowed_methods, reason = "says what the test does, not what the host does")]
    let update = std::env::var_os("UPDATE_DOCS").is_some();
    if update {
        std::fs::write(path(name), expected).unwrap();
    }
    let found = std::fs::read_to_string(path(name)).unwrap_or_default();
    assert!(
        found == expected,
        "docs/{name} is stale: run `UPDATE_DOCS=1 cargo test -p tenon --lib docs::` and review it"
    );
}

#[test]
fn errors_are_documented_as_they_are() {
    let mut text = "# Failures of the host\n\n\
        <!-- generated from host/src/failure.rs: UPDATE_DOCS=1 cargo test -p tenon --lib docs:: -->\n\n\
        What only the host sees. Each interface words them itself, in `failures` of its manifest, with a status of its own;\n\
        the status below stands where it says nothing. Without a wording the answer is `application/problem+json` (RFC 9457).\n\n\
        | failure | status | what happened |\n|---|---|---|\n"
        .to_owned();
    for failure in Failure::ALL {
        text.push_str(&format!("| `{}` | {} | {} |\n", failure.name(), failure.default_status(), failure.meaning()));
    }
    compare("errors.md", &text);
}

#[test]
fn the_schema_of_the_manifest_is_published_as_it_is() {
    let schema = serde_json::to_string_pretty(&schemars::schema_for!(Manifest)).unwrap();
    compare("manifest.schema.json", &format!("{schema}\n"));
}

#[test]
fn every_key_of_the_configuration_is_in_the_manual() {
    let manual = std::fs::read_to_string(path("operators.md")).unwrap();
    let (before, rest) = manual.split_once(BEGIN).expect("the marker of the generated part");
    let (_, after) = rest.split_once(END).expect("the marker of its end");
    compare("operators.md", &format!("{before}{BEGIN}{}{END}{after}", reference::render()));
}

#[test]
fn manual_lists_the_metrics_that_are_shown_and_no_others() {
    let metrics = Metrics::new().unwrap();
    let generation = metrics.generation("notes", 1, []);
    generation.observe(None, 200, 0.1);
    generation.count_fault(FaultKind::Trap);
    metrics.count_swap("notes", SwapOutcome::Refused);
    metrics.dropped_log_lines("notes").inc();
    metrics.delivery().attempt("delivered", 1, true);
    metrics.tasks().count_run("done");
    metrics.tasks().count_attempt("answered");
    metrics.tasks().set_counts("timer", TaskReading::default());
    metrics.dropped_log_lines("notes").inc();
    let reading = HostReading { certificate_expires_at: Some(1), ..HostReading::default() };
    let text = metrics.render(reading).unwrap();
    let shown: BTreeSet<&str> =
        text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).collect();
    let manual = std::fs::read_to_string(path("operators.md")).unwrap();
    let rows = manual.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    let listed: BTreeSet<&str> =
        rows.map(|(name, _)| name).filter(|name| name.starts_with("tenon_") || name.starts_with("process_")).collect();
    assert_eq!(listed, shown, "the table of metrics in docs/operators.md and what /metrics shows");
}
