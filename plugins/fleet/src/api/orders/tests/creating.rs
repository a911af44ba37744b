//! What an order may be made from, and what is made with it.

use serde_json::{Value, json};
use tenon_plugin::test_kit::TestCall;

use super::{Fleet, check_refused, here, id_of, simple, there};

#[test]
fn a_new_order_has_a_number_a_payload_and_a_first_status() {
    let fleet = Fleet::new();
    let order = fleet.create(&simple(json!({"internal_id": "A1", "notes": "ring\ntwice", "meta": {"k": 1}})));
    assert!(order["id"].as_str().unwrap().starts_with("order_"));
    let number = order["tracking_number"]["tracking_number"].as_str().unwrap();
    assert!(number.starts_with("ACM") && number.ends_with("SG"), "{number}");
    assert_eq!(order["tracking_number"]["subject"], order["id"]);
    assert_eq!((&order["status"], &order["type"]), (&json!("created"), &json!("transport")));
    assert_eq!(order["order_config"], "order_config_transport0");
    assert_eq!((&order["dispatched"], &order["started"]), (&json!(false), &json!(false)));
    assert_eq!(
        (&order["internal_id"], &order["notes"], &order["meta"]),
        (&json!("A1"), &json!("ring\ntwice"), &json!({"k": 1}))
    );
    assert_eq!(fleet.codes(&order), ["CREATED"]);
    let payload = &order["payload"];
    assert!(payload["id"].as_str().unwrap().starts_with("payload_"));
    assert_eq!((&payload["pickup"]["name"], &payload["dropoff"]["name"]), (&json!("Depot"), &json!("Shop")));
    assert_eq!((&payload["waypoints"], &payload["entities"]), (&json!([]), &json!([])));
    assert!(order["distance"].as_u64().unwrap() > 4_000 && order["time"].as_u64().unwrap() > 400);
    assert_eq!(order, fleet.read(order["id"].as_str().unwrap()));
}

#[test]
fn a_new_order_is_told_with_the_keys_of_the_specification() {
    let fleet = Fleet::new();
    let order = fleet.create(&simple(json!({"customer": {"name": "Bo", "email": "bo@example.com"}})));
    let plain = fleet.create(&simple(json!({})));
    let events = fleet.host.events();
    assert_eq!(events.len(), 2, "what comes with an order is told with it");
    let data: Vec<&Value> =
        events.iter().filter(|event| event.event_type == "order.created").map(|event| &event.payload).collect();
    assert_eq!(data[0]["order_id"], order["id"]);
    assert_eq!(data[0]["tracking_number"], order["tracking_number"]["tracking_number"]);
    assert_eq!(data[0]["customer_id"], order["customer"]["id"]);
    assert_eq!((&data[0]["payload"], &data[0]["status"]), (&order["payload"]["id"], &json!("created")));
    assert_eq!(data[0]["created_at"], "2026-05-07 08:30:00");
    assert!(data[0].get("seen_by").is_none() && data[0].get("number").is_none());
    assert_eq!((&data[1]["order_id"], &data[1]["customer_id"]), (&plain["id"], &Value::Null));
}

#[test]
fn stops_may_be_written_in_every_form() {
    let fleet = Fleet::new();
    let known = id_of(&fleet.create(&simple(json!({})))["payload"]["pickup"].clone());
    let bodies = [
        json!({"pickup": "1 Dock St", "dropoff": "2 Mill Rd"}),
        json!({"pickup": [1.3, 103.8], "dropoff": "1.34,103.82"}),
        json!({"pickup": known, "dropoff": {"lat": 1, "lng": 2}}),
        json!({"waypoints": ["a", known]}),
        json!({"payload": {"pickup": here(), "dropoff": there(), "type": "food"}}),
        json!({"payload": {"waypoints": ["a", {"type": "Point", "coordinates": [103.8, 1.3]}]}}),
        json!({"pickup": here(), "dropoff": there(), "return": known, "waypoints": [here()]}),
    ];
    for body in bodies {
        let order = fleet.create(&body);
        let payload = &order["payload"];
        let stops = payload["waypoints"].as_array().unwrap().len();
        assert!(stops > 0 || payload["pickup"].is_object() && payload["dropoff"].is_object(), "{order}");
    }
    let again = fleet.create(&json!({"pickup": known, "dropoff": "b"}));
    assert_eq!(again["payload"]["pickup"]["id"], json!(known));
}

