//! Every edge that the rules' table lists can be taken over the interface, in every way that it names, and no other.

use serde_json::{Value, json};
use tenon_plugin::test_kit::{TestAnswer, TestCall};

use super::{Fleet, by, check_refused, id_of, simple};
use crate::rules::flow::{CANCELED, FAILED, transport};
use crate::rules::progress::{Way, edges};

/// An order that has come as far as this state.
fn order_at(fleet: &Fleet, state: &str) -> String {
    let way = ["dispatched", "started", "enroute", "completed"];
    let driver = fleet.driver("Ada");
    let id = id_of(&fleet.create(&simple(json!({"driver": driver}))));
    if state == CANCELED || state == FAILED {
        go(fleet, &id, Way::UpdateActivity, state);
        return id;
    }
    let steps = way.iter().position(|step| *step == state).map_or(0, |at| at + 1);
    for step in way.into_iter().take(steps) {
        assert_eq!(go(fleet, &id, Way::UpdateActivity, step).status, 200);
    }
    id
}

fn go(fleet: &Fleet, id: &str, way: Way, to: &str) -> TestAnswer {
    match way {
        Way::Create => unreachable!("nothing is created twice"),
        Way::Dispatch => fleet.post(id, "dispatch", json!({})),
        Way::Start => fleet.post(id, "start", json!({})),
        Way::UpdateActivity => {
            fleet.post(id, "update-activity", json!({"activity": {"code": to}, "reason": "nobody home"}))
        }
        Way::ChangeStatus => fleet.call(TestCall::put(&format!("/v1/orders/{id}")).json(&json!({"status": to}))),
        Way::Complete => fleet.post(id, "complete", json!({})),
        Way::Cancel => fleet.post(id, "cancel", json!({})),
    }
}

/// Where this way leads, whatever the caller names.
fn leads_to(way: Way, to: &str) -> bool {
    match way {
        Way::Create => false,
        Way::Dispatch => to == "dispatched",
        Way::Start => to == "started",
        Way::Complete => to == "completed",
        Way::Cancel => to == CANCELED,
        Way::UpdateActivity | Way::ChangeStatus => true,
    }
}

#[test]
fn every_edge_of_the_table_is_taken_and_no_other() {
    let table = edges(&transport());
    let states = ["created", "dispatched", "started", "enroute", "completed", CANCELED, FAILED];
    for from in states {
        for to in states {
            for way in Way::ALL.into_iter().filter(|way| leads_to(*way, to)) {
                let fleet = Fleet::new();
                let id = order_at(&fleet, from);
                let before = fleet.read(&id);
                let events = fleet.event_count();
                let answer = go(&fleet, &id, way, to);
                // `skip_dispatch` is another edge, tried by itself.
                let is_edge = table.iter().any(|edge| {
                    edge.from.as_deref() == Some(from)
                        && edge.to == to
                        && edge.by.contains(&way)
                        && !edge.needs.contains("skip_dispatch")
                });
                let stays = way == Way::ChangeStatus && from == to;
                let shown = format!("{from} to {to} by {}: {}", way.name(), answer.body);
                assert_eq!(answer.status == 200, is_edge || stays, "{shown}");
                if is_edge {
                    assert_eq!(answer.json()["status"], to, "{shown}");
                } else {
                    assert_eq!((fleet.read(&id), fleet.event_count()), (before, events), "{shown}");
                }
            }
        }
    }
}

#[test]
fn an_order_is_started_without_its_dispatch_where_that_is_skipped() {
    for alias in ["skip_dispatch", "skipDispatch"] {
        for action in ["start", "update-activity"] {
            let fleet = Fleet::new();
            let id = order_at(&fleet, "created");
            let started = fleet.act(&id, action, json!({alias: true, "activity": "started"}));
            assert_eq!((&started["status"], &started["dispatched"]), (&json!("started"), &json!(false)));
            assert_eq!(started["started_at"], "2026-05-07T08:30:00.000000Z");
        }
    }
}

