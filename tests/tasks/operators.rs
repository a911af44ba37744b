//! What operators see of tasks, and do about them.

use super::*;
use crate::support::Response;

async fn listed(host: &TestHost, query: &str) -> Vec<Value> {
    let page = host.operator().get(&format!("/v1/tasks?{query}")).await.expect(200).json();
    page["entries"].as_array().expect("a list").clone()
}

/// As ada.
async fn order(host: &TestHost, what: &str, body: Value) -> Response {
    let headers = [("content-type", "application/json"), ("x-tenon-operator", "ada")];
    host.operator().send("POST", &format!("/v1/tasks/{what}"), &headers, body.to_string().into_bytes()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_was_given_up_is_seen_with_its_fault_and_runs_once_more_on_order() {
    let (host, client) = still_host("[plugins.clockwork.tasks]\ndelays-ms = []").await;
    alarm(&client, "a", json!({"then": "fail"})).await;
    let given_up =
        eventually("the task that was given up", async || listed(&host, "kind=timer&given_up=true").await.pop()).await;
    assert_eq!((&given_up["id"], &given_up["state"]), (&json!("ring:a"), &json!("given-up")));
    assert_eq!((&given_up["faults"], &given_up["tenant"]), (&json!(1), &json!("acme/test")));
    assert!(given_up["fault"].as_str().is_some_and(|fault| fault.contains("broken on purpose")), "{given_up}");

    order(&host, "retry", json!({"kind": "timer", "id": "ring:a"})).await.check(200);
    wait_for_runs(&host, "fault", 2).await;
    let line = host.operator().get("/v1/plugins/journal?limit=1").await.expect(200).json()[0].clone();
    assert_eq!((&line["who"], &line["action"]), (&json!("ada"), &json!("retry-task")));
    assert_eq!(line["reasons"], json!(["ring:a of acme/test"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_is_dropped_does_not_run() {
    let (host, client) = still_host("").await;
    alarm(&client, "a", json!({"in_ms": 1_000})).await;
    alarm(&client, "b", json!({"in_ms": 1_000})).await;
    order(&host, "drop", json!({"kind": "timer", "id": "ring:a"})).await.check(200);
    order(&host, "drop", json!({"kind": "timer", "id": "ring:a"})).await.check(404);
    host.clock.advance(1_000);
    mark(&client, "b").await;
    assert_eq!(find_mark(&client, "a").await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn tasks_are_listed_page_by_page_and_a_name_that_two_tenants_use_is_told_apart() {
    let (host, acme) = still_host("").await;
    let globex = host.client("clockwork", "globex").await;
    for number in 0..3 {
        alarm(&acme, &format!("n{number}"), json!({"in_ms": 1_000})).await;
    }
    alarm(&globex, "n0", json!({"in_ms": 1_000})).await;
    let first = host.operator().get("/v1/tasks?kind=timer&limit=2").await.expect(200).json();
    assert_eq!(first["entries"].as_array().map(Vec::len), Some(2));
    host.operator().get("/v1/tasks?kind=timer&after=elsewhere").await.check(400);
    let after: String =
        first["next"].as_str().expect("a second page").bytes().map(|byte| format!("%{byte:02X}")).collect();
    let second = listed(&host, &format!("kind=timer&limit=2&after={after}")).await;
    let ids: Vec<(&Value, &Value)> = second.iter().map(|task| (&task["tenant"], &task["id"])).collect();
    assert_eq!(ids, [(&json!("acme/test"), &json!("ring:n2")), (&json!("globex/test"), &json!("ring:n0"))]);

    let twice = order(&host, "drop", json!({"kind": "timer", "id": "ring:n0"})).await.expect(409).json();
    assert_eq!(twice["reasons"].as_array().map(Vec::len), Some(2), "{twice}");
    order(&host, "drop", json!({"kind": "timer", "id": "ring:n0", "tenant": "globex/test"})).await.check(200);
    assert_eq!(listed(&host, "kind=timer&tenant=globex/test").await, Vec::<Value>::new());
}
