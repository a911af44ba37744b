//! What a payload carries: what comes and goes by itself, what is changed with it, and where it is to go.

use serde_json::{Value, json};
use tenon_plugin::test_kit::{TestAnswer, TestCall};

use crate::api::orders::tests::{Fleet, check_refused, id_of, simple};

fn send(fleet: &Fleet, method: &str, path: &str, body: Value) -> Value {
    let answer = fleet.call(TestCall::new(method, path).json(&body));
    assert!(answer.status < 300, "{method} {path}: {}", answer.body);
    answer.json()
}

fn put(fleet: &Fleet, id: &str, body: Value) -> TestAnswer {
    fleet.call(TestCall::put(&format!("/v1/orders/{id}")).json(&body))
}

/// The ids of the orders and of the payloads that carry it, as lists find them.
fn carriers(fleet: &Fleet, entity: &str) -> (Vec<String>, Vec<String>) {
    let ids = |path: &str| {
        let list = send(fleet, "GET", &format!("{path}?entity={entity}"), Value::Null);
        list.as_array().unwrap().iter().map(id_of).collect()
    };
    (ids("/v1/orders"), ids("/v1/payloads"))
}

fn order(fleet: &Fleet, besides: Value) -> (String, Value) {
    let order = fleet.create(&simple(besides));
    (id_of(&order), order["payload"].clone())
}

fn told_updated(fleet: &Fleet, since: usize) -> Vec<String> {
    let told = fleet.host.events().into_iter().skip(since);
    told.filter(|event| event.event_type == "entity.updated").map(|event| event.subject).collect()
}

#[test]
fn an_order_is_found_by_what_it_carries_however_that_came_to_it() {
    let fleet = Fleet::new();
    let ((first, of_first), (second, of_second)) = (order(&fleet, json!({})), order(&fleet, json!({})));
    let body = json!({"name": "Piano", "type": "parcel", "payload": of_first["id"]});
    let piano = id_of(&send(&fleet, "POST", "/v1/entities", body));
    let path = format!("/v1/entities/{piano}");
    assert_eq!(carriers(&fleet, &piano), (vec![first.clone()], vec![id_of(&of_first)]));
    fleet.host.advance_ms(1_000);
    send(&fleet, "PUT", &path, json!({"payload": of_second["id"]}));
    assert_eq!(carriers(&fleet, &piano), (vec![second.clone()], vec![id_of(&of_second)]));
    for order in [&first, &second] {
        assert_eq!(fleet.read(order)["updated_at"], "2026-05-07T08:30:01.000000Z");
    }
    send(&fleet, "PUT", &path, json!({"payload": null}));
    assert_eq!(carriers(&fleet, &piano), (vec![], vec![]));
    assert_eq!(put(&fleet, &first, json!({"entities": [piano]})).status, 200);
    assert_eq!(carriers(&fleet, &piano), (vec![first.clone()], vec![id_of(&of_first)]));
    send(&fleet, "DELETE", &path, Value::Null);
    assert_eq!(carriers(&fleet, &piano), (vec![], vec![]));
    assert_eq!(fleet.read(&first)["payload"]["entities"], json!([]));
}

#[test]
fn what_joins_is_bounded_like_what_comes_with_it() {
    let fleet = Fleet::new();
    let things: Vec<Value> = (0..50).map(|nth| json!({"name": format!("Box {nth}")})).collect();
    let (_, payload) = order(&fleet, json!({"entities": things}));
    let one_more = json!({"name": "Piano", "type": "parcel", "payload": payload["id"]});
    let answer = fleet.call(TestCall::post("/v1/entities").json(&one_more));
    check_refused(&answer, 422, "VALIDATION_FAILED", "The entities field must be a list of at most 50 entities.");
}

#[test]
fn a_list_changes_what_it_names_and_makes_the_rest() {
    let fleet = Fleet::new();
    let (id, payload) =
        order(&fleet, json!({"entities": [{"name": "Piano", "weight": 300, "sku": "P"}, {"name": "Stool"}]}));
    let (piano, stool) = (payload["entities"][0].clone(), payload["entities"][1].clone());
    let bodies = [
        ("/v1/orders", id.clone(), json!({"name": "Grand"}), json!({"weight": 480})),
        ("/v1/payloads", id_of(&payload), json!({"sku": null}), json!({"meta": {"k": 1}})),
    ];
    for (path, own, first, second) in bodies {
        for change in [first, second] {
            let before = fleet.call(TestCall::get(&format!("/v1/entities/{}", id_of(&piano)))).json();
            let since = fleet.event_count();
            let mut named = change.clone();
            named["id"] = piano["id"].clone();
            send(&fleet, "PUT", &format!("{path}/{own}"), json!({"entities": [named, stool["id"]]}));
            let after = fleet.call(TestCall::get(&format!("/v1/entities/{}", id_of(&piano)))).json();
            let mut expected = before;
            expected.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
            assert_eq!(after, expected);
            assert_eq!(told_updated(&fleet, since), [id_of(&piano)], "and nothing of the stool");
        }
    }
    let (_, elsewhere) = order(&fleet, json!({"entities": [{"name": "Rug"}]}));
    let rug = elsewhere["entities"][0].clone();
    let list = json!([{"id": id_of(&piano)}, {"name": "Lamp"}, rug]);
    let after = send(&fleet, "PUT", &format!("/v1/orders/{id}"), json!({"entities": list}));
    let names: Vec<&Value> = after["payload"]["entities"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["Grand", "Lamp", "Rug"]);
    assert_ne!(after["payload"]["entities"][2]["id"], rug["id"], "ids are drawn");
    assert_eq!(fleet.call(TestCall::get(&format!("/v1/entities/{}", id_of(&stool)))).status, 404);
}

