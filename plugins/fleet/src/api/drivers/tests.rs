//! Drivers as callers see them: real handlers on the host in memory.

mod devices;
mod lists;
mod login;
mod organizations;
mod passwords;
mod tokens;
mod track;

use serde_json::{Value, json};
use tenon_plugin::test_kit::schema::check_references;
use tenon_plugin::test_kit::{EmittedEvent, TestAnswer, TestCall, TestHost};

use crate::PLUGIN;

const PASSWORD: &str = "correct horse";
const PHONE: &str = "+6591234567";

/// Every answer is held against the part of the document that is about drivers.
fn host() -> TestHost {
    let mut document: Value = serde_json::from_str(include_str!("../../openapi.json")).unwrap();
    let drivers: Value = serde_json::from_str(include_str!("../../openapi/drivers.json")).unwrap();
    for part in ["/paths", "/components/schemas", "/components/responses"] {
        let members = drivers.pointer(part).unwrap().as_object().unwrap().clone();
        document.pointer_mut(part).unwrap().as_object_mut().unwrap().extend(members);
    }
    check_references(&document);
    let document: &'static str = document.to_string().leak();
    TestHost::new(Box::leak(Box::new(PLUGIN.openapi(document)))).validate_openapi()
}

fn ada() -> Value {
    json!({"name": "Ada", "email": "ada@x.org", "phone": PHONE, "password": PASSWORD})
}

fn with(mut body: Value, more: Value) -> Value {
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body
}

fn create(host: &TestHost, body: &Value) -> TestAnswer {
    host.call(TestCall::post("/v1/drivers").json(body))
}

/// The id of a new driver of this name.
fn created(host: &TestHost, name: &str, more: Value) -> String {
    let phone = format!("+65{:08}", host.now() % 100_000_000 + name.bytes().map(u64::from).sum::<u64>());
    let body = json!({"name": name, "email": format!("{name}@x.org"), "phone": phone});
    let answer = create(host, &with(body, more));
    assert_eq!(answer.status, 201, "{}", answer.body);
    answer.json()["id"].as_str().unwrap().to_owned()
}

/// The id of one that is there.
fn vehicle(host: &TestHost) -> Value {
    let body = json!({"id": "vehicle_0123456789", "make": "Ford", "status": "active", "online": false, "odometer_unit": "km",
        "location": {"type": "Point", "coordinates": [0, 0]}});
    host.put_record("vehicles", "vehicle_0123456789", &body);
    json!("vehicle_0123456789")
}

fn path(id: &str) -> String {
    format!("/v1/drivers/{id}")
}

fn post(host: &TestHost, target: &str, body: &Value) -> TestAnswer {
    host.call(TestCall::post(target).json(body))
}

/// The driver whose token it is calls.
fn as_driver(call: TestCall, id: &str) -> TestCall {
    call.token().attribute("driver", id)
}

#[track_caller]
fn refused(answer: &TestAnswer, status: u16, code: &str, sentence: &str) {
    let body = answer.json();
    assert_eq!((answer.status, &body["code"], &body["error"]), (status, &json!(code), &json!(sentence)));
}

#[track_caller]
fn last_event(host: &TestHost) -> EmittedEvent {
    host.events().pop().expect("an event")
}

#[test]
fn a_created_driver_can_be_read_and_is_told() {
    let host = host();
    let answer = create(&host, &ada());
    let driver = answer.json();
    assert_eq!((answer.status, &driver["status"], &driver["company_name"]), (201, &json!("available"), &json!("acme")));
    let id = driver["id"].as_str().unwrap();
    assert_eq!(host.call(TestCall::get(&path(id))).json(), driver);
    assert_eq!((&driver["user"], &driver["vehicle_avatar"]), (&json!(id.replace("driver_", "user_")), &Value::Null));
    let event = last_event(&host);
    assert_eq!((event.event_type.as_str(), event.subject.as_str()), ("driver.created", id));
    assert_eq!((&event.payload["driver_id"], &event.payload["id"]), (&json!(id), &json!(id)));
    assert_eq!(event.payload["created_at"], "2026-05-07 08:30:00");
}

