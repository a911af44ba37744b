//! Logging in: by a password, by a code.

use tenon_plugin::test_kit::response;

use super::*;
use crate::rules::driver::code::{LIFETIME_MS, PAUSE_MS, WRONG_MAX};

const WEEK_MS: u64 = 7 * 24 * 60 * 60 * 1_000;

fn log_in(host: &TestHost, identity: &str, password: &str) -> TestAnswer {
    post(host, "/v1/drivers/login", &json!({"identity": identity, "password": password}))
}

fn ask_code(host: &TestHost, phone: &str) -> TestAnswer {
    post(host, "/v1/drivers/login-with-sms", &json!({ "phone": phone }))
}

fn verify(host: &TestHost, code: &str) -> TestAnswer {
    post(host, "/v1/drivers/verify-code", &json!({"identity": PHONE, "code": code}))
}

/// The code of the message that is on its way, and where it goes.
pub fn sent_code(host: &TestHost) -> (String, Value) {
    let started = host.effects().pop().expect("a message");
    let tenon_plugin::Content::Json(body) = &started.effect.call.content else { panic!("a message is JSON") };
    let message: Value = serde_json::from_str(body).unwrap();
    let text = message["text"].as_str().unwrap();
    let code = text.split(|letter: char| !letter.is_ascii_digit()).find(|word| word.len() == 6);
    let place =
        json!({"destination": started.effect.call.destination, "path": started.effect.call.path, "to": message["to"]});
    (code.unwrap().to_owned(), place)
}

#[test]
fn a_driver_logs_in_with_email_or_phone_and_gets_a_token_for_a_week() {
    let host = host();
    let driver = create(&host, &ada()).json();
    for (nth, identity) in ["ADA@x.org ", "65 9123 4567"].into_iter().enumerate() {
        let answer = log_in(&host, identity, PASSWORD);
        let issued = host.issued().pop().unwrap();
        assert_eq!((answer.status, &answer.json()["token"]), (200, &json!(issued.secret)), "{}", answer.body);
        assert_eq!((answer.json()["id"].clone(), host.issued().len()), (driver["id"].clone(), nth + 1));
        assert_eq!((issued.kind, issued.grant.expires_at), ("token", Some(host.now() + WEEK_MS)));
        let [attribute] = &issued.grant.attributes[..] else { panic!("one attribute") };
        assert_eq!((attribute.name.as_str(), json!(attribute.value)), ("driver", driver["id"].clone()));
        assert!(issued.grant.scopes.is_empty() && !issued.grant.signs);
    }
    let stored = host.record("drivers", driver["id"].as_str().unwrap()).unwrap();
    assert_eq!(stored["token"], Value::Null);
}

#[test]
fn whoever_may_not_log_in_learns_nothing() {
    let host = host();
    create(&host, &ada());
    created(&host, "eve", json!({}));
    let long = "x".repeat(2_000);
    let table = [
        ("ada@x.org", "wrong horse"),
        ("nobody@x.org", PASSWORD),
        ("+6590000000", PASSWORD),
        ("not an identity", PASSWORD),
        // Eve has no password.
        ("eve@x.org", PASSWORD),
        ("ada@x.org", &long),
    ];
    let bytes = |answer: TestAnswer| {
        let request = answer.json()["request_id"].as_str().unwrap().to_owned();
        answer.body.replace(&request, "")
    };
    for (identity, password) in table {
        let answer = log_in(&host, identity, password);
        refused(&answer, 401, "LOGIN_FAILED", "Authentication failed using password provided.");
        assert_eq!(bytes(answer), bytes(log_in(&host, "ada@x.org", "wrong horse")), "{identity}");
    }
    assert!(host.issued().is_empty());
    let nothing = post(&host, "/v1/drivers/login", &json!({"identity": " ", "password": ""}));
    let errors = json!(["The identity field is required.", "The password field is required."]);
    assert_eq!((nothing.status, &nothing.json()["errors"]), (422, &errors));
    let foreign = TestCall::post("/v1/drivers/login").json(&json!({"identity": "ada@x.org", "password": PASSWORD}));
    assert_eq!(host.call(foreign.tenant("umbra/test")).status, 401);
}

