//! The list: pages, sorts, and every filter.

use serde_json::{Value, json};
use tenon_plugin::test_kit::{TestAnswer, TestCall};

use super::{Fleet, by, check_refused, id_of, simple};

fn names(answer: &TestAnswer) -> Vec<String> {
    assert_eq!(answer.status, 200, "{}", answer.body);
    let page = answer.json();
    page.as_array().unwrap().iter().map(|order| order["internal_id"].as_str().unwrap().to_owned()).collect()
}

#[track_caller]
fn check(fleet: &Fleet, query: &str, expected: &[&str]) {
    let answer = fleet.call(TestCall::get(&format!("/v1/orders{query}")));
    assert_eq!(names(&answer), expected, "{query}");
    assert!(!answer.headers.iter().any(|(name, _)| name == "x-unknown-parameters"), "{query}: {:?}", answer.headers);
}

/// Three orders, twelve hours apart.
fn three() -> (Fleet, Vec<Value>, String) {
    let fleet = Fleet::new();
    let ada = fleet.driver("Ada");
    let bodies = [
        json!({"internal_id": "first", "customer": {"name": "Bo", "email": "bo@example.com"}}),
        json!({"internal_id": "second", "driver": ada, "dispatch": true, "scheduled_at": "2026-06-01", "pod_required": true, "pod_method": "scan"}),
        json!({"internal_id": "third", "adhoc": true, "entities": [{"name": "Piano"}]}),
    ];
    let mut orders = Vec::new();
    for body in bodies {
        orders.push(fleet.create(&simple(body)));
        fleet.host.advance_ms(43_200_000);
    }
    (fleet, orders, ada)
}

#[test]
fn a_list_is_paged_and_sorted() {
    let (fleet, orders, _) = three();
    let table: [(&str, &[&str]); 7] = [
        ("", &["third", "second", "first"]),
        ("?sort=created_at", &["first", "second", "third"]),
        ("?sort=oldest", &["first", "second", "third"]),
        ("?limit=1&page=2", &["second"]),
        ("?limit=2&offset=1", &["second", "first"]),
        ("?single=true", &["third", "second", "first"]),
        ("?sort=-updated_at&limit=1", &["third"]),
    ];
    for (query, expected) in table {
        check(&fleet, query, expected);
    }
    let page = fleet.call(TestCall::get("/v1/orders?limit=1"));
    assert_eq!(page.json()[0], orders[2]);
    assert!(page.headers.contains(&("x-total-count".to_owned(), "3".to_owned())), "{:?}", page.headers);
}

