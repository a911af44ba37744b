//! A working day with two released, unmodified versions of the official client of the fleet interface.

use std::{fs, os::unix::fs::symlink, process::Command};

use tenon_bench::guests::workspace_root;

use super::fetched;
use crate::support::TestHost;

/// Runs `day.mjs`, which contains the assertions. Its output is the failure message of this test.
async fn run_day(version: &str) {
    let Some(client) = fetched("fleet-sdk") else { return };
    let host = TestHost::fleet().await;
    let key = host.key("fleet", "acme").await;
    let folder = tempfile::tempdir().expect("a folder");
    symlink(client.join("node_modules"), folder.path().join("node_modules")).expect("a link to the client");
    let script = workspace_root().join("tests/conformance/fleet-sdk/day.mjs");
    fs::copy(script, folder.path().join("day.mjs")).expect("copy the script");
    let mut node = Command::new("node");
    node.args(["day.mjs", version, host.base(), &key]).current_dir(folder.path());
    let output = tokio::task::spawn_blocking(move || node.output()).await.expect("a thread").expect("node");
    let (printed, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{printed}{errors}");
    assert!(printed.ends_with("the day is complete\n"), "{printed}{errors}");
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn official_client_version_1_completes_a_day() {
    run_day("1").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn official_client_version_2_completes_a_day() {
    run_day("2").await;
}