#[test]
fn a_whole_life_is_told_step_by_step() {
    let fleet = Fleet::new();
    let ada = fleet.driver("Ada");
    let before = fleet.event_count();
    let id = fleet.order(json!({"driver": ada}));
    fleet.act(&id, "dispatch", json!({}));
    let started = fleet.act(&id, "start", json!({}));
    assert_eq!(started["payload"]["current_waypoint"], started["payload"]["pickup"]["id"]);
    assert_eq!(job(&fleet, &ada), json!(id));
    fleet.act(&id, "update-activity", json!({"activity": "enroute"}));
    let completed = fleet.act(&id, "complete", json!({}));
    assert_eq!(job(&fleet, &ada), Value::Null);
    assert_eq!(fleet.codes(&completed), ["CREATED", "DISPATCHED", "STARTED", "ENROUTE", "COMPLETED"]);
    assert_eq!(completed["tracking_number"]["status_code"], "COMPLETED");
    let told = fleet.events_after(before);
    let expected = [
        "order.created",
        "order.driver_assigned",
        "order.ready",
        "order.dispatched",
        "order.started",
        "order.updated",
        "order.completed",
    ];
    assert_eq!(told, expected);
    let last = fleet.host.events().pop().unwrap();
    assert_eq!((&last.payload["status"], &last.payload["driver_assigned"]), (&json!("completed"), &json!(ada)));
}

fn job(fleet: &Fleet, driver: &str) -> Value {
    fleet.host.record("drivers", driver).unwrap()["current_job"].clone()
}

#[test]
fn a_canceled_or_failed_order_frees_its_driver_and_says_why() {
    let fleet = Fleet::new();
    for (end, event) in [(CANCELED, "order.canceled"), (FAILED, "order.failed")] {
        let ada = fleet.driver("Ada");
        let id = fleet.order(json!({"driver": ada, "dispatch": true}));
        fleet.act(&id, "start", json!({}));
        let ended = fleet.act(&id, "update-activity", json!({"activity": {"code": end, "reason": "nobody home"}}));
        assert_eq!((&ended["status"], job(&fleet, &ada)), (&json!(end), Value::Null));
        let failure = if end == FAILED { json!("nobody home") } else { Value::Null };
        assert_eq!(ended["failure"], failure);
        assert_eq!(fleet.host.events().pop().unwrap().event_type, event);
        let last = ended["tracking_statuses"].as_array().unwrap().last().unwrap().clone();
        assert_eq!(last["code"], end.to_uppercase());
    }
    let id = fleet.order(json!({}));
    check_refused(&fleet.take(&id, FAILED), 422, "VALIDATION_FAILED", "The reason field is required.");
}

#[test]
fn what_the_state_says_no_to_has_the_sentence_that_clients_know() {
    let fleet = Fleet::new();
    let plain = fleet.order(json!({}));
    let refused =
        |answer: TestAnswer, status, code: &str, sentence: &str| check_refused(&answer, status, code, sentence);
    refused(fleet.post(&plain, "dispatch", json!({})), 400, "DRIVER_REQUIRED", "No driver assigned to dispatch!");
    let sentence = "No driver assigned for order to dispatch to.";
    refused(fleet.take(&plain, "dispatched"), 400, "DRIVER_REQUIRED", sentence);
    refused(fleet.post(&plain, "start", json!({})), 400, "DRIVER_REQUIRED", "No driver assigned to order.");
    let with_driver = order_at(&fleet, "created");
    let sentence = "Order has not been dispatched yet and cannot be started.";
    refused(fleet.post(&with_driver, "start", json!({})), 400, "ORDER_NOT_DISPATCHED", sentence);
    let sentence = "Order has not been started yet and cannot be completed.";
    refused(fleet.post(&with_driver, "complete", json!({})), 400, "ORDER_NOT_STARTED", sentence);
    let dispatched = order_at(&fleet, "dispatched");
    let sentence = "Order has already been dispatched!";
    refused(fleet.post(&dispatched, "dispatch", json!({})), 400, "ORDER_ALREADY_DISPATCHED", sentence);
    let started = order_at(&fleet, "started");
    refused(fleet.post(&started, "start", json!({})), 400, "ORDER_ALREADY_STARTED", "Order has already started.");
    let sentence = "Activity completed does not follow started.";
    refused(fleet.take(&started, "completed"), 400, "ACTIVITY_NOT_NEXT", sentence);
    let sentence = "The activity field must be one of the order configuration.";
    refused(fleet.take(&started, "teleported"), 422, "VALIDATION_FAILED", sentence);
    for (state, code) in [
        ("completed", "ORDER_ALREADY_COMPLETED"),
        (CANCELED, "ORDER_ALREADY_CANCELED"),
        (FAILED, "ORDER_ALREADY_FAILED"),
    ] {
        let ended = order_at(&fleet, state);
        for action in ["dispatch", "start", "cancel", "complete"] {
            let answer = fleet.post(&ended, action, json!({}));
            assert_eq!((answer.status, &answer.json()["code"]), (400, &json!(code)), "{state} {action}");
        }
    }
}

