//! Every committed event is delivered at its time.

use super::*;

#[tokio::test]
async fn event_is_delivered_once_with_its_bytes_and_the_signature_of_its_endpoint() {
    let (mut world, mut receiver) = (World::open().await, Receiver::start().await);
    let delivery = world.deliver().await;
    world.put("ep", &endpoint(&receiver.url)).await;
    let id = world.emit("thing").await;
    let arrived = receiver.next().await;
    assert_eq!((&arrived.id, &*arrived.body), (&id, "{\"n\":1}"));
    let entry =
        Endpoint::parse(&world.bench.database.list_endpoints().await.unwrap()[0].body.clone().unwrap()).unwrap();
    let scope = scope(TENANT);
    let signer = entry.key.signer(&scope, "ep");
    let secret =
        signing::SigningSecret::parse(world.parts.outbound_context.signing.text(&signer).unwrap().expose()).unwrap();
    signing::verify(&arrived.headers, arrived.body.as_bytes(), &[secret], START / 1_000).unwrap();
    let row = world.until_state("ep", &id, "delivered").await;
    assert_eq!(row.attempts, 1);
    let second = world.emit("thing").await;
    assert_eq!(receiver.next().await.id, second, "no other request in between");
    world.stop.send(true).unwrap();
    delivery.stop().await;
}

#[tokio::test]
async fn failed_delivery_is_retried_at_its_time_and_never_before() {
    let (mut world, mut receiver) = (World::open().await, Receiver::start().await);
    let _delivery = world.deliver().await;
    world.put("ep", &endpoint(&receiver.url)).await;
    receiver.respond(500);
    let id = world.emit("thing").await;
    assert_eq!(receiver.next().await.id, id);
    let row = world.until_state("ep", &id, "retrying").await;
    let wait = row.next_at.unwrap() - world.clock.now();
    assert!((DELAY_MS..=DELAY_MS + DELAY_MS / 10).contains(&wait), "{wait}");
    receiver.respond(200);
    world.clock.advance(wait - 1);
    // A premature retry would arrive before this delivery is done.
    let marker = world.emit("another").await;
    assert_eq!(receiver.next().await.id, marker);
    world.until_state("ep", &marker, "delivered").await;
    assert!(receiver.is_quiet());
    world.clock.advance(1);
    let again = receiver.next().await;
    assert_eq!((again.id, &*again.body), (id.clone(), "{\"n\":1}"));
    assert_eq!(world.until_state("ep", &id, "delivered").await.attempts, 2);
}

#[tokio::test]
async fn delivery_is_given_up_after_the_last_attempt_of_the_schedule() {
    let (mut world, mut receiver) = (World::open().await, Receiver::start().await);
    let _delivery = world.deliver().await;
    world.put("ep", &endpoint(&receiver.url)).await;
    receiver.respond(503);
    let id = world.emit("thing").await;
    for attempt in 1..=3 {
        assert_eq!(receiver.next().await.id, id);
        let row = world.until("ep", &id, |row| row.attempts == attempt).await;
        assert_eq!(row.state.name(), if attempt == 3 { "failed" } else { "retrying" });
        world.clock.advance(2 * DELAY_MS);
    }
    let attempts = world.bench.database.find_attempts(&scope(TENANT), &"ep".into(), &id).await.unwrap();
    let seen: Vec<_> = attempts.iter().map(|attempt| (attempt.number, &*attempt.outcome, attempt.status)).collect();
    assert_eq!(seen, [(1, "status", Some(503)), (2, "status", Some(503)), (3, "status", Some(503))]);
}

#[tokio::test]
async fn delivery_in_flight_when_the_process_was_killed_is_sent_after_the_next_start() {
    let (mut world, mut receiver) = (World::open().await, Receiver::start().await);
    let delivery = world.deliver().await;
    world.put("ep", &endpoint(&receiver.url)).await;
    receiver.respond(500);
    let waits = world.emit("waits for a retry").await;
    receiver.next().await;
    world.until_state("ep", &waits, "retrying").await;
    receiver.respond(0);
    let first = world.emit("in flight").await;
    assert_eq!(receiver.next().await.id, first);
    world.kill(delivery).await;
    let while_stopped = world.emit("while stopped").await;
    assert_eq!(world.until_state("ep", &first, "pending").await.attempts, 0);
    receiver.respond(200);
    world.clock.advance(2 * DELAY_MS);
    let _delivery = world.deliver().await;
    let mut bodies = BTreeMap::new();
    for _ in 0..3 {
        let arrived = receiver.next().await;
        bodies.insert(arrived.id, arrived.body);
    }
    let expected = [(waits.clone(), "{\"n\":1}"), (first.clone(), "{\"n\":2}"), (while_stopped.clone(), "{\"n\":3}")];
    assert_eq!(bodies, BTreeMap::from(expected.map(|(id, body)| (id, body.to_owned()))));
    for id in [&waits, &first, &while_stopped] {
        world.until_state("ep", id, "delivered").await;
    }
    assert!(receiver.is_quiet());
}