#[test]
fn what_is_sent_back_as_it_was_read_is_no_change() {
    let fleet = Fleet::new();
    let things = json!([{"name": "Piano", "weight": 300, "price": "4.50", "meta": {"k": 1}}, {"name": "Stool"}]);
    let (id, payload) = order(&fleet, json!({"entities": things}));
    let before = fleet.read(&id);
    fleet.host.advance_ms(1_000);
    let since = fleet.event_count();
    let after = send(&fleet, "PUT", &format!("/v1/orders/{id}"), json!({"entities": payload["entities"]}));
    assert_eq!((after, fleet.event_count()), (before, since));
}

#[test]
fn a_change_that_is_wrong_changes_nothing() {
    let fleet = Fleet::new();
    let (id, payload) = order(&fleet, json!({"entities": [{"name": "Piano"}]}));
    let piano = id_of(&payload["entities"][0]);
    let before = fleet.read(&id);
    let table = [
        (json!({"id": piano, "name": null}), 422, "The entities.0.name field is required."),
        (json!({"id": piano, "weight": -1}), 422, "The entities.0.weight field must be between 0 and 1000000000."),
        (json!({"id": piano, "destination": 7}), 422, "The entities.0.destination field must be a stop of the order."),
        (json!({"id": piano, "customer": "contact_0000000000"}), 404, "The requested resource was not found"),
        (json!({"id": "entity_0000000000", "name": "Rug"}), 404, "The requested resource was not found"),
        (json!({"uuid": "0b7e6a1c", "name": "Rug"}), 404, "The requested resource was not found"),
        (json!({"public_id": id_of(&payload), "name": "Rug"}), 404, "The requested resource was not found"),
        (json!({"id": piano, "uuid": "0b7e6a1c"}), 422, "The entities.0.uuid field must be the id of the same entity."),
        (json!({"id": 7, "name": "Rug"}), 422, "The entities.0.id field must be a text."),
        (json!(5), 422, "The entities.0 field must be an id or an object."),
    ];
    for (wrong, status, sentence) in table {
        let code = if status == 404 { "RESOURCE_NOT_FOUND" } else { "VALIDATION_FAILED" };
        check_refused(&put(&fleet, &id, json!({"entities": [wrong]})), status, code, sentence);
    }
    assert_eq!(fleet.read(&id), before);
}

#[test]
fn a_mistyped_entity_makes_no_order() {
    let fleet = Fleet::new();
    let body = simple(json!({"entities": [{"name": "Piano"}, {"id": "entity_0000000000", "name": "Rug"}]}));
    let answer = fleet.call(TestCall::post("/v1/orders").json(&body));
    check_refused(&answer, 404, "RESOURCE_NOT_FOUND", "The requested resource was not found");
    for path in ["/v1/orders", "/v1/entities", "/v1/payloads", "/v1/tracking-numbers"] {
        assert_eq!(fleet.call(TestCall::get(path)).json(), json!([]), "{path}");
    }
}

#[test]
fn a_currency_without_an_amount_is_refused() {
    let fleet = Fleet::new();
    let (id, _) = order(&fleet, json!({}));
    let sentence = "The cod_amount field is required when cod_currency is set.";
    check_refused(&put(&fleet, &id, json!({"cod_currency": "EUR"})), 422, "VALIDATION_FAILED", sentence);
    assert_eq!(put(&fleet, &id, json!({"cod_amount": "5", "cod_currency": "SGD"})).status, 200);
    let payload = put(&fleet, &id, json!({"cod_currency": "EUR"})).json()["payload"].clone();
    assert_eq!((&payload["cod_amount"], &payload["cod_currency"]), (&json!("5"), &json!("EUR")));
}

