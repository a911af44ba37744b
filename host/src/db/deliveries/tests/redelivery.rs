//! Recorded attempts, redeliveries and recoveries.

use super::*;
use crate::limits::BATCH_RECOVERED_MAX;

#[tokio::test]
async fn attempt_numbers_of_a_delivery_start_at_one_and_continue_after_a_redelivery() {
    let mut bench = Bench::open().await;
    bench.put("ep").await;
    bench.emit("event_1").await;
    bench.emit("event_2").await;
    bench.attempt("ep", "event_1", 2_000, DeliveryTransition::RetryAt(9_000)).await;
    bench.attempt("ep", "event_1", 9_000, DeliveryTransition::Delivered).await;
    bench.attempt("ep", "event_2", 9_000, DeliveryTransition::GivenUp).await;
    let again = bench.change(TENANT).redeliver("ep", "event_1");
    bench.apply(vec![again]).await;
    bench.attempt("ep", "event_1", 9_100, DeliveryTransition::Delivered).await;
    assert_eq!(bench.numbers("ep", "event_1").await, [1, 2, 3]);
    assert_eq!(bench.numbers("ep", "event_2").await, [1]);
    let expected = [("event_1".to_owned(), ("delivered", 3)), ("event_2".to_owned(), ("failed", 1))];
    assert_eq!(bench.deliveries(TENANT, "ep").await, BTreeMap::from(expected));
}

#[tokio::test]
async fn many_attempts_in_one_transaction_are_recorded_at_their_deliveries() {
    let mut bench = Bench::open().await;
    bench.put("ep").await;
    let changes = (0..150).map(|n| bench.change(TENANT).event(&format!("event_{n:03}"))).collect();
    let outgoing = bench.apply(changes).await;
    let queue = bench.queue("ep").await;
    let rows: Vec<AttemptRow> = outgoing
        .events
        .iter()
        .map(|event| AttemptRow {
            queue,
            event: event.seq,
            at: 5_000,
            duration_ms: 1,
            outcome: "timeout",
            status: None,
            response: event.id.as_bytes().to_vec(),
            transition: DeliveryTransition::RetryAt(10_000 + event.seq.cast_unsigned()),
        })
        .collect();
    let health = EndpointHealth { queue, failing_since: Some(5_000) };
    bench.file.db.record_attempts(&rows, &[health]).await.unwrap();
    let due = bench.file.db.find_due(queue, 10_100, 10).await.unwrap();
    assert_eq!(due[0], DueRetry { event: 100, attempts: 1, due: 10_100 });
    let attempts = bench.file.db.find_attempts(&scope("notes", TENANT), &"ep".into(), "event_042").await.unwrap();
    assert_eq!((attempts.len(), &attempts[0].response[..]), (1, &b"event_042"[..]));
    assert_eq!(bench.file.db.list_endpoints().await.unwrap()[0].failing_since, Some(5_000));
}

#[tokio::test]
async fn outcome_for_a_removed_endpoint_is_not_recorded_for_its_successor() {
    let mut bench = Bench::open().await;
    bench.put("ep").await;
    bench.emit("event_1").await;
    let old = bench.queue("ep").await;
    let again = vec![bench.change(TENANT).remove_endpoint("ep"), bench.change(TENANT).endpoint("ep", &plain())];
    bench.apply(again).await;
    assert_ne!(bench.queue("ep").await, old);
    let row = AttemptRow {
        queue: old,
        event: 1,
        at: 2_000,
        duration_ms: 1,
        outcome: "delivered",
        status: Some(200),
        response: vec![],
        transition: DeliveryTransition::Delivered,
    };
    bench.file.db.record_attempts(&[row], &[]).await.unwrap();
    assert_eq!(bench.deliveries(TENANT, "ep").await, BTreeMap::new());
    assert_eq!(bench.numbers("ep", "event_1").await, [0; 0]);
}

