//! Runs the tutorial of docs/operators.md block by block against a host with the plugin of the tutorial.

use std::fs;

use tenon_bench::guests;

use super::shell::paste_page_in;
use crate::support::{TestHost, component};

#[tokio::test(flavor = "multi_thread")]
async fn tutorial_deploys_rolls_back_and_backs_up() {
    let grants = r#"grants = ["records"]"#;
    let host = TestHost::builder().plugin("hello", component("hello-plugin"), grants).start().await;
    let folder = tempfile::tempdir().expect("a folder");
    // The reader builds this component from a changed source. The test only changes its bytes.
    let built = folder.path().join("target-plugins/wasm32-wasip2/plugin");
    fs::create_dir_all(&built).expect("make the folder");
    let bytes = fs::read(component("hello-plugin")).expect("the component");
    fs::write(built.join("hello_plugin.wasm"), guests::stamped(&bytes, "built again")).expect("write the component");
    fs::create_dir(folder.path().join("tutorial")).expect("make the folder");
    let printed = paste_page_in(folder.path(), &host, "docs/operators.md").await;
    assert_eq!(printed.matches(r#"{"text":"Hello, Ada!"}"#).count(), 3, "{printed}");
    for action in ["create-key", "deploy", "rollback"] {
        assert!(printed.contains(action), "{action}: {printed}");
    }
    assert!(folder.path().join("tutorial/restored/tenon.db").is_file(), "{printed}");
    host.stop().await;
}
