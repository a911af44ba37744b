//! Codes that logging in brings about, and what a driver's token does not open.

use serde_json::{Value, json};

use super::{codes::Words, codes_of_orders::started, routes::PASSWORD, stage::Stage};
use crate::support::eventually;

const LOGIN_FAILED: Words<'static> = (401, "LOGIN_FAILED", "Authentication failed using password provided.");
const WRONG_CODE: Words<'static> = (400, "VERIFICATION_CODE_NOT_VALID", "Invalid verification code!");
const SENT_JUST_NOW: Words<'static> = (429, "RATE_LIMITED", "A code was sent just now. Try again in a moment.");
const FORBIDDEN: Words<'static> = (403, "API_FORBIDDEN", "The API key does not allow this request");
const UNAUTHENTICATED: Words<'static> = (401, "API_UNAUTHENTICATED", "Invalid or missing API credentials");

const PAUSE_MS: u64 = 30_000;
const HOUR_MS: u64 = 3_600_000;

/// Texts of the messages that the operator's outbox holds.
async fn messages(stage: &Stage) -> Vec<String> {
    let kept = stage.host.operator().get("/v1/outbox?plugin=fleet").await.expect(200).json();
    let texts = kept.as_array().expect("a list").iter().map(|message| {
        let body: Value = serde_json::from_str(message["body"].as_str().expect("a body")).expect("JSON");
        body["text"].as_str().expect("a text").to_owned()
    });
    texts.collect()
}

/// The six digits of the one message that says this.
async fn code_in(stage: &Stage, what: &str) -> String {
    let begins = format!("{what}: ");
    eventually("a code", async || {
        let texts = messages(stage).await;
        texts.iter().find_map(|text| Some(text.strip_prefix(&begins)?[..6].to_owned()))
    })
    .await
}

/// Six digits that are not these.
fn other_than(code: &str) -> String {
    let last = if code.ends_with('0') { "1" } else { "0" };
    [&code[..5], last].concat()
}

#[tokio::test]
async fn who_does_not_know_the_password_is_told_nothing_else() {
    let stage = Stage::open().await.covers(&["code LOGIN_FAILED"]);
    let ada = stage.driver("ada").await;
    let bob = json!({"name": "Bob", "email": "bob@example.com", "phone": "+65 81111111"});
    stage.post("/v1/drivers", bob).await.check(201);
    let long = "x".repeat(5_000);
    for (identity, password) in [
        ("ada@example.com", "wrong horse 7"),
        ("ada@example.com", &long),
        ("bob@example.com", PASSWORD),
        ("nobody@example.com", PASSWORD),
        ("nonsense", PASSWORD),
    ] {
        let body = json!({"identity": identity, "password": password});
        stage.refuses("POST", "/v1/drivers/login", body, LOGIN_FAILED).await;
    }
    let path = format!("/v1/drivers/{}", ada.id);
    let change = json!({"password": "wrong horse 7", "new_password": "another horse 8"});
    let change_path = format!("{path}/change-password");
    stage.refuses_to(&ada.token, ("POST", &change_path, change), LOGIN_FAILED).await;
    stage.call(&ada.token, "GET", &path, Value::Null).await.check(200);
    stage.post("/v1/drivers/login", json!({"identity": "ada@example.com", "password": PASSWORD})).await.check(200);
    stage.finish().await;
}

#[tokio::test]
async fn an_inactive_driver_is_logged_out_and_told_from_nobody_by_nothing() {
    let stage = Stage::open().await;
    let ada = stage.driver("ada").await;
    let path = format!("/v1/drivers/{}", ada.id);
    let phone = stage.shown(&path).await["phone"].clone();
    stage.put(&path, json!({"status": "inactive"})).await.check(200);
    stage.refuses_to(&ada.token, ("GET", &path, Value::Null), UNAUTHENTICATED).await;
    let login = json!({"identity": "ada@example.com", "password": PASSWORD});
    stage.refuses("POST", "/v1/drivers/login", login.clone(), LOGIN_FAILED).await;
    let unknown = (400, "PHONE_UNKNOWN", "No driver with this phone # found.");
    stage.refuses("POST", "/v1/drivers/login-with-sms", json!({"phone": phone}), unknown).await;
    assert_eq!(messages(&stage).await, Vec::<String>::new());
    stage.put(&path, json!({"status": "available"})).await.check(200);
    stage.post("/v1/drivers/login", login).await.check(200);
    stage.finish().await;
}

