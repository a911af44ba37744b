//! One stop after another: each goes its own way, and the last one ends the order.

use serde_json::{Value, json};
use tenon_plugin::test_kit::TestCall;

use super::{Fleet, check_refused};

/// A tour that is under way.
fn started(fleet: &Fleet, besides: Value) -> String {
    let ada = fleet.driver("Ada");
    let mut body = json!({"driver": ada, "dispatch": true});
    body.as_object_mut().unwrap().extend(besides.as_object().unwrap().clone());
    let id = fleet.tour(body);
    fleet.act(&id, "start", json!({}));
    id
}

fn finish_stop(fleet: &Fleet, id: &str) -> Value {
    fleet.act(id, "update-activity", json!({"activity": "enroute"}));
    fleet.act(id, "update-activity", json!({"activity": "completed"}))
}

#[test]
fn a_tour_goes_from_stop_to_stop_and_ends_with_the_last() {
    let fleet = Fleet::new();
    let id = started(&fleet, json!({}));
    let payload = fleet.read(&id)["payload"].clone();
    let stops = [&payload["pickup"], &payload["waypoints"][0], &payload["waypoints"][1], &payload["dropoff"]];
    let before = fleet.event_count();
    for (at, stop) in stops.iter().enumerate() {
        let order = fleet.read(&id);
        assert_eq!((&order["payload"]["current_waypoint"], &order["status"]), (&stop["id"], &json!("started")), "{at}");
        finish_stop(&fleet, &id);
    }
    let done = fleet.read(&id);
    assert_eq!(done["status"], "completed");
    let waypoints = done["payload"]["waypoints"].as_array().unwrap();
    assert!(
        waypoints.iter().all(|stop| stop["complete"] == true && stop["status_code"] == "COMPLETED"),
        "{waypoints:?}"
    );
    let one_stop = ["waypoint.activity", "waypoint.activity", "waypoint.completed"];
    let expected = [one_stop, one_stop, one_stop, one_stop].concat();
    assert_eq!(fleet.events_after(before), [expected, vec!["order.completed"]].concat());
    let activity = fleet.host.events().into_iter().find(|event| event.event_type == "waypoint.activity").unwrap();
    assert_eq!((&activity.payload["order_id"], &activity.payload["activity"]), (&json!(id), &json!("enroute")));
    assert_eq!(activity.payload["place"], payload["pickup"]["id"]);
}

#[test]
fn the_next_destination_can_be_chosen() {
    let fleet = Fleet::new();
    let id = started(&fleet, json!({}));
    let payload = fleet.read(&id)["payload"].clone();
    let second = payload["waypoints"][1].clone();
    for name in ["id", "waypoint_id"] {
        let path = format!("set-destination/{}", second[name].as_str().unwrap());
        assert_eq!(fleet.act(&id, &path, json!({}))["payload"]["current_waypoint"], second["id"]);
    }
    finish_stop(&fleet, &id);
    let sentence = "Place resource is not a valid destination.";
    for place in [second["id"].as_str().unwrap(), "place_0000000000", "nonsense"] {
        let answer = fleet.post(&id, &format!("set-destination/{place}"), json!({}));
        check_refused(&answer, 422, "INVALID_DESTINATION", sentence);
    }
    assert_eq!(fleet.read(&id)["payload"]["current_waypoint"], payload["dropoff"]["id"]);
}

#[test]
fn a_stop_that_fails_is_passed_over_and_says_why() {
    let fleet = Fleet::new();
    let id = started(&fleet, json!({}));
    let fail = json!({"activity": {"code": "failed"}, "reason": "nobody home"});
    fleet.act(&id, "update-activity", fail.clone());
    let order = fleet.act(&id, "update-activity", fail.clone());
    assert_eq!(order["status"], "started");
    let first = &order["payload"]["waypoints"][0];
    assert_eq!((&first["failure"], &first["complete"]), (&json!("nobody home"), &json!(false)));
    assert_eq!(first["status_code"], "FAILED");
    finish_stop(&fleet, &id);
    assert_eq!(fleet.act(&id, "update-activity", fail.clone())["status"], "completed");
    let other = started(&fleet, json!({}));
    for _ in 0..4 {
        fleet.act(&other, "update-activity", fail.clone());
    }
    let failed = fleet.read(&other);
    assert_eq!((&failed["status"], &failed["failure"]), (&json!("failed"), &json!("nobody home")));
}

#[test]
fn what_goes_to_a_stop_is_followed_with_it() {
    let fleet = Fleet::new();
    let entities = json!([{"name": "Piano", "destination": 0}, {"name": "Stool", "destination": 1}]);
    let id = started(&fleet, json!({"entities": entities}));
    finish_stop(&fleet, &id);
    finish_stop(&fleet, &id);
    let order = fleet.read(&id);
    let said = |at: usize| {
        let number = order["payload"]["entities"][at]["tracking_number"].clone();
        let id = number["id"].as_str().or(number.as_str()).unwrap().to_owned();
        fleet.host.record("tracking-numbers", &id).unwrap()["status_code"].clone()
    };
    assert_eq!((said(0), said(1)), (json!("COMPLETED"), json!("CREATED")));
}

