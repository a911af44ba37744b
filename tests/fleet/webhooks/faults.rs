//! Delivery to receivers that misbehave by a seed.

use super::{Endpoint, order};
use crate::support::{FaultyReceiver, TestHost, eventually};

/// Attempts end soon and are repeated soon.
const LINES: &str = "[plugins.fleet.webhooks]\ntimeout-ms = 200\nschedule-ms = [20, 20, 40, 40, 80, 80, 160, 160, 200, \
                     200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200]";

#[tokio::test(flavor = "multi_thread")]
async fn every_event_arrives_whole_at_receivers_that_delay_reset_halve_trickle_and_flood() {
    for seed in [1, 2] {
        let host = TestHost::builder().fleet(LINES).start().await;
        let (receiver, steady) = (FaultyReceiver::start(seed).await, FaultyReceiver::start(seed + 100).await);
        let acme = host.client("fleet", "acme").await;
        Endpoint::new(&acme, receiver.url(), &[]).await;
        Endpoint::new(&acme, steady.url(), &["order.created"]).await;
        for _ in 0..100 {
            order(&acme).await;
        }
        let events = host.events().await;
        for receiver in [&receiver, &steady] {
            let accepted = eventually("all events", async || {
                Some(receiver.accepted()).filter(|accepted| accepted.len() == events.len())
            });
            let accepted = accepted.await;
            for event in &events {
                let id = event.body["id"].as_str().expect("an id").to_owned();
                let body: serde_json::Value = serde_json::from_slice(&accepted[&id]).expect("a whole body");
                assert_eq!(body, event.body, "seed {seed}");
            }
            let faults = receiver.fault_counts();
            assert!(faults.len() >= 6 && faults.values().sum::<u32>() > 110, "seed {seed} was harmless: {faults:?}");
        }
        acme.get("/v1/orders").await.check(200);
        host.stop().await;
    }
}
