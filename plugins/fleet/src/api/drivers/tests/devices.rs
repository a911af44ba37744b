//! Devices for pushes.

use super::*;
use crate::rules::driver::device::DEVICES_MAX;

fn register(host: &TestHost, id: &str, token: &str) -> TestAnswer {
    post(host, &format!("{}/register-device", path(id)), &json!({"token": token, "platform": "Android"}))
}

fn device(answer: &TestAnswer) -> String {
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.json()["device"].as_str().unwrap().to_owned()
}

#[test]
fn a_device_is_registered_once_and_belongs_to_who_came_last() {
    let host = host();
    let (ada, eve) = (created(&host, "ada", json!({})), created(&host, "eve", json!({})));
    let first = device(&register(&host, &ada, "push-token"));
    assert!(first.starts_with("user_device_"), "{first}");
    assert_eq!(device(&register(&host, &ada, "push-token")), first);
    assert_eq!(device(&register(&host, &eve, "push-token")), first);
    let stored = host.record("devices", &first).unwrap();
    assert_eq!((&stored["driver"], &stored["platform"]), (&json!(eve), &json!("android")));
}

#[test]
fn the_oldest_device_makes_room() {
    let host = host();
    let id = created(&host, "ada", json!({}));
    let devices: Vec<String> = (0..=DEVICES_MAX)
        .map(|nth| {
            host.advance_ms(1);
            device(&register(&host, &id, &format!("token-{nth}")))
        })
        .collect();
    assert_eq!(host.record("devices", &devices[0]), None);
    assert!(devices[1..].iter().all(|device| host.record("devices", device).is_some()));
}

#[test]
fn without_an_id_the_device_is_the_drivers_whose_token_it_is() {
    let host = host();
    let id = created(&host, "ada", json!({}));
    let body = json!({"token": "push-token", "os": "ios"});
    let own = host.call(as_driver(TestCall::post("/v1/drivers/register-device").json(&body), &id));
    assert_eq!(host.record("devices", &device(&own)).unwrap()["driver"], json!(id));
    let named = post(&host, "/v1/drivers/register-device", &with(body.clone(), json!({ "driver": id })));
    assert_eq!(device(&named), device(&own));
    let nobody = post(&host, "/v1/drivers/register-device", &body);
    refused(&nobody, 422, "VALIDATION_FAILED", "The driver field is required.");
}

#[test]
fn a_device_without_a_token_or_platform_is_refused() {
    let host = host();
    let id = created(&host, "ada", json!({}));
    let answer = post(&host, &format!("{}/register-device", path(&id)), &json!({}));
    let errors = json!(["The token field is required.", "The platform field is required."]);
    assert_eq!((answer.status, &answer.json()["errors"]), (422, &errors));
    assert_eq!(register(&host, &id, "a b").status, 422);
}
