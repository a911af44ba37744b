//! docs/wallet/quick-start.md, pasted block after block against a host that is configured as plugins.toml is shipped.

use std::process::Command;

use tenon_bench::{guests::workspace_root, program::sibling_binary};

use super::markdown::blocks;
use crate::wallet::stage::Stage;

#[tokio::test(flavor = "multi_thread")]
async fn the_quick_start_leads_to_a_confirmed_deposit_and_a_checked_webhook() {
    let stage = Stage::open().await;
    let shell = blocks(&super::read("docs/wallet/quick-start.md")).into_iter().filter(|block| block.language == "sh");
    let script: Vec<String> = shell.map(|block| block.text).collect();
    let program = sibling_binary("tenon").expect("the program");
    let folder = tempfile::tempdir().expect("a folder");
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut run = Command::new("bash");
    // The files of the page lie in the repository; what it writes does not.
    let script =
        script.join("\n").replace("examples/wallet/", &format!("{}/examples/wallet/", workspace_root().display()));
    run.arg("-euc").arg(script).current_dir(folder.path());
    run.env("URL", stage.host.base()).env("PORT", port.to_string()).env("PWD", folder.path());
    run.env("TENON_ADMIN", stage.host.admin_base().trim_start_matches("http://"));
    run.env("TENON_DATA_DIR", stage.host.data_dir());
    let path = std::env::var("PATH").unwrap_or_default();
    run.env("PATH", format!("{}:{path}", program.parent().expect("a folder").display()));
    let output = tokio::task::spawn_blocking(move || run.output()).await.expect("a thread").expect("bash");
    let (printed, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{printed}{errors}");
    for event in ["deposit.processing 25", "deposit.success 25", "deposit.swept.success 25"] {
        assert!(printed.contains(&format!("{event} signature good")), "{event}: {printed}{errors}");
    }
    stage.finish().await;
}
