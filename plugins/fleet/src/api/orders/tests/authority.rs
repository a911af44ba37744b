//! What a driver's token gets: his own orders, those that are offered, and nothing else.

use serde_json::{Value, json};
use tenon_plugin::test_kit::TestCall;

use super::{Fleet, by, simple};
use crate::PLUGIN;

/// An order of Ada's that is under way, one of nobody's, one that is offered; and the two drivers.
struct Stock {
    fleet: Fleet,
    ada: String,
    bob: String,
    own: String,
    nobodys: String,
    offered: String,
}

fn stock() -> Stock {
    let fleet = Fleet::new();
    let (ada, bob) = (fleet.driver("Ada"), fleet.driver("Bob"));
    let own = fleet.order(json!({"driver": ada, "dispatch": true}));
    let nobodys = fleet.order(json!({}));
    let offered = fleet.order(json!({"adhoc": true, "dispatch": true}));
    Stock { fleet, ada, bob, own, nobodys, offered }
}

/// Of every route of one order: method, path, whether it is the organization's alone.
const ROUTES: [(&str, &str, bool); 23] = [
    ("GET", "", false),
    ("PUT", "", true),
    ("PATCH", "", true),
    ("DELETE", "", true),
    ("POST", "/dispatch", false),
    ("PATCH", "/dispatch", false),
    ("POST", "/schedule", true),
    ("PATCH", "/schedule", true),
    ("POST", "/start", false),
    ("DELETE", "/cancel", false),
    ("POST", "/cancel", false),
    ("POST", "/update-activity", false),
    ("PATCH", "/update-activity", false),
    ("GET", "/next-activity", false),
    ("POST", "/complete", false),
    ("POST", "/set-destination/place_1", false),
    ("PATCH", "/set-destination/place_1", false),
    ("GET", "/distance-and-time", false),
    ("GET", "/tracker", false),
    ("GET", "/eta", false),
    ("GET", "/comments", false),
    ("POST", "/comments", false),
    ("GET", "/editable-entity-fields", false),
];

fn body() -> Value {
    json!({"activity": "enroute", "content": "hello", "date": "2026-06-01"})
}

#[test]
fn another_drivers_order_does_not_exist_and_managing_is_forbidden() {
    let stock = stock();
    let before = stock.fleet.read(&stock.own);
    for (method, path, manages) in ROUTES {
        for id in [&stock.own, &stock.nobodys] {
            let call = TestCall::new(method, &format!("/v1/orders/{id}{path}")).json(&body());
            let answer = stock.fleet.call(by(&stock.bob, call));
            assert_eq!(answer.status, if manages { 403 } else { 404 }, "{method} {path}: {}", answer.body);
        }
    }
    assert_eq!(stock.fleet.read(&stock.own), before);
}

#[test]
fn the_table_above_has_every_route_of_one_order() {
    let of_orders = |path: &&str| path.starts_with("/v1/orders/{id}");
    let found: Vec<(&str, String)> = super::super::ROUTES
        .iter()
        .filter(|route| of_orders(&route.path))
        .map(|route| (route.method, route.path.replace("/v1/orders/{id}", "").replace("{place}", "place_1")))
        .collect();
    let known: Vec<(&str, String)> = ROUTES.iter().map(|(method, path, _)| (*method, (*path).to_owned())).collect();
    assert_eq!(found, known);
    assert!(PLUGIN.route_table().len() > found.len());
}

#[test]
fn a_driver_moves_his_own_order() {
    let stock = stock();
    let act = |action: &str, body: Value| {
        let call = TestCall::post(&format!("/v1/orders/{}/{action}", stock.own)).json(&body);
        let answer = stock.fleet.call(by(&stock.ada, call));
        assert_eq!(answer.status, 200, "{action}: {}", answer.body);
        answer.json()["status"].clone()
    };
    assert_eq!(act("start", json!({})), "started");
    assert_eq!(act("update-activity", json!({"activity": "enroute"})), "enroute");
    assert_eq!(act("complete", json!({})), "completed");
}

#[test]
fn an_offered_order_is_seen_and_accepted_and_no_more() {
    let stock = stock();
    let call = |method: &str, path: &str| {
        let call = TestCall::new(method, &format!("/v1/orders/{}{path}", stock.offered)).json(&body());
        stock.fleet.call(by(&stock.bob, call)).status
    };
    assert_eq!((call("GET", ""), call("GET", "/tracker"), call("GET", "/next-activity")), (200, 200, 200));
    for path in ["/cancel", "/update-activity", "/complete", "/comments", "/set-destination/x"] {
        assert_eq!(call("POST", path), 403, "{path}");
    }
    assert_eq!(call("POST", "/start"), 200);
    assert_eq!(call("POST", "/cancel"), 200);
}

