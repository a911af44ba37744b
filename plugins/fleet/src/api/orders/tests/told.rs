//! What is told of an order besides its states: that it can be dispatched, that nobody hears of it, and what becomes of the
//! things that it carries.

use serde_json::{Value, json};
use tenon_plugin::test_kit::TestCall;

use super::{Fleet, check_refused, here, id_of, simple};

fn put(fleet: &Fleet, id: &str, body: Value) {
    let answer = fleet.call(TestCall::put(&format!("/v1/orders/{id}")).json(&body));
    assert_eq!(answer.status, 200, "{}", answer.body);
}

/// Names and subjects of what is told of things since so many events.
fn told_of_things(fleet: &Fleet, since: usize) -> Vec<(String, String)> {
    let told = fleet.host.events().into_iter().skip(since).map(|event| (event.event_type, event.subject));
    told.filter(|(name, _)| name.starts_with("entity.")).collect()
}

#[test]
fn an_order_that_has_a_driver_is_ready_once() {
    let fleet = Fleet::new();
    let (ada, bob) = (fleet.driver("Ada"), fleet.driver("Bob"));
    let id = fleet.order(json!({}));
    let mut since = fleet.event_count();
    let mut told = || {
        let told = fleet.events_after(since);
        since = fleet.event_count();
        told
    };
    put(&fleet, &id, json!({"driver": ada}));
    assert_eq!(told(), ["order.driver_assigned", "order.ready", "order.updated"]);
    put(&fleet, &id, json!({"driver": bob}));
    assert_eq!(told(), ["order.driver_assigned", "order.updated"], "it was ready before");
    put(&fleet, &id, json!({"driver": null}));
    assert_eq!(told(), ["order.updated"]);
    put(&fleet, &id, json!({"adhoc": true}));
    assert_eq!(told(), ["order.ready", "order.updated"]);
    fleet.act(&id, "dispatch", json!({}));
    assert_eq!(told(), ["order.dispatched", "order.dispatch_failed"]);
}

#[test]
fn a_new_order_is_ready_unless_it_is_dispatched_with_it() {
    let fleet = Fleet::new();
    let ada = fleet.driver("Ada");
    let table = [
        (json!({}), vec!["order.created"]),
        (json!({"adhoc": true}), vec!["order.created", "order.ready"]),
        (json!({"driver": ada}), vec!["order.created", "order.driver_assigned", "order.ready"]),
        (json!({"driver": ada, "dispatch": true}), vec!["order.created", "order.driver_assigned", "order.dispatched"]),
    ];
    for (besides, expected) in table {
        let since = fleet.event_count();
        fleet.order(besides.clone());
        assert_eq!(fleet.events_after(since), expected, "{besides}");
    }
}

#[test]
fn an_order_is_ready_where_its_configuration_says_so() {
    let fleet = Fleet::new();
    let mut flow = fleet.call(TestCall::get("/v1/order-configs/transport")).json()["flow"].clone();
    flow["created"]["activities"] = json!(["paid"]);
    flow["paid"] = json!({"code": "paid", "status": "Paid", "activities": ["dispatched"]});
    let body = json!({"name": "Prepaid", "key": "prepaid", "flow": flow});
    let answer = fleet.call(TestCall::post("/v1/order-configs").json(&body));
    assert_eq!(answer.status, 201, "{}", answer.body);
    let since = fleet.event_count();
    let id = fleet.order(json!({"type": "prepaid", "driver": fleet.driver("Ada")}));
    assert_eq!(fleet.events_after(since), ["order.created", "order.driver_assigned"]);
    let since = fleet.event_count();
    fleet.act(&id, "update-activity", json!({"activity": "paid"}));
    assert_eq!(fleet.events_after(since), ["order.ready", "order.updated"]);
}

#[test]
fn an_offer_that_nobody_hears_is_told_and_stays() {
    let fleet = Fleet::new();
    let nowhere = json!({"pickup": "somewhere", "dropoff": here(), "adhoc": true, "dispatch": true});
    let table = [
        (simple(json!({"adhoc": true, "dispatch": true})), "No driver is online near the pickup."),
        (nowhere, "It is not known where the pickup is."),
    ];
    for (body, reason) in table {
        let order = fleet.create(&body);
        let told = fleet.host.events().pop().unwrap();
        assert_eq!((told.event_type.as_str(), &json!(told.subject)), ("order.dispatch_failed", &order["id"]));
        assert_eq!((&told.payload["reason"], &told.payload["order_id"]), (&json!(reason), &order["id"]));
        assert_eq!((&order["status"], &order["adhoc"]), (&json!("dispatched"), &json!(true)));
        let ada = fleet.driver("Ada");
        assert_eq!(fleet.act(&id_of(&order), "start", json!({"assign": ada}))["status"], "started");
    }
}

#[test]
fn a_dispatch_that_is_refused_is_answered_and_not_told() {
    let fleet = Fleet::new();
    let id = fleet.order(json!({}));
    let since = fleet.event_count();
    let refused = fleet.post(&id, "dispatch", json!({}));
    check_refused(&refused, 400, "DRIVER_REQUIRED", "No driver assigned to dispatch!");
    assert_eq!(fleet.event_count(), since);
}