#[test]
fn every_filter_finds_what_it_names() {
    let (fleet, orders, ada) = three();
    let id = |at: usize, path: &str| orders[at].pointer(path).unwrap().as_str().unwrap().to_owned();
    let customer = id(0, "/customer/id");
    let table: Vec<(String, &[&str])> = vec![
        ("status=created".to_owned(), &["third", "first"]),
        ("status=created,dispatched".to_owned(), &["third", "second", "first"]),
        ("status_not=created".to_owned(), &["second"]),
        ("internal_id=second&status=dispatched".to_owned(), &["second"]),
        ("internal_id_like=s".to_owned(), &["second"]),
        (format!("driver={ada}"), &["second"]),
        (format!("driver_assigned={ada}"), &["second"]),
        ("unassigned=true".to_owned(), &["third", "first"]),
        ("without_driver=0".to_owned(), &["second"]),
        (format!("customer={customer}"), &["first"]),
        (format!("customer={}", customer.replace("contact_", "customer_")), &["first"]),
        (format!("payload={}", id(1, "/payload/id")), &["second"]),
        (format!("pickup={}", id(0, "/payload/pickup/id")), &["first"]),
        (format!("dropoff={}", id(2, "/payload/dropoff/id")), &["third"]),
        (format!("entity={}", id(2, "/payload/entities/0/id")), &["third"]),
        (format!("tracking={}", id(1, "/tracking_number/tracking_number")), &["second"]),
        (format!("tracking={}", id(1, "/tracking_number/id")), &["second"]),
        ("type=transport".to_owned(), &["third", "second", "first"]),
        ("order_config=order_config_transport0".to_owned(), &["third", "second", "first"]),
        ("pod_required=true".to_owned(), &["second"]),
        ("dispatched=false".to_owned(), &["third", "first"]),
        ("adhoc=1".to_owned(), &["third"]),
        ("on=2026-05-08".to_owned(), &["third"]),
        ("on=2026-06-01".to_owned(), &["second"]),
        ("on=2026-06-01T23:30:00.000Z".to_owned(), &["second"]),
        ("on=2026-05-31T22:30:00-02:00".to_owned(), &["second"]),
        ("created_at=2026-05-07".to_owned(), &["second", "first"]),
        ("created_at=2026-05-07T10:00:00Z,2026-05-09".to_owned(), &["third", "second"]),
        ("created_at=2026-05-07T10:00:00Z&created_at=2026-05-09".to_owned(), &["third", "second"]),
        ("scheduled_at=2026-06-01".to_owned(), &["second"]),
        ("scheduled_at_isNull".to_owned(), &["third", "first"]),
        (format!("only={},{}", id(0, "/id"), id(2, "/id")), &["third", "first"]),
        (format!("exclude={}", id(1, "/id")), &["third", "first"]),
        ("query=sec".to_owned(), &["second"]),
        (format!("query={}", id(2, "/id")), &["third"]),
        (format!("query={}", &id(0, "/tracking_number/tracking_number")[..9]), &["first"]),
        ("query=nothing".to_owned(), &[]),
        (
            format!("bulk_query=first,{},{}", id(1, "/id"), id(2, "/tracking_number/tracking_number")),
            &["third", "second", "first"],
        ),
    ];
    for (query, expected) in table {
        check(&fleet, &format!("?{query}"), expected);
    }
}

#[test]
fn orders_are_found_by_what_the_numbers_of_their_things_say() {
    let fleet = Fleet::new();
    let ada = fleet.driver("Ada");
    let entities = json!([{"name": "Piano", "destination": 0}, {"name": "Stool"}]);
    let tour = fleet.tour(json!({"driver": ada, "dispatch": true, "entities": entities}));
    let other = fleet.order(json!({"entities": [{"name": "Lamp"}]}));
    fleet.order(json!({}));
    let found = |query: &str| {
        let list = fleet.call(TestCall::get(&format!("/v1/orders?sort=created_at&entity_status={query}"))).json();
        list.as_array().unwrap().iter().map(id_of).collect::<Vec<_>>()
    };
    assert_eq!((found("dispatched"), found("CREATED")), (vec![tour.clone()], vec![tour.clone(), other.clone()]));
    fleet.act(&tour, "start", json!({}));
    for activity in ["enroute", "completed", "enroute", "completed"] {
        fleet.act(&tour, "update-activity", json!({"activity": activity}));
    }
    assert_eq!((found("completed,started"), found("dispatched")), (vec![tour.clone()], vec![]));
    // Callers say something as well, and take it back.
    let lamp = fleet.read(&other)["payload"]["entities"][0].clone();
    let number = &lamp["tracking_number"]["tracking_number"];
    let body = json!({"tracking_number": number, "status": "At customs", "code": "AT_CUSTOMS", "details": "It waits.",
        "location": [1.3, 103.8]});
    let said = fleet.call(TestCall::post("/v1/tracking-statuses").json(&body));
    assert_eq!((said.status, found("at_customs"), found("created")), (201, vec![other.clone()], vec![]));
    let path = format!("/v1/tracking-statuses/{}", id_of(&said.json()));
    assert_eq!(fleet.call(TestCall::patch(&path).json(&json!({"code": "CLEARED"}))).status, 200);
    assert_eq!((found("cleared"), found("at_customs")), (vec![other.clone()], vec![]));
    assert_eq!(fleet.call(TestCall::delete(&path)).status, 200);
    assert_eq!((found("created"), found("cleared")), (vec![other.clone()], vec![]));
    assert_eq!(fleet.call(TestCall::delete(&format!("/v1/entities/{}", id_of(&lamp)))).status, 200);
    assert_eq!(found("created"), Vec::<String>::new());
    assert!(fleet.read(&other).get("entity_statuses").is_none(), "nobody is shown it");
}

