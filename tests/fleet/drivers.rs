//! Drivers: creation, reading, and the location that their apps post.

use serde_json::{Value, json};
use tenon::clock::Clock;

use super::orders::{MORNING_MS, check_id};
use crate::support::TestHost;

/// Members of a driver, in research/fleet 1.2, that this version carries; the position once more, as the specification names
/// it.
const MEMBERS: &str = "id user internal_id company company_name name email phone drivers_license_number license_expiry \
    photo_url avatar_url vehicle_avatar vehicle current_job vendor location latitude longitude heading altitude speed \
    location_recorded_at country currency city timezone online status token meta updated_at created_at";

fn ada() -> Value {
    json!({"name": "Ada", "email": "Ada@example.com", "phone": "+65 1", "license_expiry": "2030-01-31", "country": "SG"})
}

#[tokio::test]
async fn a_created_driver_has_the_shape_that_its_clients_know() {
    let host = TestHost::builder().fleet("").clock(Clock::manual(MORNING_MS)).start().await;
    let acme = host.client("fleet", "acme").await;
    let driver = acme.post("/v1/drivers", ada()).await.expect(201);
    let json = driver.json();
    let members: Vec<&str> = json.as_object().expect("an object").keys().map(String::as_str).collect();
    let mut expected: Vec<&str> = MEMBERS.split_whitespace().collect();
    expected.sort_unstable();
    assert_eq!(members, expected);
    check_id(&json["id"], "driver");
    assert_eq!((&json["email"], &json["license_expiry"]), (&json!("ada@example.com"), &json!("2030-01-31")));
    assert_eq!((&json["status"], &json["online"], &json["token"]), (&json!("available"), &json!(false), &Value::Null));
    assert_eq!(json["created_at"], "2026-05-07T08:30:00.000000Z");
    let path = format!("/v1/drivers/{}", driver.text_at("/id"));
    assert_eq!(acme.get(&path).await.expect(200).body, driver.body);
    let told: Vec<String> = host.events().await.into_iter().map(|event| event.event_type).collect();
    assert_eq!(told, ["driver.created"]);
    host.stop().await;
}

#[tokio::test]
async fn email_and_phone_belong_to_one_driver() {
    let host = TestHost::fleet().await;
    let acme = host.client("fleet", "acme").await;
    let _ = acme.post("/v1/drivers", ada()).await.expect(201);
    let same_email = json!({"name": "B", "email": "ADA@example.com", "phone": "+65 2"});
    let same_phone = json!({"name": "B", "email": "b@example.com", "phone": "+65 1"});
    for (body, sentence) in
        [(same_email, "The email has already been taken."), (same_phone, "The phone has already been taken.")]
    {
        let answer = acme.post("/v1/drivers", body).await.expect(422);
        assert_eq!((answer.text_at("/code"), answer.text_at("/error")), ("VALIDATION_FAILED".into(), sentence.into()));
    }
    host.stop().await;
}

#[tokio::test]
async fn all_that_is_wrong_with_a_driver_is_said_at_once() {
    let host = TestHost::fleet().await;
    let acme = host.client("fleet", "acme").await;
    let answer = acme.post("/v1/drivers", json!({"email": "nobody", "status": "lost", "password": "p"})).await;
    let sentences = [
        "The password field must be a password of at least 8 characters.",
        "The status field must be one of: active, available, inactive.",
        "The name field is required.",
        "The phone field is required.",
        "The email field must be a valid email address.",
    ];
    assert_eq!(answer.expect(422).json()["errors"], json!(sentences));
    host.stop().await;
}

