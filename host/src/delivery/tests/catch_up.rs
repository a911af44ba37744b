//! An engine that missed notifications of commits catches up with the database.

use super::*;
use crate::{
    db::testing::{hide_queues, show_queues},
    limits::DELIVERY_LOADS_AT_ONCE_MAX,
};

#[tokio::test]
async fn engine_retries_reading_endpoints_without_another_commit() {
    let (mut world, mut receiver) = (World::open().await, Receiver::start().await);
    world.put("ep", &endpoint(&receiver.url)).await;
    let (engine, views) = world.engine().await;
    let mut sent = Vec::new();
    for number in 0..2 * COMMIT_NOTIFICATIONS_MAX {
        sent.push(world.emit(&format!("subject {number}")).await);
    }
    hide_queues(&world.bench.database).await;
    tokio::spawn(engine.run(world.stop.subscribe(), no_wait()));
    // The engine replies after it has tried to catch up.
    views.find(Vec::new()).await;
    show_queues(&world.bench.database).await;
    let mut arrived = Vec::new();
    for _ in &sent {
        arrived.push(receiver.next().await.id);
    }
    arrived.sort();
    sent.sort();
    assert_eq!(arrived, sent);
    assert!(receiver.is_quiet());
}

#[tokio::test]
async fn engine_reads_a_bounded_number_of_queues_before_it_receives_notifications() {
    let world = World::open().await;
    let put = world.bench.run(async |draft| {
        for queue in 0..4 * DELIVERY_LOADS_AT_ONCE_MAX {
            draft.put_endpoint(&format!("ep{queue}"), &endpoint("http://127.0.0.1:9/hook")).await?.unwrap();
        }
        Ok(())
    });
    put.await.unwrap();
    let (mut engine, _views) = world.engine().await;
    // `World::engine` has run one pass.
    assert!(engine.take_load(), "one pass has read the rows of all queues");
}

#[tokio::test]
async fn engine_with_a_thousand_queues_delivers_while_it_constantly_misses_notifications() {
    const QUEUES: usize = 1_000;
    let (mut world, mut receiver) = (World::with_notifications_kept(2).await, Receiver::start().await);
    let put = world.bench.run(async |draft| {
        for queue in 0..QUEUES {
            let endpoint = Endpoint { subjects: vec![format!("subject {queue}")], ..endpoint(&receiver.url) };
            draft.put_endpoint(&format!("ep{queue}"), &endpoint).await?.unwrap();
        }
        Ok(())
    });
    put.await.unwrap();
    let _delivery = world.deliver().await;
    let emit = async {
        for number in 0.. {
            world.emit(&format!("subject {}", number % QUEUES)).await;
        }
    };
    let receive = async {
        let mut arrived = std::collections::HashSet::new();
        while arrived.len() < 500 {
            assert!(arrived.insert(receiver.next().await.id), "delivered twice");
        }
    };
    tokio::select! {
        () = emit => {}
        () = receive => {}
    }
}
