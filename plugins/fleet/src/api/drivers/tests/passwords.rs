//! Passwords: changed, forgotten, set anew.

use super::login::sent_code;
use super::*;
use crate::rules::driver::code::{PAUSE_MS, WRONG_MAX};

const NEW: &str = "another horse";

fn log_in(host: &TestHost, password: &str) -> TestAnswer {
    post(host, "/v1/drivers/login", &json!({"identity": "ada@x.org", "password": password}))
}

fn logged_in() -> (TestHost, String) {
    let host = host();
    let id = create(&host, &ada()).json()["id"].as_str().unwrap().to_owned();
    assert_eq!((log_in(&host, PASSWORD).status, log_in(&host, PASSWORD).status), (200, 200));
    (host, id)
}

fn forgot(host: &TestHost, identity: &str) -> TestAnswer {
    post(host, "/v1/drivers/forgot-password", &json!({ "identity": identity }))
}

fn reset(host: &TestHost, code: &str, password: &str) -> TestAnswer {
    let body = json!({"identity": "ada@x.org", "code": code, "password": password, "password_confirmation": password});
    post(host, "/v1/drivers/reset-password", &body)
}

#[test]
fn a_changed_password_ends_every_login_but_the_new_one() {
    let (host, id) = logged_in();
    let body = json!({"password": PASSWORD, "new_password": NEW, "new_password_confirmation": NEW});
    let call = TestCall::post(&format!("{}/change-password", path(&id))).json(&body);
    let answer = host.call(as_driver(call, &id));
    let issued = host.issued();
    assert_eq!((answer.status, issued.len()), (200, 1), "{}", answer.body);
    assert_eq!(answer.json()["token"], issued[0].secret);
    assert_eq!((log_in(&host, PASSWORD).status, log_in(&host, NEW).status), (401, 200));
}

#[test]
fn only_who_knows_the_old_password_changes_it() {
    let (host, id) = logged_in();
    let target = format!("{}/change-password", path(&id));
    let wrong = post(&host, &target, &json!({"password": "wrong horse", "new_password": NEW}));
    refused(&wrong, 401, "LOGIN_FAILED", "Authentication failed using password provided.");
    let bodies = [
        (json!({"password": PASSWORD, "new_password": NEW, "new_password_confirmation": "x"}), 1),
        (json!({"password": PASSWORD, "new_password": "ada@x.org"}), 1),
        (json!({"password": PASSWORD, "new_password": "short", "new_password_confirmation": "shirt"}), 2),
    ];
    for (body, faults) in bodies {
        let answer = post(&host, &target, &body);
        assert_eq!((answer.status, answer.json()["errors"].as_array().unwrap().len()), (422, faults), "{body}");
    }
    assert_eq!(post(&host, &target, &json!({})).status, 422);
    assert_eq!((host.issued().len(), log_in(&host, PASSWORD).status), (2, 200));
    // Without a password there is none to change: a code sets the first.
    let eve = created(&host, "eve", json!({}));
    let body = json!({"password": PASSWORD, "new_password": NEW});
    assert_eq!(post(&host, &format!("{}/change-password", path(&eve)), &body).status, 401);
}

#[test]
fn a_forgotten_password_is_set_anew_with_a_code() {
    let (host, _) = logged_in();
    assert_eq!((forgot(&host, "ada@x.org").status, host.effects().len()), (200, 1));
    let (code, place) = sent_code(&host);
    assert_eq!(place, json!({"destination": "email", "path": "/messages", "to": "ada@x.org"}));
    let answer = reset(&host, &code, NEW);
    assert_eq!((answer.status, answer.json()), (200, json!({"status": "OK"})), "{}", answer.body);
    assert!(host.issued().is_empty(), "every login has ended");
    assert_eq!((log_in(&host, PASSWORD).status, log_in(&host, NEW).status), (401, 200));
    refused(&reset(&host, &code, PASSWORD), 400, "VERIFICATION_CODE_NOT_VALID", "Invalid verification code!");
}

#[test]
fn nobody_learns_who_has_forgotten_his_password() {
    let (host, _) = logged_in();
    let known = forgot(&host, "ada@x.org");
    for identity in ["nobody@x.org", "+6590000000", "no identity", "ada@x.org"] {
        let answer = forgot(&host, identity);
        assert_eq!((answer.status, &answer.body, &answer.headers), (200, &known.body, &known.headers), "{identity}");
    }
    // The second for Ada was a moment after the first.
    assert_eq!(host.effects().len(), 1);
    assert_eq!(forgot(&host, " ").status, 422);
}

#[test]
fn a_code_to_log_in_sets_no_password() {
    let (host, _) = logged_in();
    post(&host, "/v1/drivers/login-with-sms", &json!({ "phone": PHONE }));
    let (code, _) = sent_code(&host);
    assert_eq!(reset(&host, &code, NEW).status, 400);
    host.advance_ms(PAUSE_MS);
    forgot(&host, PHONE);
    let (code, place) = sent_code(&host);
    assert_eq!(place["to"], PHONE);
    assert_eq!(post(&host, "/v1/drivers/verify-code", &json!({"identity": PHONE, "code": code})).status, 400);
    assert_eq!((reset(&host, &code, "short").status, host.issued().len()), (422, 2));
    assert_eq!(reset(&host, &code, NEW).status, 200);
}

