//! What is told of drivers: of themselves, of their vehicles, and of where they are.

use serde_json::{Value, json};

use super::{
    events::{Ear, check_told, names, reduced, with},
    routes::PASSWORD,
    stage::Stage,
};

fn driver_data(shown: &Value) -> Value {
    with(reduced(shown), json!({"driver_id": shown["id"]}))
}

fn ada() -> Value {
    json!({"name": "Ada", "email": "ada@example.com", "phone": "+65 91234567", "internal_id": "D-1", "meta": {"id": "mine"}})
}

#[tokio::test]
async fn a_driver_is_told_of_from_creation_to_deletion() {
    let stage = Stage::open().await.covers(&["event driver.created", "event driver.updated", "event driver.deleted"]);
    let mut ear = Ear::at(&stage).await;
    let made = stage.post("/v1/drivers", with(ada(), json!({"password": PASSWORD}))).await.expect(201).json();
    let (id, path) = (&made["id"], format!("/v1/drivers/{}", made["id"].as_str().expect("an id")));
    let heard = ear.hear().await;
    assert_eq!(names(&heard), ["driver.created"]);
    check_told(&heard[0], "driver.created", id, &driver_data(&made));
    assert!(!heard[0].body.to_string().contains(PASSWORD), "{}", heard[0].body);
    for (method, rest, body) in [
        ("PUT", "", json!({"name": "Ada B."})),
        ("PATCH", "", json!({"status": "inactive"})),
        ("POST", "/toggle-online", json!({"online": true})),
    ] {
        let changed = stage.call(&stage.key, method, &format!("{path}{rest}"), body).await.expect(200).json();
        let heard = ear.hear().await;
        assert_eq!(names(&heard), ["driver.updated"], "{method} {rest}");
        check_told(&heard[0], "driver.updated", id, &driver_data(&changed));
    }
    let last = stage.shown(&path).await;
    assert_eq!((&last["name"], &last["status"], &last["online"]), (&json!("Ada B."), &json!("inactive"), &json!(true)));
    stage.delete(&path).await.check(200);
    let heard = ear.hear().await;
    assert_eq!(names(&heard), ["driver.deleted"]);
    check_told(&heard[0], "driver.deleted", id, &driver_data(&last));
    stage.delete(&path).await.check(404);
    ear.hears_nothing().await;
    stage.finish().await;
}

/// His token is for him alone.
#[tokio::test]
async fn who_logs_in_and_registers_a_device_is_told_to_nobody() {
    let stage = Stage::open().await;
    let ada = stage.driver("ada").await;
    let mut ear = Ear::at(&stage).await;
    let login = json!({"identity": "ada@example.com", "password": PASSWORD});
    stage.post("/v1/drivers/login", login).await.check(200);
    let device = json!({"token": "abc", "platform": "ios"});
    stage.call(&ada.token, "POST", "/v1/drivers/register-device", device).await.check(200);
    ear.hears_nothing().await;
    stage.finish().await;
}

#[tokio::test]
async fn a_vehicle_that_is_handed_over_is_told_of_both() {
    let stage = Stage::open().await.covers(&["event driver.assigned", "event vehicle.updated"]);
    let vehicle = stage.make("/v1/vehicles", json!({"make": "Volvo", "plate_number": "SG 2"})).await;
    let of_vehicle = format!("/v1/vehicles/{vehicle}");
    let mut ear = Ear::at(&stage).await;
    let made = stage.post("/v1/drivers", with(ada(), json!({"vehicle": vehicle}))).await.expect(201).json();
    let (id, path) = (&made["id"], format!("/v1/drivers/{}", made["id"].as_str().expect("an id")));
    let heard = ear.hear().await;
    assert_eq!(names(&heard), ["vehicle.updated", "driver.created", "driver.assigned"]);
    let his = stage.shown(&of_vehicle).await;
    assert_eq!(his["driver"], *id);
    check_told(&heard[0], "vehicle.updated", &json!(vehicle), &reduced(&his));
    check_told(&heard[1], "driver.created", id, &driver_data(&made));
    check_told(&heard[2], "driver.assigned", id, &driver_data(&made));
    assert_eq!((&made["vehicle"]["id"], &heard[2].body["data"]["vehicle"]), (&json!(vehicle), &json!(vehicle)));

    let without = stage.put(&path, json!({"vehicle": null})).await.expect(200).json();
    let heard = ear.hear().await;
    assert_eq!(names(&heard), ["vehicle.updated", "driver.updated"]);
    check_told(&heard[0], "vehicle.updated", &json!(vehicle), &reduced(&stage.shown(&of_vehicle).await));
    check_told(&heard[1], "driver.updated", id, &driver_data(&without));
    assert_eq!((&heard[0].body["data"]["driver"], &heard[1].body["data"]["vehicle"]), (&Value::Null, &Value::Null));

    let again = stage.put(&path, json!({"vehicle": vehicle})).await.expect(200).json();
    let heard = ear.hear().await;
    assert_eq!(names(&heard), ["vehicle.updated", "driver.updated", "driver.assigned"]);
    check_told(&heard[2], "driver.assigned", id, &driver_data(&again));
    stage.finish().await;
}

