//! What a hostile caller writes to drivers: changes, logins, passwords, devices, lists.

use super::tables::{DRIVER_BODIES, texts, values};
use super::*;

/// Operations that are tried here.
pub const TRIED: [&str; 14] = [
    "update-driver",
    "patch-driver",
    "login-driver",
    "login-driver-with-sms",
    "verify-driver-code",
    "forgot-driver-password",
    "reset-driver-password",
    "register-device",
    "register-driver-device",
    "toggle-driver-online",
    "switch-driver-organization",
    "change-driver-password",
    "find-linked-driver",
    "open-linked-driver",
];

const LOGIN_BODIES: [(&str, &str); 12] = [
    ("/login", r#"{"identity":%,"password":%}"#),
    ("/login", r#"{"identity":"ada@x.org","password":%}"#),
    ("/login-with-sms", r#"{"phone":%}"#),
    ("/verify-code", r#"{"identity":"ada@x.org","code":%}"#),
    ("/verify-code", r#"{"identity":%,"code":"123456","for":%}"#),
    ("/forgot-password", r#"{"identity":%}"#),
    ("/reset-password", r#"{"identity":"ada@x.org","code":%,"password":"another horse"}"#),
    ("/reset-password", r#"{"identity":%,"code":"123456","password":%,"password_confirmation":%}"#),
    ("/register-device", r#"{"driver":%,"token":"t","platform":"ios"}"#),
    ("/{driver}/register-device", r#"{"token":%,"platform":%,"os":%}"#),
    ("/{driver}/change-password", r#"{"password":%,"new_password":%,"new_password_confirmation":%}"#),
    ("/{driver}/change-password", r#"{"password":"correct horse","new_password":%}"#),
];

const PARAMETERS: [&str; 9] =
    ["nearby", "radius", "query", "name", "status_in", "online", "internal_id_like", "created_at", "sort"];

#[test]
fn no_value_in_a_changed_driver_breaks_it() {
    check_bodies("PUT", "/v1/drivers/{driver}", &DRIVER_BODIES);
    check_bodies("PATCH", "/v1/drivers/{driver}", &DRIVER_BODIES[..1]);
    check_bodies("POST", "/v1/drivers/{driver}/toggle-online", &["%", r#"{"online":%}"#]);
    check_bodies("POST", "/v1/drivers/{driver}/switch-organization", &["%", r#"{"next":%}"#]);
}

#[test]
fn no_value_of_a_linked_organization_breaks_it() {
    let (host, _, _) = stocked();
    let (values, templates) = (values(), ["%", r#"{"phone":%}"#, r#"{"email":%}"#, r#"{"phone":"7","email":%}"#]);
    for path in ["/v1/linked-drivers", "/v1/linked-drivers/token"] {
        for body in templates.iter().flat_map(|template| values.iter().map(|value| template.replace('%', value))) {
            let call = TestCall::post(path).plugin_for_organization("fleet", "globex").text(&body);
            let answer = host.call(call);
            let body: String = body.chars().take(300).collect();
            assert!([200, 204, 400, 404, 422].contains(&answer.status), "{} {path} {body}", answer.status);
        }
    }
}

/// They answer with 401 and 429 as well, and count what was wrong.
#[test]
fn no_value_in_a_login_breaks_it() {
    let (host, driver, _) = stocked();
    let password = json!({"password": "correct horse"});
    assert_eq!(host.call(TestCall::put(&format!("/v1/drivers/{driver}")).json(&password)).status, 200);
    let values = values();
    for (path, template) in LOGIN_BODIES.iter().flat_map(|(path, template)| [(path, *template), (path, "%")]) {
        let path = format!("/v1/drivers{}", path.replace("{driver}", &driver));
        for value in &values {
            let body = template.replace('%', value);
            let answer = host.call(TestCall::post(&path).text(&body));
            let body: String = body.chars().take(300).collect();
            assert!([200, 400, 401, 404, 422, 429].contains(&answer.status), "{} {path} {body}", answer.status);
        }
    }
}

#[test]
fn no_parameter_of_a_list_of_drivers_breaks_it() {
    let (host, _, _) = stocked();
    for text in texts().iter().filter(|text| !text.contains(['&', '='])) {
        for parameter in PARAMETERS {
            check(&host, TestCall::get(&format!("/v1/drivers?{parameter}={text}")));
            check(&host, TestCall::get(&format!("/v1/drivers?nearby=1,1&{parameter}={text}")));
        }
    }
}