#[tokio::test]
async fn a_posted_location_is_the_drivers_and_is_told() {
    let host = TestHost::fleet().await;
    let acme = host.client("fleet", "acme").await;
    let id = acme.post("/v1/drivers", ada()).await.expect(201).text_at("/id");
    let path = format!("/v1/drivers/{id}");
    for (nth, method) in ["POST", "PUT", "PATCH"].into_iter().enumerate() {
        let fix = json!({"latitude": 1.5, "longitude": 103.5, "heading": 90 + nth, "speed": 8.5, "altitude": 15});
        let json = [("content-type", "application/json")];
        let moved = acme.send(method, &format!("{path}/track"), &json, fix.to_string().into_bytes()).await.expect(200);
        let driver = moved.json();
        assert_eq!(driver["location"], json!({"type": "Point", "coordinates": [103.5, 1.5]}));
        assert_eq!(
            [&driver["heading"], &driver["speed"], &driver["altitude"]],
            [&json!(90 + nth), &json!(9), &json!(15)],
            "shown in whole numbers"
        );
        assert_eq!(acme.get(&path).await.expect(200).body, moved.body);
        let events = host.events().await;
        let event = events.last().expect("an event");
        assert_eq!(
            (events.len(), event.event_type.as_str(), &event.subject),
            (nth + 2, "driver.location_changed", &id)
        );
        let mut told = fix.clone();
        told["driver_id"] = json!(id);
        let data = event.body["data"].as_object().expect("data");
        let named: serde_json::Map<String, Value> =
            data.clone().into_iter().filter(|(name, _)| told.get(name).is_some()).collect();
        assert_eq!((&Value::Object(named), event.tenant.as_str()), (&told, "acme/test"));
        assert_eq!((&data["id"], &data["name"]), (&json!(id), &json!("Ada")));
    }
    host.stop().await;
}

/// The keys of the specification are there even where the device does not know the value.
#[tokio::test]
async fn a_location_without_heading_and_speed_is_told_with_nulls() {
    let host = TestHost::fleet().await;
    let acme = host.client("fleet", "acme").await;
    let id = acme.post("/v1/drivers", ada()).await.expect(201).text_at("/id");
    let fix = json!({"latitude": 0, "longitude": 1.5, "heading": -1, "speed": -1});
    let _ = acme.post(&format!("/v1/drivers/{id}/track"), fix).await.expect(200);
    let payload = host.events().await[1].body["data"].clone();
    assert_eq!((payload.get("heading"), payload.get("speed")), (Some(&Value::Null), Some(&Value::Null)));
    assert_eq!((payload["latitude"].as_f64(), payload["longitude"].as_f64()), (Some(0.0), Some(1.5)));
    host.stop().await;
}

#[tokio::test]
async fn a_location_off_the_earth_moves_nobody() {
    let host = TestHost::fleet().await;
    let acme = host.client("fleet", "acme").await;
    let driver = acme.post("/v1/drivers", ada()).await.expect(201);
    let path = format!("/v1/drivers/{}", driver.text_at("/id"));
    let table = [
        (json!({}), "The latitude field is required."),
        (json!({"latitude": 1}), "The longitude field is required."),
        (json!({"latitude": 90.1, "longitude": 0}), "The latitude field must be between -90 and 90."),
        (json!({"latitude": 1, "longitude": 181}), "The longitude field must be between -180 and 180."),
        (json!({"latitude": "north", "longitude": 1}), "The latitude field must be a number."),
        (json!({"latitude": 1, "longitude": 1, "heading": 361}), "The heading field must be between 0 and 360."),
    ];
    for (fix, sentence) in table {
        let answer = acme.post(&format!("{path}/track"), fix.clone()).await.expect(422);
        assert_eq!(answer.text_at("/error"), sentence, "{fix}");
    }
    assert_eq!((acme.get(&path).await.body, host.events().await.len()), (driver.body, 1));
    host.stop().await;
}