#[test]
fn a_waypoint_is_a_place_with_what_it_is_on_this_tour() {
    let fleet = Fleet::new();
    let stop = json!({
        "street1": "First Stop", "latitude": 1.31, "longitude": 103.81, "notes": "at the back", "type": "pickup",
        "pod_required": true, "pod_method": "photo", "service_time": 300,
        "time_window_start": "2026-05-08T08:00:00Z", "time_window_end": "2026-05-08T10:00:00Z",
        "customer": {"name": "Bo", "email": "bo@example.com"},
    });
    let order = fleet.create(&json!({"waypoints": [stop, {"place": "Second Stop"}]}));
    let waypoints = &order["payload"]["waypoints"];
    let first = &waypoints[0];
    assert!(first["id"].as_str().unwrap().starts_with("place_"));
    assert!(first["waypoint_id"].as_str().unwrap().starts_with("waypoint_"));
    assert_eq!((&first["street1"], &first["order"]), (&json!("First Stop"), &json!(0)));
    assert_eq!((&first["type"], &first["notes"]), (&json!("pickup"), &json!("at the back")));
    assert_eq!((&first["pod_required"], &first["pod_method"]), (&json!(true), &json!("photo")));
    assert_eq!((&first["service_time"], &first["complete"]), (&json!(300), &json!(false)));
    assert_eq!(first["time_window_end"], "2026-05-08T10:00:00.000000Z");
    assert_eq!(first["customer"]["email"], "bo@example.com");
    assert!(first["tracking"].as_str().unwrap().starts_with("ACM"));
    assert_eq!(first["status_code"], "CREATED");
    assert_eq!((&waypoints[1]["street1"], &waypoints[1]["type"]), (&json!("Second Stop"), &json!("dropoff")));
    assert_eq!(waypoints[1]["order"], 1);
}

#[test]
fn what_an_order_carries_is_made_with_it() {
    let fleet = Fleet::new();
    let entities = json!([
        {"name": "Piano", "weight": 300, "price": "4999.90", "currency": "sgd", "destination": 1},
        {"name": "Stool"},
    ]);
    let order = fleet.create(&json!({"waypoints": ["a", "b"], "entities": entities}));
    let payload = &order["payload"];
    assert_eq!(payload["entities"][0]["name"], "Piano");
    assert_eq!(payload["entities"][0]["destination"], payload["waypoints"][1]["waypoint_id"]);
    assert_eq!(payload["entities"][1]["payload"], payload["id"]);
    let astray = fleet.call(
        TestCall::post("/v1/orders")
            .json(&json!({"pickup": "a", "dropoff": "b", "entities": [{"name": "x", "destination": 7}]})),
    );
    let sentence = "The entities.0.destination field must be a stop of the order.";
    check_refused(&astray, 422, "VALIDATION_FAILED", sentence);
}

#[test]
fn what_one_order_carries_no_other_one_takes() {
    let fleet = Fleet::new();
    let order = fleet.create(&simple(json!({"entities": [{"name": "Piano"}]})));
    let piano = order["payload"]["entities"][0]["id"].clone();
    let thief = fleet.call(TestCall::post("/v1/orders").json(&simple(json!({"entities": [piano]}))));
    let sentence = "The entities.0 field must be an entity that no order carries.";
    check_refused(&thief, 422, "VALIDATION_FAILED", sentence);
    let free = fleet.call(TestCall::post("/v1/entities").json(&json!({"name": "Lamp", "type": "parcel"}))).json();
    let taken = fleet.create(&simple(json!({"entities": [free["id"]]})));
    assert_eq!(taken["payload"]["entities"][0]["payload"], taken["payload"]["id"]);
}

#[test]
fn a_payload_that_is_there_already_is_taken_once() {
    let fleet = Fleet::new();
    let body = json!({"type": "food", "pickup": here(), "dropoff": there(), "cod_amount": 12.5, "cod_currency": "sgd"});
    let payload = id_of(&fleet.call(TestCall::post("/v1/payloads").json(&body)).json());
    let order = fleet.create(&json!({"payload": payload}));
    assert_eq!((&order["payload"]["id"], &order["payload"]["cod_amount"]), (&json!(payload), &json!("12.5")));
    assert_eq!(order["payload"]["order"], order["id"]);
    for taken in [payload.as_str(), "payload_0000000000", "nonsense"] {
        let answer = fleet.call(TestCall::post("/v1/orders").json(&json!({"payload": taken})));
        check_refused(&answer, 400, "INVALID_PAYLOAD", "Attempted to attach invalid payload to order.");
    }
}

