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
    let lost = call(&host, "PUT", &van, "", &json!({"location": null})).json();
    assert_eq!(lost["location"]["coordinates"], json!([0, 0]));
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

#[test]
fn there_are_no_vendors_yet() {
    let answer = host().call(TestCall::post("/v1/vehicles").json(&json!({"vendor": "vendor_0123456789"})));
    assert_eq!((answer.status, answer.json()["error"].clone()), (422, json!("The vendor field is not supported yet.")));
}
