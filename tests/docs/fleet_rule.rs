//! Runs the tutorial docs/fleet/a-rule.md in a copy of the repository in which only plugins/ can be changed. The
//! tutorial adds, tests and builds a rule. A serving host then swaps in the new component.

use std::{path::Path, process::Command};

use tenon_bench::{guests::workspace_root, program::sibling_binary, scratch};

use super::markdown::blocks;
use crate::support::{TestHost, eventually};

/// Build output of the copy, reused by later runs.
const BUILT: &str = "target/tutorial";

#[tokio::test(flavor = "multi_thread")]
async fn tutorial_adds_a_rule_that_a_serving_host_swaps_in() {
    let host = TestHost::fleet().await;
    let copy = copy_repository();
    let shell = blocks(&super::read("docs/fleet/a-rule.md")).into_iter().filter(|block| block.language == "sh");
    let script: Vec<String> = shell.map(|block| block.text).collect();
    let built = script.iter().position(|block| block.starts_with("cargo build")).expect("a block that builds") + 1;
    let (before, after) = script.split_at(built);
    run_script(&host, copy.path(), before).await;
    host.replace_component("fleet", &copy.path().join("target-plugins/wasm32-wasip2/plugin/fleet.wasm"));
    let swapped = async || {
        let plugins = host.operator().get("/v1/plugins").await.expect(200).json();
        plugins.pointer("/0/parked").is_some_and(|parked| !parked.is_null()).then_some(())
    };
    eventually("the new rules are swapped in", swapped).await;
    let printed = run_script(&host, copy.path(), after).await;
    let (by_van, by_truck) = printed.split_once("}{").expect("two responses");
    assert!(by_van.contains("The vehicle field must be a truck for more than 1000 kg."), "{printed}");
    assert!(by_truck.contains(r#""id":"order_"#), "{printed}");
    host.stop().await;
}

fn copy_repository() -> tempfile::TempDir {
    let copy = tempfile::tempdir().expect("a folder");
    scratch::copy_repository(copy.path(), &workspace_root().join(BUILT)).expect("a copy of the repository");
    copy
}

/// Runs the script and returns its output. Fails if a command fails.
async fn run_script(host: &TestHost, folder: &Path, script: &[String]) -> String {
    let program = sibling_binary("tenon").expect("the program");
    let path = std::env::var("PATH").unwrap_or_default();
    let mut run = Command::new("bash");
    run.arg("-euc").arg(script.join("\n")).current_dir(folder);
    run.env("URL", host.base()).env("TENON_DATA_DIR", host.data_dir());
    run.env("TENON_ADMIN", host.admin_base().trim_start_matches("http://"));
    run.env("PATH", format!("{}:{path}", program.parent().expect("a folder").display()));
    // A reader's shell has no variables of the build that runs this test.
    run.env_remove("CARGO_TARGET_DIR").env_remove("RUSTFLAGS").env("CARGO_NET_OFFLINE", "true");
    let output = tokio::task::spawn_blocking(move || run.output()).await.expect("a thread").expect("bash");
    let (printed, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{printed}{errors}");
    printed.into_owned()
}