#[tokio::test]
async fn engine_that_stops_writes_the_outcome_of_an_attempt_that_has_ended() {
    let (mut world, mut receiver) = (World::open().await, Receiver::start().await);
    world.put("ep", &endpoint(&receiver.url)).await;
    let id = world.emit("thing").await;
    // The first pass of the engine starts the attempt.
    let (engine, _views) = world.engine().await;
    assert_eq!(receiver.next().await.id, id);
    let ended = async {
        while !engine.has_unprocessed_result() {
            tokio::task::yield_now().await;
        }
    };
    soon("the end of the attempt", ended).await;
    world.stop.send(true).unwrap();
    engine.run(world.stop.subscribe(), no_wait()).await;
    let states: Vec<_> = world.rows("ep").await.iter().map(|row| row.state.name()).collect();
    assert_eq!(states, ["delivered"]);
}

#[tokio::test]
async fn engine_records_attempts_that_end_while_the_host_stops() {
    let (mut world, mut receiver) = (World::open().await, Receiver::start().await);
    world.put("ep", &endpoint(&receiver.url)).await;
    let id = world.emit("thing").await;
    // The first pass of the engine starts the attempt.
    let (engine, _views) = world.engine().await;
    world.stop.send(true).unwrap();
    let (end, ended) = oneshot::channel();
    let running = tokio::spawn(engine.run(world.stop.subscribe(), ended));
    assert_eq!(receiver.next().await.id, id);
    world.until_state("ep", &id, "delivered").await;
    end.send(()).unwrap();
    running.await.unwrap();
}

#[tokio::test]
async fn engine_that_missed_notifications_loses_nothing_and_sends_nothing_twice() {
    let (mut world, mut receiver) = (World::open().await, Receiver::start().await);
    world.put("ep", &endpoint(&receiver.url)).await;
    let (engine, _views) = world.engine().await;
    let mut sent = Vec::new();
    for number in 0..2 * COMMIT_NOTIFICATIONS_MAX {
        sent.push(world.emit(&format!("subject {number}")).await);
    }
    tokio::spawn(engine.run(world.stop.subscribe(), no_wait()));
    let mut arrived = Vec::new();
    for _ in &sent {
        arrived.push(receiver.next().await.id);
    }
    for id in &sent {
        world.until_state("ep", id, "delivered").await;
    }
    assert!(receiver.is_quiet());
    arrived.sort();
    sent.sort();
    assert_eq!(arrived, sent);
}

#[tokio::test]
async fn event_of_a_commit_with_unknown_outcome_is_delivered() {
    let (mut world, mut receiver) = (World::open().await, Receiver::start().await);
    let _delivery = world.deliver().await;
    world.put("ep", &endpoint(&receiver.url)).await;
    world.bench.fail(crate::db::apply::Failpoint::DuringCommitKept);
    let id = world.emit("thing").await;
    assert_eq!(receiver.next().await.id, id);
    assert_eq!(world.until_state("ep", &id, "delivered").await.attempts, 1);
}

#[tokio::test]
async fn notifications_of_a_lagging_subscriber_overflow() {
    let mut world = World::open().await;
    let mut notifications = world.parts.committer.subscribe();
    for number in 0..2 * COMMIT_NOTIFICATIONS_MAX {
        world.emit(&format!("subject {number}")).await;
    }
    assert!(matches!(notifications.recv().await, Err(tokio::sync::broadcast::error::RecvError::Lagged(_))));
    assert!(matches!(notifications.recv().await.as_deref(), Ok(CommitNotification::Durable(_))));
}

#[tokio::test]
async fn delivery_and_its_retries_carry_one_hop_more_than_the_call_that_emitted_the_event() {
    let (mut world, mut receiver) = (World::open().await, Receiver::start().await);
    let delivery = world.deliver().await;
    world.put("ep", &endpoint(&receiver.url)).await;
    world.hops = 4;
    receiver.respond(500);
    let id = world.emit("thing").await;
    assert_eq!(receiver.next().await.headers["tenon-hops"], "5");
    world.until_state("ep", &id, "retrying").await;
    world.kill(delivery).await;
    // The retry reads the event from the database.
    let _delivery = world.deliver().await;
    world.clock.advance(2 * DELAY_MS);
    assert_eq!(receiver.next().await.headers["tenon-hops"], "5");
    world.hops = 0;
    receiver.respond(200);
    world.emit("another").await;
    assert_eq!(receiver.next().await.headers["tenon-hops"], "1");
}