#[test]
fn of_a_town_of_drivers_the_nearest_fifty_hear() {
    let fleet = Fleet::new();
    for nth in 0..300 {
        let (latitude, online) = (1.30 + f64::from(nth) / 1e4, nth % 2 == 0);
        let driver = json!({"latitude": latitude, "longitude": 103.80, "online": online, "status": "available"});
        fleet.host.put_record("drivers", &format!("driver_{nth:010}"), &driver);
    }
    let since = fleet.event_count();
    fleet.order(json!({"adhoc": true, "dispatch": true}));
    let told: Vec<String> = fleet.host.events().into_iter().skip(since).map(|event| event.subject).collect();
    let pinged: Vec<String> = told.into_iter().filter(|subject| subject.starts_with("driver_")).collect();
    let expected: Vec<String> = (0..50).map(|nth| format!("driver_{:010}", nth * 2)).collect();
    assert_eq!(pinged, expected);
}

#[test]
fn what_is_carried_gets_on_with_its_order() {
    let fleet = Fleet::new();
    let ada = fleet.driver("Ada");
    let order = fleet.create(&simple(json!({"entities": [{"name": "Piano"}]})));
    let (id, piano) = (id_of(&order), id_of(&order["payload"]["entities"][0]));
    assert_eq!(told_of_things(&fleet, 0), [], "it came with the order");
    let mut since = fleet.event_count();
    let mut told = || {
        let told: Vec<String> = told_of_things(&fleet, since)
            .into_iter()
            .map(|(name, subject)| {
                assert_eq!(subject, piano);
                name
            })
            .collect();
        since = fleet.event_count();
        told
    };
    put(&fleet, &id, json!({"driver": ada}));
    assert_eq!(told(), ["entity.driver_assigned"]);
    let assigned = fleet.host.events().into_iter().find(|event| event.event_type == "entity.driver_assigned").unwrap();
    let keys = (&assigned.payload["driver_id"], &assigned.payload["order_id"], &assigned.payload["name"]);
    assert_eq!(keys, (&json!(ada), &json!(id), &json!("Piano")));
    for action in ["dispatch", "start"] {
        fleet.act(&id, action, json!({}));
        assert_eq!(told(), ["entity.activity"], "{action}");
    }
    fleet.act(&id, "update-activity", json!({"activity": "enroute"}));
    assert_eq!(told(), ["entity.activity"]);
    fleet.act(&id, "complete", json!({}));
    assert_eq!(told(), ["entity.activity", "entity.completed"]);
    let done = fleet.host.events().into_iter().find(|event| event.event_type == "entity.completed").unwrap().payload;
    let said = (&done["activity"], &done["status"], &done["status_code"], &done["complete"]);
    assert_eq!(said, (&json!("completed"), &json!("Order Completed"), &json!("COMPLETED"), &json!(true)));
    assert!(done["tracking_number"].as_str().unwrap().starts_with("track_"), "{done}");
}

#[test]
fn what_is_long_of_a_thing_is_not_told_with_its_order() {
    let fleet = Fleet::new();
    let long = "x".repeat(60_000);
    let piano = json!({"name": "Piano", "description": "d", "photo": "https://x.org/p.png", "meta": {"k": long}});
    let id = fleet.order(json!({"driver": fleet.driver("Ada"), "entities": [piano]}));
    fleet.act(&id, "dispatch", json!({}));
    fleet.act(&id, "start", json!({}));
    fleet.act(&id, "update-activity", json!({"activity": "enroute"}));
    fleet.act(&id, "complete", json!({}));
    let told: Vec<Value> = fleet
        .host
        .events()
        .into_iter()
        .filter(|event| event.event_type.starts_with("entity."))
        .map(|event| event.payload)
        .collect();
    assert_eq!(told.len(), 6, "a driver, four activities, an end");
    for data in told {
        assert_eq!(data["name"], "Piano");
        for name in ["description", "photo", "meta"] {
            assert!(data.get(name).is_none(), "{name}: {data}");
        }
    }
}

#[test]
fn what_goes_to_a_stop_is_told_of_with_it() {
    let fleet = Fleet::new();
    let entities = json!([{"name": "Piano", "destination": 0}, {"name": "Stool", "destination": 1}]);
    let id = fleet.tour(json!({"driver": fleet.driver("Ada"), "dispatch": true, "entities": entities}));
    let carried = fleet.read(&id)["payload"]["entities"].clone();
    let (piano, stool) = (id_of(&carried[0]), id_of(&carried[1]));
    let since = fleet.event_count();
    fleet.act(&id, "start", json!({}));
    let act = |body: Value| fleet.act(&id, "update-activity", body);
    for activity in ["enroute", "completed", "enroute", "completed"] {
        act(json!({"activity": activity}));
    }
    let of_piano =
        ["entity.activity", "entity.activity", "entity.completed"].map(|name| (name.to_owned(), piano.clone()));
    assert_eq!(told_of_things(&fleet, since), of_piano, "the pickup is nobody's destination");
    let since = fleet.event_count();
    act(json!({"activity": {"code": "failed"}, "reason": "nobody home"}));
    assert_eq!(told_of_things(&fleet, since), [("entity.activity".to_owned(), stool)]);
    let since = fleet.event_count();
    fleet.act(&id, "cancel", json!({}));
    assert_eq!(told_of_things(&fleet, since), [], "both have heard their last");
}
