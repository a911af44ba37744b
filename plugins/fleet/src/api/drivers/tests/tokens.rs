//! What a driver's token opens: his own, and of others not even that they are there.

use super::*;

/// Operations on a driver of the path, which every driver has for himself; with a body that is right.
const OWN: [(&str, &str, &str); 11] = [
    ("GET", "", ""),
    ("POST", "/track", r#"{"latitude":1,"longitude":1}"#),
    ("PUT", "/track", r#"{"latitude":1,"longitude":1}"#),
    ("PATCH", "/track", r#"{"latitude":1,"longitude":1}"#),
    ("POST", "/toggle-online", "{}"),
    ("POST", "/register-device", r#"{"token":"t","platform":"ios"}"#),
    ("GET", "/organizations", ""),
    ("GET", "/current-organization", ""),
    ("POST", "/switch-organization", r#"{"next":"company_0000000000"}"#),
    ("POST", "/change-password", r#"{"password":"correct horse","new_password":"another horse"}"#),
    ("POST", "/v1/drivers/register-device", r#"{"token":"t","platform":"ios"}"#),
];

fn target(action: &str, id: &str) -> String {
    if action.starts_with("/v1") { action.to_owned() } else { format!("{}{action}", path(id)) }
}

fn call(method: &str, action: &str, body: &str, id: &str) -> TestCall {
    let call = TestCall::new(method, &target(action, id));
    if body.is_empty() { call } else { call.text(body) }
}

#[test]
fn a_driver_does_for_himself_what_is_his() {
    let host = host();
    let ada = created(&host, "ada", json!({"password": PASSWORD}));
    for (method, action, body) in OWN {
        let answer = host.call(as_driver(call(method, action, body, &ada), &ada));
        let expected = if action == "/switch-organization" { 400 } else { 200 };
        assert_eq!(answer.status, expected, "{method} {action}: {}", answer.body);
    }
}

#[test]
fn another_driver_does_not_exist_for_him() {
    let host = host();
    let (ada, eve) = (created(&host, "ada", json!({})), created(&host, "eve", json!({"password": PASSWORD})));
    let before = (host.record("drivers", &eve), host.record("driver-logins", &eve), host.events().len());
    for (method, action, body) in OWN.iter().filter(|(_, action, _)| !action.starts_with("/v1")) {
        let seen = |id: &str| {
            let answer = host.call(as_driver(call(method, action, body, id), &ada));
            let request = answer.json()["request_id"].as_str().unwrap().to_owned();
            (answer.status, answer.body.replace(&request, ""))
        };
        assert_eq!((seen(&eve).0, seen(&eve)), (404, seen("driver_0000000000")), "{method} {action}");
    }
    assert_eq!((host.record("drivers", &eve), host.record("driver-logins", &eve), host.events().len()), before);
}

/// Even with a body that nobody could read: nothing is looked at before.
#[test]
fn what_an_organization_does_no_driver_does() {
    let host = TestHost::new(&PLUGIN);
    let ada = created(&host, "ada", json!({}));
    let events = host.events().len();
    let forbidden = [
        "create-driver",
        "list-drivers",
        "update-driver",
        "patch-driver",
        "delete-driver",
        "login-driver",
        "login-driver-with-sms",
        "verify-driver-code",
        "forgot-driver-password",
        "reset-driver-password",
        "create-webhook",
        "list-webhooks",
        "read-webhook",
        "update-webhook",
        "patch-webhook",
        "delete-webhook",
        "enable-webhook",
        "disable-webhook",
        "rotate-webhook",
        "test-webhook",
        "recover-webhook",
        "list-deliveries",
        "list-attempts",
        "redeliver",
        "stream-events",
        "list-events",
    ];
    for route in PLUGIN.route_table().iter().filter(|route| forbidden.contains(&route.operation)) {
        let path = route.path.replace("{id}", &ada).replace("{event}", "event_1");
        let call = TestCall::new(route.method, &path);
        let call = if route.method == "GET" { call } else { call.text("[") };
        let answer = host.call(as_driver(call, &ada));
        refused(&answer, 403, "API_FORBIDDEN", "The API key does not allow this request");
    }
    assert_eq!(host.events().len(), events);
}
