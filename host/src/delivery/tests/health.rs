//! The health of an endpoint: the time since which all of its attempts have failed.

use super::*;
use crate::limits::DISABLE_AFTER_MS;

impl World {
    async fn failing_since(&self) -> Option<u64> {
        self.bench.database.list_endpoints().await.unwrap()[0].failing_since
    }

    async fn until_failing_since(&self, expected: Option<u64>) {
        let poll = async {
            while self.failing_since().await != expected {
                tokio::task::yield_now().await;
            }
        };
        soon("the health of the endpoint", poll).await;
    }

    /// Starts the engine and lets an endpoint fail its first delivery.
    async fn deliver_to_failing(&mut self, receiver: &mut Receiver) -> Delivery {
        let delivery = self.deliver().await;
        self.put("ep", &endpoint(&receiver.url)).await;
        receiver.respond(500);
        self.emit("fails").await;
        receiver.next().await;
        self.until_failing_since(Some(START)).await;
        delivery
    }

    async fn is_disabled(&self) -> bool {
        let body = self.bench.database.list_endpoints().await.unwrap()[0].body.clone().unwrap();
        Endpoint::parse(&body).unwrap().disabled.is_some()
    }
}

#[tokio::test]
async fn endpoint_that_recovered_after_a_restart_is_not_disabled_by_its_next_failure() {
    let (mut world, mut receiver) = (World::open().await, Receiver::start().await);
    let delivery = world.deliver_to_failing(&mut receiver).await;
    world.kill(delivery).await;

    let delivery = world.deliver().await;
    receiver.respond(200);
    let delivered = world.emit("delivered").await;
    assert_eq!(receiver.next().await.id, delivered);
    world.until_failing_since(None).await;
    world.kill(delivery).await;

    world.clock.advance(2 * DISABLE_AFTER_MS);
    let delivery = world.deliver().await;
    receiver.next().await; // the retry of the first event
    receiver.respond(500);
    let fails = world.emit("fails later").await;
    assert_eq!(receiver.next().await.id, fails);
    world.until_state("ep", &fails, "retrying").await;
    world.until_failing_since(Some(world.clock.now())).await;
    assert!(!world.is_disabled().await);
    world.stop.send(true).unwrap();
    delivery.stop().await;
}

#[tokio::test]
async fn enabled_endpoint_starts_without_its_old_failures() {
    let (mut world, mut receiver) = (World::open().await, Receiver::start().await);
    let delivery = world.deliver_to_failing(&mut receiver).await;
    world.put("ep", &Endpoint { enabled: false, ..endpoint(&receiver.url) }).await;
    world.put("ep", &endpoint(&receiver.url)).await;
    assert_eq!(world.failing_since().await, None);
    world.kill(delivery).await;
}
