//! docs/fleet/a-rule.md, pasted into a copy of the repository in which nothing but plugins/ can be changed: a rule is added, tested,
//! built, and swapped in while the host serves.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

use tenon_bench::{guests::workspace_root, program::sibling_binary};

use super::markdown::blocks;
use crate::support::{TestHost, eventually};

/// What is built for the copy, kept from one run to the next.
const BUILT: &str = "target/tutorial";

#[tokio::test(flavor = "multi_thread")]
async fn the_tutorial_adds_a_rule_that_a_running_host_swaps_in() {
    let host = TestHost::fleet().await;
    let copy = copy_of_the_repository();
    let shell = blocks(&super::read("docs/fleet/a-rule.md")).into_iter().filter(|block| block.language == "sh");
    let script: Vec<String> = shell.map(|block| block.text).collect();
    let built = script.iter().position(|block| block.starts_with("cargo build")).expect("a block that builds") + 1;
    let (before, after) = script.split_at(built);
    paste(&host, copy.path(), before).await;
    host.replace_component("fleet", &copy.path().join("target-plugins/wasm32-wasip2/plugin/fleet.wasm"));
    let swapped = async || {
        let plugins = host.operator().get("/v1/plugins").await.expect(200).json();
        plugins.pointer("/0/parked").is_some_and(|parked| !parked.is_null()).then_some(())
    };
    eventually("the new rules are swapped in", swapped).await;
    let printed = paste(&host, copy.path(), after).await;
    let (by_van, by_truck) = printed.split_once("}{").expect("two answers");
    assert!(by_van.contains("The vehicle field must be a truck for more than 1000 kg."), "{printed}");
    assert!(by_truck.contains(r#""id":"order_"#), "{printed}");
    host.stop().await;
}

/// plugins/ is a copy; everything else is what it is here.
fn copy_of_the_repository() -> tempfile::TempDir {
    let (copy, root) = (tempfile::tempdir().expect("a folder"), workspace_root());
    for entry in fs::read_dir(&root).expect("the repository").flatten() {
        let name = entry.file_name();
        let is_built = name.to_string_lossy().starts_with("target");
        if !is_built && !["plugins", ".git", "data"].contains(&name.to_string_lossy().as_ref()) {
            symlink(entry.path(), copy.path().join(&name)).expect("a link");
        }
    }
    copy_folder(&root.join("plugins"), &copy.path().join("plugins"));
    for name in ["target", "target-plugins"] {
        let built = root.join(BUILT).join(name);
        fs::create_dir_all(&built).expect("a folder");
        symlink(built, copy.path().join(name)).expect("a link");
    }
    copy
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder").flatten() {
        let target: PathBuf = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("copy a file");
        }
    }
}

/// Gives what it printed; fails where a command of it fails.
async fn paste(host: &TestHost, folder: &Path, script: &[String]) -> String {
    let program = sibling_binary("tenon").expect("the program");
    let path = std::env::var("PATH").unwrap_or_default();
    let mut run = Command::new("bash");
    run.arg("-euc").arg(script.join("\n")).current_dir(folder);
    run.env("URL", host.base()).env("TENON_DATA_DIR", host.data_dir());
    run.env("TENON_ADMIN", host.admin_base().trim_start_matches("http://"));
    run.env("PATH", format!("{}:{path}", program.parent().expect("a folder").display()));
    // As whoever pastes it has it: nothing of the build that runs this test.
    run.env_remove("CARGO_TARGET_DIR").env_remove("RUSTFLAGS").env("CARGO_NET_OFFLINE", "true");
    let output = tokio::task::spawn_blocking(move || run.output()).await.expect("a thread").expect("bash");
    let (printed, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{printed}{errors}");
    printed.into_owned()
}
