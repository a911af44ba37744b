//! Tracking statuses as callers see them: real handlers on the host in memory.

use serde_json::{Value, json};
use tenon_plugin::test_kit::{TestAnswer, TestCall, TestHost};

use crate::api::seeds::{ADA, ENTITY, NUMBER, NUMBER_TEXT, ORDER, as_driver, host, id_of, refusal, refused, told};

fn enroute() -> Value {
    json!({"order": ORDER, "status": "driver enroute", "code": "driver-enroute", "details": "On the way", "latitude": 1.3, "longitude": 103.8, "city": "Singapore", "country": "sg"})
}

fn create(host: &TestHost, body: &Value) -> TestAnswer {
    host.call(TestCall::post("/v1/tracking-statuses").json(body))
}

/// The same, with other fields.
fn with(body: Value, fields: Value) -> Value {
    let mut body = body;
    body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    body
}

fn path(id: &str) -> String {
    format!("/v1/tracking-statuses/{id}")
}

fn number(host: &TestHost) -> Value {
    host.call(TestCall::get(&format!("/v1/tracking-numbers/{NUMBER}"))).json()
}

#[test]
fn a_created_status_can_be_read_and_its_number_says_the_same() {
    let host = host();
    let answer = create(&host, &enroute());
    let made = answer.json();
    assert_eq!(answer.status, 201, "{}", answer.body);
    assert_eq!((&made["status"], &made["code"]), (&json!("Driver Enroute"), &json!("DRIVER_ENROUTE")));
    assert_eq!(made["location"], json!({"type": "Point", "coordinates": [103.8, 1.3]}));
    assert_eq!((&made["tracking_number"], &made["subject"]), (&json!(NUMBER), &json!(ORDER)));
    assert_eq!((&made["city"], &made["country"], &made["province"]), (&json!("Singapore"), &json!("SG"), &json!(null)));
    assert_eq!(host.call(TestCall::get(&path(made["id"].as_str().unwrap()))).json(), made);
    let number = number(&host);
    assert_eq!((&number["status"], &number["status_code"]), (&made["status"], &made["code"]));
    assert_eq!(told(&host), ["tracking_status.created", "tracking_number.updated"]);
}

#[test]
fn a_status_names_its_number_by_id_by_text_or_by_order() {
    for name in [json!({"tracking_number": NUMBER}), json!({"tracking_number": NUMBER_TEXT}), json!({"order": "A-1"})] {
        let mut body = enroute();
        body.as_object_mut().unwrap().remove("order");
        assert_eq!(create(&host(), &with(body, name)).json()["tracking_number"], NUMBER);
    }
    for name in ["track_0000000009", "ACM9999999999SG", "x"] {
        let answer = create(&host(), &with(enroute(), json!({"tracking_number": name})));
        refused(&answer, 404, "RESOURCE_NOT_FOUND");
    }
    refused(&create(&host(), &with(enroute(), json!({"order": "order_0000000009"}))), 404, "RESOURCE_NOT_FOUND");
}

#[test]
fn a_location_is_written_in_any_form() {
    for location in [json!({"type": "Point", "coordinates": [103.8, 1.3]}), json!([1.3, 103.8]), json!("1.3,103.8")] {
        let answer = create(&host(), &with(enroute(), json!({"location": location})));
        assert_eq!(answer.json()["location"]["coordinates"], json!([103.8, 1.3]), "{location}");
    }
}

#[test]
fn every_fault_of_a_status_is_told_at_once() {
    let answer = create(&host(), &json!({"code": "AB", "country": "SGP"}));
    refused(&answer, 422, "VALIDATION_FAILED");
    let expected = [
        "The tracking_number field is required.",
        "The status field is required.",
        "The code field must be a text of at least 3 characters.",
        "The details field is required.",
        "The location field is required.",
        "The country field must be a code of two letters.",
    ];
    assert_eq!(answer.json()["errors"], json!(expected));
    for wrong in
        [json!({"latitude": 91}), json!({"latitude": null}), json!({"location": "here"}), json!({"duplicate": 3})]
    {
        refused(&create(&host(), &with(enroute(), wrong)), 422, "VALIDATION_FAILED");
    }
}

#[test]
fn the_same_status_stands_twice_only_where_that_is_wanted() {
    let host = host();
    create(&host, &enroute());
    let expected = "The tracking number already has this status.";
    assert_eq!(refusal(&create(&host, &enroute())), (422, expected.to_owned()));
    assert_eq!(create(&host, &with(enroute(), json!({"duplicate": true}))).status, 201);
}

#[test]
fn a_number_has_twenty_five_statuses_at_most() {
    let host = host();
    for _ in 0..25 {
        assert_eq!(create(&host, &with(enroute(), json!({"duplicate": true}))).status, 201);
    }
    let answer = create(&host, &with(enroute(), json!({"duplicate": true})));
    assert_eq!(refusal(&answer).1, "The tracking_number field is not accepted: it has 25 statuses already.");
}

