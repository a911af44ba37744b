//! What operators and tenants change while deliveries go on.

use super::*;
use crate::limits::BATCH_RECOVERED_MAX;

#[tokio::test]
async fn what_was_delivered_is_delivered_again_when_somebody_asks_for_it() {
    let (mut world, mut receiver) = (World::open().await, Receiver::start().await);
    let _delivery = world.deliver().await;
    world.put("ep", &endpoint(&receiver.url)).await;
    let id = world.emit("thing").await;
    receiver.next().await;
    world.until_state("ep", &id, "delivered").await;
    let again = Change::Redeliver { event: id.as_str().into() };
    assert!(change(&world.parts.committer, &scope(TENANT), "ep", &again, world.clock.now()).await.unwrap());
    assert_eq!(receiver.next().await.id, id);
    let row = world.until("ep", &id, |row| row.attempts == 2).await;
    assert_eq!(row.state.name(), "delivered");
    let unknown = Change::Redeliver { event: "event_0".into() };
    assert!(!change(&world.parts.committer, &scope(TENANT), "ep", &unknown, world.clock.now()).await.unwrap());
    assert!(!change(&world.parts.committer, &scope(TENANT), "none", &again, world.clock.now()).await.unwrap());
    assert!(!change(&world.parts.committer, &scope("other/test"), "ep", &again, world.clock.now()).await.unwrap());
}

#[tokio::test]
async fn an_endpoint_that_says_it_is_gone_is_disabled_and_keeps_its_events_until_it_is_enabled() {
    let (mut world, mut receiver) = (World::open().await, Receiver::start().await);
    let delivery = world.deliver().await;
    world.put("ep", &endpoint(&receiver.url)).await;
    receiver.answer(410);
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
    assert_eq!(soon("the end of the endpoint", disabled).await.reason, "it answered 410: it is gone");
    receiver.answer(200);
    let second = world.emit("two").await;
    let lane = world.bench.database.find_lane(&scope(TENANT), "ep").await.unwrap().unwrap();
    // The engine answers after it has heard of the event.
    let views = delivery.views().find(vec![lane]).await;
    assert_eq!(views[&lane].in_flight, 0);
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
async fn what_was_given_up_is_recovered_and_what_ended_before_is_not() {
    let (mut world, mut receiver) = (World::open().await, Receiver::start().await);
    let _delivery = world.deliver().await;
    world.put("ep", &endpoint(&receiver.url)).await;
    receiver.answer(500);
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
    receiver.answer(200);
    let since = ids[0].1;
    let recover = Change::Recover { since };
    assert!(change(&world.parts.committer, &scope(TENANT), "ep", &recover, world.clock.now()).await.unwrap());
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
    let recover = Change::Recover { since: 5_000 };
    assert!(change(&world.parts.committer, &scope(TENANT), "ep", &recover, world.clock.now()).await.unwrap());
    while !ids.is_empty() {
        let id = receiver.next().await.id;
        assert!(ids.remove(&id), "{id} came twice");
    }
}

#[tokio::test]
async fn an_endpoint_that_is_removed_gets_nothing_more() {
    let (mut world, mut receiver) = (World::open().await, Receiver::start().await);
    let _delivery = world.deliver().await;
    world.put("ep", &endpoint(&receiver.url)).await;
    receiver.answer(500);
    let id = world.emit("thing").await;
    receiver.next().await;
    world.until_state("ep", &id, "retrying").await;
    world.bench.run(async |draft| draft.remove_endpoint("ep").await.map(|_| ())).await.unwrap();
    receiver.answer(200);
    world.put("marker", &endpoint(&receiver.url)).await;
    world.clock.advance(2 * DELAY_MS);
    let marker = world.emit("thing").await;
    assert_eq!(receiver.next().await.id, marker);
    world.until_state("marker", &marker, "delivered").await;
    assert!(receiver.is_quiet());
}
