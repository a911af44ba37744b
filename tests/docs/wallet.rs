//! docs/wallet/quick-start.md, pasted block after block against a host that is configured as plugins.toml is shipped.

use super::shell::paste_page;
use crate::wallet::stage::Stage;

#[tokio::test(flavor = "multi_thread")]
async fn the_quick_start_leads_to_a_confirmed_deposit_and_a_checked_webhook() {
    let stage = Stage::open().await;
    let printed = paste_page(&stage.host, "docs/wallet/quick-start.md").await;
    for event in ["deposit.processing 25", "deposit.success 25", "deposit.swept.success 25"] {
        assert!(printed.contains(&format!("{event} signature good")), "{event}: {printed}");
    }
    stage.finish().await;
}