#[tokio::test]
async fn redelivery_is_due_at_once_even_for_an_event_from_before_the_endpoint() {
    let mut bench = Bench::open().await;
    bench.emit("early").await;
    bench.put("ep").await;
    bench.emit("late").await;
    let queue = bench.queue("ep").await;
    let commands = vec![
        bench.change(TENANT).redeliver("ep", "early"),
        bench.change(TENANT).redeliver("ep", "no such event"),
        bench.change(TENANT).redeliver("no such endpoint", "early"),
        bench.change("other/test").redeliver("ep", "early"),
    ];
    let outgoing = bench.apply(commands).await;
    assert_eq!(outgoing.redelivered, [queue]);
    let due = bench.file.db.find_due(queue, 0, 10).await.unwrap();
    assert_eq!(due.len(), 1);
    assert_eq!((due[0].event, due[0].attempts), (1, 0));
    assert_eq!(bench.deliveries(TENANT, "ep").await["late"], ("pending", 0), "other deliveries keep their state");
}

#[tokio::test]
async fn recovery_includes_only_deliveries_given_up_since_the_given_time() {
    let mut bench = Bench::open().await;
    bench.put("ep").await;
    bench.put("other").await;
    for event in ["old", "new", "delivered", "pending", "retrying"] {
        bench.emit(event).await;
    }
    bench.attempt("ep", "old", 4_000, DeliveryTransition::GivenUp).await;
    bench.attempt("ep", "new", 5_000, DeliveryTransition::GivenUp).await;
    bench.attempt("other", "new", 5_000, DeliveryTransition::GivenUp).await;
    bench.attempt("ep", "delivered", 5_000, DeliveryTransition::Delivered).await;
    bench.attempt("ep", "retrying", 5_000, DeliveryTransition::RetryAt(99_000)).await;
    let queue = bench.queue("ep").await;
    assert_eq!(bench.file.db.count_given_up(queue, 5_000).await.unwrap(), 1);
    let command = bench.change(TENANT).recover("ep", 5_000);
    assert_eq!(bench.apply(vec![command]).await.redelivered, [queue]);
    let states: Vec<_> = bench.deliveries(TENANT, "ep").await.into_iter().map(|(event, row)| (event, row.0)).collect();
    let expected = [
        ("delivered", "delivered"),
        ("new", "retrying"),
        ("old", "failed"),
        ("pending", "pending"),
        ("retrying", "retrying"),
    ];
    assert_eq!(states, expected.map(|(event, state)| (event.to_owned(), state)));
    assert_eq!(bench.deliveries(TENANT, "other").await["new"].0, "failed");
    let due: Vec<Timestamp> = bench.file.db.find_due(queue, 0, 10).await.unwrap().iter().map(|row| row.due).collect();
    assert!(due.len() == 2 && due[0] < 5_000 && due[1] == 99_000, "{due:?}");
    let command = bench.change(TENANT).recover("ep", 5_000);
    assert!(
        bench.apply(vec![command]).await.redelivered.is_empty(),
        "a repeated command finds no delivery that was given up"
    );
    let again: Vec<Timestamp> = bench.file.db.find_due(queue, 0, 10).await.unwrap().iter().map(|row| row.due).collect();
    assert_eq!(again, due);
}

/// More deliveries of one endpoint than a batch examines.
const MANY: usize = BATCH_RECOVERED_MAX + 250;

async fn with_many(endpoints: &[&str]) -> Bench {
    let mut bench = Bench::open().await;
    for endpoint in endpoints {
        bench.put(endpoint).await;
    }
    for number in 0..MANY {
        bench.emit(&format!("event-{number}")).await;
    }
    bench
}

