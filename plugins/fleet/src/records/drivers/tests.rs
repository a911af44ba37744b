//! What orders ask of drivers, through routes that stand in no interface.

use serde_json::{Value, json as tree};
use tenon_plugin::test_kit::{TestAnswer, TestCall, TestHost};
use tenon_plugin::{Answer, Outcome, Plugin, Route, get, post};

use super::*;
use crate::records;
use crate::rules::location::Position;
use crate::rules::location::distance::Nearby;

static PLUGIN: Plugin = Plugin::new("fleet", "0.1.0").routes(ROUTES).collections(records::COLLECTIONS);

const ROUTES: &[Route] = &[
    post("/take/{driver}/{order}", "take", |call: &Call| {
        take_job(call, call.parameter("driver"), call.parameter("order"))?;
        done()
    }),
    post("/free/{driver}/{order}", "free", |call: &Call| {
        free(call, call.parameter("driver"), call.parameter("order"))?;
        done()
    }),
    get("/near", "near", |call: &Call| {
        let search = Nearby::new(Position::new(1.3, 103.8)?, Some(2_200.0))?;
        let most = call.query("most").and_then(|most| most.parse().ok()).unwrap_or(100);
        let near = online_near(call, search, most)?;
        Ok(Answer::ok(json::to_text(&near.into_iter().map(|(id, metres)| (id, metres.round())).collect::<Vec<_>>())?))
    }),
];

fn done() -> Outcome {
    Ok(Answer::ok("{}".to_owned()))
}

fn put(host: &TestHost, nth: u32, driver: Value) -> String {
    let id = format!("driver_{nth:010}");
    host.put_record("drivers", &id, &driver);
    id
}

fn job(host: &TestHost, id: &str) -> Value {
    host.record("drivers", id).unwrap()["current_job"].clone()
}

fn act(host: &TestHost, target: &str) -> TestAnswer {
    host.call(TestCall::post(target))
}

#[test]
fn a_driver_is_at_one_order_until_he_is_free_of_it() {
    let host = TestHost::new(&PLUGIN);
    let id = put(&host, 1, tree!({"current_job": null, "updated_at": "2026-01-01T00:00:00.000000Z"}));
    assert_eq!((act(&host, &format!("/take/{id}/order_1")).status, job(&host, &id)), (200, tree!("order_1")));
    // Another one that ends is not his.
    assert_eq!((act(&host, &format!("/free/{id}/order_2")).status, job(&host, &id)), (200, tree!("order_1")));
    assert_eq!((act(&host, &format!("/free/{id}/order_1")).status, job(&host, &id)), (200, Value::Null));
    assert_eq!(act(&host, "/free/driver_0000000009/order_1").status, 200);
    assert_eq!(act(&host, "/take/driver_0000000009/order_1").status, 404);
}

#[test]
fn an_order_is_offered_to_those_who_are_online_and_near() {
    let host = TestHost::new(&PLUGIN);
    let at = |latitude: f64, online: bool, status: &str| tree!({"latitude": latitude, "longitude": 103.8, "online": online, "status": status});
    let second = put(&host, 1, at(1.301, true, "active"));
    let first = put(&host, 2, at(1.3, true, "available"));
    put(&host, 3, at(1.3, false, "available"));
    put(&host, 4, at(1.3, true, "inactive"));
    put(&host, 5, at(1.4, true, "available"));
    put(&host, 6, tree!({"latitude": null, "longitude": null, "online": true, "status": "available"}));
    let near = host.call(TestCall::get("/near")).json();
    assert_eq!(near, tree!([[first, 0.0], [second, 111.0]]));
}

/// A row of them to the south, 1.1 metres between each two, more than the host gives at once; the last has the first number.
fn crowd(host: &TestHost, count: u32) {
    for nth in 0..count {
        let latitude = 1.3 - f64::from(count - 1 - nth) / 1e5;
        put(host, nth, tree!({"latitude": latitude, "longitude": 103.8, "online": true, "status": "active"}));
    }
}

#[test]
fn of_a_crowd_the_nearest_are_found() {
    let host = TestHost::new(&PLUGIN);
    crowd(&host, 1_100);
    let near = host.call(TestCall::get("/near?most=50")).json();
    let expected: Vec<Value> =
        (0..50).map(|nth| tree!([format!("driver_{:010}", 1_099 - nth), (f64::from(nth) * 1.1119).round()])).collect();
    assert_eq!(near, tree!(expected));
}

/// More than the host gives at once, in the widest ring.
#[test]
fn a_crowd_is_measured_page_by_page() {
    let host = TestHost::new(&PLUGIN);
    crowd(&host, 1_100);
    let near = host.call(TestCall::get("/near?most=2000")).json();
    let near = near.as_array().unwrap();
    assert_eq!(
        (near.len(), &near[0][0], &near[1_099][0]),
        (1_100, &tree!("driver_0000001099"), &tree!("driver_0000000000"))
    );
}

#[test]
fn who_is_far_is_found_where_nobody_is_near() {
    let host = TestHost::new(&PLUGIN);
    let at = |latitude: f64| tree!({"latitude": latitude, "longitude": 103.8, "online": true, "status": "active"});
    put(&host, 1, at(1.3 + 0.019));
    put(&host, 2, at(1.3 - 0.017));
    put(&host, 3, at(1.3));
    put(&host, 4, at(1.32));
    let near = host.call(TestCall::get("/near?most=3")).json();
    assert_eq!(near, tree!([["driver_0000000003", 0.0], ["driver_0000000002", 1890.0], ["driver_0000000001", 2113.0]]));
}

#[test]
fn a_crowd_further_off_hides_nobody_who_is_near() {
    let host = TestHost::new(&PLUGIN);
    let at = |latitude: f64| tree!({"latitude": latitude, "longitude": 103.8, "online": true, "status": "active"});
    for nth in 0..5_100 {
        put(&host, nth, at(1.3 - 0.019));
    }
    let beside = put(&host, 9_999, at(1.3));
    let near = host.call(TestCall::get("/near?most=50")).json();
    assert_eq!((near.as_array().unwrap().len(), &near[0]), (50, &tree!([beside, 0.0])));
}

#[test]
fn all_rings_together_measure_no_more_than_one_search_may() {
    let host = TestHost::new(&PLUGIN);
    let at = |latitude: f64| tree!({"latitude": latitude, "longitude": 103.8, "online": true, "status": "active"});
    for nth in 0..1_500 {
        put(&host, nth, at(1.3));
    }
    put(&host, 9_999, at(1.3 + 0.019));
    let near = host.call(TestCall::get("/near?most=2000")).json();
    assert_eq!(near.as_array().unwrap().len(), 1_500, "who stands in all four rings is measured four times");
}
