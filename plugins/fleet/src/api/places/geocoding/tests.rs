//! Addresses and where they are, with a geocoder and without.

use serde_json::{Value, json};
use tenon_plugin::tasks::Outcome;
use tenon_plugin::test_kit::{TestCall, TestHost, response};

use crate::PLUGIN;

const THEN: &str = "place-located";

fn with_geocoder() -> TestHost {
    TestHost::new(&PLUGIN).setting("geocoder", "true")
}

fn create(host: &TestHost, body: &Value) -> String {
    let answer = host.call(TestCall::post("/v1/places").json(body));
    assert_eq!(answer.status, 201, "{}", answer.body);
    answer.json()["id"].as_str().unwrap().to_owned()
}

fn place(host: &TestHost, id: &str) -> Value {
    host.call(TestCall::get(&format!("/v1/places/{id}"))).json()
}

/// The one question on its way is answered.
fn answer(host: &TestHost, outcome: Outcome) {
    let [asked] = host.effects().try_into().unwrap();
    host.settle(THEN, &asked.effect.key, outcome);
    host.run_due();
}

fn found() -> Outcome {
    Outcome::Answered(response(200, &json!({"latitude": 1.28, "longitude": 103.85})))
}

#[test]
fn an_address_is_located_after_the_answer() {
    let host = with_geocoder();
    let id = create(&host, &json!({"street1": "2 Bay Rd", "country": "SG"}));
    let [asked] = host.effects().try_into().unwrap();
    let call = (asked.effect.call.destination.as_str(), asked.effect.call.path.as_str());
    assert_eq!((call, asked.effect.context.as_str()), (("geocoder", "/geocode"), r#"{"address":"2 Bay Rd, SG"}"#));
    assert_eq!(place(&host, &id)["location"]["coordinates"], json!([0, 0]));
    answer(&host, found());
    assert_eq!(place(&host, &id)["location"]["coordinates"], json!([103.85, 1.28]));
    let told = host.events().pop().unwrap();
    assert_eq!((told.event_type.as_str(), told.subject.as_str()), ("place.updated", id.as_str()));
    assert!(host.effects().is_empty());
}

#[test]
fn nobody_is_asked_without_the_setting_or_without_need() {
    let host = TestHost::new(&PLUGIN);
    create(&host, &json!({"street1": "2 Bay Rd"}));
    assert!(host.effects().is_empty());
    let host = with_geocoder();
    create(&host, &json!({"street1": "2 Bay Rd", "location": [1, 2]}));
    create(&host, &json!({"name": "Depot"}));
    assert!(host.effects().is_empty());
}

#[test]
fn an_address_of_an_order_is_asked_for_too() {
    let host = with_geocoder();
    let order = json!({"pickup": "2 Bay Rd", "dropoff": [1, 2]});
    assert_eq!(host.call(TestCall::post("/v1/orders").json(&order)).status, 201);
    assert_eq!(host.effects().len(), 1);
}

#[test]
fn an_answer_that_comes_too_late_changes_nothing() {
    let changes = [(json!({"location": [5, 6]}), json!([6, 5])), (json!({"street1": "3 Bay Rd"}), json!([0, 0]))];
    for (change, expected) in changes {
        let host = with_geocoder();
        let id = create(&host, &json!({"street1": "2 Bay Rd"}));
        let first = host.effects()[0].effect.key.clone();
        host.advance_ms(1);
        host.call(TestCall::put(&format!("/v1/places/{id}")).json(&change));
        host.settle(THEN, &first, found());
        host.run_due();
        assert_eq!(place(&host, &id)["location"]["coordinates"], expected, "{change}");
    }
    let host = with_geocoder();
    let id = create(&host, &json!({"street1": "2 Bay Rd"}));
    host.call(TestCall::delete(&format!("/v1/places/{id}")));
    answer(&host, found());
    assert_eq!(place(&host, &id)["code"], "RESOURCE_NOT_FOUND");
}

#[test]
fn an_address_that_changes_is_asked_for_again() {
    let host = with_geocoder();
    let id = create(&host, &json!({"street1": "2 Bay Rd"}));
    let path = format!("/v1/places/{id}");
    host.advance_ms(1);
    host.call(TestCall::put(&path).json(&json!({"phone": "+6561234567"})));
    assert_eq!(host.effects().len(), 1, "the address is the same");
    host.call(TestCall::put(&path).json(&json!({"city": "Singapore"})));
    assert_eq!(host.effects().len(), 2);
}

#[test]
fn where_an_address_was_says_nothing_of_another_one() {
    let host = with_geocoder();
    let id = create(&host, &json!({"street1": "2 Bay Rd", "country": "SG"}));
    answer(&host, found());
    host.advance_ms(1);
    let path = format!("/v1/places/{id}");
    let moved = host.call(TestCall::put(&path).json(&json!({"street1": "9 Hill"}))).json();
    assert_eq!(moved["location"]["coordinates"], json!([0, 0]));
    let [asked] = host.effects().try_into().unwrap();
    assert_eq!(asked.effect.context, r#"{"address":"9 Hill, SG"}"#);
    // What was read before anybody knew is sent back with a new street.
    let mut read = moved;
    read["street1"] = json!("10 Hill");
    host.advance_ms(1);
    host.call(TestCall::put(&path).json(&read));
    assert_eq!(host.effects().len(), 2);
    let given = host.call(TestCall::put(&path).json(&json!({"street1": "11 Hill", "location": [5, 6]}))).json();
    assert_eq!((&given["location"]["coordinates"], host.effects().len()), (&json!([6, 5]), 2));
}

#[test]
fn a_stop_that_goes_to_another_address_takes_only_a_position_that_was_given() {
    for (first, expected) in
        [(json!({"street1": "2 Bay Rd", "location": [1, 2]}), json!([2, 1])), (json!("2 Bay Rd"), json!([0, 0]))]
    {
        let host = with_geocoder();
        let stops = json!([first, {"street1": "3 Quay", "location": [3, 4]}]);
        let body = json!({"type": "food", "waypoints": stops});
        let payload = host.call(TestCall::post("/v1/payloads").json(&body)).json();
        for asked in host.effects() {
            host.settle(THEN, &asked.effect.key, found());
        }
        host.run_due();
        let path = format!("/v1/waypoints/{}", payload["waypoints"][0]["waypoint_id"].as_str().unwrap());
        let moved = host.call(TestCall::patch(&path).json(&json!({"street1": "9 Hill"}))).json();
        assert_eq!((&moved["street1"], &moved["location"]["coordinates"]), (&json!("9 Hill"), &expected));
    }
}

#[test]
fn what_a_caller_gave_stays_whatever_becomes_of_the_address() {
    for host in [TestHost::new(&PLUGIN), with_geocoder()] {
        let id = create(&host, &json!({"street1": "2 Bay Rd", "location": [1, 2]}));
        let path = format!("/v1/places/{id}");
        let put = |body: &Value| host.call(TestCall::put(&path).json(body)).json()["location"]["coordinates"].clone();
        assert_eq!(put(&json!({"street1": "9 Hill"})), json!([2, 1]));
        let mut read = place(&host, &id);
        read["street1"] = json!("10 Hill");
        assert_eq!((put(&read), host.effects().len()), (json!([2, 1]), 0));
        assert_eq!(put(&json!({"location": null})), json!([0, 0]));
    }
}

#[test]
fn what_is_sent_back_as_it_was_read_says_nothing_of_where_it_is() {
    let host = with_geocoder();
    let id = create(&host, &json!({"street1": "2 Bay Rd"}));
    let path = format!("/v1/places/{id}");
    let put = |body: &Value| host.call(TestCall::put(&path).json(body)).json()["location"]["coordinates"].clone();
    let mut before = place(&host, &id);
    answer(&host, found());
    before["phone"] = json!("+6561234567");
    assert_eq!(put(&before), json!([103.85, 1.28]), "located since it was read");
    let mut located = place(&host, &id);
    assert!(located.get("find").is_none(), "{located}");
    located["street1"] = json!("9 Hill");
    host.advance_ms(1);
    assert_eq!((put(&located), host.effects().len()), (json!([0, 0]), 1), "it was of the other address");
    answer(&host, found());
    assert_eq!((put(&json!({"location": null})), host.effects().len()), (json!([0, 0]), 0));
}

#[test]
fn what_is_made_at_nought_and_nought_is_asked_for() {
    let host = with_geocoder();
    create(&host, &json!({"street1": "2 Bay Rd", "location": {"type": "Point", "coordinates": [0, 0]}}));
    assert_eq!(host.effects().len(), 1);
    let pickup = json!({"street1": "3 Bay Rd", "latitude": 0, "longitude": 0});
    let order = json!({"pickup": pickup, "dropoff": [1, 2]});
    assert_eq!(host.call(TestCall::post("/v1/orders").json(&order)).status, 201);
    assert_eq!(host.effects().len(), 2);
}

#[test]
fn what_no_geocoder_should_say_moves_nothing() {
    let no_positions = [json!({}), json!({"latitude": 91, "longitude": 0}), json!({"latitude": "1", "longitude": "2"})];
    let outcomes = no_positions.map(|body| Outcome::Answered(response(200, &body))).into_iter().chain([
        Outcome::Answered(response(404, &json!({}))),
        Outcome::Answered(response(500, &json!({}))),
        Outcome::NotSent("no-such-destination".to_owned()),
        Outcome::Unknown("timeout".to_owned()),
    ]);
    for outcome in outcomes {
        let host = with_geocoder();
        let id = create(&host, &json!({"street1": "2 Bay Rd"}));
        answer(&host, outcome);
        assert_eq!(place(&host, &id)["location"]["coordinates"], json!([0, 0]));
    }
}
