//! What is told of tracking numbers and their statuses: those that callers make, and those of an order's progress.

use serde_json::{Value, json};

use super::{
    events::{Ear, check_told, names, reduced},
    stage::Stage,
};
use crate::support::StoredEvent;

/// Those of tracking numbers and statuses.
fn of_tracking(heard: Vec<StoredEvent>) -> Vec<StoredEvent> {
    heard.into_iter().filter(|event| event.event_type.starts_with("tracking_")).collect()
}

/// A status and its number, told one after the other.
async fn check_pair(stage: &Stage, heard: &[StoredEvent], status_event: &str, status: &Value, number: &str) {
    assert_eq!(names(heard), [status_event, "tracking_number.updated"]);
    check_told(&heard[0], status_event, &status["id"], &reduced(status));
    let number = stage.shown(&format!("/v1/tracking-numbers/{number}")).await;
    check_told(&heard[1], "tracking_number.updated", &number["id"], &reduced(&number));
}

#[tokio::test]
async fn a_tracking_number_and_its_statuses_are_told_of() {
    let stage = Stage::open().await.covers(&["event tracking_number.*", "event tracking_status.*"]);
    let order = stage.order(json!({})).await;
    let mut ear = Ear::at(&stage).await;
    let made = stage.post("/v1/tracking-numbers", json!({"region": "SG", "owner": order})).await.expect(201).json();
    let number = made["tracking_number"].as_str().expect("a number");
    let first = stage.shown(&format!("/v1/tracking-statuses?tracking_number={number}")).await[0].clone();
    let heard = ear.hear().await;
    assert_eq!(names(&heard), ["tracking_number.created", "tracking_status.created"]);
    check_told(&heard[0], "tracking_number.created", &made["id"], &reduced(&made));
    check_told(&heard[1], "tracking_status.created", &first["id"], &reduced(&first));
    assert_eq!((&first["subject"], &first["tracking_number"]), (&json!(order), &made["id"]));

    let body = json!({"tracking_number": number, "status": "At the depot", "code": "AT_DEPOT", "details": "It waits.",
        "location": [1.5, 103.5]});
    let status = stage.post("/v1/tracking-statuses", body).await.expect(201).json();
    check_pair(&stage, &ear.hear().await, "tracking_status.created", &status, number).await;
    let path = format!("/v1/tracking-statuses/{}", status["id"].as_str().expect("an id"));
    for method in ["PUT", "PATCH"] {
        let details = json!({"details": format!("It waits still: {method}.")});
        let changed = stage.call(&stage.key, method, &path, details).await.expect(200).json();
        check_pair(&stage, &ear.hear().await, "tracking_status.updated", &changed, number).await;
    }
    let last = stage.shown(&path).await;
    stage.delete(&path).await.check(200);
    check_pair(&stage, &ear.hear().await, "tracking_status.deleted", &last, number).await;
    let shown = stage.shown(&format!("/v1/tracking-numbers/{number}")).await;
    assert_eq!(shown["status"], first["status"], "it says what the one before says");
    stage.delete(&format!("/v1/tracking-numbers/{number}")).await.check(200);
    let heard = ear.hear().await;
    assert_eq!(names(&heard), ["tracking_number.deleted"]);
    check_told(&heard[0], "tracking_number.deleted", &made["id"], &reduced(&shown));
    stage.finish().await;
}

#[tokio::test]
async fn each_step_of_an_order_is_a_status_of_its_number() {
    let stage = Stage::open().await;
    let ada = stage.driver("ada").await;
    let path = format!("/v1/orders/{}", stage.order(json!({"driver": ada.id})).await);
    let number = stage.shown(&path).await["tracking_number"]["tracking_number"].as_str().expect("a number").to_owned();
    let mut ear = Ear::at(&stage).await;
    for (rest, code) in [("dispatch", "DISPATCHED"), ("start", "STARTED")] {
        stage.post(&format!("{path}/{rest}"), json!({})).await.check(200);
        let order = stage.shown(&path).await;
        let statuses = order["tracking_statuses"].as_array().expect("statuses");
        let status = statuses.iter().find(|status| status["code"] == code).expect("its status");
        check_pair(&stage, &of_tracking(ear.hear().await), "tracking_status.created", status, &number).await;
        assert_eq!((&status["subject"], &order["tracking_number"]["status_code"]), (&order["id"], &json!(code)));
    }
    stage.finish().await;
}

/// What comes and goes with its order is told of by the order.
#[tokio::test]
async fn the_number_of_an_order_comes_and_goes_without_a_word() {
    let stage = Stage::open().await;
    let mut ear = Ear::at(&stage).await;
    let order = stage.order(json!({})).await;
    assert_eq!(names(&ear.hear().await), ["order.created"]);
    let shown = stage.shown(&format!("/v1/orders/{order}")).await;
    let number = format!("/v1/tracking-numbers/{}", shown["tracking_number"]["id"].as_str().expect("an id"));
    stage.delete(&number).await.check(400);
    ear.hears_nothing().await;
    stage.delete(&format!("/v1/orders/{order}")).await.check(200);
    assert_eq!(names(&ear.hear().await), ["order.deleted"]);
    stage.get(&number).await.check(404);
    stage.finish().await;
}
