//! What an organization's key alone does not reach: codes that drivers are sent, as the operator's outbox has them, and the
//! device that a driver registers with his token.

use serde_json::{Value, json};

use super::{events::Ear, routes::PASSWORD, stage::Stage};
use crate::support::{Response, eventually};

const PHONE: &str = "+65 91234567";
const EMAIL: &str = "ada@example.com";
const NEW_PASSWORD: &str = "another horse 8";
const MINUTE_MS: u64 = 60_000;

async fn ada(stage: &Stage) -> String {
    stage.make("/v1/drivers", json!({"name": "Ada", "email": EMAIL, "phone": PHONE, "password": PASSWORD})).await
}

/// What was sent to this address, once there is something.
async fn message_to(stage: &Stage, destination: &str, to: &str) -> Value {
    eventually("a message", async || {
        let outbox = outbox(stage).await;
        let sent = outbox.iter().find(|message| message["destination"] == destination && body(message)["to"] == to)?;
        assert_eq!((&sent["method"], &sent["path"]), (&json!("POST"), &json!("/messages")));
        Some(body(sent))
    })
    .await
}

async fn outbox(stage: &Stage) -> Vec<Value> {
    let listed = stage.host.operator().get("/v1/outbox?plugin=fleet&tenant=acme/test").await.expect(200).json();
    listed.as_array().expect("messages").clone()
}

fn body(message: &Value) -> Value {
    serde_json::from_str(message["body"].as_str().expect("a text")).expect("a body of JSON")
}

/// The six digits of a message that says nothing but this beside.
#[track_caller]
fn code_in(message: &Value, what: &str) -> String {
    let text = message["text"].as_str().expect("a text");
    let code = text.strip_prefix(&format!("Your {what}: ")).and_then(|rest| rest.get(..6)).expect("a code").to_owned();
    assert_eq!(text, format!("Your {what}: {code}. It is good for one hour; give it to nobody."));
    assert!(code.bytes().all(|byte| byte.is_ascii_digit()), "{text}");
    code
}

/// Another one of six digits.
fn wrong(code: &str) -> String {
    code.bytes().map(|digit| char::from(b'0' + (digit - b'0' + 1) % 10)).collect()
}

#[track_caller]
fn check_wrong_code(answer: &Response) {
    let said = (answer.status, answer.text_at("/code"), answer.text_at("/error"));
    assert_eq!(said, (400, "VERIFICATION_CODE_NOT_VALID".to_owned(), "Invalid verification code!".to_owned()));
}

async fn verify(stage: &Stage, code: &str) -> Response {
    stage.post("/v1/drivers/verify-code", json!({"identity": PHONE, "code": code, "for": "driver_login"})).await
}

async fn reset(stage: &Stage, code: &str) -> Response {
    let body =
        json!({"identity": EMAIL, "code": code, "password": NEW_PASSWORD, "password_confirmation": NEW_PASSWORD});
    stage.post("/v1/drivers/reset-password", body).await
}

async fn login(stage: &Stage, password: &str) -> Response {
    stage.post("/v1/drivers/login", json!({"identity": EMAIL, "password": password})).await
}

#[tokio::test]
async fn a_driver_logs_in_with_the_code_that_was_sent_to_his_phone() {
    let stage = Stage::open().await.covers(&[
        "login-driver-with-sms answers",
        "answer of verify-driver-code",
        "code VERIFICATION_CODE_NOT_VALID",
    ]);
    let id = ada(&stage).await;
    let mut ear = Ear::at(&stage).await;
    let sent = stage.post("/v1/drivers/login-with-sms", json!({"phone": PHONE})).await.expect(200);
    assert_eq!(sent.json(), json!({"status": "OK", "method": "sms"}));
    let message = message_to(&stage, "sms", "+6591234567").await;
    let code = code_in(&message, "code to log in");
    assert_eq!(message.as_object().map(serde_json::Map::len), Some(2), "{message}");

    check_wrong_code(&verify(&stage, &wrong(&code)).await);
    // It is for logging in, and for nothing else.
    check_wrong_code(&reset(&stage, &code).await);
    let mut driver = verify(&stage, &code).await.expect(200).json();
    let token = driver["token"].take().as_str().expect("a token").to_owned();
    let own = stage.call(&token, "GET", &format!("/v1/drivers/{id}"), Value::Null).await.expect(200).json();
    assert_eq!(driver, own, "the driver himself, and his token");
    check_wrong_code(&verify(&stage, &code).await);
    assert_eq!(outbox(&stage).await.len(), 1);
    ear.hears_nothing().await;
    stage.finish().await;
}

