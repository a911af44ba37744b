//! What becomes of an effect, and what the plugin is told.

use tenon::limits::TENANT_FURTHER_EFFECTS_RUNNING_MAX;

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_call_goes_out_after_the_commit_and_its_answer_comes_back() {
    let (_host, client, bank) = still_host(Reply::Status(201)).await;
    assert!(start_call(&client, "a", json!({"destination": "bank", "delays": [1000]})).await);
    assert_eq!(told(&client, "a").await, json!({"answered": 201}));
    let arrived = bank.arrived();
    assert_eq!((arrived.len(), arrived[0].line.as_str()), (1, "POST /api/calls/a"));
    assert_eq!((arrived[0].json(), keys(&arrived)), (json!({"id": "a"}), vec!["called:a"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn answer_and_what_its_task_changes_are_one_commit() {
    let (host, client, _bank) = still_host(Reply::Status(200)).await;
    let before = changes(&host).await;
    start_call(&client, "a", json!({"destination": "bank"})).await;
    assert_eq!(told(&client, "a").await, json!({"answered": 200}));
    assert_eq!(changes(&host).await - before, 3, "the request, the attempt that begins, and the task with its end");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_not_answered_for_good_is_repeated_with_the_same_bytes_and_key() {
    let (host, client, bank) = still_host(Reply::Status(503)).await;
    start_call(&client, "a", json!({"destination": "bank", "delays": [1000, 5000]})).await;
    bank.wait_for(1).await;
    settled_attempt(&host, "a", 1).await;
    host.clock.advance(1_000);
    bank.wait_for(2).await;
    settled_attempt(&host, "a", 2).await;
    bank.reply(Reply::Status(200));
    host.clock.advance(4_999);
    start_call(&client, "b", json!({"destination": "bank"})).await;
    assert_eq!(told(&client, "b").await, json!({"answered": 200}));
    assert_eq!(bank.arrived().len(), 3, "two of one, and one of the other: not before its time");
    host.clock.advance(1);
    assert_eq!(told(&client, "a").await, json!({"answered": 200}));
    let mut arrived = bank.arrived();
    arrived.retain(|arrived| arrived.line.ends_with("/a"));
    assert_eq!(keys(&arrived), ["called:a"; 3]);
    assert!(arrived.iter().all(|again| again.body == arrived[0].body));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_to_wait_begins_at_its_time_and_can_be_taken_back_until_then() {
    let (host, client, bank) = still_host(Reply::Status(200)).await;
    for id in ["a", "b"] {
        assert!(start_call(&client, id, json!({"destination": "bank", "start_in": 60_000})).await);
    }
    host.clock.advance(59_999);
    start_call(&client, "c", json!({"destination": "bank"})).await;
    assert_eq!(told(&client, "c").await, json!({"answered": 200}));
    assert_eq!(bank.arrived().len(), 1, "the others wait");
    assert_eq!(client.delete("/v1/calls/b").await.expect(200).text(), "true");
    host.clock.advance(1);
    assert_eq!(told(&client, "a").await, json!({"answered": 200}));
    assert_eq!(bank.arrived().len(), 2);
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_that_the_other_side_asks_for_is_kept() {
    let (host, client, bank) = still_host(Reply::Busy(60)).await;
    start_call(&client, "a", json!({"destination": "bank", "delays": [1000]})).await;
    settled_attempt(&host, "a", 1).await;
    bank.reply(Reply::Status(200));
    host.clock.advance(59_999);
    start_call(&client, "b", json!({"destination": "bank"})).await;
    assert_eq!(told(&client, "b").await, json!({"answered": 200}));
    assert_eq!(bank.arrived().len(), 2, "one of each");
    host.clock.advance(1);
    assert_eq!(told(&client, "a").await, json!({"answered": 200}));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_answer_stands_when_there_is_no_time_for_another() {
    let (_host, client, bank) = still_host(Reply::Status(500)).await;
    start_call(&client, "a", json!({"destination": "bank", "delays": [60_000], "give_up_in": 59_000})).await;
    assert_eq!(told(&client, "a").await, json!({"answered": 500}));
    assert_eq!(bank.arrived().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_surely_reached_nobody_was_not_sent() {
    let host = calling(&nowhere().await, "").start().await;
    let client = host.client("clockwork", "acme").await;
    start_call(&client, "a", json!({"destination": "bank"})).await;
    start_call(&client, "b", json!({"destination": "moon"})).await;
    assert_eq!(told(&client, "a").await, json!({"not-sent": "refused"}));
    assert!(told(&client, "b").await["not-sent"].is_string());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_may_have_happened_is_unknown() {
    let (_host, client, _bank) = still_host(Reply::Nothing).await;
    start_call(&client, "a", json!({"destination": "bank", "timeout_ms": 100})).await;
    assert_eq!(told(&client, "a").await, json!({"unknown": "timeout"}));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_is_started_once_until_it_is_told_and_cannot_be_taken_back_once_begun() {
    let (_host, client, bank) = still_host(Reply::Nothing).await;
    let wanted = json!({"destination": "bank", "timeout_ms": 2000});
    assert!(start_call(&client, "a", wanted.clone()).await);
    bank.wait_for(1).await;
    assert!(!start_call(&client, "a", wanted.clone()).await);
    assert_eq!(client.delete("/v1/calls/a").await.expect(200).text(), "false");
    assert_eq!(told(&client, "a").await, json!({"unknown": "timeout"}));
    bank.reply(Reply::Status(200));
    assert!(start_call(&client, "a", wanted).await, "its outcome was told");
    eventually("the second outcome", async || {
        (client.get("/v1/marks/a").await.json()["count"] == json!(2)).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_hang_keep_neither_another_tenant_nor_another_destination_waiting() {
    let (slow, quick) = (TestReceiver::start(Reply::Nothing).await, TestReceiver::start(Reply::Status(200)).await);
    let other = format!("[plugins.clockwork.destinations.quick]\nbase-url = \"{}\"", quick.base());
    let host = calling(slow.base(), &other).start().await;
    let (acme, globex) = (host.client("clockwork", "acme").await, host.client("clockwork", "globex").await);
    for number in 0..60 {
        start_call(&acme, &format!("n{number}"), json!({"destination": "bank", "timeout_ms": 20_000})).await;
    }
    slow.wait_for(32).await;
    for client in [&globex, &acme] {
        start_call(client, "a", json!({"destination": "quick"})).await;
        assert_eq!(told(client, "a").await, json!({"answered": 200}));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn host_that_stops_begins_no_call_that_waits_for_a_slot() {
    // A tenant has one first call for each destination and some further ones under way at once.
    const UNDER_WAY_MAX: usize = 5 + TENANT_FURTHER_EFFECTS_RUNNING_MAX;
    let slow = TestReceiver::start(Reply::Nothing).await;
    let more =
        (1..5).map(|number| format!("[plugins.clockwork.destinations.slow{number}]\nbase-url = \"{}\"\n", slow.base()));
    let host = calling(slow.base(), &more.collect::<String>()).start().await;
    let client = host.client("clockwork", "acme").await;
    for number in 0..160 {
        let destination = ["bank", "slow1", "slow2", "slow3", "slow4"][number % 5];
        start_call(&client, &format!("n{number}"), json!({"destination": destination, "timeout_ms": 4_000})).await;
    }
    slow.wait_for(UNDER_WAY_MAX).await;
    host.stop().await;
    assert_eq!(slow.arrived().len(), UNDER_WAY_MAX);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_told_the_outcome_may_start_the_same_call_anew() {
    let (_host, client, bank) = still_host(Reply::Status(200)).await;
    start_call(&client, "again", json!({"destination": "bank"})).await;
    eventually("the second outcome", async || {
        let found = client.get("/v1/marks/again").await;
        (found.status == 200 && found.json()["count"] == json!(2)).then_some(())
    })
    .await;
    assert_eq!(keys(&bank.arrived()), ["called:again"; 2]);
}

/// Change sets that are durable.
async fn changes(host: &TestHost) -> u64 {
    let metrics = host.operator().get("/metrics").await.expect(200).text();
    let line = metrics.lines().find_map(|line| line.strip_prefix("tenon_committer_changes_total "));
    line.expect("the number of changes").parse().expect("a number")
}

/// Waits until an attempt has ended and the next one waits.
async fn settled_attempt(host: &TestHost, id: &str, number: u64) {
    let what = format!("the end of attempt {number}");
    eventually(&what, async || {
        let page = host.operator().get("/v1/tasks?kind=effect").await.expect(200).json();
        let listed =
            page["entries"].as_array().expect("a list").iter().find(|task| task["id"] == format!("called:{id}"))?;
        let call = &listed["call"];
        (call["attempts"] == json!(number)
            && call["failure"].is_string()
            && listed["due_at"].is_string()
            && listed["due_at"].as_str() > Some(&tenon_time(host)))
        .then_some(())
    })
    .await;
}

/// The host's time as it writes it.
fn tenon_time(host: &TestHost) -> String {
    tenon::admin::wire::Moment(host.clock.now()).to_string()
}
