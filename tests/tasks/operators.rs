//! Listing, retrying and dropping of tasks by operators.

use super::*;
use crate::support::Response;

async fn listed(host: &TestHost, query: &str) -> Vec<Value> {
    let page = host.operator().get(&format!("/v1/tasks?{query}")).await.expect(200).json();
    page["entries"].as_array().expect("a list").clone()
}

/// Sends an action on a task as the operator "ada".
async fn act(host: &TestHost, action: &str, body: Value) -> Response {
    let headers = [("content-type", "application/json"), ("x-tenon-operator", "ada")];
    host.operator().send("POST", &format!("/v1/tasks/{action}"), &headers, body.to_string().into_bytes()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn given_up_task_is_listed_with_its_fault_and_can_be_retried() {
    let (host, client) = host_with_manual_clock("[plugins.clockwork.tasks]\ndelays-ms = []").await;
    set_alarm(&client, "a", json!({"then": "fail"})).await;
    let given_up =
        eventually("the task that was given up", async || listed(&host, "kind=timer&given_up=true").await.pop()).await;
    assert_eq!((&given_up["id"], &given_up["state"]), (&json!("ring:a"), &json!("given-up")));
    assert_eq!((&given_up["faults"], &given_up["tenant"]), (&json!(1), &json!("acme/test")));
    assert!(given_up["fault"].as_str().is_some_and(|fault| fault.contains("broken on purpose")), "{given_up}");

    act(&host, "retry", json!({"kind": "timer", "id": "ring:a"})).await.check(200);
    wait_for_runs(&host, "fault", 2).await;
    let line = host.operator().get("/v1/plugins/journal?limit=1").await.expect(200).json()[0].clone();
    assert_eq!((&line["who"], &line["action"]), (&json!("ada"), &json!("retry-task")));
    assert_eq!(line["reasons"], json!(["ring:a of acme/test"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn dropped_task_does_not_run() {
    let (host, client) = host_with_manual_clock("").await;
    set_alarm(&client, "a", json!({"in_ms": 1_000})).await;
    set_alarm(&client, "b", json!({"in_ms": 1_000})).await;
    act(&host, "drop", json!({"kind": "timer", "id": "ring:a"})).await.check(200);
    act(&host, "drop", json!({"kind": "timer", "id": "ring:a"})).await.check(404);
    host.clock.advance(1_000);
    wait_for_mark(&client, "b").await;
    assert_eq!(find_mark(&client, "a").await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn tasks_are_paginated_and_an_id_of_two_tenants_needs_the_tenant() {
    let (host, acme) = host_with_manual_clock("").await;
    let globex = host.client("clockwork", "globex").await;
    for number in 0..3 {
        set_alarm(&acme, &format!("n{number}"), json!({"in_ms": 1_000})).await;
    }
    set_alarm(&globex, "n0", json!({"in_ms": 1_000})).await;
    let first = host.operator().get("/v1/tasks?kind=timer&limit=2").await.expect(200).json();
    assert_eq!(first["entries"].as_array().map(Vec::len), Some(2));
    host.operator().get("/v1/tasks?kind=timer&after=elsewhere").await.check(400);
    let after: String =
        first["next"].as_str().expect("a second page").bytes().map(|byte| format!("%{byte:02X}")).collect();
    let second = listed(&host, &format!("kind=timer&limit=2&after={after}")).await;
    let ids: Vec<(&Value, &Value)> = second.iter().map(|task| (&task["tenant"], &task["id"])).collect();
    assert_eq!(ids, [(&json!("acme/test"), &json!("ring:n2")), (&json!("globex/test"), &json!("ring:n0"))]);

    let ambiguous = act(&host, "drop", json!({"kind": "timer", "id": "ring:n0"})).await.expect(409).json();
    assert_eq!(ambiguous["reasons"].as_array().map(Vec::len), Some(2), "{ambiguous}");
    act(&host, "drop", json!({"kind": "timer", "id": "ring:n0", "tenant": "globex/test"})).await.check(200);
    assert_eq!(listed(&host, "kind=timer&tenant=globex/test").await, Vec::<Value>::new());
}
