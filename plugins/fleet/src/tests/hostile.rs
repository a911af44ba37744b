//! Every route, every field, every hostile value: refused in the interface's words or taken, never broken.

use serde_json::{Value, json};
use tenon_plugin::test_kit::{TestAnswer, TestCall, TestHost};

use crate::PLUGIN;

/// Where a body has a value of the caller's: "%".
const ORDER_BODIES: [&str; 32] = [
    "%",
    r#"{"pickup":"a","dropoff":"b","internal_id":%}"#,
    r#"{"pickup":"a","dropoff":"b","type":%}"#,
    r#"{"pickup":"a","dropoff":"b","order_config":%}"#,
    r#"{"pickup":"a","dropoff":"b","notes":%}"#,
    r#"{"pickup":"a","dropoff":"b","scheduled_at":%}"#,
    r#"{"pickup":"a","dropoff":"b","pod_method":%}"#,
    r#"{"pickup":"a","dropoff":"b","pod_required":%}"#,
    r#"{"pickup":"a","dropoff":"b","meta":%}"#,
    r#"{"pickup":"a","dropoff":"b","meta":{"k":%}}"#,
    r#"{"pickup":"a","dropoff":"b","meta":{"k":[{"k":%}]}}"#,
    r#"{"pickup":"a","dropoff":"b","status":%}"#,
    r#"{"pickup":"a","dropoff":"b","driver":%}"#,
    r#"{"pickup":"a","dropoff":"b","entities":%}"#,
    r#"{"pickup":"a","dropoff":"b","unknown":%}"#,
    r#"{"pickup":%,"dropoff":"b"}"#,
    r#"{"pickup":"a","dropoff":%}"#,
    r#"{"pickup":"a","dropoff":"b","return":%}"#,
    r#"{"pickup":{"street1":%},"dropoff":"b"}"#,
    r#"{"pickup":{"address":%},"dropoff":"b"}"#,
    r#"{"pickup":{"id":%},"dropoff":"b"}"#,
    r#"{"pickup":{"location":%},"dropoff":"b"}"#,
    r#"{"pickup":{"coordinates":[%,%]},"dropoff":"b"}"#,
    r#"{"pickup":{"name":"a","lat":%,"lon":%},"dropoff":"b"}"#,
    r#"{"pickup":{"geometry":{"type":"Point","coordinates":%}},"dropoff":"b"}"#,
    r#"{"waypoints":%}"#,
    r#"{"waypoints":["a",%]}"#,
    r#"{"payload":%}"#,
    r#"{"payload":{"pickup":%,"dropoff":%,"waypoints":%,"entities":%}}"#,
    r#"{"pickup":"a","dropoff":"b","customer":%}"#,
    r#"{"pickup":"a","dropoff":"b","customer":{"id":%}}"#,
    r#"{"pickup":"a","dropoff":"b","customer":{"internal_id":%,"name":%,"title":%,"email":%,"phone":%,"meta":%}}"#,
];

const DRIVER_BODIES: [&str; 14] = [
    "%",
    r#"{"name":%,"email":"a@b","phone":"1"}"#,
    r#"{"name":"a","email":%,"phone":"1"}"#,
    r#"{"name":"a","email":"a@b","phone":%}"#,
    r#"{"name":"a","email":"a@b","phone":"1","status":%}"#,
    r#"{"name":"a","email":"a@b","phone":"1","internal_id":%,"city":%,"timezone":%,"drivers_license_number":%}"#,
    r#"{"name":"a","email":"a@b","phone":"1","country":%}"#,
    r#"{"name":"a","email":"a@b","phone":"1","license_expiry":%}"#,
    r#"{"name":"a","email":"a@b","phone":"1","meta":%}"#,
    r#"{"name":"a","email":"a@b","phone":"1","meta":{"k":%}}"#,
    r#"{"name":"a","email":"a@b","phone":"1","location":%}"#,
    r#"{"name":"a","email":"a@b","phone":"1","latitude":%,"longitude":0}"#,
    r#"{"name":"a","email":"a@b","phone":"1","latitude":%,"longitude":%}"#,
    r#"{"name":"a","email":"a@b","phone":"1","password":%}"#,
];