#[test]
fn what_a_driver_logs_in_with_is_never_shown() {
    let host = host();
    let answer = create(&host, &ada());
    let id = answer.json()["id"].as_str().unwrap().to_owned();
    let login = host.record("driver-logins", &id).unwrap();
    let hash = login["password"].as_str().unwrap();
    assert!(!login.to_string().contains(PASSWORD));
    let shown = [
        answer.body,
        host.call(TestCall::get(&path(&id))).body,
        host.call(TestCall::get("/v1/drivers")).body,
        host.record("drivers", &id).unwrap().to_string(),
        last_event(&host).payload.to_string(),
    ];
    for text in shown {
        assert!(!text.contains(hash) && !text.contains(PASSWORD) && !text.contains("password"), "{text}");
    }
}

#[test]
fn email_and_phone_belong_to_one_driver_of_an_organization() {
    let host = host();
    create(&host, &ada());
    let same_email = create(&host, &json!({"name": "Eve", "email": "ADA@x.org", "phone": "2"}));
    refused(&same_email, 422, "VALIDATION_FAILED", "The email has already been taken.");
    let same_phone = create(&host, &json!({"name": "Eve", "email": "eve@x.org", "phone": "(65) 9123-4567"}));
    refused(&same_phone, 422, "VALIDATION_FAILED", "The phone has already been taken.");
    assert_eq!(host.call(TestCall::post("/v1/drivers").json(&ada()).tenant("umbra/test")).status, 201);
    let eve = created(&host, "eve", json!({}));
    let moved = host.call(TestCall::patch(&path(&eve)).json(&json!({"email": "ada@x.org"})));
    refused(&moved, 422, "VALIDATION_FAILED", "The email has already been taken.");
}

#[test]
fn every_fault_of_a_driver_is_told_at_once() {
    let wrong = json!({"email": "nowhere", "phone": 7, "country": "Singapore", "password": "x", "vendor": "vendor_1",
        "status": "asleep", "photo": "data:x", "latitude": 1});
    let answer = create(&host(), &wrong);
    let sentences = [
        "The vendor field is not supported yet.",
        "The phone field must be a text.",
        "The longitude field is required when latitude is set.",
        "The password field must be a password of at least 8 characters.",
        "The status field must be one of: active, available, inactive.",
        "The name field is required.",
        "The email field must be a valid email address.",
        "The country field may not be longer than 2 characters.",
        "The photo field must be a URL.",
    ];
    let mut told: Vec<String> = serde_json::from_value(answer.json()["errors"].clone()).unwrap();
    // A phone that is no text is not there either.
    told.retain(|sentence| sentence != "The phone field is required.");
    assert_eq!((answer.status, told), (422, sentences.map(str::to_owned).to_vec()), "{}", answer.body);
}

#[test]
fn a_password_is_not_the_drivers_own_name() {
    let body = json!({"name": "Ada Lovelace", "email": "ada@x.org", "phone": "1", "password": "ada lovelace"});
    let sentence = "The password field must be a password that is not guessed at once.";
    refused(&create(&host(), &body), 422, "VALIDATION_FAILED", sentence);
}

#[test]
fn an_update_changes_what_it_names() {
    let host = host();
    let body = with(ada(), json!({"city": "Singapore", "meta": {"a": 1}, "license_expiry": "2030-01-31"}));
    let before = create(&host, &body).json();
    let id = before["id"].as_str().unwrap();
    host.advance_ms(5_000);
    let change = json!({"name": "Ada L.", "city": null, "status": "active", "internal_id": "A1", "online": true});
    for method in ["PUT", "PATCH"] {
        let answer = host.call(TestCall::new(method, &path(id)).json(&change));
        let after = answer.json();
        assert_eq!((answer.status, &after["name"], &after["city"]), (200, &json!("Ada L."), &Value::Null));
        assert_eq!((&after["status"], &after["internal_id"]), (&json!("active"), &json!("A1")));
        assert_eq!((&after["meta"], &after["license_expiry"]), (&json!({"a": 1}), &json!("2030-01-31")));
        assert_eq!((&after["online"], &after["email"]), (&json!(true), &before["email"]));
        assert_eq!(after["updated_at"], "2026-05-07T08:30:05.000000Z");
        assert_eq!(after.as_object().unwrap().len(), before.as_object().unwrap().len());
        assert_eq!(host.call(TestCall::get(&path(id))).json(), after);
    }
    assert_eq!(last_event(&host).event_type, "driver.updated");
    let wrong = host.call(TestCall::put(&path(id)).json(&json!({"name": null, "phone": "call me"})));
    assert_eq!((wrong.status, wrong.json()["errors"].as_array().unwrap().len()), (422, 2));
}

