//! Where drivers are.

use super::*;

fn track(host: &TestHost, id: &str, body: &Value) -> TestAnswer {
    post(host, &format!("{}/track", path(id)), body)
}

#[test]
fn a_track_moves_the_driver_and_tells_it() {
    let host = host();
    let id = created(&host, "Ada", json!({"internal_id": "A1"}));
    host.advance_ms(5000);
    let fix = json!({"latitude": 1.3521, "longitude": 103.8198, "heading": 90, "speed": 8.5, "altitude": 15});
    let answer = track(&host, &id, &fix);
    let moved = answer.json();
    assert_eq!((answer.status, &moved["location"]["coordinates"]), (200, &json!([103.8198, 1.3521])));
    assert_eq!((&moved["latitude"], &moved["longitude"]), (&json!(1.3521), &json!(103.8198)));
    assert_eq!((&moved["heading"], &moved["speed"], &moved["name"]), (&json!(90), &json!(9), &json!("Ada")));
    assert_eq!(
        (&moved["updated_at"], &moved["location_recorded_at"]),
        (&json!("2026-05-07T08:30:05.000000Z"), &moved["updated_at"])
    );
    assert_eq!(host.record("drivers", &id), Some(moved.clone()));
    let event = last_event(&host);
    assert_eq!((event.event_type.as_str(), event.subject.as_str()), ("driver.location_changed", id.as_str()));
    let known = json!({"id": id, "internal_id": "A1", "name": "Ada", "phone": moved["phone"],
        "location": {"type": "Point", "coordinates": [103.8198, 1.3521]}, "additionalData": {}});
    assert_eq!(event.payload, with(with(fix, json!({ "driver_id": id })), known));
}

#[test]
fn all_three_methods_track() {
    let host = host();
    let id = created(&host, "ada", json!({}));
    for method in ["POST", "PUT", "PATCH"] {
        let call =
            TestCall::new(method, &format!("{}/track", path(&id))).json(&json!({"latitude": 1, "longitude": "0"}));
        assert_eq!(host.call(call).status, 200);
    }
    assert_eq!(host.events().len(), 4);
}

#[test]
fn a_device_that_knows_no_position_moves_nobody() {
    let host = host();
    let id = created(&host, "ada", json!({}));
    let track = |latitude: f64, longitude: f64| {
        let fix = json!({"latitude": latitude, "longitude": longitude});
        host.call(TestCall::post(&format!("{}/track", path(&id))).json(&fix)).json()["location"]["coordinates"].clone()
    };
    assert_eq!(track(48.5, 16.5), json!([16.5, 48.5]));
    let events = host.events().len();
    assert_eq!(track(0.0, 0.0), json!([16.5, 48.5]));
    assert_eq!(host.events().len(), events);
    assert_eq!(track(0.0, 16.5), json!([16.5, 0]), "the equator is somewhere");
}

#[test]
fn a_driver_tracks_himself_and_nobody_else() {
    let host = host();
    let (ada, eve) = (created(&host, "ada", json!({})), created(&host, "eve", json!({})));
    let fix = json!({"latitude": 1, "longitude": 1});
    let by = |me: &str, whom: &str| {
        host.call(as_driver(TestCall::post(&format!("{}/track", path(whom))).json(&fix), me)).status
    };
    assert_eq!((by(&ada, &ada), by(&ada, &eve), by(&eve, &ada)), (200, 404, 404));
    assert_eq!(host.record("drivers", &eve).unwrap()["latitude"], Value::Null);
}

#[test]
fn a_fix_that_is_not_on_the_earth_changes_nothing() {
    let host = host();
    let id = created(&host, "ada", json!({}));
    let (driver, events) = (host.record("drivers", &id), host.events().len());
    for body in [
        json!({}),
        json!({"latitude": 1}),
        json!({"latitude": 91, "longitude": 0}),
        json!({"latitude": "north", "longitude": 0}),
        json!({"latitude": 1, "longitude": 1, "timestamp": "yesterday"}),
        json!({"latitude": 1, "longitude": 1, "timestamp": "2026-04-01"}),
        json!({"latitude": 1, "longitude": 1, "recorded_at": "2026-05-07T08:32:00Z"}),
        json!({"latitude": 1, "longitude": 1, "recorded_at": [1]}),
    ] {
        assert_eq!(track(&host, &id, &body).status, 422, "{body}");
    }
    assert_eq!((host.record("drivers", &id), host.events().len()), (driver, events));
}

#[test]
fn a_late_fix_is_answered_and_moves_nobody() {
    let host = host();
    let id = created(&host, "ada", json!({}));
    let at = |latitude: f64, time: Value| json!({"latitude": latitude, "longitude": 1, "recorded_at": time});
    let newer = track(&host, &id, &at(2.0, json!("2026-05-07T08:29:50Z")));
    assert_eq!(newer.json()["location_recorded_at"], "2026-05-07T08:29:50.000000Z");
    let events = host.events().len();
    let late = track(&host, &id, &at(1.0, json!("2026-05-07T08:29:40Z")));
    assert_eq!((late.status, late.json(), host.events().len()), (200, newer.json(), events));
    let newest = track(&host, &id, &at(3.0, json!("2026-05-07T08:29:50.5Z")));
    assert_eq!((newest.status, &newest.json()["latitude"]), (200, &json!(3)));
}