#[tokio::test]
async fn large_recovery_is_bounded_in_each_transaction_and_completes() {
    let mut bench = with_many(&["ep", "other", "early"]).await;
    let db = bench.file.db.clone();
    let give_up = async |endpoint: &str, at: Timestamp| {
        let sql = "UPDATE deliveries SET state = 3, at = ? WHERE queue = (SELECT queue FROM queues WHERE endpoint = ?)";
        db.execute(sqlx::query(sql).bind(at.cast_signed()).bind(endpoint.to_owned())).await.unwrap();
    };
    let count = async |queue: QueueId| db.count_given_up(queue, 0).await.unwrap();
    give_up("ep", 5_000).await;
    give_up("other", 5_000).await;
    give_up("early", 4_999).await;
    let (ep, other, early) = (bench.queue("ep").await, bench.queue("other").await, bench.queue("early").await);
    let commands = ["ep", "other", "early"].map(|endpoint| bench.change(TENANT).recover(endpoint, 5_000)).to_vec();
    let outgoing = bench.apply(commands).await;
    assert_eq!((outgoing.redelivered, outgoing.has_fan_outs), (vec![ep], true));
    assert_eq!((count(ep).await, count(other).await), (250, MANY as u64));
    let (mut last, mut queues) = (QueueId::default(), Vec::new());
    while let Some(part) = db.recover_deliveries(last, 200).await.unwrap() {
        assert!(part.deliveries <= 200);
        last = part.queue;
        queues.push(part.queue);
    }
    assert_eq!(queues[..4], [ep, other, early, ep], "endpoints alternate");
    assert_eq!((count(ep).await, count(other).await, count(early).await), (0, 0, MANY as u64));
}

#[tokio::test]
async fn two_recoveries_of_one_endpoint_are_merged_with_the_wider_bounds() {
    let mut bench = with_many(&["ep"]).await;
    let db = bench.file.db.clone();
    db.execute(sqlx::query("UPDATE deliveries SET state = 3, at = 4000 + event % 2")).await.unwrap();
    for since in [4_001, 4_000] {
        let command = bench.change(TENANT).recover("ep", since);
        bench.apply(vec![command]).await;
    }
    let mut parts = 0;
    while let Some(part) = db.recover_deliveries(QueueId::default(), 100).await.unwrap() {
        assert!(part.is_due || part.deliveries == 0);
        parts += 1;
        assert!(parts < 20);
    }
    let queue = bench.queue("ep").await;
    assert_eq!(db.count_given_up(queue, 0).await.unwrap(), 0);
}

#[tokio::test]
async fn commands_during_a_recovery_cause_one_more_scan_and_do_not_restart_it() {
    let mut bench = with_many(&["ep"]).await;
    let db = bench.file.db.clone();
    // The deliveries were given up before `since`, so each scan examines all of them again.
    db.execute(sqlx::query("UPDATE deliveries SET state = 3, at = 4000")).await.unwrap();
    let command = bench.change(TENANT).recover("ep", 5_000);
    bench.apply(vec![command]).await;
    let mut examined = db.recover_deliveries(QueueId::default(), 100).await.unwrap().unwrap().deliveries;
    for _ in 0..5 {
        let command = bench.change(TENANT).recover("ep", 5_000);
        assert!(bench.apply(vec![command]).await.has_fan_outs);
    }
    while let Some(part) = db.recover_deliveries(QueueId::default(), 100).await.unwrap() {
        examined += part.deliveries;
    }
    assert_eq!(examined, MANY - BATCH_RECOVERED_MAX + MANY);
}

#[tokio::test]
async fn recovery_of_a_removed_endpoint_ends() {
    let mut bench = with_many(&["ep"]).await;
    let db = bench.file.db.clone();
    db.give_up_all_deliveries(5_000).await;
    let command = bench.change(TENANT).recover("ep", 0);
    bench.apply(vec![command]).await;
    let removed = bench.change(TENANT).remove_endpoint("ep");
    bench.apply(vec![removed]).await;
    let part = db.recover_deliveries(QueueId::default(), 100).await.unwrap().unwrap();
    assert!(!part.is_due);
    assert_eq!(db.recover_deliveries(QueueId::default(), 100).await.unwrap(), None);
}
