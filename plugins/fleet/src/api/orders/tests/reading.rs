//! One order, as it is read, with comments beside it.

use serde_json::{Value, json};
use tenon_plugin::test_kit::TestCall;

use super::{Fleet, check_refused, simple};

#[test]
fn an_order_is_found_by_its_id_or_the_callers_own_name() {
    let fleet = Fleet::new();
    let older = fleet.create(&simple(json!({"internal_id": "PO/1"})));
    fleet.host.advance_ms(1_000);
    let newer = fleet.create(&simple(json!({"internal_id": "A 1"})));
    assert_eq!(fleet.read(older["id"].as_str().unwrap()), older);
    assert_eq!(fleet.read("A 1"), newer);
    for id in ["order_0000000000", "B 1", "order_", "\u{1F600}"] {
        let answer = fleet.call(TestCall::get(&format!("/v1/orders/{id}")));
        check_refused(&answer, 404, "RESOURCE_NOT_FOUND", "The requested resource was not found");
    }
}

#[test]
fn what_is_changed_elsewhere_shows_in_the_order() {
    let fleet = Fleet::new();
    let order = fleet.create(&simple(json!({"customer": {"name": "Bo", "email": "bo@example.com"}})));
    let place = order["payload"]["pickup"]["id"].as_str().unwrap();
    let contact = order["customer"]["id"].as_str().unwrap();
    fleet.call(TestCall::put(&format!("/v1/places/{place}")).json(&json!({"name": "Old Depot"})));
    fleet.call(TestCall::put(&format!("/v1/contacts/{contact}")).json(&json!({"name": "Bodil"})));
    let after = fleet.read(order["id"].as_str().unwrap());
    assert_eq!(
        (&after["payload"]["pickup"]["name"], &after["customer"]["name"]),
        (&json!("Old Depot"), &json!("Bodil"))
    );
}

#[test]
fn what_a_caller_does_without_stays_an_id() {
    let fleet = Fleet::new();
    let order = fleet.create(&simple(json!({"customer": {"name": "Bo", "email": "bo@example.com"}})));
    let id = order["id"].as_str().unwrap();
    let query = "?without=payload,customer&without[]=tracking_number,tracking_statuses";
    let bare = fleet.call(TestCall::get(&format!("/v1/orders/{id}{query}"))).json();
    for field in ["payload", "customer", "tracking_number"] {
        assert_eq!(bare[field], order[field]["id"], "{field}");
    }
    assert!(bare.get("tracking_statuses").is_none());
    let read = |without: &str| fleet.call(TestCall::get(&format!("/v1/orders/{id}?without={without}"))).json();
    assert_eq!(read("tracking_number")["tracking_statuses"], order["tracking_statuses"]);
    let numbered = read("tracking_statuses");
    assert_eq!(numbered["tracking_number"], order["tracking_number"]);
    assert!(numbered.get("tracking_statuses").is_none());
}

#[test]
fn tracker_and_eta_come_along_where_they_are_asked_for() {
    let fleet = Fleet::new();
    let id = fleet.order(json!({}));
    let read = |query: &str| fleet.call(TestCall::get(&format!("/v1/orders/{id}?{query}"))).json();
    assert!(read("").get("tracker_data").is_none() && read("").get("eta").is_none());
    let both = read("with_tracker_data=true&with_eta=1");
    assert_eq!(both["tracker_data"]["lifecycle"]["mode"], "unassigned");
    assert_eq!(both["eta"]["provider"], "straight_line");
    assert_eq!(read("with=eta")["eta"], both["eta"]);
    assert_eq!(read("with_route_eta=true")["eta"], both["eta"]);
}

#[test]
fn comments_are_written_and_listed() {
    let fleet = Fleet::new();
    let (ada, other) = (fleet.driver("Ada"), fleet.order(json!({})));
    let id = fleet.order(json!({"driver": ada}));
    let path = format!("/v1/orders/{id}/comments");
    let first = fleet.call(TestCall::post(&path).json(&json!({"content": "call\nfirst"})));
    assert_eq!((first.status, &first.json()["author"]), (201, &Value::Null));
    fleet.host.advance_ms(1_000);
    let second = fleet.call(super::by(&ada, TestCall::post(&path).json(&json!({"content": "there now"}))));
    assert_eq!((second.status, &second.json()["author"]), (201, &json!(ada)));
    assert_eq!(fleet.call(TestCall::get(&path)).json(), json!([second.json(), first.json()]));
    assert_eq!(fleet.call(TestCall::get(&format!("/v1/orders/{other}/comments"))).json(), json!([]));
    for content in [json!({}), json!({"content": " "}), json!({"content": null})] {
        let answer = fleet.call(TestCall::post(&path).json(&content));
        check_refused(&answer, 422, "VALIDATION_FAILED", "The content field is required.");
    }
}

#[test]
fn an_order_has_a_bounded_number_of_comments() {
    let fleet = Fleet::new();
    let id = fleet.order(json!({}));
    let say = || fleet.call(TestCall::post(&format!("/v1/orders/{id}/comments")).json(&json!({"content": "x"})));
    for nth in 0..199 {
        let body = json!({"id": format!("comment_{nth:010}"), "content": "x", "order": id});
        fleet.host.put_record("comments", &format!("comment_{nth:010}"), &body);
    }
    assert_eq!(say().status, 201);
    let sentence = "The content field is not accepted: the order has 200 comments.";
    check_refused(&say(), 422, "VALIDATION_FAILED", sentence);
}

#[test]
fn a_driver_learns_that_he_edits_no_entities() {
    let fleet = Fleet::new();
    let ada = fleet.driver("Ada");
    let id = fleet.order(json!({"driver": ada}));
    let path = format!("/v1/orders/{id}/editable-entity-fields");
    let whole = fleet.call(TestCall::get(&path)).json();
    assert_eq!(whole["is_editing_entities_enabled"], true);
    assert!(whole["editable_entity_fields"].as_array().unwrap().contains(&json!("name")));
    let of_driver = fleet.call(super::by(&ada, TestCall::get(&path))).json();
    assert_eq!(of_driver, json!({"is_editing_entities_enabled": false, "editable_entity_fields": []}));
}
