use std::collections::BTreeMap;

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_task_runs_at_its_time_and_not_before() {
    let (host, client) = still_host("").await;
    alarm(&client, "late", json!({"in_ms": 10_001})).await;
    alarm(&client, "early", json!({"in_ms": 10_000})).await;
    host.clock.advance(10_000);
    assert_eq!(mark(&client, "early").await["at"], json!(START_MS + 10_000));
    assert_eq!(find_mark(&client, "late").await, None);
    host.clock.advance(1);
    mark(&client, "late").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_of_the_same_name_and_key_takes_the_place_of_the_one_before() {
    let (host, client) = still_host("").await;
    alarm(&client, "a", json!({"in_ms": 1_000, "then": "fail"})).await;
    alarm(&client, "a", json!({"in_ms": 5_000})).await;
    host.clock.advance(5_000);
    assert_eq!(mark(&client, "a").await["count"], json!(1));
    assert_eq!(runs(&host, "fault").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_task_does_not_run() {
    let (host, client) = still_host("").await;
    alarm(&client, "a", json!({"in_ms": 1_000})).await;
    alarm(&client, "b", json!({"in_ms": 1_000})).await;
    assert_eq!(client.delete("/v1/alarms/a").await.expect(200).text(), "true");
    assert_eq!(client.delete("/v1/alarms/a").await.expect(200).text(), "false");
    host.clock.advance(1_000);
    mark(&client, "b").await;
    assert_eq!(find_mark(&client, "a").await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_asks_for_later_runs_then() {
    let (host, client) = still_host("").await;
    alarm(&client, "a", json!({"then": "later", "until": START_MS + 60_000})).await;
    wait_for_runs(&host, "later", 1).await;
    host.clock.advance(60_000);
    assert_eq!(mark(&client, "a").await["what"]["attempt"], json!(1), "it never failed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_may_schedule_itself_anew() {
    let client = clockwork("").start().await;
    let acme = client.client("clockwork", "acme").await;
    alarm(&acme, "a", json!({"then": "again", "times": 5, "in_ms": 1})).await;
    mark_number(&acme, "a", 5).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_fails_is_tried_again_after_longer_and_longer_and_told_when_it_is_the_last_time() {
    let (host, client) = still_host("[plugins.clockwork.tasks]\ndelays-ms = [1000, 60000]").await;
    alarm(&client, "a", json!({"then": "fail-but-last"})).await;
    wait_for_runs(&host, "fault", 1).await;
    host.clock.advance(1_000);
    wait_for_runs(&host, "fault", 2).await;
    host.clock.advance(59_999);
    alarm(&client, "b", json!({})).await;
    mark(&client, "b").await;
    assert_eq!(find_mark(&client, "a").await, None, "not before its time");
    host.clock.advance(1);
    assert_eq!(mark(&client, "a").await["what"], json!({"attempt": 3, "last": true}));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_may_have_delays_of_its_own_unless_the_operator_says_otherwise() {
    for (lines, delays_ms) in
        [("", &[100][..]), ("[plugins.clockwork.tasks]\ndelays-ms = [1000, 2000]", &[1_000, 2_000])]
    {
        let (host, client) = still_host(lines).await;
        alarm(&client, "a", json!({"then": "hurry"})).await;
        for (faults, delay_ms) in (1..).zip(delays_ms) {
            wait_for_runs(&host, "fault", faults).await;
            host.clock.advance(*delay_ms);
        }
        assert_eq!(mark(&client, "a").await["what"], json!({"attempt": delays_ms.len() + 1, "last": true}));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_computes_without_end_fails_and_harms_no_other() {
    let (host, client) = still_host("").await;
    alarm(&client, "endless", json!({"then": "loop"})).await;
    alarm(&client, "good", json!({})).await;
    mark(&client, "good").await;
    wait_for_runs(&host, "fault", 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_scheduled_outlives_the_host() {
    let (host, client) = still_host("").await;
    alarm(&client, "due-while-down", json!({"in_ms": 1_000})).await;
    alarm(&client, "due-later", json!({"in_ms": 90_000})).await;
    let clock = host.clock.clone();
    let host = host.restart_after(|| clock.advance(60_000)).await;
    let client = host.client("clockwork", "acme").await;
    assert_eq!(mark(&client, "due-while-down").await["count"], json!(1));
    host.clock.advance(30_000);
    mark(&client, "due-later").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn five_hundred_tasks_of_two_tenants_at_one_time_run_once_each() {
    let (host, acme) = still_host("").await;
    let globex = host.client("clockwork", "globex").await;
    for number in 0..250 {
        alarm(&acme, &format!("n{number}"), json!({"in_ms": 1_000})).await;
        alarm(&globex, &format!("n{number}"), json!({"in_ms": 1_000})).await;
    }
    host.clock.advance(1_000);
    wait_for_runs(&host, "done", 500).await;
    for client in [&acme, &globex] {
        for number in 0..250 {
            let mark = find_mark(client, &format!("n{number}")).await.expect("it has run");
            assert_eq!(mark["count"], json!(1));
        }
    }
    assert_eq!(host.events().await.len(), 500);
}

#[tokio::test(flavor = "multi_thread")]
async fn tasks_of_two_tenants_with_one_key_are_two_tasks() {
    let (host, acme) = still_host("").await;
    let globex = host.client("clockwork", "globex").await;
    alarm(&acme, "a", json!({"in_ms": 1_000})).await;
    alarm(&globex, "a", json!({"in_ms": 1_000})).await;
    assert_eq!(globex.delete("/v1/alarms/a").await.expect(200).text(), "true");
    host.clock.advance(1_000);
    mark(&acme, "a").await;
    assert_eq!(find_mark(&globex, "a").await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn tasks_that_are_moved_while_they_run_happen_as_often_as_they_were_asked_for() {
    let host = clockwork("").start().await;
    let client = host.client("clockwork", "acme").await;
    let mut asked = BTreeMap::new();
    for round in 0..40 {
        for number in 0..5 {
            let id = format!("n{number}");
            alarm(&client, &id, json!({"in_ms": round % 3})).await;
            *asked.entry(id).or_insert(0_u64) += 1;
        }
    }
    for (id, asked) in asked {
        let count = mark(&client, &id).await["count"].as_u64().expect("a count");
        assert!(count >= 1 && count <= asked, "{id} ran {count} times, and was asked for {asked} times");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_time_beyond_all_times_is_far_away_and_keeps_no_host_from_starting() {
    let (host, client) = still_host("").await;
    alarm(&client, "never", json!({"in_ms": u64::MAX})).await;
    let host = host.restart().await;
    let client = host.client("clockwork", "acme").await;
    alarm(&client, "now", json!({})).await;
    mark(&client, "now").await;
    let listed = host.operator().get("/v1/tasks?kind=timer").await.expect(200).json();
    assert_eq!(listed["entries"][0]["id"], json!("ring:never"));
}
