//! Lists, asked for in every way: those of places and vehicles stand for all.

use serde_json::{Value, json};
use tenon_plugin::test_kit::{TestAnswer, TestCall, TestHost};

use crate::PLUGIN;

/// Vehicles named "v0" to "v4", a second between.
fn stocked() -> TestHost {
    let host = TestHost::new(&PLUGIN);
    for number in 0..5 {
        let status = if number % 2 == 0 { "active" } else { "maintenance" };
        let van = json!({"name": format!("v{number}"), "year": 2020 + number, "status": status, "online": number == 4});
        assert_eq!(host.call(TestCall::post("/v1/vehicles").json(&van)).status, 201);
        host.advance_ms(1_000);
    }
    host
}

fn list(host: &TestHost, query: &str) -> TestAnswer {
    host.call(TestCall::get(&format!("/v1/vehicles{query}")))
}

fn names(answer: &TestAnswer) -> Vec<String> {
    let name = |vehicle: &Value| vehicle["name"].as_str().unwrap().to_owned();
    answer.json().as_array().unwrap().iter().map(name).collect()
}

fn header(answer: &TestAnswer, name: &str) -> Option<String> {
    answer.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
}

#[test]
fn the_newest_come_first_unless_it_is_asked_for_otherwise() {
    let host = stocked();
    for (query, expected) in [
        ("", ["v4", "v3", "v2", "v1", "v0"]),
        ("?sort=latest", ["v4", "v3", "v2", "v1", "v0"]),
        ("?sort=oldest", ["v0", "v1", "v2", "v3", "v4"]),
        ("?sort=-created_at", ["v4", "v3", "v2", "v1", "v0"]),
        ("?sort=created_at:asc", ["v0", "v1", "v2", "v3", "v4"]),
        ("?sort=updated_at:desc", ["v4", "v3", "v2", "v1", "v0"]),
    ] {
        assert_eq!(names(&list(&host, query)), expected, "{query}");
    }
    let wrong = list(&host, "?sort=color");
    let sentence =
        "The sort field is not accepted: it is none of these: created_at, updated_at, each also with a - before it.";
    assert_eq!((wrong.status, wrong.json()["error"].clone()), (422, json!(sentence)));
}

#[test]
fn a_page_names_its_neighbours_and_the_total() {
    let host = stocked();
    let page = list(&host, "?limit=2&offset=2&status=active,maintenance&api_key=flb_test_secret");
    assert_eq!((names(&page), header(&page, "x-total-count")), (vec!["v2".into(), "v1".into()], Some("5".into())));
    let status = "/v1/vehicles?status=active%2Cmaintenance&limit=2&offset=";
    let links = format!("<{status}4>; rel=\"next\", <{status}0>; rel=\"prev\", <{status}0>; rel=\"first\"");
    assert_eq!(header(&page, "link"), Some(links));
    let last = list(&host, "?limit=2&page=3");
    assert_eq!((names(&last), header(&last, "x-total-count")), (vec!["v0".into()], Some("5".into())));
    let beyond = list(&host, "?limit=2&page=4");
    assert_eq!((names(&beyond), header(&beyond, "x-total-count")), (vec![], Some("5".into())));
    let all = list(&host, "");
    assert_eq!((header(&all, "x-total-count"), header(&all, "link")), (Some("5".into()), None));
}

#[test]
fn a_page_has_bounds() {
    let host = stocked();
    for query in ["limit=-1", "limit=ten", "limit=1.5", "limit=", "page=0", "offset=-1", "offset=100001"] {
        assert_eq!(list(&host, &format!("?{query}")).status, 422, "{query}");
    }
    assert_eq!(list(&host, "?limit=100&offset=100000").json(), json!([]));
}

