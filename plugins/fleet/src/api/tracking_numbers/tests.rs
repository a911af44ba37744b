//! Tracking numbers as callers see them: real handlers on the host in memory.

use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde_json::{Value, json};
use tenon_plugin::test_kit::{TestAnswer, TestCall, TestHost};

use crate::api::seeds::{
    ADA, BOB, ENTITY, NUMBER, NUMBER_TEXT, ORDER, as_driver, host, id_of, number, refusal, refused, told,
};
use crate::rules::tracking::is_number;

fn create(host: &TestHost, body: &Value) -> TestAnswer {
    host.call(TestCall::post("/v1/tracking-numbers").json(body))
}

fn of_entity() -> Value {
    json!({"region": "sg", "owner": ENTITY})
}

fn path(id: &str) -> String {
    format!("/v1/tracking-numbers/{id}")
}

fn from_qr(code: &str) -> TestCall {
    TestCall::post("/v1/tracking-numbers/from-qr").json(&json!({"code": code}))
}

/// What a camera reads off a picture.
fn read_qr(file: &[u8]) -> String {
    let mut decoder = png::Decoder::new(std::io::Cursor::new(file));
    decoder.set_transformations(png::Transformations::EXPAND);
    let mut reader = decoder.read_info().unwrap();
    let mut grey = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut grey).unwrap();
    let (width, height) = (info.width as usize, info.height as usize);
    let shade = |x: usize, y: usize| grey[y * width + x];
    rqrr::PreparedImage::prepare_from_greyscale(width, height, shade).detect_grids()[0].decode().unwrap().1
}

#[test]
fn a_created_number_can_be_read_by_its_id_and_by_itself() {
    let host = host();
    let answer = create(&host, &of_entity());
    let made = answer.json();
    assert_eq!(answer.status, 201, "{}", answer.body);
    let text = made["tracking_number"].as_str().unwrap();
    assert!(is_number(text) && text.ends_with("SG"), "{text}");
    assert_eq!((&made["subject"], &made["region"], &made["type"]), (&json!(ENTITY), &json!("SG"), &json!("country")));
    assert_eq!(
        (&made["status"], &made["status_code"], &made["url"]),
        (&json!("Created"), &json!("CREATED"), &json!(null))
    );
    for name in [made["id"].as_str().unwrap(), text] {
        assert_eq!(host.call(TestCall::get(&path(name))).json(), made);
    }
    assert_eq!(made.get("statuses").or(made.get("belongs")), None);
    assert_eq!(told(&host), ["tracking_number.created", "tracking_status.created"]);
    assert_eq!(host.events()[0].payload["created_at"], "2026-05-07 08:30:00");
}

#[test]
fn the_pictures_of_a_number_hold_it() {
    let made = create(&host(), &of_entity()).json();
    let picture = |name: &str| BASE64_STANDARD.decode(made[name].as_str().unwrap()).unwrap();
    assert_eq!(json!(read_qr(&picture("qr_code"))), made["tracking_number"]);
    assert!(picture("barcode").starts_with(b"\x89PNG"));
}

#[test]
fn the_owner_may_be_named_by_the_callers_own_id() {
    let made =
        create(&host(), &json!({"region": "Vienna", "owner": "A-1", "type": "city", "status": "picked up"})).json();
    assert_eq!((&made["subject"], &made["type"], &made["region"]), (&json!(ORDER), &json!("city"), &json!("VIEN")));
    assert_eq!((&made["status"], &made["status_code"]), (&json!("Picked Up"), &json!("PICKED_UP")));
}

/// Hosts draw the same; so what the first one drew is taken in the others.
#[test]
fn an_id_or_a_number_that_is_taken_is_drawn_anew() {
    let drawn = create(&host(), &of_entity()).json();
    let (id, text) = (drawn["id"].as_str().unwrap(), drawn["tracking_number"].as_str().unwrap());
    for (taken, by) in [(id, "ACM0000000002SG"), ("track_0000000002", text)] {
        let host = host();
        host.put_record("tracking-numbers", taken, &number(taken, by, ORDER, false));
        let other = create(&host, &of_entity()).json();
        assert!(other["id"] != taken && other["tracking_number"] != by, "{other}");
        assert_eq!(host.record("tracking-numbers", taken).unwrap()["subject"], ORDER);
    }
}

