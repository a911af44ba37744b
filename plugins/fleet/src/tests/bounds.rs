//! How large a resource may become, and what that means for lists.

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
    for carrier in [driver, of_order, of_customer] {
        let host = TestHost::new(&PLUGIN);
        let ((path, fits), (_, too_large)) = (carrier(meta(65_536)), carrier(meta(65_537)));
        let answer = host.call(TestCall::post(path).json(&too_large));
        let sentence = "The meta field may not have more than 65536 bytes of JSON.";
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