#[tokio::test]
async fn a_code_is_good_for_an_hour_and_sent_again_after_half_a_minute() {
    let stage = Stage::open().await.covers(&["code RATE_LIMITED", "code VERIFICATION_CODE_NOT_VALID"]);
    ada(&stage).await;
    let ask = async || stage.post("/v1/drivers/login-with-sms", json!({"phone": PHONE})).await;
    ask().await.check(200);
    let code = code_in(&message_to(&stage, "sms", "+6591234567").await, "code to log in");
    let refused = ask().await.expect(429);
    assert_eq!(refused.text_at("/error"), "A code was sent just now. Try again in a moment.");
    assert_eq!(outbox(&stage).await.len(), 1);
    stage.host.clock.advance(60 * MINUTE_MS);
    check_wrong_code(&verify(&stage, &code).await);
    ask().await.check(200);
    eventually("a second message", async || (outbox(&stage).await.len() == 2).then_some(())).await;
    stage.finish().await;
}

#[tokio::test]
async fn a_forgotten_password_is_set_anew_with_the_code_that_was_mailed() {
    let stage = Stage::open().await.covers(&["forgot-driver-password answers", "answer of reset-driver-password"]);
    let id = ada(&stage).await;
    let token = login(&stage, PASSWORD).await.expect(200).text_at("/token");
    let own = format!("/v1/drivers/{id}");
    stage.call(&token, "GET", &own, Value::Null).await.check(200);
    let mut ear = Ear::at(&stage).await;
    let asked = stage.post("/v1/drivers/forgot-password", json!({"identity": EMAIL})).await.expect(200);
    assert_eq!(asked.json(), json!({"status": "OK"}));
    let message = message_to(&stage, "email", EMAIL).await;
    let code = code_in(&message, "code for a new password");
    assert_eq!(message["subject"], "Your verification code");

    let short = json!({"identity": EMAIL, "code": code, "password": "short", "password_confirmation": "shirt"});
    let sentences = [
        "The password field must be a password of at least 8 characters.",
        "The password_confirmation field must be the same as password.",
    ];
    assert_eq!(stage.post("/v1/drivers/reset-password", short).await.expect(422).json()["errors"], json!(sentences));
    check_wrong_code(&reset(&stage, &wrong(&code)).await);
    check_wrong_code(&verify(&stage, &code).await);
    login(&stage, NEW_PASSWORD).await.check(401);
    stage.call(&token, "GET", &own, Value::Null).await.check(200);
    assert_eq!(reset(&stage, &code).await.expect(200).json(), json!({"status": "OK"}));
    // Whoever had the old one is out.
    stage.call(&token, "GET", &own, Value::Null).await.check(401);
    login(&stage, PASSWORD).await.check(401);
    let token = login(&stage, NEW_PASSWORD).await.expect(200).text_at("/token");
    stage.call(&token, "GET", &own, Value::Null).await.check(200);
    check_wrong_code(&reset(&stage, &code).await);
    ear.hears_nothing().await;
    stage.finish().await;
}

#[tokio::test]
async fn whether_somebody_is_a_driver_is_not_told_by_a_forgotten_password() {
    let stage = Stage::open().await;
    ada(&stage).await;
    let nobody = stage.post("/v1/drivers/forgot-password", json!({"identity": "eve@example.com"})).await.expect(200);
    let known = stage.post("/v1/drivers/forgot-password", json!({"identity": EMAIL})).await.expect(200);
    assert_eq!(nobody.body, known.body);
    let _ = message_to(&stage, "email", EMAIL).await;
    assert_eq!(outbox(&stage).await.len(), 1, "nobody gets nothing");
    stage.finish().await;
}

#[tokio::test]
async fn a_driver_registers_the_device_that_he_holds() {
    let stage = Stage::open().await.covers(&["answer of register-device"]);
    let (ada, eve) = (stage.driver("ada").await, stage.driver("eve").await);
    let path = "/v1/drivers/register-device";
    let device = json!({"token": "push:1", "platform": "Android"});
    let first = stage.call(&ada.token, "POST", path, device.clone()).await.expect(200);
    let id = first.text_at("/device");
    assert!(id.starts_with("user_device_"), "{id}");
    assert_eq!(first.json(), json!({"device": id}));
    // Who registers it again, or after him, has the same one; another token is another device.
    for token in [&ada.token, &eve.token] {
        assert_eq!(stage.call(token, "POST", path, device.clone()).await.expect(200).text_at("/device"), id);
    }
    let other = json!({"token": "push:2", "os": "ios"});
    assert_ne!(stage.call(&ada.token, "POST", path, other.clone()).await.expect(200).text_at("/device"), id);
    // An organization says whose it is.
    let refused = stage.post(path, other).await.expect(422);
    assert_eq!(refused.text_at("/error"), "The driver field is required.");
    let named = json!({"token": "push:1", "platform": "android", "driver": ada.id});
    assert_eq!(stage.post(path, named).await.expect(200).text_at("/device"), id);
    let wrong = stage.call(&ada.token, "POST", path, json!({"token": "", "platform": "toaster"})).await.expect(422);
    let sentences =
        ["The token field is required.", "The platform field must be one of: android, ios, macos, web, windows."];
    assert_eq!(wrong.json()["errors"], json!(sentences));
    stage.finish().await;
}