#[test]
fn what_has_ended_is_not_active() {
    let (fleet, orders, _) = three();
    fleet.act(orders[0]["id"].as_str().unwrap(), "cancel", json!({}));
    for query in ["?status=active", "?active=true"] {
        check(&fleet, query, &["third", "second"]);
    }
    check(&fleet, "?active=false", &["first"]);
}

#[test]
fn what_begins_nearby_comes_in_the_order_of_its_distance() {
    let fleet = Fleet::new();
    for (name, latitude) in [("far", 1.34), ("near", 1.301), ("here", 1.30), ("gone", 2.0)] {
        let pickup = json!({"latitude": latitude, "longitude": 103.80});
        fleet.create(&json!({"internal_id": name, "pickup": pickup, "dropoff": "b"}));
    }
    check(&fleet, "?nearby=1.30,103.80", &["here", "near", "far"]);
    check(&fleet, "?nearby=1.30,103.80&radius=1000", &["here", "near"]);
    check(&fleet, "?nearby=1.30,103.80&internal_id=near", &["near"]);
    check(&fleet, "?nearby={\"type\":\"Point\",\"coordinates\":[103.80,1.34]}&radius=1000", &["far"]);
    let ada = fleet.driver("Ada");
    let fix = json!({"latitude": 1.34, "longitude": 103.80});
    fleet.call(TestCall::post(&format!("/v1/drivers/{ada}/track")).json(&fix));
    check(&fleet, &format!("?nearby={ada}&radius=500"), &["far"]);
    for query in ["?nearby=somewhere", "?nearby=1,2&radius=x", "?nearby=1,2&radius=0", "?nearby=91,0"] {
        assert_eq!(fleet.call(TestCall::get(&format!("/v1/orders{query}"))).status, 422, "{query}");
    }
}

/// Orders like this one, named A-0000 and so on, besides it.
fn copies(fleet: &Fleet, id: &str, count: usize) {
    let mut order = fleet.host.record("orders", id).unwrap();
    for nth in 0..count {
        let id = format!("order_{nth:010}");
        (order["id"], order["internal_id"]) = (json!(id), json!(format!("A-{nth:04}")));
        fleet.host.put_record("orders", &id, &order);
    }
}

#[test]
fn a_query_that_means_too_many_orders_is_refused() {
    let fleet = Fleet::new();
    copies(&fleet, &fleet.order(json!({"internal_id": "A-last"})), 100);
    let sentence = |field: &str| format!("The {field} field must be more exact: it means more than 100 orders.");
    for (query, field) in [("query=A-", "query"), ("query=A-&dispatched=false", "query")] {
        let answer = fleet.call(TestCall::get(&format!("/v1/orders?{query}")));
        check_refused(&answer, 422, "VALIDATION_FAILED", &sentence(field));
    }
    let all = fleet.host.record("orders", "order_0000000000").unwrap()["number"].clone();
    let bulk = fleet.call(TestCall::get(&format!("/v1/orders?bulk_query={}", all.as_str().unwrap())));
    check_refused(&bulk, 422, "VALIDATION_FAILED", &sentence("bulk_query"));
    check(&fleet, "?query=A-0042", &["A-0042"]);
    check(&fleet, "?query=A-&dispatched=true", &[]);
    let hundred = fleet.call(TestCall::get("/v1/orders?query=A-0&limit=100"));
    assert_eq!(names(&hundred).len(), 100);
}

