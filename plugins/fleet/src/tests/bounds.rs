//! How large a resource may become, and what that means for lists.

mod together;

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tenon_plugin::test_kit::{TestAnswer, TestCall, TestHost};

use crate::PLUGIN;
use crate::rules::order::BYTES_MAX;

fn order(extra: Value) -> Value {
    let mut order = json!({"pickup": "a", "dropoff": "b"});
    order.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    order
}

fn create(host: &TestHost, order: &Value) -> TestAnswer {
    host.call(TestCall::post("/v1/orders").json(order))
}

/// An object whose JSON text has so many bytes.
fn meta(bytes: usize) -> Value {
    json!({ "k": "x".repeat(bytes - r#"{"k":""}"#.len()) })
}

#[test]
fn a_free_form_object_has_a_bound_that_is_told() {
    let driver = |meta: Value| ("/v1/drivers", json!({"name": "a", "email": "a@b", "phone": "1", "meta": meta}));
    let of_order = |meta: Value| ("/v1/orders", order(json!({ "meta": meta })));
    let of_customer = |meta: Value| ("/v1/orders", order(json!({"customer": {"name": "a", "meta": meta}})));
    for (carrier, field) in
        [(driver as fn(Value) -> (&'static str, Value), "meta"), (of_order, "meta"), (of_customer, "customer.meta")]
    {
        let host = TestHost::new(&PLUGIN);
        let ((path, fits), (_, too_large)) = (carrier(meta(65_536)), carrier(meta(65_537)));
        let answer = host.call(TestCall::post(path).json(&too_large));
        let sentence = format!("The {field} field may not have more than 65536 bytes of JSON.");
        assert_eq!((answer.status, answer.json()["error"].clone()), (422, json!(sentence)));
        assert_eq!(host.call(TestCall::post(path).json(&fits)).status, 201);
    }
}

#[test]
fn an_order_is_bounded_as_a_whole() {
    let host = TestHost::new(&PLUGIN);
    let long = "\u{1F600}".repeat(500);
    let stop = json!({"name": long, "street1": long, "street2": long, "city": long});
    let sentence = "The order may not have more than 524288 bytes of JSON.";
    let mut last = 201;
    for stops in [2, 50, 98] {
        let answer = create(&host, &json!({"waypoints": vec![&stop; stops], "notes": "\u{1F600}".repeat(5_000)}));
        assert!(last == 201 || answer.status == last, "{stops} stops fit, fewer do not");
        last = answer.status;
        match answer.status {
            201 => assert!(answer.body.len() <= BYTES_MAX, "{stops} stops"),
            _ => assert_eq!((answer.status, answer.json()["error"].clone()), (422, json!(sentence))),
        }
    }
    assert_eq!(last, 422);
    let kept = create(&host, &order(json!({ "meta": meta(65_536) }))).json();
    let path = format!("/v1/orders/{}", kept["id"].as_str().unwrap());
    let answer = host.call(TestCall::patch(&path).json(&json!({"waypoints": vec![&stop; 100]})));
    assert_eq!((answer.status, answer.json()["error"].clone()), (422, json!(sentence)));
    assert_eq!(host.call(TestCall::get(&path)).json(), kept);
}

/// Puts orders in place, each a little later than the one before; their names are their numbers.
fn put_orders(host: &TestHost, count: usize, bytes: usize) {
    for nth in 0..count {
        let id = format!("order_{nth:010}");
        let mut body =
            json!({"id": id, "internal_id": nth.to_string(), "status": "created", "type": "transport", "meta": ""});
        body["meta"] = "x".repeat(bytes - body.to_string().len()).into();
        host.put_record("orders", &id, &body);
        host.advance_ms(1);
    }
}

/// All orders that a client meets which goes on until a page is empty.
fn walk(host: &TestHost, limit: usize, query: impl Fn(usize) -> String) -> Vec<String> {
    let mut names = Vec::new();
    for nth in 0.. {
        let answer = host.call(TestCall::get(&format!("/v1/orders?limit={limit}&{}", query(nth))));
        assert_eq!(answer.status, 200, "{}", answer.body);
        // What an operator allows one answer unless told otherwise.
        assert!(answer.body.len() <= 8 << 20);
        let page = answer.json();
        names.extend(page.as_array().unwrap().iter().map(|order| order["internal_id"].as_str().unwrap().to_owned()));
        if page == json!([]) {
            return names;
        }
    }
    unreachable!()
}

#[test]
fn pages_of_large_orders_show_each_order_once() {
    let host = TestHost::new(&PLUGIN);
    put_orders(&host, 103, 80_000);
    for names in
        [walk(&host, 100, |nth| format!("offset={}", nth * 100)), walk(&host, 100, |nth| format!("page={}", nth + 1))]
    {
        assert_eq!((names.len(), names.iter().collect::<BTreeSet<_>>().len()), (103, 103));
    }
}

/// Larger ones than are taken today may have been taken before.
#[test]
fn a_page_that_would_be_too_large_is_refused_and_not_shortened() {
    let host = TestHost::new(&PLUGIN);
    put_orders(&host, 12, 1_000_000);
    for query in ["", "?limit=12", "?limit=9", "?limit=100&offset=1"] {
        let answer = host.call(TestCall::get(&format!("/v1/orders{query}")));
        let sentence = "The limit field must be smaller: the resources of this page are too large together.";
        assert_eq!((answer.status, answer.json()["error"].clone()), (422, json!(sentence)), "{query}");
    }
    let names = walk(&host, 8, |nth| format!("offset={}", nth * 8));
    assert_eq!((names.len(), names.iter().collect::<BTreeSet<_>>().len()), (12, 12));
}

#[test]
fn a_record_that_the_host_would_not_keep_is_a_refusal() {
    let host = TestHost::new(&PLUGIN);
    let mut driver = json!({"id": "driver_0123456789", "name": "Ada", "meta": ""});
    driver["meta"] = "x".repeat((1 << 20) - driver.to_string().len()).into();
    host.put_record("drivers", "driver_0123456789", &driver);
    let fix = json!({"latitude": 1, "longitude": 1});
    let answer = host.call(TestCall::post("/v1/drivers/driver_0123456789/track").json(&fix));
    let sentence = "The resource would be too large to be stored.";
    assert_eq!((answer.status, answer.json()["error"].clone()), (422, json!(sentence)));
}

const TOGETHER: &str = "The limit field must be smaller: the resources of this page are too large together.";

/// Everything of this collection that the order names grows to so many bytes each, as later changes may have made it.
fn grow(host: &TestHost, collection: &str, ids: impl IntoIterator<Item = Value>, bytes: usize) {
    for id in ids {
        let id = id.as_str().unwrap();
        let mut record = host.record(collection, id).unwrap();
        record["meta"] = json!({});
        record["meta"] = meta(bytes - record.to_string().len() + 2);
        host.put_record(collection, id, &record);
    }
}

fn ids(list: &Value) -> Vec<Value> {
    list.as_array().unwrap().iter().map(|one| one["id"].clone()).collect()
}

/// Orders from one place to another, a second apart; no place is that of two.
fn orders_between_large_places(count: usize, bytes: usize) -> TestHost {
    let host = TestHost::new(&PLUGIN);
    for nth in 0..count {
        let body =
            json!({"internal_id": nth.to_string(), "pickup": format!("from {nth}"), "dropoff": format!("to {nth}")});
        let payload = create(&host, &body).json()["payload"].clone();
        grow(&host, "places", [payload["pickup"]["id"].clone(), payload["dropoff"]["id"].clone()], bytes);
        host.advance_ms(1_000);
    }
    host
}

#[test]
fn a_page_whose_places_are_too_large_together_is_refused_in_words() {
    let host = orders_between_large_places(20, 900_000);
    for list in ["/v1/orders", "/v1/payloads"] {
        for limit in [30, 20, 4] {
            let answer = host.call(TestCall::get(&format!("{list}?limit={limit}")));
            assert_eq!((answer.status, answer.json()["error"].clone()), (422, json!(TOGETHER)), "{list} {limit}");
        }
        let page = host.call(TestCall::get(&format!("{list}?limit=3")));
        assert_eq!((page.status, page.json().as_array().unwrap().len()), (200, 3), "{list}");
    }
    assert_eq!(walk(&host, 3, |nth| format!("offset={}", nth * 3)).len(), 20);
    let bare = host.call(TestCall::get("/v1/orders?without=payload")).json();
    assert_eq!((bare.as_array().unwrap().len(), bare[0]["payload"].is_string()), (20, true));
    let newest = &bare[0]["id"];
    let only = host.call(TestCall::get(&format!("/v1/orders?only={}", newest.as_str().unwrap()))).json();
    assert_eq!((ids(&only), only[0]["payload"]["pickup"]["meta"].is_object()), (vec![newest.clone()], true));
}

/// One place that a hundred orders name is read once, and would be shown a hundred times.
#[test]
fn what_is_shown_over_and_over_is_counted_as_often() {
    let host = TestHost::new(&PLUGIN);
    let place = create(&host, &order(json!({}))).json()["payload"]["pickup"]["id"].clone();
    grow(&host, "places", [place.clone()], 100_000);
    for _ in 0..99 {
        host.advance_ms(1_000);
        assert_eq!(create(&host, &json!({"pickup": place, "dropoff": "b"})).status, 201);
    }
    let answer = host.call(TestCall::get("/v1/orders?limit=100"));
    assert_eq!((answer.status, answer.json()["error"].clone()), (422, json!(TOGETHER)));
    assert_eq!(host.call(TestCall::get("/v1/orders?limit=50")).json().as_array().unwrap().len(), 50);
}

#[test]
fn payloads_that_are_large_themselves_are_too_large_together_as_well() {
    let host = TestHost::new(&PLUGIN);
    for nth in 0..40 {
        let shown = create(&host, &json!({"waypoints": [format!("a{nth}"), format!("b{nth}")]})).json();
        grow(&host, "payloads", [shown["payload"]["id"].clone()], 1_000_000);
        host.advance_ms(1_000);
    }
    for list in ["/v1/orders?limit=100", "/v1/waypoints?limit=100", "/v1/payloads?limit=100"] {
        let answer = host.call(TestCall::get(list));
        assert_eq!((answer.status, answer.json()["error"].clone()), (422, json!(TOGETHER)), "{list}");
    }
    for list in ["/v1/orders?limit=4", "/v1/waypoints?limit=4", "/v1/payloads?limit=4"] {
        assert_eq!(host.call(TestCall::get(list)).json().as_array().unwrap().len(), 4, "{list}");
    }
}

/// A tour of ten stops, two things to bring, a customer, with so many bytes in each.
fn large_order(bytes: usize) -> (TestHost, String) {
    let host = TestHost::new(&PLUGIN).validate_openapi();
    let driver = json!({"name": "Ada", "email": "ada@example.com", "phone": "+6591234567"});
    let driver = host.call(TestCall::post("/v1/drivers").json(&driver)).json()["id"].clone();
    let stops: Vec<Value> = (0..10).map(|nth| json!({"street1": format!("{nth} Dock St")})).collect();
    let body = json!({"waypoints": stops, "entities": [{"name": "Piano"}, {"name": "Stool"}], "driver": driver,
        "customer": {"name": "Bo", "email": "bo@example.com"}, "dispatch": true});
    let order = create(&host, &body).json();
    grow(&host, "places", ids(&order["payload"]["waypoints"]), bytes);
    grow(&host, "entities", ids(&order["payload"]["entities"]), bytes);
    grow(&host, "contacts", [order["customer"]["id"].clone()], bytes);
    (host, order["id"].as_str().unwrap().to_owned())
}

#[test]
fn one_order_that_is_too_large_is_shown_with_ids_and_moves_on() {
    let (host, id) = large_order(900_000);
    let path = format!("/v1/orders/{id}");
    let shown = host.call(TestCall::get(&path)).json();
    assert!(shown["customer"].as_str().unwrap().starts_with("contact_"), "{}", shown["customer"]);
    assert!(shown["payload"]["entities"].as_array().unwrap().iter().all(Value::is_string), "{}", shown["payload"]);
    let stop = &shown["payload"]["waypoints"][0];
    assert!(stop["id"].as_str().unwrap().starts_with("place_") && stop.get("street1").is_none(), "{stop}");
    assert_eq!((&stop["order"], &stop["status_code"], &stop["customer"]), (&json!(0), &json!("CREATED"), &Value::Null));
    let (driver, number) = (&shown["driver_assigned"]["name"], &shown["tracking_number"]["qr_code"]);
    assert_eq!((driver, number.is_string()), (&json!("Ada"), true));
    for (action, body) in [("start", json!({})), ("update-activity", json!({"activity": "enroute"}))] {
        let moved = host.call(TestCall::post(&format!("{path}/{action}")).json(&body));
        assert_eq!((moved.status, moved.json()["status"].clone()), (200, json!("started")), "{action}: {}", moved.body);
    }
    let changed = host.call(TestCall::put(&path).json(&json!({"notes": "ring twice"})));
    assert_eq!((changed.status, changed.json()["notes"].clone()), (200, json!("ring twice")), "{}", changed.body);
    let payload = format!("/v1/payloads/{}", shown["payload"]["id"].as_str().unwrap());
    assert_eq!(host.call(TestCall::get(&payload)).json()["entities"], shown["payload"]["entities"]);
    let only = host.call(TestCall::get(&format!("/v1/orders?only={id}")));
    assert_eq!(only.json()[0]["payload"]["entities"], shown["payload"]["entities"]);
    assert_eq!(host.call(TestCall::get(&format!("{path}?with=eta,tracker_data"))).status, 200);
    assert_eq!(host.call(TestCall::post(&format!("{path}/cancel"))).json()["status"], "canceled");
}

#[test]
fn one_order_that_just_fits_is_shown_as_ever() {
    let (host, id) = large_order(400_000);
    let shown = host.call(TestCall::get(&format!("/v1/orders/{id}"))).json();
    assert_eq!((&shown["customer"]["name"], &shown["payload"]["entities"][0]["name"]), (&json!("Bo"), &json!("Piano")));
    assert_eq!(shown["payload"]["waypoints"][9]["street1"], "9 Dock St");
}

#[test]
fn a_body_that_is_wrong_in_a_thousand_ways_gets_an_answer_that_somebody_reads() {
    let host = TestHost::new(&PLUGIN);
    let wrong = vec![json!({"name": 1, "type": 2, "weight": "x", "currency": 5, "meta": 7}); 50];
    let answer = create(&host, &order(json!({ "entities": wrong })));
    let errors = answer.json()["errors"].as_array().unwrap().clone();
    let distinct: BTreeSet<String> = errors.iter().map(Value::to_string).collect();
    assert_eq!((answer.status, distinct.len()), (422, errors.len()), "{errors:?}");
    let many: Vec<Value> = (0..64).map(|nth| json!({"code": format!("a{nth}"), "activities": ["b"]})).collect();
    let config = json!({"name": "a", "key": "a", "flow": many});
    let errors = host.call(TestCall::post("/v1/order-configs").json(&config)).json()["errors"].clone();
    assert_eq!((errors.as_array().unwrap().len(), &errors[50]), (51, &json!("And 17 more.")));
}

#[test]
fn an_order_whose_places_have_grown_is_given_a_driver_all_the_same() {
    let host = TestHost::new(&PLUGIN);
    let kept = create(&host, &order(json!({}))).json();
    for end in ["pickup", "dropoff"] {
        let id = kept["payload"][end]["id"].as_str().unwrap();
        let mut place = host.record("places", id).unwrap();
        // As no bound of today lets it grow, and many places together do.
        place["meta"] = meta(BYTES_MAX);
        host.put_record("places", id, &place);
    }
    let path = format!("/v1/orders/{}", kept["id"].as_str().unwrap());
    let ada = json!({"name": "Ada", "email": "ada@x.org", "phone": "+6591234567"});
    let ada = host.call(TestCall::post("/v1/drivers").json(&ada)).json();
    let given = host.call(TestCall::put(&path).json(&json!({"driver": ada["id"]})));
    assert_eq!((given.status, given.json()["driver_assigned"]["id"].clone()), (200, ada["id"].clone()));
    let grown = host.call(TestCall::put(&path).json(&json!({"entities": [{"name": "Piano"}]})));
    assert_eq!((grown.status, grown.refused), (422, true), "{}", grown.json()["error"]);
}