#[test]
fn an_activity_that_nobody_can_read_is_refused() {
    let fleet = Fleet::new();
    let id = fleet.order(json!({}));
    check_refused(
        &fleet.post(&id, "update-activity", json!({})),
        422,
        "VALIDATION_FAILED",
        "The activity field is required.",
    );
    for activity in [json!(5), json!([]), json!({}), json!({"code": 5}), json!(""), json!("x".repeat(65)), json!("é")]
    {
        let answer = fleet.post(&id, "update-activity", json!({"activity": activity}));
        check_refused(&answer, 422, "VALIDATION_FAILED", "The activity field must be an activity, or the code of one.");
    }
}

#[test]
fn what_comes_next_can_be_asked() {
    let fleet = Fleet::new();
    let id = order_at(&fleet, "started");
    let next = fleet.call(TestCall::get(&format!("/v1/orders/{id}/next-activity"))).json();
    assert_eq!(next.as_array().unwrap().len(), 1);
    assert_eq!((&next[0]["code"], &next[0]["_resolved_status"]), (&json!("enroute"), &json!("Driver Enroute")));
    assert_eq!(next[0]["activities"], json!(["completed"]));
    assert_eq!(fleet.post(&id, "update-activity", json!({"activity": next[0]})).status, 200);
    let ended = order_at(&fleet, "completed");
    assert_eq!(fleet.call(TestCall::get(&format!("/v1/orders/{ended}/next-activity"))).json(), json!([]));
    let answer = fleet.call(TestCall::get(&format!("/v1/orders/{id}/next-activity?waypoint=place_0000000000")));
    check_refused(&answer, 422, "INVALID_DESTINATION", "Place resource is not a valid destination.");
}

#[test]
fn every_action_is_reached_by_each_of_its_methods() {
    let fleet = Fleet::new();
    let path = |id: &str, action: &str| format!("/v1/orders/{id}/{action}");
    let created = order_at(&fleet, "created");
    let answer = fleet.call(TestCall::patch(&path(&created, "schedule")).json(&json!({"date": "2026-06-01"})));
    assert_eq!(answer.json()["scheduled_at"], "2026-06-01T00:00:00.000000Z");
    let answer = fleet.call(TestCall::patch(&path(&created, "dispatch")));
    assert_eq!(answer.json()["status"], "dispatched");
    let answer = fleet.call(TestCall::patch(&path(&created, "update-activity")).json(&json!({"activity": "started"})));
    assert_eq!(answer.json()["status"], "started");
    assert_eq!(fleet.call(TestCall::delete(&path(&created, "cancel"))).json()["status"], "canceled");
}

#[test]
fn an_order_is_scheduled_until_it_is_started() {
    let fleet = Fleet::new();
    let id = order_at(&fleet, "dispatched");
    let table = [
        (json!({"date": "2026-06-01"}), "2026-06-01T00:00:00.000000Z"),
        (json!({"date": "2026-06-01", "time": "08:30"}), "2026-06-01T08:30:00.000000Z"),
        (json!({"date": "2026-06-01", "time": "08:30", "timezone": "+08:00"}), "2026-06-01T00:30:00.000000Z"),
        (json!({"date": "2026-06-01", "timezone": "UTC"}), "2026-06-01T00:00:00.000000Z"),
        (json!({"date": "2026-06-01", "time": "08:30", "timezone": "Europe/Vienna"}), "2026-06-01T06:30:00.000000Z"),
    ];
    for (body, expected) in table {
        assert_eq!(fleet.act(&id, "schedule", body)["scheduled_at"], expected);
    }
    let table = [
        (json!({}), "The date field is required."),
        (json!({"date": "soon"}), "The date field must be a day like 2026-05-07."),
        (json!({"date": "2026-06-01", "time": "25:00"}), "The time field must be a time of the day like 08:30."),
        (
            json!({"date": "2026-06-01", "timezone": "Mars/Base"}),
            "The timezone field must be UTC, an offset like +08:00, or a name like Europe/Vienna.",
        ),
    ];
    for (body, sentence) in table {
        check_refused(&fleet.post(&id, "schedule", body), 422, "VALIDATION_FAILED", sentence);
    }
    let started = order_at(&fleet, "started");
    let answer = fleet.post(&started, "schedule", json!({"date": "2026-06-01"}));
    check_refused(&answer, 400, "ORDER_ALREADY_STARTED", "Order has already started.");
    let ada = fleet.driver("Eve");
    let answer =
        fleet.call(by(&ada, TestCall::post(&format!("/v1/orders/{id}/schedule")).json(&json!({"date": "2026-06-01"}))));
    assert_eq!(answer.status, 403);
}