#[test]
fn a_driver_finds_his_order_among_many_of_others() {
    let fleet = Fleet::new();
    copies(&fleet, &fleet.order(json!({"internal_id": "A-first"})), 100);
    let ada = fleet.driver("Ada");
    fleet.order(json!({"internal_id": "A-hers", "driver": ada}));
    for query in ["query=A-", "bulk_query=A-hers,A-0001"] {
        let answer = fleet.call(by(&ada, TestCall::get(&format!("/v1/orders?{query}"))));
        assert_eq!(names(&answer), ["A-hers"], "{query}");
    }
}

#[test]
fn more_orders_nearby_than_are_measured_are_refused() {
    let fleet = Fleet::new();
    copies(&fleet, &fleet.order(json!({"internal_id": "A-last"})), 999);
    assert_eq!(fleet.call(TestCall::get("/v1/orders?nearby=1.30,103.80&limit=1")).status, 200);
    fleet.order(json!({}));
    let sentence = "The radius field must be smaller: too many orders are near.";
    check_refused(&fleet.call(TestCall::get("/v1/orders?nearby=1.30,103.80")), 422, "VALIDATION_FAILED", sentence);
}

#[test]
fn what_is_nearby_is_sorted_by_distance_and_nothing_else_is() {
    let fleet = Fleet::new();
    fleet.order(json!({"internal_id": "one"}));
    check(&fleet, "?nearby=1.30,103.80&sort=distance", &["one"]);
    let sentence = "The sort field must be distance together with nearby, and is distance nowhere else.";
    for query in ["?sort=distance", "?nearby=1.30,103.80&sort=latest", "?nearby=1.30,103.80&sort=created_at"] {
        let answer = fleet.call(TestCall::get(&format!("/v1/orders{query}")));
        check_refused(&answer, 422, "VALIDATION_FAILED", sentence);
    }
}

#[test]
fn a_page_is_joined_as_one_order_is() {
    let (fleet, orders, _) = three();
    let mut page = fleet.call(TestCall::get("/v1/orders?sort=oldest")).json();
    for (shown, order) in page.as_array_mut().unwrap().iter_mut().zip(&orders) {
        assert_eq!(shown, order);
    }
    let bare = fleet.call(TestCall::get("/v1/orders?without=payload&limit=1")).json();
    assert_eq!(bare[0]["payload"], orders[2]["payload"]["id"]);
}

#[test]
fn a_list_that_nobody_could_mean_is_refused() {
    let fleet = Fleet::new();
    let long = format!("?status={}", "x".repeat(129));
    let many = format!("?only={}", vec!["order_1"; 101].join(","));
    for query in
        ["?limit=-1", "?limit=ten", "?page=0", "?sort=color", "?created_at=may", "?unassigned=perhaps", &long, &many]
    {
        let answer = fleet.call(TestCall::get(&format!("/v1/orders{query}")));
        assert_eq!((answer.status, answer.json()["code"].clone()), (422, json!("VALIDATION_FAILED")), "{query}");
    }
    for parameter in ["status", "internal_id", "customer", "type", "query", "only", "tracking"] {
        let answer = fleet.call(TestCall::get(&format!("/v1/orders?{parameter}=a\u{1b}[2J")));
        let sentence = format!("The {parameter} field must be a text without control characters.");
        check_refused(&answer, 422, "VALIDATION_FAILED", &sentence);
    }
    let unknown = fleet.call(TestCall::get("/v1/orders?color=red"));
    assert!(unknown.headers.contains(&("x-unknown-parameters".to_owned(), "color".to_owned())));
    let strict = fleet.call(TestCall::get("/v1/orders?color=red&strict=true"));
    check_refused(&strict, 422, "VALIDATION_FAILED", "These parameters are not known: color.");
}