#[test]
fn the_oldest_of_too_many_logins_ends() {
    let host = host();
    create(&host, &ada());
    for _ in 0..21 {
        assert_eq!(log_in(&host, "ada@x.org", PASSWORD).status, 200);
    }
    let ids: Vec<String> = host.issued().into_iter().map(|one| one.id).collect();
    assert_eq!((ids.len(), ids[0].as_str()), (20, "cred_0000000002"));
}

#[test]
fn a_code_is_sent_to_the_phone_and_opens_once() {
    let host = host();
    let driver = create(&host, &ada()).json();
    let answer = ask_code(&host, "6591234567");
    assert_eq!((answer.status, answer.json()), (200, json!({"status": "OK", "method": "sms"})));
    let (code, place) = sent_code(&host);
    assert_eq!(place, json!({"destination": "sms", "path": "/messages", "to": PHONE}));
    let stored = host.record("driver-logins", driver["id"].as_str().unwrap()).unwrap();
    assert!(!stored.to_string().contains(&code), "{stored}");
    let answer = verify(&host, &code);
    assert_eq!((answer.status, answer.json()["id"].clone()), (200, driver["id"].clone()), "{}", answer.body);
    assert_eq!(answer.json()["token"], host.issued()[0].secret);
    refused(&verify(&host, &code), 400, "VERIFICATION_CODE_NOT_VALID", "Invalid verification code!");
    assert!(host.logged().is_empty());
}

#[test]
fn a_code_ends_after_an_hour() {
    let host = host();
    create(&host, &ada());
    ask_code(&host, PHONE);
    let (code, _) = sent_code(&host);
    host.advance_ms(LIFETIME_MS);
    assert_eq!(verify(&host, &code).status, 400);
}

/// The counting is kept although the caller is refused.
#[test]
fn guesses_close_a_code() {
    let host = host();
    create(&host, &ada());
    ask_code(&host, PHONE);
    let (code, _) = sent_code(&host);
    let wrong = if code == "000000" { "000001" } else { "000000" };
    for typed in [wrong, "", "12345", "0000000"].into_iter().cycle().take(usize::from(WRONG_MAX)) {
        let answer = post(
            &host,
            "/v1/drivers/verify-code",
            &json!({"identity": PHONE, "code": if typed.is_empty() { "x" } else { typed }}),
        );
        refused(&answer, 400, "VERIFICATION_CODE_NOT_VALID", "Invalid verification code!");
        assert!(!answer.refused, "a wrong code is counted");
    }
    assert_eq!(verify(&host, &code).status, 400);
    host.advance_ms(PAUSE_MS);
    assert_eq!(ask_code(&host, PHONE).status, 429);
}

#[test]
fn codes_are_sent_at_intervals_and_to_known_phones() {
    let host = host();
    create(&host, &ada());
    assert_eq!(ask_code(&host, PHONE).status, 200);
    refused(&ask_code(&host, PHONE), 429, "RATE_LIMITED", "A code was sent just now. Try again in a moment.");
    assert_eq!(host.effects().len(), 1);
    host.advance_ms(PAUSE_MS);
    assert_eq!(ask_code(&host, PHONE).status, 200);
    for phone in ["+6590000000", "call me"] {
        refused(&ask_code(&host, phone), 400, "PHONE_UNKNOWN", "No driver with this phone # found.");
    }
    assert_eq!(ask_code(&host, " ").status, 422);
}

