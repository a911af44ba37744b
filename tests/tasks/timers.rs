//! Timers: due times, replacement, cancellation, retries, and restarts.

use std::collections::BTreeMap;

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn task_runs_when_due_and_not_before() {
    let (host, client) = host_with_manual_clock("").await;
    set_alarm(&client, "late", json!({"in_ms": 10_001})).await;
    set_alarm(&client, "early", json!({"in_ms": 10_000})).await;
    host.clock.advance(10_000);
    assert_eq!(wait_for_mark(&client, "early").await["at"], json!(START_MS + 10_000));
    assert_eq!(find_mark(&client, "late").await, None);
    host.clock.advance(1);
    wait_for_mark(&client, "late").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn task_with_the_same_name_and_key_replaces_the_previous_one() {
    let (host, client) = host_with_manual_clock("").await;
    set_alarm(&client, "a", json!({"in_ms": 1_000, "then": "fail"})).await;
    set_alarm(&client, "a", json!({"in_ms": 5_000})).await;
    host.clock.advance(5_000);
    assert_eq!(wait_for_mark(&client, "a").await["count"], json!(1));
    assert_eq!(runs(&host, "fault").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelled_task_does_not_run() {
    let (host, client) = host_with_manual_clock("").await;
    set_alarm(&client, "a", json!({"in_ms": 1_000})).await;
    set_alarm(&client, "b", json!({"in_ms": 1_000})).await;
    assert_eq!(client.delete("/v1/alarms/a").await.expect(200).text(), "true");
    assert_eq!(client.delete("/v1/alarms/a").await.expect(200).text(), "false");
    host.clock.advance(1_000);
    wait_for_mark(&client, "b").await;
    assert_eq!(find_mark(&client, "a").await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn postponed_task_runs_at_its_new_time() {
    let (host, client) = host_with_manual_clock("").await;
    set_alarm(&client, "a", json!({"then": "later", "until": START_MS + 60_000})).await;
    wait_for_runs(&host, "later", 1).await;
    host.clock.advance(60_000);
    assert_eq!(wait_for_mark(&client, "a").await["what"]["attempt"], json!(1), "it never failed");
}

#[tokio::test(flavor = "multi_thread")]
async fn task_may_schedule_itself_again() {
    let host = clockwork("").start().await;
    let acme = host.client("clockwork", "acme").await;
    set_alarm(&acme, "a", json!({"then": "again", "times": 5, "in_ms": 1})).await;
    wait_for_mark_count(&acme, "a", 5).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_task_is_retried_with_backoff_and_its_last_attempt_is_marked() {
    let (host, client) = host_with_manual_clock("[plugins.clockwork.tasks]\ndelays-ms = [1000, 60000]").await;
    set_alarm(&client, "a", json!({"then": "fail-but-last"})).await;
    wait_for_runs(&host, "fault", 1).await;
    host.clock.advance(1_000);
    wait_for_runs(&host, "fault", 2).await;
    host.clock.advance(59_999);
    set_alarm(&client, "b", json!({})).await;
    wait_for_mark(&client, "b").await;
    assert_eq!(find_mark(&client, "a").await, None, "not due yet");
    host.clock.advance(1);
    assert_eq!(wait_for_mark(&client, "a").await["what"], json!({"attempt": 3, "last": true}));
}

#[tokio::test(flavor = "multi_thread")]
async fn delays_of_a_task_are_overridden_by_the_operator() {
    for (lines, delays_ms) in
        [("", &[100][..]), ("[plugins.clockwork.tasks]\ndelays-ms = [1000, 2000]", &[1_000, 2_000])]
    {
        let (host, client) = host_with_manual_clock(lines).await;
        set_alarm(&client, "a", json!({"then": "hurry"})).await;
        for (faults, delay_ms) in (1..).zip(delays_ms) {
            wait_for_runs(&host, "fault", faults).await;
            host.clock.advance(*delay_ms);
        }
        assert_eq!(wait_for_mark(&client, "a").await["what"], json!({"attempt": delays_ms.len() + 1, "last": true}));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn endless_task_fails_and_delays_no_other_task() {
    let (host, client) = host_with_manual_clock("").await;
    set_alarm(&client, "endless", json!({"then": "loop"})).await;
    set_alarm(&client, "good", json!({})).await;
    wait_for_mark(&client, "good").await;
    wait_for_runs(&host, "fault", 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn scheduled_tasks_survive_a_restart() {
    let (host, client) = host_with_manual_clock("").await;
    set_alarm(&client, "due-while-down", json!({"in_ms": 1_000})).await;
    set_alarm(&client, "due-later", json!({"in_ms": 90_000})).await;
    let clock = host.clock.clone();
    let host = host.restart_after(|| clock.advance(60_000)).await;
    let client = host.client("clockwork", "acme").await;
    assert_eq!(wait_for_mark(&client, "due-while-down").await["count"], json!(1));
    host.clock.advance(30_000);
    wait_for_mark(&client, "due-later").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn five_hundred_tasks_of_two_tenants_with_one_due_time_run_once_each() {
    let (host, acme) = host_with_manual_clock("").await;
    let globex = host.client("clockwork", "globex").await;
    for number in 0..250 {
        set_alarm(&acme, &format!("n{number}"), json!({"in_ms": 1_000})).await;
        set_alarm(&globex, &format!("n{number}"), json!({"in_ms": 1_000})).await;
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
    let (host, acme) = host_with_manual_clock("").await;
    let globex = host.client("clockwork", "globex").await;
    set_alarm(&acme, "a", json!({"in_ms": 1_000})).await;
    set_alarm(&globex, "a", json!({"in_ms": 1_000})).await;
    assert_eq!(globex.delete("/v1/alarms/a").await.expect(200).text(), "true");
    host.clock.advance(1_000);
    wait_for_mark(&acme, "a").await;
    assert_eq!(find_mark(&globex, "a").await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn tasks_rescheduled_while_running_run_at_most_as_often_as_requested() {
    let host = clockwork("").start().await;
    let client = host.client("clockwork", "acme").await;
    let mut requested = BTreeMap::new();
    for round in 0..40 {
        for number in 0..5 {
            let id = format!("n{number}");
            set_alarm(&client, &id, json!({"in_ms": round % 3})).await;
            *requested.entry(id).or_insert(0_u64) += 1;
        }
    }
    for (id, requested) in requested {
        let count = wait_for_mark(&client, &id).await["count"].as_u64().expect("a count");
        assert!(count >= 1 && count <= requested, "{id} ran {count} times and was scheduled {requested} times");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn overflowing_due_time_is_clamped_and_does_not_prevent_a_start() {
    let (host, client) = host_with_manual_clock("").await;
    set_alarm(&client, "never", json!({"in_ms": u64::MAX})).await;
    let host = host.restart().await;
    let client = host.client("clockwork", "acme").await;
    set_alarm(&client, "now", json!({})).await;
    wait_for_mark(&client, "now").await;
    let listed = host.operator().get("/v1/tasks?kind=timer").await.expect(200).json();
    assert_eq!(listed["entries"][0]["id"], json!("ring:never"));
}