#[test]
fn statuses_are_listed_newest_first_and_filtered() {
    let host = host();
    let first = id_of(&create(&host, &enroute()));
    host.advance_ms(1);
    let second = id_of(&create(&host, &with(enroute(), json!({"status": "Arrived", "code": "arrived"}))));
    let ids = |query: &str| {
        let answer = host.call(TestCall::get(&format!("/v1/tracking-statuses{query}")));
        answer
            .json()
            .as_array()
            .unwrap_or_else(|| panic!("{}", answer.body))
            .iter()
            .map(|one| one["id"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(ids(""), [second.clone(), first.clone()]);
    for query in
        [format!("?tracking_number={NUMBER}"), format!("?tracking_number={NUMBER_TEXT}"), format!("?order={ORDER}")]
    {
        assert_eq!(ids(&query), [second.clone(), first.clone()], "{query}");
    }
    for query in
        ["?tracking_number=ACM9999999999SG", "?tracking_number=x", "?tracking_number=", &format!("?entity={ENTITY}")]
    {
        assert!(ids(query).is_empty(), "{query}");
    }
    assert_eq!(ids("?code=ARRIVED&sort=oldest"), [second]);
}

#[test]
fn a_changed_status_changes_what_the_number_says() {
    let host = host();
    let id = id_of(&create(&host, &enroute()));
    host.advance_ms(5_000);
    for (method, title) in [("PUT", "at the door"), ("PATCH", "at the gate")] {
        let change = json!({"status": title, "city": null, "location": [2, 3]});
        let answer = host.call(TestCall::new(method, &path(&id)).json(&change));
        let changed = answer.json();
        assert_eq!(answer.status, 200, "{}", answer.body);
        assert_eq!(
            (&changed["code"], &changed["city"], &changed["country"]),
            (&json!("DRIVER_ENROUTE"), &json!(null), &json!("SG"))
        );
        assert_eq!(changed["location"]["coordinates"], json!([3, 2]));
        assert_eq!(changed["updated_at"], "2026-05-07T08:30:05.000000Z");
        assert_eq!(number(&host)["status"], changed["status"]);
    }
    assert_eq!(told(&host)[2..4], ["tracking_status.updated", "tracking_number.updated"]);
}

#[test]
fn an_older_status_is_changed_without_a_word_of_the_number() {
    let host = host();
    let first = id_of(&create(&host, &enroute()));
    create(&host, &with(enroute(), json!({"status": "Arrived"})));
    let answer = host.call(TestCall::put(&path(&first)).json(&json!({"status": "Left"})));
    assert_eq!((answer.status, number(&host)["status"].clone()), (200, json!("Arrived")));
    assert_eq!(told(&host).last().unwrap(), "tracking_status.updated");
    let twice = host.call(TestCall::put(&path(&first)).json(&json!({"status": "arrived"})));
    refused(&twice, 422, "VALIDATION_FAILED");
}

#[test]
fn a_status_that_is_sent_back_as_it_was_read_stays_as_it_is() {
    let host = host();
    let made = create(&host, &enroute()).json();
    let answer = host.call(TestCall::put(&path(made["id"].as_str().unwrap())).json(&made));
    assert_eq!((answer.status, answer.json()), (200, made), "{}", answer.body);
    assert!(answer.headers.iter().all(|(name, _)| name != "x-unknown-fields"), "{:?}", answer.headers);
}

#[test]
fn a_status_stays_with_its_number() {
    let host = host();
    let id = id_of(&create(&host, &enroute()));
    for (body, field) in
        [(json!({"tracking_number": "track_0000000009"}), "tracking_number"), (json!({"order": ORDER}), "order")]
    {
        let answer = host.call(TestCall::put(&path(&id)).json(&body));
        assert_eq!(refusal(&answer), (422, format!("The {field} field cannot be changed here.")));
    }
    refused(&host.call(TestCall::put(&path(&id)).json(&json!({"status": null}))), 422, "VALIDATION_FAILED");
}

#[test]
fn without_its_last_status_a_number_says_what_it_said_before() {
    let host = host();
    let first = id_of(&create(&host, &enroute()));
    let last = id_of(&create(&host, &with(enroute(), json!({"status": "Arrived"}))));
    let answer = host.call(TestCall::delete(&path(&last)));
    let expected =
        json!({"id": last, "object": "tracking_status", "time": "2026-05-07T08:30:00.000000Z", "deleted": true});
    assert_eq!((answer.status, answer.json()), (200, expected));
    assert_eq!(number(&host)["status"], "Driver Enroute");
    assert_eq!(told(&host)[4..], ["tracking_status.deleted", "tracking_number.updated"]);
    host.call(TestCall::delete(&path(&first)));
    assert_eq!((number(&host)["status"].clone(), number(&host)["status_code"].clone()), (json!(null), json!(null)));
}

#[test]
fn unknown_malformed_and_foreign_statuses_look_the_same() {
    let host = host();
    let id = id_of(&create(&host, &enroute()));
    for method in ["GET", "PUT", "PATCH", "DELETE"] {
        for call in [
            TestCall::new(method, &path(&id)).tenant("umbra/test"),
            TestCall::new(method, &path("status_0000000009")),
            TestCall::new(method, &path("x")),
        ] {
            refused(&host.call(call.json(&json!({"status": "Arrived"}))), 404, "RESOURCE_NOT_FOUND");
        }
    }
    assert_eq!(host.call(TestCall::get(&path(&id))).status, 200);
}

#[test]
fn a_drivers_token_manages_no_status() {
    let host = host();
    let id = id_of(&create(&host, &enroute()));
    let calls = [
        TestCall::post("/v1/tracking-statuses").json(&enroute()),
        TestCall::get("/v1/tracking-statuses"),
        TestCall::get(&path(&id)),
        TestCall::put(&path(&id)),
        TestCall::patch(&path("status_0000000009")),
        TestCall::delete(&path(&id)),
    ];
    for call in calls {
        refused(&host.call(as_driver(call, ADA)), 403, "API_FORBIDDEN");
    }
}