/// As clients do that save the whole resource.
#[test]
fn a_driver_that_is_sent_back_as_it_was_read_stays() {
    let host = host();
    let created = create(&host, &ada()).json();
    let answer = host.call(TestCall::put(&path(created["id"].as_str().unwrap())).json(&created));
    assert_eq!((answer.status, answer.json()), (200, created));
    assert!(answer.headers.iter().all(|(name, _)| name != "x-unknown-fields"), "{:?}", answer.headers);
}

#[test]
fn a_driver_of_an_earlier_version_is_changed_and_deleted_like_any_other() {
    let host = TestHost::new(&PLUGIN);
    let old =
        json!({"id": "driver_0123456789", "name": "Ada", "email": "ada@x.org", "phone": PHONE, "status": "active"});
    host.put_record("drivers", "driver_0123456789", &old);
    let target = path("driver_0123456789");
    assert_eq!(post(&host, "/v1/drivers/login", &json!({"identity": PHONE, "password": PASSWORD})).status, 401);
    assert_eq!(host.call(TestCall::put(&target).json(&json!({ "password": PASSWORD }))).status, 200);
    assert_eq!(post(&host, "/v1/drivers/login", &json!({"identity": PHONE, "password": PASSWORD})).status, 200);
    host.put_record("drivers", "driver_0000000001", &with(old, json!({"id": "driver_0000000001"})));
    for id in ["driver_0000000001", "driver_0123456789"] {
        assert_eq!(host.call(TestCall::delete(&path(id))).status, 200);
    }
}

#[test]
fn what_nobody_reads_is_told() {
    let answer = create(&host(), &with(ada(), json!({"colour": "red"})));
    assert_eq!(answer.status, 201);
    assert!(answer.headers.contains(&("x-unknown-fields".to_owned(), "colour".to_owned())), "{:?}", answer.headers);
}

#[test]
fn a_deleted_driver_is_gone_with_all_he_had() {
    let host = host();
    let id = created(&host, "ada", json!({"password": PASSWORD}));
    post(&host, "/v1/drivers/login", &json!({"identity": "ada@x.org", "password": PASSWORD}));
    let device =
        post(&host, &format!("{}/register-device", path(&id)), &json!({"token": "t", "platform": "ios"})).json();
    let answer = host.call(TestCall::delete(&path(&id)));
    assert_eq!(
        (answer.status, &answer.json()["deleted"], &answer.json()["object"]),
        (200, &json!(true), &json!("driver"))
    );
    assert_eq!(host.call(TestCall::get(&path(&id))).status, 404);
    let left = [host.record("devices", device["device"].as_str().unwrap()), host.record("driver-logins", &id)];
    assert_eq!((left, host.issued().len()), ([None, None], 0));
    let event = last_event(&host);
    assert_eq!((event.event_type.as_str(), event.subject.as_str()), ("driver.deleted", id.as_str()));
    let login = post(&host, "/v1/drivers/login", &json!({"identity": "ada@x.org", "password": PASSWORD}));
    assert_eq!(login.status, 401);
    created(&host, "ada", json!({}));
}

#[test]
fn a_vehicle_is_shown_in_place_of_its_id() {
    let host = host();
    let vehicle = vehicle(&host);
    let id = created(&host, "ada", json!({ "vehicle": vehicle }));
    let event = last_event(&host);
    assert_eq!((event.event_type.as_str(), &event.payload["vehicle"]), ("driver.assigned", &vehicle));
    assert_eq!(host.record("drivers", &id).unwrap()["vehicle"], vehicle);
    let shown = host.call(TestCall::get(&path(&id))).json();
    assert_eq!(shown["vehicle"]["id"], vehicle);
    let listed = host.call(TestCall::get("/v1/drivers")).json();
    assert_eq!(listed[0], shown);
    assert_eq!(shown["vehicle"]["driver"], json!(id));
    let same = host.call(TestCall::put(&path(&id)).json(&json!({"vehicle": shown["vehicle"]})));
    assert_eq!((same.status, last_event(&host).event_type.as_str()), (200, "driver.updated"));
    let unknown = host.call(TestCall::put(&path(&id)).json(&json!({"vehicle": "vehicle_0000000000"})));
    assert_eq!(unknown.status, 404);
}

