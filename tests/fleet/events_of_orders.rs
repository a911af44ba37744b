//! What is told of orders and of the stops of their tours.

use serde_json::{Value, json};

use super::{
    events::{Ear, check_told, names, reduced, with},
    stage::Stage,
};
use crate::support::StoredEvent;

/// What an event says of an order that is shown so: the keys of the specification go before those of one name.
fn order_data(shown: &Value) -> Value {
    let mut data = reduced(shown);
    data.as_object_mut().expect("an order").remove("tracking_statuses");
    let number = &shown["tracking_number"]["tracking_number"];
    assert!(number.is_string(), "{shown}");
    with(data, json!({"order_id": shown["id"], "tracking_number": number, "customer_id": shown["customer"]["id"]}))
}

/// One event of the order, as it stands now.
async fn check_order_told(stage: &Stage, path: &str, events: &[StoredEvent], event_type: &str) {
    let [event] = events else { panic!("{:?}, not {event_type} alone", names(events)) };
    let shown = stage.shown(path).await;
    check_told(event, event_type, &shown["id"], &order_data(&shown));
}

#[tokio::test]
async fn a_new_order_is_told_with_the_keys_of_the_specification() {
    let stage = Stage::open().await.covers(&["event order.created"]);
    let mut ear = Ear::at(&stage).await;
    let body = json!({"pickup": "1 Dock St", "dropoff": [1.5, 103.5], "scheduled_at": "2026-05-08",
        "customer": {"name": "Bo", "email": "bo@example.com"}, "meta": {"id": "mine", "seen_at": "yesterday at noon"}});
    let order = stage.post("/v1/orders", body).await.expect(201).json();
    let heard = ear.hear().await;
    check_order_told(&stage, &format!("/v1/orders/{}", heard[0].subject), &heard, "order.created").await;
    let data = &heard[0].body["data"];
    assert_eq!(data["order_id"], order["id"]);
    assert_eq!(data["tracking_number"], order["tracking_number"]["tracking_number"]);
    assert_eq!((&data["customer_id"], &data["customer"]), (&order["customer"]["id"], &order["customer"]["id"]));
    assert_eq!((&data["payload"], &data["driver_assigned"]), (&order["payload"]["id"], &Value::Null));
    assert_eq!(
        (&data["created_at"], &data["scheduled_at"]),
        (&json!("2026-05-07 08:30:00"), &json!("2026-05-08 00:00:00"))
    );
    assert_eq!(data["meta"], json!({"id": "mine", "seen_at": "yesterday at noon"}));
    let plain = stage.order(json!({})).await;
    let heard = ear.hear().await;
    check_order_told(&stage, &format!("/v1/orders/{plain}"), &heard, "order.created").await;
    assert_eq!(heard[0].body["data"].get("customer_id"), Some(&Value::Null));
    stage.finish().await;
}

#[tokio::test]
async fn an_order_is_told_of_from_its_driver_to_its_completion() {
    let stage = Stage::open().await.covers(&[
        "event order.updated",
        "event order.driver_assigned",
        "event driver.assigned",
        "event order.dispatched",
        "event order.started",
        "event order.completed",
    ]);
    let ada = stage.driver("ada").await;
    let path = format!("/v1/orders/{}", stage.order(json!({"customer": {"name": "Bo"}})).await);
    let mut ear = Ear::at(&stage).await;
    stage.put(&path, json!({"driver": ada.id})).await.check(200);
    let heard = ear.hear().await;
    assert_eq!(names(&heard), ["order.driver_assigned", "driver.assigned", "order.ready", "order.updated"]);
    check_order_told(&stage, &path, &heard[..1], "order.driver_assigned").await;
    check_order_told(&stage, &path, &heard[2..3], "order.ready").await;
    check_order_told(&stage, &path, &heard[3..], "order.updated").await;
    let driver = stage.shown(&format!("/v1/drivers/{}", ada.id)).await;
    let keys = json!({"driver_id": ada.id, "order_id": heard[0].subject});
    check_told(&heard[1], "driver.assigned", &json!(ada.id), &with(reduced(&driver), keys));
    assert_eq!(heard[0].body["data"]["driver_assigned"], json!(ada.id));
    for (rest, body, event) in [
        ("/dispatch", json!({}), "order.dispatched"),
        ("/start", json!({}), "order.started"),
        ("/update-activity", json!({"activity": {"code": "enroute"}}), "order.updated"),
        ("/complete", json!({}), "order.completed"),
    ] {
        stage.post(&format!("{path}{rest}"), body).await.check(200);
        check_order_told(&stage, &path, &ear.hear_besides_tracking().await, event).await;
    }
    assert_eq!(stage.shown(&path).await["status"], "completed");
    stage.finish().await;
}

