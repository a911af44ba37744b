//! Vehicles, as far as they are not like every other resource.

use serde_json::{Value, json};
use tenon_plugin::test_kit::{TestAnswer, TestCall, TestHost};

use crate::PLUGIN;

fn host() -> TestHost {
    TestHost::new(&PLUGIN)
}

fn create(host: &TestHost, body: &Value) -> Value {
    let answer = host.call(TestCall::post("/v1/vehicles").json(body));
    assert_eq!(answer.status, 201, "{}", answer.body);
    answer.json()
}

fn call(host: &TestHost, method: &str, vehicle: &Value, action: &str, body: &Value) -> TestAnswer {
    let path = format!("/v1/vehicles/{}{action}", vehicle["id"].as_str().unwrap());
    host.call(TestCall::new(method, &path).json(body))
}

#[test]
fn a_new_vehicle_stands_nowhere_and_is_available() {
    let van = create(&host(), &json!({}));
    let found = (&van["status"], &van["odometer_unit"], &van["location"]["coordinates"], &van["speed"]);
    assert_eq!(found, (&json!("available"), &json!("km"), &json!([0, 0]), &Value::Null));
    let parked = create(&host(), &json!({"latitude": 1.3, "longitude": 103.8}));
    assert_eq!(parked["location"]["coordinates"], json!([103.8, 1.3]));
}

#[test]
fn a_vehicle_is_tracked() {
    for method in ["POST", "PUT", "PATCH"] {
        let host = host();
        let van = create(&host, &json!({"name": "Van"}));
        let fix = json!({"latitude": 1.3, "longitude": 103.8, "heading": 90, "speed": 12.5});
        let answer = call(&host, method, &van, "/track", &fix);
        let after = answer.json();
        assert_eq!((answer.status, &after["location"]["coordinates"]), (200, &json!([103.8, 1.3])));
        assert_eq!((&after["heading"], &after["speed"], &after["name"]), (&json!(90), &json!(12.5), &json!("Van")));
        let event = host.events().pop().unwrap();
        let told =
            ["vehicle_id", "latitude", "longitude", "heading", "speed", "altitude"].map(|key| &event.payload[key]);
        assert_eq!(event.event_type, "vehicle.location_changed");
        assert_eq!(told, [&van["id"], &json!(1.3), &json!(103.8), &json!(90), &json!(12.5), &Value::Null]);
        assert_eq!(event.payload.as_object().unwrap().len(), 12);
        let known = ["id", "name", "driver", "location"].map(|key| &event.payload[key]);
        assert_eq!(known, [&van["id"], &json!("Van"), &Value::Null, &after["location"]]);
        assert_eq!(after["location_recorded_at"], "2026-05-07T08:30:00.000000Z");
    }
}

#[test]
fn a_late_fix_is_answered_and_moves_no_vehicle() {
    let host = host();
    let van = create(&host, &json!({}));
    let at = |latitude: f64, time: &str| json!({"latitude": latitude, "longitude": 1, "recorded_at": time});
    let newer = call(&host, "POST", &van, "/track", &at(2.0, "2026-05-07T08:29:50Z"));
    assert_eq!(newer.json()["location_recorded_at"], "2026-05-07T08:29:50.000000Z");
    let events = host.events().len();
    let late = call(&host, "POST", &van, "/track", &at(1.0, "2026-05-07T08:29:49Z"));
    assert_eq!((late.status, late.json(), host.events().len()), (200, newer.json(), events));
    let newest = call(&host, "POST", &van, "/track", &at(3.0, "2026-05-07T08:29:51Z"));
    assert_eq!((&newest.json()["location"]["coordinates"], host.events().len()), (&json!([1, 3]), events + 1));
    for time in ["2026-04-01", "2026-05-07T08:32:00Z", "yesterday"] {
        assert_eq!(call(&host, "POST", &van, "/track", &at(4.0, time)).status, 422, "{time}");
    }
}

