//! Every route with every hostile value: refused in the interface's words or taken, never broken.

use serde_json::{Value, json};
use tenon_plugin::Route;
use tenon_plugin::test_kit::{TestCall, TestHost};

use super::support::*;
use crate::PLUGIN;
use crate::rules::invalid::Field;

/// JSON texts, and what only looks like one.
const VALUES: &[&str] = &[
    "null",
    "true",
    "0",
    "-0",
    "-1",
    "1e308",
    "1e999",
    "NaN",
    "01",
    "18446744073709551616",
    "0.1e-400",
    "99999999999999999.99",
    r#""""#,
    r#"" ""#,
    r#""NaN""#,
    r#""a\u0000b""#,
    r#""\u001b[2J""#,
    r#""\ud800""#,
    r#""\ud83d\ude00""#,
    r#""\u202e""#,
    r#""9999-12-31T23:59:59-23:59""#,
    r#""9999-12-31T23:59:59Z""#,
    r#""9999-12-31""#,
    r#""97ed4827-7b6f-4491-a06f-b548d5a7512d""#,
    r#""62001""#,
    r#""credit-transfer""#,
    r#""bank-a""#,
    r#""APPROVED""#,
    r#""ZA_EFT""#,
    "[]",
    "[[]]",
    "[null]",
    r#"["a",1]"#,
    "{}",
    r#"{"a":{"b":[]}}"#,
    r#"[{"account_number":"1"}]"#,
    r#"[{"account_number":"1"},{"account_number":"1"}]"#,
];

fn long() -> Vec<String> {
    let of = |character: &str, times: usize| format!("\"{}\"", character.repeat(times));
    vec![of("x", 5_000), of("\u{1F600}", 128), of("\u{1F600}", 40), of("-", 40), "[".repeat(40), "9".repeat(400)]
}

/// Members of bodies that are no messages.
const MEMBERS: &[&str] = &[
    "operation",
    "partner",
    "account_number",
    "status",
    "currency",
    "credit_limit",
    "debit_limit",
    "proxies",
    "accounts",
    "id",
    "name",
    "payment_schemes",
    "client_ids",
    "account_mirroring",
    "url",
    "events",
    "description",
    "since",
    "legal_name",
    "destination",
];

/// Neither broken nor told back.
#[track_caller]
fn check(host: &TestHost, call: TestCall) {
    let shown = format!("{call:?}").chars().take(600).collect::<String>();
    let answer = host.try_call(call).unwrap_or_else(|fault| panic!("{fault}: {shown}"));
    let body: Value = serde_json::from_str(&answer.body).unwrap_or_else(|error| panic!("{error}: {shown}"));
    assert!([200, 201, 202, 400, 403, 404, 422].contains(&answer.status), "{}: {shown}", answer.status);
    assert_eq!(answer.refused, answer.status >= 400, "{shown}");
    if answer.refused {
        let told = [body["message"].as_str().unwrap(), body["detail"].as_str().unwrap_or_default()].concat();
        assert!(told.is_ascii() && !told.contains(char::is_control), "{told}: {shown}");
    }
}

/// A body of this route that would be taken.
fn sound(path: &str) -> Value {
    match path {
        "/v1/clearing/payments" => {
            message(AUTHORISE, json!({"operation": "credit-transfer-authorisation", "partner": "bank-a"}))
        }
        "/v1/clearing/accounts" => json!({"account_number": "7", "partner": "bank-a"}),
        "/v1/clearing/partners" => json!({"id": "bank-b", "payment_schemes": []}),
        "/v1/clearing/webhook-endpoints" => json!({"url": "https://a.example.com"}),
        path if path.contains("/inbound/") => minimal(path),
        path if path.ends_with("/settlement") => json!({"settlement_date": "2026-05-07"}),
        _ => json!({}),
    }
}

/// Something of everything, whichever side it is.
fn stocked() -> [TestHost; 2] {
    let bank = partner(json!({"reject-duplicates": true}));
    send(&bank, AUTHORISE, &message(AUTHORISE, json!({"uetr": "97ed4827-7b6f-4491-a06f-b548d5a7512f"})));
    let hub = platform(json!({"account_mirroring": true, "proxy_management": true}));
    submit(&hub, AUTHORISE, json!({"uetr": "97ed4827-7b6f-4491-a06f-b548d5a7512f"}));
    [bank, hub]
}

/// Members that a body of this route may have.
fn members(path: &str) -> Vec<&'static str> {
    let of_messages = Field::ALL.into_iter().map(Field::name);
    match path {
        "/v1/clearing/payments" => of_messages.chain(["operation", "partner"]).collect(),
        path if path.contains("/inbound/") || path.ends_with("/settlement") => of_messages.collect(),
        path if path.contains("/partners") || path.contains("/accounts") => MEMBERS.to_vec(),
        path if path.contains("/webhook-endpoints") => vec!["url", "events", "description", "since"],
        _ => Vec::new(),
    }
}