#[tokio::test]
async fn a_change_is_told_once_whatever_it_changes() {
    let stage = Stage::open().await.covers(&["event order.updated"]);
    let path = format!("/v1/orders/{}", stage.order(json!({})).await);
    let mut ear = Ear::at(&stage).await;
    for (method, rest, body) in [
        ("PUT", "", json!({"notes": "ring", "meta": {"k": 1}, "dropoff": "3 Quay"})),
        ("PATCH", "", json!({"internal_id": "A-1"})),
        ("POST", "/schedule", json!({"date": "2026-05-09"})),
    ] {
        stage.call(&stage.key, method, &format!("{path}{rest}"), body).await.check(200);
        check_order_told(&stage, &path, &ear.hear().await, "order.updated").await;
    }
    stage.finish().await;
}

#[tokio::test]
async fn an_order_that_is_made_with_a_driver_and_dispatched_tells_all_of_it() {
    let stage = Stage::open().await;
    let ada = stage.driver("ada").await;
    let mut ear = Ear::at(&stage).await;
    let order = stage.order(json!({"driver": ada.id, "dispatch": true})).await;
    let heard = ear.hear_besides_tracking().await;
    assert_eq!(names(&heard), ["order.created", "order.driver_assigned", "driver.assigned", "order.dispatched"]);
    let subjects: Vec<&str> = heard.iter().map(|event| event.subject.as_str()).collect();
    assert_eq!(subjects, [&order, &order, &ada.id, &order]);
    let shown = stage.shown(&format!("/v1/orders/{order}")).await;
    for event in [&heard[0], &heard[1], &heard[3]] {
        assert_eq!(event.body["data"], order_data(&shown), "{}", event.event_type);
    }
    stage.finish().await;
}

#[tokio::test]
async fn how_else_an_order_ends_is_told_with_the_reason() {
    let stage = Stage::open().await.covers(&["event order.canceled", "event order.failed", "event order.deleted"]);
    let ada = stage.driver("ada").await;
    let mut ear = Ear::at(&stage).await;
    let canceled = format!("/v1/orders/{}", stage.order(json!({})).await);
    ear.hear().await;
    stage.delete(&format!("{canceled}/cancel")).await.check(200);
    check_order_told(&stage, &canceled, &ear.hear_besides_tracking().await, "order.canceled").await;

    let failed = format!("/v1/orders/{}", stage.order(json!({"driver": ada.id, "dispatch": true})).await);
    ear.hear().await;
    let reason = json!({"activity": {"code": "failed"}, "reason": "nobody there"});
    stage.post(&format!("{failed}/update-activity"), reason).await.check(200);
    let heard = ear.hear_besides_tracking().await;
    check_order_told(&stage, &failed, &heard, "order.failed").await;
    assert_eq!(heard[0].body["data"]["failure"], "nobody there");

    let last = stage.shown(&failed).await;
    stage.delete(&failed).await.check(200);
    let heard = ear.hear().await;
    assert_eq!(names(&heard), ["order.deleted"]);
    check_told(&heard[0], "order.deleted", &last["id"], &order_data(&last));
    stage.delete(&failed).await.check(404);
    ear.hears_nothing().await;
    stage.finish().await;
}

/// Somebody who is online at this latitude, on the meridian of the pickup.
async fn online_at(stage: &Stage, name: &str, latitude: f64) -> String {
    let driver = stage.driver(name).await.id;
    let fix = json!({"latitude": latitude, "longitude": 103.5});
    stage.post(&format!("/v1/drivers/{driver}/track"), fix).await.check(200);
    stage.post(&format!("/v1/drivers/{driver}/toggle-online"), json!({"online": true})).await.check(200);
    driver
}