#[test]
fn a_wrong_fix_moves_nothing() {
    let host = host();
    let van = create(&host, &json!({}));
    let answer = call(&host, "POST", &van, "/track", &json!({"latitude": 91, "speed": "fast"}));
    let sentences = json!([
        "The speed field must be a number.",
        "The latitude field must be between -90 and 90.",
        "The longitude field is required.",
    ]);
    assert_eq!((answer.status, answer.json()["errors"].clone()), (422, sentences));
    assert_eq!(host.events().len(), 1);
    let nowhere = host.call(TestCall::post("/v1/vehicles/vehicle_0000000000/track").json(&json!({})));
    assert_eq!(nowhere.status, 404);
}

#[test]
fn a_driver_does_not_move_vehicles() {
    let host = host();
    let van = create(&host, &json!({}));
    let path = format!("/v1/vehicles/{}/track", van["id"].as_str().unwrap());
    for method in ["POST", "PUT", "PATCH"] {
        let fix = TestCall::new(method, &path).json(&json!({"latitude": 1, "longitude": 2}));
        assert_eq!(host.call(fix.attribute("driver", "driver_0000000000").token()).status, 403, "{method}");
    }
}

#[test]
fn a_changed_vehicle_stays_where_it_is_unless_it_is_moved() {
    let host = host();
    let van = create(&host, &json!({}));
    let tracked = call(&host, "POST", &van, "/track", &json!({"latitude": 1, "longitude": 2, "heading": 90})).json();
    let same = call(&host, "PUT", &van, "", &tracked).json();
    assert_eq!((&same["location"], &same["heading"]), (&tracked["location"], &json!(90)));
    let moved = call(&host, "PUT", &van, "", &json!({"location": [3, 4]})).json();
    assert_eq!((&moved["location"]["coordinates"], &moved["heading"]), (&json!([4, 3]), &Value::Null));
    assert_eq!(moved["location_recorded_at"], moved["updated_at"]);
    let lost = call(&host, "PUT", &van, "", &json!({"location": null})).json();
    assert_eq!((&lost["location"]["coordinates"], &lost["location_recorded_at"]), (&json!([0, 0]), &Value::Null));
}

#[test]
fn a_vehicle_has_a_driver_who_exists() {
    let host = host();
    let ada = json!({"name": "Ada", "email": "ada@x.org", "phone": "+6591234567"});
    let ada = host.call(TestCall::post("/v1/drivers").json(&ada)).json();
    let van = create(&host, &json!({"driver": ada["id"]}));
    assert_eq!(van["driver"], ada["id"]);
    let list = host.call(TestCall::get(&format!("/v1/vehicles?driver={}", ada["id"].as_str().unwrap()))).json();
    assert_eq!(list, json!([van]));
    let nobody = call(&host, "PUT", &van, "", &json!({"driver": "driver_0000000000"}));
    assert_eq!(nobody.status, 404);
    let free = call(&host, "PUT", &van, "", &json!({"driver": null})).json();
    assert_eq!(free["driver"], Value::Null);
}

/// The id of a new driver.
fn driver(host: &TestHost, name: &str, phone: &str) -> Value {
    let body = json!({"name": name, "email": format!("{name}@x.org"), "phone": phone});
    host.call(TestCall::post("/v1/drivers").json(&body)).json()["id"].clone()
}

/// What is told from here on, with whom it is told of.
fn told(host: &TestHost, since: usize) -> Vec<(String, String)> {
    host.events().into_iter().skip(since).map(|event| (event.event_type, event.subject)).collect()
}

fn expected(events: &[(&str, &Value)]) -> Vec<(String, String)> {
    events.iter().map(|(name, subject)| ((*name).to_owned(), subject.as_str().unwrap().to_owned())).collect()
}