#[test]
fn a_time_is_a_date_or_seconds_or_milliseconds() {
    for (field, time) in [
        ("timestamp", json!("2026-05-07T08:29:50Z")),
        ("timestamp", json!(1_778_142_590)),
        ("timestamp", json!(1_778_142_590_000_u64)),
        ("recorded_at", json!(1_778_142_590.0)),
        ("recorded_at", json!("2026-05-07 10:29:50+02:00")),
    ] {
        let host = host();
        let id = created(&host, "ada", json!({}));
        let answer = track(&host, &id, &with(json!({"latitude": 1, "longitude": 1}), json!({ field: time })));
        assert_eq!(answer.json()["location_recorded_at"], "2026-05-07T08:29:50.000000Z", "{time}");
        assert!(answer.headers.is_empty(), "{:?}", answer.headers);
    }
}

#[test]
fn a_vehicle_moves_with_its_driver() {
    let host = host();
    let vehicle = vehicle(&host);
    let id = created(&host, "ada", json!({ "vehicle": vehicle }));
    let answer = track(&host, &id, &json!({"latitude": 1, "longitude": 2, "speed": 3}));
    let stored = host.record("vehicles", vehicle.as_str().unwrap()).unwrap();
    assert_eq!((&stored["location"]["coordinates"], &stored["speed"]), (&json!([2, 1]), &json!(3)));
    assert_eq!(answer.json()["vehicle"], stored);
    assert_eq!(host.record("drivers", &id).unwrap()["vehicle"], vehicle);
    let late = track(&host, &id, &json!({"latitude": 9, "longitude": 9, "timestamp": "2026-05-06"}));
    assert_eq!(
        (late.json()["vehicle"].clone(), host.record("vehicles", vehicle.as_str().unwrap())),
        (stored.clone(), Some(stored))
    );
    let read = host.call(TestCall::get(&path(&id))).json();
    assert_eq!(read, late.json());
}

#[test]
fn a_driver_who_moves_tells_where_his_vehicle_is() {
    let host = host();
    let vehicle = vehicle(&host);
    let id = created(&host, "ada", json!({ "vehicle": vehicle }));
    let since = host.events().len();
    track(&host, &id, &json!({"latitude": 1, "longitude": 2, "heading": 7.25}));
    let told: Vec<EmittedEvent> = host.events().split_off(since);
    let names: Vec<&str> = told.iter().map(|event| event.event_type.as_str()).collect();
    assert_eq!(names, ["driver.location_changed", "vehicle.location_changed"]);
    assert_eq!((&json!(told[1].subject), &told[1].payload["driver"]), (&vehicle, &json!(id)));
    let same = ["latitude", "longitude", "heading", "speed", "altitude", "location"];
    assert_eq!(same.map(|key| &told[0].payload[key]), same.map(|key| &told[1].payload[key]));
    track(&host, &id, &json!({"latitude": 3, "longitude": 4, "timestamp": "2026-05-06"}));
    assert_eq!(host.events().len(), since + 2, "a late fix is told of nobody");
}

#[test]
fn a_vehicle_that_was_heard_later_is_not_moved_by_its_driver() {
    let host = host();
    let vehicle = vehicle(&host);
    let id = created(&host, "ada", json!({ "vehicle": vehicle }));
    let own = json!({"latitude": 5, "longitude": 6, "recorded_at": "2026-05-07T08:29:50Z"});
    let stands = post(&host, &format!("/v1/vehicles/{}/track", vehicle.as_str().unwrap()), &own).json();
    let since = host.events().len();
    let answer = track(&host, &id, &json!({"latitude": 1, "longitude": 2, "recorded_at": "2026-05-07T08:29:40Z"}));
    assert_eq!((&answer.json()["latitude"], &answer.json()["vehicle"]), (&json!(1), &stands));
    assert_eq!((host.record("vehicles", vehicle.as_str().unwrap()), host.events().len()), (Some(stands), since + 1));
}

#[test]
fn a_driver_is_shown_in_whole_numbers_and_told_as_his_device_says() {
    let host = host();
    let id = created(&host, "ada", json!({}));
    let fix = json!({"latitude": 1.25, "longitude": 2, "heading": 359.6, "speed": 8.4, "altitude": -1.5});
    let moved = track(&host, &id, &fix).json();
    let shown = ["latitude", "heading", "speed", "altitude"].map(|key| &moved[key]);
    assert_eq!(shown, [&json!(1.25), &json!(360), &json!(8), &json!(-2)]);
    let told = last_event(&host).payload;
    assert_eq!((&told["heading"], &told["speed"], &told["altitude"]), (&json!(359.6), &json!(8.4), &json!(-1.5)));
}