#[tokio::test]
async fn an_order_that_is_offered_is_told_to_those_who_are_near() {
    let stage = Stage::open().await.covers(&["event order.ping"]);
    // The nearest last, so that their order is no accident.
    let near = online_at(&stage, "bob", 1.51).await;
    let far = online_at(&stage, "cyd", 2.5).await;
    let nearest = online_at(&stage, "ada", 1.5).await;
    let offline = stage.driver("dan").await.id;
    stage.post(&format!("/v1/drivers/{offline}/track"), json!({"latitude": 1.5, "longitude": 103.5})).await.check(200);
    let mut ear = Ear::at(&stage).await;
    let body = json!({"pickup": [1.5, 103.5], "dropoff": "2 Mill Rd", "adhoc": true, "dispatch": true});
    let path = format!("/v1/orders/{}", stage.make("/v1/orders", body).await);
    let heard = ear.hear_besides_tracking().await;
    assert_eq!(names(&heard), ["order.created", "order.dispatched", "order.ping", "order.ping"]);
    let told = order_data(&stage.shown(&path).await);
    for (event, driver, metres) in [(&heard[2], &nearest, 0), (&heard[3], &near, 1112)] {
        let expected = with(told.clone(), json!({"driver_id": driver, "distance_m": metres}));
        check_told(event, "order.ping", &json!(driver), &expected);
    }
    assert!(!heard.iter().any(|event| event.subject == far || event.subject == offline));
    stage.post(&format!("{path}/start"), json!({"assign": near})).await.check(200);
    let heard = ear.hear_besides_tracking().await;
    assert_eq!(names(&heard), ["order.driver_assigned", "driver.assigned", "order.started"]);
    assert_eq!((&heard[1].subject, &heard[0].body["data"]["driver_assigned"]), (&near, &json!(near)));
    stage.finish().await;
}

#[tokio::test]
async fn that_an_order_can_be_dispatched_is_told_and_that_nobody_hears_of_it() {
    let stage = Stage::open().await.covers(&["event order.ready", "event order.dispatch_failed"]);
    let mut ear = Ear::at(&stage).await;
    let path = format!("/v1/orders/{}", stage.order(json!({"adhoc": true})).await);
    let heard = ear.hear().await;
    assert_eq!(names(&heard), ["order.created", "order.ready"]);
    check_order_told(&stage, &path, &heard[1..], "order.ready").await;
    stage.post(&format!("{path}/dispatch"), json!({})).await.check(200);
    let heard = ear.hear_besides_tracking().await;
    assert_eq!(names(&heard), ["order.dispatched", "order.dispatch_failed"]);
    let shown = stage.shown(&path).await;
    let told = with(order_data(&shown), json!({"reason": "It is not known where the pickup is."}));
    check_told(&heard[1], "order.dispatch_failed", &shown["id"], &told);
    assert_eq!(shown["status"], "dispatched", "it stays offered");
    stage.finish().await;
}

#[tokio::test]
async fn what_an_order_carries_is_told_of_with_each_step() {
    let stage = Stage::open().await.covers(&[
        "event entity.driver_assigned",
        "event entity.activity",
        "event entity.completed",
    ]);
    let ada = stage.driver("ada").await;
    let order = stage.order(json!({"entities": [{"name": "Crate", "price": "4.50"}]})).await;
    let path = format!("/v1/orders/{order}");
    let entity = stage.shown(&path).await["payload"]["entities"][0]["id"].clone();
    let own = format!("/v1/entities/{}", entity.as_str().expect("an id"));
    let mut ear = Ear::at(&stage).await;
    stage.put(&path, json!({"driver": ada.id})).await.check(200);
    let mut heard = ear.hear().await;
    heard.retain(|event| event.event_type.starts_with("entity."));
    assert_eq!(names(&heard), ["entity.driver_assigned"]);
    let keys = json!({"order_id": order, "driver_id": ada.id});
    let told = with(briefly(&stage.shown(&own).await), keys);
    check_told(&heard[0], "entity.driver_assigned", &entity, &told);
    for (rest, code, title, besides) in [
        ("/dispatch", "dispatched", "Order Dispatched", vec!["order.dispatched"]),
        ("/start", "started", "Order Started", vec!["order.started"]),
        ("/update-activity", "enroute", "Driver Enroute", vec!["order.updated"]),
        ("/complete", "completed", "Order Completed", vec!["entity.completed", "order.completed"]),
    ] {
        let body = if rest == "/update-activity" { json!({"activity": {"code": code}}) } else { json!({}) };
        stage.post(&format!("{path}{rest}"), body).await.check(200);
        let heard = ear.hear_besides_tracking().await;
        assert_eq!(names(&heard), [vec!["entity.activity"], besides].concat());
        let keys = json!({"order_id": order, "activity": code, "status": title, "status_code": code.to_uppercase(),
            "complete": code == "completed"});
        let told = with(briefly(&stage.shown(&own).await), keys);
        for event in heard.iter().filter(|event| event.event_type.starts_with("entity.")) {
            check_told(event, &event.event_type, &entity, &told);
        }
    }
    stage.finish().await;
}