#[tokio::test]
async fn a_phone_that_nobody_has_gets_no_code() {
    let stage = Stage::open().await.covers(&["code PHONE_UNKNOWN"]);
    stage.driver("ada").await;
    let words = (400, "PHONE_UNKNOWN", "No driver with this phone # found.");
    for phone in ["+65 81111111", "nonsense", "ada@example.com"] {
        stage.refuses("POST", "/v1/drivers/login-with-sms", json!({"phone": phone}), words).await;
    }
    assert_eq!(messages(&stage).await, Vec::<String>::new());
    stage.finish().await;
}

#[tokio::test]
async fn a_code_is_good_once_within_its_hour_and_for_what_it_was_sent_for() {
    let stage = Stage::open().await.covers(&["code VERIFICATION_CODE_NOT_VALID", "answer of verify-driver-code"]);
    let ada = stage.driver("ada").await;
    let phone = stage.shown(&format!("/v1/drivers/{}", ada.id)).await["phone"].clone();
    let email = "ada@example.com";
    let verify = |code: &str| json!({"identity": phone, "code": code});
    let reset = |code: &str| {
        json!({"identity": email, "code": code, "password": "another horse 8",
        "password_confirmation": "another horse 8"})
    };
    stage.refuses("POST", "/v1/drivers/verify-code", verify("123456"), WRONG_CODE).await;
    stage.post("/v1/drivers/login-with-sms", json!({"phone": phone})).await.check(200);
    let code = code_in(&stage, "Your code to log in").await;
    stage.refuses("POST", "/v1/drivers/verify-code", verify(&other_than(&code)), WRONG_CODE).await;
    stage.refuses("POST", "/v1/drivers/verify-code", verify("nonsense"), WRONG_CODE).await;
    stage.refuses("POST", "/v1/drivers/reset-password", reset(&code), WRONG_CODE).await;
    let nobody = json!({"identity": "+65 81111111", "code": code});
    stage.refuses("POST", "/v1/drivers/verify-code", nobody, WRONG_CODE).await;
    let open = stage.post("/v1/drivers/verify-code", verify(&code)).await.expect(200);
    let path = format!("/v1/drivers/{}", ada.id);
    stage.call(&open.text_at("/token"), "GET", &path, Value::Null).await.check(200);
    stage.refuses("POST", "/v1/drivers/verify-code", verify(&code), WRONG_CODE).await;

    stage.host.clock.advance(PAUSE_MS);
    stage.post("/v1/drivers/forgot-password", json!({"identity": email})).await.check(200);
    let code = code_in(&stage, "Your code for a new password").await;
    stage.refuses("POST", "/v1/drivers/verify-code", verify(&code), WRONG_CODE).await;
    stage.host.clock.advance(HOUR_MS);
    stage.refuses("POST", "/v1/drivers/reset-password", reset(&code), WRONG_CODE).await;
    stage.post("/v1/drivers/login", json!({"identity": email, "password": PASSWORD})).await.check(200);
    stage.finish().await;
}

#[tokio::test]
async fn codes_are_sent_at_intervals() {
    let stage = Stage::open().await.covers(&["code RATE_LIMITED"]);
    let ada = stage.driver("ada").await;
    let phone = stage.shown(&format!("/v1/drivers/{}", ada.id)).await["phone"].clone();
    let ask = json!({"phone": phone});
    stage.post("/v1/drivers/login-with-sms", ask.clone()).await.check(200);
    stage.refuses("POST", "/v1/drivers/login-with-sms", ask.clone(), SENT_JUST_NOW).await;
    stage.host.clock.advance(PAUSE_MS - 1);
    stage.refuses("POST", "/v1/drivers/login-with-sms", ask.clone(), SENT_JUST_NOW).await;
    stage.host.clock.advance(1);
    stage.post("/v1/drivers/login-with-sms", ask).await.check(200);
    eventually("two messages", async || (messages(&stage).await.len() == 2).then_some(())).await;
    stage.finish().await;
}

#[tokio::test]
async fn a_driver_has_one_organization_and_goes_to_no_other() {
    let stage = Stage::open().await.covers(&["code ORGANIZATION_NOT_POSSIBLE", "code VALIDATION_FAILED"]);
    let ada = stage.driver("ada").await;
    let path = format!("/v1/drivers/{}", ada.id);
    let own = stage.call(&ada.token, "GET", &format!("{path}/current-organization"), Value::Null).await;
    let own = own.expect(200).text_at("/id");
    let switch = format!("{path}/switch-organization");
    let code = "ORGANIZATION_NOT_POSSIBLE";
    for (next, sentence) in [
        (own.as_str(), "The driver already acts for this organization."),
        ("company_0000000000", "The driver is not a member of this organization."),
        ("nonsense", "The driver is not a member of this organization."),
    ] {
        stage.refuses_to(&ada.token, ("POST", &switch, json!({"next": next})), (400, code, sentence)).await;
        stage.refuses("POST", &switch, json!({"next": next}), (400, code, sentence)).await;
    }
    let words = (422, "VALIDATION_FAILED", "The next field is required.");
    stage.refuses_to(&ada.token, ("POST", &switch, json!({})), words).await;
    stage.finish().await;
}

