//! Tests of the generated parts of `docs/`. They fail if a part is stale, and rewrite it with `UPDATE_DOCS=1`.

use std::{collections::BTreeSet, path::PathBuf};

use crate::{
    config::reference,
    host_error::HostError,
    manifest::Manifest,
    metrics::{FaultKind, HostReading, Metrics, SwapOutcome, TaskReading},
};

const BEGIN: &str = "<!-- generated: keys of plugins.toml -->\n";
const END: &str = "<!-- end of generated -->\n";
/// The page with the generated part and the table of metrics.
const REFERENCE: &str = "operators/reference.md";

fn path(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs")).join(name)
}

fn compare(name: &str, expected: &str) {
    #[expect(clippy::disallowed_methods, reason = "controls the test, not the host")]
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
fn errors_documentation_is_up_to_date() {
    let mut text = "# Failures of the host\n\n\
        <!-- generated from host/src/host_error.rs: UPDATE_DOCS=1 cargo test -p tenon --lib docs:: -->\n\n\
        Errors that the host reports without a plugin. Each interface defines its own error body and status for them in\n\
        `failures` of its manifest. The status below is the default. The default body is `application/problem+json` (RFC 9457).\n\n\
        | failure | status | what happened |\n|---|---|---|\n"
        .to_owned();
    for failure in HostError::ALL {
        text.push_str(&format!("| `{}` | {} | {} |\n", failure.name(), failure.default_status(), failure.meaning()));
    }
    compare("errors.md", &text);
}

#[test]
fn manifest_schema_is_up_to_date() {
    let schema = serde_json::to_string_pretty(&schemars::schema_for!(Manifest)).unwrap();
    compare("manifest.schema.json", &format!("{schema}\n"));
}

#[test]
fn operators_reference_lists_every_configuration_key() {
    let page = std::fs::read_to_string(path(REFERENCE)).unwrap();
    let (before, rest) = page.split_once(BEGIN).expect("the begin marker of the generated part");
    let (_, after) = rest.split_once(END).expect("the end marker of the generated part");
    compare(REFERENCE, &format!("{before}{BEGIN}{}{END}{after}", reference::render()));
}

#[test]
fn operators_reference_lists_exactly_the_exported_metrics() {
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
    let exported: BTreeSet<&str> =
        text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).collect();
    let page = std::fs::read_to_string(path(REFERENCE)).unwrap();
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    let listed: BTreeSet<&str> =
        rows.map(|(name, _)| name).filter(|name| name.starts_with("tenon_") || name.starts_with("process_")).collect();
    assert_eq!(listed, exported, "the table of metrics in docs/{REFERENCE} differs from /metrics");
}