/// Of an entity that gets on with its order: without what may be long.
fn briefly(shown: &Value) -> Value {
    let mut told = reduced(shown);
    told.as_object_mut()
        .expect("a resource")
        .retain(|name, _| !["description", "photo", "meta"].contains(&name.as_str()));
    told
}

/// What is told of a stop of the order, at its activity of this code.
async fn stop_data(stage: &Stage, order: &Value, nth: usize, code: &str, status: &str) -> Value {
    let stop = &order["payload"]["waypoints"][nth];
    let number = stop["tracking"].as_str().expect("a number");
    let number = stage.shown(&format!("/v1/tracking-numbers/{number}")).await;
    json!({
        "id": stop["waypoint_id"], "order_id": order["id"], "payload": order["payload"]["id"], "place": stop["id"],
        "activity": code, "status": status, "status_code": code.to_uppercase(), "failure": null, "customer": null,
        "tracking_number": number["id"], "complete": code == "completed",
    })
}

#[tokio::test]
async fn each_stop_of_a_tour_is_told_of_and_the_last_one_ends_the_order() {
    let stage = Stage::open().await.covers(&["event waypoint.activity", "event waypoint.completed"]);
    let ada = stage.driver("ada").await;
    let body = json!({"waypoints": ["1 Dock St", "2 Mill Rd", "3 Quay"], "driver": ada.id, "dispatch": true});
    let order = stage.post("/v1/orders", body).await.expect(201).json();
    let path = format!("/v1/orders/{}", order["id"].as_str().expect("an id"));
    let act = async |activity: Value| stage.post(&format!("{path}/update-activity"), activity).await.check(200);
    stage.post(&format!("{path}/start"), json!({})).await.check(200);
    let mut ear = Ear::at(&stage).await;
    for nth in [0, 1] {
        let stop = &order["payload"]["waypoints"][nth]["waypoint_id"];
        act(json!({"activity": {"code": "enroute"}})).await;
        let enroute = stop_data(&stage, &order, nth, "enroute", "Driver Enroute").await;
        let heard = ear.hear_besides_tracking().await;
        assert_eq!(names(&heard), ["waypoint.activity"]);
        check_told(&heard[0], "waypoint.activity", stop, &enroute);
        act(json!({"activity": {"code": "completed"}})).await;
        let completed = stop_data(&stage, &order, nth, "completed", "Order Completed").await;
        let heard = ear.hear_besides_tracking().await;
        assert_eq!(names(&heard), ["waypoint.activity", "waypoint.completed"]);
        check_told(&heard[0], "waypoint.activity", stop, &completed);
        check_told(&heard[1], "waypoint.completed", stop, &completed);
    }
    act(json!({"activity": {"code": "failed"}, "reason": "nobody there"})).await;
    let heard = ear.hear_besides_tracking().await;
    assert_eq!(names(&heard), ["waypoint.activity", "order.completed"], "a stop that failed is not completed");
    let failed = stop_data(&stage, &order, 2, "failed", "Failed").await;
    let stop = &order["payload"]["waypoints"][2]["waypoint_id"];
    check_told(&heard[0], "waypoint.activity", stop, &with(failed, json!({"failure": "nobody there"})));
    check_order_told(&stage, &path, &heard[1..], "order.completed").await;
    stage.finish().await;
}