/// As his app does: it logs in with the key of the organization, and from then on shows the token alone.
#[tokio::test]
async fn a_drivers_token_opens_what_is_his_until_he_changes_his_password() {
    let host = TestHost::fleet().await;
    let acme = host.client("fleet", "acme").await;
    let mut ada = ada();
    ada["password"] = json!("correct horse");
    let id = acme.post("/v1/drivers", ada).await.expect(201).text_at("/id");
    let eve = json!({"name": "Eve", "email": "eve@example.com", "phone": "+65 2"});
    let eve = acme.post("/v1/drivers", eve).await.expect(201).text_at("/id");
    let login = json!({"identity": "ada@example.com", "password": "correct horse"});
    let token = acme.post("/v1/drivers/login", login.clone()).await.expect(200).text_at("/token");
    let app = host.client_of(&token);
    let fix = json!({"latitude": 1.5, "longitude": 103.5});
    let _ = app.post(&format!("/v1/drivers/{id}/track"), fix.clone()).await.expect(200);
    let _ = app.post(&format!("/v1/drivers/{eve}/track"), fix).await.expect(404);
    let _ = app.get(&format!("/v1/drivers/{eve}")).await.expect(404);
    let _ = app.get("/v1/drivers").await.expect(403);
    let _ = app.delete(&format!("/v1/drivers/{id}")).await.expect(403);
    let _ = app.get("/v1/webhook-endpoints").await.expect(403);
    let change = json!({"password": "correct horse", "new_password": "another horse"});
    let changed = app.post(&format!("/v1/drivers/{id}/change-password"), change).await.expect(200);
    let _ = app.get(&format!("/v1/drivers/{id}")).await.expect(401);
    let _ = host.client_of(&changed.text_at("/token")).get(&format!("/v1/drivers/{id}")).await.expect(200);
    let _ = acme.post("/v1/drivers/login", login).await.expect(401);
    host.stop().await;
}

/// The code is in the message alone, which a host without such destinations sends nowhere.
#[tokio::test]
async fn wrong_codes_are_counted_although_they_are_refused() {
    let host = TestHost::fleet().await;
    let acme = host.client("fleet", "acme").await;
    let _ = acme.post("/v1/drivers", ada()).await.expect(201);
    let _ = acme.post("/v1/drivers/login-with-sms", json!({"phone": "+65 1"})).await.expect(200);
    for _ in 0..10 {
        let guess = json!({"identity": "+65 1", "code": "nothing"});
        let answer = acme.post("/v1/drivers/verify-code", guess).await.expect(400);
        assert_eq!(answer.text_at("/error"), "Invalid verification code!");
    }
    let again = acme.post("/v1/drivers/login-with-sms", json!({"phone": "+65 1"})).await.expect(429);
    assert_eq!(again.text_at("/code"), "RATE_LIMITED");
    assert!(again.header("retry-after").is_some(), "it has Retry-After");
    host.stop().await;
}

#[tokio::test]
async fn too_many_wrong_passwords_get_retry_after_and_do_not_block_other_addresses() {
    let proxy = "[http]\ntrusted-proxies = [\"127.0.0.1\"]\n";
    let host = TestHost::builder().fleet("").head(proxy).start().await;
    let acme = host.client("fleet", "acme").await;
    let mut ada = ada();
    ada["password"] = json!("correct horse");
    let _ = acme.post("/v1/drivers", ada).await.expect(201);
    let log_in = async |password: &str, address: &str| {
        let body = json!({"identity": "ada@example.com", "password": password}).to_string().into_bytes();
        let headers = [("content-type", "application/json"), ("x-forwarded-for", address)];
        acme.send("POST", "/v1/drivers/login", &headers, body).await
    };
    log_in("correct horse", "203.0.113.7").await.check(200);
    for _ in 0..10 {
        log_in("wrong horse", "198.51.100.1").await.check(401);
    }
    for password in ["wrong horse", "correct horse"] {
        let answer = log_in(password, "198.51.100.1").await.expect(429);
        assert_eq!(answer.text_at("/code"), "RATE_LIMITED");
        let seconds: u64 = answer.header("retry-after").and_then(|text| text.parse().ok()).expect("Retry-After");
        assert!((1..=60).contains(&seconds), "{seconds}");
    }
    log_in("correct horse", "203.0.113.7").await.check(200);
    host.stop().await;
}
