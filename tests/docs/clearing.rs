//! Runs examples/clearing against a host with the shipped configuration of plugins.toml.

use std::process::Command;

use tenon_bench::{guests::workspace_root, program::sibling_binary};

use crate::support::{TestHost, component, shipped_section};

#[tokio::test(flavor = "multi_thread")]
async fn script_runs_a_payment_through_every_flow_between_the_shipped_tenants() {
    let host =
        TestHost::builder().plugin("clearing", component("clearing"), &shipped_section("clearing")).start().await;
    let mut script = Command::new("python3");
    script.arg(workspace_root().join("examples/clearing/flows.py"));
    script.arg("--tenon").arg(sibling_binary("tenon").expect("the program")).arg("--data-dir").arg(host.data_dir());
    script.args(["--url", host.base(), "--admin", host.admin_base().trim_start_matches("http://")]);
    let output = tokio::task::spawn_blocking(move || script.output()).await.expect("a thread").expect("python3");
    let (printed, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{printed}{errors}");
    let state_of = |flow: &str| printed.lines().find(|line| line.starts_with(flow)).map(|line| line[24..].to_owned());
    for (flow, state) in [
        ("real time ", "completed"),
        ("real time synchronous ", "completed"),
        ("rapid by proxy ", "completed"),
        ("rapid synchronous ", "completed"),
        ("rejected ", "rejected"),
        ("not settled ", "approved"),
        ("transfer ", "completed"),
        ("transfer sent back ", "rejected"),
        ("debit ", "approved"),
        ("debit refused ", "rejected"),
    ] {
        let printed_state = state_of(flow).unwrap_or_else(|| panic!("{flow}: {printed}"));
        assert!(printed_state.starts_with(state), "{flow}: {printed_state}");
    }
    host.stop().await;
}
