//! What a hostile caller sends to places, contacts, vehicles, entities and order configurations.

use serde_json::json;
use tenon_plugin::test_kit::{TestCall, TestHost};

use super::{check, texts, values};
use crate::PLUGIN;

/// Operations that are tried here.
pub const TRIED: [&str; 21] = [
    "create-place",
    "update-place",
    "patch-place",
    "create-contact",
    "update-contact",
    "patch-contact",
    "create-customer",
    "update-customer",
    "patch-customer",
    "create-vehicle",
    "update-vehicle",
    "patch-vehicle",
    "track-vehicle",
    "track-vehicle-put",
    "track-vehicle-patch",
    "create-entity",
    "update-entity",
    "patch-entity",
    "create-order-config",
    "update-order-config",
    "patch-order-config",
];

/// Path, a body that is taken, and bodies with a place for a value: "%".
const BODIES: [(&str, &str, &[&str]); 6] = [
    (
        "/v1/places",
        r#"{"name":"a"}"#,
        &[
            "%",
            r#"{"name":%,"street1":%,"city":%,"phone":%,"security_access_code":%}"#,
            r#"{"address":%}"#,
            r#"{"name":"a","owner":%}"#,
            r#"{"name":"a","type":%,"avatar_url":%,"country":%}"#,
            r#"{"name":"a","location":%}"#,
            r#"{"name":"a","latitude":%,"lng":%}"#,
            r#"{"name":"a","coordinates":%}"#,
            r#"{"name":"a","meta":%}"#,
        ],
    ),
    (
        "/v1/contacts",
        r#"{"name":"a","type":"b"}"#,
        &[
            "%",
            r#"{"name":%,"type":%,"title":%,"email":%,"phone":%,"internal_id":%}"#,
            r#"{"name":"a","type":"b","meta":%}"#,
        ],
    ),
    (
        "/v1/customers",
        r#"{"name":"a"}"#,
        &["%", r#"{"name":%,"email":%}"#, r#"{"name":"a","internal_id":%,"phone":%}"#],
    ),
    (
        "/v1/vehicles",
        "{}",
        &[
            "%",
            r#"{"internal_id":%,"name":%,"type":%,"plate_number":%,"description":%}"#,
            r#"{"status":%,"odometer_unit":%,"online":%}"#,
            r#"{"year":%,"payload_capacity":%,"odometer":%}"#,
            r#"{"driver":%}"#,
            r#"{"vendor":%}"#,
            r#"{"location":%}"#,
            r#"{"latitude":%,"longitude":0}"#,
        ],
    ),
    (
        "/v1/entities",
        r#"{"name":"a","type":"b"}"#,
        &[
            "%",
            r#"{"name":%,"type":%,"description":%,"sku":%,"internal_id":%,"photo":%}"#,
            r#"{"name":"a","type":"b","weight":%,"length":%,"weight_unit":%}"#,
            r#"{"name":"a","type":"b","price":%,"declared_value":%,"currency":%}"#,
            r#"{"name":"a","type":"b","destination":%}"#,
            r#"{"name":"a","type":"b","payload":%}"#,
            r#"{"name":"a","type":"b","customer":%,"supplier":%}"#,
        ],
    ),
    (
        "/v1/order-configs",
        r#"{"name":"a","key":"b","flow":[{"code":"created","activities":["dispatched"]},{"code":"dispatched","activities":["started"]},{"code":"started","activities":["completed"]},{"code":"completed","complete":true}]}"#,
        &[
            "%",
            r#"{"name":%,"key":%,"namespace":%,"description":%,"version":%}"#,
            r#"{"flow":%}"#,
            r#"{"flow":[%]}"#,
            r#"{"flow":{"created":%}}"#,
            r#"{"flow":[{"key":%,"code":%,"status":%,"details":%,"color":%,"sequence":%}]}"#,
            r#"{"flow":[{"code":"created","activities":%,"logic":%,"complete":%}]}"#,
            r#"{"flow":[{"code":"created","logic":[{"type":"and","conditions":[{"field":%,"operator":%,"value":%}]}]}]}"#,
            r#"{"flow":[{"code":"created","require_pod":%,"pod_method":%,"events":%,"options":%}]}"#,
        ],
    ),
];

#[test]
fn no_value_in_a_resource_breaks_it() {
    let values = values();
    for (path, sound, templates) in BODIES {
        for template in templates {
            let host = TestHost::new(&PLUGIN);
            let made = host.call(TestCall::post(path).text(sound));
            assert_eq!(made.status, 201, "{}", made.body);
            let one = format!("{path}/{}", made.json()["id"].as_str().unwrap());
            for value in &values {
                let body = template.replace('%', value);
                check(&host, TestCall::post(path).text(&body));
                check(&host, TestCall::put(&one).text(&body));
            }
            for value in values.iter().take(20) {
                check(&host, TestCall::patch(&one).text(&template.replace('%', value)));
            }
        }
    }
}

#[test]
fn no_value_in_a_vehicles_fix_breaks_it() {
    let host = TestHost::new(&PLUGIN);
    let van = host.call(TestCall::post("/v1/vehicles").json(&json!({}))).json();
    let path = format!("/v1/vehicles/{}/track", van["id"].as_str().unwrap());
    let templates = ["%", r#"{"latitude":%,"longitude":%}"#, r#"{"latitude":0,"longitude":1,"heading":%,"speed":%}"#];
    for template in templates {
        for value in values() {
            for method in ["POST", "PUT", "PATCH"] {
                check(&host, TestCall::new(method, &path).text(&template.replace('%', &value)));
            }
        }
    }
}

#[test]
fn no_parameter_of_these_lists_breaks_them() {
    let host = TestHost::new(&PLUGIN);
    let parameters = [
        "limit",
        "offset",
        "page",
        "sort",
        "strict",
        "name",
        "name_not",
        "name_like",
        "name_in",
        "type",
        "type_isNull",
        "year",
        "year_gt",
        "weight",
        "online",
        "created_at",
        "created_at_lt",
        "updated_at_isNull",
        "key",
        "namespace",
        "query",
        "latitude",
        "longitude",
        "é\r\n",
    ];
    for (path, ..) in BODIES.into_iter().chain([("/v1/places/search", "", &[][..])]) {
        for text in texts().iter().filter(|text| !text.contains(['&', '='])) {
            for parameter in parameters {
                check(&host, TestCall::get(&format!("{path}?{parameter}={text}")));
            }
        }
    }
}