#[test]
fn a_driver_comes_with_his_vehicle() {
    let fleet = Fleet::new();
    let vehicle = |name: &str| {
        id_of(&fleet.call(TestCall::post("/v1/vehicles").json(&json!({"name": name, "make": "Ford"}))).json())
    };
    let (van, truck) = (vehicle("Van"), vehicle("Truck"));
    let ada = fleet.driver("Ada");
    let answer = fleet.call(TestCall::put(&format!("/v1/drivers/{ada}")).json(&json!({"vehicle": van})));
    assert_eq!(answer.status, 200, "{}", answer.body);
    let order = fleet.create(&simple(json!({"driver": ada})));
    assert_eq!((&order["driver_assigned"]["id"], &order["vehicle_assigned"]["id"]), (&json!(ada), &json!(van)));
    let other = fleet.create(&simple(json!({"driver": ada, "vehicle": truck})));
    assert_eq!(other["vehicle_assigned"]["id"], json!(truck));
    for unknown in
        [json!({"driver": "driver_0000000000"}), json!({"vehicle": "vehicle_0000000000"}), json!({"driver": "Ada"})]
    {
        let answer = fleet.call(TestCall::post("/v1/orders").json(&simple(unknown)));
        check_refused(&answer, 404, "RESOURCE_NOT_FOUND", "The requested resource was not found");
    }
}

#[test]
fn an_order_that_is_dispatched_with_its_creation_says_so_at_once() {
    let fleet = Fleet::new();
    let ada = fleet.driver("Ada");
    let before = fleet.event_count();
    for besides in [json!({"dispatch": true}), json!({"status": "dispatched"})] {
        let mut body = simple(besides);
        body["driver"] = json!(ada);
        let order = fleet.create(&body);
        assert_eq!((&order["status"], &order["dispatched"]), (&json!("dispatched"), &json!(true)));
        assert_eq!(order["dispatched_at"], "2026-05-07T08:30:00.000000Z");
        assert_eq!(fleet.codes(&order), ["CREATED", "DISPATCHED"]);
    }
    let told = ["order.created", "order.driver_assigned", "order.dispatched"];
    assert_eq!(fleet.events_after(before), [told, told].concat());
    let nobody = fleet.call(TestCall::post("/v1/orders").json(&simple(json!({"dispatch": true}))));
    check_refused(&nobody, 400, "DRIVER_REQUIRED", "No driver assigned to dispatch!");
}

#[test]
fn the_terms_of_an_order_are_kept() {
    let fleet = Fleet::new();
    let order = fleet.create(&simple(json!({
        "adhoc": true, "adhoc_distance": 500, "pod_required": true, "pod_method": "scan",
        "scheduled_at": "2026-05-09 08:30", "required_skills": ["hazmat", "crane"], "orchestrator_priority": 90,
        "time_window_start": "2026-05-09T08:00:00Z", "time_window_end": "2026-05-09T09:00:00Z",
        "facilitator": {"name": "Carrier", "email": "c@example.com"},
    })));
    let expected = json!({
        "adhoc": true, "adhoc_distance": 500, "pod_required": true, "pod_method": "scan",
        "scheduled_at": "2026-05-09T08:30:00.000000Z", "required_skills": ["crane", "hazmat"],
        "orchestrator_priority": 90, "time_window_start": "2026-05-09T08:00:00.000000Z",
        "time_window_end": "2026-05-09T09:00:00.000000Z",
    });
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&order[name], value, "{name}");
    }
    assert_eq!(order["facilitator"]["email"], "c@example.com");
}

#[test]
fn a_configuration_of_ones_own_is_named_by_type_or_order_config() {
    let fleet = Fleet::new();
    for field in ["type", "order_config"] {
        for name in ["transport", "order_config_transport0", "system:order-config:transport"] {
            assert_eq!(fleet.create(&simple(json!({field: name})))["type"], "transport");
        }
        let answer = fleet.call(TestCall::post("/v1/orders").json(&simple(json!({field: "teleport"}))));
        check_refused(&answer, 400, "INVALID_ORDER_CONFIG", "Invalid order `type` or `order_config` provided.");
    }
}