#[test]
fn what_was_to_go_to_a_stop_that_is_gone_goes_with_the_rest() {
    let fleet = Fleet::new();
    let entities = json!([{"name": "Piano", "destination": 0}, {"name": "Stool", "destination": 1}]);
    let id = fleet.tour(json!({"entities": entities}));
    let payload = fleet.read(&id)["payload"].clone();
    let destinations = || {
        let carried = fleet.read(&id)["payload"]["entities"].clone();
        [carried[0]["destination"].clone(), carried[1]["destination"].clone()]
    };
    let stops = [&payload["waypoints"][0]["waypoint_id"], &payload["waypoints"][1]["waypoint_id"]];
    assert_eq!(destinations(), stops.map(Clone::clone));
    let since = fleet.event_count();
    send(&fleet, "DELETE", &format!("/v1/waypoints/{}", stops[0].as_str().unwrap()), Value::Null);
    assert_eq!(destinations(), [Value::Null, stops[1].clone()]);
    assert_eq!(told_updated(&fleet, since), [id_of(&payload["entities"][0])]);
    assert_eq!(put(&fleet, &id, json!({"waypoints": []})).status, 200);
    assert_eq!(destinations(), [Value::Null, Value::Null]);
}

/// As an older version left it.
#[test]
fn a_destination_that_is_gone_stops_no_other_change() {
    let fleet = Fleet::new();
    let (id, payload) = order(&fleet, json!({"entities": [{"name": "Piano"}]}));
    let piano = id_of(&payload["entities"][0]);
    let mut stored = fleet.host.record("entities", &piano).unwrap();
    stored["destination"] = json!("waypoint_0000000000");
    fleet.host.put_record("entities", &piano, &stored);
    let renamed = send(&fleet, "PUT", &format!("/v1/entities/{piano}"), json!({"name": "Grand"}));
    assert_eq!((&renamed["name"], &renamed["destination"]), (&json!("Grand"), &Value::Null));
    fleet.host.put_record("entities", &piano, &stored);
    let body = json!({"entities": [{"id": piano, "name": "Grand"}]});
    let changed = put(&fleet, &id, body).json()["payload"]["entities"][0].clone();
    assert_eq!((&changed["name"], &changed["destination"]), (&json!("Grand"), &Value::Null));
}

/// Names and subjects.
fn told_of_things(fleet: &Fleet, since: usize) -> Vec<(String, String)> {
    let told = fleet.host.events().into_iter().skip(since).map(|event| (event.event_type, event.subject));
    told.filter(|(name, _)| name.starts_with("entity.")).collect()
}

#[test]
fn what_a_list_takes_in_and_leaves_out_is_told() {
    let fleet = Fleet::new();
    let (id, payload) = order(&fleet, json!({"entities": [{"name": "Piano"}]}));
    let piano = id_of(&payload["entities"][0]);
    let lamp = id_of(&send(&fleet, "POST", "/v1/entities", json!({"name": "Lamp", "type": "parcel"})));
    let since = fleet.event_count();
    assert_eq!(put(&fleet, &id, json!({"entities": [lamp]})).status, 200);
    let told = |name: &str, subject: &str| (name.to_owned(), subject.to_owned());
    assert_eq!(told_of_things(&fleet, since), [told("entity.updated", &lamp), told("entity.deleted", &piano)]);
    let updated = fleet.host.events().into_iter().skip(since).find(|event| event.event_type == "entity.updated");
    let updated = updated.unwrap().payload;
    assert_eq!((&updated["payload"], updated.get("meta")), (&payload["id"], None), "{updated}");
    let since = fleet.event_count();
    send(&fleet, "DELETE", &format!("/v1/orders/{id}"), Value::Null);
    assert_eq!(told_of_things(&fleet, since), [], "what goes with its order is told with it");
}

#[test]
fn what_a_list_names_twice_is_taken_once() {
    let fleet = Fleet::new();
    let (id, payload) = order(&fleet, json!({"entities": [{"name": "Piano"}]}));
    let piano = id_of(&payload["entities"][0]);
    let lamp = id_of(&send(&fleet, "POST", "/v1/entities", json!({"name": "Lamp", "type": "parcel"})));
    let since = fleet.event_count();
    let after = put(&fleet, &id, json!({"entities": [lamp, piano, lamp, piano]}));
    let ids: Vec<String> = after.json()["payload"]["entities"].as_array().unwrap().iter().map(id_of).collect();
    assert_eq!(ids, [lamp.clone(), piano.clone()]);
    assert_eq!(told_updated(&fleet, since), [lamp]);
    let object = json!({"id": piano, "name": "Grand"});
    let sentence = "The entities.1 field must be another entity than those before it.";
    for twice in [json!([object, object]), json!([piano, object])] {
        check_refused(&put(&fleet, &id, json!({ "entities": twice })), 422, "VALIDATION_FAILED", sentence);
    }
}
