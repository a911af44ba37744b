//! What is told of the resources around orders: places, contacts, vehicles, entities, payloads, order configurations.

use serde_json::{Value, json};

use super::{
    events::{Ear, check_told, names, reduced, with},
    stage::Stage,
};
use crate::support::StoredEvent;

/// By POST to the path, PUT, PATCH and DELETE: each is told once, with the resource as it then is.
async fn is_told_from_creation_to_deletion(stage: &Stage, name: &str, path: &str, body: Value, changes: [Value; 2]) {
    let mut ear = Ear::at(stage).await;
    let made = stage.post(path, body).await.expect(201).json();
    let (id, own) = (&made["id"], format!("{path}/{}", made["id"].as_str().expect("an id")));
    check_alone(&ear.hear().await, &format!("{name}.created"), id, &made);
    for (method, change) in ["PUT", "PATCH"].into_iter().zip(changes) {
        let before = stage.shown(&own).await;
        let changed = stage.call(&stage.key, method, &own, change).await.expect(200).json();
        assert_ne!(changed, before, "{method} {own}");
        check_alone(&ear.hear().await, &format!("{name}.updated"), id, &changed);
    }
    let last = stage.shown(&own).await;
    stage.delete(&own).await.check(200);
    check_alone(&ear.hear().await, &format!("{name}.deleted"), id, &last);
    stage.delete(&own).await.check(404);
    ear.hears_nothing().await;
}

#[track_caller]
fn check_alone(heard: &[StoredEvent], event_type: &str, subject: &Value, shown: &Value) {
    assert_eq!(names(heard), [event_type]);
    check_told(&heard[0], event_type, subject, &reduced(shown));
}

#[tokio::test]
async fn places_are_told_of() {
    let stage = Stage::open().await.covers(&["event place.*"]);
    let body = json!({"name": "Depot", "street1": "3 Quay", "location": [1.5, 103.5], "meta": {"dock": {"id": "7"}}});
    let changes = [json!({"name": "Old Depot"}), json!({"location": [1.6, 103.6]})];
    is_told_from_creation_to_deletion(&stage, "place", "/v1/places", body, changes).await;
    stage.finish().await;
}

#[tokio::test]
async fn contacts_are_told_of() {
    let stage = Stage::open().await.covers(&["event contact.*"]);
    let body = json!({"name": "Bo", "type": "customer", "email": "bo@example.com"});
    let changes = [json!({"name": "Bodil"}), json!({"title": "Dr"})];
    is_told_from_creation_to_deletion(&stage, "contact", "/v1/contacts", body, changes).await;
    stage.finish().await;
}

/// A customer is a contact under another id.
#[tokio::test]
async fn customers_are_told_of_as_the_contacts_that_they_are() {
    let stage = Stage::open().await.covers(&["event contact.*"]);
    let mut ear = Ear::at(&stage).await;
    let made = stage.post("/v1/customers", json!({"name": "Bo", "email": "bo@example.com"})).await.expect(201);
    let contact = format!("/v1/contacts/{}", made.text_at("/contact_id"));
    let customer = format!("/v1/customers/{}", made.text_at("/id"));
    let shown = stage.shown(&contact).await;
    check_alone(&ear.hear().await, "contact.created", &shown["id"], &shown);
    stage.put(&customer, json!({"name": "Bodil"})).await.check(200);
    let shown = stage.shown(&contact).await;
    check_alone(&ear.hear().await, "contact.updated", &shown["id"], &shown);
    stage.delete(&customer).await.check(200);
    check_alone(&ear.hear().await, "contact.deleted", &shown["id"], &shown);
    stage.finish().await;
}

#[tokio::test]
async fn vehicles_are_told_of() {
    let stage =
        Stage::open().await.covers(&["event vehicle.created", "event vehicle.updated", "event vehicle.deleted"]);
    let body = json!({"make": "Volvo", "model": "FH", "plate_number": "SG 2"});
    let changes = [json!({"make": "Scania"}), json!({"year": 2024})];
    is_told_from_creation_to_deletion(&stage, "vehicle", "/v1/vehicles", body, changes).await;
    stage.finish().await;
}