/// Not dispatched yet, canceled, failed: none is for whoever comes.
#[test]
fn an_ad_hoc_order_is_nobodys_before_its_dispatch_and_after_its_end() {
    let Stock { fleet, bob, offered, .. } = stock();
    let (canceled, failed) = (offered, fleet.order(json!({"adhoc": true, "dispatch": true})));
    fleet.act(&canceled, "cancel", json!({}));
    fleet.act(&failed, "update-activity", json!({"activity": "failed", "reason": "nobody came"}));
    let waiting = fleet.order(json!({"adhoc": true}));
    for id in [&waiting, &canceled, &failed] {
        let before = fleet.read(id);
        let path = |rest: &str| format!("/v1/orders/{id}{rest}");
        let skip = json!({"skip_dispatch": true, "skipDispatch": true, "activity": "started"});
        for call in [
            TestCall::get(&path("")),
            TestCall::post(&path("/start")).json(&skip),
            TestCall::post(&path("/update-activity")).json(&skip),
            TestCall::post(&path("/dispatch")),
        ] {
            assert_eq!(fleet.call(by(&bob, call)).status, 404);
        }
        assert_eq!(fleet.read(id), before);
    }
    let list = || fleet.call(by(&bob, TestCall::get("/v1/orders"))).json();
    assert_eq!(list(), json!([]));
    fleet.act(&waiting, "dispatch", json!({}));
    assert_eq!(super::id_of(&list()[0]), waiting);
}

#[test]
fn an_organization_may_skip_the_dispatch_of_an_ad_hoc_order() {
    let Stock { fleet, ada, bob, .. } = stock();
    let id = fleet.order(json!({"adhoc": true}));
    let started = fleet.act(&id, "start", json!({"assign": ada, "skip_dispatch": true}));
    assert_eq!((&started["status"], &started["driver_assigned"]["id"]), (&json!("started"), &json!(ada)));
    let late = TestCall::post(&format!("/v1/orders/{id}/start"));
    assert_eq!(fleet.call(by(&bob, late)).status, 404);
}

#[test]
fn a_drivers_list_holds_his_own_orders_and_those_that_are_offered() {
    let stock = stock();
    let ids = |driver: &str, query: &str| {
        let answer = stock.fleet.call(by(driver, TestCall::get(&format!("/v1/orders{query}"))));
        let mut ids: Vec<String> = answer.json().as_array().unwrap().iter().map(super::id_of).collect();
        ids.sort();
        ids
    };
    let sorted = |ids: &[&String]| {
        let mut ids: Vec<String> = ids.iter().map(|id| (*id).clone()).collect();
        ids.sort();
        ids
    };
    assert_eq!(ids(&stock.ada, ""), sorted(&[&stock.own, &stock.offered]));
    assert_eq!(ids(&stock.bob, ""), sorted(&[&stock.offered]));
    assert_eq!(ids(&stock.bob, &format!("?driver={}", stock.ada)), Vec::<String>::new());
    assert_eq!(ids(&stock.bob, &format!("?only={}", stock.own)), Vec::<String>::new());
    stock.fleet.call(by(&stock.bob, TestCall::post(&format!("/v1/orders/{}/start", stock.offered))));
    assert_eq!(ids(&stock.ada, ""), sorted(&[&stock.own]));
}

#[test]
fn a_driver_makes_no_orders_and_no_payloads() {
    let stock = stock();
    let calls = [
        TestCall::post("/v1/orders").json(&simple(json!({}))),
        TestCall::post("/v1/payloads").json(&json!({"type": "food", "pickup": "a", "dropoff": "b"})),
        TestCall::get("/v1/payloads"),
        TestCall::get("/v1/payloads/payload_0000000000"),
        TestCall::put("/v1/payloads/payload_0000000000").json(&json!({})),
        TestCall::delete("/v1/payloads/payload_0000000000"),
    ];
    for call in calls {
        assert_eq!(stock.fleet.call(by(&stock.ada, call)).status, 403);
    }
}

#[test]
fn an_order_of_another_organization_is_as_unknown_as_none() {
    let stock = stock();
    for (method, path, _) in ROUTES {
        let foreign = TestCall::new(method, &format!("/v1/orders/{}{path}", stock.own)).json(&body());
        let answer = stock.fleet.call(foreign.tenant("rival/test"));
        let none = stock.fleet.call(TestCall::new(method, &format!("/v1/orders/order_0000000000{path}")).json(&body()));
        let mut expected = none.json();
        expected["request_id"] = answer.json()["request_id"].clone();
        assert_eq!((answer.status, answer.json()), (404, expected), "{method} {path}");
    }
}