#[test]
fn every_fault_of_a_number_is_told_at_once() {
    let answer = create(&host(), &json!({"type": "planet", "region": "東京", "colour": "red"}));
    refused(&answer, 422, "VALIDATION_FAILED");
    assert_eq!(answer.json()["errors"].as_array().unwrap().len(), 3, "{}", answer.body);
}

#[test]
fn a_field_that_nobody_reads_is_told_and_refused_in_strict_mode() {
    let host = host();
    let body = json!({"region": "SG", "owner": ENTITY, "colour": "red"});
    let answer = create(&host, &body);
    assert!(answer.headers.contains(&("x-unknown-fields".to_owned(), "colour".to_owned())), "{:?}", answer.headers);
    let strict = host.call(TestCall::post("/v1/tracking-numbers?strict=true").json(&body));
    refused(&strict, 422, "VALIDATION_FAILED");
}

#[test]
fn an_owner_that_is_not_there_is_not_found() {
    let host = host();
    for owner in ["order_0000000009", "entity_0000000009", "nobody", "driver_0000000ada"] {
        refused(&create(&host, &json!({"region": "SG", "owner": owner})), 404, "RESOURCE_NOT_FOUND");
    }
    let foreign = TestCall::post("/v1/tracking-numbers").json(&of_entity()).tenant("umbra/test");
    refused(&host.call(foreign), 404, "RESOURCE_NOT_FOUND");
    assert!(host.events().is_empty());
}

#[test]
fn an_order_has_three_numbers_at_most() {
    let host = host();
    let body = json!({"region": "SG", "owner": ORDER});
    for _ in 1..3 {
        assert_eq!(create(&host, &body).status, 201);
    }
    let expected = "The owner field is not accepted: it has 3 tracking numbers already.";
    assert_eq!(refusal(&create(&host, &body)), (422, expected.to_owned()));
}

/// More than are allowed today may have been allowed before.
#[test]
fn an_order_goes_away_with_all_its_numbers() {
    let host = host();
    for nth in 2..10 {
        let id = format!("track_{nth:010}");
        host.put_record("tracking-numbers", &id, &number(&id, &format!("ACM{nth:010}SG"), ORDER, false));
    }
    assert_eq!(host.call(TestCall::delete(&format!("/v1/orders/{ORDER}"))).status, 200);
    assert_eq!(host.call(TestCall::get(&format!("/v1/tracking-numbers?owner={ORDER}"))).json(), json!([]));
}

#[test]
fn numbers_are_listed_newest_first_and_filtered() {
    let host = host();
    host.advance_ms(1);
    let made = create(&host, &of_entity()).json();
    let list = |query: &str| host.call(TestCall::get(&format!("/v1/tracking-numbers{query}"))).json();
    let ids = |list: Value| list.as_array().unwrap().iter().map(|one| one["id"].clone()).collect::<Vec<_>>();
    assert_eq!(ids(list("")), [made["id"].clone(), json!(NUMBER)]);
    assert_eq!(list("?sort=oldest").as_array().unwrap()[0].get("statuses"), None);
    for query in [format!("?owner={ORDER}"), format!("?tracking_number={NUMBER_TEXT}"), "?status_isNull=1".to_owned()] {
        assert_eq!(ids(list(&query)), [json!(NUMBER)], "{query}");
    }
    let unknown = host.call(TestCall::get("/v1/tracking-numbers?strict=true&colour=red"));
    refused(&unknown, 422, "VALIDATION_FAILED");
}

#[test]
fn a_number_that_was_asked_for_besides_can_be_deleted() {
    let host = host();
    let made = create(&host, &of_entity()).json();
    let status = host.call(TestCall::get("/v1/tracking-statuses")).json()[0]["id"].as_str().unwrap().to_owned();
    let answer = host.call(TestCall::delete(&path(made["tracking_number"].as_str().unwrap())));
    let expected =
        json!({"id": made["id"], "object": "tracking_number", "time": "2026-05-07T08:30:00.000000Z", "deleted": true});
    assert_eq!((answer.status, answer.json()), (200, expected));
    let gone = [path(made["id"].as_str().unwrap()), format!("/v1/tracking-statuses/{status}")];
    for path in gone {
        refused(&host.call(TestCall::get(&path)), 404, "RESOURCE_NOT_FOUND");
    }
    assert_eq!(told(&host).last().unwrap(), "tracking_number.deleted");
}

