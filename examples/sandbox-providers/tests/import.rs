//! The importer of sanctions lists: its own tests, which need python3 and nothing else.

#![allow(clippy::panic, reason = "a test")]

use std::process::Command;

#[test]
fn the_importer_passes_its_own_tests() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/test_import_sanctions.py");
    let output = Command::new("python3").args(["-B", script]).output();
    let output = output.unwrap_or_else(|error| panic!("python3 is needed for this test: {error}"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