/// The same tour many times over, each with a name of its own.
#[test]
fn a_page_of_long_tours_is_asked_for_in_parts() {
    let fleet = Fleet::new();
    let id = fleet.order(json!({"internal_id": "x"}));
    let mut order = fleet.host.record("orders", &id).unwrap();
    let mut payload = fleet.host.record("payloads", order["payload"].as_str().unwrap()).unwrap();
    let place = payload["pickup"].clone();
    let stop = |at: usize| json!({"id": format!("waypoint_{at:010}"), "place": place, "type": "dropoff"});
    payload["waypoints"] = (0..100).map(stop).collect();
    for nth in 0..99 {
        let (id, carried) = (format!("order_{nth:010}"), format!("payload_{nth:010}"));
        (order["id"], order["payload"]) = (json!(id), json!(carried));
        payload["id"] = json!(carried);
        fleet.host.put_record("orders", &id, &order);
        fleet.host.put_record("payloads", &carried, &payload);
    }
    let answer = fleet.call(TestCall::get("/v1/orders?limit=100"));
    let sentence = "The limit field must be smaller: the resources of this page are too large together.";
    check_refused(&answer, 422, "VALIDATION_FAILED", sentence);
    assert_eq!(fleet.call(TestCall::get("/v1/orders?limit=10")).json().as_array().unwrap().len(), 10);
}

#[test]
fn a_list_of_values_may_be_repeated() {
    let (fleet, orders, _) = three();
    let id = |at: usize| orders[at]["id"].as_str().unwrap();
    let table: Vec<(String, &[&str])> = vec![
        ("status[]=dispatched".to_owned(), &["second"]),
        ("status[]=dispatched&status[]=created".to_owned(), &["third", "second", "first"]),
        ("status=dispatched&status=completed".to_owned(), &["second"]),
        (format!("customer[]={}", orders[0]["customer"]["id"].as_str().unwrap()), &["first"]),
        (format!("only[]={}&only={},{}", id(0), id(2), id(2)), &["third", "first"]),
        (format!("exclude={}&exclude[]={}", id(0), id(2)), &["second"]),
        ("entity_status[]=created&entity_status=CREATED".to_owned(), &["third"]),
        ("entity_status[]=nothing".to_owned(), &[]),
    ];
    for (query, expected) in table {
        check(&fleet, &format!("?{query}"), expected);
    }
}

#[test]
fn conditions_are_counted_after_all_were_heard() {
    let (fleet, orders, ada) = three();
    let excluded = |count: usize| (0..count).map(|nth| format!("order_{nth:010}")).collect::<Vec<_>>().join(",");
    let filters = |count: usize| vec!["status_not=failed"; count].join("&");
    let words = |count: usize| (0..count).map(|nth| format!("code{nth}")).collect::<Vec<_>>().join(",");
    check(&fleet, &format!("?{}", filters(24)), &["third", "second", "first"]);
    check(&fleet, &format!("?{}&exclude={}", filters(14), excluded(10)), &["third", "second", "first"]);
    check(&fleet, &format!("?entity_status={}", words(24)), &[]);
    let his = fleet.call(by(&ada, TestCall::get(&format!("/v1/orders?{}", filters(24)))));
    assert_eq!(names(&his), ["second"]);
    check(&fleet, &format!("?entity_status={}", vec!["created"; 100].join(",")), &["third"]);
    let number = orders[0]["tracking_number"]["tracking_number"].as_str().unwrap();
    let sentence = "The filters of a list have at most 24 conditions together.";
    for query in [
        filters(25),
        format!("{}&exclude={}", filters(24), excluded(10)),
        format!("entity_status={}", words(33)),
        format!("entity_status={}&nearby=1.30,103.80", words(33)),
        format!("entity_status={}&query={number}", words(33)),
    ] {
        let answer = fleet.call(TestCall::get(&format!("/v1/orders?{query}")));
        check_refused(&answer, 422, "VALIDATION_FAILED", sentence);
    }
}