#[test]
fn the_number_of_an_order_stays_as_long_as_the_order() {
    let host = host();
    for name in [NUMBER, NUMBER_TEXT] {
        refused(&host.call(TestCall::delete(&path(name))), 400, "TRACKING_NUMBER_IN_USE");
    }
    assert_eq!(host.call(TestCall::get(&path(NUMBER))).status, 200);
}

#[test]
fn unknown_malformed_and_foreign_numbers_look_the_same() {
    let host = host();
    let answers = [
        host.call(TestCall::get(&path("track_0000000009"))),
        host.call(TestCall::get(&path("ACM9999999999SG"))),
        host.call(TestCall::get(&path("x"))),
        host.call(TestCall::get(&path(NUMBER)).tenant("umbra/test")),
        host.call(TestCall::get(&path(NUMBER_TEXT)).tenant("umbra/test")),
        host.call(TestCall::delete(&path(NUMBER)).tenant("umbra/test")),
        host.call(from_qr(NUMBER_TEXT).tenant("umbra/test")),
    ];
    for answer in answers {
        refused(&answer, 404, "RESOURCE_NOT_FOUND");
    }
}

#[test]
fn a_code_leads_to_what_it_names() {
    let host = host();
    let made = create(&host, &of_entity()).json();
    for code in [made["tracking_number"].as_str().unwrap(), made["id"].as_str().unwrap(), ENTITY] {
        assert_eq!(id_of(&host.call(from_qr(code))), ENTITY, "{code}");
    }
    let entity = host.call(TestCall::post("/v1/entities").json(&json!({"name": "Crate", "type": "parcel"}))).json();
    let number = &entity["tracking_number"]["tracking_number"];
    assert_eq!(host.call(from_qr(number.as_str().unwrap())).json(), entity);
    for code in [NUMBER_TEXT, NUMBER, ORDER, " ACM0000000001SG\\n"] {
        let code = code.replace("\\n", " ");
        assert_eq!(id_of(&host.call(from_qr(&code))), ORDER, "{code}");
    }
}

#[test]
fn a_code_that_names_nothing_is_not_found() {
    let host = host();
    host.put_record(
        "tracking-numbers",
        "track_0000000002",
        &number("track_0000000002", "ACM0000000002SG", "order_0000000009", true),
    );
    for code in
        ["ACM9999999999SG", "ACM0000000002SG", "order_0000000009", "entity_0000000009", "x", "https://example.com"]
    {
        refused(&host.call(from_qr(code)), 404, "RESOURCE_NOT_FOUND");
    }
    for body in [json!({}), json!({"code": " "}), json!({"code": 7}), json!({"code": "x".repeat(513)})] {
        let answer = host.call(TestCall::post("/v1/tracking-numbers/from-qr").json(&body));
        refused(&answer, 422, "VALIDATION_FAILED");
    }
}

#[test]
fn a_driver_scans_what_he_carries_and_manages_nothing() {
    let host = host();
    for (code, expected) in [(NUMBER_TEXT, ORDER), (ENTITY, ENTITY)] {
        assert_eq!(id_of(&host.call(as_driver(from_qr(code), ADA))), expected);
        refused(&host.call(as_driver(from_qr(code), BOB)), 404, "RESOURCE_NOT_FOUND");
    }
    let calls = [
        TestCall::post("/v1/tracking-numbers").json(&of_entity()),
        TestCall::get("/v1/tracking-numbers"),
        TestCall::get(&path(NUMBER)),
        TestCall::get(&path("track_0000000009")),
        TestCall::delete(&path(NUMBER)),
    ];
    for call in calls {
        refused(&host.call(as_driver(call, ADA)), 403, "API_FORBIDDEN");
    }
}