#[test]
fn a_limit_that_is_not_possible_becomes_the_nearest_that_is_and_is_told() {
    let host = stocked();
    for (limit, changed, entries) in [
        ("0", Some("limit=1"), 1),
        ("1", None, 1),
        ("100", None, 5),
        ("101", Some("limit=100"), 5),
        ("500", Some("limit=100"), 5),
        ("99999999999999999999", Some("limit=100"), 5),
    ] {
        let lenient = list(&host, &format!("?limit={limit}"));
        assert_eq!((names(&lenient).len(), header(&lenient, "x-changed-parameters").as_deref()), (entries, changed));
        let strict = list(&host, &format!("?limit={limit}&strict=true"));
        assert_eq!(strict.status, if changed.is_some() { 422 } else { 200 }, "{limit}: {}", strict.body);
    }
    let strict = list(&host, "?limit=500&strict=true");
    assert_eq!(strict.json()["error"], "The limit field must be between 1 and 100.");
    let links = header(&list(&host, "?limit=0&offset=2"), "link").unwrap();
    assert!(links.starts_with("</v1/vehicles?limit=1&offset=3>; rel=\"next\""), "{links}");
}

#[test]
fn every_page_says_which_limit_it_kept() {
    let host = stocked();
    let body = json!({"url": "https://example.com/hook", "events": ["order.created"]});
    let hook = host.call(TestCall::post("/v1/webhook-endpoints").json(&body)).json();
    let deliveries = format!("/v1/webhook-endpoints/{}/deliveries", hook["id"].as_str().unwrap());
    for path in ["/v1/vehicles", "/v1/places/search", "/v1/webhook-endpoints", &deliveries, "/v1/events"] {
        let answer = host.call(TestCall::get(&format!("{path}?limit=500")));
        assert_eq!((answer.status, header(&answer, "x-changed-parameters").as_deref()), (200, Some("limit=100")));
        let strict = host.call(TestCall::get(&format!("{path}?limit=500&strict=true")));
        assert_eq!(strict.status, 422, "{path}");
    }
}

#[test]
fn filters_have_operators() {
    let host = stocked();
    for (query, expected) in [
        ("name=v1", &["v1"][..]),
        ("name_not=v1&year_lt=2023", &["v2", "v0"]),
        ("year_gt=2022", &["v4", "v3"]),
        ("year_gte=2022&year_lte=2023", &["v3", "v2"]),
        ("year=2020", &["v0"]),
        ("year_in=2020,2024", &["v4", "v0"]),
        ("name_in=v0,v3", &["v3", "v0"]),
        ("name_notIn=v0,v1,v2", &["v4", "v3"]),
        ("name_like=v", &["v4", "v3", "v2", "v1", "v0"]),
        ("name_like=v3%", &["v3"]),
        ("status=maintenance", &["v3", "v1"]),
        ("status[]=maintenance", &["v3", "v1"]),
        ("status=maintenance&status=active&year=2021", &["v1"]),
        ("status_not=active", &["v3", "v1"]),
        ("online=true", &["v4"]),
        ("online=0&year_gt=2022", &["v3"]),
        ("driver_isNull=1&year=2020", &["v0"]),
        ("driver_isNotNull=1", &[]),
        ("driver_isNull=false", &[]),
        ("status=maintenance&sort=updated_at", &["v1", "v3"]),
        ("created_at=2026-05-07&year=2020", &["v0"]),
        ("created_at=2026-05-06", &[]),
        ("created_at=2026-05-01,2026-05-07&year=2020", &["v0"]),
        ("created_at_gt=2026-05-07T08:30:03Z", &["v4"]),
        ("created_at_lt=2026-05-07T08:30:01Z", &["v0"]),
        ("created_at_gt=2026-05-07", &[]),
        ("created_at_lte=2026-05-07&year=2020", &["v0"]),
        ("updated_at_gte=2026-05-07T08:30:04Z", &["v4"]),
    ] {
        let answer = list(&host, &format!("?{query}"));
        assert_eq!(answer.status, 200, "{query}: {}", answer.body);
        assert_eq!(names(&answer), expected, "{query}");
        assert_eq!(header(&answer, "x-unknown-parameters"), None, "{query}");
    }
}

