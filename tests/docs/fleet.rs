//! Runs the blocks of docs/fleet/quick-start.md against a host with the shipped configuration of plugins.toml.

use super::shell::paste_page;
use crate::fleet::stage::Stage;

#[tokio::test(flavor = "multi_thread")]
async fn quick_start_ends_with_a_signed_delivery() {
    let stage = Stage::open().await;
    let printed = paste_page(&stage.host, "docs/fleet/quick-start.md").await;
    let refused = printed.find("A proof of delivery by signature is required.").expect("a refusal");
    let states = ["dispatched", "started", "enroute"].map(|state| printed.find(&format!("{state}\n")).expect(state));
    assert!(states.is_sorted() && states[2] < refused, "{printed}");
    let end = &printed[refused..];
    assert!(end.contains("proof_") && end.contains("completed\n"), "{printed}");
    stage.finish().await;
}