/// What the tracking numbers of the stops say, pickup first, and then those of what is carried.
fn statuses(fleet: &Fleet, id: &str) -> Vec<Value> {
    let shown = fleet.read(id)["payload"].clone();
    let payload = fleet.host.record("payloads", shown["id"].as_str().unwrap()).unwrap();
    let ends = &payload["ends"];
    let stops = [&ends["pickup"], &payload["waypoints"][0], &payload["waypoints"][1], &ends["dropoff"]];
    let entities = shown["entities"].as_array().unwrap();
    let said = |number: &Value| {
        let id = number["id"].as_str().or(number.as_str()).unwrap();
        fleet.host.record("tracking-numbers", id).unwrap()["status_code"].clone()
    };
    stops.into_iter().chain(entities).map(|one| said(&one["tracking_number"])).collect()
}

#[test]
fn who_follows_a_stop_hears_of_the_end_of_its_order() {
    let fleet = Fleet::new();
    let entities = json!([{"name": "Piano", "destination": 0}, {"name": "Stool", "destination": 1}, {"name": "Lamp"}]);
    let id = started(&fleet, json!({"entities": entities}));
    finish_stop(&fleet, &id);
    finish_stop(&fleet, &id);
    fleet.act(&id, "cancel", json!({}));
    let (done, gone) = ("COMPLETED", "CANCELED");
    assert_eq!(statuses(&fleet, &id), [done, done, gone, gone, done, gone, gone]);

    let failed = fleet.tour(json!({"entities": entities}));
    fleet.act(&failed, "update-activity", json!({"activity": "failed", "reason": "no van"}));
    assert_eq!(statuses(&fleet, &failed), ["FAILED"; 7]);
}

#[test]
fn a_tour_says_no_to_what_is_too_early() {
    let fleet = Fleet::new();
    let ada = fleet.driver("Ada");
    let id = fleet.tour(json!({"driver": ada, "dispatch": true}));
    let sentence = "Order must be started before waypoint activity can be updated.";
    check_refused(&fleet.take(&id, "enroute"), 422, "ORDER_NOT_STARTED", sentence);
    fleet.act(&id, "start", json!({}));
    let sentence = "Not all waypoints completed for order.";
    check_refused(&fleet.post(&id, "complete", json!({})), 400, "WAYPOINTS_NOT_COMPLETED", sentence);
    let put = |status: &str| fleet.call(TestCall::put(&format!("/v1/orders/{id}")).json(&json!({"status": status})));
    check_refused(&put("completed"), 400, "WAYPOINTS_NOT_COMPLETED", sentence);
    check_refused(&put("enroute"), 400, "ACTIVITY_NOT_NEXT", "Activity enroute does not follow started.");
    check_refused(
        &fleet.take(&id, "completed"),
        400,
        "ACTIVITY_NOT_NEXT",
        "Activity completed does not follow started.",
    );
}

#[test]
fn what_comes_next_is_asked_of_a_stop() {
    let fleet = Fleet::new();
    let id = started(&fleet, json!({}));
    fleet.act(&id, "update-activity", json!({"activity": "enroute"}));
    let payload = fleet.read(&id)["payload"].clone();
    let next = |stop: &Value| {
        let stop = stop.as_str().unwrap();
        let next = fleet.call(TestCall::get(&format!("/v1/orders/{id}/next-activity?waypoint={stop}"))).json();
        next[0]["code"].clone()
    };
    assert_eq!(next(&payload["pickup"]["id"]), "completed");
    assert_eq!(next(&payload["waypoints"][0]["waypoint_id"]), "enroute");
}

/// An older version kept no id of the stop where a tour is, and earlier ones nothing.
#[test]
fn a_tour_of_an_older_version_goes_on_where_it_is() {
    for keeps_place in [true, false] {
        let fleet = Fleet::new();
        let id = started(&fleet, json!({}));
        finish_stop(&fleet, &id);
        let payload = fleet.read(&id)["payload"].clone();
        let own = payload["id"].as_str().unwrap();
        let mut stored = fleet.host.record("payloads", own).unwrap();
        stored.as_object_mut().unwrap().remove("current_stop");
        if !keeps_place {
            stored["current_waypoint"] = Value::Null;
        }
        fleet.host.put_record("payloads", own, &stored);
        let expected = &payload["waypoints"][0];
        assert_eq!(fleet.read(&id)["payload"]["current_waypoint"], expected["id"]);
        assert_eq!(finish_stop(&fleet, &id)["payload"]["current_waypoint"], payload["waypoints"][1]["id"]);
        assert_eq!(fleet.read(&id)["payload"]["waypoints"][0]["complete"], true);
    }
}

#[test]
fn stops_that_could_not_be_found_are_found_when_their_tour_is_changed() {
    let fleet = Fleet::new();
    let id = fleet.tour(json!({}));
    let own = fleet.read(&id)["payload"]["id"].as_str().unwrap().to_owned();
    let mut stored = fleet.host.record("payloads", &own).unwrap();
    // Nothing but its payload knows it.
    let stop = "waypoint_0000000old";
    stored["waypoints"][1]["id"] = json!(stop);
    fleet.host.put_record("payloads", &own, &stored);
    let found = || fleet.call(TestCall::get(&format!("/v1/waypoints/{stop}"))).status;
    assert_eq!(found(), 404);
    let answer = fleet.call(TestCall::put(&format!("/v1/orders/{id}")).json(&json!({"payment_method": "card"})));
    assert_eq!((answer.status, found()), (200, 200));
}