#[test]
fn a_filter_with_a_wrong_value_is_refused() {
    let host = stocked();
    let many = format!("name_in={}", vec!["a"; 101].join(","));
    let filters = (0..30).map(|_| "year_not=1").collect::<Vec<_>>().join("&");
    for query in
        ["year=old", "online=perhaps", "created_at=may", "driver_isNull=perhaps", "name_like=a\u{1}b", &many, &filters]
    {
        let answer = list(&host, &format!("?{query}"));
        assert_eq!((answer.status, answer.json()["code"].clone()), (422, json!("VALIDATION_FAILED")), "{query}");
    }
}

#[test]
fn a_parameter_of_one_value_is_there_once() {
    let host = stocked();
    for (path, field) in [
        ("/v1/vehicles?limit=1&limit=2", "limit"),
        ("/v1/vehicles?limit=1&limit[]=2", "limit"),
        ("/v1/vehicles?page=1&page=2", "page"),
        ("/v1/vehicles?offset=1&offset=1", "offset"),
        ("/v1/vehicles?sort=latest&sort=oldest", "sort"),
        ("/v1/vehicles?created_at_gt=2026-05-07&created_at_gt=2026-05-08", "created_at_gt"),
        ("/v1/vehicles?created_at[]=2026-05-07&created_at[]=2026-05-08&created_at[]=2026-05-09", "created_at"),
        ("/v1/vehicles?year_gt=2020&year_gt=2022", "year_gt"),
        ("/v1/vehicles?name_like=v&name_like=w", "name_like"),
        ("/v1/vehicles?driver_isNull=1&driver_isNull=0", "driver_isNull"),
        ("/v1/drivers?query=a&query=b", "query"),
        ("/v1/drivers?nearby=1,1&nearby=2,2", "nearby"),
        ("/v1/orders?query=a&query=b", "query"),
        ("/v1/orders?on=2026-05-07&on=2026-05-08", "on"),
        ("/v1/orders?unassigned=1&unassigned=0", "unassigned"),
        ("/v1/places/search?query=a&query=b", "query"),
        ("/v1/waypoints?order=a&order=b", "order"),
        ("/v1/tracking-statuses?tracking_number=a&tracking_number=b", "tracking_number"),
        ("/v1/order-configs?key=a&key=b", "key"),
        ("/v1/events?after=a&after=b", "after"),
    ] {
        let answer = host.call(TestCall::get(path));
        let sentence = format!("The {field} field must be there only once.");
        assert_eq!((answer.status, &answer.json()["error"]), (422, &json!(sentence)), "{path}");
    }
    assert_eq!(names(&list(&host, "?limit[]=1")), ["v4"]);
    for query in ["/v1/orders?on=may", "/v1/orders?on=2026-02-30", "/v1/orders?on="] {
        let answer = host.call(TestCall::get(query));
        assert_eq!((answer.status, &answer.json()["error"]), (422, &json!("The on field must be a date.")), "{query}");
    }
}

#[test]
fn a_parameter_that_nobody_knows_is_told_or_refused() {
    let host = stocked();
    let lenient = list(&host, "?colour=red&name_near=v&online_gt=true&single=true&year=2020");
    assert_eq!(names(&lenient), ["v0"]);
    assert_eq!(header(&lenient, "x-unknown-parameters").as_deref(), Some("colour, name_near, online_gt"));
    let strict = list(&host, "?colour=red&strict=true");
    let sentence = json!("These parameters are not known: colour.");
    assert_eq!((strict.status, strict.json()["error"].clone()), (422, sentence.clone()));
    let preferred = host.call(TestCall::get("/v1/vehicles?colour=red").header("prefer", "handling=strict"));
    assert_eq!(preferred.json()["error"], sentence);
    assert_eq!(list(&host, "?year=2020&strict=1").status, 200);
}