const TRACK_BODIES: [&str; 6] = [
    "%",
    r#"{"latitude":%,"longitude":0}"#,
    r#"{"latitude":0,"longitude":%}"#,
    r#"{"latitude":0,"longitude":0,"heading":%}"#,
    r#"{"latitude":0,"longitude":0,"speed":%,"altitude":%}"#,
    r#"{"latitude":0,"longitude":0,"latitude":%}"#,
];

const PARAMETERS: [&str; 10] =
    ["limit", "offset", "page", "sort", "status", "internal_id", "customer", "type", "created_at", "unknown"];

/// JSON texts, and what only looks like one.
fn values() -> Vec<String> {
    let fixed = [
        "null",
        "true",
        "false",
        "0",
        "-0",
        "-1",
        "1e308",
        "1e999",
        "-1e999",
        "NaN",
        "Infinity",
        "01",
        "18446744073709551616",
        "0.1e-400",
        r#""""#,
        r#"" ""#,
        r#""NaN""#,
        r#""1e999""#,
        r#""-0""#,
        r#""91,181""#,
        r#""nan,inf""#,
        r#"",""#,
        r#""a\u0000b""#,
        r#""\u0001\u001b[2J""#,
        r#""\ud800""#,
        r#""\udc00\ud800""#,
        r#""\ud83d\ude00""#,
        r#""\u202e""#,
        r#""9999-12-31T23:59:59-23:59""#,
        r#""1969-12-31""#,
        r#""order_0123456789""#,
        r#""contact_\ud8000123456""#,
        "[]",
        "{}",
        "[1]",
        "[1,2,3]",
        r#"["1","2"]"#,
        "[1e999,0]",
        "[91,181]",
        r#"["\ud800"]"#,
        r#"{"\ud800":1}"#,
        r#"{"":""}"#,
        r#"{"a":1,"a":2}"#,
        r#"{"type":"Point","coordinates":[1e999,0]}"#,
        r#"{"id":5,"id":null}"#,
        r#"{"lat":1}"#,
        r#"{"a":"\ud800"}"#,
        r#"{"a":1e999}"#,
        "",
        "{",
        "[",
        r#"""#,
        "}",
        ",",
        "%00",
        "\u{0}",
    ];
    let long = "x".repeat(10_000);
    let built = [
        format!("{long:?}"),
        format!("{:?}", "\u{1F600}".repeat(500)),
        format!("{:?}", r#"\""#.repeat(64)),
        "1".repeat(10_000),
        format!("\"{}\"", "1".repeat(10_000)),
        format!("[{}1]", "1,".repeat(5_000)),
        format!("{{\"a\":{long:?}}}"),
        format!("{{{}\"a\":1}}", "\"a\":1,".repeat(5_000)),
        format!("{{\"a\":\"{}\"}}", "x".repeat(70_000)),
        format!("\"{}\"", "y".repeat(1_000_000)),
        ["[".repeat(25), "]".repeat(25)].concat(),
        ["[".repeat(40), "]".repeat(40)].concat(),
        ["{\"location\":".repeat(25).as_str(), "1", &"}".repeat(25)].concat(),
        "[".repeat(100_000),
    ];
    fixed.into_iter().map(str::to_owned).chain(built).collect()
}

/// Texts of a path or a query, after decoding.
fn texts() -> Vec<String> {
    let fixed = [
        "",
        " ",
        "\0",
        "a\0b",
        "\u{1}\u{1b}[2J",
        "\n",
        "\r\nx: y",
        "\u{7f}",
        "\u{85}",
        "\u{202e}",
        "\u{1F600}",
        "é",
        "null",
        "-1",
        "-0",
        "1.5",
        "1e3",
        "4294967296",
        "NaN",
        "' OR 1=1 --",
        "%00",
        "[]",
        "{\"a\":1}",
        "9999-12-31,9999-12-31",
        "2026-05-07T08:30:00-23:59",
        ",",
        "2026-05-07,",
        "order_0123456789",
        "driver_0123456789",
        "contact_\u{0}123456789",
        "..",
    ];
    let long = ["x".repeat(129), "x".repeat(10_000), "\u{1F600}".repeat(128), "1".repeat(10_000)];
    fixed.into_iter().map(str::to_owned).chain(long).collect()
}

/// A driver and an order, whatever is done to it.
fn stocked() -> (TestHost, String, String) {
    let host = TestHost::new(&PLUGIN);
    let id = |answer: TestAnswer| answer.json()["id"].as_str().unwrap().to_owned();
    let driver = json!({"name": "Ada", "email": "ada@x.org", "phone": "7"});
    let driver = id(host.call(TestCall::post("/v1/drivers").json(&driver)));
    let order = id(host.call(TestCall::post("/v1/orders").json(&json!({"pickup": "a", "dropoff": "b"}))));
    (host, driver, order)
}

/// Neither broken nor told back, and what was taken can be read by everybody.
#[track_caller]
fn check(host: &TestHost, call: TestCall) {
    let shown = format!("{call:?}").chars().take(600).collect::<String>();
    let answer = host.try_call(call).unwrap_or_else(|fault| panic!("{fault}: {shown}"));
    let body: Value = serde_json::from_str(&answer.body).unwrap_or_else(|error| panic!("{error}: {shown}"));
    assert!([200, 201, 400, 404, 422].contains(&answer.status), "{}: {shown}", answer.status);
    assert_eq!(answer.refused, answer.status >= 400, "{shown}");
    if answer.refused {
        let sentences = body["errors"].as_array().unwrap();
        let sound = |sentence: &Value| sentence.as_str().is_some_and(|s| s.is_ascii() && !s.contains(char::is_control));
        assert!(!sentences.is_empty() && sentences.iter().all(sound), "{body}: {shown}");
    }
}

fn check_bodies(method: &str, path: &str, templates: &[&str]) {
    let values = values();
    for template in templates {
        let (host, driver, order) = stocked();
        let path = path.replace("{driver}", &driver).replace("{order}", &order);
        for value in &values {
            check(&host, TestCall::new(method, &path).text(&template.replace('%', value)));
        }
    }
}

#[test]
fn no_value_in_a_new_order_breaks_it() {
    check_bodies("POST", "/v1/orders", &ORDER_BODIES);
}

#[test]
fn no_value_in_a_changed_order_breaks_it() {
    check_bodies("PUT", "/v1/orders/{order}", &ORDER_BODIES);
    check_bodies("PATCH", "/v1/orders/{order}", &ORDER_BODIES[..1]);
}

#[test]
fn no_value_in_a_new_driver_breaks_it() {
    check_bodies("POST", "/v1/drivers", &DRIVER_BODIES);
}

#[test]
fn no_value_in_a_fix_breaks_it() {
    check_bodies("POST", "/v1/drivers/{driver}/track", &TRACK_BODIES);
    check_bodies("PUT", "/v1/drivers/{driver}/track", &TRACK_BODIES[..1]);
    check_bodies("PATCH", "/v1/drivers/{driver}/track", &TRACK_BODIES[..1]);
}

#[test]
fn no_parameter_of_a_list_breaks_it() {
    let (host, _, _) = stocked();
    // A "&" or "=" would begin another parameter here.
    for text in texts().iter().filter(|text| !text.contains(['&', '='])) {
        for parameter in PARAMETERS {
            check(&host, TestCall::get(&format!("/v1/orders?{parameter}={text}")));
        }
    }
}

#[test]
fn no_id_breaks_a_route() {
    let (host, _, _) = stocked();
    let body = json!({"latitude": 0, "longitude": 0, "notes": "n"});
    // Neither does the host let an empty segment through, nor one with a "/"; a "?" would end the path here.
    for id in texts().iter().filter(|text| !text.is_empty() && !text.contains(['/', '?'])) {
        for route in PLUGIN.route_table().iter().filter(|route| route.path.contains("{id}")) {
            check(&host, TestCall::new(route.method, &route.path.replace("{id}", id)).json(&body));
        }
    }
}

/// The table of routes above is the plugin's.
#[test]
fn every_route_with_a_body_is_tried() {
    let tried = ["create-order", "update-order", "patch-order", "create-driver"];
    for route in PLUGIN.route_table().iter().filter(|route| ["POST", "PUT", "PATCH"].contains(&route.method)) {
        let operation = route.operation;
        assert!(tried.contains(&operation) || operation.starts_with("track-driver"), "{operation}: try it here");
    }
}