#[test]
fn a_vehicle_knows_its_driver() {
    let host = host();
    let vehicle = vehicle(&host);
    let driver_of = |id: &Value| host.record("vehicles", id.as_str().unwrap()).unwrap()["driver"].clone();
    let ada = created(&host, "ada", json!({ "vehicle": vehicle }));
    assert_eq!(driver_of(&vehicle), json!(ada));
    let eve = created(&host, "eve", json!({ "vehicle": vehicle }));
    assert_eq!(driver_of(&vehicle), json!(eve));
    assert_eq!(host.record("drivers", &ada).unwrap()["vehicle"], Value::Null, "whose it was");
    // It is not Ada's any more, whom it does not lose with her.
    host.call(TestCall::put(&path(&ada)).json(&json!({"vehicle": null})));
    assert_eq!(driver_of(&vehicle), json!(eve));
    assert_eq!(host.call(TestCall::delete(&path(&eve))).status, 200);
    assert_eq!(driver_of(&vehicle), Value::Null);
}

#[test]
fn an_order_that_a_driver_is_given_is_there() {
    let host = TestHost::new(&PLUGIN);
    let order = post(&host, "/v1/orders", &json!({"pickup": "a", "dropoff": "b"})).json();
    let id = created(&host, "ada", json!({"job": order["id"]}));
    let event = last_event(&host);
    assert_eq!((event.event_type.as_str(), &event.payload["current_job"]), ("driver.assigned", &order["id"]));
    let free = host.call(TestCall::put(&path(&id)).json(&json!({"job": null})));
    assert_eq!(
        (free.json()["current_job"].clone(), last_event(&host).event_type),
        (Value::Null, "driver.updated".to_owned())
    );
    let unknown = host.call(TestCall::put(&path(&id)).json(&json!({"job": "order_0000000000"})));
    assert_eq!(unknown.status, 404);
}

#[test]
fn going_online_is_flipped_or_set() {
    let host = host();
    let id = created(&host, "ada", json!({}));
    let toggle = format!("{}/toggle-online", path(&id));
    for (body, expected) in
        [(json!({}), true), (json!({}), false), (json!({"online": true}), true), (json!({"online": true}), true)]
    {
        let answer = post(&host, &toggle, &body);
        assert_eq!((answer.status, &answer.json()["online"]), (200, &json!(expected)), "{body}");
    }
    assert_eq!(last_event(&host).event_type, "driver.updated");
    assert_eq!(post(&host, &toggle, &json!({"online": "yes"})).status, 422);
}

#[test]
fn a_foreign_driver_is_as_unknown_as_one_that_is_not_there() {
    let host = host();
    let id = created(&host, "ada", json!({}));
    let actions = [
        ("GET", ""),
        ("PUT", ""),
        ("PATCH", ""),
        ("DELETE", ""),
        ("POST", "/track"),
        ("POST", "/toggle-online"),
        ("POST", "/register-device"),
        ("GET", "/organizations"),
        ("GET", "/current-organization"),
        ("POST", "/switch-organization"),
        ("POST", "/change-password"),
    ];
    let body = json!({"latitude": 1, "longitude": 1, "token": "t", "platform": "ios", "next": "x",
        "password": PASSWORD, "new_password": "another horse"});
    for (method, action) in actions {
        let answer = |id: &str| {
            let call = TestCall::new(method, &format!("{}{action}", path(id))).tenant("umbra/test");
            let answer = host.call(if method == "GET" { call } else { call.json(&body) });
            let request = answer.json()["request_id"].as_str().unwrap().to_owned();
            (answer.status, answer.body.replace(&request, ""))
        };
        assert_eq!(answer(&id), answer("driver_0000000000"), "{method} {action}");
        assert_eq!(answer(&id).0, 404, "{method} {action}");
    }
}

#[test]
fn an_order_that_is_named_by_its_internal_id_is_kept_by_its_own() {
    let host = host();
    let body = json!({"pickup": "1 Dock Street", "dropoff": "22 Mill Road", "internal_id": "A-1"});
    let order = post(&host, "/v1/orders", &body).json()["id"].clone();
    let id = created(&host, "ada", json!({"job": "A-1"}));
    assert_eq!(host.record("drivers", &id).unwrap()["current_job"], order);
    host.call(TestCall::put(&path(&id)).json(&json!({"job": null})));
    let again = host.call(TestCall::put(&path(&id)).json(&json!({"job": "A-1"})));
    assert_eq!((again.status, host.record("drivers", &id).unwrap()["current_job"].clone()), (200, order));
}