/// With a message that no other one repeats.
fn begins_payment(path: &str) -> bool {
    path == "/v1/clearing/payments" || [AUTHORISE, AUTHORISE_SYNC, TRANSFER, DEBIT].contains(&path)
}

/// On a host that serves it; `None`: this side does not.
fn ready(side: usize, route: &Route) -> Option<(TestHost, String)> {
    let host = stocked().into_iter().nth(side)?;
    let hook = send(&host, "/v1/clearing/webhook-endpoints", &sound("/v1/clearing/webhook-endpoints"));
    let id = match route.path {
        path if path.contains("/accounts/") => ["62001", "bank-a:62001"][side].to_owned(),
        path if path.contains("/partners/") => "bank-a".to_owned(),
        _ => hook.json()["id"].as_str()?.to_owned(),
    };
    let known = "97ed4827-7b6f-4491-a06f-b548d5a7512f";
    let path = route.path.replace("{uetr}", known).replace("{id}", &id).replace("{event}", "event_1");
    let tried = host.call(TestCall::new(route.method, &path).json(&sound(route.path)));
    (tried.status != 404).then_some((host, path))
}

#[test]
fn no_value_of_a_body_breaks_a_route() {
    let values: Vec<String> = VALUES.iter().map(|text| (*text).to_owned()).chain(long()).collect();
    let writing = PLUGIN.route_table().iter().filter(|route| ["POST", "PUT"].contains(&route.method));
    for (route, side) in writing.flat_map(|route| [(route, 0), (route, 1)]) {
        let body = sound(route.path);
        for member in members(route.path) {
            let Some((host, path)) = ready(side, route) else { break };
            for (at, value) in values.iter().enumerate() {
                let mut body = body.clone();
                // A repeat would never get as far as what is not compared.
                if begins_payment(route.path) {
                    body["uetr"] = format!("97ed4827-7b6f-4491-a06f-{at:012x}").into();
                }
                let rest = body.as_object().unwrap().iter().filter(|(name, _)| *name != member);
                let rest: String = rest.map(|(name, value)| format!("{}:{value},", json!(name))).collect();
                let text = format!("{{{rest}\"{member}\":{value}}}");
                check(&host, TestCall::new(route.method, &path).text(&text));
            }
            // What was taken can be decided.
            host.run_due();
            check(&host, TestCall::get("/v1/clearing/reports/reconciliation"));
        }
        if let Some((host, path)) = ready(side, route) {
            values.iter().for_each(|value| check(&host, TestCall::new(route.method, &path).text(value)));
        }
    }
}

#[test]
fn body_with_a_member_twice_is_refused() {
    let [bank, hub] = stocked();
    let payment = sound("/v1/clearing/payments").to_string();
    for (host, path, text) in [
        (&hub, "/v1/clearing/payments", payment.replacen('{', r#"{"uetr":"","#, 1)),
        (&bank, AUTHORISE, minimal(AUTHORISE).to_string().replacen('{', r#"{"\u0075etr":"","#, 1)),
        (&bank, "/v1/clearing/accounts", r#"{"account_number":"7","status":"OPEN","status":"CLOSED"}"#.to_owned()),
        (&hub, "/v1/clearing/partners", r#"{"id":"b","payment_schemes":[],"destination":{"a":1,"a":1}}"#.to_owned()),
        (&hub, "/v1/clearing/webhook-endpoints", r#"{"url":"https://a.example","url":"https://b.example"}"#.to_owned()),
    ] {
        let answer = host.call(TestCall::new("POST", path).text(&text));
        let detail = "A member of the body is given twice.".to_owned();
        assert_eq!((answer.status, &answer.json()["detail"]), (400, &json!(detail)), "{path}: {}", answer.body);
    }
}

#[test]
fn no_id_and_no_parameter_breaks_a_route() {
    let texts = [
        "x",
        " ",
        "\0",
        "\u{202e}",
        "97ed4827-7b6f-4491-a06f-b548d5a7512F",
        "62001",
        "bank-a",
        "bank-a:62001",
        ":",
        "a:b:c",
        "-",
    ];
    let texts = texts.map(str::to_owned).into_iter().chain(["x".repeat(5_000), "\u{1F600}".repeat(200)]);
    let texts: Vec<String> = texts.collect();
    let parameters = [
        "limit",
        "after",
        "from",
        "to",
        "state",
        "payment_scheme",
        "concern",
        "partner",
        "events",
        "uetrs",
        "end_to_end_identification",
        "status",
        "unknown",
    ];
    for host in stocked() {
        for (route, text) in PLUGIN.route_table().iter().flat_map(|route| texts.iter().map(move |text| (route, text))) {
            let path =
                ["{id}", "{uetr}", "{event}"].iter().fold(route.path.to_owned(), |path, name| path.replace(name, text));
            check(&host, TestCall::new(route.method, &path).json(&sound(route.path)));
            if route.method == "GET" && !route.path.contains('{') {
                let each = |name: &&str| check(&host, TestCall::get(&format!("{}?{name}={text}", route.path)));
                parameters.iter().for_each(each);
            }
        }
    }
}
