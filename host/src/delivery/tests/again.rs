//! Changes by operators and tenants while deliveries are in progress.

use super::*;
use crate::limits::BATCH_RECOVERED_MAX;

impl World {
    /// Applies a command. Returns false if there was nothing to change.
    async fn apply(&self, tenant: &str, endpoint: &str, command: &EndpointCommand) -> bool {
        let (committer, now) = (&self.parts.committer, self.clock.now());
        apply_command(committer, &scope(tenant), &endpoint.into(), command, now).await.unwrap()
    }
}

#[tokio::test]
async fn delivered_event_is_delivered_again_on_request() {
    let (mut world, mut receiver) = (World::open().await, Receiver::start().await);
    let _delivery = world.deliver().await;
    world.put("ep", &endpoint(&receiver.url)).await;
    let id = world.emit("thing").await;
    receiver.next().await;
    world.until_state("ep", &id, "delivered").await;
    let again = EndpointCommand::Redeliver { event: id.as_str().into() };
    assert!(world.apply(TENANT, "ep", &again).await);
    assert_eq!(receiver.next().await.id, id);
    let row = world.until("ep", &id, |row| row.attempts == 2).await;
    assert_eq!(row.state.name(), "delivered");
    let unknown = EndpointCommand::Redeliver { event: "event_0".into() };
    assert!(!world.apply(TENANT, "ep", &unknown).await);
    assert!(!world.apply(TENANT, "none", &again).await);
    assert!(!world.apply("other/test", "ep", &again).await);
}

#[tokio::test]
async fn endpoint_that_responds_with_410_is_disabled_and_keeps_its_events_until_it_is_enabled() {
    let (mut world, mut receiver) = (World::open().await, Receiver::start().await);
    let delivery = world.deliver().await;
    world.put("ep", &endpoint(&receiver.url)).await;
    receiver.respond(410);
    let first = world.emit("one").await;
    receiver.next().await;
    let disabled = async {
        loop {
            let body = world.bench.database.list_endpoints().await.unwrap()[0].body.clone().unwrap();
            if let Some(disabled) = Endpoint::parse(&body).unwrap().disabled {
                return disabled;
            }
            tokio::task::yield_now().await;
        }
    };
    assert_eq!(soon("the disabled endpoint", disabled).await.reason, "the endpoint responded with 410 Gone");
    receiver.respond(200);
    let second = world.emit("two").await;
    let queue = world.bench.database.find_queue(&scope(TENANT), &"ep".into()).await.unwrap().unwrap();
    // The engine replies after it has processed the notification of the event.
    let views = delivery.views().find(vec![queue]).await;
    assert_eq!(views[&queue].in_flight, 0);
    world.clock.advance(2 * DELAY_MS);
    assert!(receiver.is_quiet());
    assert_eq!(world.until_state("ep", &second, "pending").await.attempts, 0);
    world.put("ep", &endpoint(&receiver.url)).await;
    let mut arrived = vec![receiver.next().await.id, receiver.next().await.id];
    arrived.sort();
    let mut expected = vec![first, second];
    expected.sort();
    assert_eq!(arrived, expected);
}

#[tokio::test]
async fn recovery_includes_only_deliveries_given_up_since_the_requested_time() {
    let (mut world, mut receiver) = (World::open().await, Receiver::start().await);
    let _delivery = world.deliver().await;
    world.put("ep", &endpoint(&receiver.url)).await;
    receiver.respond(500);
    let mut ids = Vec::new();
    for _ in 0..2 {
        let id = world.emit("thing").await;
        for attempt in 1..=3 {
            receiver.next().await;
            world.until("ep", &id, |row| row.attempts == attempt).await;
            world.clock.advance(2 * DELAY_MS);
        }
        ids.push((id, world.clock.now()));
    }
    receiver.respond(200);
    let since = ids[0].1;
    let recover = EndpointCommand::Recover { since };
    assert!(world.apply(TENANT, "ep", &recover).await);
    assert_eq!(receiver.next().await.id, ids[1].0);
    world.until_state("ep", &ids[1].0, "delivered").await;
    world.until_state("ep", &ids[0].0, "failed").await;
    assert!(receiver.is_quiet());
}

#[tokio::test]
async fn recovery_that_is_too_large_for_its_batch_is_completed_after_it() {
    let (mut world, mut receiver) = (World::open().await, Receiver::start().await);
    world.put("ep", &endpoint(&receiver.url)).await;
    let mut ids = std::collections::HashSet::new();
    for _ in 0..BATCH_RECOVERED_MAX + 20 {
        ids.insert(world.emit("thing").await);
    }
    world.bench.database.give_up_all_deliveries(5_000).await;
    let _delivery = world.deliver().await;
    let recover = EndpointCommand::Recover { since: 5_000 };
    assert!(world.apply(TENANT, "ep", &recover).await);
    while !ids.is_empty() {
        let id = receiver.next().await.id;
        assert!(ids.remove(&id), "{id} was delivered twice");
    }
}

#[tokio::test]
async fn removed_endpoint_receives_nothing() {
    let (mut world, mut receiver) = (World::open().await, Receiver::start().await);
    let _delivery = world.deliver().await;
    world.put("ep", &endpoint(&receiver.url)).await;
    receiver.respond(500);
    let id = world.emit("thing").await;
    receiver.next().await;
    world.until_state("ep", &id, "retrying").await;
    world.bench.run(async |draft| draft.remove_endpoint("ep").await.map(|_| ())).await.unwrap();
    receiver.respond(200);
    world.put("marker", &endpoint(&receiver.url)).await;
    world.clock.advance(2 * DELAY_MS);
    let marker = world.emit("thing").await;
    assert_eq!(receiver.next().await.id, marker);
    world.until_state("marker", &marker, "delivered").await;
    assert!(receiver.is_quiet());
}