#[test]
fn a_photo_is_named_by_the_id_of_a_file() {
    let host = TestHost::new(&PLUGIN);
    let picture = json!({ "data": crate::rules::picture::samples::PNG_BASE64 });
    let file = post(&host, "/v1/files/base64", &picture).json()["id"].as_str().unwrap().to_owned();
    let id = created(&host, "ada", json!({}));
    let put = |photo: &str| {
        let call = TestCall::put(&path(&id)).json(&json!({ "photo": photo })).context("base-url", "https://a.example");
        host.call(call)
    };
    let address = format!("https://a.example/v1/files/{file}/download");
    assert_eq!(put(&file).json()["photo_url"], json!(address));
    assert_eq!(put("file_0000000000").status, 404);
    assert_eq!(put("https://a.example/v1/files/file_0000000000/download").status, 404);
    let renamed = TestCall::put(&path(&id)).json(&json!({"name": "Ada B."})).context("base-url", "https://a.example");
    assert_eq!(host.call(renamed).json()["photo_url"], json!(address));
    // The address that was read names the file as well.
    assert_eq!((put(&address).status, host.record("drivers", &id).unwrap()["photo_url"].clone()), (200, json!(file)));
}

#[test]
fn whoever_reads_a_photo_gets_an_address_of_his_own() {
    let host = TestHost::new(&PLUGIN);
    let picture = json!({ "data": crate::rules::picture::samples::PNG_BASE64 });
    let file = post(&host, "/v1/files/base64", &picture).json()["id"].clone();
    let id = created(&host, "ada", json!({}));
    let given = TestCall::put(&path(&id)).json(&json!({ "photo": file })).context("base-url", "https://forged.example");
    assert_eq!(host.call(given).status, 200);
    // An earlier version kept the address; both are read alike.
    let mut old = host.record("drivers", &id).unwrap();
    old["photo_url"] = json!(format!("https://forged.example/v1/files/{}/download", file.as_str().unwrap()));
    let address = json!(format!("https://b.example/v1/files/{}/download", file.as_str().unwrap()));
    let order = json!({"pickup": "1 Dock Street", "dropoff": "22 Mill Road", "driver": id});
    for is_old in [false, true] {
        if is_old {
            host.put_record("drivers", &id, &old);
        }
        let seen = |call: TestCall, pointer: &str| {
            let answer = host.call(call.context("base-url", "https://b.example"));
            assert!(answer.status < 300, "{}", answer.body);
            assert_eq!(answer.json().pointer(pointer), Some(&address), "{pointer}: {}", answer.body);
        };
        seen(TestCall::get(&path(&id)), "/photo_url");
        seen(TestCall::get("/v1/drivers"), "/0/photo_url");
        let fix = json!({"latitude": 1.3, "longitude": 103.8});
        seen(TestCall::post(&format!("{}/track", path(&id))).json(&fix), "/photo_url");
        seen(TestCall::post("/v1/orders").json(&order), "/driver_assigned/photo_url");
        seen(TestCall::get("/v1/orders"), "/0/driver_assigned/photo_url");
        seen(TestCall::post(&format!("{}/toggle-online", path(&id))).json(&json!({})), "/photo_url");
        let told = host.events().into_iter().filter(|event| event.event_type.starts_with("driver."));
        let photos: Vec<Value> = told.filter_map(|event| event.payload.get("photo_url").cloned()).collect();
        assert!(photos.contains(&file) && photos.iter().all(|photo| photo.is_null() || *photo == file), "{photos:?}");
        assert!(!format!("{:?}", host.events()).contains("forged.example"));
    }
}

#[test]
fn a_time_zone_is_one() {
    let host = host();
    for (zone, status) in [("Asia/Singapore", 201), ("+08:00", 201), ("Mars/Base", 422), ("Singapur", 422)] {
        let name = format!("driver{}", host.events().len());
        let body = json!({"name": name, "email": format!("{name}@x.org"), "phone": format!("+65{}", host.events().len()),
            "timezone": zone});
        assert_eq!(create(&host, &body).status, status, "{zone}");
    }
    let sentence = "The timezone field must be UTC, an offset like +08:00, or a name like Europe/Vienna.";
    refused(&create(&host, &with(ada(), json!({"timezone": "Mars/Base"}))), 422, "VALIDATION_FAILED", sentence);
    let van = post(&host, "/v1/vehicles", &json!({"name": "van", "timezone": "Mars/Base"}));
    refused(&van, 422, "VALIDATION_FAILED", sentence);
}