#[test]
fn a_vehicle_and_its_driver_say_the_same() {
    let host = host();
    let (ada, bob) = (driver(&host, "ada", "+6591234567"), driver(&host, "bob", "+6591234568"));
    let vehicle_of = |id: &Value| host.record("drivers", id.as_str().unwrap()).unwrap()["vehicle"].clone();
    let driver_of =
        |vehicle: &Value| host.record("vehicles", vehicle["id"].as_str().unwrap()).unwrap()["driver"].clone();
    let since = host.events().len();
    let van = create(&host, &json!({"driver": ada}));
    assert_eq!((vehicle_of(&ada), vehicle_of(&bob)), (van["id"].clone(), Value::Null));
    let names = [("vehicle.created", &van["id"]), ("driver.updated", &ada), ("driver.assigned", &ada)];
    assert_eq!(told(&host, since), expected(&names));

    let bus = create(&host, &json!({"driver": bob}));
    let since = host.events().len();
    call(&host, "PUT", &van, "", &json!({"driver": bob}));
    assert_eq!((vehicle_of(&ada), vehicle_of(&bob)), (Value::Null, van["id"].clone()));
    assert_eq!((driver_of(&van), driver_of(&bus)), (bob.clone(), Value::Null));
    let names = [
        ("vehicle.updated", &van["id"]),
        ("driver.updated", &ada),
        ("vehicle.updated", &bus["id"]),
        ("driver.updated", &bob),
        ("driver.assigned", &bob),
    ];
    assert_eq!(told(&host, since), expected(&names));

    let since = host.events().len();
    call(&host, "PUT", &van, "", &json!({"driver": bob, "color": "red"}));
    assert_eq!(told(&host, since), expected(&[("vehicle.updated", &van["id"])]));
    call(&host, "PUT", &van, "", &json!({"driver": null}));
    assert_eq!((vehicle_of(&bob), driver_of(&van)), (Value::Null, Value::Null));
}

/// As versions before this one stored it.
#[test]
fn a_vehicle_is_given_to_a_driver_who_says_already_that_it_is_his() {
    let host = host();
    let van = create(&host, &json!({}));
    let ada = "driver_0000000ada";
    host.put_record("drivers", ada, &json!({"id": ada, "name": "Ada", "vehicle": van["id"]}));
    assert_eq!(call(&host, "PUT", &van, "", &json!({"driver": ada})).json()["driver"], ada);
    assert_eq!(host.record("vehicles", van["id"].as_str().unwrap()).unwrap()["driver"], ada);
}

/// Ada and a van, as versions before this one left them: one of the two records names the other.
fn one_sided(host: &TestHost, names: &str) -> (Value, Value) {
    let (ada, van) = (driver(host, "ada", "+6591234567"), create(host, &json!({})));
    let (collection, id, other) = if names == "vehicle" {
        ("drivers", ada.as_str().unwrap(), &van["id"])
    } else {
        ("vehicles", van["id"].as_str().unwrap(), &ada)
    };
    let mut record = host.record(collection, id).unwrap();
    record[names] = other.clone();
    host.put_record(collection, id, &record);
    (ada, van)
}

/// What the two records say.
fn said(host: &TestHost, ada: &Value, van: &Value) -> (Value, Value) {
    let of = |collection: &str, id: &Value, name: &str| {
        host.record(collection, id.as_str().unwrap()).map_or(Value::Null, |record| record[name].clone())
    };
    (of("drivers", ada, "vehicle"), of("vehicles", &van["id"], "driver"))
}

#[test]
fn a_vehicle_that_names_its_driver_already_is_given_to_him_by_naming_him_again() {
    let host = host();
    let (ada, van) = one_sided(&host, "driver");
    call(&host, "PUT", &van, "", &json!({"name": "Van"}));
    assert_eq!(said(&host, &ada, &van), (Value::Null, ada.clone()), "nobody was named");
    let again = [("vehicle.updated", &van["id"]), ("driver.updated", &ada), ("driver.assigned", &ada)];
    for events in [&again[..], &again[..1]] {
        let since = host.events().len();
        assert_eq!(call(&host, "PUT", &van, "", &json!({"driver": ada})).status, 200);
        assert_eq!(said(&host, &ada, &van), (van["id"].clone(), ada.clone()));
        assert_eq!(told(&host, since), expected(events));
    }
}