#[tokio::test]
async fn a_driver_does_not_manage_the_organization() {
    let stage = Stage::open().await.covers(&["code API_FORBIDDEN"]);
    let (ada, eve) = (stage.driver("ada").await, stage.driver("eve").await);
    let order = format!("/v1/orders/{}", stage.order(json!({"driver": ada.id})).await);
    let offered = format!("/v1/orders/{}", stage.order(json!({"adhoc": true, "dispatch": true})).await);
    let own = format!("/v1/drivers/{}", ada.id);
    for (method, path, body) in [
        ("POST", "/v1/orders", json!({"pickup": "a", "dropoff": "b"})),
        ("PUT", &order, json!({"notes": "mine"})),
        ("DELETE", &order, Value::Null),
        ("POST", &format!("{order}/schedule"), json!({"date": "2026-05-09"})),
        ("GET", "/v1/drivers", Value::Null),
        ("PUT", &own, json!({"name": "Other"})),
        ("DELETE", &own, Value::Null),
        ("GET", "/v1/events", Value::Null),
        ("GET", "/v1/webhook-endpoints", Value::Null),
        ("POST", "/v1/drivers/login", json!({"identity": "eve@example.com", "password": PASSWORD})),
        // Offered to him: before he has accepted it, he accepts it for himself and does nothing else to it.
        ("DELETE", &format!("{offered}/cancel"), Value::Null),
        ("POST", &format!("{offered}/complete"), json!({})),
        ("POST", &format!("{offered}/start"), json!({"assign": eve.id})),
    ] {
        stage.refuses_to(&ada.token, (method, path, body), FORBIDDEN).await;
    }
    stage.call(&ada.token, "POST", &format!("{offered}/start"), json!({})).await.check(200);
    stage.finish().await;
}

#[tokio::test]
async fn who_shows_no_key_or_one_that_is_none_any_more_is_a_stranger() {
    let stage = Stage::open().await.covers(&["code API_UNAUTHENTICATED"]);
    let ada = stage.driver("ada").await;
    let path = format!("/v1/drivers/{}", ada.id);
    let change = json!({"password": PASSWORD, "new_password": "another horse 8"});
    let changed = stage.call(&ada.token, "POST", &format!("{path}/change-password"), change).await.expect(200);
    let revoked = json!({"plugin": "fleet", "tenant": "acme", "environment": "test"});
    let revoked = stage.host.create_key(revoked).await;
    let id = revoked["id"].as_str().expect("an id");
    stage.host.operator().delete(&format!("/v1/keys/{id}")).await.check(200);
    for key in ["", "tk_test_nonsense", revoked["key"].as_str().expect("a key"), &ada.token] {
        for (method, path, body) in [
            ("GET", path.as_str(), Value::Null),
            ("GET", "/v1/drivers/driver_0000000000", Value::Null),
            ("POST", "/v1/orders", json!({"pickup": "a", "dropoff": "b"})),
        ] {
            stage.refuses_to(key, (method, path, body), UNAUTHENTICATED).await;
        }
        let answer = stage.call(key, "GET", &path, Value::Null).await;
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
    }
    stage.call(&changed.text_at("/token"), "GET", &path, Value::Null).await.check(200);
    stage.finish().await;
}

#[tokio::test]
async fn a_driver_who_is_on_the_way_is_not_deleted() {
    let stage = Stage::open().await.covers(&["code DRIVER_HAS_ORDERS"]);
    let ada = stage.driver("ada").await;
    let order = started(&stage, json!({"driver": ada.id})).await;
    let path = format!("/v1/drivers/{}", ada.id);
    let words =
        (400, "DRIVER_HAS_ORDERS", "The driver has an order to carry out. Give it to another driver, or cancel it.");
    stage.refuses("DELETE", &path, Value::Null, words).await;
    stage.post(&format!("{order}/cancel"), json!({})).await.check(200);
    stage.delete(&path).await.check(200);
    stage.finish().await;
}
