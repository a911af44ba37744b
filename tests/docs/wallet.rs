//! Runs the blocks of docs/wallet/quick-start.md against a host with the shipped configuration of plugins.toml.

use super::shell::paste_page;
use crate::wallet::stage::Stage;

#[tokio::test(flavor = "multi_thread")]
async fn quick_start_ends_with_a_confirmed_deposit_and_a_verified_webhook() {
    let stage = Stage::open().await;
    let printed = paste_page(&stage.host, "docs/wallet/quick-start.md").await;
    for event in ["deposit.processing 25", "deposit.success 25", "deposit.swept.success 25"] {
        assert!(printed.contains(&format!("{event} signature good")), "{event}: {printed}");
    }
    stage.finish().await;
}