#[test]
fn a_driver_who_names_his_vehicle_already_gets_it_by_naming_it_again() {
    let host = host();
    let (ada, van) = one_sided(&host, "vehicle");
    let put = |body: Value| host.call(TestCall::put(&format!("/v1/drivers/{}", ada.as_str().unwrap())).json(&body));
    put(json!({"city": "Singapore"}));
    assert_eq!(said(&host, &ada, &van), (van["id"].clone(), Value::Null), "no vehicle was named");
    let again = [("vehicle.updated", &van["id"]), ("driver.updated", &ada)];
    for events in [&again[..], &again[1..]] {
        let since = host.events().len();
        assert_eq!(put(json!({"vehicle": van["id"]})).status, 200);
        assert_eq!(said(&host, &ada, &van), (van["id"].clone(), ada.clone()));
        assert_eq!(told(&host, since), expected(events));
    }
}

#[test]
fn a_vehicle_whose_driver_does_not_know_of_it_is_nobodys_once_he_goes_or_has_none() {
    for (method, body) in [("DELETE", Value::Null), ("PUT", json!({"vehicle": null}))] {
        let host = host();
        let (ada, van) = one_sided(&host, "driver");
        let path = format!("/v1/drivers/{}", ada.as_str().unwrap());
        assert_eq!(host.call(TestCall::new(method, &path).json(&body)).status, 200, "{method}");
        assert_eq!(said(&host, &ada, &van), (Value::Null, Value::Null), "{method}");
    }
}

#[test]
fn a_vehicle_whose_driver_was_deleted_long_ago_is_sent_back_as_it_was_read() {
    let host = host();
    let (ada, van) = (driver(&host, "ada", "+6591234567"), create(&host, &json!({})));
    let gone = "driver_0000000000";
    host.put_record("vehicles", van["id"].as_str().unwrap(), &json!({"id": van["id"], "driver": gone}));
    assert_eq!(call(&host, "PUT", &van, "", &json!({"driver": gone, "name": "Van"})).json()["name"], "Van");
    assert_eq!(call(&host, "PUT", &van, "", &json!({"driver": ada})).status, 200);
    assert_eq!(said(&host, &ada, &van), (van["id"].clone(), ada.clone()));
}

#[test]
fn a_deleted_vehicle_is_nobodys() {
    let host = host();
    let ada = driver(&host, "ada", "+6591234567");
    let van = create(&host, &json!({"driver": ada}));
    let since = host.events().len();
    assert_eq!(call(&host, "DELETE", &van, "", &json!({})).status, 200);
    assert_eq!(host.record("drivers", ada.as_str().unwrap()).unwrap()["vehicle"], Value::Null);
    assert_eq!(told(&host, since), expected(&[("driver.updated", &ada), ("vehicle.deleted", &van["id"])]));
}

#[test]
fn a_vehicle_for_somebody_who_is_not_there_is_not_made() {
    let host = host();
    let answer = host.call(TestCall::post("/v1/vehicles").json(&json!({"driver": "driver_0000000000"})));
    assert_eq!(answer.status, 404);
    assert_eq!((host.call(TestCall::get("/v1/vehicles")).json(), host.events().len()), (json!([]), 0));
}

#[test]
fn there_are_no_vendors_yet() {
    let answer = host().call(TestCall::post("/v1/vehicles").json(&json!({"vendor": "vendor_0123456789"})));
    assert_eq!((answer.status, answer.json()["error"].clone()), (422, json!("The vendor field is not supported yet.")));
}