/// With the keys that tell where a driver is.
#[tokio::test]
async fn where_a_vehicle_is_is_told_once_for_each_fix() {
    let stage = Stage::open().await.covers(&["event vehicle.location_changed"]);
    let vehicle = stage.make("/v1/vehicles", json!({"make": "Volvo"})).await;
    let mut ear = Ear::at(&stage).await;
    for (method, fix) in [
        ("POST", json!({"latitude": 1.5, "longitude": 103.5, "heading": 90, "speed": 8.5, "altitude": 15})),
        ("PUT", json!({"latitude": 1.6, "longitude": 103.6, "heading": null, "speed": null, "altitude": null})),
        ("PATCH", json!({"latitude": 1.6, "longitude": 103.6, "heading": 0, "speed": 0, "altitude": -1.5})),
    ] {
        let path = format!("/v1/vehicles/{vehicle}/track");
        let moved = stage.call(&stage.key, method, &path, fix.clone()).await.expect(200).json();
        let heard = ear.hear().await;
        assert_eq!(names(&heard), ["vehicle.location_changed"], "{method}");
        let known = json!({"vehicle_id": vehicle, "id": vehicle, "internal_id": null, "name": null, "plate_number": null,
            "driver": null, "location": moved["location"]});
        let expected = with(fix, known);
        check_told(&heard[0], "vehicle.location_changed", &json!(vehicle), &expected);
    }
    let off_the_earth = json!({"latitude": 91, "longitude": 0});
    stage.post(&format!("/v1/vehicles/{vehicle}/track"), off_the_earth).await.check(422);
    ear.hears_nothing().await;
    stage.finish().await;
}

#[tokio::test]
async fn a_vehicle_that_is_given_to_a_driver_is_told_of_both() {
    let stage = Stage::open().await.covers(&["event driver.assigned", "event driver.updated"]);
    let (ada, bob) = (stage.driver("ada").await, stage.driver("bob").await);
    let mut ear = Ear::at(&stage).await;
    let vehicle = stage.make("/v1/vehicles", json!({"make": "Volvo", "driver": ada.id})).await;
    assert_eq!(
        subjects(&ear.hear().await),
        [("vehicle.created", vehicle.as_str()), ("driver.updated", &ada.id), ("driver.assigned", &ada.id)]
    );
    assert_eq!(stage.shown(&format!("/v1/drivers/{}", ada.id)).await["vehicle"]["id"], json!(vehicle));
    let path = format!("/v1/vehicles/{vehicle}");
    stage.put(&path, json!({"driver": bob.id})).await.check(200);
    assert_eq!(
        subjects(&ear.hear().await),
        [
            ("vehicle.updated", vehicle.as_str()),
            ("driver.updated", &ada.id),
            ("driver.updated", &bob.id),
            ("driver.assigned", &bob.id)
        ]
    );
    assert_eq!(stage.shown(&format!("/v1/drivers/{}", ada.id)).await["vehicle"], Value::Null);
    stage.delete(&path).await.check(200);
    assert_eq!(subjects(&ear.hear().await), [("driver.updated", bob.id.as_str()), ("vehicle.deleted", &vehicle)]);
    assert_eq!(stage.shown(&format!("/v1/drivers/{}", bob.id)).await["vehicle"], Value::Null);
    stage.finish().await;
}

/// What was told, and of whom.
fn subjects(heard: &[StoredEvent]) -> Vec<(&str, &str)> {
    heard.iter().map(|event| (event.event_type.as_str(), event.subject.as_str())).collect()
}

#[tokio::test]
async fn a_fix_of_a_vehicle_that_comes_late_moves_nothing_and_is_not_told() {
    let stage = Stage::open().await;
    let vehicle = stage.make("/v1/vehicles", json!({"make": "Volvo"})).await;
    let track = format!("/v1/vehicles/{vehicle}/track");
    let fix = |latitude: f64, at: &str| json!({"latitude": latitude, "longitude": 103.5, "recorded_at": at});
    stage.post(&track, fix(1.5, "2026-05-07T08:29:30Z")).await.check(200);
    let mut ear = Ear::at(&stage).await;
    let late = stage.post(&track, fix(1.7, "2026-05-07T08:29:00Z")).await.expect(200).json();
    assert_eq!(late["location"]["coordinates"], json!([103.5, 1.5]));
    ear.hears_nothing().await;
    stage.post(&track, fix(1.8, "2026-05-07T08:29:59Z")).await.check(200);
    assert_eq!(names(&ear.hear().await), ["vehicle.location_changed"]);
    stage.finish().await;
}

#[tokio::test]
async fn entities_are_told_of() {
    let stage = Stage::open().await.covers(&["event entity.created", "event entity.updated", "event entity.deleted"]);
    let payload = stage.shown(&format!("/v1/orders/{}", stage.order(json!({})).await)).await["payload"]["id"].clone();
    let body = json!({"name": "Crate", "type": "parcel", "price": "4.50", "currency": "SGD", "payload": payload});
    let changes = [json!({"name": "Box"}), json!({"weight": 3})];
    is_told_from_creation_to_deletion(&stage, "entity", "/v1/entities", body, changes).await;
    stage.finish().await;
}