#[test]
fn an_organization_sets_a_password_and_ends_the_logins() {
    let (host, id) = logged_in();
    let answer = host.call(TestCall::put(&path(&id)).json(&json!({ "password": NEW })));
    assert_eq!((answer.status, host.issued().len(), log_in(&host, NEW).status), (200, 0, 200));
    let other = host.call(TestCall::put(&path(&id)).json(&json!({"city": "Wien"})));
    assert_eq!((other.status, host.issued().len()), (200, 1), "nothing else ends one");
    assert_eq!(host.call(TestCall::put(&path(&id)).json(&json!({"password": "short"}))).status, 422);
}

#[test]
fn a_driver_who_moved_to_another_email_logs_in_with_it() {
    let (host, id) = logged_in();
    host.call(TestCall::put(&path(&id)).json(&json!({"email": "ada@y.org"})));
    let body = json!({"identity": "ada@y.org", "password": PASSWORD});
    assert_eq!((log_in(&host, PASSWORD).status, post(&host, "/v1/drivers/login", &body).status), (401, 200));
}

/// At the login and at the change of a password alike.
#[test]
fn wrong_passwords_close_the_login_for_a_while_and_say_for_how_long() {
    let (host, id) = logged_in();
    let target = format!("{}/change-password", path(&id));
    let change = |password: &str| post(&host, &target, &json!({"password": password, "new_password": NEW}));
    for nth in 0..WRONG_MAX {
        let answer = if nth % 2 == 0 { log_in(&host, "wrong horse") } else { change("wrong horse") };
        refused(&answer, 401, "LOGIN_FAILED", "Authentication failed using password provided.");
        assert!(!answer.refused, "a wrong password is counted");
    }
    for password in ["wrong horse", PASSWORD] {
        for answer in [log_in(&host, password), change(password)] {
            refused(&answer, 429, "RATE_LIMITED", "Too many wrong passwords. Try again later.");
            assert_eq!(answer.header("retry-after"), Some("60"));
        }
    }
    host.advance_ms(60_000);
    assert_eq!(log_in(&host, "wrong horse").status, 401);
    assert_eq!(log_in(&host, PASSWORD).header("retry-after"), Some("120"));
    host.advance_ms(120_000);
    assert_eq!(log_in(&host, PASSWORD).status, 200);
}

#[test]
fn guesses_from_elsewhere_do_not_lock_the_driver_out() {
    let (host, _) = logged_in();
    let log_in = |password: &str, address: &str| {
        let body = json!({"identity": "ada@x.org", "password": password});
        host.call(TestCall::post("/v1/drivers/login").json(&body).context("client-address", address))
    };
    let home = ["203.0.113.7", "::ffff:203.0.113.7"];
    assert_eq!(log_in(PASSWORD, home[0]).status, 200);
    for nth in 0..200 {
        let answer = log_in("wrong horse", &format!("2001:db8::{nth:x}"));
        assert_eq!(answer.status, if nth < usize::from(WRONG_MAX) { 401 } else { 429 }, "one network is one address");
    }
    for nth in 0..60 {
        log_in("wrong horse", &format!("198.51.100.{nth}"));
    }
    assert_eq!(log_in(PASSWORD, "192.0.2.1").status, 429, "strangers share an allowance");
    assert!(home.iter().all(|home| log_in(PASSWORD, home).status == 200));
}

#[test]
fn unknown_identity_is_answered_like_a_driver() {
    let (host, _) = logged_in();
    for identity in ["ada@x.org", "nobody@x.org", "not an identity"] {
        let body = json!({"identity": identity, "password": "wrong horse"});
        let guess = || post(&host, "/v1/drivers/login", &body);
        (0..WRONG_MAX).for_each(|_| assert_eq!(guess().status, 401, "{identity}"));
        let answer = guess();
        refused(&answer, 429, "RATE_LIMITED", "Too many wrong passwords. Try again later.");
        assert_eq!(answer.header("retry-after"), Some("60"), "{identity}");
    }
}

#[test]
fn a_right_password_forgets_the_wrong_ones() {
    let (host, _) = logged_in();
    for _ in 0..2 {
        (1..WRONG_MAX).for_each(|_| assert_eq!(log_in(&host, "wrong horse").status, 401));
        assert_eq!(log_in(&host, PASSWORD).status, 200);
    }
}

#[test]
fn of_who_is_inactive_no_password_is_counted() {
    let (host, id) = logged_in();
    let becomes = |status: &str| host.call(TestCall::put(&path(&id)).json(&json!({ "status": status }))).status;
    assert_eq!(becomes("inactive"), 200);
    for nth in 0..=WRONG_MAX {
        let password = if nth % 2 == 0 { PASSWORD } else { "wrong horse" };
        let body = json!({"password": password, "new_password": NEW});
        let answer = post(&host, &format!("{}/change-password", path(&id)), &body);
        refused(&answer, 401, "LOGIN_FAILED", "Authentication failed using password provided.");
    }
    assert_eq!((becomes("active"), log_in(&host, PASSWORD).status), (200, 200));
}
