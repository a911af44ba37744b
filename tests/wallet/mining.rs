//! Blocks for a stage whose clock stands still: simulated blockchains go by the clock of their host.

use std::time::Duration;

use serde_json::json;
use tokio::task::JoinSet;

use super::stage::Stage;

/// As the stage has it: between two blocks.
const BLOCK: Duration = Duration::from_millis(20);

/// A block after the other, until it is dropped.
#[must_use = "no blocks come any more once it is dropped"]
pub struct Mining(#[expect(dead_code, reason = "it works as long as it is there")] JoinSet<()>);

pub fn mine(stage: &Stage, blockchain: &'static str) -> Mining {
    let operator = stage.host.operator();
    let mut work = JoinSet::new();
    work.spawn(async move {
        let body = json!({"blockchain": blockchain, "control": {"kind": "mine", "blocks": 1}});
        loop {
            operator.post("/v1/chains/control", body.clone()).await.check(200);
            tokio::time::sleep(BLOCK).await;
        }
    });
    Mining(work)
}