#[test]
fn what_is_wrong_with_an_order_is_told_and_nothing_is_made() {
    let fleet = Fleet::new();
    let table = [
        (json!({}), "An order needs a pickup and a dropoff, or at least two waypoints."),
        (json!({"pickup": "a"}), "The dropoff field is required."),
        (json!({"dropoff": "a"}), "The pickup field is required."),
        (json!({"waypoints": ["a"]}), "An order needs a pickup and a dropoff, or at least two waypoints."),
        (json!({"waypoints": vec!["a"; 101]}), "The waypoints field must be a list of at most 100 places."),
        (json!({"waypoints": "a"}), "The waypoints field must be a list of places."),
        (simple(json!({"entities": vec!["a"; 51]})), "The entities field must be a list of at most 50 entities."),
        (simple(json!({"pod_required": true})), "The pod_method field is required when pod_required is set."),
        (simple(json!({"pod_method": "oath"})), "The pod_method field must be one of: scan, signature, photo."),
        (simple(json!({"status": "completed"})), "The status field must be one of: created, dispatched."),
        (simple(json!({"meta": 5})), "The meta field must be an object."),
        (simple(json!({"scheduled_at": "soon"})), "The scheduled_at field must be a date."),
        (simple(json!({"required_skills": "hazmat"})), "The required_skills field must be a list of texts."),
        (simple(json!({"adhoc_distance": 0})), "The adhoc_distance field must be between 1 and 100000."),
        (simple(json!({"service_quote": "quote_1"})), "The service_quote field is not supported yet."),
        (simple(json!({"driver": 5})), "The driver field must be a text."),
        (
            simple(json!({"internal_id": "x".repeat(129)})),
            "The internal_id field may not be longer than 128 characters.",
        ),
    ];
    for (body, sentence) in table {
        let answer = fleet.call(TestCall::post("/v1/orders").json(&body));
        check_refused(&answer, 422, "VALIDATION_FAILED", sentence);
    }
    assert_eq!(fleet.call(TestCall::get("/v1/places")).json(), json!([]));
    assert_eq!(fleet.event_count(), 0);
}

#[test]
fn several_faults_are_told_at_once() {
    let fleet = Fleet::new();
    let body = json!({"pickup": "a", "notes": 5, "pod_method": "oath", "adhoc": "maybe"});
    let answer = fleet.call(TestCall::post("/v1/orders").json(&body));
    assert_eq!(answer.json()["errors"].as_array().unwrap().len(), 4, "{}", answer.body);
}

#[test]
fn a_field_that_nobody_reads_is_told_or_refused() {
    let fleet = Fleet::new();
    let body = simple(json!({"color": "red", "payload": null}));
    let answer = fleet.call(TestCall::post("/v1/orders").json(&body));
    assert_eq!((answer.status, header(&answer.headers, "x-unknown-fields")), (201, Some("color")));
    let inner = json!({"payload": {"pickup": "a", "dropoff": "b", "color": "red"}});
    let answer = fleet.call(TestCall::post("/v1/orders").json(&inner));
    assert_eq!((answer.status, header(&answer.headers, "x-unknown-fields")), (201, Some("payload.color")));
    let strict = fleet.call(TestCall::post("/v1/orders?strict=true").json(&body));
    check_refused(&strict, 422, "VALIDATION_FAILED", "These fields are not known: color.");
}

fn header<'h>(headers: &'h [(String, String)], name: &str) -> Option<&'h str> {
    headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

/// A tour of the longest kind fits one call.
#[test]
fn the_longest_tour_can_be_made() {
    let fleet = Fleet::new();
    let stops: Vec<Value> = (0..100).map(|at| json!({"street1": format!("{at} Long Rd")})).collect();
    let order = fleet.create(&json!({"waypoints": stops}));
    assert_eq!(order["payload"]["waypoints"].as_array().unwrap().len(), 100);
}

#[test]
fn who_is_named_twice_in_one_call_is_one_new_contact() {
    let fleet = Fleet::new();
    let bo = json!({"name": "Bo", "email": "bo@example.com"});
    let stop = json!({"place": there(), "customer": bo});
    let order = fleet.create(&json!({"waypoints": [stop, stop], "customer": bo, "facilitator": bo}));
    let id = &order["customer"]["id"];
    assert!(id.is_string() && &order["facilitator"]["id"] == id, "{order}");
    for stop in order["payload"]["waypoints"].as_array().unwrap() {
        assert_eq!(&stop["customer"]["id"], id, "{stop}");
    }
    let al = json!({"name": "Al", "email": "al@example.com"});
    let path = format!("/v1/orders/{}", order["id"].as_str().unwrap());
    let change =
        json!({"waypoints": [{"place": there(), "customer": al}, {"place": here(), "customer": al}], "customer": al});
    let answer = fleet.call(TestCall::put(&path).json(&change));
    assert_eq!(answer.status, 200, "{}", answer.body);
    let list = fleet.call(TestCall::get("/v1/contacts")).json();
    assert_eq!(list.as_array().unwrap().len(), 2);
}
