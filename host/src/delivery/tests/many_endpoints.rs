//! Events for so many endpoints that their batch does not create all deliveries.

use std::collections::HashMap;

use super::*;
use crate::limits::BATCH_DELIVERIES_EACH;

const ENDPOINTS: usize = 40;
const EVENTS: usize = BATCH_DELIVERIES_EACH / ENDPOINTS + 5;

#[tokio::test]
async fn deliveries_that_exceed_the_batch_are_sent_once_and_in_their_sequence() {
    let (mut world, mut receiver) = (World::open().await, Receiver::start().await);
    let delivery = world.deliver().await;
    let put = world.bench.run(async |draft| {
        for number in 0..ENDPOINTS {
            let endpoint = endpoint(&format!("{}/{number}", receiver.url));
            draft.put_endpoint(&format!("ep{number}"), &endpoint).await?.unwrap();
        }
        Ok(())
    });
    put.await.unwrap();
    let emit = world.bench.run(async |draft| {
        for number in 0..EVENTS {
            let payload = format!("{{\"n\":{number}}}");
            draft.emit(&Envelope::default(), ("thing.changed", "thing"), &payload, None).unwrap();
        }
        Ok(())
    });
    emit.await.unwrap();
    let last = world.emit("thing").await;

    let mut arrived: HashMap<String, Vec<String>> = HashMap::new();
    for _ in 0..ENDPOINTS * (EVENTS + 1) {
        let ReceivedRequest { path, body, .. } = receiver.next().await;
        arrived.entry(path).or_default().push(body);
    }
    let mut expected: Vec<String> = (0..EVENTS).map(|number| format!("{{\"n\":{number}}}")).collect();
    expected.push("{\"n\":1}".to_owned());
    assert_eq!(arrived.len(), ENDPOINTS);
    for (path, bodies) in &arrived {
        assert_eq!(bodies, &expected, "{path}");
    }
    for number in 0..ENDPOINTS {
        world.until_state(&format!("ep{number}"), &last, "delivered").await;
    }
    assert!(receiver.is_quiet());
    world.stop.send(true).unwrap();
    delivery.stop().await;
}