/// What comes and goes with a payload is told with it.
#[tokio::test]
async fn payloads_are_told_of_with_ids_of_what_they_carry() {
    let stage = Stage::open().await.covers(&["event payload.*"]);
    let body = json!({"type": "transport", "pickup": "1 Dock St", "waypoints": ["2 Mill Rd", "3 Quay"],
        "entities": [{"name": "Crate", "type": "parcel"}, {"name": "Box", "type": "parcel"}]});
    let mut ear = Ear::at(&stage).await;
    let made = stage.post("/v1/payloads", body.clone()).await.expect(201).json();
    let heard = ear.hear().await;
    check_alone(&heard, "payload.created", &made["id"], &made);
    let data = &heard[0].body["data"];
    assert_eq!(data["pickup"], made["pickup"]["id"]);
    assert_eq!(data["waypoints"], json!([made["waypoints"][0]["id"], made["waypoints"][1]["id"]]));
    assert_eq!(data["entities"], json!([made["entities"][0]["id"], made["entities"][1]["id"]]));
    let changes = [json!({"payment_method": "card"}), json!({"meta": {"k": 1}})];
    is_told_from_creation_to_deletion(&stage, "payload", "/v1/payloads", body, changes).await;
    stage.finish().await;
}

#[tokio::test]
async fn a_payload_of_an_order_that_is_changed_is_told_of_both() {
    let stage = Stage::open().await;
    let order = stage.order(json!({})).await;
    let shown = stage.shown(&format!("/v1/orders/{order}")).await;
    let payload = shown["payload"]["id"].as_str().expect("an id");
    let mut ear = Ear::at(&stage).await;
    let changed = stage.put(&format!("/v1/payloads/{payload}"), json!({"dropoff": "3 Quay"})).await.expect(200).json();
    let heard = ear.hear().await;
    assert_eq!(names(&heard), ["order.updated", "payload.updated"]);
    assert_eq!(heard[0].subject, order);
    check_told(&heard[1], "payload.updated", &json!(payload), &reduced(&changed));
    stage.delete(&format!("/v1/payloads/{payload}")).await.check(400);
    ear.hears_nothing().await;
    stage.finish().await;
}

#[tokio::test]
async fn what_is_changed_with_its_order_is_told_of_by_itself() {
    let stage = Stage::open().await;
    let order = stage.order(json!({"entities": [{"name": "Crate"}, {"name": "Box"}]})).await;
    let path = format!("/v1/orders/{order}");
    let carried = stage.shown(&path).await["payload"]["entities"].clone();
    let mut ear = Ear::at(&stage).await;
    let list = json!([{"id": carried[0]["id"], "name": "Chest"}, carried[1]]);
    let changed = stage.put(&path, json!({"entities": list})).await.expect(200).json();
    let heard = ear.hear().await;
    assert_eq!(names(&heard), ["entity.updated"], "nothing else of the order has changed");
    let shown = &changed["payload"]["entities"];
    assert_eq!((&shown[0]["name"], &shown[1]), (&json!("Chest"), &carried[1]));
    let mut told = reduced(&shown[0]);
    told.as_object_mut()
        .expect("an object")
        .retain(|name, _| !["description", "photo", "meta"].contains(&name.as_str()));
    check_told(&heard[0], "entity.updated", &carried[0]["id"], &told);
    stage.finish().await;
}

#[tokio::test]
async fn order_configurations_are_told_of_with_their_flow() {
    let stage = Stage::open().await.covers(&["event order_config.*"]);
    let activity = |code: &str, next: &[&str]| json!({"key": code, "code": code, "status": code, "details": code, "activities": next, "complete": next.is_empty()});
    let flow = json!([
        activity("created", &["dispatched"]),
        activity("dispatched", &["started"]),
        activity("started", &["completed"]),
        activity("completed", &[]),
    ]);
    let body = json!({"key": "fast", "name": "Fast", "flow": flow});
    let mut ear = Ear::at(&stage).await;
    let made = stage.post("/v1/order-configs", with(body.clone(), json!({"key": "slow"}))).await.expect(201).json();
    let heard = ear.hear().await;
    check_alone(&heard, "order_config.created", &made["id"], &made);
    assert_eq!(heard[0].body["data"]["flow"], made["flow"], "activities are told whole");
    let changes = [json!({"name": "Faster"}), json!({"description": "The shortest way"})];
    is_told_from_creation_to_deletion(&stage, "order_config", "/v1/order-configs", body, changes).await;
    stage.finish().await;
}
