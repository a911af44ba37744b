//! A working day through the official client of the fleet interface, two released versions of it, unmodified.

use std::{fs, os::unix::fs::symlink, process::Command};

use tenon_bench::guests::workspace_root;

use super::fetched;
use crate::support::TestHost;

/// `day.mjs` asserts; what it says where something is wrong is the failure of this test.
async fn a_day_with(version: &str) {
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
    assert!(printed.ends_with("a day is over\n"), "{printed}{errors}");
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn version_1_of_the_official_client_goes_through_a_day() {
    a_day_with("1").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn version_2_of_the_official_client_goes_through_a_day() {
    a_day_with("2").await;
}
