//! Attempts of an effect and the outcome that the plugin receives.

use tenon::limits::TENANT_FURTHER_EFFECTS_RUNNING_MAX;

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn call_is_sent_after_the_commit_and_its_response_is_delivered() {
    let (_host, client, bank) = host_with_manual_clock(ReceiverResponse::Status(201)).await;
    assert!(start_call(&client, "a", json!({"destination": "bank", "delays": [1000]})).await);
    assert_eq!(outcome(&client, "a").await, json!({"answered": 201}));
    let received = bank.received();
    assert_eq!((received.len(), received[0].line.as_str()), (1, "POST /api/calls/a"));
    assert_eq!((received[0].json(), keys(&received)), (json!({"id": "a"}), vec!["called:a"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn outcome_and_changes_of_its_task_are_one_commit() {
    let (host, client, _bank) = host_with_manual_clock(ReceiverResponse::Status(200)).await;
    let before = changes(&host).await;
    start_call(&client, "a", json!({"destination": "bank"})).await;
    assert_eq!(outcome(&client, "a").await, json!({"answered": 200}));
    assert_eq!(
        changes(&host).await - before,
        3,
        "the request, the start of the attempt, and the task with the outcome"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_attempt_is_retried_with_the_same_bytes_and_idempotency_key() {
    let (host, client, bank) = host_with_manual_clock(ReceiverResponse::Status(503)).await;
    start_call(&client, "a", json!({"destination": "bank", "delays": [1000, 5000]})).await;
    bank.wait_for(1).await;
    wait_for_settled_attempt(&host, "a", 1).await;
    host.clock.advance(1_000);
    bank.wait_for(2).await;
    wait_for_settled_attempt(&host, "a", 2).await;
    bank.respond_with(ReceiverResponse::Status(200));
    host.clock.advance(4_999);
    start_call(&client, "b", json!({"destination": "bank"})).await;
    assert_eq!(outcome(&client, "b").await, json!({"answered": 200}));
    assert_eq!(bank.received().len(), 3, "two attempts of a, one of b: the third attempt is not due");
    host.clock.advance(1);
    assert_eq!(outcome(&client, "a").await, json!({"answered": 200}));
    let mut received = bank.received();
    received.retain(|received| received.line.ends_with("/a"));
    assert_eq!(keys(&received), ["called:a"; 3]);
    assert!(received.iter().all(|request| request.body == received[0].body));
}

#[tokio::test(flavor = "multi_thread")]
async fn delayed_call_starts_when_due_and_can_be_cancelled_before() {
    let (host, client, bank) = host_with_manual_clock(ReceiverResponse::Status(200)).await;
    for id in ["a", "b"] {
        assert!(start_call(&client, id, json!({"destination": "bank", "start_in": 60_000})).await);
    }
    host.clock.advance(59_999);
    start_call(&client, "c", json!({"destination": "bank"})).await;
    assert_eq!(outcome(&client, "c").await, json!({"answered": 200}));
    assert_eq!(bank.received().len(), 1, "the others wait");
    assert_eq!(client.delete("/v1/calls/b").await.expect(200).text(), "true");
    host.clock.advance(1);
    assert_eq!(outcome(&client, "a").await, json!({"answered": 200}));
    assert_eq!(bank.received().len(), 2);
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn retry_after_header_extends_the_delay_before_the_next_attempt() {
    let (host, client, bank) = host_with_manual_clock(ReceiverResponse::RetryAfter(60)).await;
    start_call(&client, "a", json!({"destination": "bank", "delays": [1000]})).await;
    wait_for_settled_attempt(&host, "a", 1).await;
    bank.respond_with(ReceiverResponse::Status(200));
    host.clock.advance(59_999);
    start_call(&client, "b", json!({"destination": "bank"})).await;
    assert_eq!(outcome(&client, "b").await, json!({"answered": 200}));
    assert_eq!(bank.received().len(), 2, "one of each");
    host.clock.advance(1);
    assert_eq!(outcome(&client, "a").await, json!({"answered": 200}));
}

#[tokio::test(flavor = "multi_thread")]
async fn last_response_is_the_outcome_when_no_time_is_left_for_another_attempt() {
    let (_host, client, bank) = host_with_manual_clock(ReceiverResponse::Status(500)).await;
    start_call(&client, "a", json!({"destination": "bank", "delays": [60_000], "give_up_in": 59_000})).await;
    assert_eq!(outcome(&client, "a").await, json!({"answered": 500}));
    assert_eq!(bank.received().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn call_that_reached_no_server_has_the_outcome_not_sent() {
    let host = host_with_bank(&unreachable_address().await, "").start().await;
    let client = host.client("clockwork", "acme").await;
    start_call(&client, "a", json!({"destination": "bank"})).await;
    start_call(&client, "b", json!({"destination": "moon"})).await;
    assert_eq!(outcome(&client, "a").await, json!({"not-sent": "refused"}));
    assert!(outcome(&client, "b").await["not-sent"].is_string());
}

#[tokio::test(flavor = "multi_thread")]
async fn call_that_timed_out_has_the_outcome_unknown() {
    let (_host, client, _bank) = host_with_manual_clock(ReceiverResponse::Never).await;
    start_call(&client, "a", json!({"destination": "bank", "timeout_ms": 100})).await;
    assert_eq!(outcome(&client, "a").await, json!({"unknown": "timeout"}));
}

#[tokio::test(flavor = "multi_thread")]
async fn call_is_started_once_until_its_outcome_is_delivered_and_cannot_be_cancelled_in_flight() {
    let (_host, client, bank) = host_with_manual_clock(ReceiverResponse::Never).await;
    let call = json!({"destination": "bank", "timeout_ms": 2000});
    assert!(start_call(&client, "a", call.clone()).await);
    bank.wait_for(1).await;
    assert!(!start_call(&client, "a", call.clone()).await);
    assert_eq!(client.delete("/v1/calls/a").await.expect(200).text(), "false");
    assert_eq!(outcome(&client, "a").await, json!({"unknown": "timeout"}));
    bank.respond_with(ReceiverResponse::Status(200));
    assert!(start_call(&client, "a", call).await, "its outcome was delivered");
    eventually("the second outcome", async || {
        (client.get("/v1/marks/a").await.json()["count"] == json!(2)).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hanging_calls_delay_neither_another_tenant_nor_another_destination() {
    let (slow, quick) =
        (TestReceiver::start(ReceiverResponse::Never).await, TestReceiver::start(ReceiverResponse::Status(200)).await);
    let other = format!("[plugins.clockwork.destinations.quick]\nbase-url = \"{}\"", quick.base());
    let host = host_with_bank(slow.base(), &other).start().await;
    let (acme, globex) = (host.client("clockwork", "acme").await, host.client("clockwork", "globex").await);
    for number in 0..60 {
        start_call(&acme, &format!("n{number}"), json!({"destination": "bank", "timeout_ms": 20_000})).await;
    }
    slow.wait_for(32).await;
    for client in [&globex, &acme] {
        start_call(client, "a", json!({"destination": "quick"})).await;
        assert_eq!(outcome(client, "a").await, json!({"answered": 200}));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn stopping_host_starts_no_call_that_waits_for_a_permit() {
    // A tenant may have the first call to each destination and a number of further calls in flight at once.
    const IN_FLIGHT_MAX: usize = 5 + TENANT_FURTHER_EFFECTS_RUNNING_MAX;
    let slow = TestReceiver::start(ReceiverResponse::Never).await;
    let more =
        (1..5).map(|number| format!("[plugins.clockwork.destinations.slow{number}]\nbase-url = \"{}\"\n", slow.base()));
    let host = host_with_bank(slow.base(), &more.collect::<String>()).start().await;
    let client = host.client("clockwork", "acme").await;
    for number in 0..160 {
        let destination = ["bank", "slow1", "slow2", "slow3", "slow4"][number % 5];
        start_call(&client, &format!("n{number}"), json!({"destination": destination, "timeout_ms": 4_000})).await;
    }
    slow.wait_for(IN_FLIGHT_MAX).await;
    host.stop().await;
    assert_eq!(slow.received().len(), IN_FLIGHT_MAX);
}

#[tokio::test(flavor = "multi_thread")]
async fn task_that_receives_the_outcome_may_start_the_same_call_again() {
    let (_host, client, bank) = host_with_manual_clock(ReceiverResponse::Status(200)).await;
    start_call(&client, "again", json!({"destination": "bank"})).await;
    eventually("the second outcome", async || {
        let found = client.get("/v1/marks/again").await;
        (found.status == 200 && found.json()["count"] == json!(2)).then_some(())
    })
    .await;
    assert_eq!(keys(&bank.received()), ["called:again"; 2]);
}

/// Returns the number of durable change sets.
async fn changes(host: &TestHost) -> u64 {
    let metrics = host.operator().get("/metrics").await.expect(200).text();
    let line = metrics.lines().find_map(|line| line.strip_prefix("tenon_committer_changes_total "));
    line.expect("the number of changes").parse().expect("a number")
}

/// Waits until an attempt has ended and the next one is scheduled.
async fn wait_for_settled_attempt(host: &TestHost, id: &str, number: u64) {
    let what = format!("the end of attempt {number}");
    eventually(&what, async || {
        let page = host.operator().get("/v1/tasks?kind=effect").await.expect(200).json();
        let listed =
            page["entries"].as_array().expect("a list").iter().find(|task| task["id"] == format!("called:{id}"))?;
        let call = &listed["call"];
        (call["attempts"] == json!(number)
            && call["failure"].is_string()
            && listed["due_at"].is_string()
            && listed["due_at"].as_str() > Some(&host_time(host)))
        .then_some(())
    })
    .await;
}

/// Returns the host's time as a timestamp string.
fn host_time(host: &TestHost) -> String {
    tenon::admin::wire::TimestampText(host.clock.now()).to_string()
}