/// The keys of the specification, and beside them those that clients of the real product know. The vehicle that he drives
/// is told of as well.
#[tokio::test]
async fn where_a_driver_is_is_told_once_for_each_fix() {
    let stage = Stage::open().await.covers(&["event driver.location_changed", "event vehicle.location_changed"]);
    let vehicle = stage.make("/v1/vehicles", json!({"make": "Volvo"})).await;
    let driver = stage.make("/v1/drivers", with(ada(), json!({"vehicle": vehicle}))).await;
    let track = format!("/v1/drivers/{driver}/track");
    let mut ear = Ear::at(&stage).await;
    for (method, fix) in [
        ("POST", json!({"latitude": 1.5, "longitude": 103.5, "heading": 90, "speed": 8.5, "altitude": 15})),
        ("PUT", json!({"latitude": 1.6, "longitude": 103.6, "heading": null, "speed": null, "altitude": null})),
        ("PATCH", json!({"latitude": 1.6, "longitude": 103.6, "heading": 0, "speed": 0, "altitude": -1.5})),
    ] {
        stage.call(&stage.key, method, &track, fix.clone()).await.check(200);
        let heard = ear.hear().await;
        assert_eq!(names(&heard), ["driver.location_changed", "vehicle.location_changed"], "{method}");
        let location = json!({"type": "Point", "coordinates": [fix["longitude"], fix["latitude"]]});
        let his = json!({"vehicle_id": vehicle, "id": vehicle, "internal_id": null, "name": null, "plate_number": null,
            "driver": driver, "location": location});
        check_told(&heard[1], "vehicle.location_changed", &json!(vehicle), &with(fix.clone(), his));
        let known = json!({"driver_id": driver, "id": driver, "internal_id": "D-1", "name": "Ada",
            "phone": "+65 91234567", "location": location, "additionalData": {}});
        check_told(&heard[0], "driver.location_changed", &json!(driver), &with(fix, known));
        assert_eq!(stage.shown(&format!("/v1/vehicles/{vehicle}")).await["location"], location, "he drives it");
    }
    stage.finish().await;
}

#[tokio::test]
async fn a_fix_that_comes_late_moves_nobody_and_is_not_told() {
    let stage = Stage::open().await;
    let ada = stage.driver("ada").await;
    let track = format!("/v1/drivers/{}/track", ada.id);
    let fix = |latitude: f64, at: &str| json!({"latitude": latitude, "longitude": 103.5, "recorded_at": at});
    stage.call(&ada.token, "POST", &track, fix(1.5, "2026-05-07T08:29:30Z")).await.check(200);
    let mut ear = Ear::at(&stage).await;
    let late = stage.call(&ada.token, "POST", &track, fix(1.7, "2026-05-07T08:29:00Z")).await.expect(200).json();
    assert_eq!(late["location"], json!({"type": "Point", "coordinates": [103.5, 1.5]}));
    ear.hears_nothing().await;
    stage.call(&ada.token, "POST", &track, fix(1.8, "2026-05-07T08:29:59Z")).await.check(200);
    assert_eq!(names(&ear.hear().await), ["driver.location_changed"]);
    stage.finish().await;
}