#[test]
fn a_code_is_good_for_what_it_was_sent_for() {
    let host = host();
    create(&host, &ada());
    let verify_for = |purpose: &str, code: &str| {
        post(&host, "/v1/drivers/verify-code", &json!({"identity": PHONE, "code": code, "for": purpose}))
    };
    ask_code(&host, PHONE);
    let (code, _) = sent_code(&host);
    assert_eq!(verify_for("create_driver", &code).status, 400);
    let sentence = "The for field must be one of: driver_login, create_driver.";
    refused(&verify_for("driver_password_reset", &code), 422, "VALIDATION_FAILED", sentence);
    assert_eq!(verify_for("driver_login", &code).status, 200);
}

#[test]
fn a_code_of_nobody_is_a_wrong_one() {
    let host = host();
    for identity in ["nobody@x.org", "+6590000000", "no identity"] {
        let answer = post(&host, "/v1/drivers/verify-code", &json!({"identity": identity, "code": "123456"}));
        refused(&answer, 400, "VERIFICATION_CODE_NOT_VALID", "Invalid verification code!");
    }
    let nothing = post(&host, "/v1/drivers/verify-code", &json!({}));
    let errors = json!(["The identity field is required.", "The code field is required."]);
    assert_eq!((nothing.status, &nothing.json()["errors"]), (422, &errors));
}

#[test]
fn a_message_that_is_not_taken_is_told_the_operator_without_its_text() {
    use tenon_plugin::tasks::Outcome;
    let host = host();
    create(&host, &ada());
    let outcomes = [
        (Outcome::Answered(response(202, &json!({}))), 0),
        (Outcome::Answered(response(400, &json!({}))), 1),
        (Outcome::NotSent("no-such-destination".to_owned()), 2),
        (Outcome::Unknown("timeout".to_owned()), 3),
    ];
    for (outcome, logged) in outcomes {
        assert_eq!(ask_code(&host, PHONE).status, 200);
        let (code, _) = sent_code(&host);
        let started = host.effects().pop().unwrap();
        assert!(!started.effect.context.contains(&code) && !started.effect.key.contains(&code));
        host.settle(&started.effect.then, &started.effect.key, outcome);
        host.run_due();
        assert_eq!(host.logged().len(), logged);
        assert!(host.logged().iter().all(|(_, text)| !text.contains(&code)));
        host.advance_ms(PAUSE_MS);
    }
}

#[test]
fn who_is_inactive_does_not_log_in_and_is_told_from_nobody_by_nothing() {
    let host = host();
    let id = create(&host, &ada()).json()["id"].as_str().unwrap().to_owned();
    assert_eq!((log_in(&host, "ada@x.org", PASSWORD).status, ask_code(&host, PHONE).status), (200, 200));
    let (code, _) = sent_code(&host);
    let becomes = |status: &str| host.call(TestCall::put(&path(&id)).json(&json!({ "status": status }))).status;
    assert_eq!(becomes("inactive"), 200);
    assert!(host.issued().is_empty(), "what she was logged in with has ended");
    host.advance_ms(PAUSE_MS);
    let messages = host.effects().len();
    let wrong = "Authentication failed using password provided.";
    refused(&log_in(&host, "ada@x.org", PASSWORD), 401, "LOGIN_FAILED", wrong);
    let body =
        json!({"password": PASSWORD, "new_password": "another horse", "new_password_confirmation": "another horse"});
    refused(&post(&host, &format!("{}/change-password", path(&id)), &body), 401, "LOGIN_FAILED", wrong);
    refused(&ask_code(&host, PHONE), 400, "PHONE_UNKNOWN", "No driver with this phone # found.");
    refused(&verify(&host, &code), 400, "VERIFICATION_CODE_NOT_VALID", "Invalid verification code!");
    assert_eq!(post(&host, "/v1/drivers/forgot-password", &json!({"identity": PHONE})).status, 200);
    assert_eq!((host.effects().len(), host.issued().len()), (messages, 0), "nothing is sent to her");
    assert_eq!(becomes("active"), 200);
    assert_eq!((log_in(&host, "ada@x.org", PASSWORD).status, verify(&host, &code).status), (200, 400));
}
